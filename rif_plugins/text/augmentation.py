"""``textattack augment --recipe rif-similar``: add the texts of similar individuals to a data set."""

from __future__ import annotations

from typing import Any

from textattack.augmentation import Augmenter
from textattack.augmentation.augmenter import AugmentationResult
from textattack.metrics.quality_metrics import Perplexity, USEMetric
from textattack.shared import AttackedText

from rif_plugins.errors import UsageError
from rif_plugins.settings import Settings
from rif_plugins.text.pairing import PairSource
from rif_plugins.text.transformations import SensitiveTokenSwap


class RIFSimilarAugmenter(Augmenter):
    """Augments a text by those of I(v): the same individual with another value of a sensitive attribute.

    A text without a sensitive token has no augmentation; the host's own recipes return such a text unchanged.
    Attributes, lexicon and seed are those of ``rif.toml`` and ``RIF_*``.

    Args:
        pct_words_to_swap: Not used: all tokens of an attribute are swapped together, or none.
        transformations_per_example: Most similar texts of one text; the attributes take turns.
        pair_source: Who counts as similar; None builds it from the settings.
        **kwargs: ``high_yield`` returns all similar texts; ``fast_augment`` changes nothing;
            ``enable_advanced_metrics`` adds the host's perplexity and USE score.

    Raises:
        UsageError: ``transformations_per_example`` is below 1.
    """

    def __init__(
        self,
        pct_words_to_swap: float = 0.1,
        transformations_per_example: int = 1,
        pair_source: PairSource | None = None,
        **kwargs: Any,
    ) -> None:
        if transformations_per_example < 1:
            raise UsageError(
                f"transformations_per_example is {transformations_per_example}, expected 1 or more"
            )
        source = pair_source or PairSource.from_settings(Settings.load())
        super().__init__(
            SensitiveTokenSwap(source.lexicon, source.attributes, seed=source.seed),
            pct_words_to_swap=pct_words_to_swap,
            transformations_per_example=transformations_per_example,
            **kwargs,
        )
        limit = None if self.high_yield else transformations_per_example
        self.pair_source = PairSource(source.lexicon, source.attributes, limit, source.seed)

    def augment(self, text: str) -> Any:
        """The similar texts of ``text``, sorted; with the advanced metrics also those two."""
        similar = sorted(pair.similar for pair in self.pair_source.pairs_of(text))
        if not self.advanced_metrics:
            return similar
        if not similar:
            nothing = float("nan")
            perplexity = dict.fromkeys(("avg_original_perplexity", "avg_attack_perplexity"), nothing)
            return similar, perplexity, {"avg_attack_use_score": nothing}
        results = [AugmentationResult(AttackedText(text), AttackedText(other)) for other in similar]
        return similar, Perplexity().calculate(results), USEMetric().calculate(results)
