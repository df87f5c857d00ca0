"""``summary.json`` of a run: counts, rates with 95 % intervals, and the same by target, attribute and label.

A share carries ``value, low, high, successes, total`` (Wilson interval); a mean or a ratio carries ``value,
low, high, total`` (bootstrap over examples, seeded). ``value`` is null where there is nothing to divide by.
Shares of pairs take pairs as independent, as Wilson's interval does; several pairs of one text make it a
little narrow, so the block ``texts`` gives the shares with texts as units as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.results import STATUSES, Record
from rif_plugins.core.run_result import ALL_TARGETS
from rif_plugins.metrics.bootstrap import N_RESAMPLES, ClusterBootstrap, Ratio, quantile_estimate
from rif_plugins.metrics.certificates import CertificateCount
from rif_plugins.metrics.epsilon import EPSILON_FIELDS, summarise_epsilon
from rif_plugins.metrics.pair_table import (
    COSTS,
    PairTable,
    attack_ratios,
    axis_ratios,
    clean_ratios,
    cost_ratio,
    edit_ratios,
    target_ratios,
    text_ratios,
)
from rif_plugins.metrics.rates import Rate
from rif_plugins.metrics.record_table import ERROR, OUTCOMES, RIF_TARGETS, SKIPPED, RecordReader, RecordTable
from rif_plugins.metrics.steps import MAGNITUDE_TOLERANCE

SCHEMA = "rif-summary/1"
_TIMES = ("victim", "entailment", "proposer", "search")
_COSTS = ("victim_rows", "cache_hits", "entailment_rows", "proposer_calls")
_MOST_SUMS = 2_000_000
_CLEAN = ("accuracy", "individual_fairness_rate", "fair_f1_score")


def summarise_run(
    records: Iterable[Record],
    configuration: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> dict[str, Any]:
    """Compute the summary of a run in one pass over its records.

    ``robustness_rate``, ``fairness_rate`` and ``rif_rate`` are the shares of distinct pairs that stand under
    the robustness-only attack, the fairness-only attack and all RIF targets of the run (``rif_targets``); a
    pair stands under RIF when no violation was met for it, natural ones included. A record that comes again
    (same id) replaces the earlier one. The order of the records does not matter.

    Args:
        records: Records of one run; any iterable, read once.
        configuration: What ``run.json`` holds; gives the time split and the names of the labels.
        seed: Seed of the bootstrap.
        n_resamples: Resamples of the bootstrap (fewer with very many examples).

    Returns:
        Plain JSON values. Of the whole run and, under ``by_attribute``, ``by_value`` (main shares only) and
        ``by_label``, of each part: counts; ``accuracy``, ``individual_fairness_rate`` and ``fair_f1_score``
        of the clean pairs and their outcomes (``clean``); resistance on the three axes; natural and induced
        rate; ``attack`` (pooled outcomes) and ``n_attack``; ``texts``; ``by_target``; edits, equivalence and
        costs; ``steps`` and ``flips`` of the trajectories of the three targets; ``epsilon``.

    Raises:
        DataError: A record's content is not what its status calls for.
    """
    summary = RunSummary()
    for record in records:
        summary.add(record)
    return summary.to_dict(configuration, seed=seed, n_resamples=n_resamples)


class RunSummary:
    """The same while the records come: a small row of numbers is kept of each, no text."""

    def __init__(self) -> None:
        self._rows = RecordReader()
        self._certificates = CertificateCount()

    def add(self, record: Record) -> None:
        """Count one record.

        Raises:
            DataError: Its content is not what its status calls for.
        """
        self._certificates.add(record)
        self._rows.add(record)

    def to_dict(
        self,
        configuration: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        n_resamples: int = N_RESAMPLES,
    ) -> dict[str, Any]:
        """The summary of all records so far; see ``summarise_run``."""
        return _summary(self._rows.table(), self._certificates, dict(configuration or {}), seed, n_resamples)


def _summary(
    table: RecordTable,
    certificates: CertificateCount,
    settings: Mapping[str, Any],
    seed: int,
    n_resamples: int,
) -> dict[str, Any]:
    names = [str(name) for name in settings.get("label_names") or []]
    time = settings.get("time") or {}

    def block(rows: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        return _block(table if rows is None else table.select(rows), seed, n_resamples)

    summary = {
        "schema": SCHEMA,
        "labels": settings.get("labels"),
        "label_names": names,
        "targets": _ordered(table),
        "rif_targets": [table.targets[index] for index in table.rif_targets],
        "n_records": len(table),
        "n_repeated": table.n_repeated,
        "skip_reasons": _skip_reasons(table),
        "time": {name: _number(time.get(name)) for name in _TIMES},
        "certificates": certificates.to_dict(),
        **block(),
    }
    evaluated = table.is_evaluated
    summary["by_attribute"] = {
        name: block(table["attribute"] == index)
        for name, index in _used(table.attributes, table["attribute"][evaluated])
    }
    summary["by_value"] = {
        f"{attribute}: {before} -> {after}": {
            "attribute": attribute,
            "value_from": before,
            "value_to": after,
            **_shares(table.select(table["value"] == index)),
        }
        for (attribute, before, after), index in _used(table.values, table["value"][evaluated])
    }
    summary["by_label"] = {
        str(label): {
            "name": names[label] if label < len(names) else str(label),
            **block(table["label"] == label),
        }
        for label in map(int, np.unique(table["label"]))
        if label >= 0
    }
    return summary


_MAIN_SHARES = ("natural_rate", "induced_rate", "resistance_rate")


def _shares(table: RecordTable) -> dict[str, Any]:
    """Counts and the main shares of some rows: there are many values, each with few pairs."""
    pairs = PairTable.from_table(table)
    block: dict[str, Any] = {"n_examples": len(np.unique(table["example"])), "n_pairs": len(pairs)}
    ratios = {k: v for k, v in clean_ratios(pairs.clean, pairs.example).items() if k in _CLEAN}
    ratios.update(axis_ratios(pairs))
    for name in _ordered(table):
        rows = table.select(table.is_target(name))
        found = {key: ratio for key, ratio in target_ratios(rows).items() if key in _MAIN_SHARES}
        ratios.update({f"by_target.{name}.{key}": ratio for key, ratio in found.items()})
    for name, ratio in ratios.items():
        if ratio.is_share:
            _put(block, name, ratio.rate.to_dict())
    return block


def _block(table: RecordTable, seed: int, n_resamples: int) -> dict[str, Any]:
    """Every count and rate of some rows."""
    pairs = PairTable.from_table(table)
    is_rif = table.is_target(*RIF_TARGETS)
    estimates = _estimates(_ratios(table, pairs, is_rif), table, seed, n_resamples)
    block: dict[str, Any] = _counts(table, pairs)
    for name, value in estimates.items():
        _put(block, name, value)
    _add_details(block, table, pairs, is_rif)
    return block


def _ratios(table: RecordTable, pairs: PairTable, is_rif: NDArray[np.bool_]) -> Iterator[tuple[str, Ratio]]:
    """Every ratio of a block under its dotted path; made group by group, for each takes much memory."""
    clean = clean_ratios(pairs.clean, pairs.example)
    yield from ((name if name in _CLEAN else f"clean.{name}", ratio) for name, ratio in clean.items())
    del clean
    yield from axis_ratios(pairs).items()
    yield from _under("attack", attack_ratios(pairs))
    yield from _under("texts", text_ratios(pairs))
    # Edits and equivalence of what the RIF targets found; costs of everything.
    yield from edit_ratios(table.select(is_rif)).items()
    yield from ((name, cost_ratio(table, pairs.example, name)) for name in COSTS)
    yield from _under("steps", _step_ratios(table.select(is_rif)))
    yield from _under("flips", _flip_ratios(table.select(is_rif)))
    for name in _ordered(table):
        rows = table.select(table.is_target(name))
        yield from _under(f"by_target.{name}", target_ratios(rows))
        yield from _under(f"by_target.{name}", edit_ratios(rows))
        yield from ((f"by_target.{name}.{key}", cost_ratio(rows, rows["example"], key)) for key in COSTS)
        yield from _under(f"by_target.{name}.steps", _step_ratios(rows))


def _under(path: str, ratios: Mapping[str, Ratio]) -> Iterator[tuple[str, Ratio]]:
    return ((f"{path}.{name}", ratio) for name, ratio in ratios.items())


def _estimates(
    ratios: Iterable[tuple[str, Ratio]], table: RecordTable, seed: int, n_resamples: int
) -> dict[str, dict[str, Any]]:
    """The JSON form of each ratio; with many examples, few are bootstrapped together (with equal draws)."""
    bootstrap = ClusterBootstrap(table["example"], seed=seed, n_resamples=n_resamples)
    n = len(bootstrap.clusters)
    found: dict[str, dict[str, Any]] = {}
    summed: dict[str, Ratio] = {}

    def draw() -> None:
        for name, estimate in bootstrap.estimates(summed).items():
            found[name] = estimate.to_dict()
        summed.clear()

    for name, ratio in ratios:
        found[name] = ratio.rate.to_dict() if ratio.is_share else {}
        if not ratio.is_share:
            summed[name] = _by_example(ratio, bootstrap.clusters)
            if len(summed) * n > _MOST_SUMS:
                draw()
    draw()
    return found


def _by_example(ratio: Ratio, examples: NDArray[np.int64]) -> Ratio:
    """The same ratio with its parts summed over each example."""
    where, n = np.searchsorted(examples, ratio.cluster), len(examples)

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(where, weights=values, minlength=n).astype(np.float64)

    return Ratio(summed(ratio.numerator), summed(ratio.denominator), examples, is_share=False)


def _put(block: dict[str, Any], path: str, value: dict[str, Any]) -> None:
    """Store under a dotted path."""
    *parents, name = path.split(".")
    for parent in parents:
        block = block.setdefault(parent, {})
    block[name] = value


def _counts(table: RecordTable, pairs: PairTable) -> dict[str, Any]:
    example, status = table["example"], table["status"]
    return {
        "n_examples": len(np.unique(example)),
        "n_pairs": len(pairs),
        "n_skipped": len(np.unique(example[status == SKIPPED])),
        "n_errors": len(np.unique(example[status == ERROR])),
        "n_pairs_without_rif_verdict": int((~pairs.has_rif).sum()),
        **{name: int(table[name].sum()) for name in _COSTS},
        "seconds": round(float(table["seconds"].sum()), 6),
    }


def _add_details(
    block: dict[str, Any], table: RecordTable, pairs: PairTable, is_rif: NDArray[np.bool_]
) -> None:
    """Histograms, distributions and the counts behind rates."""
    block["clean_outcomes"] = {name: int((pairs.clean == index).sum()) for index, name in enumerate(OUTCOMES)}
    met = pairs.n_attack[pairs.has_rif]
    block["n_attack"] = {str(n): Rate(int((met == n).sum()), len(met)).to_dict() for n in range(4)}
    stood = pairs.has_rif & pairs.stands_rif
    fell = (pairs.has_robustness & ~pairs.stands_robustness) | (pairs.has_fairness & ~pairs.stands_fairness)
    block["n_missed_by_rif_search"] = int((stood & fell).sum())
    evaluated = table.select(table.is_evaluated)
    block["epsilon"] = summarise_epsilon(evaluated["example"], *(evaluated[name] for name in EPSILON_FIELDS))
    block["texts"]["n_texts"] = len(np.unique(pairs.example))
    block["steps"]["magnitude_tolerance"] = MAGNITUDE_TOLERANCE
    rows = table.select(is_rif & ~np.isnan(table["tolerance_original"]))
    _, first = np.unique(rows["pair"], return_index=True)
    for side in ("original", "similar"):
        tolerance = rows[f"tolerance_{side}"][first]
        block["flips"][f"median_tolerance_{side}"] = quantile_estimate(tolerance, 0.5).to_dict()
    by_target = block.setdefault("by_target", {})
    for name, entry in by_target.items():
        chosen = table.select(table.is_target(name))
        entry["n_pairs"] = len(chosen)
        for index, status in enumerate(STATUSES[:SKIPPED]):
            entry[f"n_{status}"] = int((chosen["status"] == index).sum())
        entry["outcomes"] = {
            outcome: int((chosen["outcome"] == index).sum()) for index, outcome in enumerate(OUTCOMES)
        }
        entry["victim_rows"] = int(chosen["victim_rows"].sum())


def _step_ratios(rows: RecordTable) -> dict[str, Ratio]:
    """Claim "same direction, different magnitude" as shares of steps, and mean PII of each side."""
    example = rows["example"]

    def ratio(part: str, of: str) -> Ratio:
        return Ratio(rows[part], rows[of], example, is_share=False)

    return {
        "both_moved_rate": ratio("both_moved", "steps"),
        "same_direction_rate": ratio("same_direction", "both_moved"),
        "same_direction_different_magnitude_rate": ratio("same_different", "both_moved"),
        "opposite_direction_rate": ratio("opposite", "both_moved"),
        "magnitude_ratio": ratio("larger_move", "smaller_move"),
        "mean_pii_original": ratio("pii_original", "n_pii_original"),
        "mean_pii_similar": ratio("pii_similar", "n_pii_similar"),
    }


def _flip_ratios(rows: RecordTable) -> dict[str, Ratio]:
    """How much a decision tolerates, what was spent on a flip, and which side flips (Theorems 3 and 4)."""
    rows = rows.select(~np.isnan(rows["tolerance_original"]))
    flipped = {side: rows[f"flipped_{side}"] > 0 for side in ("original", "similar")}
    tolerance = {side: rows[f"tolerance_{side}"] for side in flipped}
    spent = {side: rows[f"spent_{side}"] for side in flipped}
    example = np.concatenate([rows["example"], rows["example"]])
    flips = np.concatenate(list(flipped.values())).astype(np.float64)
    moved = np.concatenate([spent[side] > 0 for side in flipped]).astype(np.float64)
    within = np.concatenate([spent[side] < tolerance[side] - 1e-6 for side in flipped])
    one = flipped["original"] != flipped["similar"]
    nearer = np.where(
        flipped["original"],
        tolerance["original"] < tolerance["similar"],
        tolerance["similar"] < tolerance["original"],
    )
    return {
        "flip_rate": Ratio(flips * moved, moved, example),
        "flip_within_tolerance_rate": Ratio(flips * within, flips, example),
        "mean_spent": Ratio(np.concatenate(list(spent.values())) * flips, flips, example, is_share=False),
        "mean_tolerance": Ratio(
            np.concatenate(list(tolerance.values())), np.ones(len(example)), example, is_share=False
        ),
        "nearer_side_flips_rate": Ratio(
            (nearer & one).astype(np.float64), one.astype(np.float64), rows["example"]
        ),
    }


def _ordered(table: RecordTable) -> list[str]:
    """The targets of evaluated records: the known ones first, in their usual order."""
    used = {table.targets[index] for index in np.unique(table["target"][table.is_evaluated])}
    return [name for name in ALL_TARGETS if name in used] + sorted(used - set(ALL_TARGETS))


def _used(names: tuple[Any, ...], column: NDArray[np.int64]) -> list[tuple[Any, int]]:
    return sorted((names[index], int(index)) for index in np.unique(column) if index >= 0)


def _skip_reasons(table: RecordTable) -> dict[str, int]:
    rows = table.select(table["status"] == SKIPPED)
    return {
        name: len(np.unique(rows["example"][rows["reason"] == index]))
        for name, index in _used(table.reasons, rows["reason"])
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
