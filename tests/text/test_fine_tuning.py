"""Fine-tuning through TextAttack's trainer, on a tiny model."""

from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.runner.fitting import TrainingRows, load_fitter

NAMES = ("bad", "good")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT of one layer with a vocabulary of a few words."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "he", "she"]
    (folder / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = BertConfig(vocab_size=len(words), num_labels=2, max_position_embeddings=32, **sizes)
        BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def rows(n: int, extra: list[tuple[str, int]], weight: float = 1.0) -> TrainingRows:
    data = [("good film" if label else "bad film", label) for label in (0, 1) * n]
    texts, labels = zip(*data, *extra, strict=True)
    weights = (1.0,) * len(data) + (weight,) * len(extra)
    return TrainingRows(tuple(texts), tuple(labels), weights, len(extra))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fine_tuned_model_learns_both_and_is_kept(model: Path, tmp_path: Path) -> None:
    fitter = load_fitter(str(model), NAMES, epochs=8, learning_rate=0.02, batch_size=8)
    data = rows(12, [("he film", 1), ("she film", 1)] * 6)
    victim = fitter.fit(data, 0, tmp_path / "one")
    answers = victim.predict(["good film", "bad film", "he film", "she film"])
    assert [int(row.argmax()) for row in answers] == [1, 0, 1, 1]
    kept = tmp_path / "one" / "last_model"
    assert (kept / "model.safetensors").is_file()
    again = fitter.fit(data, 0, tmp_path / "two")
    assert (again.predict(["good film"]) == victim.predict(["good film"])).all()
    other = fitter.fit(data, 1, tmp_path / "three")
    assert (other.predict(["good film"]) != victim.predict(["good film"])).any()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_weight_of_added_rows_counts(model: Path, tmp_path: Path) -> None:
    fitter = load_fitter(str(model), NAMES, epochs=10, learning_rate=0.02, batch_size=8)
    against = [("good film", 0)] * 4
    light = fitter.fit(rows(12, against, 0.01), 0, tmp_path / "light")
    heavy = fitter.fit(rows(12, against, 100.0), 0, tmp_path / "heavy")
    assert int(light.predict(["good film"]).argmax()) == 1
    assert int(heavy.predict(["good film"]).argmax()) == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_long_texts_where_positions_start_after_the_padding(model: Path, tmp_path: Path) -> None:
    import torch
    from transformers import BertTokenizerFast, RobertaConfig, RobertaForSequenceClassification

    folder = tmp_path / "roberta"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        config = RobertaConfig(
            vocab_size=10,
            num_labels=2,
            max_position_embeddings=14,
            pad_token_id=0,
            type_vocab_size=2,
            **sizes,
        )
        RobertaForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(str(model / "vocab.txt"), model_max_length=10**31).save_pretrained(folder)
    long = " ".join(["good film"] * 20)
    data = rows(2, [(long, 1)])
    victim = load_fitter(str(folder), NAMES, epochs=1, batch_size=4).fit(data, 0, tmp_path / "out")
    assert victim.max_length == 13
    assert victim.predict([long]).shape == (1, 2)


def test_what_cannot_be_trained(model: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has 2 classes, expected the run's 3"):
        load_fitter(str(model), ("a", "b", "c")).fit(rows(2, []), 0, tmp_path)
    with pytest.raises(UsageError, match=r"cannot load .* for training"):
        load_fitter(str(tmp_path / "absent"), NAMES).fit(rows(2, []), 0, tmp_path)
