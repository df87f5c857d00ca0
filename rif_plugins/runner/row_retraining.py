"""Retrain a classifier of rows on what `rif tabular` found and search it again, beside a control."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.seeds import example_seed
from rif_plugins.errors import UsageError
from rif_plugins.metrics.confusion import OUTCOMES, row_outcomes
from rif_plugins.metrics.rates import Rate
from rif_plugins.runner.retraining import (
    AFTER,
    CONTROL,
    RetrainPlan,
    RetrainResult,
    Tell,
    tested_note,
    write_result,
)
from rif_plugins.runner.row_fitting import RowFitter, TrainingTable
from rif_plugins.runner.row_runs import RowRun, row_target
from rif_plugins.runner.row_testing import Retested, clean_counts, compared, searched, seed_counts
from rif_plugins.runner.tabular_attacks import RowTarget
from rif_plugins.runner.tabular_files import raw_rows
from rif_plugins.training.rows import (
    HeldOutRows,
    RowAugmentation,
    RowRecord,
    RowSelection,
    augment_rows,
    is_held_out_row,
    row_key,
)
from rif_plugins.version import __version__

BEFORE = "before"
CSV_FILE = "augmentation.csv"
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_CODES = {str(outcome): code for code, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True)
class RowPlan(RetrainPlan):
    """How to retrain a classifier of rows; see :class:`RetrainPlan` for the rest.

    Attributes:
        min_similarity: Teach only rows whose similarity to the data is above it (sigma of RobustFair).
    """

    min_similarity: float | None = None


@dataclass(frozen=True)
class RowTrial:
    """Who teaches, who tests, and the same test for every classifier.

    Attributes:
        run: A run of `rif tabular` on the classifier as it is.
        x, y: Training rows ``(n, d)`` and labels, without the individuals that test.
        teaching: Records of the seeds that teach.
        testing: Records of the others.
        held_out: ``(k,)`` positions of the seeds that test, in the table of the run.
        closed: Their individuals.
        untaught: These and the individuals of the test rows: no added row may be one of them.
        test_x, test_y: Rows for the clean accuracy.
        n_left_out: How many training rows were taken out.
        known: Labels of the training rows by ``row_key``, where rows of one key agree.
    """

    run: RowRun
    x: FloatArray
    y: IntArray
    teaching: tuple[RowRecord, ...]
    testing: tuple[RowRecord, ...]
    held_out: IntArray
    closed: HeldOutRows
    untaught: HeldOutRows
    test_x: FloatArray
    test_y: IntArray
    n_left_out: int = 0
    known: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def prepare(
        cls,
        run: RowRun,
        x: FloatArray,
        y: IntArray,
        *,
        test: tuple[FloatArray, IntArray] | None = None,
        share: float = 0.5,
        seed: int = 0,
    ) -> RowTrial:
        """Split the seeds and take the individuals that test out of the training rows.

        Args:
            run: The run.
            x: Training rows ``(n, d)``, encoded.
            y: Their classes ``(n,)``.
            test: Rows and classes for the clean accuracy, which no added row may be; None takes the rows of
                the searched table that are on the testing side of the split and not in the training rows.
            share: Expected share of the seeds that test.
            seed: Of the split.

        Raises:
            UsageError: No seed tests, or no training row is left.
        """
        given, encoder = run.given, run.given.encoder
        rows = raw_rows(given.x[run.seeds], encoder)
        is_testing = [is_held_out_row(row, share, run.sensitive, seed) for row in rows]
        held_out = run.seeds[is_testing]
        if not len(held_out):
            raise UsageError(
                f"none of the {len(run.seeds)} seeds is held out: search more seeds, or say --held-out 0.5"
            )
        numbers = set(given.numbers[held_out].tolist())
        testing = tuple(r for r in run.records if r["row"] in numbers)
        tested = [row for row, tests in zip(rows, is_testing, strict=True) if tests]
        closed = HeldOutRows(tested, run.sensitive, testing)
        training = raw_rows(x, encoder)
        kept = np.asarray([row not in closed for row in training], dtype=np.bool_)
        if not kept.any():
            raise UsageError("no training row is left: expected rows other than the held-out ones")
        labels: dict[str, set[int]] = defaultdict(set)
        for row, label, keep in zip(training, y.tolist(), kept, strict=True):
            if keep:
                labels[row_key(row)].add(label)
        if test is None:
            others = [
                place
                for place, row in enumerate(raw_rows(given.x, encoder))
                if is_held_out_row(row, share, run.sensitive, seed) and row_key(row) not in labels
            ]
            test = given.x[others], given.y[others]
        teaching = tuple(r for r in run.records if r["row"] not in numbers)
        known = {key: found.pop() for key, found in labels.items() if len(found) == 1}
        n_left_out = int((~kept).sum())
        # Training rows may be equal to test rows, as people of a census are; added rows may not.
        untaught = HeldOutRows([*tested, *raw_rows(test[0], encoder)], run.sensitive, testing)
        return cls(
            run, x[kept], y[kept], teaching, testing, held_out, closed, untaught, *test, n_left_out, known
        )

    def augmentation(self, selection: RowSelection, *, estimated: bool = False) -> RowAugmentation:
        """The training rows that the findings give.

        Args:
            selection: Which.
            estimated: Teach the label that the attack worked with (RobustFair estimates it), not that of the
                row in the data, and also where the training data say otherwise: the publication's way.
        """
        given = self.run.given
        by_row = dict(zip(given.numbers.tolist(), given.y.tolist(), strict=True))

        def label_of(record: RowRecord) -> int | None:
            return given.label_names.index(record["label"]) if estimated else by_row[record["row"]]

        known = None if estimated else self.known
        return augment_rows(self.teaching, label_of, selection, held_out=self.untaught, known=known)

    def train(self, fitter: RowFitter, extra: RowAugmentation, seed: int) -> RowTarget:
        """Train on the data and the extra rows; the classifier as attacks take it."""
        import pandas

        given = self.run.given
        rows = [self.x]
        if extra.rows:
            frame = pandas.DataFrame([row.values for row in extra.rows])
            rows.append(given.encoder.encode(frame, out_of_range="keep"))
        table = TrainingTable(
            np.concatenate(rows),
            np.concatenate([self.y, np.asarray([row.label for row in extra.rows], dtype=np.int64)]),
            np.concatenate([np.ones(len(self.y)), [row.weight for row in extra.rows]]),
            given.encoder,
            given.reads,
            len(extra),
        )
        missing = set(range(len(given.label_names))) - set(table.y.tolist())
        if missing:
            name = given.label_names[min(missing)]
            raise UsageError(f"no training row has the label {name!r}: give rows of every class")
        target, _, _ = row_target(fitter.fit(table, seed), given.encoder, given.x, given.options)
        return target

    def test(self, target: RowTarget) -> Retested:
        """Search the held-out seeds afresh, ask about the old findings, and about clean rows."""
        run = searched(self.run, target, self.held_out)
        counts = {**seed_counts(run), **clean_counts(target, self.test_x, self.test_y)}
        holds, holds_any = self._frozen(target)
        return Retested(run, counts, holds, holds_any)

    def _frozen(self, target: RowTarget) -> tuple[Rate, Rate]:
        """Both sides of every old finding, asked again."""
        import pandas

        from rif_plugins.tabular.gradients import prediction_source

        n, given = len(self.testing), self.run.given
        if not n:
            return Rate(0, 0), Rate(0, 0)
        sides = [
            given.encoder.encode(pandas.DataFrame([r[name] for r in self.testing]), out_of_range="keep")
            for name in ("perturbed_original", "perturbed_similar")
        ]
        source = prediction_source(target.estimator, batch_size=given.options.batch_size)
        own, similar = (np.argmax(source.probabilities(side), axis=1) for side in sides)
        label = np.asarray([given.label_names.index(r["label"]) for r in self.testing])
        codes = row_outcomes(label, own, similar)
        before = np.asarray([_CODES[r["outcome"]] for r in self.testing])
        return Rate(int((codes == before).sum()), n), Rate(int((codes > 0).sum()), n)


def retrain_rows(
    run: RowRun,
    train: tuple[FloatArray, IntArray],
    fitter: RowFitter,
    plan: RowPlan | None = None,
    *,
    train_name: str = "the training rows",
    test: tuple[FloatArray, IntArray] | None = None,
    out: Path | None = None,
    tell: Tell | None = None,
) -> RetrainResult:
    """Teach a classifier the violations near some seeds of a run, and test it on the other seeds.

    Seeds are split by a digest of their columns that are not sensitive. Violations on one part become
    training rows: both sides, with the label of the seed in the data. The other part is searched afresh on
    the classifier as it is, on each retrained one and on each control; its old findings are asked again.

    Args:
        run: A run of `rif tabular`, see ``rif_plugins.runner.row_runs.load_row_run``.
        train: Training rows ``(n, d)`` as the run encodes them, and classes ``(n,)``.
        fitter: Trains the classifier, see ``rif_plugins.runner.row_fitting.load_row_fitter``.
        plan: How; by default one seed, half of the seeds held out, with a control.
        train_name: What to call the training rows.
        test: Rows and classes for the clean accuracy; None takes searched rows that were not trained on.
        out: Folder of the results; None writes none.
        tell: Called with a line about what is being done.

    Raises:
        UsageError: There is nothing to teach, nothing to test on, or the classifier cannot be trained.
    """
    plan, tell = plan or RowPlan(), tell or (lambda line: None)
    trial = RowTrial.prepare(run, *train, test=test, share=plan.held_out, seed=plan.seed)
    rows = trial.augmentation(
        RowSelection(
            plan.targets,
            weight=plan.weight,
            max_rows=max(1, round(plan.max_share * len(trial.y))),
            min_similarity=plan.min_similarity,
            seed=plan.seed,
        )
    )
    if not rows.rows:
        raise UsageError(
            f"the {len(run.seeds) - len(trial.held_out)} seeds that teach have no finding to learn from"
            f"{tested_note(rows)}: search more seeds, hold out fewer with --held-out, "
            "or ask for less with --min-similarity"
        )
    tell(f"{BEFORE}: searching {len(trial.held_out)} held-out seeds ...")
    tested = {BEFORE: [trial.test(run.given.target)]}
    arms = {AFTER: rows} | ({CONTROL: RowAugmentation()} if plan.has_control else {})
    for arm, extra in arms.items():
        tested[arm] = []
        for number in range(plan.seeds):
            tell(
                f"{arm}, seed {number + 1} of {plan.seeds}: training on {len(trial.y) + len(extra)} rows ..."
            )
            seed = example_seed(plan.seed, f"retrain {number}") % 2**31
            target = trial.train(fitter, extra, seed)
            tell(f"{arm}, seed {number + 1} of {plan.seeds}: searching {len(trial.held_out)} seeds ...")
            tested[arm].append(trial.test(target))
    result = _result(trial, rows, tested, fitter, plan, train_name)
    if out is not None:
        _write(result, tested, trial, out)
    return result


def _result(
    trial: RowTrial,
    rows: RowAugmentation,
    tested: Mapping[str, Sequence[Retested]],
    fitter: RowFitter,
    plan: RowPlan,
    train_name: str,
) -> RetrainResult:
    options = trial.run.given.options
    configuration = {
        "unit": "seeds",
        "version": __version__,
        "written": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "model": options.model.name,
        "fitter": fitter.name,
        "data": options.data.name,
        "train": train_name,
        "attacks": list(options.attacks),
        "n_train": len(trial.y),
        "n_train_left_out": trial.n_left_out,
        "n_test": len(trial.test_y),
        "n_held_out": len(trial.held_out),
        "n_findings_held_out": len(trial.testing),
        "seeds": plan.seeds,
        "seed": plan.seed,
        "held_out": plan.held_out,
        "targets": list(plan.targets),
        "weight": plan.weight,
        "max_share": plan.max_share,
        "min_similarity": plan.min_similarity,
        "errors": {arm: [dict(one.run.errors) for one in runs] for arm, runs in tested.items()},
    }
    after, control = tested[AFTER], tested.get(CONTROL)
    arms = {arm: runs for arm, runs in tested.items() if arm != BEFORE}
    return RetrainResult(
        compared(tested[BEFORE], after, plan.seed),
        compared(control, after, plan.seed) if control else (),
        {arm: [one.holds for one in runs] for arm, runs in arms.items()},
        rows,
        configuration,
        {arm: [one.holds_any for one in runs] for arm, runs in arms.items()},
    )


def _write(
    result: RetrainResult, tested: Mapping[str, Sequence[Retested]], trial: RowTrial, out: Path
) -> None:
    """``retrain.json``, the rows that taught, and a folder of `rif tabular` for every classifier."""
    from rif_plugins.runner.tabular_files import write_run

    for arm, runs in tested.items():
        for number, one in enumerate(runs):
            write_run(one.run, out / (arm if arm == BEFORE else f"{arm}-{number}"))
    write_result(result, out)
    _write_csv(trial, result.augmentation.rows, out / CSV_FILE)


def _write_csv(trial: RowTrial, rows: Sequence[Any], path: Path) -> None:
    """The rows that taught as training data: the columns of the table, the label, and where each is from."""
    import csv
    import io

    from rif_plugins.reports.output_file import write_whole

    given = trial.run.given
    names = given.encoder.raw.names
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([*names, given.options.label_column, "rif_weight", "rif_record", "rif_side"])
    for row in rows:
        cells = (row.values[name] for name in names)
        writer.writerow([*cells, given.label_names[row.label], row.weight, row.record, row.side])
    write_whole(path, file.getvalue().encode())
