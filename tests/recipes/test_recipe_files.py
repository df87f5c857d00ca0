"""The files under recipes/ are read by people and by TextAttack: short, no classes, the right variables."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rif_plugins.errors import VictimError
from rif_plugins.examples import load_examples

RECIPES = Path(__file__).parents[2] / "recipes"
FILES = sorted(RECIPES.rglob("*.py"))
EXPECTED = {
    "rifair_robust_biased.py": "build",
    "rifair_unrobust_biased.py": "build",
    "rifair_unrobust_fair.py": "build",
    "victims/embedded.py": "model",
    "victims/tfidf.py": "model",
    "data/embedded.py": "dataset",
    "data/sst2_gender.py": "dataset",
}


def load(name: str):
    from rif_plugins.text import host

    host.register()
    from textattack.shared.utils import load_module_from_file

    return getattr(load_module_from_file(str(RECIPES / name)), EXPECTED[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(RECIPES).as_posix())
def test_short_documented_and_without_classes(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert len(source.splitlines()) <= 40
    assert ast.get_docstring(tree)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("name", EXPECTED)
def test_defines_what_the_host_looks_for(name: str) -> None:
    tree = ast.parse((RECIPES / name).read_text(encoding="utf-8"))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    assert EXPECTED[name] in defined


def test_embedded_victim_is_a_model_wrapper() -> None:
    model = load("victims/embedded.py")
    from textattack.models.wrappers import ModelWrapper

    assert isinstance(model, ModelWrapper)
    assert model(["I am a gay man."])[0, 1] == pytest.approx(0.953030, abs=1e-6)


def test_embedded_data_is_a_dataset_of_the_examples() -> None:
    dataset = load("data/embedded.py")
    from textattack.datasets import Dataset

    assert isinstance(dataset, Dataset)
    assert dataset.label_names == ["not offensive", "offensive"]
    assert len(dataset) == len(load_examples())
    inputs, label = dataset[2]
    assert (dict(inputs), label) == ({"text": load_examples()[2].text}, load_examples()[2].label)


def test_installed_package_offers_the_same_victim_and_data() -> None:
    model, dataset = load("victims/embedded.py"), load("data/embedded.py")
    from rif_plugins.text import embedded

    assert repr(embedded.model) == repr(model)
    assert list(embedded.dataset) == list(dataset)


def test_tfidf_victim_reads_the_file_that_the_variable_names(tmp_path, monkeypatch) -> None:
    from rif_plugins.victims.embedded import DATA_FILE

    monkeypatch.setenv("RIF_VICTIM", str(DATA_FILE))
    assert load("victims/tfidf.py")(["I am a gay man."])[0, 1] == pytest.approx(0.953030, abs=1e-6)
    monkeypatch.setenv("RIF_VICTIM", str(tmp_path / "absent.npz"))
    with pytest.raises(VictimError, match="no TF-IDF model at"):
        load("victims/tfidf.py")


def test_sst2_data_keeps_sentences_that_name_a_gender(tmp_path, monkeypatch) -> None:
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "dev.tsv").write_text("an actress of talent\t1\na dull film\t0\n", encoding="utf-8")
    (tmp_path / "sst2" / "test.tsv").write_text("he sleeps through it\t0\n", encoding="utf-8")
    monkeypatch.setenv("RIF_DATA_DIR", str(tmp_path))
    dataset = load("data/sst2_gender.py")
    texts = [(dict(inputs)["text"], label) for inputs, label in dataset]
    assert texts == [("an actress of talent", 1), ("he sleeps through it", 0)]


@pytest.mark.parametrize("name", [name for name, variable in EXPECTED.items() if variable == "build"])
def test_attack_file_builds_the_recipe_of_its_name(name: str, monkeypatch) -> None:
    monkeypatch.setenv("RIF_ENTAILMENT", "none")
    attack = load(name)(load("victims/embedded.py"))
    target = name.removeprefix("rifair_").removesuffix(".py")
    assert str(attack.goal_function.target) == target
