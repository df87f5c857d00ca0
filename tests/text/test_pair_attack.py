"""The recipes' parts together, on a victim that can be computed by hand."""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fakes.text_world import WEIGHTS, KeywordWrapper, ScriptedScorer, TableWords
from textattack import Attack, AttackArgs, Attacker
from textattack.attack_results import FailedAttackResult, SkippedAttackResult, SuccessfulAttackResult
from textattack.constraints.grammaticality.language_models import GPT2
from textattack.constraints.overlap import MaxWordsPerturbed
from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
from textattack.datasets import Dataset
from textattack.goal_functions import UntargetedClassification
from textattack.search_methods import BeamSearch, GreedySearch, GreedyWordSwapWIR
from textattack.shared import AttackCheckpoint, AttackedText
from textattack.transformations import WordSwapNeighboringCharacterSwap

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import classify
from rif_plugins.core.pair_search import SearchSettings, run_search, search_pair
from rif_plugins.core.result_files import read_records
from rif_plugins.core.sides import TextSide, align_tokens
from rif_plugins.core.victim import VictimEngine
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import TokenContext
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon
from rif_plugins.text.constraints import BidirectionalEntailment
from rif_plugins.text.goal_functions import RobustBiased, UnrobustBiased, UnrobustFair
from rif_plugins.text.pairing import PairSource, pair_text
from rif_plugins.text.search_methods import DecoupledPairSearch
from rif_plugins.text.summary import rif_summary_rows
from rif_plugins.text.trainer import as_training_results
from rif_plugins.text.transformations import ProposedWordSwap

TEXT = "He cooked a good meal."


def predictions(texts: tuple[str, str]) -> list[int]:
    return [int(row.argmax()) for row in KeywordWrapper()(list(texts))]


def test_robust_biased_pair_is_found_and_shows_both_sides(build) -> None:
    result = build().attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)
    original, similar = result.perturbed_result.attacked_text.tokenizer_input
    assert original == TEXT
    assert similar == "She cooked a fine meal."
    assert predictions((original, similar)) == [1, 0]
    printed = result.__str__(color_method=None)
    assert "Original: He cooked a good meal." in printed
    assert "Similar: She cooked a fine meal." in printed
    assert "robust_biased: 1 (65%) | 0" in printed or "robust_biased: 1" in printed
    record = result.perturbed_result.record
    assert record.status == "induced"
    assert record.attribute == "gender"
    assert record.edits == [{"side": "similar", "start": 13, "end": 17, "from": "good", "to": "fine"}]
    assert record.equivalence["original"]["score"] == 1.0
    assert record.equivalence["similar"]["score"] == pytest.approx(0.98**2)
    assert record.queries["victim_rows"] == result.num_queries
    assert record.scorer == "scripted 1"


@pytest.mark.parametrize("color", [None, "ansi", "html", "file"])
def test_every_colour_method_prints(build, color: str | None) -> None:
    result = build().attack(TEXT, 1)
    assert "fine" in result.__str__(color_method=color)


@pytest.mark.parametrize(
    ("goal", "label", "text"),
    [
        (RobustBiased, 1, TEXT),
        (UnrobustBiased, 0, "He had an awful meal."),
        (UnrobustFair, 0, "He had an awful meal."),
    ],
)
def test_each_target_is_read_from_the_returned_pair(build, goal, label: int, text: str) -> None:
    wrapper = KeywordWrapper({**WEIGHTS, "awful": -3.0, "gruesome": 0.4, "terrible": 1.5})
    result = build(wrapper=wrapper, goal=goal).attack(text, label)
    rows = wrapper(list(result.perturbed_result.attacked_text.tokenizer_input)).argmax(axis=1)
    reached = classify(label, int(rows[0]), int(rows[1])) is goal.target
    assert isinstance(result, SuccessfulAttackResult) == reached
    assert reached


def test_the_filter_decides_what_may_be_used(build) -> None:
    assert isinstance(build(refused=["fine"]).attack(TEXT, 1), FailedAttackResult)


