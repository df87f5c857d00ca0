from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from textattack.models.wrappers import HuggingFaceModelWrapper
from textattack.shared.utils import words_from_text
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from rif_plugins.core.tokens import words
from rif_plugins.text.victim_adapter import WrapperCall, engine_for
from rif_plugins.victims.hugging_face import DynamicPadding, is_host_wrapper
from rif_plugins.victims.loading import load_victim

TEXTS = ["he is good", "she is a good good woman", "", "good " * 60, "unknown words here"]


@pytest.fixture(scope="module")
def wrapper(tmp_path_factory: pytest.TempPathFactory) -> HuggingFaceModelWrapper:
    folder = tmp_path_factory.mktemp("bert")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "she", "is", "a", "good", "woman"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=32)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=3,
    )
    return HuggingFaceModelWrapper(BertForSequenceClassification(config).eval(), tokenizer)


def test_dynamic_padding_gives_the_numbers_of_the_host(wrapper: HuggingFaceModelWrapper) -> None:
    expected = wrapper(TEXTS).numpy()
    assert np.allclose(DynamicPadding(wrapper.model, wrapper.tokenizer)(TEXTS), expected, atol=1e-5)
    assert expected.shape == (5, 3)


def test_the_engine_recognises_the_wrapper(wrapper: HuggingFaceModelWrapper) -> None:
    assert is_host_wrapper(wrapper)
    engine = engine_for(wrapper, batch_size=2, cache_size=10)
    assert isinstance(engine.predict, DynamicPadding)
    together = engine.probabilities(TEXTS)
    alone = np.vstack([engine_for(wrapper, batch_size=1, cache_size=0).probabilities([t]) for t in TEXTS])
    assert np.allclose(together, alone, atol=1e-6)
    assert together.sum(axis=1) == pytest.approx(1.0)
    assert engine.rows == 5


def test_subclasses_and_other_wrappers_are_called_as_they_are(wrapper: HuggingFaceModelWrapper) -> None:
    class Own(HuggingFaceModelWrapper):
        def __call__(self, text_input_list):
            return np.full((len(text_input_list), 2), 0.5)

    own = Own(wrapper.model, wrapper.tokenizer)
    assert not is_host_wrapper(own)
    engine = engine_for(own, batch_size=2, cache_size=0)
    assert isinstance(engine.predict, WrapperCall)
    assert engine.probabilities(["a", "b"]).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_a_wrapper_in_a_file_is_recognised_without_naming_the_host(
    wrapper: HuggingFaceModelWrapper, tmp_path: Path
) -> None:
    wrapper.model.save_pretrained(tmp_path / "model")
    wrapper.tokenizer.save_pretrained(tmp_path / "model")
    path = tmp_path / "wrapped_victim.py"
    path.write_text(
        "import transformers as t\n"
        "from textattack.models.wrappers import HuggingFaceModelWrapper\n"
        f"folder = {str(tmp_path / 'model')!r}\n"
        "network = t.AutoModelForSequenceClassification.from_pretrained(folder)\n"
        "model = HuggingFaceModelWrapper(network, t.AutoTokenizer.from_pretrained(folder))\n",
        encoding="utf-8",
    )
    victim = load_victim(str(path))
    assert isinstance(victim.predict, DynamicPadding)
    assert (victim.output, victim.max_length) == ("logits", 32)
    assert np.allclose(victim.predict(TEXTS), wrapper(TEXTS).numpy(), atol=1e-5)


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\u0000"), max_size=50))
def test_words_are_cut_as_the_host_cuts_them(text: str) -> None:
    if any("\u4e00" <= character <= "\u9fff" for character in text):
        return  # the host cuts Chinese by a dictionary
    assert words(text) == words_from_text(text)


@pytest.mark.parametrize(
    "text", ["it 's n't -- a 'quoted' well-known a_b@c.d *x*", "She’s “fine”…", "a\tb\nc"]
)
def test_words_of_typical_texts(text: str) -> None:
    assert words(text) == words_from_text(text)
