from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fakes.sweep_world import CountingJudge, World, alone, log_odds, members_of, worlds
from fakes.toy import WordVictim
from hypothesis import given, settings
from hypothesis import strategies as st

from rif_plugins.core.reach import ReachSettings
from rif_plugins.core.reach_search import MemberSearch, search_members
from rif_plugins.errors import UsageError

Searches = list[MemberSearch[Any]]


def search(
    words: str,
    victim: WordVictim,
    candidates: dict[str, list[str]],
    *,
    judge: CountingJudge | None = None,
    firsts: tuple[str, ...] = ("he", "she"),
    label: int = 1,
    budget: int | None = None,
    rng: np.random.Generator | None = None,
    token_saliency: Any = None,
    **options: Any,
) -> Searches:
    members = members_of(words, candidates, judge, firsts)
    chosen = ReachSettings(**options)
    coroutine = search_members(members, label, chosen, rng=rng, token_saliency=token_saliency)
    return alone(coroutine, victim, budget=budget)


def end(searched: MemberSearch[Any], label: int) -> str:
    """The text of the cheapest state that has a label."""
    return str(searched.reach.paths[label][-1].state.text)


# -- numbers by hand --------------------------------------------------------------------------------------

# Log odds of class 1: he 0, she -0.9, good 2.0, fine 0.6, decent 1.2, great 2.5.
FILM = {"she": -0.9, "good": 2.0, "fine": 0.6, "decent": 1.2, "great": 2.5, "awful": -4.0}
GOOD = {"good": ["decent", "great", "fine"]}


def test_one_edit_flips_the_side_that_is_nearer_to_the_boundary() -> None:
    # she ... good 1.1 -> she ... fine -0.3; he ... good 2.0 -> he ... fine 0.6 stays.
    he, she = search("had good food", log_odds(FILM), GOOD)
    assert he.reach.labels == {1}
    assert she.reach.labels == {0, 1}
    assert end(she, 0) == "she had fine food"
    assert she.reach.paths[0][-1].p[1] == pytest.approx(1 / (1 + np.exp(0.3)))
    assert she.reach.largest_error == pytest.approx(1 - 1 / (1 + np.exp(0.3)))


def test_edits_add_up_until_the_label_changes() -> None:
    # 1.5 + 1.5 + 1.5 = 4.5; every edit takes 1.9: two leave 0.7, three leave -1.2.
    weights = dict.fromkeys("abc", 1.5) | dict.fromkeys("ABC", -0.4)
    candidates = {word: [word.upper()] for word in "abc"}
    (he,) = search("a b c", log_odds(weights), candidates, firsts=("he",))
    assert [point.n_edits for point in he.reach.paths[0]] == [0, 1, 2, 3]
    assert end(he, 0) == "he A B C"
    (he,) = search("a b c", log_odds(weights), candidates, firsts=("he",), max_edits=2)
    assert he.reach.labels == {1}
    (he,) = search("a b c", log_odds(weights), candidates, firsts=("he",), max_edits=3)
    assert he.reach.labels == {0, 1}
    (he,) = search("a b c", log_odds(weights), candidates, firsts=("he",), max_edits=0)
    assert (he.reach.labels, he.reach.n_tried) == ({1}, 1)


def test_a_clean_text_that_is_wrong_is_searched_towards_the_right_label() -> None:
    # she ... fine is -0.3: wrong; she ... great is 1.6: right.
    he, she = search("had fine food", log_odds(FILM), {"fine": ["great", "awful"]})
    assert she.reach.clean.label == 0
    assert end(she, 1) == "she had great food"
    # he ... awful: the wrong label, which the clean text of the other side has.
    assert end(he, 0) == "he had awful food"


def test_a_refused_edit_is_passed_over_and_the_next_best_taken() -> None:
    weights = {"a": 2.0, "x": -3.0, "y": -2.0, "z": -1.0}
    judge = CountingJudge({"x"})
    (he,) = search("a", log_odds(weights), {"a": ["z", "x", "y"]}, judge=judge, firsts=("he",))
    assert end(he, 0) == "he y"
    # x refused, y accepted, z never asked about.
    assert list(judge.known) == ["he x", "he y"]


