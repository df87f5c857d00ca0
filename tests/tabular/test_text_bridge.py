"""RIFair on texts through ART; TextAttack is not imported but in the comparison at the end."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from art.attacks import EvasionAttack
from art.estimators.classification import BlackBoxClassifier
from fakes.proposing_server import proposing

from rif_plugins.core.outcomes import classify
from rif_plugins.core.result_files import read_records
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers import Candidate, TokenContext
from rif_plugins.proposers.asking import ProposerWarning
from rif_plugins.similar import Lexicon
from rif_plugins.tabular.text_bridge import RIFairTextAttack

WEIGHTS = {
    "good": 2.0,
    "fine": 0.6,
    "decent": 1.2,
    "great": 2.5,
    "she": -0.9,
    "her": -0.9,
    "woman": -0.9,
    "meal": 0.1,
    "awful": -3.0,
    "terrible": 1.5,
    "gruesome": 0.4,
}
TABLE = {
    "good": ["fine", "decent", "great"],
    "meal": ["dinner", "supper"],
    "awful": ["terrible", "gruesome"],
    "cooked": ["prepared"],
}
TEXT = "He cooked a good meal."
TEXTS = [
    TEXT,
    "She had an awful meal.",
    "He had an awful meal.",
    "The soup was good.",
    "",
    "The young woman said her good meal was great and he cooked a fine one.",
    "She said that her decent meal, cooked by John, was good.",
    "Good good she.",
]


def predict(texts: np.ndarray) -> np.ndarray:
    logits = [sum(WEIGHTS.get(w.strip(".,!").lower(), 0.0) for w in text.split()) for text in texts]
    p = 1 / (1 + np.exp(-np.array(logits)))
    return np.column_stack([1 - p, p])


class Words:
    """Candidates of a plain table."""

    name = "toy-table"

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        return [
            tuple(Candidate(word, self.name) for word in TABLE.get(context.token.lower(), ()))
            for context in contexts
        ]


class Scorer:
    """Everything entails everything, but for texts that hold a refused word."""

    name = "scripted"
    version = "1"

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        rows = []
        for premise, hypothesis in pairs:
            changed = {word.strip(".,").lower() for word in set(premise.split()) ^ set(hypothesis.split())}
            rows.append([0.05, 0.05, 0.9] if changed & self.refused else [0.98, 0.01, 0.01])
        return np.array(rows).reshape(-1, 3)


def estimator() -> BlackBoxClassifier:
    return BlackBoxClassifier(predict, input_shape=(1,), nb_classes=2)


def attack(target: str = "robust_biased", refused: Sequence[str] = (), victim=None, **options):
    return RIFairTextAttack(
        victim or estimator(), target, proposer=Words(), entailment=Scorer(*refused), **options
    )


def array(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


def test_it_is_an_attack_of_art_with_settable_parameters() -> None:
    made = attack()
    assert isinstance(made, EvasionAttack)
    made.set_params(target="unrobust_fair", max_positions=3)
    assert "target=unrobust_fair" in repr(made)
    with pytest.raises(ValueError, match="cannot be set"):
        made.set_params(beam=2)
    with pytest.raises(UsageError, match="target 'fair' does not exist"):
        made.set_params(target="fair")


def test_a_pair_is_found_on_strings() -> None:
    pairs = attack().generate_pairs(array(TEXT), np.array([1]))
    assert pairs.original.tolist() == [TEXT]
    assert pairs.similar.tolist() == ["She cooked a good meal."]
    assert pairs.perturbed_original.tolist() == [TEXT]
    assert pairs.perturbed_similar.tolist() == ["She cooked a fine meal."]
    assert pairs.outcome.tolist() == ["robust_biased"]
    assert (pairs.prediction.tolist(), pairs.similar_prediction.tolist()) == ([1], [0])
    assert pairs.step.tolist() == [1]
    assert pairs.cost["is_black_box"] is True
    assert pairs.cost["victim_rows"] > 2


def test_generate_keeps_shape_and_rows_without_a_finding() -> None:
    x = array("She had an awful meal.", "The soup was good.", "")
    found = attack("unrobust_biased").generate(x, np.array([0, 1, 1]))
    assert found.shape == (3,)
    assert found.dtype == object
    assert found[0] != x[0]
    assert found[1:].tolist() == x[1:].tolist()
    records = attack().search(x, np.array([0, 1, 1]))
    assert [(r.status, r.stop_reason) for r in records[1:]] == [
        ("skipped", "no sensitive token"),
        ("skipped", "empty text"),
    ]


@pytest.mark.parametrize("target", ["robust_biased", "unrobust_fair", "unrobust_biased"])
def test_every_outcome_is_that_of_the_returned_pair(target: str) -> None:
    pairs = attack(target).generate_pairs(array(*TEXTS))
    assert pairs.source.tolist() == [0, 1, 2, 5, 6, 7]
    first = predict(pairs.perturbed_original).argmax(axis=1)
    second = predict(pairs.perturbed_similar).argmax(axis=1)
    expected = [str(classify(*row)) for row in zip(pairs.label, first, second, strict=True)]
    assert pairs.outcome.tolist() == expected
    assert target in expected


def test_labels_may_be_missing_or_one_hot() -> None:
    x = array(TEXT, "He had an awful meal.")
    whole = attack().search(x, np.array([1, 0]))
    hot = attack().search(x, np.array([[0, 1], [1, 0]]))
    own = attack().search(x)
    for one, other, third in zip(whole, hot, own, strict=True):
        assert one.perturbed_similar == other.perturbed_similar == third.perturbed_similar
        assert one.label == other.label == third.label


def test_a_callable_and_an_object_with_predict_are_estimators() -> None:
    class Model:
        def predict(self, x):
            return predict(x)

    expected = attack().generate_pairs(array(TEXT)).perturbed_similar.tolist()
    for victim in (predict, Model()):
        assert attack(victim=victim).generate_pairs(array(TEXT)).perturbed_similar.tolist() == expected
    with pytest.raises(UsageError, match="the estimator is int, expected an ART estimator over strings"):
        RIFairTextAttack(3)


def test_the_filter_decides() -> None:
    record = attack(refused=["fine", "decent"]).search(array(TEXT), np.array([1]))[0]
    assert record.status == "failed"
    assert record.scorer == "scripted 1"
    assert "fine" not in record.perturbed_similar


def test_ready_pairs() -> None:
    x = np.array([["John cooked a good meal.", "Mary she cooked a good meal."]], dtype=object)
    (record,) = attack().search(x, np.array([1]))
    assert record.attribute == "given"
    assert record.is_found


@pytest.mark.parametrize("budget", [0, 1, 2, 3, 5, 8, 20])
def test_the_query_budget_holds(budget: int) -> None:
    rows = []

    def counting(texts):
        rows.append(len(texts))
        return predict(texts)

    made = attack("unrobust_fair", victim=counting, query_budget=budget)
    (record,) = made.search(array(TEXT), np.array([1]))
    assert sum(rows) == record.queries["victim_rows"] <= budget
    assert (record.stop_reason == "query budget below one pair") == (budget < 2)


def test_a_victim_that_raises_or_changes_its_mind_is_recorded() -> None:
    def poisoned(texts):
        if any("fine" in text for text in texts):
            raise RuntimeError("cannot read fine")
        return predict(texts)

    (record,) = attack(victim=poisoned).search(array(TEXT), np.array([1]))
    assert record.status == "error"
    assert "cannot read fine" in record.message

    class Fickle:
        calls = 0

        def predict(self, texts):
            Fickle.calls += 1
            found = predict(texts)
            is_repeat = len(texts) == 2 and "She cooked a fine meal." in list(texts) and Fickle.calls > 3
            return found[:, ::-1] if is_repeat else found

    (record,) = attack(victim=Fickle()).search(array(TEXT), np.array([1]))
    assert record.stop_reason == "unconfirmed"
    assert record.perturbed_similar == record.similar


def test_records_are_written(tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    attack(results=path).generate(array(TEXT, ""), np.array([1, 1]))
    assert [record.status for record in read_records(path)] == ["induced", "skipped"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 2}, "unknown setting `beam`"),
        ({"max_positions": 0}, "setting `max_positions`: expected a whole number from 1"),
        ({"saliency": "gradient"}, "saliency gradient needs a white-box victim"),
        ({"query_budget": -1}, "query_budget must be a whole number of 0 or more"),
    ],
)
def test_wrong_settings_are_named(options, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attack(**options)


def asking(**options) -> RIFairTextAttack:
    return RIFairTextAttack(estimator(), proposer="llm:m", entailment=Scorer(), **options)


def test_a_language_model_keeps_to_the_settings_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with proposing(monkeypatch, tmp_path, seed="3") as server:
        made = asking(llm_temperature=0.2)
        pairs = made.generate_pairs(array(TEXT), np.array([1]))
        assert pairs.perturbed_similar.tolist() == ["She cooked a fine meal."]
        assert {body["temperature"] for body in server.bodies} == {0.2}
        n = len(server.bodies)
        again = asking(llm_temperature=0.2, max_llm_calls=0).generate_pairs(array(TEXT), np.array([1]))
        assert again.perturbed_similar.tolist() == pairs.perturbed_similar.tolist()
        assert len(server.bodies) == n > 0  # the store has answered
        asking(llm_temperature=0.2, seed=4).search(array(TEXT), np.array([1]))
        seeds = [{body["seed"] for body in bodies} for bodies in (server.bodies[:n], server.bodies[n:])]
        assert all(seeds) and seeds[0].isdisjoint(seeds[1])


def test_the_limit_of_calls_holds_over_the_searches_of_an_attack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with proposing(monkeypatch, tmp_path) as server:
        made = asking(max_llm_calls=1, cache="off")
        with pytest.warns(ProposerWarning, match="the 1 calls of the run are used up"):
            made.search(array(TEXT, "She had an awful meal."), np.array([1, 0]))
            made.search(array("He had an awful meal."), np.array([0]))
        assert len(server.bodies) == 1
        made.set_params(max_llm_calls=2)
        with pytest.warns(ProposerWarning, match="the 2 calls of the run are used up"):
            made.search(array(*TEXTS[:3]), np.array([1, 0, 0]))
        assert len(server.bodies) == 3


def test_wrong_input_is_named() -> None:
    with pytest.raises(DataError, match="x holds float in row 1, expected strings"):
        attack().generate(np.array(["a", 1.0], dtype=object))
    with pytest.raises(DataError, match="x has shape \\(1, 3\\)"):
        attack().generate(np.array([["a", "b", "c"]], dtype=object))
    with pytest.raises(DataError, match="y has shape \\(2,\\), expected \\(1,\\) labels"):
        attack().generate(array(TEXT), np.array([1, 0]))
    with pytest.raises(DataError, match="y holds something that is no class number"):
        attack().generate(array(TEXT), np.array(["good"]))
    with pytest.raises(DataError, match="label 2 is outside the victim's classes: expected 0 to 1"):
        attack().generate(array(TEXT), np.array([2]))
    with pytest.raises(UsageError, match="there is no argument 'eps'"):
        attack().generate(array(TEXT), eps=1)
    assert attack().generate(np.array([], dtype=object)).shape == (0,)


@pytest.mark.slow
def test_nothing_of_textattack_is_imported(run_python) -> None:
    code = (
        "import numpy as np, sys\n"
        "from rif_plugins.tabular.text_bridge import RIFairTextAttack\n"
        "def predict(x): return np.tile([0.4, 0.6], (len(x), 1))\n"
        "x = np.array(['He cooked a good meal.'], dtype=object)\n"
        "RIFairTextAttack(predict, entailment='none').generate(x)\n"
        "assert not [m for m in sys.modules if m.partition('.')[0] == 'textattack']\n"
    )
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("target", ["robust_biased", "unrobust_fair", "unrobust_biased"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"positions": "independent"},
        {"positions": "coupled", "saliency": "mask"},
        {"saliency": "random", "seed": 3, "max_positions": 2},
        {"max_edits": 1, "filter_order": "filter-first"},
    ],
)
@pytest.mark.parametrize("budget", [None, 12])
def test_both_doors_give_the_same_findings(target: str, options, budget) -> None:
    """The TextAttack recipe's parts and this attack: same victim, same settings, same records."""
    from textattack import Attack
    from textattack.constraints.pre_transformation import RepeatModification
    from textattack.models.wrappers import ModelWrapper

    from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
    from rif_plugins.text.goal_functions import RobustBiased, UnrobustBiased, UnrobustFair
    from rif_plugins.text.search_methods import DecoupledPairSearch
    from rif_plugins.text.transformations import ProposedWordSwap

    class Wrapper(ModelWrapper):
        def __init__(self) -> None:
            self.model = self

        def __call__(self, text_input_list):
            return predict(np.array(text_input_list, dtype=object))

    goals = {"robust_biased": RobustBiased, "unrobust_fair": UnrobustFair, "unrobust_biased": UnrobustBiased}
    seed = options.get("seed", 0)
    host = Attack(
        goals[target](Wrapper(), query_budget=float("inf") if budget is None else budget, seed=seed),
        [RepeatModification(), SensitiveTokenProtection(), BidirectionalEntailment(Scorer("decent"))],
        ProposedWordSwap(Words()),
        DecoupledPairSearch(**options),
    )
    labels = [1, 0, 0, 1, 1, 1, 1, 1]
    ours = attack(target, refused=["decent"], query_budget=budget, **options).search(
        array(*TEXTS), np.array(labels)
    )
    n_found = 0
    for text, label, own in zip(TEXTS, labels, ours, strict=True):
        result = host.attack(text, label)
        record = result.perturbed_result.record or result.original_result.record
        expected, found = record.to_dict(), own.to_dict()
        for values in (expected, found):
            values.pop("seconds")
        assert found == expected
        n_found += own.status in ("natural", "induced")
    # Two positions at random, or a few rows for up to eight pairs, find nothing: then both say so.
    assert n_found > 0 or budget is not None or "max_positions" in options
    assert "textattack" in sys.modules


