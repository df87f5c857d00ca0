from __future__ import annotations

from dataclasses import replace

from fakes.runs import fake_run
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.core.results import Record
from rif_plugins.reports.spans import (
    Replacement,
    apply,
    edits_of,
    sensitive_of,
    utf16_offsets,
    word_changes,
)

TEXT = st.text(alphabet="ab .,\U0001f600é", max_size=40)
BASE = Record(
    id="i",
    example="e",
    target="robust_biased",
    status="induced",
    stop_reason="found",
    original="He is a good cook",
    similar="She is a good cook",
    perturbed_original="He is a fine cook",
    perturbed_similar="She is a good chef",
    swaps=[{"start": 0, "end": 2, "from": "He", "to": "She"}],
    edits=[
        {"side": "original", "start": 8, "end": 12, "from": "good", "to": "fine"},
        {"side": "similar", "start": 14, "end": 18, "from": "cook", "to": "chef"},
    ],
)


def test_recorded_spans_are_taken() -> None:
    assert edits_of(BASE, "original") == [Replacement(8, 12, "fine")]
    assert edits_of(BASE, "similar") == [Replacement(14, 18, "chef")]
    assert sensitive_of(BASE, "original") == [(0, 2)]
    assert sensitive_of(BASE, "similar") == [(0, 3)]


def test_spans_of_later_swaps_move_with_the_earlier_ones() -> None:
    record = replace(
        BASE,
        original="a man and a boy",
        similar="a woman and a girl",
        swaps=[
            {"start": 12, "end": 15, "from": "boy", "to": "girl"},
            {"start": 2, "end": 5, "from": "man", "to": "woman"},
        ],
    )
    spans = sensitive_of(record, "similar")
    assert [record.similar[start:end] for start, end in spans] == ["woman", "girl"]


def test_without_spans_the_words_are_compared() -> None:
    bare = replace(BASE, swaps=[], edits=[])
    assert edits_of(bare, "original") == [Replacement(8, 12, "fine")]
    assert sensitive_of(bare, "original") == [(0, 2)]
    assert sensitive_of(bare, "similar") == [(0, 3)]


def test_spans_that_do_not_lead_to_the_text_are_not_believed() -> None:
    wrong = replace(BASE, edits=[{"side": "original", "start": 0, "end": 99, "from": "", "to": "x"}])
    assert edits_of(wrong, "original") == [Replacement(8, 12, "fine")]


def test_edits_of_fake_runs_lead_to_the_perturbed_texts() -> None:
    for record in fake_run(20, hostile=True).findings:
        for side in ("original", "similar"):
            assert apply(getattr(record, side), edits_of(record, side)) == getattr(
                record, f"perturbed_{side}"
            )


@given(TEXT, TEXT)
def test_word_changes_turn_one_text_into_the_other(before: str, after: str) -> None:
    assert apply(before, word_changes(before, after)) == after


def test_very_different_long_texts_are_one_replacement() -> None:
    before, after = "a b " * 2000, "c d " * 2000
    assert word_changes("x " + before + "y", "x " + after + "y") == [Replacement(2, 8001, after[:-1])]


def test_overlapping_or_outside_replacements_do_not_apply() -> None:
    assert apply("abc", [Replacement(0, 2, "x"), Replacement(1, 3, "y")]) is None
    assert apply("abc", [Replacement(2, 9, "x")]) is None


@given(TEXT, st.data())
def test_utf16_offsets_count_as_a_browser_does(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert utf16_offsets(text, [at]) == [len(text[:at].encode("utf-16-le")) // 2]