def test_a_beam_finds_what_the_greedy_search_loses() -> None:
    # 3.0; A takes 2.0, B and C take 1.6 each, and A goes with none of the others: greedy is left at 1.0.
    weights = dict.fromkeys("abc", 1.0) | {"A": -1.0, "B": -0.6, "C": -0.6}
    candidates = {word: [word.upper()] for word in "abc"}

    def found(beam: int) -> MemberSearch[Any]:
        judge = CountingJudge(couples=[frozenset("AB"), frozenset("AC")])
        return search("a b c", log_odds(weights), candidates, judge=judge, firsts=("he",), beam=beam)[0]

    assert found(1).reach.labels == {1}
    assert end(found(2), 0) == "he a B C"


def test_only_the_most_salient_positions_are_tried() -> None:
    # Without "b" the log odds fall most; its edit does not help, that of "a" would.
    weights = {"a": 1.0, "b": 3.0, "A": -9.0, "B": 2.9}
    candidates = {"a": ["A"], "b": ["B"]}

    def he(**options: Any) -> MemberSearch[Any]:
        return search("a b", log_odds(weights), candidates, firsts=("he",), **options)[0]

    assert he().reach.labels == {0, 1}
    cut = he(max_positions=1)
    assert cut.reach.labels == {1}
    assert list(cut.table.by_position) == [1]
    # No ranking where all positions fit; where they do not, the fall of p(1) at each position.
    assert he().reach.saliency == {}
    p = 1 / (1 + np.exp(-np.array([4.0, 3.0, 1.0])))
    assert cut.reach.saliency == pytest.approx({0: p[0] - p[1], 1: p[0] - p[2]})


