"""The pages keep their promises: links lead somewhere, nothing is left to fill in, names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rif_plugins import registry
from rif_plugins.settings import FIELDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("rif_plugins/**/*.md")]
    if ".venv" not in path.parts
)
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_links_lead_to_files_and_nothing_is_left_open(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in _LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing
    assert not re.findall(r"@[A-Z]+@|<!--|\bTODO\b|\bTBD\b", text)


def test_the_readme_names_every_recipe_component_and_setting() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = (
        registry.ATTACK_RECIPES,
        registry.GOAL_FUNCTIONS,
        registry.SEARCH_METHODS,
        registry.TRANSFORMATIONS,
        registry.CONSTRAINTS,
    )
    names = [name for table in tables for name in table]
    assert [name for name in [*names, *FIELDS] if f"`{name}`" not in readme] == []


def test_make_targets_of_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
