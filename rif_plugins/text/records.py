"""Records of what a host's attack found, for the results file and for the summary table."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

from rif_plugins.core.pairs import SIDES, Edit, Side
from rif_plugins.core.results import Record, pair_record, record_id, status_of
from rif_plugins.core.tokens import word_spans
from rif_plugins.text.goal_result import PairGoalFunctionResult
from rif_plugins.text.pairing import is_pair_text, side_strings


def all_records_of(result: Any) -> list[Record]:
    """Every record of one ``AttackResult``: a sweep has one a pair and target."""
    records = getattr(getattr(result, "perturbed_result", None), "records", ())
    if records:
        return list(records)
    record = record_of(result)
    return [] if record is None else [record]


def record_of(result: Any) -> Record | None:
    """The record of one ``AttackResult``; None when it is no pair.

    Our own search leaves its record on the result. A search of the host knows nothing of records, so
    one is made from the two goal results: without a trajectory and without equivalence.
    """
    for side in (getattr(result, "perturbed_result", None), getattr(result, "original_result", None)):
        record = getattr(side, "record", None)
        if record is not None:
            return record if isinstance(record, Record) else None
    before, after = getattr(result, "original_result", None), getattr(result, "perturbed_result", None)
    if isinstance(before, PairGoalFunctionResult) and isinstance(after, PairGoalFunctionResult):
        return _record_of_host_search(before, after, int(result.num_queries))
    return None


def _record_of_host_search(
    before: PairGoalFunctionResult, after: PairGoalFunctionResult, n_rows: int
) -> Record | None:
    pair, clean, final = before.pair, before.outcome, after.outcome
    if pair is None or clean is None or final is None or not is_pair_text(after.attacked_text):
        return None
    texts = side_strings(after.attacked_text)
    edits = [
        edit
        for side, new in zip(SIDES, texts, strict=True)
        for edit in word_edits(side, pair.text(side), new)
    ]
    return pair_record(
        pair,
        texts=texts,
        edits=edits,
        clean=before.raw_output,
        final=after.raw_output,
        outcomes=(clean, final),
        id=record_id(before.example, pair, before.target),
        example=before.example,
        label=int(before.ground_truth_output),
        target=str(before.target),
        status=status_of(clean, final, before.target),
        stop_reason="success" if final is before.target else "exhausted",
        queries={"victim_rows": n_rows},
    )


def word_edits(side: Side, unedited: str, edited: str) -> list[Edit]:
    """The replaced stretches of words of one side, in offsets of its unedited text."""
    before, after = word_spans(unedited), word_spans(edited)
    matcher = SequenceMatcher(
        None,
        [unedited[s.start : s.end] for s in before],
        [edited[s.start : s.end] for s in after],
        autojunk=False,
    )
    edits = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        start = before[i1].start if i1 < len(before) else len(unedited)
        end = before[i2 - 1].end if i2 > i1 else start
        target = edited[after[j1].start : after[j2 - 1].end] if j2 > j1 else ""
        edits.append(Edit(side, start, end, unedited[start:end], target))
    return edits
