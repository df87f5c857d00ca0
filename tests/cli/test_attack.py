"""`rif attack`: our options become settings, the rest goes to TextAttack."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rif_plugins.cli import attack
from rif_plugins.cli.main import main
from rif_plugins.errors import DataError, UsageError
from rif_plugins.settings import Settings
from rif_plugins.text import host


class Host:
    """Stands for TextAttack: records what it is given, and raises what a test sets."""

    def __init__(self) -> None:
        self.registered = 0
        self.arguments: list[str] = []
        self.settings: Settings | None = None
        self.error: Exception | None = None

    def register(self) -> None:
        self.registered += 1

    def run(self, arguments: list[str]) -> int:
        self.arguments = arguments
        self.settings = Settings.load()
        if self.error is not None:
            raise self.error
        return 0


@pytest.fixture
def textattack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    fake = Host()
    monkeypatch.setattr(host, "register", fake.register)
    monkeypatch.setattr(host, "run_command_line", fake.run)
    monkeypatch.chdir(tmp_path)
    return fake


@pytest.fixture(autouse=True)
def _environment() -> Iterator[None]:
    """Settings reach the recipes through the environment: take them out again."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]


def test_other_options_reach_textattack_untouched(textattack: Host) -> None:
    given = [
        "--recipe",
        "rifair-robust-biased",
        "--num-examples",
        "3",
        "--query-budget",
        "30",
        "-s",
        "greedy",
    ]
    assert main(["attack", *given]) == 0
    assert textattack.registered == 1
    assert textattack.arguments == ["attack", *given]


def test_our_options_become_settings(textattack: Host) -> None:
    given = ["--sensitive", "gender,race", "--min-equivalence=0.9", "--max-edits", "2", "--scope", "word"]
    assert main(["attack", *given]) == 0
    assert textattack.arguments == ["attack"]
    assert textattack.settings == Settings(
        sensitive=("gender", "race"), min_equivalence=0.9, max_edits=2, scope="word"
    )


def test_seed_and_batch_size_reach_textattack_too(textattack: Host) -> None:
    assert main(["attack", "--seed", "4", "--batch-size", "8", "--random-seed", "1"]) == 0
    assert textattack.arguments == ["attack", "--random-seed", "1", "--model-batch-size", "8"]
    assert textattack.settings == Settings(seed=4, batch_size=8)


def test_a_wrong_setting_is_found_before_textattack_loads(
    textattack: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attack", "--min-equivalence", "much"]) == 2
    assert "RIF_MIN_EQUIVALENCE: expected a number above 0, up to 1, got 'much'" in capsys.readouterr().err
    assert textattack.registered == 0


@pytest.mark.parametrize("option", ["--model-from-file", "--dataset-from-file", "--attack-from-file"])
@pytest.mark.parametrize("form", ["{0} {1}", "{0}={1}"])
def test_a_missing_file_is_found_before_textattack_loads(
    textattack: Host, capsys: pytest.CaptureFixture[str], option: str, form: str
) -> None:
    assert main(["attack", *form.format(option, "gone.py^build").split()]) == 2
    assert re.fullmatch(rf"rif: {option}: no file 'gone\.py'; .*\n", capsys.readouterr().err)
    assert textattack.registered == 0


def test_an_error_of_ours_is_one_line(textattack: Host, capsys: pytest.CaptureFixture[str]) -> None:
    textattack.error = DataError("row 3: empty text")
    assert main(["attack"]) == 2
    assert capsys.readouterr().err == "rif: row 3: empty text\n"


def raise_in(file: str, message: str) -> Exception:
    """The error that code in a file of that name raises."""
    try:
        exec(compile(f"raise AttributeError({message!r})", file, "exec"), {})
    except AttributeError as error:
        return error
    raise NotImplementedError


def test_an_argument_error_of_textattack_is_one_line(
    textattack: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    textattack.error = raise_in("lib/textattack/model_args.py", "`model` not found\nin module victim.py")
    assert main(["attack"]) == 2
    expected = "rif: TextAttack: `model` not found in module victim.py (RIF_DEBUG=1 shows the traceback)\n"
    assert capsys.readouterr().err == expected


def test_a_failure_elsewhere_in_textattack_keeps_its_traceback(textattack: Host) -> None:
    textattack.error = raise_in("lib/textattack/attacker.py", "a bug")
    with pytest.raises(AttributeError, match="a bug"):
        main(["attack"])


def test_help_names_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        attack.main(["--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    assert "--min-equivalence VALUE" in printed
    assert "textattack attack --help" in printed


def test_an_option_without_its_value_is_a_mistake() -> None:
    with pytest.raises(UsageError, match=r"argument --seed: expected one argument; see `rif attack --help`"):
        attack.main(["--seed"])
