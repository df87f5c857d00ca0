"""`rif audit` from the command line: real processes for what it writes, one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from fakes.audit_world import VICTIM, options, run_rif, write_rows, write_world

from rif_plugins.cli.main import main
from rif_plugins.core.result_files import read_records
from rif_plugins.core.run_result import RunResult

FILES = ("run.json", "results.jsonl", "summary.json", "findings.csv", "report.html")
Done = "subprocess.CompletedProcess[str]"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The world as the working folder of this process."""
    monkeypatch.chdir(write_world(tmp_path))
    monkeypatch.setenv("RIF_CACHE", "off")
    return tmp_path


# -- real processes ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, home: Path) -> tuple[Path, Done]:
    """The embedded victim on embedded examples, WordNet and a cache, in a process of its own."""
    folder = tmp_path_factory.mktemp("embedded")
    done = run_rif(
        *("audit", "--model", "embedded", "--data", "embedded", "--limit", "6", "--entailment", "none"),
        *("--cache-dir", str(folder / "cache"), "--out", "out", "--junit", "out/rif.xml"),
        cwd=folder,
        home=home,
    )
    return folder, done


def test_the_command_writes_its_files_and_ends_with_0(embedded: tuple[Path, Done], home: Path) -> None:
    folder, done = embedded
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / "out").iterdir()} == {*FILES, "rif.xml"}
    assert [path.name for path in (folder / "cache").iterdir()] != []
    assert list(home.iterdir()) == []  # nothing is left in the home folder
    assert "Traceback" not in done.stderr


