from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fakes.scripted_server import Answer, ScriptedServer, serve

from rif_plugins.core.victim import VictimEngine
from rif_plugins.errors import VictimError, VictimRowError
from rif_plugins.victims.endpoint import EndpointVictim
from rif_plugins.victims.http_client import JsonClient, Limits
from rif_plugins.victims.loading import load_victim


def probability(text: str) -> list[float]:
    return [0.25, 0.75] if "good" in text else [1.0, 0.0]


def well(data: Any, number: int) -> Answer:
    return Answer({"probabilities": [probability(text) for text in data["texts"]]})


@pytest.fixture
def good() -> Iterator[ScriptedServer]:
    with serve(well) as server:
        yield server


def victim_at(server: ScriptedServer, waits: list[float] | None = None, **limits: Any) -> EndpointVictim:
    waits = [] if waits is None else waits
    return EndpointVictim(server.url, limits=Limits(**limits), sleep=waits.append)


def test_rows_of_a_good_server(good: ScriptedServer) -> None:
    victim = load_victim(good.url)
    assert (victim.name, victim.output, victim.label_names) == (good.url, "probabilities", None)
    assert victim.predict(["good", "bad"]) == [[0.25, 0.75], [1.0, 0.0]]
    assert victim.predict([]) == []
    assert good.requests == [{"texts": ["This is a test."]}, {"texts": ["good", "bad"]}]
    assert load_victim(good.url, output="logits", labels=["a", "b"]).label_names == ("a", "b")


def test_odd_texts_arrive_as_they_are(good: ScriptedServer) -> None:
    texts = ["\u202eabc\u0000", "<script>", "é" * 1000, '"', "\ud800"]
    assert len(load_victim(good.url).predict(texts)) == 5
    assert good.requests[-1] == {"texts": texts}


def test_a_hugging_face_server_is_asked_in_its_own_way() -> None:
    def script(data: Any, number: int) -> Answer:
        if "inputs" not in data:
            return Answer({"error": "missing field `inputs`"}, status=422)
        rows = [[{"label": "POSITIVE", "score": 0.75}, {"label": "NEGATIVE", "score": 0.25}]]
        return Answer(rows * len(data["inputs"]))

    with serve(script) as server:
        victim = load_victim(server.url)
        assert victim.label_names == ("NEGATIVE", "POSITIVE")
        assert victim.predict(["a", "b"]) == [[0.25, 0.75]] * 2
        assert [list(request) for request in server.requests] == [["texts"], ["inputs"], ["inputs"]]


def test_a_single_score_keeps_its_name() -> None:
    with serve(
        lambda data, _: Answer([[{"label": "toxic", "score": 0.25}] for _ in data["texts"]])
    ) as server:
        victim = load_victim(server.url)
        assert victim.label_names == ("not toxic", "toxic")
        rows = VictimEngine(victim.predict, output=victim.output).probabilities(["a", "b"])
        assert rows.tolist() == [[0.75, 0.25]] * 2


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_server_is_asked_again_ever_later(status: int) -> None:
    script = [Answer("busy", status=status)] * 3
    with serve(lambda data, n: script[n] if n < 3 else well(data, n)) as server:
        waits: list[float] = []
        victim_at(server, waits, first_wait=0.5).probe()
        assert waits == [0.5, 1.0, 2.0]


def test_the_server_may_ask_for_a_longer_wait_within_bounds() -> None:
    asked = [{"Retry-After": "7"}, {"Retry-After": "9999"}, {"Retry-After": "Mon, 01 Jan 2029 00:00:00 GMT"}]
    script = [Answer("busy", status=429, headers=headers) for headers in asked]
    with serve(lambda data, n: script[n] if n < 3 else well(data, n)) as server:
        waits: list[float] = []
        victim_at(server, waits, first_wait=0.5).probe()
        assert waits == [7.0, 30.0, 2.0]


def test_a_server_that_stays_down_is_one_line() -> None:
    with serve(lambda data, n: Answer("down\nfor repair", status=503)) as server:
        with pytest.raises(
            VictimError, match=r"status 503 .*down.*repair.*\(attempt 4 of 4\).*check the"
        ) as caught:
            victim_at(server).probe()
        assert "\n" not in str(caught.value)
        assert len(server.requests) == 4


def test_an_error_on_some_texts_ends_these_only() -> None:
    def script(data: Any, n: int) -> Answer:
        return Answer("bug", status=500) if "bad" in data["texts"] else well(data, n)

    with serve(script) as server:
        victim = victim_at(server, attempts=2)
        assert len(victim(["good"])) == 1
        with pytest.raises(VictimRowError, match=r"status 500 .*\(attempt 2 of 2\)"):
            victim(["good", "bad"])


def test_a_refused_text_is_found_by_halves() -> None:
    def script(data: Any, n: int) -> Answer:
        if len(data["texts"]) > 2:
            return Answer("too many", status=413)
        return Answer("bad text", status=400) if "evil" in data["texts"] else well(data, n)

    with serve(script) as server:
        victim = victim_at(server)
        assert victim(["good"] * 5) == [[0.25, 0.75]] * 5
        with pytest.raises(VictimRowError, match=r"status 400 .*bad text.* for one text"):
            victim(["good", "good", "evil"])


def test_a_lost_connection_is_tried_again() -> None:
    with serve(lambda data, n: Answer(hang_up=True) if n == 0 else well(data, n)) as server:
        waits: list[float] = []
        victim_at(server, waits).probe()
        assert len(waits) == 1


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/predict?key=secret"
        victim = EndpointVictim(url, sleep=lambda seconds: None)
        with pytest.raises(
            VictimError, match=r"the connection failed or broke off \(attempt 4 of 4\)"
        ) as caught:
            victim(["a"])
    assert "secret" not in str(caught.value) + repr(victim) + victim.name