@pytest.mark.parametrize("order", ["filter-first", "victim-first"])
def test_filter_orders_agree(build, order: str) -> None:
    for refused in ([], ["fine"], ["decent"], ["fine", "decent"]):
        result = build(refused=refused, search=DecoupledPairSearch(filter_order=order)).attack(TEXT, 1)
        expected = build(refused=refused, search=DecoupledPairSearch(filter_order="filter-first")).attack(
            TEXT, 1
        )
        assert result.perturbed_result.attacked_text.text == expected.perturbed_result.attacked_text.text


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 7, 10, 30])
@pytest.mark.parametrize("search", ["rif", "greedy", "wir", "beam"])
def test_query_budget_is_never_exceeded(build, budget: int, search: str) -> None:
    wrapper = KeywordWrapper()
    methods = {
        "rif": DecoupledPairSearch,
        "greedy": GreedySearch,
        "wir": GreedyWordSwapWIR,
        "beam": BeamSearch,
    }
    attack = build(wrapper=wrapper, search=methods[search](), query_budget=budget)
    for text in (TEXT, "She said her cooked meal was a good meal.", "The young woman is awful."):
        before = wrapper.rows
        try:
            result = attack.attack(text, 1)
        except (IndexError, ValueError):
            # Some of the host's searches do not survive an empty answer; the budget holds all the same.
            assert search != "rif"
        else:
            assert result.num_queries == wrapper.rows - before
        assert wrapper.rows - before <= budget


def test_skipped_examples_are_named_and_counted(build) -> None:
    attack = build()
    results = [attack.attack(text, 1) for text in ("The soup was good.", "", "   ", TEXT)]
    assert [type(result) for result in results[:3]] == [SkippedAttackResult] * 3
    assert "[no sensitive token]" in results[0].__str__()
    rows = dict(rif_summary_rows(results))
    assert rows["Skipped:"] == "3 (empty text: 2, no sensitive token: 1)"
    assert rows["Pairs evaluated (one an example):"] == 1
    assert rif_summary_rows([]) is None


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (-1, "label -1 is below 0"),
        (2, "label 2 is outside the victim's classes: expected 0 to 1"),
        ("positive", "label 'positive' is no class number"),
    ],
)
def test_bad_labels_are_refused(build, label, message: str) -> None:
    with pytest.raises(DataError, match=message):
        build().attack(TEXT, label)


def test_a_victim_that_raises_costs_one_example(build, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    attack = build(wrapper=KeywordWrapper(fail_on="poison"), results=path)
    results = [attack.attack(text, 1) for text in (TEXT, "He ate poison.", TEXT)]
    assert [type(r).__name__ for r in results] == [
        "SuccessfulAttackResult",
        "SkippedAttackResult",
        "SuccessfulAttackResult",
    ]
    assert "the victim raised RuntimeError: cannot read poison" in results[1].__str__()
    assert [record.status for record in read_records(path)] == ["induced", "error", "induced"]
    assert dict(rif_summary_rows(results))["Errors:"] == 1


def test_a_victim_that_raises_on_a_candidate_keeps_the_clean_pair(build) -> None:
    result = build(wrapper=KeywordWrapper(fail_on="fine")).attack(TEXT, 1)
    assert isinstance(result, FailedAttackResult)
    assert result.perturbed_result.record.status == "error"
    assert "cannot read fine" in result.perturbed_result.record.message


def test_nan_of_one_text_is_one_error_and_a_wrong_shape_ends_the_run(build) -> None:
    class Broken(KeywordWrapper):
        def __init__(self, value) -> None:
            super().__init__()
            self.value = value

        def __call__(self, text_input_list):
            return self.value(len(text_input_list))

    result = build(wrapper=Broken(lambda n: np.full((n, 2), np.nan))).attack(TEXT, 1)
    assert result.perturbed_result.record.status == "error"
    with pytest.raises(UsageError, match="the victim returned shape"):
        build(wrapper=Broken(lambda n: np.zeros((n + 1, 2)))).attack(TEXT, 1)


def test_ready_pairs_of_the_user(build) -> None:
    example = OrderedDict(original="John cooked a good meal.", similar="Mary she cooked a good meal.")
    result = build().attack(example, 1)
    assert isinstance(result, SuccessfulAttackResult)
    assert result.perturbed_result.record.attribute == "given"
    with pytest.raises(UsageError, match="columns premise, hypothesis: expected one text column"):
        build().attack(OrderedDict(premise="He ran.", hypothesis="He moved."), 1)


def test_host_components_compose(build) -> None:
    constraints = [RepeatModification(), StopwordModification(), MaxWordsPerturbed(max_num_words=1)]
    result = build(constraints=constraints).attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)
    # A limit of words per side: at most one edit a side even where more would help.
    text = "She cooked a good good good meal."
    limited = build(constraints=constraints).attack(text, 1)
    assert all(
        sum(edit["side"] == side for edit in limited.perturbed_result.record.edits) <= 1
        for side in ("original", "similar")
    )


