from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from fakes.toy import WordVictim, pair_of, search
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS, Outcome, classify
from rif_plugins.core.pair_search import PairSearchResult, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import Pair, Swap
from rif_plugins.core.sides import TextSide, align_tokens
from rif_plugins.errors import UsageError

# "good" speaks for class 1, "fine" hardly, "poor" against it; "she" counts against class 1.
WEIGHTS = {
    "good": (0.0, 2.0),
    "fine": (0.0, 0.6),
    "decent": (0.0, 1.2),
    "she": (0.9, 0.0),
    "meal": (0.0, 0.0),
}
CANDIDATES = {"good": ["fine", "decent"], "meal": ["dinner"]}


def test_robust_biased_is_found_with_edits_on_one_side_only() -> None:
    # Clean: he 2.0 -> class 1; she 2.0 - 0.9 -> class 1: robust_fair. "she ... fine" is 0.6 - 0.9 < 0.
    result = search(pair_of("had a good meal"), WordVictim(WEIGHTS), CANDIDATES)
    assert result.clean_outcome is Outcome.ROBUST_FAIR
    assert result.outcome is Outcome.ROBUST_BIASED
    assert result.stop_reason == "success"
    assert result.state.original.text == "he had a good meal"
    assert result.state.similar.text == "she had a fine meal"
    assert [(e.side, e.source, e.target) for e in result.state.similar.edits] == [("similar", "good", "fine")]
    assert (result.state.n_edits_original, result.state.n_edits_similar) == (0, 1)


def test_natural_violation_needs_no_search() -> None:
    victim = WordVictim(WEIGHTS)
    result = search(pair_of("had a fine meal"), victim, CANDIDATES)
    assert result.stop_reason == "natural"
    assert result.state == result.clean
    assert victim.rows == 2


def test_failure_keeps_the_best_state_and_its_probabilities() -> None:
    result = search(pair_of("had a good meal"), WordVictim(WEIGHTS), {"good": ["decent"]})
    # "she ... decent" is 1.2 - 0.9 > 0: still right, but nearer.
    assert result.stop_reason == "exhausted"
    assert result.outcome is Outcome.ROBUST_FAIR
    assert result.state.similar.text == "she had a decent meal"
    assert result.state.p_similar[1] == pytest.approx(1 / (1 + np.exp(-0.3)))
    assert result.trajectory[-1].p_similar == pytest.approx(float(result.state.p_similar[1]))


def test_coupled_uses_the_same_candidate_on_both_sides() -> None:
    weights = {"good": (0.0, 2.0), "fine": (0.0, 0.6), "she": (0.9, 0.0), "he": (1.5, 0.0)}
    pair, candidates = pair_of("had a good meal"), {"good": ["fine"]}
    # Coupled: "he fine" is 0.6 - 1.5 < 0 as well, so only unrobust outcomes are reachable.
    coupled = search(pair, WordVictim(weights), candidates, settings=SearchSettings(positions="coupled"))
    assert not coupled.is_success
    assert search(pair, WordVictim(weights), candidates).is_success
    fair = search(
        pair,
        WordVictim(weights),
        candidates,
        target="unrobust_fair",
        settings=SearchSettings(positions="coupled"),
    )
    assert fair.is_success
    assert [e.target for e in fair.state.original.edits] == [e.target for e in fair.state.similar.edits]


def test_budget_ends_the_search_with_the_best_state() -> None:
    victim = WordVictim(WEIGHTS)
    result = search(pair_of("had a good meal"), victim, CANDIDATES, budget=5)
    assert victim.rows <= 5
    assert result.stop_reason == "budget"
    with pytest.raises(UsageError, match="budget does not pay for one pair: expected 2 rows"):
        search(pair_of("had a good meal"), WordVictim(WEIGHTS), CANDIDATES, budget=1)


def test_no_common_position_says_so() -> None:
    pair = Pair("he", "she", (Swap(0, 2, "he", "she", 0),), "gender")
    result = search(pair, WordVictim({"he": (0.0, 1.0), "she": (0.0, 1.0)}), CANDIDATES)
    assert result.stop_reason == "no_positions"


