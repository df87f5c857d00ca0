"""Weights of entailment models: safetensors first, a warning before a pickle file, and no code out of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from rif_plugins.entailment.hugging_face import HuggingFaceScorer
from rif_plugins.errors import ScorerError

_LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
_PAIRS = [("a man", "a man eats")]


class Command:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    where = tmp_path / "nli"
    where.mkdir()
    (where / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nman\neats\n", encoding="utf-8")
    BertTokenizer(str(where / "vocab.txt")).save_pretrained(where)
    return where


def save(folder: Path, *, safe: bool) -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(vocab_size=8, id2label=_LABELS, max_position_embeddings=32, **sizes)
    BertForSequenceClassification(config).save_pretrained(folder, safe_serialization=safe)


def scores(folder: Path) -> Any:
    return HuggingFaceScorer(str(folder)).probabilities(_PAIRS)


def test_a_pickle_file_is_warned_about(folder: Path) -> None:
    save(folder, safe=False)
    with pytest.warns(UserWarning, match=r"the weights of .*nli are a pickle file.*only if you trust"):
        assert scores(folder).shape == (1, 3)


@pytest.mark.filterwarnings("ignore:the weights of")
def test_a_pickle_file_cannot_run_code(folder: Path, tmp_path: Path) -> None:
    save(folder, safe=False)
    torch.save({"x": Command(tmp_path / "ran")}, folder / "pytorch_model.bin")
    with pytest.raises(ScorerError, match="cannot load the model"):
        scores(folder)
    assert not (tmp_path / "ran").exists()


def test_safetensors_win_over_a_pickle_file_beside_them(folder: Path, tmp_path: Path) -> None:
    save(folder, safe=True)
    torch.save({"x": Command(tmp_path / "ran")}, folder / "pytorch_model.bin")
    assert scores(folder).shape == (1, 3)
    assert not (tmp_path / "ran").exists()