def test_our_goal_in_a_recipe_of_the_host(build) -> None:
    """RobustBiased with the search and transformation of DeepWordBug: edits in both columns."""
    attack = Attack(
        RobustBiased(KeywordWrapper()),
        [RepeatModification(), StopwordModification()],
        WordSwapNeighboringCharacterSwap(random_one=False),
        GreedyWordSwapWIR(wir_method="delete"),
    )
    result = attack.attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)
    assert predictions(result.perturbed_result.attacked_text.tokenizer_input) == [1, 0]


@pytest.fixture(scope="module")
def tiny_gpt2(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random GPT-2 that reads bytes, in a folder."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

    folder = tmp_path_factory.mktemp("gpt2")
    words = ["<|endoftext|>", *bytes_to_unicode().values()]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 64, "vocab_size": len(words)}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0, **sizes)).save_pretrained(folder)
    return str(folder)


def test_a_language_model_of_the_host_judges_the_edits(build, tiny_gpt2: str) -> None:
    def attacked(least: float) -> str:
        perplexity = GPT2(model_name=tiny_gpt2, max_log_prob_diff=least)
        result = build(constraints=[RepeatModification(), perplexity]).attack(TEXT, 1)
        return type(result).__name__

    assert attacked(1e6) == "SuccessfulAttackResult"
    assert attacked(-1e6) == "FailedAttackResult"


def test_our_constraint_in_a_plain_attack_of_the_host() -> None:
    """A TextFooler-style attack: untargeted, greedy by importance, our swaps, our constraint."""

    def attack(refused: list[str]) -> Attack:
        return Attack(
            UntargetedClassification(KeywordWrapper()),
            [RepeatModification(), BidirectionalEntailment(ScriptedScorer(refused))],
            ProposedWordSwap(TableWords()),
            GreedyWordSwapWIR(wir_method="delete"),
        )

    text = "She cooked a good meal."
    assert attack([]).attack(text, 1).perturbed_result.attacked_text.text == "She cooked a fine meal."
    assert isinstance(attack(["fine"]).attack(text, 1), FailedAttackResult)


def test_our_search_needs_a_pair_goal() -> None:
    attack = Attack(
        UntargetedClassification(KeywordWrapper()), [], ProposedWordSwap(TableWords()), DecoupledPairSearch()
    )
    with pytest.raises(
        UsageError, match="expected a goal such as RobustBiased, got UntargetedClassification"
    ):
        attack.attack(TEXT, 1)


def test_the_constraint_must_compare_with_the_original() -> None:
    with pytest.raises(ValueError, match="expected compare_against_original=True"):
        BidirectionalEntailment(ScriptedScorer(), compare_against_original=False)


def plain_side(pair, side: str, judge: EntailmentFilter) -> TextSide:
    """The side that a search without a host would use."""

    def propose(text: str, start: int, end: int) -> list[str]:
        return [c.text for c in TableWords().propose([TokenContext(text, start, end)])[0]]

    def admissible(original: str, edited: Sequence[str]) -> list[bool]:
        return [verdict.accepted for verdict in judge.check(original, edited)]

    def is_editable(word: str) -> bool:
        return word.lower() not in {"man", "he", "she", "woman", "her", "son"}

    return TextSide(pair, side, align_tokens(pair), propose, admissible, is_editable)


@pytest.mark.parametrize("positions", ["shared", "independent", "coupled"])
@pytest.mark.parametrize("target", [RobustBiased, UnrobustFair, UnrobustBiased])
def test_the_host_and_the_core_find_the_same(build, positions: str, target) -> None:
    """Two doors to one search: same victim, same settings, same findings."""
    search = DecoupledPairSearch(positions=positions, filter_order="filter-first")
    texts = [
        TEXT,
        "He is an awful man and she cooked a good meal.",
        "The woman cooked a great, good meal for her son.",
    ]
    for text in texts:
        attack = build(search=search, goal=target, refused=["great"])
        final = attack.attack(text, 1).perturbed_result
        pair = final.pair
        judge = EntailmentFilter(ScriptedScorer(["great"]))
        sides = [plain_side(pair, side, judge) for side in ("original", "similar")]
        engine = VictimEngine(KeywordWrapper())
        result = run_search(
            search_pair(
                *sides,
                label=1,
                objective=Objective.for_target(target.target),
                settings=SearchSettings(positions=positions),
            ),
            engine.probabilities,
        )
        assert (result.state.original.text, result.state.similar.text) == final.attacked_text.tokenizer_input
        assert str(result.outcome) == final.record.outcome


