"""One audit from the options to the folder with its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rif_plugins.core.pairs import Pair
from rif_plugins.core.results import Record
from rif_plugins.core.victim import VictimCallError
from rif_plugins.diagnostics.victim_checks import check_victim
from rif_plugins.errors import DataError, RIFError, UsageError, VictimRowError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.runner.answering import scorer_failure
from rif_plugins.runner.audit_result import AuditResult
from rif_plugins.runner.building import Parts, decides_filter_first, read_examples
from rif_plugins.runner.guarding import build_guarded_parts, close_parts
from rif_plugins.runner.judging import load_judges
from rif_plugins.runner.language_models import with_own_checks
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.places import LOCAL, Place
from rif_plugins.runner.result_log import claimed
from rif_plugins.runner.run_configuration import starting
from rif_plugins.runner.session import Session
from rif_plugins.runner.sweep import check_labels
from rif_plugins.victims.base import Victim
from rif_plugins.victims.fingerprint import probe_digest

_ASKED_ALONE = 32
Progress = Callable[[Iterable[list[Record]], int], Iterable[list[Record]]]


@dataclass
class Audit:
    """An audit that is ready to run: everything is loaded and checked, nothing is searched yet.

    Attributes:
        options: What to do; the filter order is decided.
        parts: Victim, filter, cache, lexicon.
        examples: What to search.
        checks: What the checks of the victim say.
        answers: Digest of the victim's answers to a few sentences; tells victims apart that have no
            fingerprint.
        n_finished: Examples that the last run has written, also where it did not come to its end.
    """

    options: AuditOptions
    parts: Parts
    examples: ExampleSet
    checks: list[dict[str, str]]
    answers: str = ""
    n_finished: int = 0

    @classmethod
    def prepare(
        cls, options: AuditOptions, *, victim: Victim | None = None, examples: ExampleSet | None = None
    ) -> Audit:
        """Load and check everything that the options name.

        Args:
            options: The options.
            victim: In place of ``options.model``.
            examples: In place of ``options.data``.

        Raises:
            UsageError: Something cannot be loaded, or the victim cannot be audited.
            DataError: A label is no class of the victim, or two examples have the same id.
        """
        options.plan()
        parts = build_guarded_parts(options, victim)
        try:
            return cls._checked(options, parts, examples)
        except BaseException:
            close_parts(parts)
            raise

    @classmethod
    def _checked(cls, options: AuditOptions, parts: Parts, examples: ExampleSet | None) -> Audit:
        names = options.label_names or parts.victim.label_names
        examples = examples or read_examples(options, names)
        texts = [example.text for example in examples.examples]
        _refuse_same_ids(examples)
        load_judges(options, parts.models)
        checks = _checked_victim(parts, examples, texts)
        check_labels(examples.examples, parts.engine.n_labels)
        _check_names(names, parts)
        if options.filter_first is None:
            options = replace(options, filter_first=_decided_filter_first(options, parts, texts))
        return cls(options, parts, examples, checks, _answers_digest(parts))

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes; their numbers where nothing names them."""
        names = self.options.label_names or self.examples.label_names or self.parts.victim.label_names
        n = self.parts.engine.n_labels or 0
        return tuple(names) if names is not None else tuple(str(i) for i in range(n))

    def pairs(self) -> Iterator[tuple[Example, list[Pair]]]:
        """Every example with its pairs, for a dry run."""
        for example in self.examples.examples:
            is_empty = not example.text.strip()
            yield example, [] if is_empty else self.parts.source.pairs_of(example.text, example.similar)

    def run(
        self,
        out: Path | None = None,
        *,
        workers: int = 1,
        engine: str = LOCAL,
        ray_address: str | None = None,
        resume: bool = False,
        progress: Progress | None = None,
        keep_records: bool = True,
    ) -> AuditResult:
        """Search all examples.

        Args:
            out: Folder of the files; None writes none.
            workers: Processes; more than one needs a victim that ``options.model`` names.
            engine: ``"local"``, processes of this machine, or ``"ray"``, actors of a cluster.
            ray_address: Of the cluster; None starts one on this machine.
            resume: Go on with the run that the folder holds.
            progress: Wraps the iteration over examples, to show how far it is.
            keep_records: False leaves the records in their file, which the result reads when it is asked;
                the memory that is needed then hardly grows with the number of examples.

        Raises:
            UsageError: The folder holds another run, or cannot be written; or the run cannot go on, and what
                is written stays.
        """
        place = Place(workers, engine, ray_address)
        with nullcontext() if out is None else claimed(out):
            session = Session(self, out, keep_records=keep_records or out is None)
            try:
                session.begin(is_resumed=resume)
                batches: Iterable[list[Record]] = session.search(place)
                if progress is not None:
                    batches = progress(batches, len(session.todo))
                for found in batches:
                    session.take(found)
            except UsageError as error:
                raise session.stopped(error) from error
            finally:
                session.close()
            return session.result()

    def configuration(self) -> dict[str, Any]:
        """What ``run.json`` says about a run that starts now."""
        return starting(
            self.options,
            self.parts,
            self.examples,
            label_names=self.label_names,
            checks=self.checks,
            answers=self.answers,
        )