@pytest.mark.slow
def test_both_doors_agree_on_ready_pairs_and_on_the_embedded_victim() -> None:
    from collections import OrderedDict

    from rif_plugins.text.recipes import RIFairRobustBiased
    from rif_plugins.text.victims import CallableModelWrapper
    from rif_plugins.victims import EmbeddedVictim

    texts = ["She is a stupid woman and a good liar.", "The gay man wrote an ugly letter to his friend."]
    host = RIFairRobustBiased.build(CallableModelWrapper(EmbeddedVictim()), counterparts=3)
    door = RIFairTextAttack(EmbeddedVictim(), counterparts=3)
    for text in texts:
        label = int(EmbeddedVictim()([text])[0].argmax())
        result = host.attack(text, label)
        expected = (result.perturbed_result.record or result.original_result.record).to_dict()
        (own,) = door.search(array(text), np.array([label]))
        found = own.to_dict()
        expected.pop("seconds"), found.pop("seconds")
        assert found == expected
    pair = ("John is a stupid liar.", "Mary is a stupid liar.")
    result = host.attack(OrderedDict(original=pair[0], similar=pair[1]), 1)
    (own,) = door.search(np.array([pair], dtype=object), np.array([1]))
    record = result.perturbed_result.record or result.original_result.record
    assert (own.id, own.example, own.status) == (record.id, record.example, record.status)
    assert (own.perturbed_original, own.perturbed_similar) == (
        record.perturbed_original,
        record.perturbed_similar,
    )


def test_a_lexicon_of_the_user() -> None:
    lexicon = Lexicon.load()
    found = attack(lexicon=lexicon, sensitive=["gender"]).generate_pairs(array(TEXT), np.array([1]))
    assert found.outcome.tolist() == ["robust_biased"]


def test_a_copy_makes_its_proposer_again() -> None:
    made = RIFairTextAttack(estimator(), proposer="wordnet", entailment="none")
    made._parts()
    assert made._proposer is not None
    copied = copy.deepcopy(made)
    assert copied._proposer is None and copied._store is None
    assert copied._parts().proposer.name == "wordnet"
    own = attack()
    assert isinstance(copy.deepcopy(own)._proposer, Words)