def test_everything_pickles_and_finds_the_same(build) -> None:
    attack = build()
    copy = pickle.loads(pickle.dumps(attack))
    first, second = attack.attack(TEXT, 1), copy.attack(TEXT, 1)
    assert first.perturbed_result.attacked_text.text == second.perturbed_result.attacked_text.text
    assert pickle.loads(pickle.dumps(first)).perturbed_result.record == first.perturbed_result.record


def test_order_of_examples_does_not_matter(build) -> None:
    texts = [TEXT, "She cooked a good meal.", "He is a good woman.", TEXT]
    attack = build()
    forward = {t: attack.attack(t, 1).perturbed_result.record for t in texts}
    backward = {t: attack.attack(t, 1).perturbed_result.record for t in reversed(texts)}
    for text in set(texts):
        a, b = forward[text].to_dict(), backward[text].to_dict()
        assert a.pop("seconds") >= 0
        assert b.pop("seconds") >= 0
        assert a == b


def test_prints_say_what_is_searched(build) -> None:
    printed = str(build(query_budget=50))
    for part in (
        "DecoupledPairSearch",
        "RobustBiased(target=robust_biased, distance=label_gap, query_budget=50)",
        "ProposedWordSwap",
        "toy-table",
        "BidirectionalEntailment",
        "scripted 1",
        "(min_equivalence):  0.8",
    ):
        assert part in printed


def test_a_victim_that_raises_on_the_second_question_is_an_error(build, tmp_path: Path) -> None:
    class Flaky(KeywordWrapper):
        def __call__(self, text_input_list):
            if any(self.seen.count(text) for text in text_input_list):
                raise ConnectionError("went away")
            return super().__call__(text_input_list)

    path = tmp_path / "results.jsonl"
    attack = build(wrapper=Flaky(), results=path)
    assert isinstance(attack.attack(TEXT, 1), FailedAttackResult)
    assert isinstance(build(results=path).attack(TEXT, 1), SuccessfulAttackResult)
    assert [record.status for record in read_records(path)] == ["error", "induced"]


def test_a_victim_that_changes_its_answer_shows_nothing(build) -> None:
    class Fickle(KeywordWrapper):
        def __call__(self, text_input_list):
            again = [self.seen.count(text) > 0 for text in text_input_list]
            p = super().__call__(text_input_list)
            p[again] = [0.1, 0.9]
            return p

    result = build(wrapper=Fickle()).attack(TEXT, 1)
    record = result.perturbed_result.record
    assert isinstance(result, FailedAttackResult)
    assert (record.status, record.stop_reason) == ("failed", "unconfirmed")
    assert (record.perturbed_original, record.perturbed_similar) == (record.original, record.similar)
    assert len(record.trajectory) == 1
    assert record.edits == []


def test_an_error_on_a_later_pair_is_not_counted_as_standing(build) -> None:
    # The pair with "straight" is the most promising one and stands; the victim raises on the next.
    source = PairSource(Lexicon.load(), ["orientation"])
    pairs = source.pairs(AttackedText("A gay teacher cooked."))
    assert len(pairs) > 1

    class Fragile(KeywordWrapper):
        def __call__(self, text_input_list):
            if any("bisexual" in text and "prepared" in text for text in text_input_list):
                raise RuntimeError("no")
            return super().__call__(text_input_list)

    wrapper = Fragile({"prepared": 0.4, "cooked": 0.5, "straight": -0.1})
    result = build(wrapper=wrapper, pair_source=source).attack("A gay teacher cooked.", 1)
    record = result.perturbed_result.record
    assert record.status == "error"
    assert "the victim raised RuntimeError" in record.message
    assert dict(rif_summary_rows([result]))["Errors:"] == 1


def test_no_filter_means_no_equivalence(build) -> None:
    attack = build()
    attack.constraints = [BidirectionalEntailment("none")]
    result = attack.attack(TEXT, 1)
    assert result.perturbed_result.record.equivalence == {}
    assert dict(rif_summary_rows([result]))["Mean equivalence S_eq of edited sides:"] == "none"


def test_a_search_of_the_host_gets_its_row_in_the_table(build) -> None:
    results = [
        build(search=GreedyWordSwapWIR(wir_method="delete")).attack(text, 1)
        for text in (TEXT, "The soup was good.", "He had a great meal.")
    ]
    rows = dict(rif_summary_rows(results))
    assert rows["Pairs evaluated (one an example):"] == 2
    assert rows["Skipped:"] == "1 (no sensitive token: 1)"
    assert rows["Induced violations (of clean robust_fair):"].endswith("(1 of 2)")


