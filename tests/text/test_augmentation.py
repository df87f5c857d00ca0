"""`textattack augment --recipe rif-similar`: the class, and one real process."""

from __future__ import annotations

import csv
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.text import augmentation
from rif_plugins.text.augmentation import RIFSimilarAugmenter
from rif_plugins.text.pairing import PairSource


def test_a_text_is_augmented_by_its_similar_texts() -> None:
    augmenter = RIFSimilarAugmenter(transformations_per_example=2, pct_words_to_swap=0.1)
    assert augmenter.augment("The actor lost his hat.") == ["The actress lost her hat."]
    assert augmenter.augment("The hat is lost.") == []
    some = augmenter.augment("My friend is a Muslim.")
    assert len(some) == 2 and some == sorted(some)
    assert augmenter.augment_many(["He left.", "No."]) == [["She left."], []]
    assert "SensitiveTokenSwap" in repr(augmenter)


def test_high_yield_gives_all_of_them() -> None:
    augmenter = RIFSimilarAugmenter(high_yield=True, fast_augment=True)
    assert len(augmenter.augment("My friend is a Muslim.")) == 6


def test_the_settings_choose_the_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIF_SENSITIVE", "gender_names")
    assert RIFSimilarAugmenter().augment("Mary is old.") == ["Michael is old."]
    source = PairSource(attributes=["age"])
    assert RIFSimilarAugmenter(pair_source=source).augment("His old aunt") in (
        ["His middle-aged aunt"],
        ["His young aunt"],
    )


def test_advanced_metrics_are_those_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counter:
        def calculate(self, results: list[Any]) -> dict[str, Any]:
            both = [(r.perturbed_result.attacked_text, r.original_result.attacked_text) for r in results]
            return {similar.text: original.text for similar, original in both}

    monkeypatch.setattr(augmentation, "Perplexity", Counter)
    monkeypatch.setattr(augmentation, "USEMetric", Counter)
    augmenter = RIFSimilarAugmenter(enable_advanced_metrics=True)
    texts, perplexity, use = augmenter.augment("He left.")
    assert texts == ["She left."] and perplexity == use == {"She left.": "He left."}
    texts, perplexity, use = augmenter.augment("No.")
    assert texts == [] and math.isnan(perplexity["avg_attack_perplexity"])
    assert math.isnan(use["avg_attack_use_score"])


def test_a_count_below_one_is_refused() -> None:
    with pytest.raises(UsageError, match="transformations_per_example is 0, expected 1 or more"):
        RIFSimilarAugmenter(transformations_per_example=0)


@pytest.mark.slow
def test_the_command_writes_the_similar_texts_into_the_csv(
    tmp_path: Path, run_python: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text,label\nThe actor lost his hat.,1\nThe hat is lost.,0\n", encoding="utf-8")
    done = run_python(
        *("-m", "textattack", "augment", "--recipe", "rif-similar", "--input-csv", str(source)),
        *("--output-csv", str(target), "--input-column", "text", "--transformations-per-example", "3"),
        RIF_PLUGINS_AUTOLOAD=None,
    )
    assert done.returncode == 0, done.stderr
    with target.open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    assert rows == [
        ("The actor lost his hat.", "1"),
        ("The actress lost her hat.", "1"),
        ("The hat is lost.", "0"),
    ]
