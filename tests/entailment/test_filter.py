from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rif_plugins.entailment import EntailmentFilter, LexiconVeto, Verdict
from rif_plugins.errors import UsageError

ORIGINAL = "a good film ."
SAME, OTHER = "a fine film .", "a bad film ."
TABLE = {
    (ORIGINAL, SAME): 0.95,
    (SAME, ORIGINAL): 0.9,
    (ORIGINAL, OTHER): 0.99,
    (OTHER, ORIGINAL): 0.1,
}


def test_verdicts_carry_both_directions_and_the_product(table_scorer):
    first, second = EntailmentFilter(table_scorer(TABLE)).check(ORIGINAL, [SAME, OTHER])
    assert first == Verdict(0.95, 0.9, pytest.approx(0.855), accepted=True)
    assert second == Verdict(0.99, 0.1, pytest.approx(0.099), accepted=False, reason="below min_equivalence")


@pytest.mark.parametrize(("limit", "accepted"), [(0.85, True), (0.86, False)])
def test_the_limit_decides(table_scorer, limit, accepted):
    (verdict,) = EntailmentFilter(table_scorer(TABLE), min_equivalence=limit).check(ORIGINAL, [SAME])
    assert verdict.accepted is accepted


def test_the_limit_itself_is_accepted(table_scorer):
    scorer = table_scorer({("x", "y"): 1.0, ("y", "x"): 0.75})
    assert EntailmentFilter(scorer, min_equivalence=0.75).check("x", ["y"])[0].accepted


def test_identical_texts_are_accepted_without_a_row(table_scorer):
    scorer = table_scorer()
    gate = EntailmentFilter(scorer, min_equivalence=1.0)
    assert gate.check(ORIGINAL, [ORIGINAL, "a  good film . "]) == [Verdict(1.0, 1.0, 1.0, accepted=True)] * 2
    assert (gate.rows, gate.cache_hits, scorer.calls) == (0, 0, [])


def test_rows_and_cache_hits_are_counted(table_scorer):
    scorer = table_scorer(TABLE)
    gate = EntailmentFilter(scorer)
    gate.check(ORIGINAL, [SAME, OTHER, SAME])
    assert (gate.rows, gate.cache_hits, len(scorer.calls)) == (4, 2, 1)
    gate.check(ORIGINAL, [OTHER])
    assert (gate.rows, gate.cache_hits, len(scorer.calls)) == (4, 4, 1)


def test_the_reversed_pair_is_known_too(table_scorer):
    gate = EntailmentFilter(table_scorer(TABLE))
    (there,), (back,) = gate.check(ORIGINAL, [SAME]), gate.check(SAME, [ORIGINAL])
    assert (back.forward, back.backward, back.score) == (there.backward, there.forward, there.score)
    assert gate.rows == 2


def test_order_of_verdicts_follows_the_pairs(table_scorer):
    pairs = [(ORIGINAL, OTHER), (SAME, ORIGINAL), (ORIGINAL, ORIGINAL), (ORIGINAL, SAME)]
    gate = EntailmentFilter(table_scorer(TABLE))
    assert [v.accepted for v in gate.check_many(pairs)] == [False, True, True, True]
    assert gate.check_many([]) == []


def test_calls_hold_at_most_batch_size_pairs(table_scorer):
    scorer = table_scorer()
    EntailmentFilter(scorer, batch_size=3).check("a b", [f"a b{i}" for i in range(7)])
    assert [len(call) for call in scorer.calls] == [6, 6, 2]


def test_word_scope_scores_the_bare_words(table_scorer):
    scorer = table_scorer({("good", "fine"): 0.9, ("fine", "good"): 0.9})
    (verdict,) = EntailmentFilter(scorer, scope="word").check(ORIGINAL, [SAME])
    assert scorer.calls == [[("good", "fine"), ("fine", "good")]]
    assert verdict.accepted and verdict.score == pytest.approx(0.81)


def test_the_worst_of_several_words_decides(table_scorer):
    table = {("good", "fine"): 0.99, ("fine", "good"): 0.99, ("film", "play"): 0.4, ("play", "film"): 0.5}
    (verdict,) = EntailmentFilter(table_scorer(table), scope="word").check(ORIGINAL, ["a fine play ."])
    assert verdict == Verdict(0.4, 0.5, pytest.approx(0.2), accepted=False, reason="below min_equivalence")


