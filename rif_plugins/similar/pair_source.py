"""From a text to its pairs: the lexicon, the attributes to change, and the cap on counterparts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rif_plugins.core.pairs import Pair, Span
from rif_plugins.errors import UsageError
from rif_plugins.similar.alignment import pair_from_texts
from rif_plugins.similar.controls import control_texts
from rif_plugins.similar.counterparts import similar_texts
from rif_plugins.similar.intersections import TIMES, canonical, factors_of
from rif_plugins.similar.lexicon import OPTIONAL, Lexicon
from rif_plugins.similar.spans import find_spans


class PairSource:
    """Who counts as similar: builds the pairs of a text.

    Args:
        lexicon: Sensitive lexicon; None loads the embedded one.
        attributes: Attributes to change; None is all of the lexicon. Besides attributes of the lexicon these
            may be intersections (``gender*race``) and the optional embedded lists (``marital_status``,
            ``names``, and ``gender_names``, which is the attribute gender with first names), which are then
            added to the lexicon.
        max_counterparts: Most similar texts of one text; None is all.
        seed: Seed of the sample where there are more.

    Raises:
        UsageError: An attribute is not in the lexicon, or an intersection is malformed.
    """

    def __init__(
        self,
        lexicon: Lexicon | str | Path | None = None,
        attributes: Sequence[str] | None = None,
        max_counterparts: int | None = 8,
        seed: int = 0,
    ) -> None:
        loaded = lexicon if isinstance(lexicon, Lexicon) else Lexicon.load(lexicon)
        self.lexicon = with_optional(loaded, attributes)
        self.attributes: tuple[str, ...] | None = None
        unknown: list[str] = []
        if attributes is not None:
            asked = [tuple(map(_attribute_of, factors_of(attribute))) for attribute in attributes]
            self.attributes = tuple(dict.fromkeys(canonical(TIMES.join(factors)) for factors in asked))
            unknown = sorted({f for factors in asked for f in factors} - set(self.lexicon.attributes))
        if unknown:
            raise UsageError(
                f"sensitive attribute {unknown[0]!r} is not in the lexicon: "
                f"expected some of {', '.join(dict.fromkeys((*self.lexicon.attributes, *OPTIONAL)))}"
            )
        self.max_counterparts = max_counterparts
        self.seed = seed

    def pairs_of(self, text: str, similar: str | None = None) -> list[Pair]:
        """All pairs of one text; empty when it holds no sensitive token.

        Args:
            text: The original.
            similar: A ready similar text; the lexicon is then not asked.
        """
        if similar is not None:
            return [pair_from_texts(text, similar)] if similar != text else []
        return similar_texts(
            text, self.lexicon, self.attributes, max_counterparts=self.max_counterparts, seed=self.seed
        )

    def controls_of(self, text: str, max_controls: int | None = 8) -> list[Pair]:
        """No-effect controls of one text; see :func:`control_texts`."""
        return control_texts(text, self.lexicon, self.attributes, max_controls=max_controls, seed=self.seed)

    def as_controls(self) -> PairSource:
        """A source whose pairs are the no-effect controls of a text, for a run beside the main one."""
        return _ControlSource(self.lexicon, self.attributes, self.max_counterparts, self.seed)

    def sensitive_spans(self, text: str) -> list[Span]:
        """Spans of all sensitive tokens of a text, of every attribute of the lexicon."""
        return sensitive_spans(text, self.lexicon)


class _ControlSource(PairSource):
    def pairs_of(self, text: str, similar: str | None = None) -> list[Pair]:
        """Swaps between names or terms of the same group."""
        return self.controls_of(text, self.max_counterparts)


def embedded_and(lexicon: Path | str | None, attributes: Sequence[str] | None = None) -> Lexicon:
    """The embedded lexicon, with what is named merged into it.

    Args:
        lexicon: A user's own file, or an optional embedded list.
        attributes: Attributes to change; optional embedded lists among them are added.
    """
    embedded = Lexicon.load()
    merged = embedded if lexicon is None else embedded.merged_with(Lexicon.load(lexicon))
    return with_optional(merged, attributes)


def with_optional(lexicon: Lexicon, attributes: Sequence[str] | None) -> Lexicon:
    """``lexicon`` with the optional embedded lists that ``attributes`` name."""
    asked = {factor for attribute in attributes or () for factor in factors_of(attribute)}
    for name in OPTIONAL:
        if name in asked and name not in lexicon.attributes:
            lexicon = lexicon.merged_with(Lexicon.load(name))
    return lexicon


def _attribute_of(name: str) -> str:
    """The attribute that an optional list belongs to; any other name is its own."""
    return Lexicon.load(name).attributes[0] if name in OPTIONAL else name


def sensitive_spans(text: str, lexicon: Lexicon) -> list[Span]:
    """Spans of the sensitive tokens of a text, in order."""
    return sorted((Span(s.start, s.end) for s in find_spans(text, lexicon)), key=lambda s: s.start)


def untouched(spans: Iterable[Span], sensitive: Sequence[Span]) -> list[bool]:
    """Whether each span is free of sensitive tokens; both lists in order of position."""
    free, passed = [], 0
    for span in spans:
        while passed < len(sensitive) and sensitive[passed].end <= span.start:
            passed += 1
        free.append(passed == len(sensitive) or sensitive[passed].start >= span.end)
    return free
