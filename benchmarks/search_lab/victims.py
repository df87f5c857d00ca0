"""The victims of the benchmark, trained where they are missing and kept in a cache folder."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sst2_victims.bold import read_bold
from sst2_victims.sst2 import read_split

from rif_plugins.victims import TfidfLinearModel

FloatArray = NDArray[np.float64]
NAMES = ("tfidf", "cnn", "bilstm", "transformer", "minilm")
NEED_GLOVE = ("cnn", "bilstm")
_SCRIPTS = Path(__file__).resolve().parents[1] / "sst2_victims"


@dataclass(frozen=True)
class Victim:
    """A classifier under test.

    Attributes:
        name: One of ``NAMES``.
        description: What it is and how often it is right.
        predict: From a list of texts to class probabilities (n, k).
        host_predict: The same as the host's own wrapper does it.
        is_padded_by_host: The host pads every text to the model's maximum, which costs many times as much.
    """

    name: str
    description: str
    predict: Callable[[list[str]], FloatArray]
    host_predict: Callable[[], Callable[[list[str]], Any]]
    is_padded_by_host: bool = False


def load(name: str, data: str, args: argparse.Namespace, seed: int = 0) -> Victim:
    """Load or train one victim of one data set; ``args`` holds cache_dir, data_dir, bold, glove.

    Args:
        name: One of ``NAMES``.
        data: ``"sst2"`` or ``"bold"``.
        args: The command line.
        seed: Seed of the training; the TF-IDF models have none.
    """
    if name == "tfidf":
        return _tfidf(data, args)
    return _minilm(data, args, seed) if name == "minilm" else _word_network(name, data, args, seed)


def trained_at(name: str, data: str, cache_dir: Path, seed: int = 0) -> Path:
    """Where a trained victim lies; a folder for MiniLM."""
    stem = f"{data}_{name}" if seed == 0 else f"{data}_{name}_{seed}"
    return cache_dir / (stem if name == "minilm" else f"{stem}.npz")


def _plain(name: str, description: str, predict: Callable[[list[str]], FloatArray]) -> Victim:
    return Victim(name, description, predict, lambda: predict)


def _tfidf(data: str, args: argparse.Namespace) -> Victim:
    if data == "bold":
        splits, _ = read_bold(args.bold)
        model = TfidfSoftmax.fit(*splits["train"])
        texts, labels = splits["test"]
        right = float((model(texts).argmax(axis=1) == np.asarray(labels)).mean())
        return _plain("tfidf", f"TF-IDF + multinomial logistic regression; accuracy {right:.3f}", model)
    path = args.cache_dir / "sst2_tfidf.npz"
    if not path.exists():
        _train("tfidf.py", ["--data-dir", args.data_dir, "--out", path])
    linear = TfidfLinearModel.load(path)
    texts, labels = read_split(args.data_dir, "test")
    right = float((linear(texts).argmax(axis=1) == np.asarray(labels)).mean())
    return _plain("tfidf", f"TF-IDF + logistic regression; accuracy {right:.3f}", linear)


def _word_network(name: str, data: str, args: argparse.Namespace, seed: int) -> Victim:
    path = trained_at(name, data, args.cache_dir, seed)
    if not path.exists():
        glove = ["--glove", args.glove] if name in NEED_GLOVE else []
        if glove and args.glove is None:
            raise SystemExit(
                f"{path} does not exist and --glove is not given: nothing to train the {name} with"
            )
        _train(f"{name}.py", [*_source(data, args), *glove, "--seed", seed, "--out", path])
    return _plain(name, _described(path.with_suffix(".json")), _read_network(name, path))


def _read_network(name: str, path: Path) -> Callable[[list[str]], FloatArray]:
    if str(_SCRIPTS) not in sys.path:
        # The scripts of that folder import each other by their bare names.
        sys.path.insert(1, str(_SCRIPTS))
    if name == "cnn":
        from sst2_victims.cnn import WordCNN

        return WordCNN.load(path)
    from importlib import import_module

    model: Callable[[list[str]], FloatArray] = import_module(f"sst2_victims.{name}").load(path)
    return model


def _minilm(data: str, args: argparse.Namespace, seed: int) -> Victim:
    folder = trained_at("minilm", data, args.cache_dir, seed)
    if not folder.exists():
        _train("minilm.py", [*_source(data, args), "--out", folder, "--epochs", 2, "--seed", seed])
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from rif_plugins.victims.hugging_face import DynamicPadding

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = getattr(args, "minilm_tokens", None) or tokenizer.model_max_length
    logits = DynamicPadding(model, tokenizer)

    def predict(texts: list[str]) -> FloatArray:
        return softmax(np.asarray(logits(texts), dtype=np.float64))

    def host_predict() -> Callable[[list[str]], Any]:
        from textattack.models.wrappers import HuggingFaceModelWrapper

        return HuggingFaceModelWrapper(model, tokenizer)

    description = f"{_described(folder / 'training.json')}; {tokenizer.model_max_length} tokens at most"
    return Victim("minilm", description, predict, host_predict, is_padded_by_host=True)


def _source(data: str, args: argparse.Namespace) -> list[Any]:
    return ["--bold", args.bold] if data == "bold" else ["--data-dir", args.data_dir]


def _train(script: str, options: Sequence[Any]) -> None:
    print(f"training: {script} {' '.join(str(option) for option in options)}", flush=True)
    subprocess.run([sys.executable, str(_SCRIPTS / script), *map(str, options)], check=True)


def _described(path: Path) -> str:
    trained = json.loads(path.read_text(encoding="utf-8"))
    return f"{trained['model']}; accuracy {trained['accuracy']['test']:.3f}"


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities of logits (n, k)."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float64)


class TfidfSoftmax:
    """Word 1- and 2-grams, TF-IDF, multinomial logistic regression, in plain numpy; fitted in seconds.

    Args:
        index: Column of each n-gram.
        idf: Inverse document frequencies, (v,).
        weights: (k, v).
        offsets: (k,).
    """

    _token = re.compile(r"(?u)\b\w\w+\b")

    def __init__(
        self, index: dict[str, int], idf: FloatArray, weights: FloatArray, offsets: FloatArray
    ) -> None:
        self.index, self.idf, self.offsets = index, idf, offsets
        self._columns = np.ascontiguousarray(weights.T)

    @classmethod
    def fit(cls, texts: Sequence[str], labels: Sequence[int], regularisation: float = 4.0) -> TfidfSoftmax:
        """Fit with scikit-learn; deterministic."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression

        vectoriser = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
        classifier = LogisticRegression(C=regularisation, max_iter=1000)
        classifier.fit(vectoriser.fit_transform(texts), labels)
        if list(classifier.classes_) != list(range(len(classifier.classes_))):
            raise SystemExit("a label has no training text: take more data")
        index = {str(gram): int(column) for gram, column in vectoriser.vocabulary_.items()}
        return cls(index, vectoriser.idf_, classifier.coef_, classifier.intercept_)

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """Class probabilities, (n, k); a row does not depend on the other texts."""
        return softmax(np.stack([self._logits(text) for text in texts]))

    def _logits(self, text: str) -> FloatArray:
        tokens = self._token.findall(text.lower())
        grams = Counter([*tokens, *(f"{a} {b}" for a, b in pairwise(tokens))])
        found = [(self.index[gram], count) for gram, count in grams.items() if gram in self.index]
        if not found:
            return self.offsets
        columns = np.array([column for column, _ in found])
        values = np.array([count for _, count in found]) * self.idf[columns]
        values /= np.sqrt((values * values).sum())
        return np.asarray(values @ self._columns[columns] + self.offsets, dtype=np.float64)
