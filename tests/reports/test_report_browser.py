"""The report page in a real browser: it filters, sorts, expands, does not complain and asks for nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.chromium import Page, find_chromium
from fakes.runs import fake_comparison, fake_run

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.html import write_comparison_html, write_html

pytestmark = pytest.mark.skipif(
    find_chromium() is None,
    reason="not run: Chromium absent (Debian: apt-get install chromium; or set RIF_TEST_CHROMIUM)",
)

CARDS = "[...document.querySelectorAll('.finding')]"


def findings() -> tuple[Record, ...]:
    return fake_run(60, seed=2).findings


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with Page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_html(fake_run(60, seed=2), path)
    return path


@pytest.fixture
def page(browser: Page, report: Path) -> Iterator[Page]:
    browser.requests.clear()
    browser.problems.clear()
    browser.resize(1280, 900)
    browser.open(report)
    yield browser
    assert browser.problems == []
    assert set(browser.requests) == {report.resolve().as_uri()}


def wait_for(page: Page, script: str, expected: Any) -> None:
    deadline = time.monotonic() + 10
    while (value := page.run(script)) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert value == expected


def count(page: Page) -> str:
    return str(page.run("document.getElementById('count').textContent"))


def told(kept: list[Record]) -> str:
    return f"{len(kept)} of {len(findings())} findings, showing 1 to {min(25, len(kept))}"


def facts(page: Page, name: str) -> list[str]:
    return list(
        page.run(
            f"{CARDS}.map((c) => [...c.querySelectorAll('.facts div')]"
            f".find((d) => d.firstChild.textContent === {json.dumps(name)}).lastChild.textContent)"
        )
    )


def test_it_opens_with_the_first_findings(page: Page) -> None:
    assert count(page) == f"{len(findings())} findings, showing 1 to 25"
    assert page.run(f"{CARDS}.length") == 25
    assert page.run("document.querySelector('h1').textContent") == "Robust individual fairness report"


@pytest.mark.parametrize(
    ("control", "option", "keeps"),
    [
        ("filter-target", "unrobust fair", lambda r: r.target == "unrobust_fair"),
        ("filter-status", "shifted", lambda r: r.status == "shifted"),
        ("filter-attribute", "religion", lambda r: r.attribute == "religion"),
        ("filter-label", "positive", lambda r: r.label == 1),
    ],
)
def test_filters(page: Page, control: str, option: str, keeps: Callable[[Record], bool]) -> None:
    kept = [record for record in findings() if keeps(record)]
    assert 0 < len(kept) < len(findings())
    page.select(control, option)
    assert count(page) == told(kept)
    page.run("document.getElementById('reset').click()")
    assert count(page) == f"{len(findings())} findings, showing 1 to 25"


def test_text_is_searched_in_edited_texts_too(page: Page) -> None:
    needle = findings()[-1].perturbed_original[:30]
    kept = [
        record
        for record in findings()
        if any(
            needle in getattr(record, name)
            for name in ("original", "similar", "perturbed_original", "perturbed_similar")
        )
    ]
    page.run("document.getElementById('filter-text').focus()")
    page.call("Input.insertText", text=needle.upper())
    wait_for(page, "document.getElementById('count').textContent", told(kept))
    page.run("document.getElementById('filter-text').value = 'no such words'")
    page.run("document.getElementById('filters').requestSubmit()")
    assert "nothing fits" in count(page)
    assert page.run(f"{CARDS}.length") == 0


def test_filters_combine(page: Page) -> None:
    page.select("filter-target", "robust biased")
    page.select("filter-status", "induced")
    page.select("filter-attribute", "gender")
    kept = [
        record
        for record in findings()
        if (record.target, record.status, record.attribute) == ("robust_biased", "induced", "gender")
    ]
    assert count(page) == told(kept)
    shown = page.run(f"{CARDS}.map((c) => c.querySelector('h3').innerText.trim())")
    assert set(shown) == {"induced robust biased"}


def test_sorts(page: Page) -> None:
    page.select("filter-status", "induced")
    for option, name, reverse in (
        ("equivalence, lowest", "Equivalence", False),
        ("equivalence, highest", "Equivalence", True),
        ("edits, fewest", "Edits", False),
        ("edits, most", "Edits", True),
        ("confidence change, largest", "Confidence change", True),
    ):
        page.select("sort", option)
        values = [float(value) for value in facts(page, name)]
        assert values == sorted(values, reverse=reverse)
        assert values[0] != values[-1]


def test_findings_without_equivalence_come_last(page: Page) -> None:
    page.select("page-size", "100")
    page.run("document.querySelector('.pager .next').click()")
    for option in ("equivalence, lowest", "equivalence, highest"):
        page.select("sort", option)
        assert facts(page, "Equivalence")[0] != "–"
        page.run("document.querySelector('.pager .next').click()")
        assert facts(page, "Equivalence")[-1] == "–"


def test_pages_hold_every_finding_once(page: Page) -> None:
    seen: list[str] = []
    for _ in range(-(-len(findings()) // 25)):
        seen += page.run(f"{CARDS}.map((c) => c.id)")
        page.run("document.querySelector('.pager.below .next').click()")
    assert seen == [f"finding-{index}" for index in range(len(findings()))]
    assert page.run("document.querySelector('.pager .next').disabled") is True


def test_a_finding_expands_by_keyboard(page: Page) -> None:
    index = next(i for i, record in enumerate(findings()[:25]) if len(record.trajectory) > 2)
    record = findings()[index]
    page.run(f"{CARDS}[{index}].querySelector('summary').focus()")
    assert page.run(f"{CARDS}[{index}].querySelector('.more') === null") is True
    page.press("Enter", 13)
    wait_for(page, f"{CARDS}[{index}].querySelector('.more') !== null", True)
    chart = page.run(f"{CARDS}[{index}].querySelector('svg.trajectory').getAttribute('aria-label')")
    values = ", ".join(f"{step['p_original']:.2f}" for step in record.trajectory)
    assert f"original {values}" in chart
    assert page.run(f"{CARDS}[{index}].querySelectorAll('polyline').length") == 2
    assert page.run(f"{CARDS}[{index}].querySelectorAll('.saliency tbody tr').length") == 8
    assert record.id in page.run(f"{CARDS}[{index}].querySelector('.more').textContent")


def test_marks_are_named_not_only_coloured(page: Page) -> None:
    index = next(i for i, record in enumerate(findings()[:25]) if record.edits)
    record = findings()[index]
    for side in ("original", "similar"):
        block = f"{CARDS}[{index}].querySelector('.side-{side} .text')"
        edits = sorted((e for e in record.edits if e["side"] == side), key=lambda e: e["start"])
        for tag, label, key in (("del", "removed", "from"), ("ins", "put in", "to")):
            texts = page.run(f"[...{block}.querySelectorAll('{tag}')].map((n) => n.textContent)")
            assert texts == [f" [{label}: {edit[key]}] " for edit in edits]
        swap = record.swaps[0]["from" if side == "original" else "to"]
        assert page.run(f"{block}.querySelector('mark').textContent") == f" [sensitive: {swap}] "
    decoration = page.run("getComputedStyle(document.querySelector('.finding ins')).textDecorationLine")
    assert decoration == "underline"


def test_a_link_leads_to_its_finding(page: Page) -> None:
    index = len(findings()) - 1
    page.select("filter-status", findings()[0].status)
    page.run(f"location.hash = '#finding={findings()[index].id}'")
    wait_for(page, "document.activeElement.id", f"finding-{index}")
    assert page.run("document.activeElement.querySelector('details').open") is True


def test_every_control_has_a_name_and_can_be_reached(page: Page) -> None:
    nameless = page.run(
        "[...document.querySelectorAll('select, input, button, summary, a')]"
        ".filter((n) => !(n.labels?.length || n.textContent.trim())).map((n) => n.outerHTML)"
    )
    assert nameless == []
    page.run("document.body.focus()")
    reached = set()
    for _ in range(40):
        page.press("Tab", 9)
        reached.add(page.run("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "filter-target", "filter-text", "sort", "reset", "next"} <= reached


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_the_page_fits_the_screen(page: Page, width: int) -> None:
    page.resize(width, 800)
    page.select("page-size", "100")
    page.run(f"{CARDS}.slice(0, 8).forEach((c) => (c.querySelector('details').open = true))")
    wait_for(page, f"{CARDS}[7].querySelector('.more') !== null", True)
    assert page.run("document.documentElement.scrollWidth") == width


def test_it_prints(page: Page) -> None:
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("getComputedStyle(document.getElementById('filters')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('.finding')).display") == "block"
    page.call("Emulation.setEmulatedMedia", media="")
    assert len(page.call("Page.printToPDF", printBackground=True)["data"]) > 10_000


def test_hostile_texts_are_shown_as_text(browser: Page, tmp_path: Path) -> None:
    run = fake_run(40, seed=2, hostile=True, huge=1_000_000)
    write_html(run, tmp_path / "hostile.html")
    browser.problems.clear()
    browser.requests.clear()
    browser.open(tmp_path / "hostile.html")
    browser.select("page-size", "100")
    assert browser.run(f"{CARDS}.length") == min(100, len(run.findings))
    browser.run(f"{CARDS}.slice(0, 30).forEach((c) => (c.querySelector('details').open = true))")
    wait_for(browser, f"{CARDS}[29].querySelector('.more') !== null", True)
    assert browser.run("window.hacked === undefined") is True
    assert browser.run(
        "[document.scripts.length, document.images.length, document.querySelectorAll('iframe').length]"
    ) == [2, 0, 0]
    text = browser.run(f"{CARDS}.map((c) => c.textContent).join('\\n')")
    for shown in (
        "</script><script>window.hacked=1</script>",
        "<img src=x onerror=window.hacked=1>",
        "]]><!--",
        "&amp; <b>bold</b>",
        "U+202Ereversed",
        "loneU+D800surrogate",
        "nulU+0000byteU+000B",
        "lineU+2028separatorU+2029",
        "{{ 7*7 }}",
        "\U0001f9d1\U0001f3fd\u200d\U0001f52c",
    ):
        assert shown in text
    assert "x" * 20_000 not in text[: text.index("Whole texts")]
    more = "[...document.querySelectorAll('button.link')].find((b) => b.textContent.startsWith('show all'))"
    browser.run(f"{more}.click()")
    assert (
        browser.run("document.getElementById('findings-list').textContent.includes('x'.repeat(1000000))")
        is True
    )
    assert browser.problems == []
    assert len(browser.requests) == 1


def test_the_policy_stops_requests(browser: Page, report: Path) -> None:
    browser.open(report)
    stopped = browser.run(
        "new Promise((done) => { document.addEventListener('securitypolicyviolation',"
        " (event) => done(event.effectiveDirective)); fetch('http://127.0.0.1:9/').catch(() => {}); })"
    )
    assert stopped == "connect-src"


def test_other_pages_open_without_complaint(browser: Page, tmp_path: Path) -> None:
    write_html(RunResult({}, (), {}), tmp_path / "empty.html")
    write_html(fake_run(20, n_classes=28), tmp_path / "classes.html")
    write_comparison_html(fake_comparison(3, hostile=True), tmp_path / "compare.html")
    browser.problems.clear()
    for name in ("empty", "classes", "compare"):
        browser.open(tmp_path / f"{name}.html")
        browser.resize(360, 800)
        assert browser.run("document.documentElement.scrollWidth") == 360
    browser.open(tmp_path / "empty.html")
    assert count(browser) == "No findings"
    assert browser.problems == []
