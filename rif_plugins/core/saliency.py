"""Occlusion saliency: how much the objective falls when a token is taken away.

``s_i = J(v, v') - J(v without i, v' without i)``; positions are attacked in descending order.
Written as generators that yield texts and receive class probabilities, so that a caller may merge
the requests of many searches into one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.sides import EditableSide

FloatArray = NDArray[np.float64]
Evaluate = Callable[[FloatArray, FloatArray], Any]
Requests = Generator[list[str], FloatArray, list[int]]
_CHUNK = 512


def rank_shared(
    original: EditableSide[Any],
    similar: EditableSide[Any],
    clean: tuple[FloatArray, FloatArray],
    evaluate: Evaluate,
    mask_token: str | None,
) -> Requests:
    """Rank the positions common to both sides by removing each token on both of them.

    Args:
        original: The original side.
        similar: The similar side.
        clean: Probabilities of the unedited texts, each ``(k,)``.
        evaluate: ``J`` of two probability arrays.
        mask_token: Replace the token by this instead of deleting it.

    Returns:
        Positions in descending saliency; ties keep reading order. Positions that the answer no longer
        covers (the budget ran out) are left out.
    """
    elsewhere = set(similar.positions)
    common = [position for position in original.positions if position in elsewhere]
    rows = yield from ask(
        side.without(position, mask_token) for position in common for side in (original, similar)
    )
    complete = len(rows) // 2
    falls = [float(evaluate(*clean)) - float(evaluate(rows[2 * i], rows[2 * i + 1])) for i in range(complete)]
    return _descending(common[:complete], falls)


def rank_side(
    side: EditableSide[Any],
    clean: tuple[FloatArray, FloatArray],
    evaluate: Evaluate,
    mask_token: str | None,
    *,
    is_original: bool,
) -> Requests:
    """Rank the positions of one side alone; the other side stays unedited."""
    positions = list(side.positions)
    rows = yield from ask(side.without(position, mask_token) for position in positions)
    falls = []
    for row in rows:
        occluded = (row, clean[1]) if is_original else (clean[0], row)
        falls.append(float(evaluate(*clean)) - float(evaluate(*occluded)))
    return _descending(positions[: len(rows)], falls)


def ask(texts: Iterable[str]) -> Generator[list[str], FloatArray, FloatArray]:
    """Request probabilities in bounded chunks, never an empty one; stops at the first short answer.

    The occlusions of a text of n words hold n copies of it: taken lazily, a text of 50,000 characters
    costs a few megabytes and not gigabytes.
    """
    answers: list[FloatArray] = []
    source = iter(texts)
    while chunk := list(islice(source, _CHUNK)):
        rows = yield chunk
        answers.append(rows)
        if len(rows) < len(chunk):
            break
    return np.concatenate(answers) if answers else np.zeros((0, 0))


def _descending(positions: Sequence[int], falls: Sequence[float]) -> list[int]:
    # Differences below 1e-9 are the floating-point noise of batching; they must not order positions.
    order = sorted(range(len(positions)), key=lambda i: (-round(falls[i], 9), i))
    return [positions[i] for i in order]
