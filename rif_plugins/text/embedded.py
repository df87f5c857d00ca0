"""The embedded victim and sentences as the two variables that TextAttack looks for in a user's file.

``textattack attack --model-from-file .../embedded.py --dataset-from-file .../embedded.py`` works from an
installed package, where the project's ``recipes/`` folder is not at hand.
"""

from __future__ import annotations

from textattack.datasets import Dataset

from rif_plugins.examples import load_examples
from rif_plugins.text.victims import CallableModelWrapper
from rif_plugins.victims import EmbeddedVictim

model = CallableModelWrapper(EmbeddedVictim())
dataset = Dataset(
    [(example.text, example.label) for example in load_examples()],
    label_names=list(EmbeddedVictim.label_names),
)
