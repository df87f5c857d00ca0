"""Constraints: bidirectional entailment of every side, and protection of sensitive tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from textattack.constraints import Constraint, PreTransformationConstraint
from textattack.shared import AttackedText

from rif_plugins.core.pairs import Span
from rif_plugins.entailment import EntailmentFilter, EntailmentScorer, Verdict, load_scorer
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon, find_spans
from rif_plugins.text.pairing import lexicon_of, word_offsets


class BidirectionalEntailment(Constraint):
    """Keeps an edited text only if it and the unedited text entail each other.

    ``S_eq(a, b) = P(a entails b) * P(b entails a) >= min_equivalence``. On a pair every side is judged
    against its own unedited text. Composes with any TextAttack recipe.

    Args:
        scorer: A scorer, or its specification: ``"embedded"``, ``"hf:NAME"``; None reads the settings.
        min_equivalence: Least ``S_eq`` of an admissible edit.
        scope: ``"sentence"`` (default) or ``"word"``.
        veto: ``"lexicon"``: also refuse antonyms, siblings and one-way pairs of WordNet; ``"none"``: do not.
        compare_against_original: Always True: drift over several edits must not go unseen.
    """

    def __init__(
        self,
        scorer: EntailmentScorer | str | None = None,
        min_equivalence: float | None = None,
        scope: Literal["sentence", "word"] | None = None,
        veto: Literal["lexicon", "none"] | None = None,
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
                veto="lexicon" if self.veto == "lexicon" else None,
            )
        )

    @property
    def n_rows(self) -> int:
        """Scorer rows so far."""
        return 0 if self.filter is None else self.filter.rows

    def verdicts(self, original: str, edited: Sequence[str]) -> list[Verdict]:
        """Verdicts on edited texts of one side, with both directions."""
        if self.filter is None:
            return [Verdict(1.0, 1.0, 1.0, True, "no filter") for _ in edited]
        return self.filter.check(original, edited)

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

    def _get_modifiable_indices(self, current_text: AttackedText) -> set[int]:
        columns = [str(value) for value in current_text._text_input.values()]
        sensitive = [
            [Span(span.start, span.end) for span in find_spans(column, self.lexicon)] for column in columns
        ]
        return {
            index
            for index, (column, span) in enumerate(word_offsets(current_text))
            if not any(span.overlaps(other) for other in sensitive[column])
        }

    def __call__(self, current_text: AttackedText, transformation: Any) -> set[int]:
        """Word indices that may be changed."""
        indices: set[int] = super().__call__(current_text, transformation)
        return indices
