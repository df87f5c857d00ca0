"""Keep what a dear proposer (a language model) proposed, across runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rif_plugins.core.stores import PredictionStore, namespace, pair_keys
from rif_plugins.proposers.base import (
    Candidate,
    Proposer,
    ProposerWrapper,
    TokenContext,
    is_version,
    version_of,
)


class StoredProposer(ProposerWrapper):
    """Asks a proposer only for tokens in texts that it was not asked for before.

    Tokens that the proposer names in its attribute ``last_failures`` are not kept: that a model did not
    answer says nothing about them, and another run asks again.

    Put it around the bare proposer and the rules of this package around both:
    ``GuardedProposer(StoredProposer(model, store), protected=...)``. So the store keeps what the model said,
    and other rules need no new calls.

    Args:
        proposer: The proposer.
        store: Where its candidates are kept; None keeps none.
        version: Which weights or data propose; by default the proposer's attribute ``version``. Without a
            version nothing is kept, because a changed proposer must never get old answers.
        settings: Whatever else decides its candidates (prompt, number asked for, temperature); by default the
            proposer's attribute ``settings``, if it has one.

    Attributes:
        n_calls: Tokens that the proposer was asked for.
        stored_hits: Tokens answered from the store.
    """

    def __init__(
        self,
        proposer: Proposer,
        store: PredictionStore | None,
        *,
        version: str | None = None,
        settings: str | None = None,
    ) -> None:
        self.proposer = proposer
        self.name = proposer.name
        self.n_calls = 0
        self.stored_hits = 0
        self._failures: dict[TokenContext, str] = {}
        self._version = version_of(proposer) if version is None else version
        settings = str(getattr(proposer, "settings", "") or "") if settings is None else settings
        self._space = namespace("proposer", self.name, self._version, settings)
        self._store = store if is_version(self._version) else None

    @property
    def version(self) -> str:
        """That of the proposer, or the one that was given in its place."""
        return self._version

    @property
    def last_failures(self) -> dict[TokenContext, str]:
        """Tokens that the last call of :meth:`propose` got no answer for, with the reason."""
        return dict(self._failures)

    @property
    def is_storing(self) -> bool:
        """Whether candidates are kept."""
        return self._store is not None

    def propose(self, contexts: Sequence[TokenContext]) -> list[tuple[Candidate, ...]]:
        """One tuple of candidates a context, as the proposer gives them."""
        distinct = list(dict.fromkeys(contexts))
        found: dict[TokenContext, tuple[Candidate, ...]] = {}
        keys: list[bytes] = []
        if self._store is not None and distinct:
            keys = pair_keys([(f"{c.start}:{c.end}", c.text) for c in distinct], self._space)
            for context, value in zip(distinct, self._store.get_many(keys), strict=True):
                candidates = None if value is None else _read(value)
                if candidates is not None:
                    found[context] = candidates
        self.stored_hits += len(found)
        self._failures = {}
        new = [context for context in distinct if context not in found]
        if new:
            proposed = dict(zip(new, self.proposer.propose(new), strict=True))
            self.n_calls += len(new)
            self._failures = dict(getattr(self.proposer, "last_failures", {}))
            found.update(proposed)
            if self._store is not None:
                key_of = dict(zip(distinct, keys, strict=True))
                answered = [context for context in new if context not in self._failures]
                self._store.set_many({key_of[context]: _written(proposed[context]) for context in answered})
        return [found[context] for context in contexts]

    def __repr__(self) -> str:
        return f"StoredProposer({self.proposer!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the store: a worker wraps the proposer again where it wants one."""
        return {**self.__dict__, "_store": None}


def _written(candidates: Sequence[Candidate]) -> bytes:
    return json.dumps([[c.text, c.source] for c in candidates]).encode("ascii")


def _read(value: bytes) -> tuple[Candidate, ...] | None:
    """The candidates of a stored value; None where it is not what ``_written`` writes."""
    try:
        rows = json.loads(value)
    except (ValueError, RecursionError):
        return None
    is_sound = isinstance(rows, list) and all(
        isinstance(row, list) and len(row) == 2 and all(isinstance(item, str) for item in row) for row in rows
    )
    return tuple(Candidate(text, source) for text, source in rows) if is_sound else None
