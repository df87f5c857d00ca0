from __future__ import annotations

import numpy as np
import pytest
from fakes.toy import WordVictim, pair_of

from rif_plugins.core.objective import Objective
from rif_plugins.core.saliency import rank_shared, rank_side
from rif_plugins.core.sides import TextSide, align_tokens

# Logit of class 1: "good" +2, "not" -1, "meal" 0; "she" -0.5.
WEIGHTS = {"good": (0.0, 2.0), "not": (1.0, 0.0), "she": (0.5, 0.0)}


def drive(search, victim: WordVictim, most: int | None = None):
    """Answer the one request of a ranking, with at most ``most`` rows."""
    try:
        texts = next(search)
        search.send(victim(texts[:most]))
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a ranking asks once")


def setting(target: str):
    pair = pair_of("not a good meal")
    alignment = align_tokens(pair)
    sides = [TextSide(pair, side, alignment, lambda *_: ()) for side in ("original", "similar")]
    victim = WordVictim(WEIGHTS)
    clean = victim([pair.original, pair.similar])
    objective = Objective.for_target(target)
    return sides, victim, (clean[0], clean[1]), lambda p, q: objective(p, q, 1)


def test_shared_ranking_by_hand() -> None:
    """unrobust_fair: removing "good" lowers J most, removing "not" raises it."""
    sides, victim, clean, evaluate = setting("unrobust_fair")
    order = drive(rank_shared(*sides, clean, evaluate, None), victim)
    assert order == [2, 1, 3, 0]  # good, then a and meal (0, in reading order), then not

    def value(*words: str) -> float:
        p = victim([f"he {' '.join(words)}", f"she {' '.join(words)}"])
        return float(evaluate(p[0], p[1]))

    falls = [
        value("not", "a", "good", "meal") - value(*kept)
        for kept in (
            ("a", "good", "meal"),
            ("not", "good", "meal"),
            ("not", "a", "meal"),
            ("not", "a", "good"),
        )
    ]
    assert falls[2] > 0 > falls[0]
    assert falls[1] == pytest.approx(0) == pytest.approx(falls[3])


def test_one_side_ranking_leaves_the_other_side_alone() -> None:
    """robust_biased raises p of the original: removing "not" helps there; "good" helps on the other side."""
    sides, victim, clean, evaluate = setting("robust_biased")
    assert drive(rank_side(sides[0], clean, evaluate, None, is_original=True), victim)[0] == 0
    assert drive(rank_side(sides[1], clean, evaluate, None, is_original=False), victim)[0] == 2


def test_a_short_answer_ranks_what_it_covers() -> None:
    sides, victim, clean, evaluate = setting("unrobust_fair")
    # Five rows are two positions and a half.
    assert drive(rank_shared(*sides, clean, evaluate, None), victim, most=5) == [1, 0]


def test_noise_does_not_order_positions() -> None:
    sides, _, clean, evaluate = setting("unrobust_fair")
    search = rank_shared(*sides, clean, evaluate, None)
    texts = next(search)
    rng = np.random.default_rng(0)
    noisy = np.tile(np.array(clean), (len(texts) // 2, 1)) + rng.normal(0, 1e-13, (len(texts), 2))
    with pytest.raises(StopIteration) as stop:
        search.send(noisy)
    assert stop.value.value == [0, 1, 2, 3]
