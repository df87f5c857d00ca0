"""What a proposer is, and the rules that hold for every one of them.

:class:`BaseProposer` owns the loop, the guard, names, the article rule, duplicates and the cap; a proposer
of a kind writes one method.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

from rif_plugins.core.articles import article_fits
from rif_plugins.core.letter_case import case_pattern
from rif_plugins.errors import UsageError
from rif_plugins.proposers.guard import Guard
from rif_plugins.proposers.names import is_name

DEFAULT_MAX_CANDIDATES = 12
UNKNOWN = "unknown"
"""The version of what does not say which one it is."""

_WINDOW = 64  # characters looked at on each side; enough for any neighbouring word
_PREVIOUS = re.compile(r"([\w'’\-]+)[^\S\n]*[\"“‘'(\[]?\Z")
_NEXT = re.compile(r"[^\S\n]+([\w'’\-]*\w)")


@dataclass(frozen=True, slots=True)
class TokenContext:
    """One token in its text.

    Attributes:
        text: The whole text.
        start, end: Character offsets of the token in ``text``, end exclusive.
    """

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end <= len(self.text):
            raise UsageError(
                f"a token needs 0 <= start < end <= {len(self.text)} (the text's length), "
                f"got start={self.start}, end={self.end}"
            )

    @property
    def token(self) -> str:
        """The token itself."""
        return self.text[self.start : self.end]

    @property
    def previous_word(self) -> str:
        """The word right before the token, an opening quote or bracket aside; ``""`` across other marks."""
        match = _PREVIOUS.search(self.text[max(0, self.start - _WINDOW) : self.start])
        return match.group(1) if match else ""

    @property
    def next_word(self) -> str:
        """The word right after the token with only white space between, or ``""``."""
        match = _NEXT.match(self.text[self.end : self.end + _WINDOW])
        return match.group(1) if match else ""

    @property
    def hash(self) -> str:
        """16 hex digits that name this token in this text, the same on every machine."""
        # A lone surrogate cannot be encoded strictly; it must not stop a run.
        key = f"{self.start}:{self.end}:{self.text}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(key).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replacement for the token of a context.

    Attributes:
        text: What to write instead, letter case and inflection already fitted.
        source: Which proposer it comes from, such as ``"wordnet"``.
    """

    text: str
    source: str


@runtime_checkable
class Proposer(Protocol):
    """Generates replacements; whether they keep the meaning is decided by an entailment filter."""

    name: str

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """One tuple of candidates a context: stable order, no duplicates, best first."""
        ...  # pragma: no cover


class PhraseSource(Protocol):
    """A proposer that also tells which stretches of several words it has candidates for."""

    def phrases(self, text: str) -> list[tuple[int, int]]:
        """Where they stand, ``(start, end)``."""
        ...  # pragma: no cover


def version_of(proposer: object) -> str:
    """What a proposer (or a ranker) calls the data or weights behind it, ``""`` where it does not say.

    A run that goes on compares it, and stores keep candidates under it: it must change whenever the
    candidates may.
    """
    return str(getattr(proposer, "version", "") or "")


def joined_versions(parts: Iterable[object], mark: str) -> str:
    """The versions of several parts as one, ``""`` where none of them says; see :func:`is_version`."""
    versions = [version_of(part) for part in parts]
    return f" {mark} ".join(version or UNKNOWN for version in versions) if any(versions) else ""


def is_version(version: str) -> bool:
    """Whether a version names all that is behind a proposer, so that its candidates may be kept under it."""
    return version != "" and UNKNOWN not in version.split()


class ProposerWrapper:
    """What every proposer around another one passes on: all that the other one tells.

    Attributes:
        proposer: The wrapped one.
    """

    proposer: Proposer

    @property
    def version(self) -> str:
        """That of the wrapped proposer; see :func:`version_of`."""
        return version_of(self.proposer)

    @property
    def phrases(self) -> Callable[[str], list[tuple[int, int]]]:
        """The method of the wrapped proposer.

        Raises:
            AttributeError: It has none, so that ``hasattr`` tells whether it knows phrases.
        """
        return cast(PhraseSource, self.proposer).phrases

    @property
    def last_failures(self) -> dict[TokenContext, str]:
        """What the wrapped proposer says about tokens that it could not answer for, if it does."""
        return dict(getattr(self.proposer, "last_failures", {}))

    def take_notes(self) -> list[str]:
        """What went wrong in the wrapped proposer since the last call of this method, if it tells."""
        return list(getattr(self.proposer, "take_notes", list)())

    def take_calls(self) -> int:
        """Calls that the wrapped proposer made since the last call of this method, if it tells."""
        return int(getattr(self.proposer, "take_calls", int)())


class BaseProposer(ABC):
    """A proposer that keeps the rules of this package; subclasses write :meth:`generate`.

    Args:
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive. Tokens that hold such a word get no candidates, and
            candidates that hold one are dropped, as with negations and numbers. Names get none either, see
            :func:`rif_plugins.proposers.names.is_name`.

    Raises:
        UsageError: ``max_candidates`` is below 1.
    """

    name: str

    def __init__(
        self,
        *,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        if max_candidates is not None and max_candidates < 1:
            raise UsageError(f"max_candidates must be at least 1 or None, got {max_candidates}")
        self.max_candidates = max_candidates
        self.guard = Guard(protected)

    @abstractmethod
    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Candidates for each context, best first; the caller applies guard, article rule and cap."""

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """One tuple of candidates a context: stable order, no duplicates, never the token itself."""
        open_contexts = [context for context in dict.fromkeys(contexts) if self._is_open(context)]
        generated = dict(zip(open_contexts, self.generate(open_contexts), strict=True))
        kept = {context: self._keep(context, found) for context, found in generated.items()}
        return [kept.get(context, ()) for context in contexts]

    def _is_open(self, context: TokenContext) -> bool:
        follows = context.text[context.end : context.end + 2].lower()
        if follows in ("'t", "’t") or context.next_word.lower() in ("n't", "n’t"):
            return False  # the torn-off front of "don't", "won't", "ca n't"
        if not context.token.strip() or self.guard.is_guarded(context.token):
            return False
        return not is_name(context.text, context.start, context.end)

    def _keep(self, context: TokenContext, found: Iterable[Candidate]) -> tuple[Candidate, ...]:
        kept: dict[str, Candidate] = {}
        token = context.token
        previous = context.previous_word
        for candidate in found:
            folded = candidate.text.casefold()
            if not candidate.text.strip() or folded == token.casefold() or folded in kept:
                continue
            if not article_fits(previous, _spoken(token, candidate.text)):
                continue
            if not self.guard.allows(token, candidate.text):
                continue
            kept[folded] = candidate
            if len(kept) == self.max_candidates:
                break
        return tuple(kept.values())


class GuardedProposer(ProposerWrapper, BaseProposer):
    """Puts the rules of this package on a proposer written elsewhere.

    Args:
        proposer: The proposer; it should not cap its candidates, because the cap comes after the rules.
        max_candidates: See :class:`BaseProposer`.
        protected: See :class:`BaseProposer`.
    """

    def __init__(
        self,
        proposer: Proposer,
        *,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        self.proposer = proposer
        self.name = proposer.name

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """Ask the wrapped proposer."""
        return self.proposer.propose(contexts)


def _spoken(token: str, candidate: str) -> str:
    # In a text that shouts, capitals do not mean that letters are read one by one.
    return candidate.lower() if case_pattern(token) == "upper" else candidate
