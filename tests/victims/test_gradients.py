"""Saliency by gradients: first-order numbers against finite differences and against a linear model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from fakes.gradient_victims import (
    LINEAR_HEAD,
    LINEAR_WORDS,
    LinearTokenizer,
    LinearVictim,
    tiny_bert,
    tiny_tokenizer,
)

from rif_plugins.errors import UsageError, VictimError, VictimRowError
from rif_plugins.victims.gradients import HuggingFaceGradients, TorchTextGradients

TEXTS = ["She cooked a good meal.", "He said the unlikely dinner was very nice to her , and poor .", "A man."]


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads cost more than they give on models this small, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def spans_of(text: str) -> list[tuple[int, int]]:
    spans, position = [], 0
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        spans.append((start, position))
    return spans


def loss_with_scaled_span(model, tokenizer, text: str, label: int, span, scale: float) -> float:
    """The loss with the embeddings of a span's sub-tokens multiplied, written without the code under test."""
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True, truncation=True)
    factors = [
        scale if start < span[1] and end > span[0] and end > start else 1.0
        for start, end in encoded["offset_mapping"][0].tolist()
    ]
    weights = torch.tensor(factors, dtype=torch.float64)[None, :, None]
    vectors = model.get_input_embeddings()(encoded["input_ids"]) * weights
    with torch.no_grad():
        logits = model(inputs_embeds=vectors, attention_mask=encoded["attention_mask"]).logits[0]
    return float(-logits.log_softmax(0)[label])


@pytest.mark.parametrize("label", [0, 1])
def test_saliency_is_the_slope_of_scaling_a_span_down(label: int) -> None:
    model, tokenizer = tiny_bert(), tiny_tokenizer()
    spans = [spans_of(text) for text in TEXTS]
    found = HuggingFaceGradients(model, tokenizer).token_saliency(TEXTS, label, spans)
    step = 1e-4
    n_parts = set()
    for text, own, values in zip(TEXTS, spans, found, strict=True):
        for span, value in zip(own, values, strict=True):
            up = loss_with_scaled_span(model, tokenizer, text, label, span, 1 + step)
            down = loss_with_scaled_span(model, tokenizer, text, label, span, 1 - step)
            assert value == pytest.approx(-(up - down) / (2 * step), rel=1e-6, abs=1e-7)
            n_parts.add(len(tokenizer.tokenize(text[slice(*span)])))
    assert max(n_parts) >= 3  # "unlikely" is cut into pieces
    assert any(abs(value) > 1e-3 for values in found for value in values)


def test_one_pass_a_batch_whatever_the_padding() -> None:
    model, tokenizer = tiny_bert(), tiny_tokenizer()
    calls = []
    model.register_forward_hook(lambda *_: calls.append(1))
    spans = [spans_of(text) for text in TEXTS]
    together = HuggingFaceGradients(model, tokenizer)
    found = together.token_saliency(TEXTS, 1, spans)
    assert calls == [1]
    assert together.rows == 3
    alone = HuggingFaceGradients(model, tokenizer, batch_size=1).token_saliency(TEXTS, 1, spans)
    assert len(calls) == 4
    for one, other in zip(found, alone, strict=True):
        assert one == pytest.approx(other, abs=1e-10)
    tokenizer.padding_side = "left"
    # Positions move with the padding, so the numbers may; the sub-tokens of each span must not.
    left = HuggingFaceGradients(model, tokenizer).tokens(TEXTS)
    tokenizer.padding_side = "right"
    for one, other in zip(left, HuggingFaceGradients(model, tokenizer).tokens(TEXTS), strict=True):
        assert one.ids.tolist() == other.ids.tolist()
        assert one.offsets.tolist() == other.offsets.tolist()


def test_spans_behind_the_longest_input_get_zero() -> None:
    model, tokenizer = tiny_bert(), tiny_tokenizer(max_length=6)
    text = "the man said he cooked a good meal"
    (values,) = HuggingFaceGradients(model, tokenizer).token_saliency([text], 1, [spans_of(text)])
    assert (values[4:] == 0).all()
    assert (values[:4] != 0).all()


def test_no_texts_and_no_spans() -> None:
    gradients = HuggingFaceGradients(tiny_bert(), tiny_tokenizer())
    assert gradients.token_saliency([], 0, []) == []
    (values,) = gradients.token_saliency(["She cooked."], 0, [[]])
    assert values.shape == (0,)
    assert gradients.gradients([""], [0])[0].tokens.ids.shape == (0,)


def test_the_model_is_left_as_it_was() -> None:
    model = tiny_bert()
    model.train()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    gradients = HuggingFaceGradients(model, tiny_tokenizer())
    first = gradients.token_saliency(TEXTS, 1, [spans_of(t) for t in TEXTS])
    second = gradients.token_saliency(TEXTS, 1, [spans_of(t) for t in TEXTS])
    assert all((a == b).all() for a, b in zip(first, second, strict=True))  # no dropout
    assert model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert not model.get_input_embeddings()._forward_hooks


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_linear_victim_has_exact_numbers(is_turned: bool) -> None:
    gradients = TorchTextGradients(LinearVictim(is_turned), LinearTokenizer())
    text = "He cooked a good meal."
    z = sum(np.dot(LINEAR_HEAD, LINEAR_WORDS[w]) for w in ("he", "cooked", "a", "good", "meal"))
    p = 1 / (1 + np.exp(-z))
    (found,) = gradients.gradients([text], [1])
    assert found.loss == pytest.approx(-np.log(p))
    assert found.gradient == pytest.approx(np.tile((p - 1) * np.array(LINEAR_HEAD), (5, 1)))
    (values,) = gradients.token_saliency([text], 1, [spans_of(text)])
    expected = [
        -(p - 1) * np.dot(LINEAR_HEAD, LINEAR_WORDS[w]) for w in ("he", "cooked", "a", "good", "meal")
    ]
    assert values == pytest.approx(expected)
    assert gradients.vectors(np.array([6]))[0].tolist() == [1.5, 0.0]


