"""One side of a pair, edited through the host's own transformation and constraints.

The host's constraints are applied to each side alone, against its own unedited text, never to the
joined text of the pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textattack import Attack
from textattack.shared import AttackedText

from rif_plugins.core.pairs import Edit, Pair, Side, Span
from rif_plugins.core.sides import Proposal, TokenAlignment
from rif_plugins.core.tokens import remove_span, replace_spans
from rif_plugins.text.constraints import BidirectionalEntailment
from rif_plugins.text.pairing import untouched, word_offsets


@dataclass(frozen=True)
class HostState:
    """A text of the host, the state it was made from, and all edits so far."""

    attacked_text: AttackedText
    parent: HostState | None = None
    edits: tuple[Edit, ...] = ()


class HostSide:
    """An ``EditableSide`` driven by a TextAttack ``Attack``.

    Args:
        attack: Supplies transformation and constraints.
        pair: The pair.
        side: Which side of it.
        alignment: ``align_tokens(pair)``.
        sensitive: Spans of all sensitive tokens of the side, swapped or not; never edited.
    """

    def __init__(
        self,
        attack: Attack,
        pair: Pair,
        side: Side,
        alignment: TokenAlignment,
        sensitive: Sequence[Span] = (),
    ) -> None:
        spans = alignment.spans(side)
        free = untouched(spans, sensitive)
        numbered = {position: span for position, span in enumerate(spans) if free[position]}
        self._set_up(attack, pair.text(side), side, numbered)

    def _set_up(self, attack: Attack, text: str, side: Side, spans: Mapping[int, Span]) -> None:
        self.attack = attack
        self.side = side
        self.unedited = text
        self.start = HostState(AttackedText(text))
        self._spans = spans
        self._proposed: dict[int, list[Proposal[HostState]]] = {}
        word_at = {span: index for index, (_, span) in enumerate(word_offsets(self.start.attacked_text))}
        _, allowed = attack.get_indices_to_order(self.start.attacked_text)
        allowed_words = set(allowed)
        self._words = {
            position: word_at[span] for position, span in spans.items() if word_at.get(span) in allowed_words
        }

    @property
    def positions(self) -> Sequence[int]:
        """Indices into the alignment that the host's pre-transformation constraints allow."""
        return list(self._words)

    def span(self, position: int) -> Span:
        """Where a token stands in the unedited text."""
        return self._spans[position]

    def n_tokens(self, position: int) -> int:
        """The host edits word by word."""
        return 1

    def text(self, state: HostState) -> str:
        """The text of a state."""
        return str(state.attacked_text.text)

    def without(self, position: int, mask_token: str | None = None) -> str:
        """The unedited text without one token."""
        span = self._spans[position]
        if mask_token is None:
            return remove_span(self.unedited, span)
        return replace_spans(self.unedited, {span: mask_token})

    def keys(self, position: int) -> Sequence[str]:
        """Replacements of one word of the unedited text."""
        return [proposal.key for proposal in self.propose(self.start, position)]

    def propose(self, state: HostState, position: int) -> list[Proposal[HostState]]:
        """Ask the host's transformation for replacements of one word."""
        if state is self.start:
            if position not in self._proposed:
                self._proposed[position] = self._asked(state, position)
            return self._proposed[position]
        return self._asked(state, position)

    def _asked(self, state: HostState, position: int) -> list[Proposal[HostState]]:
        current = state.attacked_text
        index = int(current.convert_from_original_idxs([self._words[position]])[0])
        if index < 0:
            return []
        transformed = self.attack.transformation(
            current,
            pre_transformation_constraints=self.attack.pre_transformation_constraints,
            indices_to_modify=[index],
        )
        span = self._spans[position]
        proposals = []
        for text in transformed:
            edit = self._edit(state, text, span)
            if edit is not None:
                edits = tuple(sorted((*state.edits, edit), key=lambda e: e.start))
                proposals.append(Proposal(edit.target, HostState(text, state, edits)))
        return proposals

    def combine(self, state: HostState, position: int, key: str) -> HostState | None:
        """Ask the transformation again on the current text and take the proposal of that name."""
        return next((p.state for p in self.propose(state, position) if p.key == key), None)

    def admissible(self, states: Sequence[HostState]) -> list[bool]:
        """Apply the host's constraints to each state."""
        verdicts = []
        for parent, group in _by_parent(states):
            if parent is None:
                verdicts += [True] * len(group)
                continue
            kept = self.attack.filter_transformations(
                [state.attacked_text for state in group],
                parent.attacked_text,
                self.start.attacked_text,
            )
            texts = {text.text for text in kept}
            verdicts += [state.attacked_text.text in texts for state in group]
        return verdicts

    def equivalence(self, states: Sequence[HostState]) -> list[float]:
        """``S_eq`` of states with the unedited text, by the entailment constraints; the lowest of several."""
        texts = [self.text(state) for state in states]
        values = [1.0] * len(texts)
        for constraint in self.attack.constraints:
            if isinstance(constraint, BidirectionalEntailment) and constraint.filter is not None:
                verdicts = constraint.verdicts(self.unedited, texts)
                values = [min(value, v.score) for value, v in zip(values, verdicts, strict=True)]
        return values

    def _edit(self, state: HostState, text: AttackedText, span: Span) -> Edit | None:
        """The replacement of one token, or None when the transformation changed anything else."""
        shift = sum(len(e.target) - (e.end - e.start) for e in state.edits if e.end <= span.start)
        before = state.attacked_text.text
        head, tail = before[: span.start + shift], before[span.end + shift :]
        new = text.text
        if new == before or len(new) < len(head) + len(tail):
            return None
        if not (new.startswith(head) and new.endswith(tail)):
            return None
        target = new[len(head) : len(new) - len(tail)]
        return Edit(self.side, span.start, span.end, self.unedited[span.start : span.end], target)


class HostMember(HostSide):
    """One text of I(v), its tokens numbered as in the original (see ``core.members``).

    Args:
        attack: Supplies transformation and constraints.
        text: The text.
        side: Whose edits these are in a record.
        spans: Tokens by position that no sensitive token touches.
    """

    def __init__(self, attack: Attack, text: str, side: Side, spans: Mapping[int, Span]) -> None:
        self._set_up(attack, text, side, spans)


def _by_parent(states: Sequence[HostState]) -> list[tuple[HostState | None, list[HostState]]]:
    """Runs of states that were made from the same state, in order."""
    groups: list[tuple[HostState | None, list[HostState]]] = []
    for state in states:
        if groups and groups[-1][0] is state.parent:
            groups[-1][1].append(state)
        else:
            groups.append((state.parent, [state]))
    return groups
