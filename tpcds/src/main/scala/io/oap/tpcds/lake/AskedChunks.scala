package io.oap.tpcds.lake

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.util.Using

import jdk.jfr.Recording
import jdk.jfr.consumer.{RecordedEvent, RecordingFile}

/** What became of the asks for column chunks of this process, by a flight recording. */
final class AskedChunks extends AutoCloseable {
  private val recording = new Recording()
  recording.enable("io.oap.ChunkAccess")
  recording.start()

  /** Counts the asks so far. */
  def counted(): AskedChunks.Counted = {
    val file = Files.createTempFile("asked-chunks", ".jfr")
    try {
      recording.dump(file)
      AskedChunks.count(AskedChunks.read(file))
    } finally Files.delete(file)
  }

  override def close(): Unit = recording.close()
}

object AskedChunks {

  /**
   * An ask for a chunk. A file that changes gets another identity, so that its chunks are other ones.
   *
   * @param chunk file, row group and column
   */
  final case class Ask(chunk: Seq[Long], isHit: Boolean)

  /**
   * @param asks all of them
   * @param again those for chunks that had been asked for before
   * @param hitsAgain those of them whose chunks were held
   */
  final case class Counted(asks: Long, again: Long, hitsAgain: Long) {

    /** Percent of the chunks asked for again that were there; 0 where there is none. */
    def percent: Double = if (again == 0) 0 else 100.0 * hitsAgain / again
  }

  /** @param asks in their order */
  def count(asks: Iterable[Ask]): Counted = {
    val known = mutable.Set.empty[Seq[Long]]
    asks.foldLeft(Counted(0, 0, 0)) { (counted, ask) =>
      val isAgain = !known.add(ask.chunk)
      Counted(
        counted.asks + 1,
        counted.again + (if (isAgain) 1 else 0),
        counted.hitsAgain + (if (isAgain && ask.isHit) 1 else 0))
    }
  }

  private def read(file: Path): Seq[Ask] = Using.resource(new RecordingFile(file)) { events =>
    val found = mutable.ArrayBuffer.empty[RecordedEvent]
    while (events.hasMoreEvents) {
      val event = events.readEvent()
      if (event.getEventType.getName == "io.oap.ChunkAccess") found += event
    }
    // A recording has the events of each thread together.
    found.toSeq.sortBy(_.getStartTime).map { event =>
      val file = Seq("fileHigh", "fileLow").map(event.getLong(_))
      val place = Seq("rowGroup", "column").map(event.getInt(_).toLong)
      Ask(file ++ place, event.getBoolean("hit"))
    }
  }
}
