"""The gradient search on tokens: a linear victim computed by hand, a random BERT against autograd."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from fakes.gradient_victims import (
    LINEAR_HEAD,
    LINEAR_WORDS,
    LinearTokenizer,
    LinearVictim,
    tiny_bert,
    tiny_tokenizer,
)
from fakes.text_world import KeywordWrapper, ScriptedScorer, TableWords
from textattack import Attack
from textattack.attack_results import FailedAttackResult, SuccessfulAttackResult
from textattack.constraints.overlap import MaxWordsPerturbed
from textattack.models.wrappers import HuggingFaceModelWrapper, PyTorchModelWrapper

from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.pairs import Span
from rif_plugins.core.result_files import read_records
from rif_plugins.errors import UsageError
from rif_plugins.text.constraints import BidirectionalEntailment, SensitiveTokenProtection
from rif_plugins.text.goal_functions import RobustBiased, UnrobustBiased, UnrobustFair
from rif_plugins.text.gradient_recipes import (
    RIFairGradientRobustBiased,
    RIFairGradientUnrobustBiased,
    RIFairGradientUnrobustFair,
)
from rif_plugins.text.gradient_search import GradientPairSearch
from rif_plugins.text.shared_edits import SharedGradientSearch
from rif_plugins.text.token_gradients import Replacement, gradients_of, replacement_scores, span_gradient
from rif_plugins.text.transformations import ProposedWordSwap
from rif_plugins.victims.embedding_gradients import TextGradient, TokenIds
from rif_plugins.victims.gradients import HuggingFaceGradients

# TextAttack's wrapper of torch models turns a tensor into an array the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

TEXT = "He cooked a good meal."
TABLE = {"good": ["fine", "decent", "great"], "meal": ["dinner", "supper"], "cooked": ["prepared"]}
HEAD = np.array(LINEAR_HEAD)


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads cost more than they give on models this small, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weight(word: str) -> float:
    return float(HEAD @ np.array(LINEAR_WORDS[word]))


def sigmoid(z: float) -> float:
    return float(1 / (1 + np.exp(-z)))


def linear_wrapper() -> PyTorchModelWrapper:
    return PyTorchModelWrapper(LinearVictim(), LinearTokenizer())


def bert_wrapper(n_labels: int = 2, seed: int = 0) -> HuggingFaceModelWrapper:
    return HuggingFaceModelWrapper(tiny_bert(n_labels, seed), tiny_tokenizer())


def attack(
    wrapper, goal=RobustBiased, refused=(), constraints=(), table=TABLE, search=None, **options
) -> Attack:
    chosen = [SensitiveTokenProtection(), BidirectionalEntailment(ScriptedScorer(refused)), *constraints]
    return Attack(
        goal(wrapper, **options),
        chosen,
        ProposedWordSwap(TableWords(table)),
        search or GradientPairSearch(),
    )


def test_the_first_edit_of_a_linear_victim_is_known() -> None:
    result = attack(linear_wrapper()).attack(TEXT, 1)
    assert isinstance(result, SuccessfulAttackResult)
    texts = result.perturbed_result.attacked_text.tokenizer_input
    # (y, y_d): the gradient is (p - 1 + p') h > 0, so the word of lowest weight is best, on both sides.
    clean = [sum(weight(w) for w in (first, "cooked", "a", "good", "meal")) for first in ("he", "she")]
    assert sigmoid(clean[0]) - 1 + sigmoid(clean[1]) > 0
    changes = {(old, new): weight(new) - weight(old) for old, words in TABLE.items() for new in words}
    assert min(changes, key=changes.get) == ("good", "fine")
    assert texts == ("He cooked a fine meal.", "She cooked a fine meal.")
    record = result.perturbed_result.record
    assert record.status == "induced"
    assert [(e["side"], e["from"], e["to"]) for e in record.edits] == [
        ("original", "good", "fine"),
        ("similar", "good", "fine"),
    ]
    p = [sigmoid(z) for z in clean]
    after = [sigmoid(z + changes["good", "fine"]) for z in clean]
    assert record.trajectory[0]["objective"] == pytest.approx(-np.log(p[0]) - np.log(1 - p[1]), abs=1e-6)
    assert record.trajectory[1]["objective"] == pytest.approx(
        -np.log(after[0]) - np.log(1 - after[1]), abs=1e-6
    )
    assert record.pii["original"] == pytest.approx([p[0] - after[0]], abs=1e-6)
    assert record.pid == {"original": [-1.0], "similar": [-1.0]}
    assert record.equivalence["original"]["score"] == pytest.approx(0.98**2)


def test_scores_are_first_order_changes_of_the_loss() -> None:
    gradients = gradients_of(linear_wrapper())
    (found,) = gradients.gradients([TEXT], [0])
    p = sigmoid(sum(weight(w) for w in ("he", "cooked", "a", "good", "meal")))
    start = TEXT.index("good")
    old = Span(start, start + 4)
    replacements = [
        Replacement(old, TEXT.replace("good", word), Span(start, start + len(word)))
        for word in ("fine", "great", "fine great")
    ]
    scores = replacement_scores(gradients, found, replacements)
    expected = [p * (weight(w) - weight("good")) for w in ("fine", "great")]
    expected.append(p * (weight("fine") + weight("great") - weight("good")))
    assert scores == pytest.approx(expected)
    assert span_gradient(found, old) == pytest.approx(p * HEAD)
    unseen = Replacement(Span(500, 504), TEXT, Span(500, 504))
    assert np.isinf(replacement_scores(gradients, found, [unseen])).all()


def test_scores_on_a_transformer_are_slopes_of_the_interpolation() -> None:
    model, tokenizer = tiny_bert(), tiny_tokenizer()
    gradients = HuggingFaceGradients(model, tokenizer)
    text, label = "She cooked a good meal.", 1
    (found,) = gradients.gradients([text], [label])
    start = text.index("good")

    def loss(share: float, word: str) -> float:
        encoded = tokenizer(text, return_tensors="pt")
        other = tokenizer(text.replace("good", word), return_tensors="pt")
        embed = model.get_input_embeddings()
        vectors = (1 - share) * embed(encoded["input_ids"]) + share * embed(other["input_ids"])
        with torch.no_grad():
            logits = model(inputs_embeds=vectors, attention_mask=encoded["attention_mask"]).logits[0]
        return float(-logits.log_softmax(0)[label])

    for word in ("fine", "awful", "great"):
        new = Span(start, start + len(word))
        (score,) = replacement_scores(
            gradients, found, [Replacement(Span(start, start + 4), text.replace("good", word), new)]
        )
        assert score == pytest.approx((loss(1e-4, word) - loss(-1e-4, word)) / 2e-4, rel=1e-5, abs=1e-7)


# Token rows of the published toy: E1 = (1,0), E2 = (0,1), E3 = (-1,.5), E4 = (1,-2), E5 = (.5,.5).
TOY = np.array([[0, 0], [1, 0], [0, 1], [-1, 0.5], [1, -2], [0.5, 0.5]])


class ToySide:
    """One letter a token: a to e are the token rows 1 to 5."""

    def __init__(self, candidates: dict[int, str]) -> None:
        self.candidates = candidates
        self.positions = [0, 1, 2]

    def span(self, position: int) -> Span:
        return Span(2 * position, 2 * position + 1)

    def text(self, state) -> str:
        return state.text

    def propose(self, state, position: int):
        from rif_plugins.core.sides import Proposal, TextState

        at = 2 * position
        texts = [(c, state.text[:at] + c + state.text[at + 1 :]) for c in self.candidates.get(position, "")]
        return [Proposal(c, TextState(text)) for c, text in texts if text != state.text]

    def admissible(self, states) -> list[bool]:
        return [True] * len(states)


class ToyGradients:
    def vectors(self, ids):
        return TOY[ids]

    def tokens(self, texts):
        offsets = np.array([[0, 1], [2, 3], [4, 5]])
        return [TokenIds(np.array([" abcde".index(c) for c in text[::2]]), offsets) for text in texts]


def toy_choice(slopes: list[tuple[float, float]], candidates: dict[int, str]):
    from rif_plugins.core.pair_search import PairState
    from rif_plugins.core.sides import TextState
    from rif_plugins.core.victim import Budget

    (tokens,) = ToyGradients().tokens(["a b c"])
    passes = (
        TextGradient(tokens, TOY[tokens.ids], np.array(slopes), 0.0),
        TextGradient(tokens, TOY[tokens.ids], np.zeros((3, 2)), 0.0),
    )
    side = ToySide(candidates)
    search = SharedGradientSearch(
        (side, side),
        ToyGradients(),
        lambda texts: np.zeros((0, 2)),
        Budget(),
        label=1,
        target=Outcome.ROBUST_BIASED,
    )
    state = PairState(TextState("a b c"), TextState("a b c"), np.ones(2), np.ones(2))
    edits = search._edits(state, passes, [0, 1, 2])
    return [round(edit.score, 9) for edit in edits], search._best(state, passes, [0, 1, 2])


def test_position_and_candidate_are_chosen_together() -> None:
    slopes = [(0.2, -0.1), (-0.5, 0.3), (0.1, 0.4)]
    scores, best = toy_choice(slopes, {0: "ab", 1: "bae", 2: "cd"})
    assert scores == [-0.3, -0.8, -0.4, -0.8]
    # Position 1, token 1: the first of the tie.
    assert best.states[0].text == "a a c"
    assert best.score == pytest.approx(-0.8)
    # Every other candidate would raise the objective: keeping the word is best, so the search stops.
    assert toy_choice([(-0.2, -0.1), *slopes[1:]], {0: "ae", 1: "b", 2: "c"})[1] is None


@pytest.mark.parametrize("goal", [RobustBiased, UnrobustFair, UnrobustBiased])
def test_a_success_is_one_when_asked_again_and_edits_are_shared(goal) -> None:
    texts = [TEXT, "She said the good woman was very nice.", "The awful man cooked a poor meal."]
    found = 0
    for seed in range(2):
        wrapper = bert_wrapper(seed=seed)
        made = attack(
            wrapper, goal, table={**TABLE, "nice": ["good", "fine"], "poor": ["awful"], "said": ["was"]}
        )
        for text in texts:
            label = int(torch.argmax(wrapper([text])))
            result = made.attack(text, label)
            sides = result.perturbed_result.attacked_text.tokenizer_input
            rows = wrapper(list(sides)).argmax(dim=1).tolist()
            is_found = classify(label, *rows) is goal.target
            assert isinstance(result, SuccessfulAttackResult) == is_found
            found += is_found
            edits = result.perturbed_result.record.edits
            shared = {
                side: [(e["from"], e["to"]) for e in edits if e["side"] == side]
                for side in ("original", "similar")
            }
            assert shared["original"] == shared["similar"]
    # Edits that are shared rarely move the two texts apart, so this target is asked of the linear victim.
    assert found > 0 or goal is UnrobustBiased


def test_the_original_alone_flips_where_it_is_nearer_to_the_border() -> None:
    result = attack(linear_wrapper(), UnrobustBiased).attack("She cooked a good meal.", 1)
    assert isinstance(result, SuccessfulAttackResult)
    sides = result.perturbed_result.attacked_text.tokenizer_input
    assert sides == ("She cooked a fine meal.", "He cooked a fine meal.")


def test_the_filter_and_the_constraints_of_the_host_hold_on_each_side() -> None:
    refused = attack(linear_wrapper(), refused=["fine"]).attack(TEXT, 1)
    words = {e["to"] for e in refused.perturbed_result.record.edits}
    assert words
    assert "fine" not in words
    nothing = attack(linear_wrapper(), refused=["fine", "decent", "great", "dinner", "supper", "prepared"])
    result = nothing.attack(TEXT, 1)
    assert isinstance(result, FailedAttackResult)
    assert result.perturbed_result.record.edits == []
    assert result.perturbed_result.record.stop_reason == "exhausted"
    limited = attack(linear_wrapper(), UnrobustFair, constraints=[MaxWordsPerturbed(max_num_words=1)])
    record = limited.attack(TEXT, 1).perturbed_result.record
    assert len(record.edits) == 2  # one a side


def test_sensitive_words_are_never_edited_even_where_both_sides_have_them() -> None:
    table = {**TABLE, "woman": ["man"], "man": ["woman"], "she": ["he"]}
    record = (
        attack(linear_wrapper(), UnrobustFair, table=table)
        .attack("He cooked the woman a good meal.", 1)
        .perturbed_result.record
    )
    assert record.edits
    assert not {"woman", "man", "He", "She"} & {e["from"] for e in record.edits}


def test_a_failed_search_keeps_the_best_state_and_the_path_to_it() -> None:
    record = attack(linear_wrapper(), UnrobustFair).attack(TEXT, 1).perturbed_result.record
    assert record.status == "failed"
    values = [point["objective"] for point in record.trajectory]
    assert values[-1] == min(values) < values[0]
    assert record.perturbed_original == "He cooked a fine dinner."
    assert record.probabilities["perturbed_original"][1] == pytest.approx(
        sigmoid(sum(weight(w) for w in ("he", "cooked", "a", "fine", "dinner"))), abs=1e-6
    )
    short = attack(linear_wrapper(), UnrobustFair, search=GradientPairSearch(max_steps=1))
    assert len(short.attack(TEXT, 1).perturbed_result.record.trajectory) == 2
    none = attack(linear_wrapper(), UnrobustFair, search=GradientPairSearch(max_edits=0))
    assert none.attack(TEXT, 1).perturbed_result.record.edits == []


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 30])
def test_gradient_rows_count_and_the_budget_holds(budget: int) -> None:
    wrapper = linear_wrapper()
    rows = []
    wrapper.model.register_forward_hook(lambda _module, arguments, _output: rows.append(len(arguments[0])))
    for goal in (RobustBiased, UnrobustFair):
        rows.clear()
        result = attack(wrapper, goal, query_budget=budget).attack(TEXT, 1)
        assert sum(rows) <= budget
        assert result.num_queries == sum(rows)
    if budget == 30:
        # Clean pair 2, two steps of 2 + 2, and a last gradient that promises nothing.
        assert sum(rows) == 12


def test_several_classes_aim_at_one_wrong_label_after_another(tmp_path) -> None:
    wrapper = bert_wrapper(n_labels=4, seed=1)
    path = tmp_path / "results.jsonl"
    label = int(torch.argmax(wrapper([TEXT])))
    rows = {}
    for count in (1, 3):
        search = GradientPairSearch(n_wrong_labels=count)
        result = attack(wrapper, UnrobustFair, search=search, results=path).attack(TEXT, label)
        rows[count] = result.num_queries
    assert len(list(read_records(path))) == 2
    if not isinstance(result, SuccessfulAttackResult):
        assert rows[3] > rows[1]


def test_a_victim_without_gradients_is_told_what_is_needed() -> None:
    expected = "needs the victim's embedding gradients, but KeywordWrapper gives predictions only"
    with pytest.raises(UsageError, match=expected):
        attack(KeywordWrapper()).attack(TEXT, 1)
    for recipe in (RIFairGradientRobustBiased, RIFairGradientUnrobustFair, RIFairGradientUnrobustBiased):
        with pytest.raises(UsageError, match=expected):
            recipe.build(KeywordWrapper())
    with pytest.raises(UsageError, match="add a method get_input_embeddings"):
        gradients_of(PyTorchModelWrapper(torch.nn.Linear(1, 1), LinearTokenizer()))
    with pytest.raises(UsageError, match="max_steps must be 1 or more"):
        GradientPairSearch(max_steps=0)


def test_a_victim_that_breaks_in_its_gradient_costs_one_example() -> None:
    wrapper = linear_wrapper()

    def fail(module, arguments):
        if torch.is_grad_enabled():
            raise RuntimeError("no way back")

    wrapper.model.register_forward_pre_hook(fail)
    result = attack(wrapper).attack(TEXT, 1)
    record = result.perturbed_result.record
    assert record.status == "error"
    assert "the victim raised RuntimeError in a gradient pass: no way back" in record.message


@pytest.mark.parametrize(
    ("recipe", "target"),
    [
        (RIFairGradientRobustBiased, "robust_biased"),
        (RIFairGradientUnrobustFair, "unrobust_fair"),
        (RIFairGradientUnrobustBiased, "unrobust_biased"),
    ],
)
def test_the_recipes_build_and_run(recipe, target: str, tmp_path) -> None:
    path = tmp_path / "results.jsonl"
    made = recipe.build(linear_wrapper(), entailment="none", max_positions=3, seed=7, results=path)
    assert made.is_black_box is False
    assert "max_steps" in str(made)
    made.attack(TEXT, 1)
    (record,) = read_records(path)
    assert record.target == target
    assert record.seed == 7
    copy = pickle.loads(pickle.dumps(made.search_method.__getstate__()["_gradients"]))
    assert copy is None
