"""The sweep as a TextAttack recipe, and the same findings through every door."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.text_world import KeywordWrapper, ScriptedScorer, TableWords
from textattack.attack_results import FailedAttackResult, SkippedAttackResult, SuccessfulAttackResult
from textattack.search_methods import GreedySearch

from rif_plugins.core.example_sweep import SweepPlan
from rif_plugins.core.outcomes import ALL_TARGETS, TARGETS
from rif_plugins.core.result_files import read_records
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import UsageError
from rif_plugins.examples.base import Example
from rif_plugins.registry import ATTACK_RECIPES
from rif_plugins.runner import Sweep
from rif_plugins.similar import PairSource
from rif_plugins.text.goal_functions import RobustBiased
from rif_plugins.text.reach_search import ReachSearch
from rif_plugins.text.recipes import RIFair, RIFairCoupledRobustBiased
from rif_plugins.text.records import all_records_of
from rif_plugins.text.search_methods import DecoupledPairSearch
from rif_plugins.text.summary import rif_summary_rows
from rif_plugins.text.sweep_goals import AnyViolation, FairnessOnly, RobustnessOnly

TEXT = "He cooked a good meal."
TEXTS = [
    (TEXT, 1),
    ("She cooked a good meal.", 1),
    ("He saw an awful good meal.", 0),
    ("The woman had a decent supper and a good meal.", 1),
    ("Nobody here cooked a good meal.", 1),
    ("He cooked a good meal for his aunt, a woman of taste.", 0),
]


@pytest.fixture
def sweep(build):
    def make(goal=AnyViolation, search=None, **options):
        return build(goal=goal, search=search or ReachSearch(), **options)

    return make


def by_target(result) -> dict[str, Record]:
    return {record.target: record for record in all_records_of(result)}


def test_one_attack_answers_all_targets(sweep) -> None:
    result = sweep().attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)
    records = by_target(result)
    assert list(records) == [str(target) for target in TARGETS]
    found = records["robust_biased"]
    assert (found.status, found.perturbed_original) == ("induced", TEXT)
    assert found.perturbed_similar == "She cooked a fine meal."
    assert found.equivalence["similar"]["score"] == pytest.approx(0.98**2, abs=1e-6)
    # Nothing lowers the original below one half, so no target that needs it is reached.
    assert records["unrobust_fair"].status == records["unrobust_biased"].status == "failed"
    assert "robust_biased" in result.__str__(color_method=None)


def test_costs_stand_in_the_first_record_and_are_those_of_the_victim(sweep) -> None:
    wrapper = KeywordWrapper()
    result = sweep(wrapper=wrapper).attack(TEXT, 1)
    records = all_records_of(result)
    assert records[0].queries["victim_rows"] == wrapper.rows == result.num_queries
    assert all(record.queries == {} for record in records[1:])


def test_a_sweep_costs_less_than_the_three_recipes(sweep, build) -> None:
    wrapper = KeywordWrapper()
    sweep(wrapper=wrapper).attack(TEXTS[3][0], 1)
    apart = 0
    from rif_plugins.text.goal_functions import UnrobustBiased, UnrobustFair

    for goal in (RobustBiased, UnrobustFair, UnrobustBiased):
        one = KeywordWrapper()
        build(wrapper=one, goal=goal).attack(TEXTS[3][0], 1)
        apart += one.rows
    assert wrapper.rows < apart


def test_baselines_look_at_one_axis(sweep) -> None:
    weak = KeywordWrapper({"good": 0.5, "fine": -0.5})
    flipped = sweep(goal=RobustnessOnly, wrapper=weak).attack(TEXT, 1)
    record = by_target(flipped)["robustness_only"]
    assert (record.status, record.perturbed_original) == ("induced", "He cooked a fine meal.")
    assert record.perturbed_similar == record.similar  # the similar text is left as it is
    parted = sweep(goal=FairnessOnly).attack(TEXT, 1)
    record = by_target(parted)["fairness_only"]
    assert record.status == "induced"
    assert [(e["side"], e["to"]) for e in record.edits] == [("original", "fine"), ("similar", "fine")]
    # With no difference between the two persons nothing can part them.
    alike = sweep(goal=FairnessOnly, wrapper=weak).attack(TEXT, 1)
    assert isinstance(alike, FailedAttackResult)


def test_a_budget_is_kept_and_said(sweep) -> None:
    for budget in range(2, 14):
        wrapper = KeywordWrapper()
        result = sweep(wrapper=wrapper, query_budget=budget).attack(TEXT, 1)
        assert wrapper.rows <= budget
        records = all_records_of(result)
        assert records and all(r.status in ("induced", "failed") for r in records)
    tight = sweep(query_budget=3).attack(TEXT, 1)
    assert {record.stop_reason for record in all_records_of(tight)} == {"budget"}


def test_exhaustive_search_certifies_what_it_does_not_find(sweep) -> None:
    result = sweep(search=ReachSearch(exhaustive=1)).attack(TEXT, 1)
    records = by_target(result)
    assert records["robust_biased"].stop_reason == "success"
    missing = records["unrobust_fair"]
    assert missing.stop_reason == "certified"
    assert missing.certificate["max_edits"] == 1
    # good: 3, meal: 2, cooked: 1 candidates on each side
    assert missing.certificate["texts_original"] == missing.certificate["texts_similar"] == 6


def test_skips_and_errors_have_one_record(sweep) -> None:
    skipped = sweep().attack("Nobody cooked.", 1)
    assert isinstance(skipped, SkippedAttackResult)
    assert [r.stop_reason for r in all_records_of(skipped)] == ["no sensitive token"]
    broken = sweep(wrapper=KeywordWrapper(fail_on="fine")).attack(TEXT, 1)
    (record,) = all_records_of(broken)
    assert (record.status, record.target) == ("error", "any_violation")
    assert "cannot read fine" in record.message


def test_the_summary_has_a_row_for_each_target(sweep) -> None:
    attack = sweep()
    rows = rif_summary_rows([attack.attack(text, label) for text, label in TEXTS])
    assert rows is not None
    table = dict(rows)
    assert table["Targets:"] == "robust_biased, unrobust_fair, unrobust_biased"
    assert table["Skipped:"] == "1 (no sensitive token: 1)"
    assert "robust_biased, induced (of clean robust_fair):" in table
    assert "Robust and fair (RIF) against all of them:" in table


def test_a_goal_and_a_search_that_do_not_go_together_say_so(build) -> None:
    with pytest.raises(UsageError, match=r"AnyViolation with 3; choose --search-method rif-reach"):
        build(goal=AnyViolation, search=DecoupledPairSearch()).attack(TEXT, 1)
    with pytest.raises(UsageError, match=r"got RobustBiased; choose --goal-function rif-any-violation"):
        build(goal=RobustBiased, search=ReachSearch()).attack(TEXT, 1)


def test_goals_work_with_a_search_of_the_host(build) -> None:
    result = build(goal=AnyViolation, search=GreedySearch()).attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)


def test_an_attack_can_be_sent_to_another_process(sweep) -> None:
    again = pickle.loads(pickle.dumps(sweep()))
    assert by_target(again.attack(TEXT, 1))["robust_biased"].status == "induced"


def plain(record: Record) -> dict:
    """What two doors must agree on: not costs, and not what only one of them writes."""
    edits = [{key: value for key, value in edit.items() if key != "source"} for edit in record.edits]
    bare = replace(record, edits=edits, queries={}, seconds=0.0, saliency=[], largest_error=0.0, n_tried=0)
    return json.loads(json.dumps(bare.to_dict()))


@pytest.mark.parametrize("refused", [(), ("fine", "supper")])
@pytest.mark.parametrize("exhaustive", [None, 1])
def test_every_door_finds_the_same(build, tmp_path: Path, refused, exhaustive) -> None:
    """TextAttack's recipe and the audit: same victim, same settings, same records."""
    attack = build(
        goal=AnyViolation, search=ReachSearch(exhaustive=exhaustive), refused=refused, results=tmp_path / "r"
    )
    for text, label in TEXTS:
        attack.attack(text, label)
    host = [r for r in read_records(tmp_path / "r") if r.is_evaluated]
    runner = Sweep(
        VictimEngine(KeywordWrapper()),
        PairSource(),
        TableWords(),
        EntailmentFilter(ScriptedScorer(refused), veto=None),
        SweepPlan(exhaustive=exhaustive),
    )
    examples = [Example(f"{i}", text, label) for i, (text, label) in enumerate(TEXTS)]
    from rif_plugins.core.seeds import example_id

    examples = [replace(e, id=example_id(e.text, e.label)) for e in examples]
    audited = [r for found in runner.run(examples) for r in found if r.is_evaluated]
    assert len(host) > 10

    def key(record: Record) -> tuple[str, str, str]:
        return record.example, record.similar, record.target

    assert [plain(r) for r in sorted(host, key=key)] == [plain(r) for r in sorted(audited, key=key)]


def test_recipes_are_built_from_their_names() -> None:
    wrapper = KeywordWrapper()
    coupled = RIFairCoupledRobustBiased.build(wrapper, entailment="none")
    assert coupled.search_method.positions == "coupled"
    both = RIFair.build(wrapper, entailment="none", beam=2, exhaustive=1)
    assert isinstance(both.search_method, ReachSearch)
    assert (both.search_method.beam, both.search_method.exhaustive) == (2, 1)
    assert {"rifair", "rif-robustness-only", "rif-fairness-only"} <= ATTACK_RECIPES.keys()
    assert set(ALL_TARGETS) == {*map(str, TARGETS), *RobustnessOnly.targets, *FairnessOnly.targets}
