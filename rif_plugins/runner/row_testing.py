"""One classifier of rows, searched from given seeds and asked about clean rows: rates to compare."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import VictimError
from rif_plugins.metrics.before_after import Change, Counts, changes
from rif_plugins.metrics.confusion import OUTCOMES
from rif_plugins.metrics.rates import Rate
from rif_plugins.runner.row_runs import RowRun
from rif_plugins.runner.tabular import TabularRun
from rif_plugins.runner.tabular_attacks import RowTarget, run_attack
from rif_plugins.runner.tabular_measure import measure
from rif_plugins.version import __version__

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Retested:
    """One classifier, tested.

    Attributes:
        run: The fresh search of the held-out seeds.
        counts: Every rate by seed or row of the test data: numerators and denominators.
        holds: Old findings on held-out seeds that are of the same kind still.
        holds_any: Those that are false or biased still, in whatever way.
    """

    run: TabularRun
    counts: dict[str, Counts]
    holds: Rate
    holds_any: Rate


def searched(run: RowRun, target: RowTarget, seeds: IntArray) -> TabularRun:
    """Every attack of a run from some rows of its table, against another classifier.

    Args:
        run: It tells attacks, budget and settings.
        target: The classifier.
        seeds: ``(k,)`` positions in the table.
    """
    from rif_plugins.tabular import rif_table

    given, options = run.given, run.given.options
    x, y = given.x[seeds], given.y[seeds]
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    clean = rif_table(target.estimator, x, y, target.schema, keep_outcomes=True)
    found, errors = [], {}
    for name in options.attacks:
        is_embedded = target.packed is not None and name == "rifair-gradient"
        try:
            generated = run_attack(
                name, target, x, y, options.budget, seed=options.seed, batch_size=options.batch_size,
                gradients="auto" if is_embedded else options.gradients,
            )  # fmt: skip
            found.append(measure(generated, target, len(x), batch_size=options.batch_size))
        except VictimError as error:
            errors[name] = str(error)
    configuration = {
        **run.configuration,
        "version": __version__,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 2),
        "seed_rows": given.numbers[seeds].tolist(),
    }
    return TabularRun(
        replace(given, target=target),
        tuple(found),
        errors,
        seeds,
        np.asarray(clean.outcomes, dtype=np.int8),
        clean.confusion,
        configuration,
    )


def seed_counts(run: TabularRun) -> dict[str, Counts]:
    """By seed: numerator and denominator of the rates of each outcome, over all attacks together.

    ``found_rate``: seeds that are in the outcome, or from which a row in it was made, of all seeds;
    ``natural_rate``: in it as they are; ``induced_rate``: clean ``robust_fair`` seeds from which a row in it
    was made, of the clean ones. ``any`` is the union of the three outcomes.
    """
    k, clean = len(run.seeds), np.asarray(run.clean)
    names = [str(number) for number in run.given.numbers[run.seeds]]
    counts: dict[str, Counts] = {}
    for outcome, codes in (*((str(OUTCOMES[c]), (c,)) for c in (1, 2, 3)), ("any", (1, 2, 3))):
        made = np.zeros(k, dtype=np.bool_)
        for attack in run.attacks:
            made[attack.generated.source[np.isin(attack.outcomes, codes)]] = True
        natural = np.isin(clean, codes)
        for rate, hits, counted in (
            ("induced_rate", made & (clean == 0), clean == 0),
            ("found_rate", made | natural, np.ones(k, dtype=np.bool_)),
            ("natural_rate", natural, np.ones(k, dtype=np.bool_)),
        ):
            cells = zip(names, hits.astype(float).tolist(), counted.astype(float).tolist(), strict=True)
            counts[f"{outcome}.{rate}"] = {name: (hit, one) for name, hit, one in cells}
    return counts


def clean_counts(target: RowTarget, x: FloatArray, y: IntArray) -> dict[str, Counts]:
    """By row: whether it is right, whether all similar rows get its label, and both."""
    from rif_plugins.tabular import rif_table

    codes = np.asarray(rif_table(target.estimator, x, y, target.schema, keep_outcomes=True).outcomes)
    shares = {"clean_accuracy": codes < 2, "clean_fairness": codes % 2 == 0, "clean_both": codes == 0}
    return {
        name: {str(place): (float(hit), 1.0) for place, hit in enumerate(hits)}
        for name, hits in shares.items()
    }


def compared(before: Sequence[Retested], after: Sequence[Retested], seed: int = 0) -> tuple[Change, ...]:
    """Every rate of two classifiers, or of two ways to train one, on the same seeds and rows."""
    extra = {name: ([b.counts[name] for b in before], [a.counts[name] for a in after])
             for name in before[0].counts}  # fmt: skip
    found = {change.name: change for change in changes([[]], [[]], extra=extra, seed=seed)}
    return tuple(found[name] for name in extra)
