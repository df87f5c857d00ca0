"""Distinct pairs of a run and their ratios: what stands, what falls, and into which outcome.

A pair **falls** under RIF when one of the outcomes met for it over the three targets, its clean outcome
included, is a violation: outcome sets are pooled over the attacks, as for the attack rates and ``n_attack``
of Li et al. (January 2026). A pair that lacks one of the run's targets (an error, a budget) has no verdict
and is left out of those denominators. A pair stands under a single-axis attack when that attack failed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.run_result import FAIRNESS_ONLY, ROBUSTNESS_ONLY
from rif_plugins.metrics.bootstrap import Ratio
from rif_plugins.metrics.record_table import (
    FAILED,
    INDUCED,
    NATURAL,
    OUTCOMES,
    SHIFTED,
    RecordTable,
)

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FAIR, BIASED_RIGHT, FAIR_WRONG, BIASED_WRONG = range(len(OUTCOMES))
ROBUST = np.array([outcome.is_robust for outcome in Outcome])
SAME = np.array([outcome.is_fair for outcome in Outcome])


@dataclass(frozen=True)
class PairTable:
    """One row a distinct evaluated pair, each array ``(n,)``.

    Attributes:
        example: The text of the pair.
        clean: Clean outcome, as an index of ``OUTCOMES``; -1 unknown.
        reached: Violations met, ``(n, 3)`` in the order of the targets.
        has_rif, has_robustness, has_fairness: Whether the pair has a verdict on each axis.
        stands_robustness, stands_fairness: The verdicts of the single-axis attacks.
    """

    example: IntArray
    clean: IntArray
    reached: BoolArray
    has_rif: BoolArray
    has_robustness: BoolArray
    has_fairness: BoolArray
    stands_robustness: BoolArray
    stands_fairness: BoolArray

    @classmethod
    def from_table(cls, table: RecordTable) -> PairTable:
        """Fold the evaluated rows of ``table`` into pairs."""
        rows = table.select(table.is_evaluated)
        _, first, where = np.unique(rows["pair"], return_index=True, return_inverse=True)
        where = where.reshape(-1)
        n = len(first)
        in_rif = np.isin(rows["target"], table.rif_targets)
        clean = np.full(n, -1)
        np.maximum.at(clean, where, rows["clean"])
        reached = np.zeros((n, 3), dtype=bool)
        for outcomes in (rows["clean"], rows["outcome"]):
            hit = in_rif & (outcomes > FAIR)
            reached[where[hit], outcomes[hit] - 1] = True
        tried = np.zeros((n, len(table.rif_targets)), dtype=bool)
        for column, target in enumerate(table.rif_targets):
            tried[where[rows["target"] == target], column] = True
        verdicts = [_verdict(rows, where, n, name) for name in (ROBUSTNESS_ONLY, FAIRNESS_ONLY)]
        return cls(
            example=rows["example"][first],
            clean=clean,
            reached=reached,
            has_rif=np.asarray(tried.all(axis=1) & bool(table.rif_targets)),
            has_robustness=verdicts[0][0],
            has_fairness=verdicts[1][0],
            stands_robustness=verdicts[0][1],
            stands_fairness=verdicts[1][1],
        )

    def __len__(self) -> int:
        return len(self.example)

    @property
    def stands_rif(self) -> BoolArray:
        """True where no violation was met, ``(n,)``."""
        return np.asarray(~self.reached.any(axis=1))

    @property
    def n_attack(self) -> IntArray:
        """How many of the three violations were met, ``(n,)``."""
        return np.asarray(self.reached.sum(axis=1), dtype=np.int64)

    def share(self, hits: BoolArray, among: BoolArray) -> Ratio:
        """The share of the pairs ``among`` that are ``hits``."""
        return Ratio((hits & among).astype(np.float64), among.astype(np.float64), self.example)


def _verdict(rows: RecordTable, where: IntArray, n: int, target: str) -> tuple[BoolArray, BoolArray]:
    chosen = rows.is_target(target)
    has, stands = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    has[where[chosen]] = True
    stands[where[chosen & (rows["status"] == FAILED)]] = True
    return has, stands


def clean_ratios(outcomes: IntArray, example: IntArray) -> dict[str, Ratio]:
    """ACC, FTA, the four shares and fair-F1 of one outcome a unit; units with outcome -1 are left out.

    ``accuracy`` = TFR + TBR; ``individual_fairness_rate`` (fairness through awareness) = TFR + FFR;
    ``robust_fair_rate`` TFR, ``robust_biased_rate`` TBR, ``unrobust_fair_rate`` FFR,
    ``unrobust_biased_rate`` FBR; ``fair_f1_score`` = 2·TF / (2·TF + TB + FF).
    """
    known = outcomes >= 0
    index = np.where(known, outcomes, 0)
    parts = {
        "accuracy": ROBUST[index],
        "individual_fairness_rate": SAME[index],
        **{f"{name}_rate": index == number for number, name in enumerate(OUTCOMES)},
    }
    ratios = {
        name: Ratio((hits & known).astype(np.float64), known.astype(np.float64), example)
        for name, hits in parts.items()
    }
    true_fair = 2.0 * ((index == FAIR) & known)
    other = ((index == BIASED_RIGHT) | (index == FAIR_WRONG)) & known
    ratios["fair_f1_score"] = Ratio(true_fair, true_fair + other, example, is_share=False)
    return ratios


def axis_ratios(pairs: PairTable) -> dict[str, Ratio]:
    """Resistance on the three axes, and the natural and induced rates over all three targets."""
    stands = pairs.stands_rif
    is_clean = pairs.has_rif & (pairs.clean == FAIR)
    return {
        "robustness_rate": pairs.share(pairs.stands_robustness, pairs.has_robustness),
        "fairness_rate": pairs.share(pairs.stands_fairness, pairs.has_fairness),
        "rif_rate": pairs.share(stands, pairs.has_rif),
        "natural_rate": pairs.share(pairs.clean > FAIR, pairs.clean >= FAIR),
        "induced_rate": pairs.share(~stands, is_clean),
    }


def attack_ratios(pairs: PairTable) -> dict[str, Ratio]:
    """Attack rates from the pooled outcomes: AR, IF, RIF, and how many pairs meet each outcome.

    ``robustness_violation_rate`` AR = |FB ∪ FF|, ``fairness_violation_rate`` IF = |FB ∪ TB|,
    ``rif_violation_rate`` = |TB ∪ FB ∪ FF| = 1 - TFR. TBR, FFR and FBR are marginals: their sum may exceed 1.
    Source: Li et al., January 2026, Table 6.
    """
    biased, wrong, both = pairs.reached.T
    parts = {
        "robustness_violation_rate": wrong | both,
        "fairness_violation_rate": biased | both,
        "rif_violation_rate": ~pairs.stands_rif,
        "robust_fair_rate": pairs.stands_rif,
        "robust_biased_rate": biased,
        "unrobust_fair_rate": wrong,
        "unrobust_biased_rate": both,
    }
    return {name: pairs.share(hits, pairs.has_rif) for name, hits in parts.items()}


def text_ratios(pairs: PairTable) -> dict[str, Ratio]:
    """The same with texts as units: a text is fair, or stands, when all of its pairs do."""
    texts, where = np.unique(pairs.example, return_inverse=True)
    where = where.reshape(-1)

    def fold(hits: BoolArray, among: BoolArray) -> Ratio:
        every, complete = np.ones(len(texts), dtype=bool), np.ones(len(texts), dtype=bool)
        np.logical_and.at(every, where, hits)
        np.logical_and.at(complete, where, among)
        return Ratio((every & complete).astype(np.float64), complete.astype(np.float64), texts)

    known = pairs.clean >= 0
    return {
        "accuracy": fold(ROBUST[pairs.clean], known),
        "individual_fairness_rate": fold(SAME[pairs.clean], known),
        "robustness_rate": fold(pairs.stands_robustness, pairs.has_robustness),
        "fairness_rate": fold(pairs.stands_fairness, pairs.has_fairness),
        "rif_rate": fold(pairs.stands_rif, pairs.has_rif),
    }


def target_ratios(rows: RecordTable) -> dict[str, Ratio]:
    """Ratios of the evaluated records of **one** target, by its own status and final outcome.

    ``natural_rate`` and ``resistance_rate`` (pairs that stand) are over all pairs, ``induced_rate`` over
    clean ``robust_fair`` pairs; ``robustness_rate``, ``fairness_rate``, ``rif_rate`` and the shares of
    outcomes describe the pair that the search ended with.
    """
    status, example = rows["status"], rows["example"]
    everything = np.ones(len(rows))
    final = clean_ratios(rows["outcome"], example)

    def share(hits: BoolArray, among: NDArray[np.float64]) -> Ratio:
        return Ratio(hits * among, among, example)

    return {
        "natural_rate": share(status == NATURAL, everything),
        "induced_rate": share(status == INDUCED, (rows["clean"] == FAIR).astype(np.float64)),
        "shifted_rate": share(status == SHIFTED, everything),
        "resistance_rate": share(status == FAILED, everything),
        "robustness_rate": final["accuracy"],
        "fairness_rate": final["individual_fairness_rate"],
        "rif_rate": final["robust_fair_rate"],
        **{f"{name}_rate": final[f"{name}_rate"] for name in OUTCOMES},
        "fair_f1_score": final["fair_f1_score"],
    }


COSTS = {
    "victim_rows_per_pair": "victim_rows",
    "entailment_rows_per_pair": "entailment_rows",
    "seconds_per_pair": "seconds",
}


def effort_ratios(rows: RecordTable, n_pairs: IntArray) -> dict[str, Ratio]:
    """Means over records: edits and equivalence of found pairs, cost a pair.

    Args:
        rows: Records of any status; costs count all of them.
        n_pairs: The example of every distinct pair.
    """
    return {**edit_ratios(rows), **{name: cost_ratio(rows, n_pairs, name) for name in COSTS}}


def edit_ratios(rows: RecordTable) -> dict[str, Ratio]:
    """Edits and equivalence of found pairs."""
    example = rows["example"]
    edited = (rows["status"] == INDUCED) | (rows["status"] == SHIFTED)
    found = edited.astype(np.float64)
    return {
        "mean_equivalence": Ratio(
            rows["equivalence"] * found, rows["n_scores"] * found, example, is_share=False
        ),
        "mean_changed_tokens": Ratio(rows["n_tokens"] * found, found, example, is_share=False),
        "mean_edits": Ratio(rows["n_edits"] * found, found, example, is_share=False),
    }


def cost_ratio(rows: RecordTable, n_pairs: IntArray, name: str) -> Ratio:
    """One of ``COSTS``: the sum over the records of any status, divided by the number of pairs."""
    n_rows, n = len(rows), len(n_pairs)
    return Ratio(
        np.concatenate([rows[COSTS[name]], np.zeros(n)]),
        np.concatenate([np.zeros(n_rows), np.ones(n)]),
        np.concatenate([rows["example"], n_pairs]),
        is_share=False,
    )
