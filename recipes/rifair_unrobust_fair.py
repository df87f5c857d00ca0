"""Find pairs of similar texts that are misled together: the same wrong label on both sides.

    textattack attack --attack-from-file recipes/rifair_unrobust_fair.py^build --num-examples 40 \
        --model-from-file recipes/victims/embedded.py --dataset-from-file recipes/data/embedded.py
"""

from rif_plugins.text.recipes import RIFairUnrobustFair


def build(model):
    """The attack on a TextAttack model wrapper; change its settings here."""
    return RIFairUnrobustFair.build(model)