def test_positions_without_candidates_are_not_ranked() -> None:
    seen: list[str] = []
    victim = log_odds({"a": 1.0, "b": 3.0})

    def spy(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return victim(texts)

    members = members_of("a b c", {"a": ["A"], "b": ["B"]}, None, ("he",))
    alone(search_members(members, 1, ReachSettings(max_positions=1, saliency="mask", mask_token="<m>")), spy)
    assert "he <m> b c" in seen and "he a <m> c" in seen
    assert "he a b <m>" not in seen


def test_the_gradient_ranks_where_it_is_asked_for() -> None:
    asked: list[tuple[str, int, int]] = []

    def gradient(text: str, label: int, spans: Any) -> list[float]:
        asked.append((text, label, len(spans)))
        return [0.1, 0.9]

    weights, candidates = {"a": 1.0, "A": -9.0, "B": 0.0}, {"a": ["A"], "b": ["B"]}
    (he,) = search(
        "a b",
        log_odds(weights),
        candidates,
        firsts=("he",),
        max_positions=1,
        saliency="gradient",
        token_saliency=gradient,
    )
    assert asked == [("he a b", 1, 2)]
    assert list(he.table.by_position) == [1]
    assert he.reach.saliency == {0: 0.1, 1: 0.9}


@pytest.mark.parametrize(
    ("saliency", "message"),
    [("gradient", "saliency gradient needs a white-box victim"), ("random", "needs a random generator")],
)
def test_saliency_needs_its_means(saliency: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        search("a b", log_odds({}), {"a": ["A"], "b": ["B"]}, max_positions=1, saliency=saliency)


def test_random_saliency_chooses_positions_by_the_generator_alone() -> None:
    candidates = {word: [word.upper()] for word in "abcdef"}

    def kept(seed: int, **options: Any) -> list[list[int]]:
        rng = np.random.default_rng(seed)
        found = search(
            "a b c d e f", log_odds({}), candidates, rng=rng, saliency="random", max_positions=2, **options
        )
        return [list(s.table.by_position) for s in found]

    assert all(he == she and len(he) == 2 for he, she in map(kept, range(6)))
    assert len({tuple(kept(seed)[0]) for seed in range(6)}) > 1
    refused = CountingJudge({"A", "C", "E"})
    for seed in range(6):
        # Which positions are looked at does not depend on what the filter says of their candidates.
        both = kept(seed, filter_first=True, judge=refused)
        assert both == [[p for p in positions if p % 2] for positions in kept(seed)]


# -- more than two classes --------------------------------------------------------------------------------


def test_a_text_is_searched_towards_the_wrong_label_that_the_other_reached() -> None:
    # he: the likeliest wrong label is 1, and x leads there. she: only y leads away, to label 2.
    # So he must be sent to label 2 as well, which y reaches: both in label 2 is unrobust_fair.
    weights = {
        "a": (3.0, 1.0, 0.0),
        "x": (0.0, 3.0, 0.0),
        "y": (0.0, 0.0, 3.0),
        "she": (0.0, -9.0, 0.0),
    }
    he, she = search("a", WordVictim(weights, 3), {"a": ["x", "y"]}, label=0)
    assert end(she, 2) == "she y"
    assert 1 not in she.reach.labels
    assert he.reach.labels == {0, 1, 2}
    assert (end(he, 1), end(he, 2)) == ("he x", "he y")


def test_texts_that_reach_different_labels_try_the_likeliest_others() -> None:
    # he goes to 1 by x, she to 2 by y, neither can follow the other; z takes both to 3.
    weights = {
        "a": (4.0, 1.0, 1.0, 0.0),
        "x": (0.0, 3.0, -9.0, 0.0),
        "y": (0.0, -9.0, 3.0, 0.0),
        "z": (0.0, -9.0, -9.0, 3.0),
        "he": (0.0, 0.5, -9.0, -0.5),
        "she": (0.0, -9.0, 0.5, -0.5),
    }
    candidates = {"a": ["x", "y", "z"]}
    he, she = search("a", WordVictim(weights, 4), candidates, label=0)
    assert end(he, 1) == "he x" and end(she, 2) == "she y"
    assert end(he, 3) == "he z" and end(she, 3) == "she z"
    he, she = search("a", WordVictim(weights, 4), candidates, label=0, n_labels=1)
    assert 3 not in he.reach.labels & she.reach.labels


def test_a_wrong_text_that_cannot_become_right_tries_other_wrong_labels() -> None:
    # Both are in label 1 (right: 0, out of reach). Another wrong label on one side is unrobust_biased.
    weights = {"a": (-9.0, 2.0, 0.0), "x": (-9.0, 0.0, 2.0), "she": (0.0, 9.0, 0.0)}
    he, she = search("a", WordVictim(weights, 3), {"a": ["x"]}, label=0)
    assert she.reach.labels == {1}
    assert he.reach.labels == {1, 2}


def test_n_labels_limits_how_many_labels_are_aimed_at() -> None:
    weights = {"a": (5.0, 2.0, 1.0, 0.0), "x": (4.0, -9.0, -9.0, 9.0)}
    for n_labels, labels in ((3, {0, 3}), (2, {0})):
        # Labels 1 and 2 come first and x does not raise them; noted on the way it would be with them.
        (he,) = search("a", WordVictim(weights, 4), {"a": ["x"]}, firsts=("he",), label=0, n_labels=n_labels)
        assert he.reach.labels == labels


def test_a_state_counts_once_whichever_labels_it_was_tried_for() -> None:
    weights = {"a": (3.0, 0.0, 0.0), "x": (2.0, 0.0, 0.0)}
    (he,) = search("a", WordVictim(weights, 3), {"a": ["x"]}, firsts=("he",), label=0, optimism=np.inf)
    assert he.tried == {1, 2}
    assert he.reach.n_tried == 2


# -- costs ------------------------------------------------------------------------------------------------


def test_probes_of_the_original_serve_all_similar_texts() -> None:
    # 2 candidates; nothing can change the label, and the bound says so without a further row.
    weights = {"a": 5.0, "A": 4.0, "b": 5.0, "B": 4.5}
    candidates = {"a": ["A"], "b": ["B"]}
    firsts = ("he", "she", "they")
    victim, judge = log_odds(weights), CountingJudge()
    found = search("a b", victim, candidates, judge=judge, firsts=firsts)
    assert victim.rows == 3 + 2
    assert judge.rows == 0
    assert [s.reach.stop for s in found] == ["out_of_reach"] * 3
    victim = log_odds(weights)
    search("a b", victim, candidates, firsts=firsts, shares_probes=False)
    assert victim.rows == 3 + 3 * 2


def test_the_bound_takes_edit_limits_into_account() -> None:
    # 3.0; two edits of 1.6 change the label, one cannot.
    weights = {"a": 1.5, "A": -0.1, "b": 1.5, "B": -0.1}
    candidates = {"a": ["A"], "b": ["B"]}
    (he,) = search("a b", log_odds(weights), candidates, firsts=("he",), max_edits=1, optimism=1)
    assert he.reach.stop == "out_of_reach"
    assert he.reach.n_tried == 1
    (he,) = search("a b", log_odds(weights), candidates, firsts=("he",), max_edits=2, optimism=1)
    assert he.reach.labels == {0, 1}


def test_lazy_filtering_asks_about_a_fifth_of_what_eager_filtering_asks() -> None:
    # Forty candidates, nearly all refused; the label hangs on the few that pass.
    letters = "abcdefgh"
    candidates = {w: [f"{w}{i}" for i in range(5)] for w in letters}
    weights = dict.fromkeys(letters, 1.0) | {
        f"{w}{i}": 1.0 - 0.1 * (i + 1) * (1 + letters.index(w)) for w in letters for i in range(5)
    }
    passing = {"h4", "g4", "f4"}
    refused = set().union(*candidates.values()) - passing
    rows, found = {}, {}
    for order in (True, False):
        judge = CountingJudge(refused)
        searched = search(
            " ".join(letters), log_odds(weights), candidates, judge=judge, optimism=1, filter_first=order
        )
        rows[order] = judge.rows
        found[order] = [{b: path[-1].state for b, path in s.reach.paths.items()} for s in searched]
    assert found[True] == found[False]
    assert all(len(reached) == 2 for reached in found[True])
    assert rows[True] >= 5 * rows[False]


# -- budgets ----------------------------------------------------------------------------------------------


def test_a_budget_below_the_clean_texts_is_refused() -> None:
    with pytest.raises(UsageError, match="does not pay for the clean texts: expected 2 rows or more"):
        search("a", log_odds({}), {"a": ["A"]}, budget=1)


def test_a_stop_by_budget_is_said_and_what_was_measured_is_used() -> None:
    # Rows: he, she, then candidates of "he" in reading order. The fourth row shows that A1 flips "he".
    weights = {"a": 2.0, "A0": 1.0, "A1": -1.0, "A2": -2.0}
    candidates = {"a": ["A0", "A1", "A2"]}
    for budget, labels in ((2, {1}), (3, {1}), (4, {0, 1}), (5, {0, 1})):
        victim = log_odds(weights)
        he, she = search("a", victim, candidates, budget=budget)
        assert victim.rows == budget
        assert he.reach.labels == labels
        assert she.reach.stop == "budget"
        assert (he.reach.stop == "budget") == (budget < 5)
    he, she = search("a", log_odds(weights), candidates, budget=6)
    assert (end(he, 0), end(she, 0)) == ("he A2", "she A2")


def test_a_text_without_candidates_says_so() -> None:
    he, she = search("a b", log_odds({}), {})
    assert he.reach.stop == she.reach.stop == "no_positions"


# -- properties over random worlds ------------------------------------------------------------------------

options = st.fixed_dictionaries(
    {
        "beam": st.integers(1, 3),
        "max_edits": st.one_of(st.none(), st.integers(0, 3)),
        "max_positions": st.integers(1, 5),
        "saliency": st.sampled_from(["delete", "mask", "random"]),
    }
)


def searched(world: World, chosen: ReachSettings, **more: Any) -> tuple[Searches, WordVictim, CountingJudge]:
    victim, judge = world.victim(), world.judge
    coroutine = search_members(world.members(judge), world.label, chosen, rng=np.random.default_rng(0))
    return alone(coroutine, victim, **more), victim, judge


def exact(world: World) -> float:
    """The bound of a linear model, but for labels of several that are met on the way to another."""
    return 1.0 if world.n_labels == 2 else np.inf


def ends(found: Searches) -> list[dict[int, Any]]:
    return [{b: path[-1].state for b, path in s.reach.paths.items()} for s in found]


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), options, st.booleans(), st.booleans())
def test_what_is_reached_is_real_and_admissible(
    world: World, chosen: dict, filter_first: bool, shares: bool
) -> None:
    plan = ReachSettings(**chosen, filter_first=filter_first, shares_probes=shares)
    found, _, _ = searched(world, plan)
    for first, member_search in zip(world.firsts, found, strict=True):
        texts = world.admissible(first, chosen["max_edits"])
        fresh = world.victim()
        for label, path in member_search.reach.paths.items():
            assert path[-1].state.text in texts
            assert path[-1].label == label
            assert [len(point.state.edits) for point in path] == [point.n_edits for point in path]
            assert [point.n_edits for point in path] == list(range(len(path)))
            for point in path:
                # The sensitive word stands, and p is that of this very text.
                assert point.state.text.split()[0] == first
                assert np.allclose(point.p, fresh([point.state.text])[0])
        assert 1 <= member_search.reach.n_tried <= len(texts)
        errors = 1 - fresh(texts)[:, world.label]
        assert member_search.reach.largest_error <= errors.max() + 1e-12


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), options)
def test_victim_first_accepts_the_same_edits_as_eager_filtering(world: World, chosen: dict) -> None:
    eager, _, _ = searched(world, ReachSettings(**chosen, filter_first=True))
    lazy, _, _ = searched(world, ReachSettings(**chosen, optimism=exact(world)))
    assert ends(lazy) == ends(eager)


