"""Found pairs as training rows: augmentation, the guard of held-out texts, the split of audited examples."""

from __future__ import annotations

from rif_plugins.training.augmentation import Augmentation, AugmentedRow, augment
from rif_plugins.training.holdout import HeldOutTexts, UntaughtTexts, held_out_originals, is_held_out

__all__ = [
    "Augmentation",
    "AugmentedRow",
    "HeldOutTexts",
    "UntaughtTexts",
    "augment",
    "held_out_originals",
    "is_held_out",
]
