package io.oap.spark

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}

/** What this process logs while something runs. */
object LogLines {

  /** Messages of all loggers that log, at whatever level they do. */
  def of(body: => Unit): Seq[String] = of(_ => true)(body)

  private def of(isWanted: LogEvent => Boolean)(body: => Unit): Seq[String] = {
    val lines = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("memory", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit =
        if (isWanted(event)) lines.add(event.getMessage.getFormattedMessage)
    }
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    appender.start()
    root.addAppender(appender)
    try body
    finally root.removeAppender(appender)
    lines.asScala.toSeq
  }

  /** What our own classes log, from level INFO on. */
  def ofOurs(body: => Unit): Seq[String] = {
    Configurator.setLevel("io.oap", Level.INFO)
    try of(_.getLoggerName.startsWith("io.oap"))(body)
    finally Configurator.setLevel("io.oap", Level.WARN)
  }
}
