"""The script that builds the embedded lexicon, on a hand-written database of five synsets."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rif_plugins.core.wordnet import WordNet
from rif_plugins.core.wordnet_format import read_tables

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "build_wordnet.py"
LICENCE = "  1 licence text  \n  2 more of it  \n"
FILES = {
    "data.noun": LICENCE
    + "00000100 03 n 01 thing 0 002 ~ 00000200 n 0000 ~i 00000300 n 0000 | a thing; \"a | thing\"  \n"
    + "00000200 05 n 02 dog 0 hound 2 002 @ 00000100 n 0000 ;u 00000100 n 0201 | a dog  \n"
    + "00000300 05 n 01 Rex 0 001 @i 00000100 n 0000 | a named dog  \n",
    "index.noun": LICENCE
    + "dog n 1 1 @ 1 1 00000200  \nhound n 1 1 @ 1 0 00000200  \nrex n 1 1 @i 1 0 00000300  \n"
    + "thing n 1 1 ~ 1 1 00000100  \n",
    "data.verb": LICENCE + "00000100 38 v 01 go 0 000 01 + 01 00 | move  \n",
    "index.verb": LICENCE + "go v 1 0 1 0 00000100  \n",
    "data.adj": LICENCE
    + "00000100 00 a 01 hot 0 002 ! 00000200 a 0101 & 00000300 a 0000 | hot  \n"
    + "00000200 00 a 02 cold 0 cool(p) 0 001 ! 00000100 a 0101 | cold  \n"
    + "00000300 00 s 01 hot 1 001 & 00000100 a 0000 | very hot  \n",
    "index.adj": LICENCE
    + "cold a 1 1 ! 1 0 00000200  \ncool a 1 0 1 0 00000200  \nhot a 2 2 ! & 2 1 00000300 00000100  \n",
    "data.adv": LICENCE,
    "index.adv": LICENCE,
    "noun.exc": "oxen ox\n",
    "verb.exc": "went go\n",
    "adj.exc": "hotter hot\n",
    "adv.exc": "",
    "cntlist.rev": "dog%1:05:00:: 1 7\nhot%3:00:00:: 2 4\nhot%5:00:01:hot:00 1 9\n",
}  # fmt: skip


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_wordnet", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build_wordnet"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_small_database(
    script: ModuleType, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "small.xz"
    assert script.main(["--database", str(database), "--out", str(out)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["synsets"] == {"n": 3, "v": 1, "a": 3, "r": 0}
    assert printed["bytes"] == out.stat().st_size

    lexicon = WordNet.load(out)
    dog = lexicon.senses("dog", "n")[0]
    assert (dog.id, dog.count, dog.lexical_file) == ("n00000200", 7, "noun.animal")
    assert lexicon.relation("hound", "thing") == "hypernym"
    assert lexicon.registers("hound", dog) == ("thing",)
    assert lexicon.registers("dog", dog) == ()
    rex = lexicon.senses("rex")[0]
    assert rex.is_instance and rex.lemmas == ("Rex",)
    assert [(s.id, s.rank, s.count) for s in lexicon.senses("hot")] == [
        ("a00000300", 1, 9),
        ("a00000100", 2, 4),
    ]
    assert lexicon.antonyms("hot", "a") == ("cold",)
    assert lexicon.antonyms("cool", "a") == ()
    assert lexicon.placement("cool", lexicon.senses("cool")[0]) == "p"
    assert lexicon.base_forms("went") == ("go",)


def test_same_input_same_bytes(script: ModuleType, database: Path, tmp_path: Path) -> None:
    outs = [tmp_path / "a.xz", tmp_path / "b.xz"]
    for out in outs:
        assert script.main(["--database", str(database), "--out", str(out)]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("data.noun", None, "data.noun .FileNotFoundError.*--database"),
        ("index.verb", "go v 2 0 1 0 00000100  \n", "index.verb line 1: .*1 offsets where 2"),
        ("data.verb", LICENCE + "nonsense\n", "data.verb line 3: not a synset"),
        ("data.verb", "00000100 99 v 01 go 0 000 | move  \n", "line 1: .*unknown lexicographer file"),
        ("data.verb", "00000100 38 v 01 g:o 0 000 | move  \n", "colon or a tab"),
        ("index.verb", "stay v 1 0 1 0 00000100  \n", "go of synset v00000100 is missing in the index"),
        ("data.adj", "00000100 00 a 01 hot 0 001 ! 00000999 a 0101 | hot  \n", "points to offset 999"),
        ("cntlist.rev", "dog%1:05:00:: seven\n", "cntlist.rev line 1: expected"),
    ],
)
def test_broken_databases(
    script: ModuleType,
    database: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str | None,
    message: str,
) -> None:
    if text is None:
        (database / name).unlink()
    else:
        (database / name).write_text(text, encoding="utf-8")
    assert script.main(["--database", str(database), "--out", str(tmp_path / "out.xz")]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err), captured.err
    assert not (tmp_path / "out.xz").exists()


@pytest.mark.skipif(not Path("/usr/share/wordnet/data.noun").exists(), reason="needs Debian's wordnet-base")
@pytest.mark.slow
def test_the_committed_file_is_what_the_script_builds(script: ModuleType, tmp_path: Path) -> None:
    out = tmp_path / "full.xz"
    assert script.main(["--database", "/usr/share/wordnet", "--out", str(out)]) == 0
    assert read_tables(out) == read_tables(script.DEFAULT_OUT)
