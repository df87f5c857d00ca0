"""What reports say of the records beside the summary, gathered while they are read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult
from rif_plugins.reports.cells import Quadrants
from rif_plugins.reports.characters import printable
from rif_plugins.reports.finding_sample import FindingSample
from rif_plugins.reports.sureness import Sureness

MOST_FINDINGS = 10_000  # on a page; more would make it slow to open
_MOST_ERRORS = 50
_MOST_NOTES = 200  # of different ones; a note can hold anything
_LONGEST_NOTE = 500


@dataclass(frozen=True, slots=True)
class Contents:
    """Counts of the records, and which of them are shown.

    Attributes:
        n_findings: Records that end in their target.
        n_errors: Records that ended in an error.
        quadrants: Pairs by final outcome, for every target.
        errors: Example and message of the first errors.
        scorers: Names of the entailment scorers that judged the edits.
        notes: What went wrong on the way without ending a search, and in how many examples.
        n_other_notes: Notes beside these.
        sureness: By target, how sure a victim is that does not repeat its answers.
        shown: Which findings are shown, by their number among all records; None is all of them.
    """

    n_findings: int = 0
    n_errors: int = 0
    quadrants: tuple[Quadrants, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    scorers: tuple[str, ...] = ()
    notes: tuple[tuple[str, int], ...] = ()
    n_other_notes: int = 0
    sureness: tuple[Sureness, ...] = ()
    shown: frozenset[int] | None = None

    @classmethod
    def of(cls, run: RunResult, *, most_findings: int | None = None) -> Contents:
        """Read the records of a run once.

        Args:
            run: The run.
            most_findings: How many findings will be shown; None shows all, or none.
        """
        counts = _Counts()
        sample = None if most_findings is None else FindingSample(most_findings)
        for place, record in enumerate(run.distinct()):
            counts.add(record)
            if sample is not None and record.is_found:
                sample.add(record, place)
        return counts.contents(run, sample)

    @property
    def n_shown(self) -> int:
        """How many findings are shown."""
        return self.n_findings if self.shown is None else len(self.shown)

    def shown_findings(self, run: RunResult) -> Iterator[Record]:
        """The findings to show, in the order of the data; the records are read once more."""
        for place, record in enumerate(run.distinct()):
            if record.is_found if self.shown is None else place in self.shown:
                yield record


@dataclass(slots=True)
class _Cells:
    """Counts of one target."""

    total: int = 0
    before: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        self.total += 1
        (self.before if record.clean_outcome == record.outcome else self.reached)[record.outcome] += 1
        self.statuses[record.status] += 1

    def quadrants(self, target: str) -> Quadrants:
        names = [str(outcome) for outcome in Outcome]
        cells = {name: (self.before[name], self.reached[name]) for name in names}
        return Quadrants(target, self.total, cells, self.statuses)


class _Counts:
    """``Contents`` while the records come."""

    def __init__(self) -> None:
        self._n_findings = self._n_errors = self._n_other_notes = 0
        self._cells: dict[str, _Cells] = {}
        self._errors: list[tuple[str, str]] = []
        self._scorers: set[str] = set()
        self._notes: Counter[str] = Counter()
        self._sureness: dict[str, Sureness] = {}

    def add(self, record: Record) -> None:
        self._n_findings += record.is_found
        if record.is_evaluated:
            self._cells.setdefault(record.target, _Cells()).add(record)
        elif record.status == "error":
            self._n_errors += 1
            if len(self._errors) < _MOST_ERRORS:
                message = record.message or record.stop_reason
                self._errors.append((printable(record.example), printable(message)))
        if record.scorer:
            self._scorers.add(printable(record.scorer))
        for note in record.notes:
            self._add_note(note[:_LONGEST_NOTE])
        if record.uncertainty and record.is_evaluated:
            self._sureness.setdefault(record.target, Sureness(record.target)).add(record)

    def _add_note(self, note: str) -> None:
        if note in self._notes or len(self._notes) < _MOST_NOTES:
            self._notes[note] += 1
        else:
            self._n_other_notes += 1

    def contents(self, run: RunResult, sample: FindingSample | None) -> Contents:
        known = [name for name in run.summary.get("targets") or [] if name in self._cells]
        targets = list(dict.fromkeys([*known, *self._cells]))
        return Contents(
            n_findings=self._n_findings,
            n_errors=self._n_errors,
            quadrants=tuple(self._cells[name].quadrants(name) for name in targets),
            errors=tuple(self._errors),
            scorers=tuple(sorted(self._scorers)),
            notes=tuple(self._notes.most_common()),
            n_other_notes=self._n_other_notes,
            sureness=tuple(self._sureness[name] for name in targets if name in self._sureness),
            shown=None if sample is None else sample.places(),
        )
