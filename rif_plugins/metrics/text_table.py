"""RIF quadrants and rates of **any** TextAttack attack, measured on the counterparts of its results.

An attack turns a text ``v`` into ``v + δ``. Three sets of pairs are built and classified by the right label:

* ``clean``: ``v`` beside each of its counterparts ``v'``;
* ``original_only``: ``v + δ`` beside each ``v'``: the attack's edit on the original side alone (decoupled,
  with no edit on the other side);
* ``both``: ``v + δ`` beside each counterpart of ``v + δ``: the same edit on both sides (coupled), because a
  counterpart of the perturbed text differs from it in its sensitive tokens only.

Where the attack touched a sensitive token, ``v + δ`` has other counterparts than ``v`` or none; texts whose
number of counterparts changed are counted (``n_changed_sensitive``), and their pairs of ``both`` cannot be
matched with clean ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rif_plugins.core.outcomes import Outcome, classify
from rif_plugins.core.victim import Predict, VictimEngine
from rif_plugins.errors import DataError
from rif_plugins.metrics.attack_logs import AttackedText, read_attack_results
from rif_plugins.metrics.bootstrap import N_RESAMPLES, ClusterBootstrap
from rif_plugins.metrics.pair_table import clean_ratios
from rif_plugins.metrics.rates import Estimate, Rate

STAGES = ("clean", "original_only", "both")
_TITLES = {
    "clean": "clean pair",
    "original_only": "edit on the original only",
    "both": "same edit on both sides",
}
_OUTCOMES = tuple(Outcome)
_CHUNK = 64


@dataclass(frozen=True)
class Quadrants:
    """Outcomes of the pairs of one stage.

    Attributes:
        counts: Pairs of each outcome, in the order of ``Outcome``.
        induced: Violations among the pairs whose clean pair was ``robust_fair`` (empty for ``clean``).
        fair_f1_score: ``2 TF / (2 TF + TB + FF)``, bootstrapped over texts.
    """

    counts: tuple[int, int, int, int]
    induced: Rate
    fair_f1_score: Estimate

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return sum(self.counts)

    def rate(self, outcome: Outcome | str) -> Rate:
        """Share of pairs with one outcome."""
        return Rate(self.counts[_OUTCOMES.index(Outcome(outcome))], self.n_pairs)

    @property
    def robustness_rate(self) -> Rate:
        """Share of pairs whose original side has the right label (ACC)."""
        return Rate(self._count(lambda outcome: outcome.is_robust), self.n_pairs)

    @property
    def fairness_rate(self) -> Rate:
        """Share of pairs whose sides have the same label (IF, FTA)."""
        return Rate(self._count(lambda outcome: outcome.is_fair), self.n_pairs)

    @property
    def rif_rate(self) -> Rate:
        """Share of pairs that are ``robust_fair``."""
        return self.rate(Outcome.ROBUST_FAIR)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: counts and rates with intervals."""
        return {
            "n_pairs": self.n_pairs,
            "outcomes": {str(name): count for name, count in zip(_OUTCOMES, self.counts, strict=True)},
            "robustness_rate": self.robustness_rate.to_dict(),
            "fairness_rate": self.fairness_rate.to_dict(),
            "rif_rate": self.rif_rate.to_dict(),
            **{f"{name}_rate": self.rate(name).to_dict() for name in _OUTCOMES},
            "induced_rate": self.induced.to_dict(),
            "fair_f1_score": self.fair_f1_score.to_dict(),
        }

    def _count(self, holds: Callable[[Outcome], bool]) -> int:
        return sum(count for name, count in zip(_OUTCOMES, self.counts, strict=True) if holds(name))


@dataclass(frozen=True)
class RIFTextTable:
    """What an attack did, in RIF terms.

    Attributes:
        n_texts: Results read.
        n_without_counterpart: Texts without a sensitive token: they build no pair.
        n_unchanged: Texts that the attack left as they were.
        n_changed_sensitive: Texts whose sensitive tokens the attack changed, so that they have more or fewer
            counterparts than before; left out of the induced rate of ``both``.
        victim_rows: Texts that the victim saw.
        stages: The quadrants of ``clean``, ``original_only`` and ``both``.
    """

    n_texts: int
    n_without_counterpart: int
    n_unchanged: int
    n_changed_sensitive: int
    victim_rows: int
    stages: dict[str, Quadrants] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "schema": "rif-text-table/1",
            "n_texts": self.n_texts,
            "n_without_counterpart": self.n_without_counterpart,
            "n_unchanged": self.n_unchanged,
            "n_changed_sensitive": self.n_changed_sensitive,
            "victim_rows": self.victim_rows,
            **{name: quadrants.to_dict() for name, quadrants in self.stages.items()},
        }

    def to_text(self) -> str:
        """A plain table, a column a stage."""
        stages = list(self.stages.items())
        rows = [["", *(_TITLES[name] for name, _ in stages)]]
        rows.append(["pairs", *(str(quadrants.n_pairs) for _, quadrants in stages)])
        rows += [[str(name), *(str(q.rate(name)) for _, q in stages)] for name in _OUTCOMES]
        for name in ("robustness_rate", "fairness_rate"):
            rows.append([name, *(str(getattr(quadrants, name)) for _, quadrants in stages)])
        rows.append(["induced violations", *("" if n == "clean" else str(q.induced) for n, q in stages)])
        rows.append(["fair_f1_score", *(str(quadrants.fair_f1_score) for _, quadrants in stages)])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        lines.append(
            f"texts {self.n_texts}, without a counterpart {self.n_without_counterpart}, unchanged by the "
            f"attack {self.n_unchanged}, sensitive tokens changed by it {self.n_changed_sensitive}"
        )
        return "\n".join(lines) + "\n"


