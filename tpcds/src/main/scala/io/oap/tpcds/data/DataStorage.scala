package io.oap.tpcds.data

import java.nio.file.{Files, Path}

/**
 * What the data lies on, as the kernel shows it: facts for a result.
 *
 * @param kernel where the kernel shows its devices: `/sys`
 */
final class DataStorage(kernel: Path) {

  /**
   * The type of the file system, and of a folder of this machine also the device, and whether that
   * is rotational: `unknown` where there is no such device, as below tmpfs, overlay or a network.
   *
   * @param data a folder of this machine, or a URL, as [[DataFolder]] takes them
   * @throws java.io.IOException when the folder is not there
   */
  def facts(data: String): Map[String, Any] = {
    val url = DataFolder.url(data).toUri
    if (url.getScheme != "file") Map("dataFileSystem" -> url.getScheme)
    else {
      val folder = Path.of(url.getPath)
      val store = Files.getFileStore(folder)
      val number = DataStorage.number(Files.getAttribute(folder, "unix:dev").asInstanceOf[Long])
      // Some file systems have numbers of their own (btrfs), some devices have no file (/dev/root).
      val places = Seq(
        kernel.resolve(s"dev/block/$number"),
        kernel.resolve(s"class/block/${Path.of(store.name).toFile.getCanonicalFile.getName}"))
      Map(
        "dataFileSystem" -> store.`type`,
        "dataDevice" -> store.name,
        "dataDeviceIsRotational" -> places.find(Files.exists(_)).fold("unknown")(isRotational))
    }
  }

  private def isRotational(device: Path): String = {
    val place = device.toRealPath()
    val disk = if (Files.exists(place.resolve("partition"))) place.getParent else place
    val file = disk.resolve("queue/rotational")
    if (!Files.isReadable(file)) "unknown"
    else if (Files.readString(file).trim == "0") "no" else "yes"
  }
}

object DataStorage {

  /** Of this machine. */
  def apply(): DataStorage = new DataStorage(Path.of("/sys"))

  /** MAJOR:MINOR of a device's number, as the C library packs the two (makedev(3)). */
  private[tpcds] def number(device: Long): String = {
    val major = ((device >> 8) & 0xfffL) | ((device >> 32) & ~0xfffL)
    val minor = (device & 0xffL) | ((device >> 12) & 0xffffff00L)
    s"$major:$minor"
  }
}
