package io.oap.spark.internals;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.ui.PagedDataSource;
import org.apache.spark.ui.PagedTable;
import org.apache.spark.ui.SparkUI;
import org.apache.spark.ui.SparkUITab;
import org.apache.spark.ui.UIUtils;
import org.apache.spark.ui.WebUIPage;
import org.apache.spark.util.Utils;
import scala.Option;
import scala.Some;
import scala.Tuple3;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.xml.Node;

/**
 * A tab in Spark's web UI, of a running application or in the History Server, with pages and tables
 * that look and work as Spark's own. Spark opens these classes to its own packages only.
 */
public final class SparkUi {
  private SparkUi() {}

  /** What stands on a page. */
  public interface Page {
    String title();

    /**
     * Its HTML below the title, for one request.
     *
     * @param base what links to pages of the same application begin with, before a slash
     * @throws IllegalArgumentException when a parameter of the request is wrong
     */
    Seq<Node> content(HttpServletRequest request, String base);
  }

  /** A tab: its pages, and what else is served below it. */
  public interface Content {
    /** What the path of all begins with: one word. */
    String prefix();

    String name();

    /** By the last word of their path; that of the first page is empty. */
    Map<String, Page> pages();

    /** By the rest of their path, after the prefix. */
    Map<String, HttpServlet> servlets();
  }

  /** Adds a tab to the UI of a running application, unless that has none. */
  public static void attach(SparkContext context, Content content) {
    if (context.ui().isDefined()) {
      attachTo(context.ui().get(), content);
    }
  }

  /** Adds a tab to the UI of any application. */
  public static void attachTo(SparkUI ui, Content content) {
    ui.attachTab(new Tab(ui, content));
    content
        .servlets()
        .forEach(
            (path, servlet) ->
                ui.attachHandler(
                    ui.getBasePath() + "/" + content.prefix() + "/" + path, servlet, "/*"));
  }

  /** Bytes with their unit. */
  public static String bytes(long count) {
    return Utils.bytesToString(count);
  }

  /** A moment, in milliseconds since the epoch. */
  public static String date(long millis) {
    return UIUtils.formatDate(millis);
  }

  public static String duration(long millis) {
    return UIUtils.formatDuration(millis);
  }

  private static final class Tab extends SparkUITab {
    private final String name;

    Tab(SparkUI ui, Content content) {
      super(ui, content.prefix());
      this.name = content.name();
      content.pages().forEach((path, page) -> attachPage(new HtmlPage(this, path, page)));
    }

    @Override
    public String name() {
      return name;
    }

    /** Behind the tab SQL, which has 0. */
    @Override
    public int displayOrder() {
      return 1;
    }
  }

  private static final class HtmlPage extends WebUIPage {
    private final Tab tab;
    private final Page page;

    HtmlPage(Tab tab, String path, Page page) {
      super(path);
      this.tab = tab;
      this.page = page;
    }

    @Override
    public Seq<Node> render(HttpServletRequest request) {
      String base = UIUtils.prependBaseUri(request, tab.basePath(), "");
      return SparkVersion.page(request, page.title(), () -> page.content(request, base), tab);
    }
  }

  /**
   * A column of a table.
   *
   * @param title its heading, by which it is also known in the address of the page
   * @param tooltip what it means; empty where the title says it
   * @param order of the rows by it
   */
  public record Column<T>(String title, String tooltip, Comparator<T> order) {}

  /**
   * One page of a table, as the parameters of the request have it, with links to the others.
   *
   * @param tag name of the table on its page
   * @param path of the page
   * @param columns the rows are sorted by the first one named {@code sortedBy}, descending, unless
   *     the request wants another order
   * @param row the tr element of a row
   * @throws IllegalArgumentException when the request wants what there is not
   */
  public static <T> Seq<Node> table(
      HttpServletRequest request,
      String path,
      String tag,
      String sortedBy,
      List<Column<T>> columns,
      List<T> rows,
      Function<T, Seq<Node>> row) {
    Table<T> table = new Table<>(request, path, tag, sortedBy, columns, rows, row);
    String page = request.getParameter(table.pageNumberFormField());
    return table.table(page == null ? 1 : Integer.parseInt(page));
  }

  private static final class Table<T> implements PagedTable<T> {
    private static final int ROWS_AT_FIRST = 20;

    private final String tag;
    private final String path;
    private final List<Column<T>> columns;
    private final List<T> sorted;
    private final Function<T, Seq<Node>> row;
    private final String sortColumn;
    private final boolean descending;
    private final int pageSize;

    Table(
        HttpServletRequest request,
        String path,
        String tag,
        String sortedBy,
        List<Column<T>> columns,
        List<T> rows,
        Function<T, Seq<Node>> row) {
      this.tag = tag;
      this.row = row;
      this.columns = columns;
      this.path = path + "?" + getParameterOtherTable(request, tag + ".");
      Tuple3<String, Object, Object> wanted = getTableParameters(request, tag, sortedBy);
      this.sortColumn = wanted._1();
      this.descending = (Boolean) wanted._2();
      // Spark's own pages have one table or two, and start with longer ones.
      boolean isSaid = request.getParameter(pageSizeFormField()) != null;
      this.pageSize = isSaid ? (Integer) wanted._3() : ROWS_AT_FIRST;
      isSortColumnValid(headings(), sortColumn);
      Comparator<T> order =
          columns.stream()
              .filter(column -> column.title.equals(sortColumn))
              .findFirst()
              .orElseThrow()
              .order;
      this.sorted = new ArrayList<>(rows);
      sorted.sort(descending ? order.reversed() : order);
    }

    @Override
    public String tableId() {
      return tag + "-table";
    }

    @Override
    public String tableCssClass() {
      return "table table-bordered table-sm table-striped table-head-clickable "
          + "table-cell-width-limited";
    }

    @Override
    public String pageSizeFormField() {
      return tag + ".pageSize";
    }

    @Override
    public String pageNumberFormField() {
      return tag + ".page";
    }

    @Override
    public PagedDataSource<T> dataSource() {
      return new PagedDataSource<>(pageSize) {
        @Override
        public int dataSize() {
          return sorted.size();
        }

        @Override
        public scala.collection.Seq<T> sliceData(int from, int to) {
          return CollectionConverters.asScala(sorted.subList(from, to)).toSeq();
        }
      };
    }

    @Override
    public Seq<Node> headers() {
      return headerRow(headings(), descending, pageSize, sortColumn, path, tag, tag);
    }

    @Override
    public Seq<Node> row(T of) {
      return row.apply(of);
    }

    @Override
    public String pageLink(int page) {
      return ordered()
          + "&"
          + pageNumberFormField()
          + "="
          + page
          + "&"
          + pageSizeFormField()
          + "="
          + pageSize
          + "#"
          + tag;
    }

    @Override
    public String goButtonFormPath() {
      return ordered() + "#" + tag;
    }

    private String ordered() {
      String column = URLEncoder.encode(sortColumn, StandardCharsets.UTF_8);
      return path + "&" + tag + ".sort=" + column + "&" + tag + ".desc=" + descending;
    }

    private Seq<Tuple3<String, Object, Option<String>>> headings() {
      List<Tuple3<String, Object, Option<String>>> headings = new ArrayList<>();
      for (Column<T> column : columns) {
        headings.add(new Tuple3<>(column.title, true, new Some<>(column.tooltip)));
      }
      return CollectionConverters.asScala(headings).toSeq();
    }
  }
}
