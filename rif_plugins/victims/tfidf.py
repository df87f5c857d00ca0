"""A two-class linear text classifier on TF-IDF features, in plain numpy.

The file format is a compressed ``.npz`` of plain arrays (nothing is unpickled), written once by a
training or export script and read here.  Notation: ``n`` texts, ``v`` vocabulary entries, ``k``
linear models whose calibrated probabilities are averaged.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rif_plugins.errors import VictimError

FORMAT = "rif-plugins tfidf-linear 1"
TOKEN_PATTERN = r"(?u)\b\w\w+\b"

_ARRAYS = ("vocabulary", "idf", "coefficients", "intercepts", "slopes", "offsets")


@dataclass(frozen=True)
class TfidfLinearModel:
    """Word n-gram TF-IDF, linear models, sigmoid calibration, mean over the models.

    A text is lower-cased and cut into tokens; counts of the known n-grams times ``idf`` are scaled to
    unit length ``x``; model ``j`` has the margin ``m_j = x . coefficients[j] + intercepts[j]`` and
    ``P(class 1) = mean_j 1 / (1 + exp(slopes[j] * m_j + offsets[j]))`` (Platt's sigmoid; slope -1 and
    offset 0 are logistic regression).  A text without any known n-gram has ``x = 0``.

    Attributes:
        words: The vocabulary, in the order of the columns, ``v`` entries.
        idf: Inverse document frequencies, shape (v,).
        coefficients: Weights, shape (k, v).
        intercepts, slopes, offsets: Shape (k,) each.
        label_names: Names of the columns of the result.
        max_ngram: Longest n-gram of the vocabulary, in tokens.
        token_pattern: Regular expression that finds the tokens.
        source: Where the numbers come from, for run records.
    """

    words: tuple[str, ...]
    idf: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]
    label_names: tuple[str, str] = ("0", "1")
    max_ngram: int = 1
    token_pattern: str = TOKEN_PATTERN
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        v, k = len(self.words), len(self.intercepts)
        shapes = {
            "idf": (self.idf.shape, (v,)),
            "coefficients": (self.coefficients.shape, (k, v)),
            "intercepts": (self.intercepts.shape, (k,)),
            "slopes": (self.slopes.shape, (k,)),
            "offsets": (self.offsets.shape, (k,)),
        }
        for name, (got, expected) in shapes.items():
            if got != expected:
                raise VictimError(
                    f"TF-IDF model: {name} should have shape {expected} "
                    f"for {v} words and {k} linear models, got {got}: export the model again"
                )
            if not np.isfinite(getattr(self, name)).all():
                raise VictimError(f"TF-IDF model: {name} holds NaN or infinity: export the model again")
        if k == 0 or self.max_ngram < 1 or len(self.label_names) != 2:
            raise VictimError(
                "TF-IDF model: expected at least one linear model, max_ngram >= 1 and two label names, got "
                f"{k}, {self.max_ngram} and {len(self.label_names)}: export the model again"
            )
        try:
            groups = self._pattern.groups
        except (re.error, OverflowError, RecursionError) as error:
            raise VictimError(
                f"TF-IDF model: token_pattern {self.token_pattern[:80]!r} is no regular expression "
                f"({error}): export the model again"
            ) from error
        if groups > 1:
            raise VictimError(
                f"TF-IDF model: token_pattern {self.token_pattern[:80]!r} has {groups} groups, "
                "expected one at most: export the model again"
            )

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Class probabilities, shape (n, 2); a row does not depend on the other texts.

        Raises:
            VictimError: ``texts`` is one string, or holds something that is not a string.
        """
        if isinstance(texts, str) or any(not isinstance(text, str) for text in texts):
            raise VictimError("the victim expects a list of strings, got something else: pass [text]")
        n = len(texts)
        rows, columns, counts = self._counts(texts)
        weights = counts * self.idf[columns]
        length = np.sqrt(np.bincount(rows, weights * weights, minlength=n))
        weights /= length[rows]
        sums = [np.bincount(rows, weights * row[columns], minlength=n) for row in self.coefficients]
        margins = np.stack(sums) + self.intercepts[:, None]
        exponent = self.slopes[:, None] * margins + self.offsets[:, None]
        positive = np.mean(1.0 / (1.0 + np.exp(np.minimum(exponent, 700.0))), axis=0)
        return np.stack([1.0 - positive, positive], axis=1)

    def save(self, path: Path) -> None:
        """Write the model to ``path`` (its folder must exist)."""
        metadata = {
            "format": FORMAT,
            "label_names": list(self.label_names),
            "max_ngram": self.max_ngram,
            "token_pattern": self.token_pattern,
            "source": self.source,
        }
        arrays = {
            "metadata": _as_bytes(json.dumps(metadata)),
            "vocabulary": _as_bytes("\n".join(self.words)),
            "idf": self.idf,
            "coefficients": self.coefficients,
            "intercepts": self.intercepts,
            "slopes": self.slopes,
            "offsets": self.offsets,
        }
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> TfidfLinearModel:
        """Read a model that :meth:`save` wrote.

        Raises:
            VictimError: The file is missing, or is not such a model.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                metadata = json.loads(file["metadata"].tobytes().decode("utf-8"))
                arrays = {name: file[name] for name in _ARRAYS}
            if metadata["format"] != FORMAT:
                raise ValueError(f"unknown format {metadata['format']!r}")
            first, second = metadata["label_names"]
            return cls(
                words=tuple(arrays.pop("vocabulary").tobytes().decode("utf-8").split("\n")),
                label_names=(str(first), str(second)),
                max_ngram=int(metadata["max_ngram"]),
                token_pattern=str(metadata["token_pattern"]),
                source=str(metadata["source"]),
                **arrays,
            )
        except FileNotFoundError:
            raise VictimError(f"no TF-IDF model at {path}: give the path of an existing .npz file") from None
        except VictimError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
            raise VictimError(
                f"{path} is not a TF-IDF model of this package ({error}): "
                "expected an .npz file written by TfidfLinearModel.save"
            ) from error

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.words)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.token_pattern)

    def _counts(self, texts: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """The sparse count matrix as (row, column, count) triples, rows ascending."""
        rows: list[int] = []
        columns: list[int] = []
        counts: list[int] = []
        index = self._index
        for row, text in enumerate(texts):
            found = Counter(index[gram] for gram in self._grams(text) if gram in index)
            rows.extend([row] * len(found))
            columns.extend(found)
            counts.extend(found.values())
        return (
            np.asarray(rows, dtype=np.intp),
            np.asarray(columns, dtype=np.intp),
            np.asarray(counts, dtype=np.float64),
        )

    def _grams(self, text: str) -> list[str]:
        tokens: list[str] = self._pattern.findall(text.lower())
        grams = list(tokens)
        for n in range(2, self.max_ngram + 1):
            grams.extend(" ".join(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
        return grams


def _as_bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