def test_equal_numbers_of_texts_and_ids_do_not_turn_the_batch() -> None:
    texts = ["He cooked a good meal.", "She cooked a fine dinner."] * 6  # 12 texts of 12 ids
    plain = TorchTextGradients(LinearVictim(), LinearTokenizer()).gradients(texts, [1] * 12)
    turned = TorchTextGradients(LinearVictim(is_turned=True), LinearTokenizer()).gradients(texts, [1] * 12)
    for one, other in zip(plain, turned, strict=True):
        assert one.embedding == pytest.approx(other.embedding)
        assert one.gradient == pytest.approx(other.gradient)


def test_a_victim_of_probabilities_or_of_one_logit() -> None:
    class Other(LinearVictim):
        def __init__(self, form: str) -> None:
            super().__init__()
            self.form = form

        def forward(self, ids):
            logits = super().forward(ids)
            return logits.softmax(dim=1) if self.form == "probabilities" else logits[:, 1]

    texts = ["He cooked a good meal.", "She cooked a great great great meal."]
    spans = [spans_of(text) for text in texts]
    expected = TorchTextGradients(LinearVictim(), LinearTokenizer()).token_saliency(texts, 0, spans)
    for form in ("probabilities", "one"):
        gradients = TorchTextGradients(Other(form), LinearTokenizer())
        for one, other in zip(expected, gradients.token_saliency(texts, 0, spans), strict=True):
            assert one == pytest.approx(other, abs=1e-9)
    mixed = TorchTextGradients(LinearVictim(), LinearTokenizer(), output="probabilities")
    with pytest.raises(VictimError, match="that are no probabilities"):
        mixed.token_saliency(texts, 0, spans)


def test_a_tokenizer_of_the_tokenizers_package_says_where_tokens_stand() -> None:
    class Wrapped:
        """As TextAttack's own tokenizer for word vectors: ids from a call, encodings from a method."""

        def __init__(self) -> None:
            self.inner = tiny_tokenizer().backend_tokenizer
            self.inner.enable_padding(length=12)

        def __call__(self, texts):
            return [e.ids for e in self.encode_batch(texts, add_special_tokens=False)]

        def encode_batch(self, texts, add_special_tokens=True):
            return self.inner.encode_batch(texts, add_special_tokens=add_special_tokens)

    class Small(LinearVictim):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(64, 2).double()

    (tokens,) = TorchTextGradients(Small(), Wrapped()).tokens(["He cooked"])
    assert tokens.offsets.tolist() == [[0, 2], [3, 9]]


def test_what_is_missing_is_named() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(UsageError, match="need a fast tokenizer, got Slow: load it with AutoTokenizer"):
        HuggingFaceGradients(tiny_bert(), Slow())
    with pytest.raises(UsageError, match="Linear does not give it: add a method get_input_embeddings"):
        TorchTextGradients(torch.nn.Linear(2, 2), LinearTokenizer())
    with pytest.raises(UsageError, match="function does not say: give the tokenizer a method offsets"):
        TorchTextGradients(LinearVictim(), lambda texts: [[0]])
    with pytest.raises(UsageError, match="an encoder-decoder"):
        config = transformers.BartConfig(vocab_size=30, d_model=8, encoder_layers=1, decoder_layers=1)
        config.encoder_attention_heads = config.decoder_attention_heads = 1
        HuggingFaceGradients(transformers.BartForSequenceClassification(config), tiny_tokenizer())
    gradients = HuggingFaceGradients(tiny_bert(), tiny_tokenizer())
    with pytest.raises(UsageError, match="label 2 is no class of the victim: expected 0 to 1"):
        gradients.token_saliency(["He ."], 2, [[(0, 2)]])
    with pytest.raises(UsageError, match="got 1 texts and spans of 2"):
        gradients.token_saliency(["He ."], 1, [[], []])
    with pytest.raises(UsageError, match="batch_size must be 1 or more"):
        HuggingFaceGradients(tiny_bert(), tiny_tokenizer(), batch_size=0)


def test_an_embedding_used_twice_or_never_is_refused() -> None:
    class Twice(LinearVictim):
        def forward(self, ids):
            return super().forward(ids) + super().forward(ids)

    class Never(LinearVictim):
        def forward(self, ids):
            return self.embedding.weight[ids].sum(dim=1) + self.head

    for model, times in ((Twice(), 2), (Never(), 0)):
        with pytest.raises(VictimError, match=f"called its embedding layer {times} times"):
            TorchTextGradients(model, LinearTokenizer()).gradients(["He"], [0])


def test_a_gradient_that_is_not_finite_names_the_text() -> None:
    model = LinearVictim()
    model.head.data[0] = float("nan")
    with pytest.raises(VictimRowError, match="NaN or infinity, expected finite numbers, on 'He cooked'"):
        TorchTextGradients(model, LinearTokenizer()).gradients(["He cooked"], [0])
