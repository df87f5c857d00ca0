"""What a report of many findings costs: seconds to write, megabytes, and how fast it is in a browser.

The run is synthetic and seeded. Browser times are taken inside a headless Chromium where there is one: from
the start of loading to the first list, and from a change of a control until the new list is painted.
Run: `python benchmarks/report.py --out out/report.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fakes.chromium import Page, find_chromium
from fakes.runs import with_findings

from rif_plugins import __version__
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.html import write_html
from rif_plugins.reports.junit import write_junit
from rif_plugins.reports.text import render_text

LIMIT_MB = 15.0
# Milliseconds from an action until the list is there and has been painted.
TIMED = """(async () => {{
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const count = document.getElementById("count"), before = count.textContent;
  const start = performance.now();
  {action}
  while (count.textContent === before) await new Promise((done) => setTimeout(done, 1));
  await painted();
  return performance.now() - start;
}})()"""
CHOOSE = (
    "const s = document.getElementById('{0}'); s.selectedIndex = {1}; s.dispatchEvent(new Event('change'));"
)
TYPE = (
    "const t = document.getElementById('filter-text'); t.value = '{0}'; "
    "document.getElementById('filters').requestSubmit();"
)


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return round(time.perf_counter() - start, 3)


def in_browser(path: Path, folder: Path, runs: int) -> dict[str, Any]:
    """Median milliseconds of the first list, a filter, a first and a later search, and a page turn."""
    times: dict[str, list[float]] = {}
    with Page(folder) as page:
        version = page.call("Browser.getVersion")["product"]
        for _ in range(runs):
            page.open(path)
            first = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
            steps = {
                "first_list": page.run(first),
                "filter": page.run(TIMED.format(action=CHOOSE.format("filter-target", 1))),
                "filter_back": page.run(TIMED.format(action=CHOOSE.format("filter-target", 0))),
                "first_search": page.run(TIMED.format(action=TYPE.format("garden"))),
                "later_search": page.run(TIMED.format(action=TYPE.format("doctor"))),
                "page_turn": page.run(TIMED.format(action="document.querySelector('.pager .next').click();")),
            }
            for name, value in steps.items():
                times.setdefault(name, []).append(value)
        heap = page.run("performance.memory ? performance.memory.usedJSHeapSize : null")
    return {
        "browser": version,
        "milliseconds": {name: round(statistics.median(values), 1) for name, values in times.items()},
        "heap_mb": None if heap is None else round(heap / 1e6, 1),
        "problems": page.problems,
    }


def measure(run: RunResult, folder: Path, runs: int) -> dict[str, Any]:
    html = folder / "report.html"
    results: dict[str, Any] = {
        "write_html_seconds": seconds(lambda: write_html(run, html)),
        "html_mb": round(html.stat().st_size / 1e6, 2),
        "write_csv_seconds": seconds(lambda: write_csv(run, folder / "findings.csv")),
        "csv_mb": round((folder / "findings.csv").stat().st_size / 1e6, 2),
        "write_junit_seconds": seconds(lambda: write_junit(run, folder / "junit.xml")),
        "render_text_seconds": seconds(lambda: render_text(run)),
    }
    results["chromium"] = in_browser(html, folder, runs) if find_chromium() else "not run: Chromium absent"
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=20, help="words of a text (SST-2 has about 19)")
    parser.add_argument("--runs", type=int, default=5, help="times the page is opened")
    parser.add_argument("--out", type=Path, help="file to write the JSON to, besides printing it")
    options = parser.parse_args()
    run = with_findings(options.findings, n_words=options.words)
    with tempfile.TemporaryDirectory() as folder:
        results = measure(run, Path(folder), options.runs)
    report = {
        "benchmark": "report",
        "version": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cpus": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d"),
        "findings": len(run.findings),
        "records": len(run.records),
        "words_a_text": options.words,
        "results": results,
        "limit_mb": LIMIT_MB,
        "within_limit": results["html_mb"] < LIMIT_MB,
    }
    text = json.dumps(report, indent=2)
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0 if report["within_limit"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
