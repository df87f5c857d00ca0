"""Constraints: bidirectional entailment of every side, and protection of sensitive tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from textattack.constraints import Constraint, PreTransformationConstraint
from textattack.shared import AttackedText

from rif_plugins.core.pairs import Span
from rif_plugins.entailment import EntailmentFilter, EntailmentScorer, Verdict, load_scorer
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon
from rif_plugins.text.pairing import lexicon_of, sensitive_spans, untouched, word_offsets

_KNOWN_TEXTS = 64


class BidirectionalEntailment(Constraint):
    """Keeps an edited text only if it and the unedited text entail each other.

    ``S_eq(a, b) = P(a entails b) * P(b entails a) >= min_equivalence``. On a pair every side is judged
    against its own unedited text. Composes with any TextAttack recipe.

    Args:
        scorer: A scorer, or its specification: ``"embedded"``, ``"hf:NAME"``; None reads the settings.
        min_equivalence: Least ``S_eq`` of an admissible edit.
        scope: ``"sentence"`` (default) or ``"word"``.
        veto: ``"lexicon"``: also refuse antonyms, siblings and cousins of WordNet; ``"none"``: do not;
            ``"auto"``: with the embedded scorer.
        compare_against_original: Always True: drift over several edits must not go unseen.
    """

    def __init__(
        self,
        scorer: EntailmentScorer | str | None = None,
        min_equivalence: float | None = None,
        scope: Literal["sentence", "word"] | None = None,
        veto: Literal["auto", "lexicon", "none"] | None = None,
        compare_against_original: bool = True,
    ) -> None:
        if not compare_against_original:
            raise ValueError(
                "BidirectionalEntailment compares with the original text: expected "
                "compare_against_original=True, got False; "
                "several small drifts would add up to another meaning"
            )
        super().__init__(compare_against_original=True)
        settings = Settings.load()
        if scorer is None or isinstance(scorer, str):
            scorer = load_scorer(scorer or settings.entailment)
        self.min_equivalence = settings.min_equivalence if min_equivalence is None else min_equivalence
        self.scope = scope or settings.scope
        self.veto = veto or settings.veto
        self.scorer_name = "none" if scorer is None else f"{scorer.name} {scorer.version}"
        self.filter = (
            None
            if scorer is None
            else EntailmentFilter(
                scorer,
                min_equivalence=self.min_equivalence,
                scope=self.scope,
                veto=None if self.veto == "none" else self.veto,
            )
        )

    @property
    def n_rows(self) -> int:
        """Scorer rows so far."""
        return 0 if self.filter is None else self.filter.rows

    def clear_cache(self) -> None:
        """Called by the host after each example."""
        if self.filter is not None:
            self.filter.clear()

    def verdicts(self, original: str, edited: Sequence[str]) -> list[Verdict]:
        """Verdicts on edited texts of one side, with both directions; empty without a filter."""
        return [] if self.filter is None else self.filter.check(original, edited)

    def _check_constraint_many(
        self, transformed_texts: list[AttackedText], reference_text: AttackedText
    ) -> list[AttackedText]:
        if self.filter is None or not transformed_texts:
            return list(transformed_texts)
        reference = list(reference_text._text_input.values())
        pairs: list[tuple[str, str]] = []
        owners: list[int] = []
        for number, text in enumerate(transformed_texts):
            for before, after in zip(reference, text._text_input.values(), strict=True):
                if before != after:
                    pairs.append((before, after))
                    owners.append(number)
        accepted = self.filter.accepts(pairs)
        rejected = {owner for owner, ok in zip(owners, accepted, strict=True) if not ok}
        return [text for number, text in enumerate(transformed_texts) if number not in rejected]

    def _check_constraint(self, transformed_text: AttackedText, reference_text: AttackedText) -> bool:
        return bool(self._check_constraint_many([transformed_text], reference_text))

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["scorer_name", "min_equivalence", "scope", "veto", *super().extra_repr_keys()]


class SensitiveTokenProtection(PreTransformationConstraint):
    """Forbids any change of a sensitive token, on single texts and on both columns of a pair.

    Args:
        lexicon: What counts as sensitive; None loads the lexicon of the settings.
    """

    def __init__(self, lexicon: Lexicon | None = None) -> None:
        self.lexicon = lexicon or lexicon_of(Settings.load())
        # The host asks once for each position of a text; finding the spans of a long text takes seconds.
        self._known: dict[str, list[Span]] = {}

    def _get_modifiable_indices(self, current_text: AttackedText) -> set[int]:
        modifiable: set[int] = set()
        words = word_offsets(current_text)
        for number, content in enumerate(current_text._text_input.values()):
            own = [(index, span) for index, (column, span) in enumerate(words) if column == number]
            free = untouched([span for _, span in own], self._spans(str(content)))
            modifiable |= {index for (index, _), is_free in zip(own, free, strict=True) if is_free}
        return modifiable

    def _spans(self, content: str) -> list[Span]:
        if content not in self._known:
            if len(self._known) >= _KNOWN_TEXTS:
                self._known.clear()
            self._known[content] = sensitive_spans(content, self.lexicon)
        return self._known[content]

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without the remembered spans."""
        return {**self.__dict__, "_known": {}}
