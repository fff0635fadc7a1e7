"""The pages of the column cache in a real browser.

Spark's History Server shows the event log of an application that never was, with thousands of
executors, tables and scans and with names that are HTML. A headless Chromium sorts the tables,
turns their pages, folds them, follows links, and looks whether anything was taken for HTML.
Screenshots are left for a person to look at.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import browser
import event_log

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ROOT / ".cache" / "ui-pages"
PATIENCE_SECONDS = 120
ROWS = 20
CELLS = """return [...document.querySelectorAll('#' + arguments[0] + '-table tbody tr')]
  .map(row => row.children[arguments[1]].innerText.trim())"""
HEADINGS = """return [...document.querySelectorAll('#' + arguments[0] + '-table th')]
  .map(cell => cell.innerText.replace(/[\\u25be\\u25b4]/, '').trim())"""


def expect(what, is_so):
    if not is_so:
        raise AssertionError(what)
    print(f"  {what}")


class Pages:
    """The pages of one application, in a browser."""

    def __init__(self, window, base):
        self.window = window
        self.base = base

    def column(self, table, title):
        headings = self.window.run(HEADINGS, table)
        return self.window.run(CELLS, table, headings.index(title))

    def sort_by(self, table, title):
        self.window.click(f"//table[@id='{table}-table']//th//span[contains(., '{title}')]/..")

    def first_page(self):
        begun = time.monotonic()
        self.window.open(f"{self.base}/oap/")
        took = time.monotonic() - begun
        print(f"  opened in {took:.1f} s")
        active = self.window.run(
            "return document.querySelector('.nav-item.active').innerText.trim()")
        expect("the tab is the active one", active == "Column Cache")
        text = self.window.run("return document.body.innerText")
        for heading in (f"Executors ({event_log.EXECUTORS})", "Tables (2000)",
                        "Last Scans (1000)"):
            expect(f"there is {heading}", heading in text)
        for table in ("executors", "tables", "columns", "scans"):
            rows = self.window.run(CELLS, table, 0)
            expect(f"{table}: {ROWS} rows at first", len(rows) == ROWS)
        lines = self.window.run(
            "return [...document.querySelectorAll('svg.oap-plot polyline')]"
            ".map(line => line.getBBox()).map(box => box.width)")
        expect("five lines over time, as wide as their plots",
               len(lines) == 5 and all(width > 400 for width in lines))

    def sorting(self):
        self.sort_by("executors", "Executor ID")
        ids = [int(text) for text in self.column("executors", "Executor ID")]
        expect("executors by id, as numbers", ids == list(range(1, ROWS + 1)))
        self.sort_by("executors", "Executor ID")
        ids = [int(text) for text in self.column("executors", "Executor ID")]
        last = event_log.EXECUTORS
        expect("and the other way round", ids == list(range(last, last - ROWS, -1)))
        self.sort_by("tables", "Table")
        names = self.column("tables", "Table")
        expect("tables by name, hostile ones first", names == sorted(names)
               and names[0] == event_log.HOSTILE)
        ids = [int(text) for text in self.column("executors", "Executor ID")]
        expect("while executors stay as they were", ids[0] == last)
        self.sort_by("scans", "Hits")
        self.sort_by("scans", "Hits")
        hits = [int(text) for text in self.column("scans", "Hits")]
        expect("scans by hits", hits == list(range(event_log.SCANS, event_log.SCANS - ROWS, -1)))

    def paging(self):
        before = self.column("tables", "Table")
        self.window.click("//form[@id='form-tables-table-top-page']"
                          "/../..//a[@class='page-link'][normalize-space()='2']")
        second = self.column("tables", "Table")
        expect("the second page of tables goes on after the first",
               len(second) == ROWS and before[-1] < second[0] and second == sorted(second))
        self.window.write("//input[@id='form-tables-table-top-page-no']", "100")
        rows = self.column("tables", "Table")
        expect("the last page is reached by its number", "table_02499" in rows[-1])
        self.window.write("//input[@id='form-columns-table-top-page-size']", "5000")
        rows = self.column("columns", "Column")
        expect("a page of 5000 columns", len(rows) == 5000)
        fields = self.window.run(
            "return document.getElementById('form-tables-table-top-page-no').value")
        expect("while tables stay at their page", fields == "100")

    def folding(self):
        table = "//table[@id='scans-table']"
        expect("scans are shown", self.window.is_shown(table))
        self.window.click("//span[@id='scans']")
        expect("and folded away by their heading", not self.window.is_shown(table))
        self.window.click("//span[@id='scans']")
        expect("and shown again", self.window.is_shown(table))

    def links(self):
        self.window.open(f"{self.base}/oap/")
        execution = self.column("scans", "SQL Execution")[0].split()[0]
        self.window.click("//table[@id='scans-table']/tbody/tr[1]//a[.='scans']")
        shown = self.column("scans", "SQL Execution")
        expect(f"the page of execution {execution} has its scans only",
               bool(shown) and all(text.split()[0] == execution for text in shown))
        causes = self.column("scans", "Causes")
        expect("with the causes of misses",
               set(causes) == {"2 cold, 1 evicted, 1 pinned full"})
        target = self.window.run(
            "return document.querySelector('#scans-table tbody a').getAttribute('href')")
        expect("and a link to the execution", target.endswith(f"/SQL/execution/?id={execution}"))

    def escaping(self):
        hurt = self.window.run("return window.hurt === undefined && "
                               "document.querySelector('td b, td script') === null")
        expect("no name was taken for HTML", hurt)

    def check(self):
        self.first_page()
        self.window.screenshot(RUN / "first.png")
        self.escaping()
        self.sorting()
        self.escaping()
        self.window.screenshot(RUN / "sorted.png")
        self.paging()
        self.folding()
        self.links()
        self.window.screenshot(RUN / "execution.png")
        errors = self.window.errors()
        expect(f"no page has complained {errors or ''}", not errors)


def history_server(options, folder, port):
    environment = dict(os.environ, SPARK_HOME=options.spark_home, SPARK_LOCAL_IP="127.0.0.1")
    environment["SPARK_DAEMON_CLASSPATH"] = options.oap_jar
    environment["SPARK_DAEMON_MEMORY"] = "1g"
    environment["SPARK_HISTORY_OPTS"] = (
        f"-Dspark.history.fs.logDirectory={folder.as_uri()} -Dspark.history.ui.port={port} "
        "-Dspark.history.fs.update.interval=1s")
    with open(RUN / "history-server.log", "wb") as log:
        return subprocess.Popen(
            [f"{options.spark_home}/bin/spark-class",
             "org.apache.spark.deploy.history.HistoryServer"],
            env=environment, stdout=log, stderr=subprocess.STDOUT)


def wait_for(address, server):
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS):
                return
        except urllib.error.URLError:
            time.sleep(0.5)
    raise AssertionError(f"{address} does not come up: {RUN / 'history-server.log'}")


def check_pages(options):
    shutil.rmtree(RUN, ignore_errors=True)
    events = RUN / "events"
    events.mkdir(parents=True)
    event_log.write(events)
    port = browser.free_port()
    server = history_server(options, events, port)
    try:
        address = f"http://127.0.0.1:{port}"
        # The server takes an application that it has not listed yet for one in another format.
        wait_for(f"{address}/api/v1/applications/{event_log.APPLICATION}", server)
        base = f"{address}/history/{event_log.APPLICATION}"
        window = browser.Browser(RUN / "chromedriver.log")
        try:
            Pages(window, base).check()
        finally:
            window.close()
    finally:
        server.terminate()
        server.wait(60)
    print(f"screenshots: {RUN}/*.png")


def main():
    parser = argparse.ArgumentParser(prog="dev/ui-pages", description=__doc__)
    parser.add_argument("--skip-without-browser", action="store_true",
                        help="a browser that is missing is said, and is no failure")
    for name in ("--check", "--spark-home", "--oap-jar"):
        parser.add_argument(name, help=argparse.SUPPRESS,
                            action="store_true" if name == "--check" else "store")
    options = parser.parse_args()
    lacks = browser.missing()
    if lacks:
        print("\n".join(f"missing: {line}" for line in lacks), file=sys.stderr)
        if not options.skip_without_browser:
            sys.exit(1)
        if not options.check:
            print("SKIPPED: the pages were not looked at in a browser")
        return
    if not options.check:
        try:
            check_pages(options)
        except (AssertionError, RuntimeError, OSError) as error:
            sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
