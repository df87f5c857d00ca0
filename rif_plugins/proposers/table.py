"""Proposer that reads its candidates from a table made beforehand, such as one written by an LLM run."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rif_plugins.core.letter_case import case_pattern, fit_case
from rif_plugins.core.pairs import Span
from rif_plugins.core.tokens import word_spans
from rif_plugins.errors import DataError, UsageError
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    TokenContext,
)
from rif_plugins.proposers.table_rows import TableFile, TableRow, read_table

__all__ = ["TableProposer", "TableRow", "read_table"]


class TableProposer(BaseProposer):
    """Candidates from a file, in the order of its rows, written in the letter case of the token.

    The file is read through once, and what stays in memory is where each row stands, 20 bytes a row. Rows
    are read again when a text asks for them, so the file must stay as it is during a run.

    Args:
        path: The table; see :func:`read_table`.
        min_score: Leave out rows with a ``score`` below it; rows without a score stay.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Raises:
        DataError: The table cannot be read.
        UsageError: A number is out of range.
    """

    name = "table"

    def __init__(
        self,
        path: Path | str,
        *,
        min_score: float = 0.0,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not 0 <= min_score <= 1:
            raise UsageError(f"min_score must be between 0 and 1, got {min_score}")
        self.path = Path(path)
        self.min_score = min_score
        self._file = TableFile(self.path)
        self._state = _state(self.path)
        self._index = _Index.of(self._file, min_score)
        self._version = ""

    @property
    def version(self) -> str:
        """Digest of the file.

        Raises:
            DataError: The file has changed since it was read, or cannot be read any more.
        """
        if not self._version:
            version = f"sha256:{_digest(self.path)[:12]}"
            self._refuse_changed()
            self._version = version
        return self._version

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Rows of each context's token.

        Raises:
            DataError: The file has changed since it was read.
        """
        places = [self._index.places(context.token, context.hash) for context in contexts]
        if not any(places):
            return [()] * len(contexts)
        self._refuse_changed()
        with self.path.open("rb") as file:
            return [
                tuple(self._candidates(context, self._rows(file, found)))
                for context, found in zip(contexts, places, strict=True)
            ]

    def phrases(self, text: str) -> list[tuple[int, int]]:
        """Where tokens of two words or more stand for which there are candidates, ``(start, end)``.

        Disjoint and in reading order; where several begin at one word, the longest.

        Raises:
            DataError: The file has changed since it was read.
        """
        spans = word_spans(text) if self._index.openings else []
        found: list[TokenContext] = []
        number = 0
        while number < len(spans):
            context = self._phrase(text, spans[number:])
            if context is not None:
                found.append(context)
            end = spans[number].end if context is None else context.end
            while number < len(spans) and spans[number].start < end:
                number += 1
        kept = zip(found, self.propose(found), strict=True)
        return [(context.start, context.end) for context, candidates in kept if candidates]

    def __repr__(self) -> str:
        name, tokens = str(self.path), self._index.n_tokens
        return f"TableProposer({name!r}, tokens={tokens}, max_candidates={self.max_candidates})"

    def _refuse_changed(self) -> None:
        if _state(self.path) != self._state:
            raise DataError(f"candidate table {self.path} has changed since it was read: start again")

    def _phrase(self, text: str, spans: Sequence[Span]) -> TokenContext | None:
        """The longest phrase of the table that begins with the first of some words."""
        first = text[spans[0].start : spans[0].end].casefold()
        for n_words in self._index.openings.get(first, ()):
            if n_words <= len(spans):
                context = TokenContext(text, spans[0].start, spans[n_words - 1].end)
                if self._index.places(context.token, context.hash):
                    return context
        return None

    def _rows(self, file: BinaryIO, places: Sequence[tuple[int, int]]) -> Iterator[TableRow]:
        for start, size in places:
            file.seek(start)
            yield self._file.row(file.read(size))

    def _candidates(self, context: TokenContext, rows: Iterable[TableRow]) -> Iterator[Candidate]:
        pattern, token, here = case_pattern(context.token), context.token.casefold(), context.hash
        for row in rows:
            # Another token means that two keys have the same digest.
            if row.token.casefold() == token and row.context_hash in ("", here):
                yield Candidate(fit_case(pattern, row.candidate), row.source)


class _Index:
    """Where the rows of each token and context stand in the file.

    Args:
        keys: Digests of token and context, sorted.
        starts, sizes: In bytes; equal keys in the order of the file.
        n_tokens: Different tokens.
        openings: First word of the tokens that have several, and how many words they have, most first.
    """

    def __init__(
        self,
        keys: NDArray[Any],
        starts: NDArray[Any],
        sizes: NDArray[Any],
        n_tokens: int,
        openings: Mapping[str, tuple[int, ...]],
    ) -> None:
        self._keys, self._starts, self._sizes = keys, starts, sizes
        self.n_tokens = n_tokens
        self.openings = openings

    @classmethod
    def of(cls, file: TableFile, min_score: float) -> _Index:
        """Read the whole file; rows that were refused or score too low are left out."""
        keys, starts, sizes = array("Q"), array("Q"), array("I")
        tokens: set[int] = set()
        openings: dict[str, set[int]] = {}
        for start, end, row in file.rows():
            if row.accepted and (row.score is None or row.score >= min_score):
                token = row.token.casefold()
                tokens.add(_key(token, ""))
                words = [] if token.isalnum() else word_spans(token)
                if len(words) > 1:
                    openings.setdefault(token[words[0].start : words[0].end], set()).add(len(words))
                keys.append(_key(token, row.context_hash))
                starts.append(start)
                sizes.append(end - start)
        by_key = np.frombuffer(keys, dtype=np.uint64) if keys else np.zeros(0, np.uint64)
        order = np.argsort(by_key, kind="stable")
        return cls(
            by_key[order],
            np.asarray(starts, dtype=np.uint64)[order],
            np.asarray(sizes, dtype=np.uint32)[order],
            len(tokens),
            {first: tuple(sorted(lengths, reverse=True)) for first, lengths in openings.items()},
        )

    def places(self, token: str, context_hash: str) -> list[tuple[int, int]]:
        """Start and size of the rows for a token in a context or in any, in the order of the file."""
        found: list[tuple[int, int]] = []
        folded = token.casefold()
        for key in {_key(folded, context_hash), _key(folded, "")}:
            first, last = (np.searchsorted(self._keys, np.uint64(key), side) for side in ("left", "right"))
            rows = slice(int(first), int(last))
            found += zip(self._starts[rows].tolist(), self._sizes[rows].tolist(), strict=True)
        return sorted(found)


def _key(token: str, context_hash: str) -> int:
    text = f"{context_hash}:{token}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError(f"cannot read the candidate table {path}: {error.strerror}") from error
    return digest.hexdigest()


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
