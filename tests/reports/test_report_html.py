from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fakes.runs import HOSTILE, fake_comparison, fake_run, with_findings

from rif_plugins.core.run_result import RunResult
from rif_plugins.errors import UsageError
from rif_plugins.reports.html import (
    render_comparison_html,
    render_html,
    write_comparison_html,
    write_html,
)
from rif_plugins.reports.notebook import notebook_html
from rif_plugins.reports.payload import SCALE, findings_payload, island

VOID = {"meta", "link", "input", "br", "img", "hr"}
SHAPES = {"line", "rect", "circle", "polyline"}
Attributes = list[tuple[str, str | None]]


class Tree(HTMLParser):
    """Elements of a page; complains about tags that do not pair up."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def count(self, *tags: str) -> int:
        return sum(tag in tags for tag, _ in self.elements)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page_island(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="findings-data">(.*?)</script>', page, re.DOTALL)
    assert match
    return dict(json.loads(match[1]))


def perturbed(data: dict[str, Any], index: int, side: str) -> str:
    """What the page's script puts together from a text and its edits."""
    columns = data["columns"]
    text = data["texts"][columns[f"text_{side}"][index]].encode("utf-16-le", "surrogatepass")
    parts, end = [], 0
    flat = columns[f"edits_{side}"][index]
    for start, stop, word in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
        parts += [text[2 * end : 2 * start], data["words"][word].encode("utf-16-le", "surrogatepass")]
        end = stop
    return b"".join([*parts, text[2 * end :]]).decode("utf-16-le", "surrogatepass")


def test_hostile_texts_add_no_element() -> None:
    tame, hostile = (
        Tree(render_html(fake_run(30, seed=7))),
        Tree(render_html(fake_run(30, seed=7, hostile=True))),
    )
    for tag in ("script", "style", "iframe", "img", "a", "form", "link", "meta", "svg"):
        assert hostile.count(tag) == tame.count(tag), tag
    assert hostile.count("script") == 2
    assert not [name for _, attributes in hostile.elements for name in attributes if name.startswith("on")]
    assert any("<img src=x onerror=window.hacked=1>.py" in text for text in hostile.texts["bdi"])


def test_the_data_block_comes_back_whole() -> None:
    run = fake_run(3 * len(HOSTILE), hostile=True, n_classes=3)
    data = page_island(render_html(run))
    columns = data["columns"]
    assert data["n"] == len(run.findings)
    assert all(len(column) == data["n"] for column in columns.values())
    for index, record in enumerate(run.findings):
        assert columns["id"][index] == record.id
        assert columns["example"][index] == record.example
        assert data["pools"]["target"][columns["target"][index]] == record.target
        assert data["pools"]["status"][columns["status"][index]] == record.status
        assert [data["words"][w] for w in columns["values"][index]] == [record.value_from, record.value_to]
        for side in ("original", "similar"):
            assert data["texts"][columns[f"text_{side}"][index]] == getattr(record, side)
            assert perturbed(data, index, side) == getattr(record, f"perturbed_{side}")
            trace = [step[f"p_{side}"] for step in record.trajectory]
            assert columns[f"trace_{side}"][index] == [round(SCALE * p) for p in trace]
        label = record.label or 0
        assert columns["p"][index][0] == round(SCALE * record.probabilities["original"][label])


def test_the_data_block_cannot_end_itself() -> None:
    data = {"a": ["</script><!--<script>", "\u2028\ud800\x00&", "]]>"] * 400, "{": {}}
    text = "".join(island(data))
    assert not re.search(r"[<>&\u2028\x00]", text)
    assert text.isascii()
    assert json.loads(text) == data


def test_equal_texts_are_stored_once() -> None:
    run = fake_run(60, seed=1)
    data = findings_payload(run.findings, [])
    texts = {getattr(record, side) for record in run.findings for side in ("original", "similar")}
    assert sorted(data["texts"]) == sorted(texts)
    assert len(data["texts"]) < 2 * len(run.findings)