def test_max_edits_is_per_side() -> None:
    weights = dict.fromkeys("abcd", (0.0, 1.0)) | {"she": (3.5, 0.0), "he": (0.0, 1.0)}
    candidates = {word: [word.upper()] for word in "abcd"}
    weights |= dict.fromkeys("ABCD", (0.0, 0.8))
    limited = search(
        pair_of("a b c d"), WordVictim(weights), candidates, settings=SearchSettings(max_edits=2)
    )
    assert not limited.is_success
    assert limited.state.n_edits_similar == 2
    assert search(pair_of("a b c d"), WordVictim(weights), candidates).is_success
    none = search(pair_of("a b c d"), WordVictim(weights), candidates, settings=SearchSettings(max_edits=0))
    assert none.state == none.clean


def test_three_classes_meet_in_one_wrong_label() -> None:
    # The runner-up (class 1) is out of reach for "he"; class 2 is reachable by both.
    weights = {
        "good": (2.0, 1.5, 0.0),
        "x": (0.0, 0.0, 3.0),
        "he": (0.0, -5.0, 0.0),
        "she": (0.0, 0.0, 0.0),
        "y": (0.0, 0.5, 0.0),
    }
    result = search(
        pair_of("good"),
        WordVictim(weights, 3),
        {"good": ["y", "x"]},
        target="unrobust_fair",
        label=0,
    )
    assert result.is_success
    assert int(result.state.p.argmax()) == int(result.state.p_similar.argmax()) == 2


def test_random_saliency_depends_on_the_seed_alone() -> None:
    words = "a b c d e f"
    candidates = {word: [word.upper()] for word in words.split()}

    def first_edited(seed: int) -> list[str]:
        victim = WordVictim({word.upper(): (0.01, 0.0) for word in words.split()})
        chosen = SearchSettings(saliency="random", max_positions=1)
        result = search(pair_of(words), victim, candidates, settings=chosen, seed=seed)
        return [edit.source for edit in result.state.similar.edits]

    orders = [first_edited(seed) for seed in range(8)]
    assert orders == [first_edited(seed) for seed in range(8)]
    assert len({tuple(order) for order in orders}) > 1
    assert all(len(order) == 1 for order in orders)


def test_random_saliency_needs_a_generator() -> None:
    pair = pair_of("a b")
    alignment = align_tokens(pair)
    sides = [TextSide(pair, side, alignment, lambda *_: ()) for side in ("original", "similar")]
    generator = search_pair(
        *sides,
        label=1,
        objective=Objective.for_target("robust_biased"),
        settings=SearchSettings(saliency="random"),
    )
    with pytest.raises(UsageError, match="random saliency needs a random generator"):
        run_search(generator, WordVictim({"a": (0.0, 1.0)}))


