"""Each edit of a record names the proposer that its replacement comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.runner_world import (
    CANDIDATES,
    TEXTS,
    KeywordVictim,
    audit_options,
    by_example,
    examples,
    found,
    sweep_of,
)

from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.errors import DataError
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Candidate, CompositeProposer, TokenContext
from rif_plugins.reports.csv_file import write_csv
from rif_plugins.reports.html import write_html
from rif_plugins.runner.audit import Audit

SIMPLE = examples([("He cooked a good meal.", 1)])


class Placed:
    """The words of the table, each from a source named by its text and its place in it."""

    name = "placed"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [
            tuple(Candidate(word, source_at(c)) for word in CANDIDATES.get(c.token.lower(), ()))
            for c in contexts
        ]


class Named:
    """Some words of the table, from a source of a given name."""

    def __init__(self, name: str, *words: str) -> None:
        self.name = name
        self.words = words

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        listed = [CANDIDATES.get(context.token.lower(), ()) for context in contexts]
        return [tuple(Candidate(w, self.name) for w in words if w in self.words) for words in listed]


class Twice(Placed):
    """Every candidate twice, the second time from elsewhere."""

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [
            (*found, *(Candidate(candidate.text, "elsewhere") for candidate in found))
            for found in super().propose(contexts)
        ]


def source_at(context: TokenContext) -> str:
    return f"{context.text.split()[0]}:{context.start}"


def run(proposer: Any, rows: list[Example] | None = None, **options: Any) -> list[Record]:
    sweep = sweep_of(KeywordVictim(), **options)
    sweep.proposer = proposer
    return [record for batch in sweep.run(rows if rows is not None else examples()) for record in batch]


def edits_of(records: Sequence[Record]) -> list[tuple[str, dict[str, Any]]]:
    """Each edit with the unedited text that it belongs to."""
    return [(getattr(record, edit["side"]), edit) for record in records for edit in record.edits]


@pytest.mark.parametrize("proposer", [Placed(), Twice()], ids=["once", "twice"])
@pytest.mark.parametrize("exhaustive", [None, 2])
def test_the_source_is_that_of_the_candidate_at_its_place(proposer: Any, exhaustive: int | None) -> None:
    edits = edits_of(run(proposer, exhaustive=exhaustive))
    assert {edit["side"] for _, edit in edits} == {"original", "similar"}
    for text, edit in edits:
        assert edit["source"] == source_at(TokenContext(text, edit["start"], edit["end"]))
    assert len({edit["source"] for _, edit in edits if edit["from"] == "good"}) > 2


def test_what_two_propose_is_from_the_first_of_them() -> None:
    members = [Named("a", "decent", "supper"), Named("b", "fine", "decent"), Named("c", "fine", "dinner")]
    first = {"decent": "a", "supper": "a", "fine": "b", "dinner": "c"}
    for order in (members, members[::-1]):
        edits = edits_of(run(CompositeProposer(order, max_candidates=None)))
        found = {(edit["to"], edit["source"]) for _, edit in edits}
        if order is not members:
            first |= {"decent": "b", "fine": "c"}
        assert found <= set(first.items())
        assert {"fine", "supper"} <= {word for word, _ in found}


def test_a_proposer_that_does_not_say_it_leaves_the_edits_as_they_were() -> None:
    class Silent(Placed):
        def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
            return [tuple(Candidate(c.text, "") for c in found) for found in super().propose(contexts)]

    def without(record: Record) -> dict[str, Any]:
        edits = [{key: edit[key] for key in ("side", "start", "end", "from", "to")} for edit in record.edits]
        return {**found(record), "edits": edits}

    silent = run(Silent())
    assert edits_of(silent)
    assert list(map(found, silent)) == list(map(without, run(Placed())))


def test_order_window_and_batches_change_no_source() -> None:
    usual = by_example(run(Placed()))
    for change in ({"window": 1}, {"window": 3}, {"batch_size": 1}):
        assert by_example(run(Placed(), examples()[::-1], **change)) == usual


def test_the_order_of_filter_and_victim_changes_no_source() -> None:
    def edits(**chosen: Any) -> list[Any]:
        return edits_of(run(Placed(), settings=ReachSettings(optimism=1, **chosen)))

    assert edits(filter_first=True) == edits(filter_first=False)


def test_sources_are_written_and_records_without_them_are_read(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = [f'{t},{w},"llm:m <{t}>"' for t, words in CANDIDATES.items() for w in words]
    table.write_text("\n".join(["token,candidate,source", *rows]) + "\n", encoding="utf-8")
    options = audit_options(tmp_path, proposer=f"table:{table}")
    out = tmp_path / "out"
    results = out / "results.jsonl"
    whole = Audit.prepare(options).run(out)
    edits = edits_of(list(read_records(results)))
    assert edits and all(edit["source"] == f"llm:m <{edit['from'].lower()}>" for _, edit in edits)

    # An older release has begun the run: its records have no sources.
    lines = results.read_text(encoding="utf-8").splitlines()
    n_old = len([r for r in whole.records if r.example in {e.id for e in examples(TEXTS[:2])}])
    results.write_text("\n".join(map(_without_sources, lines[:n_old])) + "\n", encoding="utf-8")
    resumed = Audit.prepare(options).run(out, resume=True)
    assert len(resumed.records) == len(whole.records)
    assert {"source" in edit for _, edit in edits_of(list(read_records(results)))} == {False, True}
    write_csv(resumed, tmp_path / "findings.csv")
    write_html(resumed, tmp_path / "report.html")
    write_csv(whole, tmp_path / "whole.csv")
    assert len((tmp_path / "findings.csv").read_text(encoding="utf-8").splitlines()) == len(
        (tmp_path / "whole.csv").read_text(encoding="utf-8").splitlines()
    )
    assert "llm:m <" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def _without_sources(line: str) -> str:
    record = Record.from_dict(json.loads(line))
    return json.dumps(replace(record, edits=[_old(edit) for edit in record.edits]).to_dict())


def _old(edit: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in edit.items() if key != "source"}


def test_a_source_that_is_no_text_is_refused() -> None:
    data = run(Placed(), SIMPLE)[0].to_dict()
    edits = [{**edit, "source": 3} for edit in data["edits"]]
    assert edits
    with pytest.raises(DataError, match=r"record has edits .*, expected a list of edits"):
        Record.from_dict({**data, "edits": edits})
