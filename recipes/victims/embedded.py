"""The victim that ships with rif-plugins: a published linear classifier of offensive language.

    textattack attack --recipe rifair-robust-biased --num-examples 40 \
        --model-from-file recipes/victims/embedded.py --dataset-from-file recipes/data/embedded.py
"""

from rif_plugins.text.victims import CallableModelWrapper
from rif_plugins.victims import EmbeddedVictim

model = CallableModelWrapper(EmbeddedVictim())
