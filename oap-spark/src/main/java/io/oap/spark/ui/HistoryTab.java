package io.oap.spark.ui;

import io.oap.spark.internals.SparkUi;
import io.oap.spark.status.CacheSnapshot;
import io.oap.spark.status.SnapshotListener;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.spark.SparkConf;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.status.AppHistoryServerPlugin;
import org.apache.spark.status.ElementTrackingStore;
import org.apache.spark.ui.SparkUI;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The tab in Spark's History Server, which finds this class through META-INF/services when our jar
 * is on its class path. The events of the log are added up as in a running application; the outcome
 * is put into the store that the server keeps of each application, and shown from there.
 */
public final class HistoryTab implements AppHistoryServerPlugin {

  private static final Logger LOG = LoggerFactory.getLogger(HistoryTab.class);

  /** Scala is compiled after Java, so it is found by its name. */
  private static final String CONTENT = "io.oap.spark.ui.CacheHistory";

  private final HistoryContent content;

  public HistoryTab() throws ReflectiveOperationException {
    content = (HistoryContent) Class.forName(CONTENT).getConstructor().newInstance();
  }

  @Override
  public Seq<SparkListener> createListeners(SparkConf conf, ElementTrackingStore store) {
    SnapshotListener listener = content.listener();
    store.onFlush(
        () -> {
          CacheSnapshot snapshot = listener.snapshot();
          if (snapshot.isOfUse()) {
            store.write(snapshot);
          }
          return BoxedUnit.UNIT;
        });
    return CollectionConverters.asScala(List.<SparkListener>of(listener)).toSeq();
  }

  @Override
  public void setupUI(SparkUI ui) {
    try {
      CacheSnapshot snapshot = ui.store().store().read(CacheSnapshot.class, CacheSnapshot.KEY);
      SparkUi.attachTo(ui, content.tab(snapshot));
    } catch (NoSuchElementException e) {
      // An application without the column cache.
    } catch (Exception e) {
      // Kept on disk by another version of ours, perhaps. The other tabs do not depend on it.
      LOG.warn("No tab for the column cache of {}: {}", ui.getAppName(), e.toString());
    }
  }

  @Override
  public int displayOrder() {
    return 1;
  }
}
