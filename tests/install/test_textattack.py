"""The real TextAttack, in processes of their own: importing it takes 10 to 18 s."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rif_plugins import registry

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]

TABLES = """
import json, sys
import textattack
from textattack import attack_args, augment_args, training_args
paths = {}
for module, table in (
    (attack_args, "ATTACK_RECIPE_NAMES"), (attack_args, "GOAL_FUNCTION_CLASS_NAMES"),
    (attack_args, "SEARCH_METHOD_CLASS_NAMES"), (attack_args, "BLACK_BOX_TRANSFORMATION_CLASS_NAMES"),
    (attack_args, "CONSTRAINT_CLASS_NAMES"), (augment_args, "AUGMENTATION_RECIPE_NAMES"),
):
    paths.update({name: path for name, path in getattr(module, table).items() if name.startswith("rif")})
loaded = [name for name in sys.modules if name.startswith("rif_plugins.text.")]
where = {}
for name, path in paths.items():
    found = eval(path)
    where[name] = f"{found.__module__}:{found.__qualname__}"
sys.argv = ["textattack", "list", "attack-recipes", "--plain"]
textattack.commands.textattack_cli.main()
train = training_args.ATTACK_RECIPE_NAMES is attack_args.ATTACK_RECIPE_NAMES
print(json.dumps({"where": where, "loaded": loaded, "train": train}))
"""


def test_names_are_in_the_tables_and_resolve_on_a_fresh_home(tmp_path: Path, run_python: RunPython) -> None:
    home = tmp_path / "home"
    home.mkdir()
    result = run_python("-c", TABLES, HOME=str(home), RIF_PLUGINS_AUTOLOAD=None)
    assert result.returncode == 0, result.stderr
    assert "rif-plugins:" not in result.stderr
    lines = result.stdout.splitlines()
    assert sum(line.startswith("rif") for line in lines) == len(registry.ATTACK_RECIPES) >= 3
    found = json.loads(lines[-1])
    assert found["where"] == {
        **registry.ATTACK_RECIPES,
        **registry.GOAL_FUNCTIONS,
        **registry.SEARCH_METHODS,
        **registry.TRANSFORMATIONS,
        **registry.CONSTRAINTS,
        **registry.AUGMENTATION_RECIPES,
    }
    assert found["train"]
    # Importing TextAttack does not pay for classes that nobody asked for.
    assert found["loaded"] == ["rif_plugins.text.host"]


@pytest.mark.slow
def test_python_m_textattack_knows_the_recipes(run_python: RunPython) -> None:
    result = run_python("-m", "textattack", "attack", "--help", RIF_PLUGINS_AUTOLOAD=None)
    assert result.returncode == 0, result.stderr
    assert "rifair-robust-biased" in result.stdout
    assert "rif-decoupled" in result.stdout


@pytest.mark.slow
def test_switched_off_no_name_is_registered(tmp_path: Path, run_python: RunPython) -> None:
    data = Path(__file__).resolve().parent.parent.parent / "rif_plugins" / "nltk_data"
    code = "import sys; sys.argv = ['textattack', 'list', 'attack-recipes', '--plain']\n"
    code += "from textattack.commands.textattack_cli import main; main()"
    result = run_python("-c", code, RIF_PLUGINS_AUTOLOAD="0", NLTK_DATA=str(data))
    assert result.returncode == 0, result.stderr
    assert "textfooler" in result.stdout
    assert "rifair" not in result.stdout


@pytest.mark.slow
def test_rif_attack_works_without_the_startup_file(run_python: RunPython) -> None:
    result = run_python(
        "-m", "rif_plugins.cli.main", "attack", "--recipe", "nonsense", RIF_PLUGINS_AUTOLOAD="0"
    )
    assert result.returncode == 2
    assert "rifair-robust-biased" in result.stderr
