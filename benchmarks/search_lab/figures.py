"""From the runs of all contenders on the same pairs to rates, costs and comparisons."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.entailment import EntailmentFilter
from rif_plugins.metrics import Rate
from search_lab.contenders import TARGET_NAMES, ContenderResult
from search_lab.metering import FloatArray

_RESAMPLES = 10_000
_COUNTS = ("victim_rows", "victim_calls", "distinct_texts", "nli_rows", "proposer_calls")
_TIMES = ("seconds", "cpu_seconds", "victim_seconds", "nli_seconds", "proposer_seconds")
Key = tuple[str, str]
"""Name of the pair, name of the target."""


def audit(
    result: ContenderResult, predict: Callable[[list[str]], FloatArray], judge: EntailmentFilter | None
) -> dict[Key, str]:
    """Ask victim and filter again about every finding: ``"valid"``, ``"unconfirmed"`` or ``"inadmissible"``.

    Natural findings and identical texts cost the filter nothing. What is asked here is nobody's cost.
    """
    claims = [
        (pair.case, target, pair.findings[target].texts)
        for pair in result.pairs
        for target in TARGET_NAMES
        if pair.findings[target].found
    ]
    verdicts: dict[Key, str] = {}
    texts = list(dict.fromkeys(text for _, _, both in claims for text in both))
    labels: dict[str, int] = {}
    for start in range(0, len(texts), 64):
        part = texts[start : start + 64]
        labels.update(zip(part, predict(part).argmax(axis=1).tolist(), strict=True))
    for case, target, both in claims:
        outcome = classify(case.label, labels[both[0]], labels[both[1]])
        edited = list(zip((case.pair.original, case.pair.similar), both, strict=True))
        if str(outcome) != target:
            verdicts[case.name, target] = "unconfirmed"
        elif judge is not None and not all(judge.accepts(edited)):
            verdicts[case.name, target] = "inadmissible"
        else:
            verdicts[case.name, target] = "valid"
    return verdicts


def counted(result: ContenderResult, verdicts: Mapping[Key, str]) -> dict[str, Any]:
    """Success and cost of one contender; only valid findings are successes."""
    n = len(result.pairs)
    clean = sum(pair.clean is Outcome.ROBUST_FAIR for pair in result.pairs)
    targets = {}
    n_induced = 0
    for target in TARGET_NAMES:
        valid = [pair for pair in result.pairs if verdicts.get((pair.case.name, target)) == "valid"]
        induced = sum(pair.is_induced(target) for pair in valid)
        n_induced += induced
        claimed = [v for (_, name), v in verdicts.items() if name == target]
        edits = [sum(p.findings[target].n_edits) for p in valid if not p.is_natural(target)]
        targets[target] = {
            "success": Rate(len(valid), n).to_dict(),
            "induced": Rate(induced, clean).to_dict(),
            "natural": sum(pair.is_natural(target) for pair in valid),
            "claimed": len(claimed),
            "inadmissible": claimed.count("inadmissible"),
            "unconfirmed": claimed.count("unconfirmed"),
            "mean_edits": round(statistics.mean(edits), 2) if edits else None,
        }
    rows = result.victim_rows + result.nli_rows
    figures: dict[str, Any] = {
        "pairs": n,
        "clean": {str(o): sum(pair.clean is o for pair in result.pairs) for o in Outcome},
        "targets": targets,
        "induced_findings": n_induced,
        **{name: getattr(result, name) for name in _COUNTS},
        **{f"{name}_per_pair": round(getattr(result, name) / max(1, n), 2) for name in _COUNTS},
        "eager_nli_rows_per_pair": None
        if result.eager_nli_rows is None
        else round(result.eager_nli_rows / max(1, n), 2),
        "rows_per_induced": round(rows / n_induced, 1) if n_induced else None,
        "peak_mb": result.peak_mb,
        "growth_mb": result.growth_mb,
        "counting_seconds": round(result.seconds, 2),
    }
    return figures


def timed(runs: Sequence[ContenderResult], induced: int) -> dict[str, Any]:
    """Medians of repeated runs, shares of the wall time, and whether all repeats counted the same."""
    n = max(1, len(runs[0].pairs))
    medians = {name: statistics.median(getattr(run, name) for run in runs) for name in _TIMES}
    seconds = medians["seconds"]
    shares = {
        part: statistics.median(getattr(run, f"{part}_seconds") / run.seconds for run in runs)
        for part in ("victim", "nli", "proposer")
    }
    outside = statistics.median(1 - (run.victim_seconds + run.nli_seconds) / run.seconds for run in runs)
    return {
        "pairs": len(runs[0].pairs),
        "repeats": len(runs),
        "runs": [{name: round(getattr(run, name), 4) for name in _TIMES} for run in runs],
        **{name: round(value, 4) for name, value in medians.items()},
        "seconds_per_pair": round(seconds / n, 4),
        "seconds_per_induced": round(seconds / induced, 3) if induced else None,
        "share": {**{name: round(value, 4) for name, value in shares.items()}, "outside": round(outside, 4)},
        "same_counts": len({(run.victim_rows, run.nli_rows) for run in runs}) == 1,
        "victim_rows": runs[0].victim_rows,
        "nli_rows": runs[0].nli_rows,
    }


def speed_up(slow: Sequence[ContenderResult], fast: Sequence[ContenderResult]) -> float:
    """Median over the paired repeats of how many times faster the second is."""
    return round(statistics.median(a.seconds / b.seconds for a, b in zip(slow, fast, strict=False)), 2)


def lost(ours: Mapping[Key, str], other: Mapping[Key, str], pairs: set[str]) -> list[dict[str, str]]:
    """Valid findings of the other that are none of ours, among the pairs both searched."""
    keys = sorted(key for key, verdict in other.items() if verdict == "valid" and key[0] in pairs)
    return [{"pair": pair, "target": target} for pair, target in keys if ours.get((pair, target)) != "valid"]


def ratio(
    decoupled: Sequence[bool], coupled: Sequence[bool], *, seed: int = 0, resamples: int = _RESAMPLES
) -> dict[str, Any]:
    """Success of decoupled over coupled edits with a 95 % paired bootstrap interval over the pairs.

    Both lists hold one entry a pair, in the same order. A resample without a coupled success counts as an
    infinite ratio, so an upper end of None means that the data do not bound it; no value without one.
    """
    a, b = np.asarray(decoupled, dtype=float), np.asarray(coupled, dtype=float)
    result: dict[str, Any] = {"decoupled": int(a.sum()), "coupled": int(b.sum()), "pairs": len(a)}
    if not b.sum():
        return {**result, "value": None, "low": None, "high": None}
    draws = np.random.default_rng(seed).integers(0, len(a), (resamples, len(a)))
    sums = a[draws].sum(axis=1), b[draws].sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(sums[1] > 0, sums[0] / sums[1], np.inf)
    low, high = np.quantile(ratios, [0.025, 0.975], method="closest_observation")
    return {
        **result,
        "value": round(float(a.sum() / b.sum()), 3),
        "low": round(float(low), 3) if np.isfinite(low) else None,
        "high": round(float(high), 3) if np.isfinite(high) else None,
    }


def ratios(
    decoupled: ContenderResult, coupled: ContenderResult, verdicts: Mapping[str, Mapping[Key, str]]
) -> Any:
    """``ratio`` for each target, over all pairs and over the clean robust and fair ones."""
    other = {pair.case.name: pair for pair in coupled.pairs}
    both = [pair for pair in decoupled.pairs if pair.case.name in other]
    induced = [pair for pair in both if pair.clean is Outcome.ROBUST_FAIR]
    result = {}
    for target in TARGET_NAMES:
        result[target] = {
            kind: ratio(
                [verdicts[decoupled.name].get((p.case.name, target)) == "valid" for p in chosen],
                [verdicts[coupled.name].get((p.case.name, target)) == "valid" for p in chosen],
            )
            for kind, chosen in (("all", both), ("induced", induced))
        }
    return result


def pairs_found(result: ContenderResult, verdicts: Mapping[Key, str]) -> list[dict[str, Any]]:
    """One entry a pair: its clean outcome, what was found with which edits, and the cost."""
    return [
        {
            "pair": pair.case.name,
            "clean": str(pair.clean),
            "victim_rows": pair.victim_rows,
            "nli_rows": pair.nli_rows,
            "seconds": None if pair.seconds is None else round(pair.seconds, 4),
            "targets": {
                target: {
                    **{k: v for k, v in asdict(finding).items() if k not in ("texts", "seconds")},
                    "verdict": verdicts.get((pair.case.name, target), "not found"),
                    "texts": finding.texts if finding.found and sum(finding.n_edits) else None,
                }
                for target, finding in pair.findings.items()
            },
        }
        for pair in result.pairs
    ]
