"""Several proposers as one: together, or one proposing and another one ranking."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Protocol, runtime_checkable

from rif_plugins.errors import UsageError
from rif_plugins.proposers.asking import ProposerWarning
from rif_plugins.proposers.base import (
    DEFAULT_MAX_CANDIDATES,
    BaseProposer,
    Candidate,
    Proposer,
    ProposerWrapper,
    TokenContext,
    joined_versions,
)

_LONGEST_REASON = 200


@runtime_checkable
class Ranker(Protocol):
    """Tells how well words fit into the place of a token."""

    name: str

    def fits(self, asked: Sequence[tuple[TokenContext, Sequence[str]]]) -> list[list[float | None]]:
        """For each text of each token how well it fits, relative to the token (1 is as well as the token).

        None where it cannot tell, such as for a word that its vocabulary lacks.
        """
        ...  # pragma: no cover


class CompositeProposer(BaseProposer):
    """The candidates of several proposers, in turn: the best of each, then the second best of each, ...

    In turn and not one proposer after the other, because all list their best first and the cap would
    otherwise leave the later ones nothing. Within a turn the order is that of the members. What two of them
    propose is kept once, with the source of the first. The rules of this package and the cap hold for the
    whole.

    A member that raises is left out of that call: one warning a member, a note for the record, and its tokens
    in ``last_failures``. When every member raises, the error of the last one is raised.

    Args:
        members: The proposers; they should not cap their candidates.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Attributes:
        last_failures: Tokens for which a member had no answer in the last call, with the reason.

    Raises:
        UsageError: There are no members, or a number is out of range.
    """

    def __init__(
        self,
        members: Sequence[Proposer],
        *,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not members:
            raise UsageError("a composite needs proposers: expected at least one, got none")
        self.members = tuple(members)
        self.name = "+".join(member.name for member in members)
        self.last_failures: dict[TokenContext, str] = {}
        self._warned: set[int] = set()
        self._notes: dict[str, None] = {}

    @property
    def version(self) -> str:
        """Those of the members."""
        return joined_versions(self.members, "+")

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """The members' candidates in turn."""
        self.last_failures = {}
        if not contexts:
            return []
        answers: list[Sequence[Iterable[Candidate]]] = []
        error: Exception | None = None
        for number, member in enumerate(self.members):
            try:
                answers.append(_asked(member, contexts))
                self.last_failures.update(getattr(member, "last_failures", {}))
            except Exception as raised:  # whatever a member written elsewhere raises
                error = raised
                self._note(number, raised)
                self.last_failures.update(dict.fromkeys(contexts, _reason(raised)))
        if error is not None and not answers:
            raise error
        return [_in_turn(lists) for lists in zip(*answers, strict=True)]

    def phrases(self, text: str) -> list[tuple[int, int]]:
        """Spans of several words that members have candidates for."""
        found: set[tuple[int, int]] = set()
        for member in self.members:
            found.update(getattr(member, "phrases", _no_phrases)(text))
        return sorted(found)

    def take_notes(self) -> list[str]:
        """What went wrong since the last call of this method, each reason once."""
        notes, self._notes = list(self._notes), {}
        for member in self.members:
            notes += getattr(member, "take_notes", list)()
        return list(dict.fromkeys(notes))

    def take_calls(self) -> int:
        """Calls to language models that the members made since the last call of this method."""
        return sum(int(getattr(member, "take_calls", int)()) for member in self.members)

    def __repr__(self) -> str:
        inside = ", ".join(map(repr, self.members))
        return f"CompositeProposer([{inside}], max_candidates={self.max_candidates})"

    def _note(self, number: int, error: Exception) -> None:
        name, reason = self.members[number].name, _reason(error)
        self._notes[f"proposer {name} failed: {reason}"] = None
        if number not in self._warned:
            self._warned.add(number)
            warnings.warn(
                f"the proposer {name} failed ({reason}); the run goes on with the others, and records name "
                "every example that it happened to",
                ProposerWarning,
                stacklevel=4,
            )


def _no_phrases(text: str) -> Sequence[tuple[int, int]]:
    return ()


def _asked(member: Proposer, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
    """A member's candidates; one that names no phrases is not asked about any."""
    if hasattr(member, "phrases"):
        return member.propose(contexts)
    words = [context for context in contexts if not any(char.isspace() for char in context.token)]
    found = dict(zip(words, member.propose(words), strict=True))
    return [found.get(context, ()) for context in contexts]


class RankedProposer(ProposerWrapper, BaseProposer):
    """The candidates of one proposer, those that another model finds fitting in the sentence, best first.

    ``wordnet&masked-lm:NAME`` is this: the lexicon knows which words can mean the same, the masked language
    model which of these senses the sentence is about. Candidates that the ranker cannot judge keep their
    order behind the others.

    Args:
        proposer: Proposes; it should not cap its candidates.
        ranker: Judges.
        least: A candidate stays when it is at least this share as likely as the token itself.
        max_candidates: Keep at most this many candidates a token; None keeps all.
        protected: Tells whether a word is sensitive.

    Raises:
        UsageError: A number is out of range.
    """

    def __init__(
        self,
        proposer: Proposer,
        ranker: Ranker,
        *,
        least: float = 0.01,
        max_candidates: int | None = DEFAULT_MAX_CANDIDATES,
        protected: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(max_candidates=max_candidates, protected=protected)
        if not least >= 0:
            raise UsageError(f"least must be at least 0, got {least}")
        self.proposer = proposer
        self.ranker = ranker
        self.least = least
        self.name = f"{proposer.name}&{ranker.name}"

    @property
    def version(self) -> str:
        """Those of proposer and ranker."""
        return joined_versions((self.proposer, self.ranker), "&")

    def generate(self, contexts: Sequence[TokenContext]) -> Sequence[Iterable[Candidate]]:
        """The fitting candidates."""
        found = dict(zip(contexts, self.proposer.propose(contexts), strict=True))
        asked = [
            (c, [candidate.text for candidate in candidates]) for c, candidates in found.items() if candidates
        ]
        fits = {c: fits for (c, _), fits in zip(asked, self.ranker.fits(asked), strict=True)}
        return [self._ranked(found[c], fits.get(c, ())) for c in contexts]

    def _ranked(self, candidates: Sequence[Candidate], fits: Sequence[float | None]) -> list[Candidate]:
        pairs = list(zip(fits, candidates, strict=True))
        kept = [(fit, c) for fit, c in pairs if fit is not None and fit >= self.least]
        return [c for _, c in sorted(kept, key=lambda pair: -pair[0])] + [
            c for fit, c in pairs if fit is None
        ]


def _in_turn(lists: Sequence[Iterable[Candidate]]) -> Iterator[Candidate]:
    for row in zip_longest(*lists):
        yield from (candidate for candidate in row if candidate is not None)


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:_LONGEST_REASON].rstrip(": ")
