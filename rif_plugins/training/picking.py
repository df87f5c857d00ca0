"""Which of many found rows teach: each once, with one label, of every target in turn, and not too many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from rif_plugins.core.outcomes import TARGETS
from rif_plugins.core.pairs import SIDES
from rif_plugins.core.seeds import example_seed
from rif_plugins.errors import UsageError

RIF_TARGETS: tuple[str, ...] = tuple(map(str, TARGETS))
RecordT = TypeVar("RecordT")


class Teaching(Protocol):
    """One side of a finding that may teach."""

    @property
    def label(self) -> int:
        """Its class."""
        ...  # pragma: no cover

    @property
    def record(self) -> str:
        """Id of the record that it comes from."""
        ...  # pragma: no cover

    @property
    def side(self) -> str:
        """``"original"`` or ``"similar"``."""
        ...  # pragma: no cover


TeachingT = TypeVar("TeachingT", bound=Teaching)


def check_choice(targets: Sequence[str], weight: float, max_rows: int | None) -> None:
    """Refuse what no training could use.

    Raises:
        UsageError: A target is unknown, the weight is no number above 0, or ``max_rows`` is below 1.
    """
    if unknown := [name for name in targets if name not in RIF_TARGETS]:
        raise UsageError(
            f"augmentation by target: expected some of {', '.join(RIF_TARGETS)}, got {unknown[0]!r}"
        )
    if not 0 < weight < float("inf"):
        raise UsageError(f"the weight of augmented rows must be a number above 0, got {weight}")
    if max_rows is not None and max_rows < 1:
        raise UsageError(f"the most augmented rows must be a whole number from 1, got {max_rows}")


def in_turn(
    found: Sequence[RecordT],
    targets: Sequence[str],
    seed: int,
    *,
    id_of: Callable[[RecordT], str],
    target_of: Callable[[RecordT], str],
) -> list[RecordT]:
    """The findings, one of each target in turn; the order depends on seed and ids only."""
    order = sorted(found, key=lambda record: (example_seed(seed, id_of(record)), id_of(record)))
    queues = [[record for record in order if target_of(record) == target] for target in targets]
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


class Picker(Generic[TeachingT]):
    """Takes rows in the order of their importance, and counts what it leaves out.

    Args:
        known: Labels of what is trained on anyway, by key: no row may contradict them.

    Attributes:
        left_out: How many rows were left out, by reason.
    """

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.left_out: Counter[str] = Counter()
        self._known = known or {}
        self._kept: dict[str, TeachingT] = {}
        self._contradicted: set[str] = set()

    def add(self, key: str, row: TeachingT) -> None:
        """Take a row, unless one of this key was taken; two labels of one key leave both out."""
        earlier = self._kept.get(key)
        if self._known.get(key, row.label) != row.label:
            self.left_out["contradicted"] += 1
        elif key in self._contradicted or (earlier is not None and earlier.label != row.label):
            self.left_out["contradicted"] += 1 + (self._kept.pop(key, None) is not None)
            self._contradicted.add(key)
        elif earlier is not None:
            self.left_out["repeated"] += 1
        else:
            self._kept[key] = row

    def rows(self, max_rows: int | None, records: Sequence[str]) -> tuple[TeachingT, ...]:
        """The rows that were taken first, in the order of their records.

        Args:
            max_rows: Most rows. A pair is not cut in two, unless it is the only one.
            records: Ids of all records, in their order.
        """
        rows = list(self._kept.values())
        if max_rows is not None and len(rows) > max_rows:
            is_cut = max_rows > 1 and rows[max_rows - 1].record == rows[max_rows].record
            n_kept = max_rows - is_cut
            self.left_out["over the cap"] = len(rows) - n_kept
            rows = rows[:n_kept]
        place = {record: number for number, record in enumerate(records)}
        return tuple(sorted(rows, key=lambda row: (place[row.record], SIDES.index(row.side))))
