from __future__ import annotations

import re
from collections import Counter

from fakes.runs import fake_run
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.reports.finding_sample import FindingSample
from rif_plugins.reports.html import render_html


def findings(*kinds: tuple[str, str, int]) -> list[Record]:
    """``n`` findings of each target and attribute, one kind after another."""
    return [
        Record(f"{target}-{attribute}-{i}", "e", target, "induced", "found", attribute=attribute)
        for target, attribute, n in kinds
        for i in range(n)
    ]


def drawn(records: list[Record], most: int) -> list[Record]:
    sample = FindingSample(most)
    for place, record in enumerate(records):
        sample.add(record, place)
    return [records[place] for place in sorted(sample.places())]


def test_targets_share_alike_and_rare_kinds_are_whole() -> None:
    records = findings(("a", "gender", 5000), ("a", "race", 3), ("b", "gender", 200), ("c", "age", 10))
    counts = Counter((r.target, r.attribute) for r in drawn(records, 100))
    assert counts == {("a", "race"): 3, ("a", "gender"): 42, ("b", "gender"): 45, ("c", "age"): 10}


@given(
    sizes=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(1, 15)), max_size=8),
    most=st.integers(0, 60),
    random=st.randoms(use_true_random=False),
)
def test_as_many_as_there_is_room_for(sizes: list[tuple[str, str, int]], most: int, random: object) -> None:
    sizes = list({(target, name): (target, name, n) for target, name, n in sizes}.values())
    records = findings(*sizes)
    random.shuffle(records)  # type: ignore[attr-defined]
    found = drawn(records, most)
    assert len(found) == min(most, len(records))
    by_target = Counter(record.target for record in found)
    whole = Counter(record.target for record in records)
    cut = [by_target[name] for name in whole if by_target[name] < whole[name]]
    assert not cut or min(cut) >= max(by_target.values(), default=0) - 1


def test_chance_and_not_the_order_decides_within_a_kind() -> None:
    records = findings(("a", "gender", 1000))
    found = drawn(records, 100)
    assert found != records[:100]
    assert 25 <= sum(record in records[:500] for record in found) <= 75
    assert sorted(r.id for r in drawn(records[::-1], 100)) == sorted(r.id for r in found)


def test_a_page_with_a_part_of_the_findings_says_so() -> None:
    run = fake_run(40, seed=3)
    n = len(run.findings)
    page = " ".join(re.sub(r"<[^>]+>", "", render_html(run, most_findings=20)).split())
    assert f"The list shows 20 of {n} findings" in page
    assert f"{n - 20} more stand in findings.csv and results.jsonl" in page
    assert f"Findings{n}" in page.replace(" ", "")
    assert '"n":20,' in page
    whole = render_html(run, most_findings=n)
    assert whole == render_html(run)
    assert "more stand in" not in whole
