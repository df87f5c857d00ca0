"""`rif doctor` tells what is missing and how to mend it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

from rif_plugins import autoload
from rif_plugins.cli import doctor
from rif_plugins.cli.doctor import Finding
from rif_plugins.cli.main import main


def only(check: Callable[[], Iterator[Finding]]) -> Finding:
    (finding,) = check()
    return finding


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def set_findings(*findings: Finding) -> None:
        monkeypatch.setattr(doctor, "checks", lambda *, deep: [lambda: iter(findings)])

    return set_findings


def test_nothing_missing_is_code_0(report: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    report(Finding("python", "ok", "3.11"), Finding("lexicon", "note", "old", "renew it"))
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok       python   3.11",
        "note     lexicon  old",
        "                  -> renew it",
        "everything needed is there",
    ]


def test_something_missing_is_code_1(report: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    report(Finding("torch", "missing", "not installed", 'pip install "torch>=2.2"'))
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        '                -> pip install "torch>=2.2"',
        "missing: 1",
    ]


def test_json(report: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    report(Finding("torch", "missing", "not installed", "pip install torch"))
    assert main(["doctor", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"] == [
        {"subject": "torch", "status": "missing", "detail": "not installed", "mend": "pip install torch"}
    ]


def test_versions_are_compared_with_the_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [
        "transformers<5,>=4.50",
        "nltk>=3.8",
        "gone-package",
        "tomli; python_version < '3'",
        "x; extra == 'dev'",
    ]
    versions = {"rif-plugins": "1", "transformers": "5.24.0", "nltk": "3.10.4"}

    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "requires", lambda name: wanted)
    monkeypatch.setattr(metadata, "version", version)
    found = {finding.subject: finding for finding in doctor.check_versions()}
    assert found.keys() == {"python", "rif-plugins", "gone-package", "nltk", "transformers"}
    assert found["nltk"].status == "ok"
    assert found["gone-package"] == Finding(
        "gone-package", "missing", "not installed", 'pip install "gone-package"'
    )
    assert found["transformers"].status == "missing"
    assert found["transformers"].mend == 'pip install "transformers<5,>=4.50"'


def test_every_version_of_this_environment_fits() -> None:
    assert [f for f in doctor.check_versions() if f.status != "ok"] == []


def test_the_startup_file_is_active_here() -> None:
    assert only(doctor.check_startup_file).status == "ok"


def test_the_startup_file_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIF_PLUGINS_AUTOLOAD", "0")
    finding = only(doctor.check_startup_file)
    assert (finding.status, finding.mend) == ("note", "unset RIF_PLUGINS_AUTOLOAD")


def test_the_startup_file_can_be_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    finding = only(doctor.check_startup_file)
    assert finding.status == "missing"
    assert "is not in site-packages" in finding.detail


def test_wrong_settings_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIF_SEED", "many")
    finding = only(doctor.check_settings)
    assert finding.status == "missing"
    assert "RIF_SEED: expected a whole number" in finding.detail


def test_a_variable_that_is_no_setting_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIF_SENSITVE", "gender")
    monkeypatch.setenv("RIF_SCOPE", "word")
    first, second = doctor.check_settings()
    assert (first.status, first.detail) == ("ok", "file: none; variables: RIF_SCOPE")
    assert (second.status, second.detail) == ("note", "not settings: RIF_SENSITVE")


def stopwords(folder: Path) -> Path:
    corpus = folder / "corpora" / "stopwords"
    corpus.mkdir(parents=True)
    (corpus / "english").write_text("the\n")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def test_nltks_own_stopwords_come_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_nltk_folders", lambda: [tmp_path / "none", stopwords(tmp_path / "own")])
    finding = only(doctor.check_nltk)
    assert (finding.status, finding.detail) == ("ok", f"NLTK's own, {tmp_path / 'own'}")


def test_the_embedded_stopwords_are_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_nltk_folders", list)
    monkeypatch.setattr(autoload, "NLTK_DATA", str(stopwords(tmp_path / "embedded")))
    assert only(doctor.check_nltk).status == "ok"


def test_stopwords_that_others_can_write_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = stopwords(tmp_path / "embedded")
    (folder / "corpora").chmod(0o775)
    monkeypatch.setattr(doctor, "_nltk_folders", list)
    monkeypatch.setattr(autoload, "NLTK_DATA", str(folder))
    finding = only(doctor.check_nltk)
    assert (finding.status, finding.mend) == ("note", f"chmod -R go-w {folder}")


def test_no_stopwords_at_all_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_nltk_folders", list)
    monkeypatch.setattr(autoload, "NLTK_DATA", str(tmp_path))
    finding = only(doctor.check_nltk)
    assert (finding.status, finding.mend) == ("missing", "python -m nltk.downloader stopwords")


def test_the_embedded_wordnet_loads() -> None:
    assert only(doctor.check_wordnet).status == "ok"


def test_the_embedded_entailment_model_loads() -> None:
    finding = only(doctor.check_entailment)
    assert finding.status == "ok", finding.detail
