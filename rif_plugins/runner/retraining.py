"""Retrain a model on what an audit found and audit it again, beside a control trained on the data alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from rif_plugins.core.results import Record
from rif_plugins.core.run_result import RunResult, write_json
from rif_plugins.core.seeds import example_seed
from rif_plugins.core.victim import VictimCallError
from rif_plugins.errors import DataError, RIFError, UsageError
from rif_plugins.examples.base import Example, ExampleSet
from rif_plugins.metrics.before_after import Change, Counts, changes
from rif_plugins.metrics.rates import Rate
from rif_plugins.runner.audit import Audit
from rif_plugins.runner.building import build_parts
from rif_plugins.runner.fitting import Fitter, TrainingRows
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.replaying import replay, replay_options
from rif_plugins.settings import FIELDS, Settings
from rif_plugins.similar import PairSource
from rif_plugins.similar.counterparts import split_attributes
from rif_plugins.similar.masking import mask
from rif_plugins.similar.pair_source import embedded_and
from rif_plugins.training import Augmentation, HeldOutTexts, UntaughtTexts, augment, held_out_originals
from rif_plugins.training.augmentation import RIF_TARGETS
from rif_plugins.training.holdout import normalised
from rif_plugins.training.rows import RowAugmentation
from rif_plugins.version import __version__
from rif_plugins.victims.base import Victim

SCHEMA = "rif-retrain/1"
RETRAIN_FILE = "retrain.json"
ROWS_FILE = "augmentation.jsonl"
AFTER, CONTROL = "augmented", "control"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class RetrainPlan:
    """How to retrain and to test.

    Attributes:
        seeds: Number of trainings; their results are averaged.
        seed: Seed of the split, of the choice of rows, and of the first training.
        held_out: Share of the audited examples that test and never teach.
        targets: Teach findings of these targets.
        weight: Weight of an augmented row; a row of the training data has 1.
        max_share: Most augmented rows, as a share of the training data.
        has_control: Also train, with the same seeds, on the training data alone.
    """

    seeds: int = 1
    seed: int = 0
    held_out: float = 0.5
    targets: tuple[str, ...] = RIF_TARGETS
    weight: float = 1.0
    max_share: float = 1.0
    has_control: bool = True

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        if self.seeds < 1:
            raise UsageError(f"--seeds must be a whole number from 1, got {self.seeds}")
        if not 0 < self.held_out < 1:
            raise UsageError(f"--held-out must be above 0 and below 1, got {self.held_out}")
        for name in ("max_share", "weight"):
            if not 0 < getattr(self, name) < float("inf"):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(f"{option} must be a number above 0, got {getattr(self, name)}")
        if self.seed < 0:
            raise UsageError(f"--seed must be a whole number from 0, got {self.seed}")


@dataclass(frozen=True)
class RetrainResult:
    """What the retraining changed.

    Attributes:
        changes: Each rate before and after, on fresh searches of the held-out examples.
        over_control: The same with the control in the place of before; empty without a control.
        frozen: By arm and seed, the findings on held-out examples that still hold.
        augmentation: The rows that taught.
        configuration: Everything else that ``retrain.json`` holds; ``unit`` is what an example is.
        frozen_any: For rows: those that are still false or biased, in whatever way.
    """

    changes: tuple[Change, ...]
    over_control: tuple[Change, ...]
    frozen: dict[str, list[Rate]]
    augmentation: Augmentation | RowAugmentation
    configuration: dict[str, Any]
    frozen_any: dict[str, list[Rate]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "schema": SCHEMA,
            **self.configuration,
            "augmentation": self.augmentation.to_dict(),
            "changes": [change.to_dict() for change in self.changes],
            "over_control": [change.to_dict() for change in self.over_control],
            "frozen": _plain(self.frozen),
            **({"frozen_any": _plain(self.frozen_any)} if self.frozen_any else {}),
        }


def _plain(frozen: dict[str, list[Rate]]) -> dict[str, Any]:
    return {arm: [rate.to_dict() for rate in rates] for arm, rates in frozen.items()}


@dataclass(frozen=True)
class _Tested:
    """One trained model, tested on the held-out examples."""

    records: Sequence[Record]
    holds: Rate
    right: Counts


def retrain(
    run: RunResult,
    train: ExampleSet,
    fitter: Fitter,
    plan: RetrainPlan | None = None,
    *,
    test: ExampleSet | None = None,
    victim: Victim | None = None,
    out: Path | None = None,
    tell: Tell | None = None,
) -> RetrainResult:
    """Teach a model the findings of some audited examples, and test it on the others.

    The examples of the run are split by a digest of their texts, examples that are similar to each other
    together. Findings on one part become training rows,
    both sides with the label of the original. The other part is searched again, with the settings of the
    run, on each retrained model; its findings of before are asked again as well (``frozen``). No text of a
    held-out example, edited or not, is trained on; no added row is a test text or similar to one.

    Args:
        run: An audit of the model as it is.
        train: The training data.
        fitter: Trains the model, see ``rif_plugins.runner.fitting.load_fitter``.
        plan: How; by default one seed, half of the examples held out, with a control.
        test: Labelled texts for the clean accuracy; None takes the held-out examples.
        victim: The model as it is, for its clean accuracy; None loads the one that the run names.
        out: Folder of the results; None writes none.
        tell: Called with a line about what is being done.

    Raises:
        UsageError: The run has no findings to teach or nothing to test on, or the data do not fit to it.
    """
    plan, tell = plan or RetrainPlan(), tell or (lambda line: None)
    teaching, testing = _split(run.records, plan)
    examples = _examples_of(
        testing, has_similar=bool((run.configuration.get("options") or {}).get("similar_column"))
    )
    options = _options_of(run)
    tested_texts = [e.text for e in (*examples.examples, *(test.examples if test else ()))]
    closed = HeldOutTexts(tested_texts, testing)
    kept = [e for e in train.examples if e.label is not None and e.text.strip() and e.text not in closed]
    if not kept:
        raise UsageError("no training row is left: expected labelled texts other than the held-out ones")
    rows = augment(
        teaching,
        targets=plan.targets,
        weight=plan.weight,
        max_rows=max(1, round(plan.max_share * len(kept))),
        held_out=UntaughtTexts(tested_texts, testing, mask=_mask_of(options.settings), audited=run.records),
        known=dict(
            zip(map(normalised, (e.text for e in kept)), (int(e.label or 0) for e in kept), strict=True)
        ),
        seed=plan.seed,
    )
    if not rows.rows:
        raise UsageError(
            f"the {len({r.example for r in teaching})} examples that teach have no finding to learn from"
            f"{tested_note(rows)}: audit more examples, or hold out fewer with --held-out"
        )
    texts = test or examples
    before = _right_before(run, options, texts, victim, tell)
    arms = {AFTER: rows} | ({CONTROL: Augmentation((), 0)} if plan.has_control else {})
    tested: dict[str, list[_Tested]] = {arm: [] for arm in arms}
    for arm, extra in arms.items():
        for number in range(plan.seeds):
            tell(f"{arm}, seed {number + 1} of {plan.seeds}: training on {len(kept) + len(extra)} rows ...")
            folder = None if out is None else out / f"{arm}-{number}"
            seed = example_seed(plan.seed, f"retrain {number}") % 2**31
            trained = fitter.fit(_training_rows(kept, extra), seed, folder and folder / "model")
            tell(f"{arm}, seed {number + 1} of {plan.seeds}: searching {len(examples)} held-out examples ...")
            tested[arm].append(_test(run, trained, options, examples, testing, texts, folder))
    result = _result(run, plan, train, kept, examples, rows, testing, tested, before, fitter, seed=plan.seed)
    if out is not None:
        write_result(result, out)
    return result


def tested_note(rows: Augmentation | RowAugmentation) -> str:
    """How many rows could teach nothing because they test, for the message that nothing is left."""
    number = rows.left_out.get("held out", 0)
    return f" ({number} rows are of data that test; --test, where given, needs other data)" if number else ""


def _mask_of(settings: Settings) -> Callable[[str], str]:
    """Masks the sensitive tokens of the run: equal masks are similar texts."""
    source = PairSource(embedded_and(settings.lexicon), settings.sensitive)
    _, attributes = split_attributes(source.attributes, source.lexicon)
    return lambda text: mask(text, source.lexicon, attributes)


def _split(records: Sequence[Record], plan: RetrainPlan) -> tuple[list[Record], list[Record]]:
    """Records of the examples that teach, and of those that test."""
    known = [record for record in records if record.original]
    held_out = held_out_originals(known, plan.held_out, plan.seed)
    teaching = [r for r in known if normalised(r.original) not in held_out]
    testing = [r for r in known if normalised(r.original) in held_out]
    if not any(record.is_evaluated for record in testing):
        raise UsageError(
            f"none of the {len(known)} records is of a held-out example with a pair: audit more examples"
        )
    return teaching, testing


def _examples_of(records: Sequence[Record], *, has_similar: bool) -> ExampleSet:
    """The audited examples, once each; those whose audit ended in an error are tried again."""
    found: dict[str, Example] = {}
    for record in records:
        if record.example not in found and record.label is not None:
            similar = record.similar or None if has_similar else None
            found[record.example] = Example(record.example, record.original, record.label, similar)
    return ExampleSet.of(found.values(), None, "held-out examples")


def _options_of(run: RunResult) -> AuditOptions:
    """The options of the run, for the same search on another model."""
    stored = run.configuration.get("options") or {}
    values = run.configuration.get("settings") or {}
    # Searches are compared here, not judged.
    left_out = ("judge", "results")
    plain = {k: v for k, v in values.items() if k in FIELDS and k not in left_out and v is not None}
    names = run.configuration.get("label_names") or None
    return replace(
        replay_options(run),
        settings=Settings().updated(**plain),
        targets=tuple(run.configuration.get("targets") or AuditOptions("", "").targets),
        label_names=tuple(names) if names else None,
        query_budget=stored.get("query_budget"),
        protect=tuple(stored.get("protect") or ()),
        filter_first=run.configuration.get("filter_order") == "filter-first",
    )


def _training_rows(data: Sequence[Example], extra: Augmentation) -> TrainingRows:
    labels = [int(example.label) for example in data if example.label is not None]
    return TrainingRows(
        (*(example.text for example in data), *(row.text for row in extra.rows)),
        (*labels, *(row.label for row in extra.rows)),
        (*([1.0] * len(data)), *(row.weight for row in extra.rows)),
        len(extra),
    )


def _test(
    run: RunResult,
    victim: Victim,
    options: AuditOptions,
    examples: ExampleSet,
    testing: Sequence[Record],
    texts: ExampleSet,
    folder: Path | None,
) -> _Tested:
    """Search the held-out examples afresh, ask again about the findings of before, and about clean texts."""
    audit = Audit.prepare(options, victim=victim, examples=examples)
    fresh = audit.run(folder)
    findings = [record for record in testing if record.is_found]
    holds = replay(run, findings, replay_options(run), victim).rate if findings else Rate(0, 0)
    return _Tested(fresh.records, holds, _right(victim, options, texts))


def _right(victim: Victim, options: AuditOptions, texts: ExampleSet) -> Counts:
    """By example: whether the model is right on the unedited text."""
    bare = replace(options, settings=options.settings.updated(entailment="none", cache="off"))
    parts = build_parts(bare, victim)
    labelled = [e for e in texts.examples if e.label is not None and e.text.strip()]
    if not labelled:
        raise DataError("the test data hold no labelled text: expected a label a row")
    rows = parts.engine.probabilities([example.text for example in labelled])
    answers = np.asarray(rows).argmax(axis=1)
    return {e.id: (float(int(a) == e.label), 1.0) for e, a in zip(labelled, answers, strict=True)}


def _right_before(
    run: RunResult, options: AuditOptions, texts: ExampleSet, victim: Victim | None, tell: Tell
) -> Counts | None:
    """The same of the model as it is; None where it cannot be loaded any more."""
    try:
        return _right(victim or build_parts(replay_options(run)).victim, options, texts)
    except (RIFError, VictimCallError) as error:
        tell(f"clean accuracy is taken from the searched pairs, the run's model cannot be asked: {error}")
        return None


def _result(
    run: RunResult,
    plan: RetrainPlan,
    train: ExampleSet,
    kept: Sequence[Example],
    examples: ExampleSet,
    rows: Augmentation,
    testing: Sequence[Record],
    tested: dict[str, list[_Tested]],
    before: Counts | None,
    fitter: Fitter,
    *,
    seed: int,
) -> RetrainResult:
    after = [one.records for one in tested[AFTER]]
    right = [one.right for one in tested[AFTER]]
    control = tested.get(CONTROL, [])
    over_control: tuple[Change, ...] = ()
    if control:
        over_control = changes(
            [one.records for one in control],
            after,
            extra={"clean_accuracy": ([one.right for one in control], right)},
            seed=seed,
        )
    configuration = {
        "version": __version__,
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "model": run.configuration.get("model"),
        "fitter": fitter.name,
        "data": run.configuration.get("data"),
        "train": train.source,
        "train_sha256": train.sha256,
        "n_train": len(kept),
        "n_train_left_out": len(train) - len(kept),
        "n_held_out": len(examples),
        "n_findings_held_out": sum(record.is_found for record in testing),
        "seeds": plan.seeds,
        "seed": plan.seed,
        "held_out": plan.held_out,
        "targets": list(plan.targets),
        "weight": plan.weight,
        "max_share": plan.max_share,
    }
    return RetrainResult(
        changes([testing], after, extra={"clean_accuracy": ([before], right)} if before else None, seed=seed),
        over_control,
        {arm: [one.holds for one in runs] for arm, runs in tested.items()},
        rows,
        configuration,
    )


def write_result(result: RetrainResult, out: Path) -> None:
    """Write ``retrain.json`` and ``augmentation.jsonl``.

    Raises:
        UsageError: The folder cannot be written.
    """
    write_json(out / RETRAIN_FILE, result.to_dict())
    lines = [json.dumps(row.to_dict(), ensure_ascii=True) for row in result.augmentation.rows]
    try:
        (out / ROWS_FILE).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {out / ROWS_FILE}: {error.strerror}; give another folder") from error
