"""Language models behind an address: a real server on loopback that behaves well, and in every bad way."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from fakes.chat_server import ChatServer, Reply, serving

from rif_plugins.errors import UsageError
from rif_plugins.llm import CallBudget, ChatFailure, ChatReply, ChatRequest, Message, load_chat_model
from rif_plugins.llm.calling import MOST_FAILURES, REFUSALS_A_FAILURE, Circuit, Pace
from rif_plugins.llm.connections import Place, place_of
from rif_plugins.llm.endpoint import EndpointChatModel, Patience

KEY = "sk-very-secret-0123456789"
QUICK = Patience(seconds=20.0, attempts=3, first_wait=0.01, max_bytes=200_000)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "RIF_LLM_BASE_URL", "RIF_LLM_KEY", "RIF_LLM_RPM", "RIF_LLM_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)


def ask(text: str = "hello", **fields: Any) -> ChatRequest:
    return ChatRequest((Message("system", "short"), Message("user", text)), **fields)


def model_at(server: ChatServer, *, max_calls: int | None = None, **patience: Any) -> EndpointChatModel:
    waits: list[float] = []
    model = EndpointChatModel(
        "test",
        CallBudget(max_calls, prompt_price=1e6, completion_price=2e6),
        place=Place(server.address, KEY),
        patience=Patience(**{**vars(QUICK), **patience}),
        sleep=waits.append,
    )
    model.waits = waits  # type: ignore[attr-defined]
    return model


def reason(answer: object) -> str:
    assert isinstance(answer, ChatFailure)
    assert "\n" not in answer.reason
    assert KEY not in answer.reason
    return answer.reason


def test_a_good_answer_is_counted_and_paid_for() -> None:
    with serving(lambda body, number: Reply(("fine",))) as server:
        model = model_at(server)
        (answer,) = model.complete([ask(temperature=0.5, top_p=0.9, seed=4, max_tokens=9)])
    assert answer == ChatReply(("fine",), {}, 7, 3)
    (body,) = server.bodies
    assert body == {
        "model": "test",
        "messages": [{"role": "system", "content": "short"}, {"role": "user", "content": "hello"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 4,
    }
    assert server.keys == [f"Bearer {KEY}"]
    assert model.budget.as_dict() == {
        "calls": 1,
        "stored": 0,
        "failed": 0,
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "cost": 13.0,
    }


def test_answers_come_back_in_order_and_several_are_under_way() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        text = body["messages"][1]["content"]
        return Reply((text.upper(),), delay=0.1 if text == "a" else 0.05)

    with serving(script) as server:
        answers = model_at(server, concurrency=3).complete([ask(text) for text in "abcdef"])
    assert [answer.texts[0] for answer in answers if isinstance(answer, ChatReply)] == list("ABCDEF")
    assert 2 <= server.most_at_once <= 3


@pytest.mark.parametrize(
    ("bad", "waits"),
    [
        (Reply(status=429, message="slow down", headers={"Retry-After": "3"}), [3.0]),
        (Reply(status=429, message="slow down", headers={"Retry-After": "99999"}), [60.0]),
        (Reply(status=429, message="slow down", headers={"Retry-After": "soon"}), [0.01]),
        (Reply(status=500, message="oops"), [0.01]),
        (Reply(is_cut=True), [0.01]),
        (Reply(delay=1.0), [0.01]),
        (Reply(is_endless=True), [0.01]),
        (Reply(is_dribbling=True), [0.01]),
        (Reply(is_endless=True, status=500), [0.01]),
        (Reply(raw=b"{}"), [0.01]),
    ],
    ids=[
        "429 with a wait",
        "429 with a long wait",
        "429 with words",
        "500",
        "cut",
        "slow",
        "endless",
        "dribbling",
        "endless error",
        "no completion",
    ],
)
def test_what_may_pass_is_tried_again(bad: Reply, waits: list[float]) -> None:
    with serving(lambda body, number: bad if number == 0 else Reply()) as server:
        seconds = 0.5 if bad.delay or bad.is_endless or bad.is_dribbling else 20.0
        model = model_at(server, max_bytes=10**8, seconds=seconds, attempts=9)
        (answer,) = model.complete([ask()])
    assert isinstance(answer, ChatReply)
    assert answer.texts == ("ok",)
    # A busy machine may let the good answer come too late as well.
    assert model.waits[:1] == waits  # type: ignore[attr-defined]
    assert model.budget.n_calls == len(server.bodies) >= 2


def test_what_does_not_pass_is_a_failure_with_its_attempts() -> None:
    with serving(lambda body, number: Reply(status=500, message="full\nup")) as server:
        model = model_at(server)
        (answer,) = model.complete([ask()])
    assert reason(answer) == "status 500 'full up' (attempt 3 of 3)"
    assert model.waits == [0.01, 0.02]  # type: ignore[attr-defined]
    assert len(server.bodies) == 3


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_waited_for(status: int) -> None:
    with serving(lambda body, number: Reply(("ok",)) if number >= 8 else Reply(status=status)) as server:
        model = model_at(server, first_wait=1.0, total=600.0)
        (answer,) = model.complete([ask()])
    assert isinstance(answer, ChatReply)
    assert model.waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]  # type: ignore[attr-defined]


def test_a_server_that_stays_busy_is_a_failure_in_the_end() -> None:
    with serving(lambda body, number: Reply(status=429)) as server:
        model = model_at(server, first_wait=1.0, total=20.0)
        (answer,) = model.complete([ask()])
    assert reason(answer) == "status 429 (attempt 5 of 5)"
    assert sum(model.waits) <= 20.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"<html>hello</html>", "answered no chat completion but '<html>hello</html>'"),
        (b'{"choices": []}', "answered no chat completion"),
        (b'{"choices": [{"message": 3}]}', "answered no chat completion"),
        (b"[" * 50_000, "answered no chat completion"),
        (b'{"choices": "' + b"x" * 300_000, "answers more than 200000 bytes"),
    ],
    ids=["page", "no choice", "no message", "deep", "huge"],
)
def test_garbage_is_a_failure(raw: bytes, message: str) -> None:
    with serving(lambda body, number: Reply(raw=raw)) as server:
        (answer,) = model_at(server, attempts=1).complete([ask()])
    assert message in reason(answer)


@pytest.mark.parametrize(
    ("status", "details", "advice"),
    [
        (401, {}, "the key is refused"),
        (404, {}, "no such model or address"),
        (429, {"code": "insufficient_quota"}, "the account has no credit"),
        (307, {}, "redirects elsewhere"),
    ],
)
def test_a_refusal_ends_all_asking(status: int, details: dict[str, str], advice: str) -> None:
    bad = Reply(status=status, message=f"bad key {KEY}", details=details, headers={"Location": "/v1/else"})
    with serving(lambda body, number: bad) as server:
        model = model_at(server)
        first = model.complete([ask("a")])[0]
        second = model.complete([ask("b")])[0]
    assert advice in reason(first)
    assert reason(second) == reason(first)
    assert isinstance(first, ChatFailure) and first.is_final
    assert len(server.bodies) == 1


def test_a_text_that_a_gateway_forbids_costs_no_other_text() -> None:
    def script(body: Any, number: int) -> Reply:
        is_flagged = "flagged" in body["messages"][-1]["content"]
        return Reply(status=403, message="flagged by moderation") if is_flagged else Reply("positive")

    with serving(script) as server:
        answers = model_at(server).complete([ask("one"), ask("flagged"), ask("three")])
        more = model_at(server).complete([ask("flagged")])
    assert [isinstance(answer, ChatFailure) for answer in answers] == [False, True, False]
    assert "the key has no right to it, or the text is not allowed" in reason(answers[1])
    assert isinstance(more[0], ChatFailure) and not more[0].is_final


def test_a_key_without_rights_is_given_up() -> None:
    with serving(lambda body, number: Reply(status=403)) as server:
        model = model_at(server)
        answers = [model.complete([ask(str(i))])[0] for i in range(MOST_FAILURES + 2)]
    assert len(server.bodies) == MOST_FAILURES
    assert isinstance(answers[-1], ChatFailure) and answers[-1].is_final


def test_a_dead_server_is_given_up() -> None:
    with serving(lambda body, number: Reply(status=500)) as server:
        model = model_at(server, attempts=1)
        answers = [model.complete([ask(str(i))])[0] for i in range(MOST_FAILURES + 5)]
    assert len(server.bodies) == MOST_FAILURES
    assert reason(answers[-1]) == (
        f"given up after {MOST_FAILURES} failures in a row, the last: status 500 (attempt 1 of 1)"
    )
    assert isinstance(answers[-1], ChatFailure) and answers[-1].is_final


def test_refused_questions_end_a_run_much_later() -> None:
    with serving(lambda body, number: Reply(status=400, message="too long")) as server:
        model = model_at(server)
        answers = [model.complete([ask(str(i))])[0] for i in range(MOST_FAILURES * REFUSALS_A_FAILURE + 1)]
    assert len(server.bodies) == MOST_FAILURES * REFUSALS_A_FAILURE
    assert "status 400 'too long'" in reason(answers[-1])
    assert [isinstance(a, ChatFailure) and a.is_final for a in answers] == [False] * 40 + [True]


def test_one_question_has_an_end() -> None:
    with serving(lambda body, number: Reply(status=500, headers={"Retry-After": "30"})) as server:
        (answer,) = model_at(server, total=20.0, attempts=9).complete([ask()])
    assert reason(answer) == "status 500 (attempt 1 of 1)"
    assert len(server.bodies) == 1


def test_nothing_listens() -> None:
    model = EndpointChatModel(
        "test", CallBudget(), place=Place("http://127.0.0.1:9/v1"), patience=QUICK, sleep=lambda s: None
    )
    assert reason(model.complete([ask()])[0]) == "the connection failed or broke off (attempt 3 of 3)"


def test_the_limit_of_calls_holds_for_attempts_too() -> None:
    with serving(lambda body, number: Reply(status=500)) as server:
        model = model_at(server, max_calls=2)
        (answer,) = model.complete([ask()])
    assert reason(answer) == "the 2 calls of the run are used up"
    assert len(server.bodies) == 2


Script = Callable[[dict[str, Any], int], Reply]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("refused", "message", "fields"),
    [
        ("json_schema", "response_format.json_schema is not supported", {"json_schema": SCHEMA}),
        ("response_format", "unknown field response_format", {"json_schema": SCHEMA}),
        ("logprobs", "This model does not support logprobs", {"n_top_tokens": 5}),
        ("seed", "unexpected field: seed", {"seed": 1}),
        ("n", "multiple choices are not supported", {"n_samples": 3}),
        ("max_tokens", "unsupported, use 'max_completion_tokens' instead", {}),
        ("temperature", "temperature does not support 0", {}),
        ("top_p", "top_p is unknown", {"top_p": 0.5}),
    ],
)
def test_what_a_server_does_not_take_is_left_out(refused: str, message: str, fields: dict[str, Any]) -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        kind = (body.get("response_format") or {}).get("type")
        if refused in body or kind == refused:
            return Reply(status=400, message=message)
        return Reply((f"answer {number}",) * body.get("n", 1))

    with serving(script) as server:
        model = model_at(server)
        first, second = (model.complete([ask(text, **fields)])[0] for text in "ab")
    assert isinstance(first, ChatReply)
    assert isinstance(second, ChatReply)
    assert len(first.texts) == fields.get("n_samples", 1)
    assert all({"max_tokens", "max_completion_tokens"} & set(body) for body in server.bodies)
    assert sum(
        refused in body or (body.get("response_format") or {}).get("type") == refused
        for body in server.bodies
    ) == (2 if refused == "response_format" else 1)


def test_what_nobody_names_is_guessed_once() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(status=400, message="bad request") if "n" in body else Reply()

    with serving(script) as server:
        model = model_at(server)
        for text in "ab":
            model.complete([ask(text, n_samples=2, n_top_tokens=4, seed=3, json_schema=SCHEMA)])
    assert [len(body) - 4 for body in server.bodies] == [5, 5, 4, 2, 1, 1, 1, 1]
    assert model.habits.refused == {"json_schema", "response_format", "logprobs", "n"}


def test_the_named_parameter_is_to_blame() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        bad = Reply(status=422, message="cannot", details={"param": "logprobs"})
        return bad if "logprobs" in body else Reply()

    with serving(script) as server:
        model = model_at(server)
        model.complete([ask(json_schema=SCHEMA, n_top_tokens=2, seed=1)])
    assert [sorted(body) for body in server.bodies] == [
        sorted({*server.bodies[1], "logprobs", "top_logprobs"}),
        ["max_tokens", "messages", "model", "response_format", "seed", "temperature"],
    ]
    assert model.habits.refused == {"logprobs"}


def test_a_text_that_is_to_blame_leaves_no_mark() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return Reply(status=400, message="bad") if "evil" in body["messages"][1]["content"] else Reply()

    with serving(script) as server:
        model = model_at(server)
        first, second = (model.complete([ask(text, json_schema=SCHEMA)])[0] for text in ("evil", "good"))
    assert reason(first) == "status 400 'bad'"
    assert isinstance(second, ChatReply)
    assert model.habits.refused == set()
    assert server.bodies[-1]["response_format"]["type"] == "json_schema"


FORM = {"json_schema": SCHEMA, "n_samples": 2, "n_top_tokens": 4, "seed": 3}


def refuses_evil(status: int = 400, refused: str = "") -> Script:
    """A server that takes no evil text, and no request with the part ``refused``; it never says why."""

    def script(body: dict[str, Any], number: int) -> Reply:
        is_bad = "evil" in body["messages"][1]["content"] or (refused and refused in body)
        return Reply(status=status, message="bad") if is_bad else Reply(("fine",) * body.get("n", 1))

    return script


def test_a_form_that_the_server_has_taken_is_not_suspected() -> None:
    with serving(refuses_evil()) as server:
        model = model_at(server)
        model.complete([ask("good", **FORM)])
        model.complete([ask(f"evil {number}", **FORM) for number in range(6)])
        n = len(server.bodies)
        other = {**FORM, "json_schema": {**SCHEMA, "title": "another"}}
        model.complete([ask("evil", **other)])
    assert n == 1 + 6
    # Another schema may be to blame: plain JSON is tried, then none.
    assert len(server.bodies) == n + 3
    assert model.habits.refused == set()


@pytest.mark.parametrize("refused", ["response_format", "logprobs", "seed", "n"])
def test_texts_that_are_refused_first_hide_no_part_that_is_refused_too(refused: str) -> None:
    with serving(refuses_evil(refused=refused)) as server:
        model = model_at(server)
        bad = model.complete([ask(f"evil {number}", **FORM) for number in range(8)])
        good = model.complete([ask(f"good {number}", **FORM) for number in range(12)])
    assert not any(isinstance(answer, ChatReply) for answer in bad)
    assert all(isinstance(answer, ChatReply) for answer in good)


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_refused_texts_do_not_end_a_run_that_has_had_answers(status: int) -> None:
    n_refused = 2 * MOST_FAILURES * REFUSALS_A_FAILURE
    with serving(refuses_evil(status)) as server:
        model = model_at(server)
        assert isinstance(model.complete([ask("good")])[0], ChatReply)
        bad = model.complete([ask(f"evil {number}") for number in range(n_refused)])
        assert isinstance(model.complete([ask("good too")])[0], ChatReply)
    assert all(isinstance(answer, ChatFailure) and answer.is_refusal for answer in bad)
    assert len(server.bodies) == n_refused + 2


def test_a_key_without_the_right_ends_a_run_soon() -> None:
    with serving(lambda body, number: Reply(status=403, message="no")) as server:
        answers = model_at(server, concurrency=1).complete([ask(str(number)) for number in range(9)])
    assert len(server.bodies) == MOST_FAILURES
    assert not any(isinstance(answer, ChatFailure) and answer.is_refusal for answer in answers)


def test_samples_that_are_there_are_kept() -> None:
    with serving(lambda body, number: Reply(("one",)) if number == 0 else Reply(status=500)) as server:
        (answer,) = model_at(server, attempts=1).complete([ask(n_samples=3)])
    assert answer == ChatReply(("one",), {}, 7, 3)


def test_samples_that_are_drawn_one_by_one_have_seeds_of_their_own() -> None:
    def script(body: dict[str, Any], number: int) -> Reply:
        return (
            Reply(status=400, message="'n' must be 1")
            if body.get("n", 1) > 1
            else Reply((str(body["seed"]),))
        )

    with serving(script) as server:
        (answer,) = model_at(server).complete([ask(n_samples=3, seed=5)])
    assert isinstance(answer, ChatReply)
    assert answer.texts == ("5", "6", "7")
    assert answer.completion_tokens == 9


def test_first_tokens_come_with_their_log_probabilities() -> None:
    top = {"yes": -0.1, " yes": -3.0, "no": -2.5}
    with serving(lambda body, number: Reply(("yes",), top=top)) as server:
        (answer,) = model_at(server).complete([ask(n_top_tokens=50)])
    assert isinstance(answer, ChatReply)
    assert answer.first_tokens == top
    assert server.bodies[0]["top_logprobs"] == 20


def test_a_400_that_nothing_explains_is_a_failure() -> None:
    with serving(lambda body, number: Reply(status=400, message="too long")) as server:
        (answer,) = model_at(server).complete([ask()])
    assert reason(answer) == "status 400 'too long'"
    assert len(server.bodies) == 1


def test_a_pickled_model_works_and_holds_no_key() -> None:
    with serving(lambda body, number: Reply()) as server:
        model = EndpointChatModel("test", CallBudget(), place=Place(server.address, KEY), patience=QUICK)
        model.complete([ask()])
        data = pickle.dumps(model)
        again = pickle.loads(data)
        assert isinstance(again.complete([ask()])[0], ChatReply)
    assert KEY.encode() not in data
    assert KEY not in repr(model) + repr(vars(model))


def test_a_pickled_model_keeps_the_secrets_of_its_address_out() -> None:
    model = EndpointChatModel("test", CallBudget(), place=Place("http://me:word@host/v1?key=word", KEY))
    data = pickle.dumps(model)
    assert b"word" not in data
    assert KEY.encode() not in data
    assert pickle.loads(data).address == "http://host/v1"
    assert "word" not in repr(model) + repr(Place("http://me:word@host/v1?key=word", KEY))


def test_a_key_goes_to_the_address_of_its_own_pair_only() -> None:
    both = {"OPENAI_API_KEY": "a", "OPENAI_BASE_URL": "http://one/v1"}
    assert place_of(both) == Place("http://one/v1", "a")
    assert place_of({"OPENAI_API_KEY": "a"}).address.startswith("https://api.openai.com")
    assert place_of({**both, "RIF_LLM_BASE_URL": "http://two/v1"}) == Place("http://two/v1", "")
    assert place_of({**both, "RIF_LLM_BASE_URL": "http://two", "RIF_LLM_KEY": "b"}) == Place(
        "http://two", "b"
    )


def test_an_unencrypted_key_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://far.example/v1")
    with pytest.warns(UserWarning, match=r"the key for http://far\.example/v1 is sent unencrypted"):
        load_chat_model("llm:tiny")


def test_patience_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("RIF_LLM_RPM", "30"), ("RIF_LLM_TIMEOUT", "5"), ("RIF_LLM_CONCURRENCY", "2")):
        monkeypatch.setenv(name, value)
    assert Patience.from_environment() == Patience(seconds=5, total=10, concurrency=2, per_minute=30)


def test_versions_tell_model_and_address_apart_and_no_secret() -> None:
    def version(model: str, address: str) -> str:
        return EndpointChatModel(model, CallBudget(), place=Place(address)).version

    one = version("a", "http://host/v1")
    assert one == version("a", "http://me:pass@host/v1?key=1")
    assert len({one, version("b", "http://host/v1"), version("a", "http://other/v1")}) == 3


def test_loading_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda body, number: Reply()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        model = load_chat_model("llm:tiny")
        assert model.name == "llm:tiny"
        assert isinstance(model.complete([ask()])[0], ChatReply)
        assert server.bodies[0]["model"] == "tiny"


@pytest.mark.parametrize(
    ("spec", "variables", "message"),
    [
        ("llm:", {}, "unknown language model 'llm:': expected llm:NAME"),
        ("gpt", {}, "unknown language model 'gpt'"),
        ("llm:gguf:", {}, "unknown language model"),
        ("llm:x", {"OPENAI_API_KEY": ""}, "neither OPENAI_BASE_URL nor OPENAI_API_KEY is set"),
        ("llm:x", {"OPENAI_BASE_URL": "localhost:8000"}, "OPENAI_BASE_URL must be an http"),
        ("llm:x", {"RIF_LLM_RPM": "fast"}, "RIF_LLM_RPM must be calls a minute above 0, got 'fast'"),
        ("llm:x", {"RIF_LLM_RPM": "0"}, "RIF_LLM_RPM must be"),
        ("llm:x", {"RIF_LLM_TIMEOUT": "nan"}, "RIF_LLM_TIMEOUT must be seconds above 0"),
        ("llm:x", {"OPENAI_API_KEY": "kéy"}, "OPENAI_API_KEY holds characters that no header may have"),
        ("llm:gguf:absent.gguf", {}, "no such file: give the path of a GGUF file"),
        ("llm:hf:./absent", {}, "no such folder: give a folder or a hub name"),
    ],
)
def test_mistakes_are_named(
    spec: str, variables: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=message):
        load_chat_model(spec)


def test_a_file_that_is_no_gguf(tmp_path: Any) -> None:
    (tmp_path / "m.gguf").write_bytes(b"PK\x03\x04")
    with pytest.raises(UsageError, match=r"m\.gguf is no GGUF file"):
        load_chat_model(f"llm:gguf:{tmp_path / 'm.gguf'}")


def test_the_pace_spaces_calls() -> None:
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(round(seconds, 6))

    pace = Pace(30, sleep=sleep, clock=lambda: now[0])
    for _ in range(3):
        pace.wait()
    assert slept == [2.0, 4.0]
    now[0] = 100.0
    pace.wait()
    assert slept == [2.0, 4.0]


def test_waiting_for_a_turn_takes_no_time_from_the_answer() -> None:
    with serving(lambda body, number: Reply()) as server:
        patience = Patience(total=1.5, per_minute=30)  # two seconds from call to call
        model = EndpointChatModel("test", CallBudget(), place=Place(server.address), patience=patience)
        answers = model.complete([ask("a"), ask("b")])
    assert all(isinstance(answer, ChatReply) for answer in answers)


def test_the_circuit_closes_again_after_an_answer() -> None:
    circuit = Circuit(2)
    circuit.note(ChatFailure("a"))
    circuit.note(None)
    circuit.note(ChatFailure("a"))
    assert circuit.failure is None
    circuit.note(ChatFailure("a"))
    assert circuit.failure is not None
