"""`rif doctor`: what is installed, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from rif_plugins import __version__, autoload
from rif_plugins.cli.arguments import CommandParser
from rif_plugins.errors import RIFError
from rif_plugins.settings import FIELDS, PREFIX, Settings, settings_file, variable_of

DISTRIBUTION = "rif-plugins"
STARTUP_FILE = "rif_plugins_autoload.pth"
# Variables with our prefix that are not settings.
_OTHER_VARIABLES = (
    "RIF_DATA_DIR",
    "RIF_DEBUG",
    "RIF_ENDPOINT_TOKEN",
    "RIF_PLUGINS_AUTOLOAD",
    "RIF_PLUGINS_CONFIG",
    "RIF_TEST_CHROMIUM",
    "RIF_VICTIM",
)

Status = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    Attributes:
        subject: What was looked at.
        status: ``ok``; ``note``: works, but the reader should know; ``missing``: something will not work.
        detail: What was found.
        mend: The command or change that mends it; empty when there is nothing to mend.
    """

    subject: str
    status: Status
    detail: str
    mend: str = ""


def main(arguments: Sequence[str]) -> int:
    """Print the report and return 0, or 1 when something is missing."""
    parser = CommandParser(prog="rif doctor", description=__doc__ or "")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the report")
    parser.add_argument(
        "--deep", action="store_true", help="also import TextAttack (10 to 18 s) and look into its tables"
    )
    options = parser.parse_args(list(arguments))
    findings = [finding for check in checks(deep=options.deep) for finding in check()]
    if options.format == "json":
        report = {"version": __version__, "findings": [asdict(finding) for finding in findings]}
        print(json.dumps(report, indent=2))
    else:
        print(_as_text(findings))
    return int(any(finding.status == "missing" for finding in findings))


def checks(*, deep: bool) -> list[Callable[[], Iterator[Finding]]]:
    """The checks in the order of the report."""
    shallow = [
        check_versions,
        check_startup_file,
        check_settings,
        check_nltk,
        check_wordnet,
        check_entailment,
        check_cache,
    ]
    return [*shallow, check_registration] if deep else shallow


def _as_text(findings: Sequence[Finding]) -> str:
    width = max(len(finding.subject) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status:<8} {finding.subject:<{width}}  {finding.detail}")
        if finding.mend:
            lines.append(f"{'':<8} {'':<{width}}  -> {finding.mend}")
    missing = sum(finding.status == "missing" for finding in findings)
    lines.append("everything needed is there" if not missing else f"missing: {missing}")
    return "\n".join(lines)


def check_cache() -> Iterator[Finding]:
    """Where `rif audit` keeps answers of models, and how much lies there."""
    from rif_plugins.cache import default_folder

    try:
        settings = Settings.load()
    except RIFError:
        return  # said by `check_settings`
    if settings.cache == "off":
        yield Finding("cache", "note", "off, by the setting `cache`", "unset it to keep answers across runs")
        return
    folder = settings.cache_dir or default_folder()
    size = sum(file.stat().st_size for file in folder.glob("*") if file.is_file()) if folder.is_dir() else 0
    parent = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    detail = f"{folder}, {size / 2**20:.1f} of {settings.cache_size} MB"
    if os.access(parent, os.W_OK):
        yield Finding("cache", "ok", detail)
    else:
        yield Finding("cache", "note", f"{detail}, cannot be written", "set RIF_CACHE_DIR to another folder")


def check_versions() -> Iterator[Finding]:
    """Versions of Python, this package and what it requires, read without importing any of it."""
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.platform(terse=True)}")
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield Finding(DISTRIBUTION, "missing", f"{__version__}, not installed", "pip install .")
        return
    yield Finding(DISTRIBUTION, "ok", __version__)
    for requirement in sorted(required, key=str.lower):
        finding = _check_requirement(requirement)
        if finding is not None:
            yield finding


def _check_requirement(text: str) -> Finding | None:
    from packaging.requirements import Requirement

    requirement = Requirement(text)
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None
    mend = f'pip install "{requirement.name}{requirement.specifier}"'
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(requirement.name, "missing", "not installed", mend)
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding(requirement.name, "missing", f"{version}, needed {requirement.specifier}", mend)
    return Finding(requirement.name, "ok", version)