@settings(max_examples=40, deadline=None)
@given(worlds(), options, st.integers(0, 9))
def test_the_orders_agree_also_where_two_edits_pass_that_are_refused_alone(
    world: World, chosen: dict, whim: int
) -> None:
    class Whimsical(CountingJudge):
        def accepts(self, text: str) -> bool:
            return zlib.crc32(f"{whim} {text}".encode()) % 10 < 6

    found = []
    for filter_first in (True, False):
        members = world.members(Whimsical())
        plan = ReachSettings(**chosen, filter_first=filter_first, optimism=exact(world))
        coroutine = search_members(members, world.label, plan, rng=np.random.default_rng(0))
        found.append(ends(alone(coroutine, world.victim())))
    assert found[0] == found[1]


@settings(max_examples=40, deadline=None)
@given(worlds(couples=True), options)
def test_shared_probes_find_the_same_on_additive_victims(world: World, chosen: dict) -> None:
    shared, few, _ = searched(world, ReachSettings(**chosen, optimism=exact(world)))
    each, many, _ = searched(world, ReachSettings(**chosen, optimism=exact(world), shares_probes=False))
    assert ends(shared) == ends(each)
    assert few.rows <= many.rows


@settings(max_examples=40, deadline=None)
@given(worlds(n_labels=2))
def test_two_classes_and_single_words_are_searched_exactly(world: World) -> None:
    """With an additive victim and a filter of single words the best edit of each position is enough."""
    found, _, _ = searched(world, ReachSettings(optimism=1))
    assert [set(s.reach.labels) for s in found] == [world.labels(first) for first in world.firsts]


