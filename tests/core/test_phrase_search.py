"""Searches over tokens and phrases that overlap."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from fakes.phrase_world import PhraseWorld, applied, is_built_right, phrase_worlds
from fakes.sweep_world import CountingJudge, alone, log_odds
from fakes.toy import WordVictim
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.example_sweep import SweepPlan, sweep_example
from rif_plugins.core.exhaustive import count_texts, enumerate_reach
from rif_plugins.core.fairness_search import search_difference
from rif_plugins.core.objective import Objective
from rif_plugins.core.outcomes import TARGETS
from rif_plugins.core.pair_search import PairSearchResult, SearchSettings, run_search, search_pair
from rif_plugins.core.pairs import Pair, Span, Swap
from rif_plugins.core.phrases import align_phrases
from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.reach_search import MemberSearch, search_members
from rif_plugins.core.results import impacts
from rif_plugins.core.sides import SpanSide, TextSide, TextState, align_tokens
from rif_plugins.core.tokens import word_spans
from rif_plugins.core.victim import VictimEngine

# -- sides ------------------------------------------------------------------------------------------------


def side_of(text: str, spans: dict[int, Span], candidates: dict[str, list[str]]) -> SpanSide:
    return SpanSide(text, "original", spans, lambda t, a, b: candidates.get(t[a:b], ()))


TEXT = "a very good film"
SPANS = {0: Span(2, 6), 1: Span(7, 11), 2: Span(12, 16), 3: Span(2, 11), 4: Span(7, 16)}
WORDS = {
    "very": ["really"],
    "good": ["fine"],
    "film": ["movie"],
    "very good": ["superb"],
    "good film": ["gem"],
}


def test_a_side_puts_token_and_phrase_edits_together_and_refuses_overlaps() -> None:
    side = side_of(TEXT, SPANS, WORDS)
    assert [side.n_tokens(p) for p in side.positions] == [1, 1, 1, 2, 2]
    superb = side.combine(side.start, 3, "superb")
    assert superb is not None and superb.text == "a superb film"
    both = side.combine(superb, 2, "movie")
    assert both is not None and both.text == "a superb movie"
    assert [(e.start, e.end, e.source, e.target) for e in both.edits] == [
        (2, 11, "very good", "superb"),
        (12, 16, "film", "movie"),
    ]
    assert [side.combine(superb, p, "x") for p in (0, 1, 3, 4)] == [None] * 4
    assert [side.propose(superb, p) for p in (0, 1, 3, 4)] == [[]] * 4
    assert [p.state.text for p in side.propose(superb, 2)] == ["a superb movie"]


def test_a_phrase_of_an_edited_text_has_the_candidates_of_the_unedited_one() -> None:
    asked: list[str] = []

    def propose(text: str, start: int, end: int) -> list[str]:
        asked.append(text)
        return WORDS.get(text[start:end], [])

    side = SpanSide(TEXT, "original", SPANS, propose)
    really = side.combine(side.start, 0, "really")
    assert really is not None
    assert [p.state.text for p in side.propose(really, 4)] == ["a really gem"]
    assert asked == [TEXT]
    # A token is proposed for anew, in the current text.
    assert [p.state.text for p in side.propose(really, 2)] == ["a really good movie"]
    assert asked == [TEXT, "a really good film"]


def test_the_occlusion_of_a_phrase_removes_or_masks_all_of_it() -> None:
    side = side_of(TEXT, SPANS, WORDS)
    assert [side.without(3), side.without(4)] == ["a film", "a very"]
    assert side.without(3, "[MASK]") == "a [MASK] film"


@settings(max_examples=100, deadline=None)
@given(phrase_worlds(), st.data())
def test_whatever_is_combined_never_overlaps_and_is_built_from_right_to_left(
    world: PhraseWorld, data: st.DataObject
) -> None:
    side = world.member("he")
    state: TextState = side.start
    edits: list[tuple[Span, str]] = []
    for position in data.draw(st.permutations(list(side.positions))):
        words = world.candidates.get(side.unedited[slice(*_ends(side.span(position)))], ())
        if not words:
            continue
        word = data.draw(st.sampled_from(words))
        after = side.combine(state, position, word)
        is_free = not any(side.span(position).overlaps(span) for span, _ in edits)
        assert (after is not None) == is_free
        if after is not None:
            state = after
            edits.append((side.span(position), word))
        assert is_built_right(side, state)
        assert state.text == applied(side.unedited, edits)


def _ends(span: Span) -> tuple[int, int]:
    return span.start, span.end


# -- the search of all texts, by hand ---------------------------------------------------------------------


def members(words: str, phrases: list[str], candidates: dict[str, list[str]], judge: Any = None) -> list[Any]:
    found = []
    for number, first in enumerate(("he", "she")):
        text = f"{first} {words}"
        runs = [Span(text.index(part), text.index(part) + len(part)) for part in phrases]
        spans = dict(enumerate([*word_spans(text)[1:], *runs]))
        side = "similar" if number else "original"
        found.append(
            SpanSide(text, side, spans, lambda t, a, b: candidates.get(t[a:b], ()), judge)  # type: ignore[arg-type]
        )
    return found


def searched(
    words: str,
    weights: dict[str, float],
    phrases: list[str],
    candidates: dict[str, list[str]],
    *,
    judge: Any = None,
    **options: Any,
) -> list[MemberSearch[Any]]:
    sides = members(words, phrases, candidates, judge)
    return alone(search_members(sides, 1, ReachSettings(**options)), log_odds(weights))


def test_a_phrase_is_one_edit_of_several_tokens() -> None:
    # he 3 - 2 = 1: no token edit is enough (-0.5 each), the phrase is (-2.5).
    weights = {"good": 1.5, "plot": 1.5, "he": -2.0, "she": -2.0, "fine": 1.0, "story": 1.0, "mess": 0.5}
    candidates = {"good": ["fine"], "plot": ["story"], "good plot": ["mess"]}
    he, _ = searched("good plot", weights, ["good plot"], candidates, max_edits=1)
    end = he.reach.paths[0][-1]
    assert (end.state.text, end.n_edits, end.n_tokens) == ("he mess", 1, 2)
    he, _ = searched("good plot", weights, [], candidates, max_edits=1)
    assert set(he.reach.paths) == {1}


def test_the_tokens_of_an_edited_phrase_are_closed_and_the_others_open() -> None:
    # 1.5 + 1.5 + 1 = 4; the phrase takes 2.8, film 1.5: both are needed, and good or plot must not be used.
    weights = {"good": 1.5, "plot": 1.5, "film": 1.0, "mess": 0.2, "movie": -0.5, "fine": 1.4, "story": 1.4}
    candidates = {"good": ["fine"], "plot": ["story"], "film": ["movie"], "good plot": ["mess"]}
    sides = members("good plot film", ["good plot"], candidates)
    result = alone(search_members(sides, 1, ReachSettings()), log_odds(weights))[0]
    end = result.reach.paths[0][-1]
    assert (end.state.text, end.n_edits, end.n_tokens) == ("he mess movie", 2, 3)
    assert [point.n_tokens for point in result.reach.paths[0]] == [0, 2, 3]
    assert result.covered(0) == {0, 3} and result.covered(3) == {0, 1, 3} and result.covered(2) == {2}


def test_steps_count_tokens_so_that_pii_is_a_change_per_token() -> None:
    weights = {"good": 1.5, "plot": 1.5, "mess": -1.0}
    sides = members("good plot", ["good plot"], {"good plot": ["mess"]})
    sweep = alone(
        sweep_example(sides, 1, SweepPlan(targets=("robust_biased",))), log_odds({**weights, "she": -0.1})
    )
    steps = sweep.findings[0].result.trajectory
    assert [step.n_edits_similar for step in steps] == [0, 2]
    change = steps[0].p_similar - steps[1].p_similar
    assert impacts(steps)[0]["similar"] == [pytest.approx(change / 2, abs=1e-8)]


def test_of_equally_many_edits_the_one_of_fewer_tokens_is_kept_without_a_filter() -> None:
    # Both flip; the phrase is more probable, the token changes less.
    weights = {"good": 1.0, "plot": 1.0, "bad": -2.0, "mess": -4.0}
    sides = members("good plot", ["good plot"], {"good": ["bad"], "good plot": ["mess"]})
    found = alone(enumerate_reach(sides[0], 1, 1), log_odds(weights))
    assert found.reach.paths[0][-1].state.text == "he bad plot"


def test_tokens_and_phrases_share_the_cap_of_positions_by_saliency() -> None:
    # Without: good 3 -> 1.0, plot 2 -> 2, the phrase -> -1 + 1. The phrase leads, then good.
    weights = {"good": 3.0, "plot": 2.0, "film": 1.0}
    candidates = {"good": ["x"], "plot": ["y"], "film": ["z"], "good plot": ["v"], "plot film": ["w"]}
    he, she = searched("good plot film", weights, ["good plot", "plot film"], candidates, max_positions=3)
    for found in (he, she):
        assert found.table.ranking == [3, 0, 4]  # 5 logits; then 3 each: tokens before phrases
        assert set(found.table.by_position) == {0, 3, 4}


def test_what_overlaps_counts_once_in_what_could_still_be_reached() -> None:
    # 2.5: the phrase takes 2, its tokens 1 each: together at most 2, so the filter need not be asked.
    weights = {"good": 1.5, "plot": 1.0, "fine": 0.5, "tale": 0.0, "mess": 0.5}
    candidates = {"good": ["fine"], "plot": ["tale"], "good plot": ["mess"]}
    judge = CountingJudge()
    he, _ = searched("good plot", weights, ["good plot"], candidates, judge=judge, optimism=1)
    assert (judge.rows, he.reach.stop) == (0, "out_of_reach")
    weights["mess"] = -0.1
    he, _ = searched("good plot", weights, ["good plot"], candidates, judge=judge, optimism=1)
    assert he.reach.paths[0][-1].state.text == "he mess"


def test_a_phrase_that_the_filter_refuses_leaves_its_tokens_open() -> None:
    weights = {"good": 1.0, "plot": 1.0, "bad": -2.0, "mess": -4.0}
    candidates = {"good": ["bad"], "good plot": ["mess"]}
    he, _ = searched("good plot", weights, ["good plot"], candidates, judge=CountingJudge({"mess"}))
    assert he.reach.paths[0][-1].state.text == "he bad plot"


# -- properties -------------------------------------------------------------------------------------------

options = st.fixed_dictionaries(
    {
        "beam": st.integers(1, 3),
        "max_edits": st.one_of(st.none(), st.integers(0, 3)),
        "max_positions": st.integers(1, 8),
        "saliency": st.sampled_from(["delete", "mask", "random"]),
    }
)


def found_in(world: PhraseWorld, chosen: ReachSettings, **more: Any) -> list[MemberSearch[Any]]:
    coroutine = search_members(world.members(), world.label, chosen, rng=np.random.default_rng(0))
    return alone(coroutine, world.victim(), **more)


def ends(found: list[MemberSearch[Any]]) -> list[dict[int, Any]]:
    return [{b: path[-1].state for b, path in s.reach.paths.items()} for s in found]


@settings(max_examples=60, deadline=None)
@given(phrase_worlds(), options, st.booleans())
def test_what_is_reached_is_real_admissible_and_never_overlaps(
    world: PhraseWorld, chosen: dict, filter_first: bool
) -> None:
    found = found_in(world, ReachSettings(**chosen, filter_first=filter_first))
    for first, search in zip(world.firsts, found, strict=True):
        texts = world.admissible(first, chosen["max_edits"])
        for label, path in search.reach.paths.items():
            for n_edits, point in enumerate(path):
                assert is_built_right(search.side, point.state)  # type: ignore[arg-type]
                assert point.n_edits == n_edits == len(point.state.edits)
                assert point.n_tokens == sum(len(edit.source.split()) for edit in point.state.edits)
            assert path[-1].state.text in texts
            assert int(world.victim()([path[-1].state.text])[0].argmax()) == label
        assert len(search.table.by_position) <= chosen["max_positions"]


@settings(max_examples=40, deadline=None)
@given(phrase_worlds(), options)
def test_order_of_filter_and_size_of_batches_change_nothing(world: PhraseWorld, chosen: dict) -> None:
    optimism = 1.0 if world.n_labels == 2 else np.inf
    lazy = found_in(world, ReachSettings(**chosen, optimism=optimism))
    assert ends(lazy) == ends(found_in(world, ReachSettings(**chosen, optimism=optimism), batch_size=1))
    assert ends(lazy) == ends(found_in(world, ReachSettings(**chosen, filter_first=True)))


@settings(max_examples=60, deadline=None)
@given(phrase_worlds(), st.integers(1, 3))
def test_the_exhaustive_search_is_brute_force(world: PhraseWorld, k: int) -> None:
    for first in world.firsts:
        side, victim = world.member(first), world.victim()
        choices = world.choices(first, k)
        assert count_texts(side, k) == len(choices) - 1
        found = alone(enumerate_reach(side, world.label, k), victim)
        assert (found.reach.stop, found.n_texts) == ("certified", len(choices) - 1)
        assert found.reach.labels == world.labels(first, k)
        for label, path in found.reach.paths.items():
            end = path[-1]
            assert is_built_right(side, end.state)
            assert end.n_edits == 0 or label not in world.labels(first, end.n_edits - 1)
            assert end.n_tokens == sum(len(edit.source.split()) for edit in end.state.edits)


@settings(max_examples=40, deadline=None)
@given(phrase_worlds(), st.integers(1, 2))
def test_exhaustive_reaches_whatever_the_search_reaches(world: PhraseWorld, k: int) -> None:
    greedy = found_in(world, ReachSettings(max_edits=k))
    for search in greedy:
        exact = alone(enumerate_reach(search.side, world.label, k), world.victim()).reach
        assert search.reach.labels <= exact.labels
        for label, path in search.reach.paths.items():
            assert exact.paths[label][-1].n_edits <= path[-1].n_edits


# -- both sides together ----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(phrase_worlds(n_labels=2), st.one_of(st.none(), st.integers(1, 2)))
def test_the_fairness_only_attack_makes_the_same_edits_on_both_sides(
    world: PhraseWorld, max_edits: int | None
) -> None:
    def both() -> Any:
        searches = yield from search_members(world.members(), world.label, ReachSettings(max_edits=max_edits))
        return (yield from search_difference(searches[0], searches[1], world.label))

    result: PairSearchResult[Any] = alone(both(), world.victim())
    sides = world.members()
    for side, state in zip(sides, (result.state.original, result.state.similar), strict=True):
        assert is_built_right(side, state)
    first, second = result.state.original.edits, result.state.similar.edits
    assert [(e.source, e.target) for e in first] == [(e.source, e.target) for e in second]
    assert max_edits is None or len(first) <= max_edits
    assert result.trajectory[-1].n_edits_original == sum(len(e.source.split()) for e in first)


def pair_sides(world: PhraseWorld) -> tuple[TextSide, TextSide]:
    original, similar = world.text("he"), world.text("she")
    pair = Pair(original, similar, (Swap(0, 2, "he", "she", 0),), "gender")
    runs = [" ".join(world.words[a:b]) for a, b in world.phrases]
    alignment = align_phrases(
        pair, align_tokens(pair), lambda text: [(text.index(r), text.index(r) + len(r)) for r in runs]
    )

    def propose(text: str, start: int, end: int) -> tuple[str, ...]:
        return world.candidates.get(text[start:end], ())

    first, second = (
        TextSide(pair, side, alignment, propose, world.judge)
        for side in ("original", "similar")  # type: ignore[arg-type]
    )
    return first, second


@settings(max_examples=60, deadline=None)
@given(
    phrase_worlds(),
    st.sampled_from(TARGETS),
    st.sampled_from(["shared", "independent", "coupled"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 2)),
)
def test_the_search_of_a_pair_mixes_tokens_and_phrases(
    world: PhraseWorld, target: Any, mode: Any, filter_first: bool, max_edits: int | None
) -> None:
    sides = pair_sides(world)
    chosen = SearchSettings(positions=mode, filter_first=filter_first, max_edits=max_edits)
    search = search_pair(*sides, label=world.label, objective=Objective.for_target(target), settings=chosen)
    engine = VictimEngine(world.victim())
    result = run_search(search, engine.probabilities)
    state = result.state
    for side, end, first, n_edits in zip(
        sides,
        (state.original, state.similar),
        ("he", "she"),
        (state.n_edits_original, state.n_edits_similar),
        strict=True,
    ):
        assert is_built_right(side, end)
        assert len(end.edits) == n_edits
        assert end.text in world.admissible(first, max_edits)
    if mode == "coupled":
        edits = [[(e.source, e.target) for e in end.edits] for end in (state.original, state.similar)]
        assert edits[0] == edits[1]
    tokens = [sum(len(e.source.split()) for e in end.edits) for end in (state.original, state.similar)]
    assert [result.trajectory[-1].n_edits_original, result.trajectory[-1].n_edits_similar] == tokens


def test_a_pair_needs_the_phrase() -> None:
    world = PhraseWorld(
        weights={"a": (0.0, 1.0), "b": (0.0, 1.0), "M": (0.0, -3.0), "A": (0.0, 0.9), "B": (0.0, 0.9)},
        words=("a", "b"),
        phrases=((0, 2),),
        candidates={"a": ("A",), "b": ("B",), "a b": ("M",)},
        refused=frozenset(),
        label=1,
        n_labels=2,
    )
    search = search_pair(*pair_sides(world), label=1, objective=Objective.for_target("unrobust_fair"))
    result = run_search(search, lambda texts: WordVictim(world.weights)(texts))
    assert result.is_success
    assert (result.state.original.text, result.state.similar.text) == ("he M", "she M")
    assert result.trajectory[-1].n_edits_original == 2


def test_without_phrases_nothing_more_is_asked() -> None:
    """The positions, rows and results are those of the tokens alone."""
    world_words = {"good": ["fine", "bad"], "plot": ["story"], "film": ["movie"]}
    weights = {"good": 1.5, "plot": 0.5, "film": 0.2, "fine": 0.6, "bad": -0.9, "story": 0.1, "movie": 0.1}
    rows, found = [], []
    for phrases in ([], ["good plot", "plot film"]):
        victim, judge = log_odds(weights), CountingJudge({"bad"})
        sides = members("good plot film", phrases, world_words, judge)  # phrases without candidates
        found.append(ends(alone(search_members(sides, 1, ReachSettings()), victim)))
        rows.append((victim.rows, judge.rows))
    assert rows[0] == rows[1]
    assert found[0] == found[1]


def test_overlapping_couples_are_what_the_worlds_are_about() -> None:
    """The strategy draws overlapping positions with candidates, else the properties would say nothing."""
    overlaps = []

    @settings(max_examples=50, deadline=None, database=None)
    @given(phrase_worlds())
    def collected(world: PhraseWorld) -> None:
        spans = [
            s for s in world.spans("he").values() if world.candidates.get(world.text("he")[s.start : s.end])
        ]
        overlaps.append(any(a.overlaps(b) for a, b in itertools.combinations(spans, 2)))

    collected()
    assert sum(overlaps) > 10