def test_text_json_csv_and_page_agree(embedded: tuple[Path, Done]) -> None:
    folder, done = embedded
    out = folder / "out"
    run = RunResult.load(out)
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    page = (out / "report.html").read_text(encoding="utf-8")
    with (out / "findings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [record for record in read_records(out / "results.jsonl") if record.is_found]
    assert [row["id"] for row in rows] == [record.id for record in found]
    assert re.search(rf"Findings: {len(found)}\n", done.stdout)
    assert re.search(rf"Examples: {summary['n_examples']}\n", done.stdout)
    assert summary["n_examples"] == 6
    rate = summary["rif_rate"]
    shown = f"{rate['value']:.1%}"
    assert f"of {rate['total']} pairs" in " ".join(done.stdout.split())
    assert shown in done.stdout
    assert shown in page
    assert sum(block["n_induced"] for block in summary["by_target"].values()) == sum(
        row["status"] == "induced" for row in rows
    )
    assert run.configuration["finished"] is not None
    suites = Xml.parse(out / "rif.xml").getroot()
    assert suites.tag == "testsuites"
    assert int(suites.attrib["failures"]) > 0


def test_report_writes_the_same_files_again(embedded: tuple[Path, Done], tmp_path: Path) -> None:
    folder, _ = embedded
    assert main(["report", str(folder / "out"), "--out", str(tmp_path / "again"), "--quiet"]) == 0
    for name in FILES:
        assert (tmp_path / "again" / name).read_bytes() == (folder / "out" / name).read_bytes(), name


def test_json_alone_on_stdout_and_no_host_is_loaded(tmp_path: Path, home: Path) -> None:
    folder = write_world(tmp_path)
    chatty = "import sys\nprint('loading weights')\n" + VICTIM.replace(
        "        sums", "        print('predicting')\n        sums"
    )
    (folder / "victim.py").write_text(chatty, encoding="utf-8")
    command = ["audit", *options(), "--format", "json", "--out", "out"]
    code = (
        "import sys\nfrom rif_plugins.cli.main import main\n"
        f"code = main({command!r})\n"
        "heavy = {'textattack', 'torch', 'art', 'transformers', 'datasets', 'pandas', 'matplotlib'}\n"
        "print('loaded:', *sorted(heavy & sys.modules.keys()), file=sys.stderr)\nsys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary == json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert "loading weights" in done.stderr
    assert done.stderr.splitlines()[-1] == "loaded:"


def test_a_mistake_is_one_line_and_no_traceback(tmp_path: Path, home: Path) -> None:
    done = run_rif("audit", "--model", "gone.py", "--data", "embedded", cwd=tmp_path, home=home)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        "rif: no file 'gone.py': expected a Python file with a variable `model`"
    )
    assert "Traceback" not in done.stderr


def test_a_killed_run_goes_on(world: Path, home: Path) -> None:
    # The victim kills its process, as an operating system does that has no memory left, far down the data.
    killer = VICTIM.replace(
        "        sums",
        "        import os, pathlib, signal\n"
        "        if 'she is poor at last' in texts and not pathlib.Path('mended').exists():\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        sums",
    )
    (world / "victim.py").write_text(killer, encoding="utf-8")
    rows = [(f"he is good {number}", "positive") for number in range(150)]
    write_rows(world / "data.csv", ("text", "label"), [*rows, ("she is bad at last", "negative")])
    killed = run_rif("audit", *options(), "--out", "out", cwd=world, home=home)
    assert killed.returncode == -signal.SIGKILL
    written = [json.loads(line)["id"] for line in (world / "out/results.jsonl").read_bytes().splitlines()]
    assert 0 < len(written) < 151 * 5
    (world / "mended").touch()
    command = ["audit", *options(), "--quiet", "--out"]
    assert main([*command, "out"]) == 2  # never over the records of another run
    assert main([*command, "out", "--resume"]) == 0
    assert main([*command, "whole"]) == 0
    resumed, whole = (_without_costs(Path(name)) for name in ("out", "whole"))
    assert resumed == whole
    assert [record["id"] for record in whole][: len(written)] == written


def _without_costs(out: Path) -> list[dict[str, Any]]:
    records = [record.to_dict() for record in read_records(out / "results.jsonl")]
    for record in records:
        del record["queries"], record["seconds"]
    return records


# -- the same in this process ----------------------------------------------------------------------------


def test_rates_are_those_counted_by_hand(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *options(), "--out", "out", "--format", "json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["n_examples"], summary["n_pairs"], summary["n_skipped"]) == (7, 6, 1)
    counts = {
        name: (summary[name]["successes"], summary[name]["total"])
        for name in ("accuracy", "individual_fairness_rate", "robustness_rate", "fairness_rate", "rif_rate")
    }
    # "he is fine" is fair to nobody; "good" and "bad" have candidates that flip; "great" has none.
    assert counts == {
        "accuracy": (6, 6),
        "individual_fairness_rate": (5, 6),
        "robustness_rate": (3, 6),
        "fairness_rate": (1, 6),
        "rif_rate": (1, 6),
    }


def test_quiet_prints_nothing(world: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *options(), "--out", "out", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")
    assert {path.name for path in (world / "out").iterdir()} == set(FILES)


def test_dry_run_counts_and_writes_nothing(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *options(), "--out", "out", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^examples +7$", printed, re.M)
    assert re.search(r"^with similar texts +6 \(85\.7%\)$", printed, re.M)
    assert re.search(r"^pairs +6 \(gender 6\)$", printed, re.M)
    assert re.search(r"^victim rows +about [1-9]\d*$", printed, re.M)
    assert main(["audit", *options(), "--dry-run", "--format", "json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert (estimate["schema"], estimate["n_pairs"], estimate["n_sampled"]) == ("rif-estimate/1", 6, 6)
    assert main(["audit", *options(), "--dry-run", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert not (world / "out").exists()


def test_a_terminal_that_knows_ascii_only(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    assert main(["audit", *options(), "--out", "out"]) == 0
    sys.stdout.flush()
    assert b"Robust individual fairness" in printed.getvalue()


def test_fail_under(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rates = ["--fail-under", "rif_rate=0.9", "--fail-under", "accuracy=0.9", "--junit", "ci/rif.xml"]
    assert main(["audit", *options(), "--out", "out", *rates]) == 1
    assert "rif audit: rif_rate is 0.1667 (1 of 6), below --fail-under 0.9\n" in capsys.readouterr().err
    failed = [case.attrib["name"] for case in Xml.parse("ci/rif.xml").iter("testcase") if len(case)]
    assert "rif_rate is 0.1667 (1 of 6), below --fail-under 0.9" in failed
    assert main(["audit", *options(), "--out", "o2", "--fail-under", "rif_rate=0.16", "--quiet"]) == 0


@pytest.mark.parametrize("form", ["results", "ids"])
def test_a_baseline_lets_only_new_findings_fail(
    world: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert main(["audit", *options(), "--out", "first", "--quiet"]) == 0
    found = [record.id for record in RunResult.load("first").findings]
    accepted = "first/results.jsonl"
    if form == "ids":
        accepted = "accepted.txt"
        Path(accepted).write_text("# known\n" + "\n".join(found) + "\n", encoding="utf-8")
    gate = ["--fail-under", "rif_rate=1", "--baseline", accepted, "--junit", "rif.xml"]
    assert main(["audit", *options(), "--out", "second", *gate]) == 0
    line = f"findings that {Path(accepted).name} does not accept: 0 of {len(found)}\n"
    assert line in capsys.readouterr().out
    assert Xml.parse("rif.xml").getroot().attrib["failures"] == "0"
    # A new row brings a finding that nobody accepted.
    with Path("data.csv").open("a", encoding="utf-8") as file:
        file.write("she is fine,positive\r\n")
    assert main(["audit", *options(), "--out", "third", *gate, "--quiet"]) == 1
    assert "rif_rate is 0.8571 (6 of 7, accepted findings aside)" in capsys.readouterr().err


def test_resume_takes_what_is_done_and_refuses_another_run(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", *options(), "--out", "out", "--quiet"]
    assert main(command) == 0
    results = world / "out" / "results.jsonl"
    whole = results.read_bytes()
    lines = whole.splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:12]) + lines[12][:40])  # torn in the third example
    run = json.loads((world / "out" / "run.json").read_text(encoding="utf-8"))
    (world / "out" / "run.json").write_text(json.dumps({**run, "finished": None}), encoding="utf-8")
    assert main(command) == 2
    assert re.search(r"^rif: out/results\.jsonl holds an earlier run: .*--resume", capsys.readouterr().err)
    assert main([*command, "--seed", "7", "--resume"]) == 2
    assert "holds a run with another seed (0, now 7)" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 0
    assert [json.loads(line)["id"] for line in results.read_bytes().splitlines()] == [
        json.loads(line)["id"] for line in lines
    ]


def test_predicted_labels_are_marked_everywhere(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(world / "plain.csv", ("text",), [("he is good",), ("she is fine",)])
    assert main(["audit", *options(data="plain.csv"), "--out", "out", "--labels", "predicted"]) == 0
    printed = capsys.readouterr().out
    assert "predicted by the model itself" in printed
    assert "Labels are the model's own predictions" in printed
    assert json.loads((world / "out" / "run.json").read_text(encoding="utf-8"))["labels"] == "predicted"
    assert json.loads((world / "out" / "summary.json").read_text(encoding="utf-8"))["labels"] == "predicted"
    assert "predicted by the model itself" in (world / "out" / "report.html").read_text(encoding="utf-8")
    labels = {record.original: record.label for record in read_records(world / "out" / "results.jsonl")}
    assert labels == {"he is good": 1, "she is fine": 0}


def test_a_label_map_and_names_of_columns(world: Path) -> None:
    write_rows(world / "stars.csv", ("stars", "review"), [("5", "he is good"), ("1", "she is bad now")])
    (world / "map.json").write_text('{"5": "positive", "1": 0}', encoding="utf-8")
    columns = ["--text-column", "review", "--label-column", "stars", "--label-map", "map.json"]
    assert main(["audit", *options(data="stars.csv"), *columns, "--out", "out", "--quiet"]) == 0
    labels = {record.original: record.label for record in read_records(world / "out" / "results.jsonl")}
    assert labels == {"he is good": 1, "she is bad now": 0}


def test_ready_pairs_of_a_column(world: Path) -> None:
    rows = [("my son is good", "my daughter is good", "positive"), ("he is good", "", "positive")]
    write_rows(world / "pairs.csv", ("text", "other", "label"), rows)
    command = ["audit", *options(data="pairs.csv"), "--similar-column", "other", "--out", "out", "--quiet"]
    assert main(command) == 0
    pairs = {(r.original, r.similar) for r in read_records(world / "out" / "results.jsonl") if r.is_evaluated}
    assert pairs == {("my son is good", "my daughter is good"), ("he is good", "she is good")}


def test_an_example_that_fails_is_counted_and_the_rest_goes_on(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = VICTIM.replace(
        "        sums", "        if 'he is decent' in texts:\n            1 / 0\n        sums"
    )
    (world / "victim.py").write_text(broken, encoding="utf-8")
    assert main(["audit", *options(), "--out", "out"]) == 3
    assert "ZeroDivisionError" in capsys.readouterr().out
    run = RunResult.load("out")
    failed = [record for record in run.records if record.status == "error"]
    assert {record.original for record in failed} == {"he is good", "she is good", "he is bad"}
    assert run.summary["n_errors"] == 3
    assert run.summary["n_pairs"] == 3


def test_a_cache_that_cannot_be_opened_is_said_and_left_out(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", *options(no_cache=None), "--cache", "on", "--cache-dir", "data.csv", "--out", "out"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main([*command, "--quiet"]) == 0
    line = r"rif: the cache data\.csv/.* cannot be used .*: the run goes on without it; .*\n"
    assert re.fullmatch(line, capsys.readouterr().err)
    assert RunResult.load("out").summary["n_pairs"] == 6


def test_two_processes_write_what_one_writes(world: Path) -> None:
    assert main(["audit", *options(), "--out", "one", "--quiet"]) == 0
    assert main(["audit", *options(), "--out", "two", "--quiet", "--workers", "2"]) == 0
    assert _without_costs(Path("one")) == _without_costs(Path("two"))


# -- mistakes --------------------------------------------------------------------------------------------

Prepare = Callable[[Path], object]
NAMES = 'label_names = ("negative", "positive")\n'


def _file(name: str, content: str) -> Prepare:
    def write(folder: Path) -> None:
        (folder / name).write_text(content, encoding="utf-8")

    return write


MISTAKES: dict[str, tuple[list[str], Prepare | None, str]] = {
    "no option at all": ([], None, r"the following arguments are required: --model, --data; see"),
    "unknown option": ([*options(), "--modle", "x"], None, r"unrecognized arguments: --modle x; see"),
    "abbreviated option": ([*options(), "--resum"], None, r"unrecognized arguments: --resum"),
    "no such data": (options(data="gone.csv"), None, r"no file 'gone\.csv': check the path"),
    "data of no known kind": (options(data="victim.py"), None, r"victim\.py.? is of no known kind"),
    "data without rows": (options(data="e.csv"), _file("e.csv", "text,label\n"), r"e\.csv.? has no rows"),
    "data without labels": (
        options(data="e.csv"),
        _file("e.csv", "text\nhe is good\n"),
        r"no column is called label .*--labels predicted",
    ),
    "unknown column": ([*options(), "--text-column", "body"], None, r"no column 'body' for --text-column"),
    "unknown similar column": (
        [*options(), "--similar-column", "twin"],
        None,
        r"no column 'twin' for --similar-column",
    ),
    "label that is no class": (
        options(data="e.csv"),
        _file("e.csv", "text,label\nhe is good,angry\n"),
        r"the label 'angry' is no class of the victim: expected 'negative', 'positive'",
    ),
    "broken label map": (
        [*options(), "--label-map", "m.json"],
        _file("m.json", "{"),
        r"label map 'm\.json': broken JSON",
    ),
    "split of a file": ([*options(), "--split", "test"], None, r"--split goes with data sets of the hub"),
    "empty limit": ([*options(), "--limit", "0"], None, r"--limit: expected a whole number from 1, got 0"),
    "limit in words": ([*options(), "--limit", "few"], None, r"--limit: .*'few'"),
    "offset behind the end": ([*options(), "--offset", "99"], None, r"has no rows after the first 99"),
    "unknown target": (
        [*options(), "--targets", "biased"],
        None,
        r"--targets: expected all or .*'biased'",
    ),
    "unknown attribute": (
        options(sensitive="shoe"),
        None,
        r"sensitive attribute 'shoe' is not in",
    ),
    "no such lexicon": ([*options(), "--lexicon", "l.tsv"], None, r"l\.tsv"),
    "no such candidates": (options(proposer="table:t.csv"), None, r"cannot read the candidate table t\.csv"),
    "unknown proposer": (options(proposer="oracle"), None, r"oracle"),
    "unknown scorer": (options(entailment="oracle"), None, r"oracle"),
    "equivalence above 1": (
        [*options(), "--min-equivalence", "80"],
        None,
        r"setting `min_equivalence`: expected a number above 0, up to 1, got '80'",
    ),
    "two opinions on the cache": (
        [*options(), "--cache", "on"],
        None,
        r"--no-cache and --cache on",
    ),
    "gradient of a black box": (
        [*options(), "--saliency", "gradient"],
        None,
        r"--saliency gradient needs a white-box victim, got victim\.py",
    ),
    "positions": (
        [*options(), "--positions", "coupled"],
        None,
        r"unrecognized arguments: --positions",
    ),
    "rate that is none": (
        [*options(), "--fail-under", "fairness=1"],
        None,
        r"--fail-under fairness=1: expected RATE=X with one of accuracy, .*, got 'fairness'",
    ),
    "rate without a number": (
        [*options(), "--fail-under", "rif_rate"],
        None,
        r"--fail-under rif_rate: expected a number from 0 to 1, got ''",
    ),
    "rate in percent": ([*options(), "--fail-under", "rif_rate=90"], None, r"from 0 to 1, got '90'"),
    "no such baseline": ([*options(), "--baseline", "b.txt"], None, r"--baseline b\.txt cannot be read"),
    "baseline of something else": (
        [*options(), "--baseline", "b.txt"],
        _file("b.txt", "all of them\n"),
        r"--baseline b\.txt, line 1: expected an id, got 'all of them'",
    ),
    "model file that raises": (
        options(),
        _file("victim.py", "x = 1\nraise ValueError('no weights')\n"),
        r"victim\.py, line 2: ValueError: no weights: mend the file",
    ),
    "model file without a model": (
        options(),
        _file("victim.py", "x = 1\n"),
        r"sets no variable `model`",
    ),
    "model that answers nothing": (
        options(),
        _file("victim.py", NAMES + "def model(texts):\n    return None\n"),
        r"the victim victim\.py cannot be audited: ",
    ),
    "model that raises": (
        options(),
        _file("victim.py", NAMES + "def model(texts):\n    raise OSError('no GPU')\n"),
        r"the victim victim\.py cannot be audited: .*OSError: no GPU",
    ),
    "language model": (options(model="llm:x"), None, r"llm:x needs a prompt file .*: give --prompt FILE"),
    "names of too many classes": (
        [*options(data="e.csv"), "--label-names", "bad,fair,good"],
        _file("e.csv", "text,label\nhe is good,1\n"),
        r"the victim victim\.py has 2 classes, got 3 names \(bad, fair, good\)",
    ),
    "out is a file": ([*options(), "--out", "data.csv"], None, r"data\.csv is a file, expected a folder"),
    "out below a file": ([*options(), "--out", "data.csv/x"], None, r"cannot write data\.csv/x"),
    "junit is a folder": ([*options(), "--junit", "."], None, r"--junit \.: expected the path of a file"),
    "results of something else": (
        [*options(), "--out", "."],
        _file("results.jsonl", "precious\n"),
        r"results\.jsonl holds an earlier run",
    ),
    "resume of something else": (
        [*options(), "--out", ".", "--resume"],
        _file("results.jsonl", "precious\n"),
        r"run\.json cannot be read",
    ),
    "settings file with an unknown key": (
        options(),
        _file("rif.toml", "colour = 1\n"),
        r"unknown key `colo",
    ),
    "settings file that is no TOML": (options(), _file("rif.toml", "seed: 1\n"), r"rif\.toml: not TOML"),
    "settings file in Latin-1": (
        options(),
        lambda folder: (folder / "rif.toml").write_bytes(b"lexicon = '\xe9'\n"),
        r"rif\.toml: not TOML",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake(name: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, prepare, expected = MISTAKES[name]
    if prepare is not None:
        prepare(world)
    before = {path: path.read_bytes() for path in world.rglob("*") if path.is_file()}
    out = [] if not arguments or "--out" in arguments else ["--out", "out"]
    assert main(["audit", *arguments, *out]) == 2
    captured = capsys.readouterr()
    last = captured.err.splitlines()[-1]
    assert captured.out == ""
    assert re.search(f"^rif: .*{expected}", last), captured.err
    assert len(last) < 500
    assert {path: path.read_bytes() for path in before} == before  # no file of the user was touched


def test_a_settings_file_that_is_gone(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RIF_PLUGINS_CONFIG", "gone.toml")
    assert main(["audit", *options()]) == 2
    assert capsys.readouterr().err == (
        "rif: RIF_PLUGINS_CONFIG: no file 'gone.toml'; correct the path or unset the variable\n"
    )


def test_a_folder_that_cannot_be_written(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locked = world / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    try:
        (locked / "probe").touch()
    except OSError:
        assert main(["audit", *options(), "--out", "locked/out"]) == 2
        assert "cannot write locked/out" in capsys.readouterr().err
    else:
        pytest.skip("this user may write everywhere")


@pytest.fixture(autouse=True)
def _modules_of_victims() -> Iterator[None]:
    """A victim file is a module for as long as its test runs."""
    before = set(sys.modules)
    path = list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("rif_victim_"):
            del sys.modules[name]
    sys.path[:] = path