def test_every_step_is_compared_with_the_original(table_scorer):
    scorer = table_scorer()
    gate = EntailmentFilter(scorer)
    gate.check(ORIGINAL, [SAME])
    gate.check(ORIGINAL, ["a fine movie ."])
    assert {pair[0] for call in scorer.calls for pair in call[: len(call) // 2]} == {ORIGINAL}


def test_the_lexicon_veto_overrules_the_scorer(table_scorer):
    table = dict.fromkeys([(ORIGINAL, OTHER), (OTHER, ORIGINAL), (ORIGINAL, SAME), (SAME, ORIGINAL)], 1.0)
    gate = EntailmentFilter(table_scorer(table), veto="lexicon")
    bad, fine = gate.check(ORIGINAL, [OTHER, SAME])
    assert (bad.accepted, bad.reason, bad.score) == (False, "veto: antonym (good, bad)", 1.0)
    assert fine.accepted


@pytest.mark.parametrize(("name", "vetoed"), [("embedded", True), ("hf:large", False)])
def test_the_embedded_scorer_gets_the_veto_by_default(table_scorer, name, vetoed):
    scorer = table_scorer(dict.fromkeys([(ORIGINAL, OTHER), (OTHER, ORIGINAL)], 1.0))
    scorer.name = name
    assert EntailmentFilter(scorer).check(ORIGINAL, [OTHER])[0].accepted is not vetoed
    assert EntailmentFilter(scorer, veto=None).check(ORIGINAL, [OTHER])[0].accepted


def test_a_veto_of_ones_own(table_scorer):
    class NoFilms:
        def reason(self, original: str, edited: str) -> str | None:
            return "no films" if "film" in edited else None

    scorer = table_scorer({(ORIGINAL, SAME): 1.0, (SAME, ORIGINAL): 1.0})
    (verdict,) = EntailmentFilter(scorer, veto=NoFilms()).check(ORIGINAL, [SAME])
    assert verdict.reason == "veto: no films"


def test_a_filter_pickles_with_its_cache(table_scorer):
    gate = EntailmentFilter(table_scorer(TABLE), veto=LexiconVeto())
    gate.check(ORIGINAL, [SAME])
    # The scorer of these tests lives in conftest and cannot be imported by name.
    gate.answers.scorer = None
    copy = pickle.loads(pickle.dumps(gate))
    (verdict,) = copy.check(ORIGINAL, [SAME])
    assert verdict.accepted and (copy.rows, copy.cache_hits) == (2, 2)


@given(
    scores=st.lists(st.sampled_from([0.1, 0.5, 0.8, 0.9, 1.0]), min_size=8, max_size=8),
    picks=st.lists(st.integers(0, 3), max_size=6),
    limit=st.sampled_from([0.4, 0.8, 0.81]),
    vetoed=st.sets(st.integers(0, 3)),
)
def test_the_cheap_answer_is_the_full_one(scores, picks, limit, vetoed):
    edited = [f"a w{i} film ." for i in range(4)]
    table = {(ORIGINAL, text): scores[i] for i, text in enumerate(edited)}
    table |= {(text, ORIGINAL): scores[4 + i] for i, text in enumerate(edited)}

    class Own:
        def reason(self, original: str, text: str) -> str | None:
            return "own" if text in {edited[i] for i in vetoed} else None

    class Scorer:
        name = version = "table"

        def probabilities(self, pairs):
            return np.array([[table[pair], 0.0, 1 - table[pair]] for pair in pairs]).reshape(-1, 3)

    pairs = [(ORIGINAL, edited[i]) for i in picks] + [(ORIGINAL, ORIGINAL)]
    full = EntailmentFilter(Scorer(), min_equivalence=limit, veto=Own())
    cheap = EntailmentFilter(Scorer(), min_equivalence=limit, veto=Own())
    assert cheap.accepts(pairs) == [verdict.accepted for verdict in full.check_many(pairs)]
    assert cheap.rows <= full.rows
    # What the cheap answer has asked, the full one knows.
    before = cheap.rows
    cheap.check_many([pair for pair, ok in zip(pairs, cheap.accepts(pairs), strict=True) if ok])
    assert cheap.rows == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_equivalence": 0.0}, r"min_equivalence must be in \(0, 1\], got 0.0"),
        ({"min_equivalence": 1.5}, r"got 1.5"),
        ({"min_equivalence": float("nan")}, r"got nan"),
        ({"scope": "paragraph"}, r"unknown scope 'paragraph': expected sentence or word"),
        ({"veto": "wordnet"}, r"unknown veto 'wordnet': expected 'auto', 'lexicon'"),
        ({"batch_size": 0}, r"batch_size must be at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused(table_scorer, options, message):
    with pytest.raises(UsageError, match=message):
        EntailmentFilter(table_scorer(), **options)
