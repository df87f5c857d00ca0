"""The commands of the README: one real `textattack` process, and the component names on its parser."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rif_plugins.cli.main import main
from rif_plugins.core.outcomes import Outcome
from rif_plugins.core.result_files import read_records
from rif_plugins.settings import FIELDS, variable_of
from rif_plugins.victims import EmbeddedVictim

ROOT = Path(__file__).resolve().parents[2]
BUDGET = 30


def test_the_readme_command_finds_violations_within_the_budget(
    tmp_path: Path, run_python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    results, log = tmp_path / "results.jsonl", tmp_path / "log.csv"
    done = run_python(
        "-m",
        "textattack",
        "attack",
        "--recipe",
        "rifair-robust-biased",
        "--model-from-file",
        str(ROOT / "recipes/victims/embedded.py"),
        "--dataset-from-file",
        str(ROOT / "recipes/data/embedded.py"),
        "--num-examples",
        "40",
        "--query-budget",
        str(BUDGET),
        "--log-to-csv",
        str(log),
        RIF_PLUGINS_AUTOLOAD=None,
        RIF_RESULTS=str(results),
    )
    assert done.returncode == 0, done.stderr
    assert "RIF Results" in done.stdout
    assert "Natural violations of the target:" in done.stdout
    records = list(read_records(results))
    assert len(records) == 40
    assert max(record.queries["victim_rows"] for record in records) <= BUDGET
    found = [record for record in records if record.status in ("natural", "induced")]
    assert len(found) >= 5
    victim = EmbeddedVictim()
    for record in found:
        prediction, similar = victim([record.perturbed_original, record.perturbed_similar]).argmax(axis=1)
        assert prediction == record.label
        assert similar != record.label
        assert record.outcome == Outcome.ROBUST_BIASED
        if record.status == "induced":
            assert all(side["score"] >= 0.8 for side in record.equivalence.values())
    with log.open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 40


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for key in FIELDS:
        monkeypatch.setenv(variable_of(key), "")
        monkeypatch.delenv(variable_of(key))
    Path("victim.py").write_text(
        "from fakes.text_world import KeywordWrapper\nmodel = KeywordWrapper()\n", encoding="utf-8"
    )
    Path("data.py").write_text(
        "from textattack.datasets import Dataset\n"
        "dataset = Dataset([('He cooked a good meal.', 1), ('She cooked a good meal.', 1)])\n",
        encoding="utf-8",
    )
    Path("table.csv").write_text("token,candidate\ngood,fine\ngood,great\n", encoding="utf-8")
    return tmp_path


# The host averages over the found examples, of which there may be none.
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value encountered")
@pytest.mark.parametrize("goal", ["rif-robust-biased", "rif-unrobust-fair", "rif-unrobust-biased"])
@pytest.mark.parametrize("search", ["rif-decoupled", "greedy-word-wir"])
def test_component_names_make_an_attack(
    in_folder: Path, goal: str, search: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["attack", "--goal-function", goal, "--search-method", search]
    arguments += ["--transformation", "rif-proposed-swap"]
    arguments += ["--constraints", "rif-entailment", "rif-sensitive-protection", "repeat"]
    arguments += ["--model-from-file", "victim.py", "--dataset-from-file", "data.py", "--num-examples", "2"]
    arguments += ["--proposer", "table:table.csv", "--entailment", "none"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "Pairs evaluated (one an example):" in out
    assert goal.removeprefix("rif-").replace("-", "_") in out


# The host's own: a loader's setting for accelerators, means of nothing, and log files that it leaves open.
@pytest.mark.filterwarnings(
    "ignore:'pin_memory' argument",
    "ignore:Mean of empty slice",
    "ignore:invalid value",
    "ignore:unclosed file:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
def test_adversarial_training_uses_both_sides(in_folder: Path) -> None:
    """The host's own trainer on a tiny model: one clean epoch, one with found pairs."""
    import torch
    from textattack import Trainer, TrainingArgs
    from textattack.datasets import Dataset
    from textattack.models.wrappers import HuggingFaceModelWrapper
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    from rif_plugins.text.recipes import RIFairUnrobustFair

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "he", "she", "had", "a", "good", "fine"]
    Path("vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab_file="vocab.txt", model_max_length=16)
    torch.manual_seed(0)
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=16, num_labels=2, **size)
    wrapper = HuggingFaceModelWrapper(BertForSequenceClassification(config), tokenizer)
    # A tuple of columns: the host adds another tuple to it.
    data = Dataset([("he had a good", 1), ("she had a fine", 0)] * 4, input_columns=("text",))
    trainer = Trainer(
        wrapper,
        "classification",
        RIFairUnrobustFair.build(wrapper, proposer="table:table.csv", entailment="none"),
        data,
        data,
        TrainingArgs(
            num_epochs=2,
            num_clean_epochs=1,
            num_train_adv_examples=-1,
            parallel=False,
            per_device_train_batch_size=4,
            output_dir=str(in_folder / "out"),
        ),
    )
    before = {name: value.clone() for name, value in wrapper.model.named_parameters()}
    trainer.train()
    assert any(not torch.equal(before[name], value) for name, value in wrapper.model.named_parameters())
    # An untrained model gives both sides the same label, which is wrong for half of the rows.
    texts = [example["text"] for example, _ in trainer._generate_adversarial_examples(3)]
    assert len(texts) >= 2
    assert sum("he" in text.split() for text in texts) == sum("she" in text.split() for text in texts)
