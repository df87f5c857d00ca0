from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, BertTokenizerFast

from rif_plugins.core.victim import VictimEngine
from rif_plugins.errors import VictimError
from rif_plugins.victims.hugging_face import (
    DynamicPadding,
    is_host_wrapper,
    label_names_of,
    victim_of,
)
from rif_plugins.victims.loading import load_victim

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "she", "is", "a", "good", "woman"]
TEXTS = ["he is good", "she is a good good woman", "", "good " * 60, "unknown words here"]


def config(**changes: Any) -> BertConfig:
    settings: dict[str, Any] = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
        "max_position_embeddings": 24,
        "id2label": {0: "bad", 1: "so-so", 2: "good"},
        "label2id": {"bad": 0, "so-so": 1, "good": 2},
    }
    return BertConfig(**(settings | changes))


def save(folder: Path, model: Any, *, max_length: int = 16, safe: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=max_length)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder, safe_serialization=safe)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    return save(tmp_path_factory.mktemp("bert"), BertForSequenceClassification(config()).half())


def test_a_folder(folder: Path) -> None:
    victim = load_victim(str(folder), device="cpu")
    assert (victim.output, victim.label_names) == ("logits", ("bad", "so-so", "good"))
    assert victim.max_length == 16
    model = victim.predict.model  # type: ignore[attr-defined]
    assert not model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert victim.identity is victim.predict
    assert victim.token_gradients is not None
    engine = VictimEngine(victim.predict, output=victim.output, batch_size=5)
    together = engine.probabilities(TEXTS)
    alone = np.vstack([victim.predict([text]) for text in TEXTS])
    assert np.allclose(together, np.exp(alone) / np.exp(alone).sum(axis=1, keepdims=True), atol=1e-6)
    assert together.shape == (5, 3)


def test_gradients_cut_texts_where_the_victim_does(folder: Path) -> None:
    victim = load_victim(str(folder), device="cpu", max_length=6)
    text = "she is a good good woman"
    seen = victim.tokens_seen(text)
    assert text[:seen] == "she is a good"  # six tokens less [CLS] and [SEP]
    (saliency,) = victim.token_gradients.token_saliency([text], 0, [[(0, 3), (9, 13), (18, 23)]])
    assert (saliency != 0).tolist() == [True, True, False]


def test_texts_longer_than_the_model_reads(folder: Path) -> None:
    victim = load_victim(str(folder), device="cpu")
    assert [victim.tokens_seen(text) for text in ("", "he is good", "good " * 14)] == [None] * 3
    long = "good " * 14 + "woman"
    assert victim.tokens_seen(long) == 69  # fourteen words and the spaces between them
    changed = long[:69] + " he he he"
    assert np.array_equal(victim.predict([long]), victim.predict([changed]))


def test_a_slow_tokenizer_is_searched_for_the_offset(folder: Path) -> None:
    slow = BertTokenizer(vocab_file=str(folder / "vocab.txt"), model_max_length=16)
    padding = DynamicPadding(BertForSequenceClassification(config()).eval(), slow)
    assert padding.seen("good " * 14) is None
    assert padding.seen("good " * 14 + "woman") in (69, 70)
    assert victim_of("slow", padding.model, slow).token_gradients is None


def test_without_a_padding_token_texts_are_predicted_one_by_one(folder: Path) -> None:
    model = BertForSequenceClassification(config()).eval()
    tokenizer = BertTokenizerFast.from_pretrained(folder)
    expected = DynamicPadding(model, tokenizer)(["he is good", "good"])
    tokenizer.pad_token = None
    assert np.allclose(DynamicPadding(model, tokenizer)(["he is good", "good"]), expected, atol=1e-6)


def test_position_embeddings_limit_the_length_too(tmp_path: Path) -> None:
    victim = load_victim(str(save(tmp_path / "b", BertForSequenceClassification(config()), max_length=512)))
    assert victim.max_length == 24
    assert victim.predict(["good " * 100]).shape == (1, 3)
    roberta = transformers.RobertaConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=18, pad_token_id=0,
    )  # fmt: skip
    save(tmp_path / "r", transformers.RobertaForSequenceClassification(roberta), max_length=512)
    (tmp_path / "r" / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "BertTokenizer", "model_max_length": 512}', encoding="utf-8"
    )
    victim = load_victim(str(tmp_path / "r"))
    assert victim.max_length == 17  # positions count from pad_token_id + 1
    assert victim.predict(["good " * 100]).shape == (1, 2)


class _Command:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.filterwarnings("ignore:the weights of")
def test_a_pickle_file_cannot_run_code(tmp_path: Path) -> None:
    where = save(tmp_path / "evil", BertForSequenceClassification(config()), safe=False)
    torch.save({"x": _Command(tmp_path / "ran")}, where / "pytorch_model.bin")
    with pytest.raises(VictimError, match="cannot load the model"):
        load_victim(str(where))
    assert not (tmp_path / "ran").exists()