def test_the_policy_names_the_only_script_and_style() -> None:
    page = render_html(fake_run(3))
    tree = Tree(page)
    policy = next(
        m["content"] for m in tree.attributes("meta") if m.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("script", "style"):
        source = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert source
        digest = base64.b64encode(hashlib.sha256(source[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not [attributes for _, attributes in tree.elements if "style" in attributes]


@pytest.mark.parametrize(
    "render", [lambda: render_html(fake_run(5)), lambda: render_comparison_html(fake_comparison(2))]
)
def test_nothing_is_loaded_from_elsewhere(render: Any) -> None:
    page = render()
    for _, attributes in Tree(page).elements:
        for name in ("src", "href", "action", "data", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))  # type: ignore[union-attr]
    assert "@import" not in page
    assert "//" not in re.sub(r"(?m)(^|\s)//.*$", "", page.replace("http://www.w3.org/2000/svg", ""))


def test_the_page_is_usable_without_eyes() -> None:
    tree = Tree(render_html(fake_run(10)))
    assert tree.attributes("html") == [{"lang": "en"}]
    for landmark in ("header", "main", "nav", "footer", "h1"):
        assert tree.count(landmark) >= 1
    assert all(a.get("scope") in ("col", "row") for a in tree.attributes("th"))
    assert all(
        a.get("aria-hidden") == "true" or (a.get("role") == "img" and a.get("aria-label"))
        for a in tree.attributes("svg")
    )
    assert all(a.get("aria-label") or a.get("aria-labelledby") for a in tree.attributes("section"))
    assert any(a.get("aria-live") == "polite" for a in tree.attributes("p"))
    assert tree.count("caption") == tree.count("table")
    ids = [a["id"] for _, a in tree.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = {a["href"] for a in tree.attributes("a")}
    assert {link[1:] for link in links if link} <= set(ids)  # type: ignore[index]


def test_findings_weigh_little() -> None:
    few, many = with_findings(50, n_words=40), with_findings(350, n_words=40)
    assert (len(few.findings), len(many.findings)) == (50, 350)
    grown = len(render_html(many)) - len(render_html(few))
    assert grown / 300 < 1_200  # bytes a finding: 10,000 of them stay under 15 MB


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    write_html(fake_run(3, hostile=True), tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        write_html(fake_run(3), tmp_path / "file" / "report.html")
    with pytest.raises(UsageError, match="cannot write"):
        write_comparison_html({}, tmp_path / "file" / "compare.html")


def test_a_comparison_shows_ranks_and_changes() -> None:
    comparison = fake_comparison(3)
    tree = Tree(render_comparison_html(comparison))
    cells = [text for tag in ("td", "bdi", "text") for text in tree.texts[tag]]
    for rows in comparison["axes"].values():
        for row in rows:
            assert f"{row['rate']['value']:.1%} " in cells
            assert str(row["rank"]) in cells
    assert comparison["order_changes"]
    told = " ".join(tree.texts["li"])
    for change in comparison["order_changes"]:
        assert f"{change['better']} is before {change['worse']} on" in told
    assert tree.texts["p"][0].startswith("model-")


def test_a_comparison_with_hostile_names_adds_no_element() -> None:
    tame, hostile = (
        Tree(render_comparison_html(fake_comparison(3))),
        Tree(render_comparison_html(fake_comparison(3, hostile=True))),
    )
    for tag in ("script", "style", "img", "svg"):
        assert hostile.count(tag) == tame.count(tag)
    assert HOSTILE[0] in "".join(hostile.texts["bdi"])


def test_an_empty_comparison_still_renders() -> None:
    assert Tree(render_comparison_html({})).count("h1") == 1


def test_the_notebook_output_is_escaped_and_small() -> None:
    run = fake_run(10, hostile=True)
    html = notebook_html(run)
    tree = Tree(html)
    assert tree.count("script", "img", "style", "link") == 0
    assert "&lt;img src=x onerror=window.hacked=1&gt;.py" in html
    assert len(html) < 20_000
    assert Tree(notebook_html(RunResult({}, (), {}))).count("strong") == 1