def rif_text_table(
    victim: Predict | VictimEngine,
    results: Path | str | Iterable[Any],
    counterparts: Callable[[str], Sequence[str]],
    *,
    seed: int = 0,
    n_resamples: int = N_RESAMPLES,
) -> RIFTextTable:
    """Measure the results of any TextAttack attack in RIF terms.

    Args:
        victim: Maps a list of texts to class probabilities or logits, or an engine around such a function.
        results: The path of a TextAttack CSV log, triples (original text, perturbed text, label), or
            TextAttack's result objects.
        counterparts: Lists the similar texts of a text, the text itself left out, in a stable order.
        seed: Seed of the bootstrap.
        n_resamples: Resamples of the bootstrap.

    Returns:
        Quadrants and rates of the clean pairs, of the edit on the original only, and of the same edit on both
        sides.

    Raises:
        DataError: The results are not readable, or a label is not one of the victim's classes.
        VictimError: The victim returned no predictions.
    """
    engine = victim if isinstance(victim, VictimEngine) else VictimEngine(victim)
    tally = _Tally()
    rows_before = engine.rows
    stream = read_attack_results(results)
    while chunk := list(islice(stream, _CHUNK)):
        similar = [(list(counterparts(item.original)), list(counterparts(item.perturbed))) for item in chunk]
        texts = {
            text: None
            for item, (before, after) in zip(chunk, similar, strict=True)
            if before or after
            for text in (item.original, item.perturbed, *before, *after)
        }
        rows = engine.probabilities(list(texts))
        predicted = dict(zip(texts, np.argmax(rows, axis=1).tolist() if len(rows) else [], strict=True))
        for item, (before, after) in zip(chunk, similar, strict=True):
            tally.add(item, before, after, predicted, engine.n_labels)
    return tally.table(engine.rows - rows_before, seed, n_resamples)


class _Tally:
    """Outcomes of all pairs, with the text that each belongs to."""

    def __init__(self) -> None:
        self.n_texts = self.n_alone = self.n_unchanged = self.n_changed_sensitive = 0
        self.outcomes: dict[str, list[int]] = {name: [] for name in STAGES}
        self.texts: dict[str, list[int]] = {name: [] for name in STAGES}
        self.induced = {name: [0, 0] for name in STAGES}

    def add(
        self,
        item: AttackedText,
        before: list[str],
        after: list[str],
        predicted: dict[str, int],
        n_labels: int | None,
    ) -> None:
        self.n_texts += 1
        self.n_unchanged += item.original == item.perturbed
        if not before and not after:
            self.n_alone += 1
            return
        if n_labels is not None and item.label >= n_labels:
            raise DataError(
                f"result {self.n_texts} has label {item.label}, expected 0 to {n_labels - 1}: the victim has "
                f"{n_labels} classes; is it the model that was attacked?"
            )
        clean = list(_outcomes(item.label, item.original, before, predicted))
        one_side = list(_outcomes(item.label, item.perturbed, before, predicted))
        both = list(_outcomes(item.label, item.perturbed, after, predicted))
        for name, found in zip(STAGES, (clean, one_side, both), strict=True):
            self.outcomes[name] += found
            self.texts[name] += [self.n_texts] * len(found)
        self._count_induced("original_only", clean, one_side)
        if len(before) == len(after):
            self._count_induced("both", clean, both)
        else:
            self.n_changed_sensitive += 1

    def _count_induced(self, stage: str, clean: list[int], final: list[int]) -> None:
        for old, new in zip(clean, final, strict=True):
            if old == 0:
                self.induced[stage][0] += new != 0
                self.induced[stage][1] += 1

    def table(self, victim_rows: int, seed: int, n_resamples: int) -> RIFTextTable:
        stages = {}
        for name in STAGES:
            codes = np.array(self.outcomes[name], dtype=np.int64)
            texts = np.array(self.texts[name], dtype=np.int64)
            bootstrap = ClusterBootstrap(texts, seed=seed, n_resamples=n_resamples)
            score = {"fair_f1_score": clean_ratios(codes, texts)["fair_f1_score"]}
            a, b, c, d = np.bincount(codes, minlength=4).tolist()
            induced = Rate(*self.induced[name])
            stages[name] = Quadrants((a, b, c, d), induced, bootstrap.estimates(score)["fair_f1_score"])
        return RIFTextTable(
            self.n_texts, self.n_alone, self.n_unchanged, self.n_changed_sensitive, victim_rows, stages
        )


def _outcomes(label: int, text: str, similar: Sequence[str], predicted: dict[str, int]) -> Iterator[int]:
    for other in similar:
        yield _OUTCOMES.index(classify(label, predicted[text], predicted[other]))
