"""A run as a frame of metrics: overall, by group, and how far the groups are apart, with intervals.

The shape is that of fairlearn's MetricFrame (metrics as columns, groups as rows, ``difference`` and
``ratio``); the groups are of pairs, and intervals are bootstrapped over examples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.results import Record
from rif_plugins.errors import UsageError
from rif_plugins.metrics.bootstrap import N_RESAMPLES, ClusterBootstrap, Ratio, percentile_interval
from rif_plugins.metrics.pair_table import (
    PairTable,
    axis_ratios,
    clean_ratios,
    effort_ratios,
    target_ratios,
)
from rif_plugins.metrics.rates import Estimate, wilson_interval
from rif_plugins.metrics.record_table import RIF_TARGETS, RecordTable
from rif_plugins.optional import require

GroupName = Literal["attribute", "value", "label", "target"]
GroupBy = GroupName | Callable[[Record], Hashable]
METRICS: tuple[str, ...] = (
    "accuracy",
    "individual_fairness_rate",
    "fair_f1_score",
    "natural_rate",
    "induced_rate",
    "robustness_rate",
    "fairness_rate",
    "rif_rate",
    "mean_equivalence",
    "mean_changed_tokens",
)


@dataclass(frozen=True, slots=True)
class Gap:
    """How far two groups are apart on one metric.

    Attributes:
        value: The difference or ratio; None with fewer than two groups that have the metric.
        low, high: Interval over resampled examples, for the two groups that are furthest apart in the data
            (they were chosen for being so: the interval is a little optimistic with many groups).
        highest, lowest: Those groups.
    """

    value: float | None
    low: float | None
    high: float | None
    highest: Hashable = None
    lowest: Hashable = None


class RIFFrame:
    """Metrics of a run's pairs, sliced by group.

    The metrics are those of ``METRICS``. ``robustness_rate``, ``fairness_rate`` and ``rif_rate`` are the
    shares of pairs that stand under the robustness-only attack, the fairness-only attack and all RIF targets;
    grouped by target they describe the pairs that this target's search ended with. A grouping that splits the
    records of one pair (by status, say) leaves pairs without a RIF verdict: ``rif_rate`` is None there.

    Args:
        records: Records of one run.
        seed: Seed of the bootstrap.
        n_resamples: Resamples of the bootstrap.

    Raises:
        DataError: A record's content is not what its status calls for.
    """

    def __init__(self, records: Iterable[Record], *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> None:
        self.records = tuple(records)
        self._table = RecordTable.from_records(self.records)
        self._bootstrap = ClusterBootstrap(self._table["example"], seed=seed, n_resamples=n_resamples)

    @property
    def overall(self) -> dict[str, Estimate]:
        """Every metric over all pairs."""
        return self._estimates(_pair_metrics(self._table))

    def by_group(self, by: GroupBy = "attribute") -> dict[Hashable, dict[str, Estimate]]:
        """Every metric of each group.

        Args:
            by: ``"attribute"``, ``"value"`` (which value became which), ``"label"``, ``"target"``, or a
                function of a record that names its group; records of group None or "" are left out.

        Raises:
            UsageError: ``by`` is none of these.
        """
        groups = list(self._groups(by).items())
        flat = {f"{i}.{name}": r for i, (_, ratios) in enumerate(groups) for name, r in ratios.items()}
        found = self._estimates(flat)
        return {
            group: {name: found[f"{i}.{name}"] for name in METRICS} for i, (group, _) in enumerate(groups)
        }

    def difference(self, by: GroupBy = "attribute") -> dict[str, Gap]:
        """Highest minus lowest group, for every metric."""
        return self._gaps(by, lambda high, low: high - low)

    def ratio(self, by: GroupBy = "attribute") -> dict[str, Gap]:
        """Lowest over highest group, for every metric: 1 is equal; None where the highest is 0."""
        return self._gaps(by, lambda high, low: low / np.where(high == 0.0, np.nan, high))

    def to_frame(self, by: GroupBy | None = None) -> Any:
        """A ``pandas.DataFrame``: a row a group (one row ``overall`` without ``by``), for every metric the
        columns (metric, value), (metric, low), (metric, high).

        Raises:
            MissingDependencyError: pandas is not installed.
        """  # noqa: D205
        pandas = require("pandas", purpose="RIFFrame.to_frame")
        rows = {"overall": self.overall} if by is None else self.by_group(by)
        parts = ("value", "low", "high")
        data = [[getattr(row[name], part) for name in METRICS for part in parts] for row in rows.values()]
        columns = pandas.MultiIndex.from_product([METRICS, parts], names=["metric", "part"])
        index = pandas.Index(list(rows), name="group", tupleize_cols=False)
        return pandas.DataFrame(data, index=index, columns=columns, dtype=float)

    def _repr_html_(self) -> str:
        rows: dict[Hashable, dict[str, Estimate]] = {"overall": self.overall}
        rows.update({f"attribute {name}": row for name, row in self.by_group("attribute").items()})
        rows.update({f"label {name}": row for name, row in self.by_group("label").items()})
        head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in METRICS)
        body = "".join(
            f"<tr><th scope='row'>{escape(str(group))}</th>"
            + "".join(f"<td>{escape(_shown(row[name]))}</td>" for name in METRICS)
            + "</tr>"
            for group, row in rows.items()
        )
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _groups(self, by: GroupBy) -> dict[Hashable, dict[str, Ratio]]:
        if by == "target":
            names = [name for name in self._table.targets if self._table.is_target(name).any()]
            return {
                name: _target_metrics(self._table.select(self._table.is_target(name)))
                for name in sorted(names)
            }
        return {
            group: _pair_metrics(self._table.select(rows)) for group, rows in self._group_rows(by).items()
        }

    def _group_rows(self, by: GroupBy) -> dict[Hashable, NDArray[np.bool_]]:
        if not callable(by) and by not in get_args(GroupName):
            raise UsageError(
                f"cannot group by {by!r}: expected {', '.join(get_args(GroupName))} or a function of a record"
            )
        name_of = by if callable(by) else _NAMERS[by]
        source = self._table["source"]
        evaluated = self._table.is_evaluated
        names = [name_of(self.records[index]) for index in source]
        used = {name for name, kept in zip(names, evaluated, strict=True) if kept}
        groups: dict[Hashable, NDArray[np.bool_]] = {}
        for group in sorted((name for name in used if name is not None and name != ""), key=_order):
            groups[group] = np.array([name == group for name in names], dtype=bool)
        return groups

    def _estimates(self, ratios: Mapping[str, Ratio]) -> dict[str, Estimate]:
        found = self._bootstrap.estimates(ratios)
        return {name: _widened(estimate, ratios[name]) for name, estimate in found.items()}

    def _gaps(
        self, by: GroupBy, compare: Callable[[NDArray[np.float64], NDArray[np.float64]], Any]
    ) -> dict[str, Gap]:
        groups = self._groups(by)
        ends: dict[str, tuple[Hashable, Hashable]] = {}
        for metric in METRICS:
            values = {
                group: value
                for group, ratios in groups.items()
                if (value := ratios[metric].value) is not None
            }
            if len(values) > 1:
                ends[metric] = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
        wanted = {
            f"{metric}.{index}": groups[end][metric]
            for metric, pair in ends.items()
            for index, end in enumerate(pair)
        }
        drawn = self._bootstrap.replicates(wanted) if len(self._bootstrap.clusters) > 1 else {}
        gaps = {}
        for metric in METRICS:
            if metric not in ends:
                gaps[metric] = Gap(None, None, None)
                continue
            names = f"{metric}.0", f"{metric}.1"
            value = float(compare(*(np.array(wanted[name].value) for name in names)))
            low, high = percentile_interval(compare(*(drawn[name] for name in names))) if drawn else _NONE
            highest, lowest = ends[metric]
            gaps[metric] = Gap(None if np.isnan(value) else value, low, high, highest, lowest)
        return gaps


_NONE = (None, None)
_NAMERS: dict[str, Callable[[Record], Hashable]] = {
    "attribute": lambda record: record.attribute,
    "value": lambda record: (
        f"{record.attribute}: {record.value_from} -> {record.value_to}"
        if record.value_from or record.value_to
        else None
    ),
    "label": lambda record: record.label,
}


def _pair_metrics(table: RecordTable) -> dict[str, Ratio]:
    pairs = PairTable.from_table(table)
    found = effort_ratios(table.select(table.is_target(*RIF_TARGETS)), pairs.example)
    every = {**clean_ratios(pairs.clean, pairs.example), **axis_ratios(pairs), **found}
    return {name: every[name] for name in METRICS}


def _target_metrics(rows: RecordTable) -> dict[str, Ratio]:
    final = target_ratios(rows)
    clean = clean_ratios(rows["clean"], rows["example"])
    every = {**clean, **effort_ratios(rows, rows["example"]), **final}
    return {name: (clean if name == "fair_f1_score" else every)[name] for name in METRICS}


def _widened(estimate: Estimate, ratio: Ratio) -> Estimate:
    """Resamples of a share of 0 or 1 do not vary: give Wilson's interval over examples instead."""
    if not ratio.is_share or estimate.value not in (0.0, 1.0) or estimate.low is None:
        return estimate
    n = len(np.unique(ratio.cluster[ratio.denominator > 0]))
    low, high = wilson_interval(estimate.value * n, n)
    return Estimate(estimate.value, low, high, estimate.total)


def _order(group: Hashable) -> tuple[bool, float, str]:
    is_number = isinstance(group, (int, float))
    return not is_number, float(group) if isinstance(group, (int, float)) else 0.0, str(group)


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
