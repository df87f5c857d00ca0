"""`rif tabular`: several attacks on one classifier of rows, from the same seeds, in one table.

``run.json`` says what was run, ``summary.json`` holds the table, ``results.jsonl`` one record a violation
(schema ``rif-rows/1``), ``findings.csv`` the same for a spreadsheet, ``schema.toml`` the schema used.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import VictimError
from rif_plugins.metrics.confusion import Confusion
from rif_plugins.metrics.rates import Rate
from rif_plugins.runner.tabular_attacks import run_attack
from rif_plugins.runner.tabular_input import TabularInput
from rif_plugins.runner.tabular_measure import MeasuredAttack, draw_seeds, measure
from rif_plugins.version import __version__

RUN_SCHEMA = "rif-tabular/1"
_SAMPLE = 10_000
_PACKAGES = ("adversarial-robustness-toolbox", "numpy", "pandas", "scikit-learn", "torch")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class TabularRun:
    """A finished run.

    Attributes:
        given: Rows, schema, classifier.
        attacks: What each attack found.
        errors: By attack, why it ended in an error.
        seeds: ``(k,)`` positions of the seeds in ``given.x``.
        clean: Outcome codes of the seeds as they are ``(k,)``.
        data: The outcomes of the data, at most 10,000 rows of it.
        configuration: What ``run.json`` holds.
    """

    given: TabularInput
    attacks: tuple[MeasuredAttack, ...]
    errors: Mapping[str, str]
    seeds: NDArray[np.int64]
    clean: NDArray[np.int8]
    data: Confusion
    configuration: Mapping[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds: plain values, rates with intervals."""
        is_clean = self.clean == 0
        false = self.clean >= 2
        biased = self.clean % 2 == 1
        for measured in self.attacks:
            false, biased = false | measured.is_false_seed, biased | measured.is_biased_seed
        k = len(self.clean)
        n_data = int(self.data.total)
        right = int(self.data.robust_fair + self.data.robust_biased)
        fair = int(self.data.robust_fair + self.data.unrobust_fair)
        return {
            "schema": RUN_SCHEMA,
            "n_rows": len(self.given.x),
            "n_rows_measured": n_data,
            "n_seeds": k,
            "n_clean_seeds": int(is_clean.sum()),
            "n_counterparts": len(self.given.encoder.schema.sensitive_tuples()) - 1,
            "accuracy": Rate(right, n_data).to_dict(),
            "individual_fairness_rate": Rate(fair, n_data).to_dict(),
            "clean_outcomes": _counts(self.clean),
            "robustness_rate": Rate(int((~false).sum()), k).to_dict(),
            "fairness_rate": Rate(int((~biased).sum()), k).to_dict(),
            "rif_rate": Rate(int((~false & ~biased).sum()), k).to_dict(),
            "attacks": [measured.to_dict(is_clean) for measured in self.attacks],
            "errors": dict(self.errors),
            "notes": list(self.given.notes),
        }


def _counts(codes: NDArray[np.int8]) -> dict[str, int]:
    names = ("robust_fair", "robust_biased", "unrobust_fair", "unrobust_biased")
    found = np.bincount(codes, minlength=4).tolist()
    return dict(zip(names, found, strict=True))


def run_tabular(given: TabularInput, progress: Progress | None = None) -> TabularRun:
    """Run every attack that the options name.

    Args:
        given: Rows and classifier.
        progress: Called with a line after each attack.

    Raises:
        UsageError: A setting is out of its range.
    """
    from rif_plugins.tabular import rif_table

    options, target = given.options, given.target
    say = progress or (lambda line: None)
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    sample = _sample(len(given.x), options.seed)
    data = rif_table(
        target.estimator, given.x[sample], given.y[sample], target.schema, batch_size=options.batch_size
    )
    n_seeds = len(given.x) if options.n_seeds is None else min(options.n_seeds, len(given.x))
    pool = np.arange(len(given.x)) if n_seeds > len(sample) else sample
    place, chosen = draw_seeds(given.x[pool], given.y[pool], target.schema, n_seeds, options.seed)
    seeds = np.sort(pool[place])
    x, y = given.x[seeds], given.y[seeds]
    before = rif_table(target.estimator, x, y, target.schema, keep_outcomes=True)
    clean = np.asarray(before.outcomes, dtype=np.int8)
    attacks, errors = [], {}
    for name in options.attacks:
        try:
            generated = run_attack(
                name, target, x, y, options.budget,
                seed=options.seed, batch_size=options.batch_size, gradients=_mode(given, name),
            )  # fmt: skip
            measured = measure(generated, target, len(x), seeds=chosen, batch_size=options.batch_size)
        except VictimError as error:
            errors[name] = str(error)
            say(f"{name}: error: {error}")
            continue
        attacks.append(measured)
        found = int(measured.confusion.n_false_or_biased)
        say(f"{name}: {found} false or biased of {len(generated)} rows, {generated.seconds:.1f} s")
    configuration = {
        "schema": RUN_SCHEMA,
        "version": __version__,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.perf_counter() - clock, 2),
        "options": options.to_dict(),
        "model_reads": given.reads,
        "label_names": list(given.label_names),
        "columns": list(given.encoder.raw.names),
        "is_schema_inferred": given.is_inferred,
        "seed_rows": given.numbers[seeds].tolist(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}},
    }
    return TabularRun(given, tuple(attacks), errors, seeds, clean, data.confusion, configuration)


def _mode(given: TabularInput, name: str) -> str:
    """The user's choice of gradients; an embedding model's own are there for the gradient attack alone."""
    is_embedded = given.target.packed is not None and name == "rifair-gradient"
    return "auto" if is_embedded else given.options.gradients


def _sample(n: int, seed: int) -> NDArray[np.int64]:
    """At most 10,000 of ``n`` rows, in order."""
    if n <= _SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, _SAMPLE, replace=False))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