def test_sensitive_tokens_outside_the_swap_are_never_edited() -> None:
    """Even when the attack does not carry the protection constraint."""
    attack = Attack(
        RobustBiased(KeywordWrapper(), pair_source=PairSource(Lexicon.load(), ["gender"])),
        [],
        WordSwapNeighboringCharacterSwap(),
        DecoupledPairSearch(),
    )
    result = attack.attack("He is a Christian teacher and a good man.", 1)
    edited = {edit["from"] for edit in result.perturbed_result.record.edits}
    assert "Christian" not in edited
    assert "Christian" in result.perturbed_result.attacked_text.text


@pytest.mark.parametrize(("size", "expected"), [(32, 7), (5, 5), (64, 64)])
def test_batch_size_of_the_host_and_of_the_settings(build, monkeypatch, size: int, expected: int) -> None:
    monkeypatch.setenv("RIF_BATCH_SIZE", "7")
    goal = build().goal_function
    goal.batch_size = size  # the host's command line always sets it, to 32 by default
    goal.init_attack_example(AttackedText(TEXT), 1)
    assert goal.engine.batch_size == expected


def test_a_setting_can_be_lifted_in_code(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RIF_MAX_EDITS", "3")
    monkeypatch.setenv("RIF_RESULTS", str(tmp_path / "r.jsonl"))
    assert DecoupledPairSearch().max_edits == 3
    assert DecoupledPairSearch(max_edits=None).max_edits is None
    assert RobustBiased(KeywordWrapper()).results == tmp_path / "r.jsonl"
    assert RobustBiased(KeywordWrapper(), results=None).results is None
    assert Settings.load().updated(max_edits=None).max_edits is None
    with pytest.raises(UsageError, match="setting `min_equivalence`: expected a number above 0"):
        Settings.load().updated(min_equivalence=None)


def test_output_for_the_interactive_mode(build) -> None:
    class OneColumn(KeywordWrapper):
        def __call__(self, text_input_list):
            return super().__call__(text_input_list)[:, 1]

    goal = build(wrapper=OneColumn()).goal_function
    assert goal.get_output(AttackedText(TEXT)) == 1
    assert goal.get_output(pair_text("good", "she")) == "1|0"


def test_checkpoints_hold_pairs(build, tmp_path: Path) -> None:
    attack = build()
    args = AttackArgs(
        num_examples=2, checkpoint_interval=1, checkpoint_dir=str(tmp_path), silent=True, disable_stdout=True
    )
    Attacker(attack, Dataset([(TEXT, 1), ("The soup.", 1)]), args).attack_dataset()
    files = sorted(tmp_path.iterdir())
    assert files
    loaded = AttackCheckpoint.load(str(files[-1]))
    assert [
        r.original_result.record is not None or r.perturbed_result.record is not None
        for r in loaded.attack_log_manager.results
    ] == [True] * len(loaded.attack_log_manager.results)


def test_found_pairs_train_as_two_rows(build) -> None:
    result = build().attack(TEXT, 1)
    first, second = as_training_results([result])
    assert [r.perturbed_result.attacked_text.text for r in (first, second)] == [
        TEXT,
        "She cooked a fine meal.",
    ]
    assert [r.perturbed_result.ground_truth_output for r in (first, second)] == [1, 1]
    assert len(result.perturbed_result.attacked_text.column_labels) == 2
    skipped = build().attack("The soup.", 1)
    assert as_training_results([skipped]) == [skipped]


def test_long_texts_stay_possible(build) -> None:
    """50,000 characters: every part must be near linear, or this takes minutes and gigabytes."""
    text = "He cooked a good meal for the town. " + "It was a long plain story about bread and rain. " * 1050
    assert len(text) > 50_000

    class Counting(KeywordWrapper):
        def __call__(self, text_input_list):
            # Occlusion asks for 20,000 such texts, so the victim of this test must not read words.
            p = [0.2 + 0.7 * ("good" in text[:60]) - 0.3 * ("She" in text[:60]) for text in text_input_list]
            return np.column_stack([1 - np.clip(p, 0, 1), np.clip(p, 0, 1)])

    result = build(wrapper=Counting(), search=DecoupledPairSearch(max_positions=2)).attack(text, 1)
    assert isinstance(result, SuccessfulAttackResult)
    assert result.perturbed_result.attacked_text.tokenizer_input[1].startswith("She cooked a")
