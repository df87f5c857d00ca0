"""Many searches advance together, so that the victim and the filter see large batches.

A window of searches is open at a time. In each round the requests of all of them are answered at once
by two functions of the caller; what one search receives never depends on which others are open, so the
results are the same for any window, order and number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rif_plugins.core.requests import Coroutine, Judge, Request, Score, assembled, leaves
from rif_plugins.errors import UsageError

K = TypeVar("K")
R = TypeVar("R")
Answer = Callable[[Sequence[tuple[K, Any]]], Sequence[Any]]
"""``[(key of the search, Score or Judge)] -> answers``; an exception as answer is raised in the search."""


@dataclass(slots=True)
class _Open(Generic[K, R]):
    key: K
    coroutine: Coroutine[R]
    request: Request


def run_lockstep(
    searches: Iterable[tuple[K, Coroutine[R]]],
    *,
    answer_scores: Answer[K],
    answer_judges: Answer[K],
    window: int = 64,
) -> Iterator[tuple[K, R | Exception]]:
    """Run searches in lock step and yield their results in the order given.

    Args:
        searches: Keys and coroutines; taken lazily, ``window`` of them are open at a time.
        answer_scores: Answers all ``Score`` requests of a round.
        answer_judges: Answers all ``Judge`` requests of a round.
        window: How many searches are open.

    Yields:
        ``(key, result)``. A search that raised yields its exception, the others go on.
    """
    if window < 1:
        raise UsageError(f"window must be 1 or more, got {window}")
    source = iter(searches)
    running: dict[int, _Open[K, R]] = {}
    finished: dict[int, tuple[K, R | Exception]] = {}
    started = emitted = 0
    is_dry = False
    while True:
        # Finished searches count too: one slow search must not let the results behind it pile up.
        while not is_dry and started - emitted < 2 * window and len(running) < window:
            entry = next(source, None)
            if entry is None:
                is_dry = True
                break
            _step(started, entry[0], entry[1], None, running, finished)
            started += 1
        if running:
            _round(running, finished, answer_scores, answer_judges)
        while emitted in finished:
            yield finished.pop(emitted)
            emitted += 1
        if is_dry and not running and emitted == started:
            return


def _round(
    running: dict[int, _Open[K, R]],
    finished: dict[int, tuple[K, R | Exception]],
    answer_scores: Answer[K],
    answer_judges: Answer[K],
) -> None:
    """Answer one request of every open search."""
    parts = {number: leaves(search.request) for number, search in running.items()}
    scores = [(n, i) for n, found in parts.items() for i, part in enumerate(found) if isinstance(part, Score)]
    judges = [(n, i) for n, found in parts.items() for i, part in enumerate(found) if isinstance(part, Judge)]
    answers: dict[tuple[int, int], Any] = {}
    for places, answer in ((scores, answer_scores), (judges, answer_judges)):
        if places:
            asked = [(running[n].key, parts[n][i]) for n, i in places]
            answers.update(zip(places, answer(asked), strict=True))
    for number in list(running):
        search = running[number]
        mine = [answers[number, i] for i in range(len(parts[number]))]
        error = next((a for a in mine if isinstance(a, Exception)), None)
        value = error if error is not None else assembled(search.request, mine)
        _step(number, search.key, search.coroutine, value, running, finished)


def _step(
    number: int,
    key: K,
    coroutine: Generator[Request, Any, R],
    value: Any,
    running: dict[int, _Open[K, R]],
    finished: dict[int, tuple[K, R | Exception]],
) -> None:
    try:
        request = coroutine.throw(value) if isinstance(value, Exception) else coroutine.send(value)
    except StopIteration as stop:
        running.pop(number, None)
        finished[number] = (key, stop.value)
    except Exception as error:
        running.pop(number, None)
        finished[number] = (key, error)
    else:
        running[number] = _Open(key, coroutine, request)
