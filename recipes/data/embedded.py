"""The sentences that ship with rif-plugins, labelled 0 (not offensive) or 1 (offensive)."""

from textattack.datasets import Dataset

from rif_plugins.examples import load_examples
from rif_plugins.victims import EmbeddedVictim

dataset = Dataset(
    [(example.text, example.label) for example in load_examples()],
    label_names=list(EmbeddedVictim.label_names),
)
