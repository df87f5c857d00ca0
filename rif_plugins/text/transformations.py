"""Transformations: proposed word swaps, and swapping or masking the sensitive tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from textattack.shared import AttackedText
from textattack.transformations import Transformation, WordSwap

from rif_plugins.cache import open_store
from rif_plugins.proposers import Proposer, TokenContext, settings_proposer
from rif_plugins.proposers.from_settings import asks_models
from rif_plugins.settings import Settings
from rif_plugins.similar import Lexicon, mask, similar_texts
from rif_plugins.text.pairing import lexicon_of, rewritten, word_offsets


class ProposedWordSwap(WordSwap):
    """Replaces words by the candidates of a proposer (WordNet, a table, ...).

    Sensitive tokens, negations and numbers are never added, dropped or changed. Works on single texts
    and, column by column, on pairs.

    Args:
        proposer: A proposer, or its specification such as ``"wordnet"``; None reads the settings.
        lexicon: What counts as sensitive; None loads the lexicon of the settings.
        max_candidates: Most candidates a word.
        settings: How language models are asked (limit of calls, prices, seed, temperature) and whether their
            answers are stored; None loads the settings. With ``--parallel`` each worker counts its own calls
            and stores nothing.
    """

    def __init__(
        self,
        proposer: Proposer | str | None = None,
        lexicon: Lexicon | None = None,
        max_candidates: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        settings = settings or Settings.load()
        if proposer is None or isinstance(proposer, str):
            lexicon = lexicon or lexicon_of(settings)
            settings = replace(
                settings,
                proposer=proposer or settings.proposer,
                max_candidates=max_candidates or settings.max_candidates,
            )
            store = None
            if asks_models(settings.proposer):
                store = open_store(cache=settings.cache, folder=settings.cache_dir, size=settings.cache_size)
            proposer = settings_proposer(settings, protected=lexicon.is_sensitive, store=store)
        super().__init__()
        self.proposer = proposer
        self.proposer_name = proposer.name
        self.n_calls = 0

    def _get_transformations(
        self, current_text: AttackedText, indices_to_modify: Iterable[int]
    ) -> list[AttackedText]:
        indices = sorted(indices_to_modify)
        contexts = self._contexts(current_text, indices)
        self.n_calls += len(contexts)
        transformed = []
        for index, candidates in zip(indices, self.proposer.propose(contexts), strict=True):
            word = current_text.words[index]
            for candidate in candidates:
                if candidate.text != word:
                    transformed.append(current_text.replace_word_at_index(index, candidate.text))
        return transformed

    @staticmethod
    def _contexts(text: AttackedText, indices: Sequence[int]) -> list[TokenContext]:
        offsets = word_offsets(text)
        columns = list(text._text_input.values())
        contexts = []
        for index in indices:
            column, span = offsets[index]
            contexts.append(TokenContext(columns[column], span.start, span.end))
        return contexts

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["proposer_name"]


class _SensitiveTransformation(Transformation):
    """What swap and mask share: a lexicon and some of its attributes."""

    def __init__(self, lexicon: Lexicon | None = None, attributes: Sequence[str] | None = None) -> None:
        settings = Settings.load()
        self.lexicon = lexicon or lexicon_of(settings)
        self.attributes = tuple(attributes) if attributes is not None else settings.sensitive

    def _get_transformations(
        self, current_text: AttackedText, indices_to_modify: Iterable[int]
    ) -> list[AttackedText]:
        allowed = set(indices_to_modify)
        columns = [str(value) for value in current_text._text_input.values()]
        transformed = []
        for number, column in enumerate(columns):
            for text in self._rewrite(column):
                new = rewritten(current_text, [*columns[:number], text, *columns[number + 1 :]])
                changed = current_text.all_words_diff(new)
                if new.text != current_text.text and changed <= allowed | set(_shifted(current_text, new)):
                    transformed.append(new)
        return transformed

    def _rewrite(self, text: str) -> list[str]:
        raise NotImplementedError

    def extra_repr_keys(self) -> list[str]:
        """Fields shown in the host's print of the attack."""
        return ["attributes"]


def _shifted(old: AttackedText, new: AttackedText) -> list[int]:
    """Words that only moved: equal in both texts, at another index."""
    index_map = new.attack_attrs["original_index_map"]
    return [i for i, j in enumerate(index_map) if j >= 0 and j != i and old.words[i] == new.words[j]]


class SensitiveTokenSwap(_SensitiveTransformation):
    """Replaces a text by the texts of similar individuals.

    Args:
        lexicon: Sensitive lexicon; None loads that of the settings.
        attributes: Attributes to change; None is all of them.
        max_counterparts: Most similar texts of one text.
        seed: Seed of the sample where there are more.
    """

    def __init__(
        self,
        lexicon: Lexicon | None = None,
        attributes: Sequence[str] | None = None,
        max_counterparts: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(lexicon, attributes)
        self.max_counterparts = max_counterparts
        self.seed = seed

    def _rewrite(self, text: str) -> list[str]:
        pairs = similar_texts(
            text, self.lexicon, self.attributes, max_counterparts=self.max_counterparts, seed=self.seed
        )
        return [pair.similar for pair in pairs]


class SensitiveTokenMask(_SensitiveTransformation):
    """Replaces every sensitive token by one placeholder (the mask M of the definition of I(v))."""

    def _rewrite(self, text: str) -> list[str]:
        return [mask(text, self.lexicon, self.attributes)]
