"""Proposer of nearest neighbours among word vectors, such as GloVe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.errors import DataError, UsageError
from rif_plugins.optional import require
from rif_plugins.proposers.agreement import agrees
from rif_plugins.proposers.base import DEFAULT_MAX_CANDIDATES, BaseProposer, Candidate, TokenContext
from rif_plugins.proposers.closed_classes import FUNCTION_WORDS
from rif_plugins.proposers.fitting import without_clitic
from rif_plugins.proposers.inflection import UPOS, lemmas

Floats = NDArray[np.float32]
_LEAST_DIMENSIONS = 2


class EmbeddingProposer(BaseProposer):
    """Words whose vectors are nearest to the token's, in a part of speech and inflection that fits.

    Vectors of words that occur together are near, so antonyms and co-hyponyms are among the neighbours: use
    it with a filter. Other forms of the token's own lemma are left out.

    Args:
        path: A text file of lines ``word number number ...`` (GloVe, word2vec), or a ``.npy`` matrix with its
            words beside it: ``STEM.txt`` (one a line), or the only ``.parquet`` file there with a column of
            words.
        max_words: Read this many words; the usual files begin with the most frequent.
        n_neighbours: Look at this many neighbours.
        least: Least cosine.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Raises:
        UsageError: A number is out of range.
        DataError: The file cannot be read.
    """

    name = "embedding"

    def __init__(
        self,
        path: Path | str,
        *,
        max_words: int = 50_000,
        n_neighbours: int = 50,
        least: float = 0.6,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if max_words < 1 or n_neighbours < 1:
            raise UsageError(
                f"max_words and n_neighbours must be at least 1, got {max_words} and {n_neighbours}"
            )
        if not -1 <= least <= 1:
            raise UsageError(f"least must be between -1 and 1, got {least}")
        self.path = Path(path).expanduser()
        self.max_words = max_words
        self.n_neighbours = n_neighbours
        self.least = least
        self._words, self._vectors = read_vectors(self.path, max_words)
        self._places = {word: number for number, word in reversed(list(enumerate(self._words)))}
        self._known: dict[str, tuple[str, ...]] = {}

    @cached_property
    def version(self) -> str:
        """Digest of words and vectors."""
        digest = hashlib.sha256("\n".join(self._words).encode("utf-8", "surrogatepass"))
        digest.update(self._vectors.tobytes())
        return f"sha256:{digest.hexdigest()[:12]}"

    @property
    def settings(self) -> str:
        """What decides the candidates besides the vectors, for stores."""
        return json.dumps([self.n_neighbours, self.least])

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Nearest first."""
        stems = [without_clitic(context.token)[0].lower() for context in contexts]
        self._look_up([stem for stem in dict.fromkeys(stems) if stem not in self._known])
        return [
            tuple(self._candidates(c, self._known[stem])) for c, stem in zip(contexts, stems, strict=True)
        ]

    def __repr__(self) -> str:
        name, words = str(self.path), len(self._words)
        return f"EmbeddingProposer({name!r}, words={words}, max_candidates={self.max_candidates})"

    def _candidates(self, context: TokenContext, words: Iterable[str]) -> Iterator[Candidate]:
        stem, clitic = without_clitic(context.token)
        for word in words:
            if agrees(context, word, is_possessive=bool(clitic)):
                yield Candidate(fit_case(case_pattern(stem), word) + clitic, self.name)

    def _look_up(self, words: Sequence[str]) -> None:
        known = [w for w in words if w in self._places and w not in FUNCTION_WORDS]
        self._known.update(dict.fromkeys(words, ()))
        for word in known:
            # One product a word: its rows must not depend on what else is asked.
            cosines = self._vectors @ self._vectors[self._places[word]]
            order = np.argsort(-cosines, kind="stable")[: self.n_neighbours + 1]
            near = (self._words[i] for i in order if cosines[i] >= self.least)
            own = _bases(word)
            self._known[word] = tuple(
                w
                for w in near
                if w.isalpha() and len(w) > 1 and w not in FUNCTION_WORDS and own.isdisjoint(_bases(w))
            )


def _bases(word: str) -> frozenset[str]:
    if not word.isascii():
        return frozenset({word})
    return frozenset({word, *(lemma for pos in UPOS for lemma in lemmas(word, pos))})


def read_vectors(path: Path, max_words: int) -> tuple[tuple[str, ...], Floats]:
    """Words in lower case and their vectors of length 1, (n, d).

    Raises:
        DataError: The file is missing, or no table of vectors.
    """
    try:
        words, matrix = _from_npy(path, max_words) if path.suffix == ".npy" else _from_text(path, max_words)
    except OSError as error:
        raise DataError(f"cannot read the word vectors {path}: {error.strerror or error}") from error
    if not len(matrix) or matrix.ndim != 2 or matrix.shape[1] < _LEAST_DIMENSIONS:
        raise DataError(f"word vectors {path}: expected a matrix of words and numbers, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise DataError(f"word vectors {path}: expected finite numbers, got NaN or infinity")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)
    return tuple(words), unit


def _from_text(path: Path, max_words: int) -> tuple[list[str], Floats]:
    words: list[str] = []
    rows: list[Floats] = []
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        for number, line in enumerate(islice(file, max_words + 1), 1):
            parts = line.rstrip().split(" ")
            if number == 1 and len(parts) == 2 and parts[1].isdigit():
                continue  # word2vec writes the size of the table first
            if rows and len(parts) > len(rows[0]) + 1 and _is_number(parts[-len(rows[0])]):
                continue  # a token with spaces in it, such as ". . ." in GloVe's largest file
            try:
                row = np.array(parts[1:], dtype=np.float32)
            except ValueError:
                row = np.zeros(0, dtype=np.float32)
            if not len(row) or (rows and len(row) != len(rows[0])):
                expected = len(rows[0]) if rows else "some"
                raise DataError(
                    f"word vectors {path} line {number}: expected a word and {expected} numbers with single "
                    f"spaces between them, got {line[:40]!r}"
                )
            if len(rows) < max_words:
                words.append(parts[0].lower())
                rows.append(row)
    return words, np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _from_npy(path: Path, max_words: int) -> tuple[list[str], Floats]:
    try:
        matrix = np.load(path, allow_pickle=False, mmap_mode="r")
    except ValueError as error:
        raise DataError(f"word vectors {path}: not a plain NumPy file ({error})") from error
    words = _words_beside(path)
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.number) or len(words) != len(matrix):
        raise DataError(
            f"word vectors {path}: expected a matrix of numbers with one row for each of {len(words)} words, "
            f"got {matrix.dtype} of shape {matrix.shape}"
        )
    return [word.lower() for word in words[:max_words]], np.array(matrix[:max_words], dtype=np.float32)


def _words_beside(path: Path) -> list[str]:
    listed = path.with_suffix(".txt")
    if listed.is_file():
        return listed.read_text(encoding="utf-8", errors="replace").splitlines()
    tables = sorted(path.parent.glob("*.parquet"))
    if len(tables) != 1:
        raise DataError(
            f"word vectors {path}: expected their words, one a line, in {listed.name} (or the only .parquet "
            f"file beside it), found neither"
        )
    parquet: Any = require("pyarrow.parquet", package="pyarrow", purpose="words in a Parquet file")
    for column in parquet.read_table(tables[0]).to_pydict().values():
        if column and all(isinstance(word, str) for word in column):
            return list(column)
    raise DataError(f"word vectors {path}: expected a column of words in {tables[0].name}, found none")