@settings(max_examples=40, deadline=None)
@given(worlds(), st.data())
def test_a_looser_filter_never_loses_a_label_or_a_candidate(world: World, data: st.DataObject) -> None:
    looser = replace(world, refused=frozenset(data.draw(st.sets(st.sampled_from([*world.refused, "-"])))))
    looser = replace(looser, refused=looser.refused & world.refused)
    strict_search, _, _ = searched(world, ReachSettings(filter_first=True))
    loose_search, _, _ = searched(looser, ReachSettings(filter_first=True))
    for strict, loose in zip(strict_search, loose_search, strict=True):
        keys = {(c.position, c.key) for c in strict.table.all}
        assert keys <= {(c.position, c.key) for c in loose.table.all}
        if world.n_labels == 2:
            assert strict.reach.labels <= loose.reach.labels


@settings(max_examples=50, deadline=None)
@given(worlds(couples=True), options, st.booleans(), st.integers(0, 25))
def test_the_budget_is_kept_and_a_stop_by_it_is_said(
    world: World, chosen: dict, filter_first: bool, extra: int
) -> None:
    plan = ReachSettings(**chosen, filter_first=filter_first)
    budget = len(world.firsts) + extra
    found, victim, _ = searched(world, plan, budget=budget)
    assert victim.rows <= budget
    free, all_rows, _ = searched(world, plan)
    if all_rows.rows <= budget:
        assert ends(found) == ends(free)
        assert [s.reach.stop for s in found] == [s.reach.stop for s in free]
    else:
        assert "budget" in [s.reach.stop for s in found]


@settings(max_examples=30, deadline=None)
@given(worlds(couples=True), options)
def test_batch_size_changes_nothing(world: World, chosen: dict) -> None:
    one, _, _ = searched(world, ReachSettings(**chosen), batch_size=1)
    many, _, _ = searched(world, ReachSettings(**chosen), batch_size=512)
    assert ends(one) == ends(many)
    assert [s.reach.n_tried for s in one] == [s.reach.n_tried for s in many]