def _refuse_same_ids(examples: ExampleSet) -> None:
    seen: set[str] = set()
    for example in examples.examples:
        if example.id in seen:
            raise DataError(
                f"two examples have the id {example.id!r}, expected one id an example: "
                "give (text, label) tuples, which are named one by one"
            )
        seen.add(example.id)


def _checked_victim(parts: Parts, examples: ExampleSet, texts: Sequence[str]) -> list[dict[str, str]]:
    """Run the checks; a victim that gives no usable answer at all is refused.

    One that fails on some texts is not: those examples will end in an error, the others are searched.
    """
    covered = sum(bool(parts.source.pairs_of(e.text, e.similar)) for e in examples.examples if e.text.strip())
    checks = check_victim(
        # A fresh answer of a language model costs calls; it brings its own check of repetition.
        lambda some: parts.engine.probabilities(some, fresh=parts.victim.again is None),
        texts,
        [example.label for example in examples.examples],
        raw=parts.victim.predict,
        output=parts.engine.output,
        label_names=examples.label_names,
        seen=parts.victim.seen,
        covered=(covered, len(texts)),
    )
    broken = next((check for check in checks if check.name == "answers" and check.status == "fail"), None)
    if broken is not None:
        if not _answers_any(parts, texts):
            raise UsageError(f"the victim {parts.victim.name} cannot be audited: {broken.message}")
        checks = [replace(c, status="warn") if c is broken else c for c in checks]
    return with_own_checks(parts.victim, [check.to_dict() for check in checks])


def _decided_filter_first(options: AuditOptions, parts: Parts, texts: Sequence[str]) -> bool:
    try:
        return decides_filter_first(options, parts, texts)
    except RIFError:
        raise
    except Exception as error:
        if parts.filter is None:
            raise
        raise scorer_failure(parts.filter, error) from error


def _answers_any(parts: Parts, texts: Sequence[str]) -> bool:
    """Whether the victim has an answer to any of a few texts, asked one by one after all of them together."""
    some = list(dict.fromkeys(texts))[:_ASKED_ALONE]
    for asked in (some, *([text] for text in some)):
        try:
            parts.engine.probabilities(asked, fresh=parts.victim.again is None)
        except (VictimCallError, VictimRowError):
            continue
        except RIFError:
            return False  # its answers have no usable form at all
        return True
    return False


def _answers_digest(parts: Parts) -> str:
    try:
        return probe_digest(parts.victim.predict)
    except Exception:  # a victim may refuse a sentence; it is audited all the same
        return ""


def _check_names(names: Sequence[str] | None, parts: Parts) -> None:
    n_labels = parts.engine.n_labels
    if names is not None and n_labels is not None and len(names) != n_labels:
        raise UsageError(
            f"the victim {parts.victim.name} has {n_labels} classes, got {len(names)} names "
            f"({', '.join(names)}): give one a class, in the order of its columns"
        )
