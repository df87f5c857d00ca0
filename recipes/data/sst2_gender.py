"""Sentences of SST-2 dev and test that name a gender; RIF_DATA_DIR is the folder that holds sst2/."""

import os
from pathlib import Path

from textattack.datasets import Dataset

from rif_plugins.similar import Lexicon, find_spans

LEXICON = Lexicon.load()


def sentences(split):
    """Pairs (sentence, label) of ``sst2/<split>.tsv`` with at least one gender token."""
    path = Path(os.environ["RIF_DATA_DIR"]) / "sst2" / f"{split}.tsv"
    for line in path.read_text(encoding="utf-8").splitlines():
        sentence, label = line.rsplit("\t", 1)
        if find_spans(sentence, LEXICON, attributes=["gender"]):
            yield sentence, int(label)


dataset = Dataset([*sentences("dev"), *sentences("test")], label_names=["negative", "positive"])