def test_safetensors_win_over_a_pickle_file_beside_them(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    where = save(tmp_path / "both", BertForSequenceClassification(config()))
    torch.save({"x": _Command(tmp_path / "ran")}, where / "pytorch_model.bin")
    assert load_victim(str(where)).predict(["he"]).shape == (1, 3)
    assert not (tmp_path / "ran").exists()
    assert not [warning for warning in recwarn if "pickle" in str(warning.message)]


def test_pickled_weights_are_warned_about(tmp_path: Path) -> None:
    where = save(tmp_path / "old", BertForSequenceClassification(config()), safe=False)
    with pytest.warns(UserWarning, match=r"the weights of .*old are a pickle file.*only if you trust"):
        victim = load_victim(str(where))
    assert victim.predict(["he"]).shape == (1, 3)


def test_an_untrained_head_is_refused(tmp_path: Path) -> None:
    where = save(tmp_path / "bare", transformers.BertModel(config()))
    with pytest.raises(VictimError, match=r"holds no weights for classifier\.\w+ \(2 missing.*at random"):
        load_victim(str(where))


def test_labels_scored_each_on_its_own_are_refused(tmp_path: Path) -> None:
    model = BertForSequenceClassification(config(problem_type="multi_label_classification"))
    with pytest.raises(VictimError, match=r"multi_label_classification\), expected one class a text"):
        load_victim(str(save(tmp_path / "multi", model)))


def test_names_of_labels(folder: Path) -> None:
    assert load_victim(str(folder), labels=["a", "b", "c"]).label_names == ("a", "b", "c")
    with pytest.raises(VictimError, match=r"has 3 labels, got 2 names \(a, b\): name every label once"):
        load_victim(str(folder), labels=["a", "b"])
    assert label_names_of(SimpleNamespace(id2label={0: "toxic"})) == ("not toxic", "toxic")
    assert label_names_of(SimpleNamespace(id2label={0: "LABEL_0"})) is None
    assert label_names_of(SimpleNamespace(id2label={1: "b", 0: "a"})) == ("a", "b")


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda where: (where / "config.json").unlink(), r"no model in the folder .*expected config\.json"),
        (lambda where: (where / "config.json").write_text("{"), r"cannot load the model .*expected a folder"),
        (lambda where: (where / "model.safetensors").write_bytes(b"\0" * 99), r"cannot load the model"),
        (lambda where: (where / "model.safetensors").unlink(), r"cannot load the model"),
        (
            lambda where: (where / "config.json").write_text('{"model_type": "no-such"}'),
            r"cannot load the mod",
        ),
    ],
)
def test_broken_folders(tmp_path: Path, break_it: Any, message: str) -> None:
    where = save(tmp_path / "broken", BertForSequenceClassification(config()))
    break_it(where)
    with pytest.raises(VictimError, match=message) as caught:
        load_victim(str(where))
    assert "\n" not in str(caught.value)


def test_missing_folders_and_names(tmp_path: Path) -> None:
    with pytest.raises(VictimError, match=r"no model in the folder '\./nowhere': expected config\.json"):
        load_victim("./nowhere")
    with pytest.raises(VictimError, match=r"cannot load the model 'nobody/no-model': expected a folder or"):
        load_victim("nobody/no-model")


def test_bad_options(folder: Path) -> None:
    with pytest.raises(VictimError, match=r"max_length must be 3 tokens or more for this model, got 2"):
        load_victim(str(folder), max_length=2)
    with pytest.raises(VictimError, match=r"cannot move .* to the device 'toaster'.*use cpu or cuda"):
        load_victim(str(folder), device="toaster")


LOAD = (
    "from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline",
    "inner = AutoModelForSequenceClassification.from_pretrained({0!r})",
    "tokenizer_ = AutoTokenizer.from_pretrained({0!r})",
)


@pytest.mark.parametrize(
    "line",
    [
        "model = pipeline('text-classification', model=inner, tokenizer=tokenizer_, device='cpu')",
        "model, tokenizer = inner, tokenizer_",
    ],
)
def test_objects_in_a_file_get_dynamic_padding(tmp_path: Path, folder: Path, line: str) -> None:
    path = tmp_path / "objects.py"
    path.write_text("\n".join((*LOAD, line)).format(str(folder)), encoding="utf-8")
    victim = load_victim(str(path))
    assert isinstance(victim.predict, DynamicPadding)
    assert (victim.name, victim.output, victim.label_names) == (
        "objects.py",
        "logits",
        ("bad", "so-so", "good"),
    )
    assert np.allclose(
        victim.predict(TEXTS), load_victim(str(folder), device="cpu").predict(TEXTS), atol=1e-3
    )


def test_a_model_without_its_tokenizer_is_refused(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "alone.py"
    path.write_text("\n".join((*LOAD, "model = inner")).format(str(folder)), encoding="utf-8")
    with pytest.raises(VictimError, match=r"BertForSequenceClassification without its tokenizer"):
        load_victim(str(path))


def test_other_classes_of_that_name_are_no_host_wrapper(folder: Path) -> None:
    class HuggingFaceModelWrapper:
        model = BertForSequenceClassification(config())
        tokenizer = BertTokenizerFast.from_pretrained(folder)

    assert not is_host_wrapper(HuggingFaceModelWrapper())
    assert not is_host_wrapper(3)