def test_mask_saliency_asks_about_masked_texts() -> None:
    seen: list[str] = []
    victim = WordVictim(WEIGHTS)

    def spy(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return victim(texts)

    search(
        pair_of("a good meal"), spy, CANDIDATES, settings=SearchSettings(saliency="mask", mask_token="<m>")
    )
    assert "he a <m> meal" in seen
    assert "she a <m> meal" in seen


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": "both"}, "expected shared, independent or coupled"),
        ({"saliency": "attention"}, "expected delete, mask, gradient or random"),
        ({"max_positions": 0}, "max_positions must be 1 or more, got 0"),
        ({"max_edits": -1}, "max_edits must be 0 or more, got -1"),
    ],
)
def test_settings_are_checked(arguments: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SearchSettings(**arguments)


# -- properties over random small worlds ------------------------------------------------------------------

WORDS = ["a", "b", "c"]
weight = st.floats(-2, 2).map(lambda value: round(value, 2))


@st.composite
def worlds(draw: st.DrawFn, n_labels: int = 2) -> dict:
    vocabulary = ["he", "she", *WORDS, *(w + str(i) for w in WORDS for i in range(2))]
    weights = {word: tuple(draw(weight) for _ in range(n_labels)) for word in vocabulary}
    return {
        "weights": weights,
        "words": " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True))),
        "candidates": {w: [w + str(i) for i in range(draw(st.integers(0, 2)))] for w in WORDS},
        "refused": draw(st.sets(st.sampled_from([w + str(i) for w in WORDS for i in range(2)]))),
        "label": draw(st.integers(0, n_labels - 1)),
        "target": str(draw(st.sampled_from(TARGETS))),
        "n_labels": n_labels,
    }


def run(world: dict, **options: object) -> tuple[PairSearchResult, WordVictim]:
    victim = WordVictim(world["weights"], world["n_labels"])

    def judge(original: str, edited: Sequence[str]) -> list[bool]:
        return [not (set(text.split()) & world["refused"]) for text in edited]

    result = search(
        pair_of(world["words"]),
        victim,
        world["candidates"],
        target=world["target"],
        label=world["label"],
        judge=judge,
        **options,  # type: ignore[arg-type]
    )
    return result, victim


def everything(world: dict) -> list[tuple[str, str]]:
    """All pairs of admissible edited texts, by brute force."""

    def side(first: str) -> list[str]:
        choices = [
            [word, *(c for c in world["candidates"][word] if c not in world["refused"])]
            for word in world["words"].split()
        ]
        return [" ".join((first, *words)) for words in itertools.product(*choices)]

    return list(itertools.product(side("he"), side("she")))


@pytest.mark.parametrize("n_labels", [2, 3])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_found_pair_is_real_and_admissible(n_labels: int, data: st.DataObject) -> None:
    world = data.draw(worlds(n_labels))
    mode = data.draw(st.sampled_from(["shared", "independent", "coupled"]))
    result, _ = run(world, settings=SearchSettings(positions=mode))  # type: ignore[arg-type]
    texts = (result.state.original.text, result.state.similar.text)
    fresh = WordVictim(world["weights"], n_labels)(list(texts)).argmax(axis=1)
    assert classify(world["label"], fresh[0], fresh[1]) is result.outcome
    assert (result.outcome == world["target"]) == result.is_success
    assert texts in everything(world)
    assert result.trajectory[0].p_original == pytest.approx(float(result.clean.p[world["label"]]))
    if not result.is_success and n_labels == 2:
        values = [step.objective for step in result.trajectory]
        assert values == sorted(values, reverse=True)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lazy_filtering_accepts_the_same_edits_as_eager(data: st.DataObject) -> None:
    world = data.draw(worlds(data.draw(st.sampled_from([2, 3]))))
    mode = data.draw(st.sampled_from(["shared", "independent", "coupled"]))
    eager, _ = run(world, settings=SearchSettings(positions=mode, filter_first=True))  # type: ignore[arg-type]
    lazy, _ = run(world, settings=SearchSettings(positions=mode, filter_first=False))  # type: ignore[arg-type]
    assert lazy.state.original == eager.state.original
    assert lazy.state.similar == eager.state.similar
    assert lazy.stop_reason == eager.stop_reason


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_one_position_is_searched_exactly(data: st.DataObject) -> None:
    """With a single word the greedy search is exhaustive: it fails only when nothing exists."""
    world = data.draw(worlds())
    world["words"] = world["words"].split()[0]
    result, _ = run(world)
    victim = WordVictim(world["weights"])
    reachable = {classify(world["label"], *victim(list(pair)).argmax(axis=1)) for pair in everything(world)}
    assert result.is_success == (Outcome(world["target"]) in reachable)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_budget_and_batch_size(data: st.DataObject) -> None:
    world = data.draw(worlds())
    budget = data.draw(st.integers(2, 12))
    _, victim = run(world, budget=budget)
    assert victim.rows <= budget
    small, _ = run(world, batch_size=1)
    large, _ = run(world, batch_size=64)
    assert small.state.original == large.state.original
    assert small.state.similar == large.state.similar
    assert small.trajectory == large.trajectory


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_constant_victim_has_no_violation(data: st.DataObject) -> None:
    world = data.draw(worlds())
    world["weights"] = dict.fromkeys(world["weights"], (0.0, 1.0))
    world["label"] = 1
    result, _ = run(world)
    assert result.outcome is Outcome.ROBUST_FAIR
    assert not result.is_success


def test_alignment_skips_swaps_and_shifts_behind_them() -> None:
    original, similar = "a man said he'd go", "an old woman said she'd go"
    swaps = (Swap(0, 5, "a man", "an old woman", 0), Swap(11, 13, "he", "she", 18))
    alignment = align_tokens(Pair(original, similar, swaps, "gender"))
    assert [original[s.start : s.end] for s in alignment.original] == ["said", "go"]
    assert [similar[s.start : s.end] for s in alignment.similar] == ["said", "go"]
