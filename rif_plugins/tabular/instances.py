"""What a search found, before it becomes pairs: rows with their labels and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rif_plugins.tabular.counterparts import Assessment
from rif_plugins.tabular.row_random import first_of_each, row_keys

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StringArray = NDArray[np.str_]


@dataclass(frozen=True)
class Instances:
    """Generated rows. Arrays share their first dimension ``k``.

    Attributes:
        rows: ``(k, d)`` perturbed rows.
        label: ``(k,)`` right labels, or the attack's estimate of them.
        source: ``(k,)`` which row of the input each comes from.
        direction: ``(k,)`` the attack's name of the search direction, empty where it has one only.
        phase: ``(k,)`` ``"seed"``, ``"global"`` or ``"local"``.
        step: ``(k,)`` after how many steps of its phase.
        similar_place: ``(k,)`` the sensitive tuple of the one counterpart that the search moved along; None
            where all counterparts count.
        assessment: Predictions that the search has made already; None: they are made afterwards.
    """

    rows: FloatArray
    label: IntArray
    source: IntArray
    direction: StringArray
    phase: StringArray
    step: IntArray
    similar_place: IntArray | None = None
    assessment: Assessment | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def empty(cls, n_features: int) -> Instances:
        """No instance."""
        whole = np.zeros(0, dtype=np.int64)
        names = np.zeros(0, dtype="<U15")
        return cls(np.zeros((0, n_features)), whole, whole, names, names, whole)

    def take(self, index: NDArray[np.generic]) -> Instances:
        """Some of the instances, by positions or by a mask."""
        return Instances(
            self.rows[index],
            self.label[index],
            self.source[index],
            self.direction[index],
            self.phase[index],
            self.step[index],
            None if self.similar_place is None else self.similar_place[index],
            None if self.assessment is None else self.assessment.take(index),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Instances], n_features: int) -> Instances:
        """Several sets, one after another; optional parts are kept where all sets have them."""
        filled = [part for part in parts if len(part)]
        if not filled:
            return cls.empty(n_features)
        joined = {
            name: np.concatenate([getattr(part, name) for part in filled])
            for name in ("rows", "label", "source", "direction", "phase", "step")
        }
        places = [part.similar_place for part in filled if part.similar_place is not None]
        assessments = [part.assessment for part in filled if part.assessment is not None]
        return cls(
            **joined,
            similar_place=np.concatenate(places) if len(places) == len(filled) else None,
            assessment=Assessment.concatenate(assessments) if len(assessments) == len(filled) else None,
        )

    def with_labels(self, label: IntArray) -> Instances:
        """The same rows with other labels ``(k,)``."""
        return replace(self, label=label)

    def distinct(self, *, per_source: bool = False) -> Instances:
        """Without repeated rows of the same label (and the same counterpart); the first of each is kept.

        Args:
            per_source: Only drop what repeats for one and the same input row.
        """
        extra = [self.label.astype(np.float64)[:, None]]
        if per_source:
            extra.append(self.source.astype(np.float64)[:, None])
        if self.similar_place is not None:
            extra.append(self.similar_place.astype(np.float64)[:, None])
        return self.take(first_of_each(row_keys(np.concatenate([self.rows, *extra], axis=1))))

    def in_order(self) -> Instances:
        """Sorted by input row; the order of one row's instances stays."""
        return self.take(np.argsort(self.source, kind="stable"))
