"""What a search asks for, and how several searches ask together.

A search is a generator that yields requests and receives their answers. It never calls a victim or a
filter itself, so whoever drives it may merge the requests of many searches into large batches.

==========  ==================================================================================
``Score``   class probabilities of texts, ``(m, k)``; ``m`` may be smaller than the number of
            texts, which means that the query budget ran out behind the first ``m``
``Judge``   whether edited states of one side are admissible, one bool a state; or, where the request is
            ``is_graded``, their ``S_eq``, one number a state
``Batch``   several requests at once; the answer is the list of their answers
==========  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.sides import EditableSide

FloatArray = NDArray[np.float64]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Score:
    """Ask the victim about texts; ``is_fresh``: whatever a cache holds."""

    texts: Sequence[str]
    is_fresh: bool = False


@dataclass(frozen=True, slots=True)
class Judge:
    """Ask the filter about states of one side.

    Attributes:
        is_graded: How equivalent each state is, and not only whether it is enough. Asked for states that were
            judged admissible only, so that the filter has measured them already. Where nothing is measured,
            equal answers do, such as ``True`` for all.
    """

    side: EditableSide[Any]
    states: Sequence[Any]
    is_graded: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Ask several things at once."""

    parts: tuple[Request, ...]


Request = Score | Judge | Batch
Coroutine = Generator[Request, Any, R]
"""A search: yields requests, receives answers, returns its result."""


def gather(coroutines: Sequence[Coroutine[R]]) -> Coroutine[list[R]]:
    """Advance several searches together; their results in the given order.

    In each round the requests of all that still run are yielded as one ``Batch``.
    """
    results: list[Any] = [None] * len(coroutines)
    waiting: dict[int, Request] = {}
    for index, coroutine in enumerate(coroutines):
        _advance(coroutine, index, None, waiting, results)
    while waiting:
        indices = list(waiting)
        answers = yield Batch(tuple(waiting[index] for index in indices))
        for index, answer in zip(indices, answers, strict=True):
            _advance(coroutines[index], index, answer, waiting, results)
    return results


def _advance(
    coroutine: Coroutine[Any], index: int, answer: Any, waiting: dict[int, Request], results: list[Any]
) -> None:
    try:
        waiting[index] = coroutine.send(answer)
    except StopIteration as stop:
        waiting.pop(index, None)
        results[index] = stop.value


def leaves(request: Request) -> list[Score | Judge]:
    """The plain requests inside a request, in order."""
    if isinstance(request, Batch):
        return [leaf for part in request.parts for leaf in leaves(part)]
    return [request]


def assembled(request: Request, answers: Sequence[Any]) -> Any:
    """The answer to a request from the answers to its leaves."""
    rest = iter(answers)

    def build(part: Request) -> Any:
        return [build(inner) for inner in part.parts] if isinstance(part, Batch) else next(rest)

    return build(request)


def drive(
    coroutine: Coroutine[R],
    score: Callable[[list[str]], FloatArray],
    score_again: Callable[[list[str]], FloatArray] | None = None,
) -> R:
    """Run one search alone.

    Args:
        coroutine: The search.
        score: Class probabilities of a list of texts, or of a prefix of it when a budget runs out. The
            texts of a ``Batch`` are asked in one call.
        score_again: The same for requests that no cache may answer; None is ``score``.

    Returns:
        The search's result. States are judged by their own sides.
    """
    try:
        request = next(coroutine)
        while True:
            request = coroutine.send(assembled(request, _answers(leaves(request), score, score_again)))
    except StopIteration as stop:
        result: R = stop.value
        return result


def _answers(
    requests: Sequence[Score | Judge],
    score: Callable[[list[str]], FloatArray],
    score_again: Callable[[list[str]], FloatArray] | None,
) -> list[Any]:
    answers: list[Any] = [None] * len(requests)
    for is_fresh, ask in ((False, score), (True, score_again or score)):
        scores = [(i, r) for i, r in enumerate(requests) if isinstance(r, Score) and r.is_fresh == is_fresh]
        texts = [text for _, request in scores for text in request.texts]
        rows = ask(texts) if texts else np.zeros((0, 0))
        start = 0
        for i, request in scores:
            answers[i] = rows[start : start + len(request.texts)]
            start += len(request.texts)
    for i, other in enumerate(requests):
        if isinstance(other, Judge):
            side, states = other.side, other.states
            answers[i] = side.equivalence(states) if other.is_graded else side.admissible(states)
    return answers