def check_startup_file() -> Iterator[Finding]:
    """Whether `textattack ...` knows our names by itself."""
    subject = "start-up file"
    found = [Path(folder) / STARTUP_FILE for folder in sys.path if (Path(folder) / STARTUP_FILE).is_file()]
    site_packages = [file for file in found if not (file.parent / "setup.py").exists()]
    if os.environ.get("RIF_PLUGINS_AUTOLOAD", "1") == "0":
        yield Finding(
            subject,
            "note",
            "switched off by RIF_PLUGINS_AUTOLOAD=0: use `rif attack`",
            "unset RIF_PLUGINS_AUTOLOAD",
        )
    elif not site_packages:
        yield Finding(
            subject,
            "missing",
            f"{STARTUP_FILE} is not in site-packages: `rif attack` works, `textattack attack` does not",
            f"pip install --force-reinstall --no-deps {DISTRIBUTION}, or `.` in the project's folder",
        )
    elif autoload.is_installed() or "textattack" in sys.modules:
        yield Finding(subject, "ok", f"active, {site_packages[0]}")
    else:
        yield Finding(
            subject,
            "missing",
            f"{site_packages[0]} was not run at the start of Python",
            "start Python without -S, and install where Python looks for .pth files",
        )


def check_settings() -> Iterator[Finding]:
    """Whether the settings of this folder and environment can be read."""
    try:
        file = settings_file()
        Settings.load()
    except RIFError as error:
        yield Finding("settings", "missing", str(error), "correct the value")
        return
    known = {variable_of(key) for key in FIELDS}
    used = sorted(known & os.environ.keys())
    yield Finding("settings", "ok", f"file: {file or 'none'}; variables: {', '.join(used) or 'none'}")
    strangers = sorted(
        name for name in os.environ if name.startswith(PREFIX) and name not in (*known, *_OTHER_VARIABLES)
    )
    if strangers:
        yield Finding(
            "settings",
            "note",
            f"not settings: {', '.join(strangers)}",
            f"known are {', '.join(sorted(known))}",
        )


def check_nltk() -> Iterator[Finding]:
    """Whether NLTK will find English stopwords, without which TextAttack cannot be imported."""
    subject = "nltk stopwords"
    for folder in _nltk_folders():
        corpus = folder / "corpora" / "stopwords"
        if corpus.is_dir() or corpus.with_suffix(".zip").is_file():
            yield Finding(subject, "ok", f"NLTK's own, {folder}")
            return
    embedded = Path(autoload.NLTK_DATA)
    if not (embedded / "corpora" / "stopwords" / "english").is_file():
        yield Finding(
            subject, "missing", "neither NLTK's nor the embedded ones", "python -m nltk.downloader stopwords"
        )
    elif autoload.is_private(str(embedded)):
        yield Finding(subject, "ok", f"embedded, {embedded}")
    else:
        yield Finding(
            subject,
            "note",
            f"{embedded} can be written by others, which NLTK refuses: a private copy is used",
            f"chmod -R go-w {embedded}",
        )


def _nltk_folders() -> list[Path]:
    """Where NLTK looks by itself, without importing it (0.5 s and more)."""
    named = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    inside = [Path(sys.prefix) / below / "nltk_data" for below in ("", "share", "lib")]
    system = [Path(f"/usr/{below}/nltk_data") for below in ("share", "local/share", "lib", "local/lib")]
    return [*named, Path.home() / "nltk_data", *inside, *system]


def check_wordnet() -> Iterator[Finding]:
    """Whether the embedded WordNet lexicon loads."""
    from rif_plugins.core.wordnet import WordNet

    try:
        senses = WordNet.load().senses("doctor", "n")
    except Exception as error:
        yield _broken("wordnet lexicon", error)
        return
    yield Finding("wordnet lexicon", "ok", f"embedded; `doctor` has {len(senses)} noun senses")


def check_entailment() -> Iterator[Finding]:
    """Whether the embedded entailment model loads and passes its probe."""
    try:
        from rif_plugins.entailment import load_scorer

        scorer = load_scorer("embedded")
    except Exception as error:
        yield _broken("entailment model", error)
        return
    detail = f"{scorer.name} {scorer.version}" if scorer is not None else "none"
    yield Finding("entailment model", "ok", detail)


def _broken(subject: str, error: Exception) -> Finding:
    if isinstance(error, RIFError):
        return Finding(subject, "missing", str(error))
    mend = f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
    return Finding(subject, "missing", f"cannot be loaded ({type(error).__name__}: {error})", mend)


def check_registration() -> Iterator[Finding]:
    """Whether our names stand in TextAttack's tables after importing it."""
    from rif_plugins.text import host

    try:
        host.register()
    except Exception as error:
        yield Finding("registration", "missing", f"{type(error).__name__}: {error}", "rif doctor")
        return
    names = sum(len(table.names) for table in host.host_tables())
    if host.is_registered():
        yield Finding("registration", "ok", f"{names} names stand in TextAttack's tables")
    else:
        yield Finding("registration", "missing", "some names are taken by another package", "see the warning")