@pytest.mark.parametrize("is_started", [False, True])
def test_a_slow_server(is_started: bool) -> None:
    release = threading.Event()

    def script(data: Any, n: int) -> Answer:
        if is_started:
            return Answer(well(data, n).data, wait_for=release)
        release.wait(20)
        return well(data, n)

    with serve(script) as server:
        # An answer that has begun and stalls reads as a broken connection.
        with pytest.raises(VictimError, match=r"no answer within 0\.2 s|broke off"):
            victim_at(server, seconds=0.2, attempts=1).probe()
        release.set()


def test_an_answer_that_drips_is_given_up() -> None:
    body = b"[" + b" " * 400_000 + b"[0.5, 0.5]]"
    with serve(lambda data, n: Answer(body=body)) as server:
        assert victim_at(server)(["a"]) == [[0.5, 0.5]]
        clock = iter(float(second) for second in range(100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rif_plugins.victims.http_client.time.monotonic", lambda: next(clock))
            with pytest.raises(VictimError, match=r"no whole answer within 3 s \(attempt 1 of 1\)"):
                victim_at(server, seconds=3, attempts=1)(["a"])


def test_a_huge_answer_is_given_up() -> None:
    with (
        serve(lambda data, n: Answer(body=b"[" * 300_000)) as server,
        pytest.raises(VictimError, match=r"answers more than 100000 bytes, expected one row a text"),
    ):
        victim_at(server, max_bytes=100_000).probe()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(body=b"<html>\nhello"), r"answered no JSON but '<html>\\nhello'"),
        (Answer(body=b"\xff\xfe"), r"answered no JSON but"),
        (Answer(body=b"[" * 100_000), r"answered no JSON but"),
        (Answer(body=b""), r"answered no JSON but ''"),
        (Answer({"scores": 1}), r"answered \['scores'\], expected \{\"probabilities\""),
        (Answer(status=404, data="no such page"), r"status 404 .*no such page"),
        (Answer(status=422, data="bad"), r"status 422"),
        (Answer(status=401), r"status 401 .*set RIF_ENDPOINT_TOKEN to a valid token"),
        (
            Answer(status=302, headers={"Location": "/x"}),
            r"redirects elsewhere \(status 302\), give the final",
        ),
    ],
)
def test_garbage_is_one_line(answer: Answer, message: str) -> None:
    with serve(lambda data, n: answer) as server, pytest.raises(VictimError, match=message) as caught:
        victim_at(server).probe()
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"endpoint {server.url}: ")


def test_answers_must_stay_as_they_were() -> None:
    rows = [[0.5, 0.5]]
    script = [{"probabilities": rows}, {"logits": rows}, {"probabilities": [[0.25, 0.25, 0.5]]}]
    with serve(lambda data, n: Answer(script[n])) as server:
        victim = EndpointVictim(server.url, label_names=("a", "b"))
        victim.probe()
        with pytest.raises(VictimError, match=r"answered logits after probabilities, expected one form"):
            victim(["a"])
        with pytest.raises(VictimError, match=r"answered 3 labels, expected the 2 that are named"):
            victim(["a"])


def test_the_token_is_sent_and_never_shown(good: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIF_ENDPOINT_TOKEN", "sesame-7")
    victim = load_victim(good.url)
    assert [headers.get("Authorization") for headers in good.headers] == ["Bearer sesame-7"]
    kept = pickle.dumps(victim.identity, protocol=2)
    assert b"sesame" not in kept
    echo = lambda data, n: Answer({"got": good.headers[0]["Authorization"]}, status=403)  # noqa: E731
    with serve(echo) as server, pytest.raises(VictimError, match=r"status 403 .*Bearer \*\*\*") as caught:
        load_victim(server.url)
    assert "sesame" not in str(caught.value)
    monkeypatch.setenv("RIF_ENDPOINT_TOKEN", "sesame\n7")
    with pytest.raises(
        VictimError, match=r"RIF_ENDPOINT_TOKEN holds characters that no header may have"
    ) as caught:
        load_victim(good.url)
    assert "sesame" not in str(caught.value)


def test_no_token_no_header(good: ScriptedServer, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password mine\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(netrc))
    load_victim(good.url)
    assert "Authorization" not in good.headers[0]


def test_a_token_on_an_open_line_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIF_ENDPOINT_TOKEN", "sesame")
    with pytest.warns(
        UserWarning, match=r"RIF_ENDPOINT_TOKEN is sent to http://models\.example/p unencrypted"
    ):
        JsonClient("http://models.example/p?q=1").warn_if_exposed()
    JsonClient("https://models.example/p").warn_if_exposed()
    JsonClient("http://127.0.0.1/p").warn_if_exposed()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://", r"an endpoint must be an address such as https://host/path"),
        ("http://[::1", r"an endpoint must be an address"),
        ("http://host:port/", r"an endpoint must be an address"),
        (
            "https://me:mine@host.example/p",
            r"holds a user or a password: leave them out and set RIF_ENDPOINT",
        ),
    ],
)
def test_bad_addresses(url: str, message: str) -> None:
    with pytest.raises(VictimError, match=message) as caught:
        load_victim(url)
    assert "mine" not in str(caught.value)


def test_names_hide_what_follows_the_path() -> None:
    assert JsonClient("https://[::1]:8000/p?key=1#x").name == "https://[::1]:8000/p"


def test_pickles_without_its_connection(good: ScriptedServer) -> None:
    victim = EndpointVictim(good.url)
    victim.probe()
    assert pickle.loads(pickle.dumps(victim))(["good"]) == [[0.25, 0.75]]
