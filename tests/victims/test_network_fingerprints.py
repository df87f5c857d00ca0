"""Fingerprints of torch networks, tokenizers and what wraps them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rif_plugins.victims.fingerprint import victim_fingerprint
from rif_plugins.victims.loading import load_victim

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "the", "is", "she"]


def constant(texts: list[str]) -> list[float]:
    return [0.5] * len(texts)


def value_of(victim: Any, predict: Callable[[list[str]], Any] = constant) -> str:
    found = victim_fingerprint(victim, predict)
    assert found.value is not None, found.reason
    return found.value


def tokenizer_of(words: list[str], **settings: Any) -> Any:
    level = tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    backend = tokenizers.Tokenizer(level)
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", **{"model_max_length": 32, **settings}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("classifier")
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=64,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
    )
    generator_state = torch.random.get_rng_state()
    transformers.BertForSequenceClassification(config).save_pretrained(place)
    torch.random.set_rng_state(generator_state)
    tokenizer_of(WORDS).save_pretrained(place)
    return place


class Wrapper:
    """As the wrappers of other packages: a model and its tokenizer."""

    def __init__(self, folder: Path) -> None:
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def __call__(self, texts: list[str]) -> Any:
        inputs = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.no_grad():
            return self.model(**inputs).logits


def test_a_model_loaded_twice_is_the_same(folder: Path) -> None:
    first, second = Wrapper(folder), Wrapper(folder)
    before = value_of(first, first)
    assert value_of(second, second) == before
    # Calls leave the padding of the last batch in the tokenizer.
    first(["good", "the film is good"])
    assert value_of(first, first) == before


def one_weight(wrapper: Wrapper) -> None:
    with torch.no_grad():
        wrapper.model.classifier.weight[0, 0] += 1e-6


def one_setting(wrapper: Wrapper) -> None:
    wrapper.model.config.layer_norm_eps = 1e-5


def in_training(wrapper: Wrapper) -> None:
    wrapper.model.train()


def one_word(wrapper: Wrapper) -> None:
    wrapper.tokenizer = tokenizer_of([word.replace("she", "shy") for word in WORDS])


def shorter(wrapper: Wrapper) -> None:
    wrapper.tokenizer.model_max_length = 8


def a_hook(wrapper: Wrapper) -> None:
    wrapper.model.register_forward_hook(lambda model, inputs, output: output)


def another_forward(wrapper: Wrapper) -> None:
    wrapper.model.classifier.forward = lambda hidden: hidden[:, :2]


def in_half_precision(wrapper: Wrapper) -> None:
    wrapper.model.to(torch.bfloat16)


CHANGES = (
    one_weight,
    one_setting,
    in_training,
    one_word,
    shorter,
    a_hook,
    another_forward,
    in_half_precision,
)


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_is_another_victim(change: Callable[[Wrapper], None], folder: Path) -> None:
    wrapper = Wrapper(folder)
    before = value_of(wrapper)
    change(wrapper)
    assert value_of(wrapper) != before


def test_victims_of_this_package(folder: Path) -> None:
    first, second = load_victim(str(folder)), load_victim(str(folder))
    assert value_of(first.identity, first.predict) == value_of(second.identity, second.predict)
    assert value_of(first.identity) != value_of(Wrapper(folder))


def test_a_pipeline(folder: Path) -> None:
    def pipeline() -> Any:
        wrapper = Wrapper(folder)
        return transformers.pipeline("text-classification", model=wrapper.model, tokenizer=wrapper.tokenizer)

    first, second = pipeline(), pipeline()
    first("the film")
    assert value_of(first) == value_of(second)


class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.embed = torch.nn.EmbeddingBag(8, 4)
        self.drop = torch.nn.Dropout(0.1)
        self.out = torch.nn.Linear(4, 2)
        self.scale = scale
        self.register_buffer("shift", torch.zeros(1), persistent=False)
        for parameter in self.parameters():
            torch.nn.init.constant_(parameter, 0.5)
        self.eval()

    def forward(self, ids: Any) -> Any:
        return self.scale * self.out(self.drop(self.embed(ids))) + self.shift


def test_networks_of_ones_own() -> None:
    before = value_of(Network())
    assert value_of(Network()) == before
    found = {before, value_of(Network(scale=1.5))}
    for name in ("embed", "out"):
        changed = Network()
        with torch.no_grad():
            getattr(changed, name).weight[0, 0] += 1e-6
        found.add(value_of(changed))
    shifted = Network()
    shifted.shift += 1.0
    dropping = Network()
    dropping.drop.p = 0.2
    found |= {value_of(shifted), value_of(dropping), value_of(Network().train())}
    assert len(found) == 7


def test_tensors() -> None:
    tensors = [
        torch.zeros(2), torch.zeros(2, 1), torch.zeros(0), torch.tensor(0.0), torch.ones(2),
        torch.zeros(2).double(),
        torch.zeros(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.int8),
        torch.zeros(2, dtype=torch.bool), torch.eye(2).to_sparse(), torch.float32, torch.device("cpu"),
    ]  # fmt: skip
    found = [value_of([tensor]) for tensor in tensors]
    assert len(set(found)) == len(found)
    matrix = torch.arange(6.0).reshape(2, 3)
    assert value_of([matrix.T]) == value_of([matrix.T.contiguous()]) != value_of([matrix.reshape(3, 2)])


def test_sessions(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")

    def session(constant_value: float, as_bytes: bool) -> Any:
        info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in ("x", "y")]
        weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [1], [constant_value])
        node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
        graph = onnx.helper.make_graph([node], "g", info[:1], info[1:], [weight])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
        content = model.SerializeToString()
        (tmp_path / "model.onnx").write_bytes(content)
        return runtime.InferenceSession(content if as_bytes else str(tmp_path / "model.onnx"))

    for as_bytes in (True, False):
        one = value_of([session(1.0, as_bytes)])
        assert value_of([session(2.0, as_bytes)]) != one == value_of([session(1.0, as_bytes)])
