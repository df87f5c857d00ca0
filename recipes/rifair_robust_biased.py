"""Find pairs of similar texts of which one keeps the right label and the other loses it.

    textattack attack --attack-from-file recipes/rifair_robust_biased.py^build --num-examples 40 \
        --model-from-file recipes/victims/embedded.py --dataset-from-file recipes/data/embedded.py
"""

from rif_plugins.text.recipes import RIFairRobustBiased


def build(model):
    """The attack on a TextAttack model wrapper; change its settings here."""
    return RIFairRobustBiased.build(model)
