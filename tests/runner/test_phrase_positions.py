"""Phrases in the search without a host: what the proposer is asked, what the records say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fakes.runner_world import CANDIDATES, KeywordVictim, ScriptedScorer, TableWords, examples, sweep_of

from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.requests import Judge
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.runner.answering import AnswerDesk
from rif_plugins.runner.task import Clock, ExampleTask
from rif_plugins.similar import PairSource

SIMPLE = examples([("He cooked a good meal.", 1)])
SOURCE = PairSource(None, ["gender"], 1)
PHRASES = {"good meal": ["awful thing"], "cooked a": ["had a"]}


class TablePhrases(TableWords):
    """The words of the table, and phrases beside them."""

    def __init__(self, phrases: dict[str, list[str]] | None = None, error: Exception | None = None) -> None:
        self.listed = PHRASES if phrases is None else phrases
        self.error = error
        self.asked: list[str] = []
        self.contexts: list[list[str]] = []

    def phrases(self, text: str) -> list[tuple[int, int]]:
        self.asked.append(text)
        if self.error is not None:
            raise self.error
        return [(text.index(part), text.index(part) + len(part)) for part in self.listed if part in text]

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        self.contexts.append([context.token for context in contexts])
        known = {**CANDIDATES, **self.listed}
        return [tuple(Candidate(w, self.name) for w in known.get(c.token.lower(), ())) for c in contexts]

    def take_notes(self) -> list[str]:
        return ["phrases were asked"] if self.asked else []


def run(proposer: Any, rows: list[Example] = SIMPLE, **options: Any) -> list[Record]:
    sweep = sweep_of(KeywordVictim(), source=SOURCE, **options)
    sweep.proposer = proposer
    return [record for batch in sweep.run(rows) for record in batch]


def test_each_unedited_text_is_asked_once_and_phrases_are_proposed_with_the_tokens() -> None:
    proposer = TablePhrases()
    records = run(proposer)
    assert proposer.asked == ["He cooked a good meal.", "She cooked a good meal."]
    assert proposer.contexts == [["cooked", "a", "good", "meal", "cooked a", "good meal"]] * 2
    assert records[0].queries["proposer_calls"] == 12
    assert records[0].notes == ["phrases were asked"]


def test_a_phrase_is_one_edit_in_the_record() -> None:
    # he good meal 2.1: no single word of the table is enough (fine meal 0.7); awful thing is.
    plan: dict[str, Any] = {"settings": ReachSettings(max_edits=1)}
    record = next(r for r in run(TablePhrases(), **plan) if r.target == "unrobust_fair")
    assert record.status == "induced"
    assert record.perturbed_original == "He cooked a awful thing."
    assert {
        "side": "original",
        "start": 12,
        "end": 21,
        "from": "good meal",
        "to": "awful thing",
        "source": "toy-table",
    } in record.edits
    change = record.trajectory[0]["p_original"] - record.trajectory[1]["p_original"]
    assert record.pii["original"] == [pytest.approx(change / 2, abs=1e-7)]
    assert next(r for r in run(TableWords(), **plan) if r.target == "unrobust_fair").status == "failed"


def test_a_proposer_that_names_no_phrases_changes_nothing() -> None:
    plain = run(TableWords(), examples())
    with_none = run(TablePhrases({}), examples())
    for before, after in zip(plain, with_none, strict=True):
        old, new = before.to_dict(), after.to_dict()
        for record in (old, new):
            del record["seconds"]
            record.pop("notes", None)
        assert old == new


@pytest.mark.parametrize("error", [RuntimeError("no phrases today"), UsageError("no phrases today")])
def test_a_proposer_that_fails_with_its_phrases_fails_the_example_alone(error: Exception) -> None:
    rows = examples([("The film was good.", 1), ("He cooked a good meal.", 1)])
    skipped, failed = run(TablePhrases(error=error), rows)
    assert (skipped.status, failed.status) == ("skipped", "error")
    assert "no phrases today" in failed.message
    assert failed.notes == ["phrases were asked"]


def test_order_and_window_change_nothing_with_phrases() -> None:
    rows = examples()
    whole = {r.id: r for r in run(TablePhrases(), rows)}
    for window in (1, 3):
        for record in run(TablePhrases(), rows[::-1], window=window):
            assert record.edits == whole[record.id].edits
            assert record.largest_error == whole[record.id].largest_error


def test_states_whose_equivalence_is_asked_for_cost_the_filter_no_row() -> None:
    desk = AnswerDesk(VictimEngine(KeywordVictim()), EntailmentFilter(ScriptedScorer(()), veto=None), Clock())
    task = ExampleTask.open(SIMPLE[0], SOURCE.pairs_of(SIMPLE[0].text), SOURCE, TableWords(), Clock(), None)
    side = task.members[0]
    states = [p.state for position in side.positions for p in side.propose(side.start, position)]
    ((*verdicts,),) = desk.judges([(task, Judge(side, states))])
    admitted = [state for state, verdict in zip(states, verdicts, strict=True) if verdict]
    rows = task.filter_count.rows
    plain, graded = desk.judges(
        [(task, Judge(side, admitted)), (task, Judge(side, admitted, is_graded=True))]
    )
    assert plain == [True] * len(admitted)
    assert graded == [pytest.approx(0.98**2)] * len(admitted)
    assert task.filter_count.rows == rows > 0


def test_without_a_filter_an_exhaustive_search_knows_the_error_of_every_text() -> None:
    # she good meal 1.2: the worst text of one edit is she fine meal, -0.2.
    free = run(TableWords(), exhaustive=1, refused=None)
    filtered = run(TableWords(), exhaustive=1)
    worst = 1 - min(KeywordVictim()([f"She cooked a {w}." for w in ("fine meal", "good supper")])[:, 1])
    assert free[0].largest_error == pytest.approx(worst, abs=1e-8)
    assert free[0].n_tried == 2 * (1 + 3 + 2 + 2)
    assert 1 < filtered[0].n_tried < free[0].n_tried
