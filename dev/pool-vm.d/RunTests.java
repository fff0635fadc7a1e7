import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.util.Arrays;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * Runs test classes without Maven, which would take minutes in an emulated machine. Arguments: their
 * names. Exit status 1 when one fails or none ran.
 */
public final class RunTests {

  private RunTests() {}

  public static void main(String[] classes) throws Exception {
    LauncherDiscoveryRequestBuilder request = LauncherDiscoveryRequestBuilder.request();
    for (String name : classes) {
      request.selectors(selectClass(Class.forName(name)));
    }
    SummaryGeneratingListener summary = new SummaryGeneratingListener();
    LauncherDiscoveryRequest built = request.build();
    LauncherFactory.create().execute(built, summary);
    summary.getSummary().printFailuresTo(new PrintWriter(System.out, true), 20);
    System.out.println(
        Arrays.toString(classes)
            + ": "
            + summary.getSummary().getTestsSucceededCount()
            + " passed, "
            + summary.getSummary().getTestsFailedCount()
            + " failed, "
            + summary.getSummary().getTestsSkippedCount()
            + " skipped");
    boolean allPassed =
        summary.getSummary().getTestsFailedCount() == 0
            && summary.getSummary().getTestsSucceededCount() > 0;
    System.exit(allPassed ? 0 : 1);
  }
}
