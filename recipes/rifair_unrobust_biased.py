"""Find pairs of similar texts of which the original gets a wrong label and the other side another one.

    textattack attack --attack-from-file recipes/rifair_unrobust_biased.py^build --num-examples 40 \
        --model-from-file recipes/victims/embedded.py --dataset-from-file recipes/data/embedded.py
"""

from rif_plugins.text.recipes import RIFairUnrobustBiased


def build(model):
    """The attack on a TextAttack model wrapper; change its settings here."""
    return RIFairUnrobustBiased.build(model)
