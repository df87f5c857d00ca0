"""Keys and passwords stay out of everything that a run writes or prints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.audit_world import options, write_world
from fakes.scripted_server import Answer, ScriptedServer, serve

from rif_plugins.cli.main import main

TOKEN = "tok-3c1f9a7e55"
KEY = "key-7be20d4c19"
PASSWORD = "pass-91ab33f0c2"
SECRETS = (TOKEN, KEY, PASSWORD)


def well(data: Any, number: int) -> Answer:
    del number
    rows = [[0.2, 0.8] if "he" in text.split() else [0.7, 0.3] for text in data["texts"]]
    return Answer({"probabilities": rows, "label_names": ["negative", "positive"]})


def echoing(status: int) -> Callable[[Any, int], Answer]:
    """A careless server: it tells the whole request in its error."""

    def script(data: Any, number: int) -> Answer:
        del number
        return Answer({"error": f"bad request: Authorization: Bearer {TOKEN}", "got": data}, status=status)

    return script


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_world(tmp_path / "world")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RIF_ENDPOINT_TOKEN", TOKEN)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RIF_LLM_KEY", KEY)
    monkeypatch.setenv("RIF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return folder


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with serve(well) as running:
        yield running


def everything_under(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def assert_nothing_leaks(folder: Path, printed: Any) -> None:
    told = everything_under(folder) + (printed.out + printed.err).encode()
    assert [secret for secret in SECRETS if secret.encode() in told] == []


def run(*arguments: str) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return main(arguments)


def asked(server: ScriptedServer, **more: str | None) -> list[str]:
    return options(model=f"{server.url}?key={KEY}", **more)


@pytest.mark.parametrize("more", [(), ("--format", "json"), ("--dry-run",)], ids=["text", "json", "dry run"])
def test_an_audit_of_an_endpoint(
    world: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    assert run("audit", *asked(server), "--out", "out", "--junit", "junit.xml", *more) == 0
    assert server.headers[0]["Authorization"] == f"Bearer {TOKEN}"  # it was used
    assert_nothing_leaks(world, capsys.readouterr())


def test_what_reads_the_run_afterwards(
    world: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("audit", *asked(server), "--out", "out") == 0
    assert run("report", "out", "--charts", "--parquet") == 0
    assert run("replay", "out", "--model", f"{server.url}?key={KEY}") == 0
    assert_nothing_leaks(world, capsys.readouterr())


@pytest.mark.parametrize("status", [400, 401, 403, 418, 429, 500, 503])
def test_a_server_that_echoes_what_it_got(
    world: Path, capsys: pytest.CaptureFixture[str], status: int
) -> None:
    with serve(echoing(status)) as careless:
        assert run("audit", *asked(careless), "--out", "out") in (2, 3)
    assert_nothing_leaks(world, capsys.readouterr())


def test_a_server_that_fails_halfway(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script(data: Any, number: int) -> Answer:
        return well(data, number) if number < 3 else echoing(500)(data, number)

    with serve(script) as tired:
        assert run("audit", *asked(tired), "--out", "out") in (2, 3)
    assert_nothing_leaks(world, capsys.readouterr())


@pytest.mark.parametrize(
    "address",
    [
        f"http://user:{PASSWORD}@127.0.0.1:9/predict",
        f"http://{PASSWORD}@127.0.0.1:9/predict",
        f"http://127.0.0.1:9/predict?key={KEY}",
        f"http://127.0.0.1:99999/predict?key={KEY}",
        f"http://[::1/predict?key={KEY}",
        f"http:///predict?key={KEY}",
    ],
)
def test_an_address_that_cannot_be_used(
    world: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    assert run("audit", *options(model=address), "--out", "out") == 2
    printed = capsys.readouterr()
    assert sum(line.startswith("rif: ") for line in printed.err.splitlines()) == 1
    assert_nothing_leaks(world, printed)


def test_the_doctor_names_variables_and_not_their_values(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("doctor")
    assert_nothing_leaks(world, capsys.readouterr())
