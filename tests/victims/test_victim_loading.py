from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rif_plugins.core.victim import VictimEngine
from rif_plugins.errors import UsageError, VictimError
from rif_plugins.victims import EmbeddedVictim, TfidfLinearModel
from rif_plugins.victims.base import Victim, checked_label_names, one_line
from rif_plugins.victims.loading import load_victim


def write(folder: Path, name: str, *lines: str) -> str:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_embedded() -> None:
    victim = load_victim("embedded")
    assert (victim.name, victim.output) == ("embedded", "probabilities")
    assert victim.label_names == ("not offensive", "offensive")
    assert victim.tokens_seen("any text") is None
    assert (victim.predict(["Shut up!"]) == EmbeddedVictim()(["Shut up!"])).all()
    assert isinstance(victim.identity, EmbeddedVictim)


def test_labels_given_by_the_user_win() -> None:
    assert load_victim("embedded", labels=["fine", "rude"]).label_names == ("fine", "rude")


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("embedded", {"prompt": "p.txt"}, r"--prompt goes with --model llm:NAME only"),
        ("  ", {}, r"--model is empty: expected a Hugging Face folder or name, a file\.py"),
        ("embedded", {"output": "scores"}, r"must be auto, probabilities or logits, got 'scores'"),
        ("embedded", {"labels": ["a"]}, r"--labels: expected two or more different names, got \['a'\]"),
        ("embedded", {"labels": ["a", "A"]}, r"two or more different names"),
        ("embedded", {"labels": [0, 1]}, r"expected a list of names, got \[0, 1\]"),
    ],
)
def test_options_that_do_not_fit(spec: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_victim(spec, **options)  # type: ignore[arg-type]


def test_seen_is_asked() -> None:
    victim = Victim("v", len, seen=lambda text: 3 if len(text) > 3 else None)
    assert (victim.tokens_seen("abcd"), victim.tokens_seen("abc")) == (3, None)


def test_one_line() -> None:
    assert one_line("a\n b\tc") == "a b c"
    assert one_line("x" * 300, 10) == "x" * 7 + "..."
    assert checked_label_names(["a", "b"], "here") == ("a", "b")


# -- files ---------------------------------------------------------------------------------------------


def test_any_callable(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        "plain.py",
        "label_names = ['short', 'long']",
        "def model(texts):",
        "    return [[1.0, 0.0] if len(text) < 5 else [0.25, 0.75] for text in texts]",
    )
    victim = load_victim(spec)
    assert (victim.name, victim.output, victim.label_names) == ("plain.py", "auto", ("short", "long"))
    assert victim.predict(["abc", "abcdef"]) == [[1.0, 0.0], [0.25, 0.75]]
    assert victim.identity is victim.predict
    assert load_victim(spec, output="logits", labels=["s", "l"]).output == "logits"


def test_a_file_may_import_its_neighbours_and_use_dataclasses(tmp_path: Path) -> None:
    write(tmp_path, "neighbour_of_victim.py", "SCORE = [0.5, 0.5]")
    spec = write(
        tmp_path,
        "with_neighbour.py",
        "from __future__ import annotations",
        "from dataclasses import dataclass, field",
        "from neighbour_of_victim import SCORE",
        "@dataclass",
        "class Model:",
        "    score: list[float] = field(default_factory=list)",
        "    def __call__(self, texts):",
        "        return [self.score for _ in texts]",
        "model = Model(SCORE)",
    )
    assert load_victim(spec).predict(["a"]) == [[0.5, 0.5]]


def test_wrappers_are_called_as_they_are(tmp_path: Path) -> None:
    spec = write(
        tmp_path,
        "wrapped.py",
        "class SklearnModelWrapper:",
        "    def __call__(self, text_input_list, batch_size=None):",
        "        return [[0.25, 0.75]] * len(text_input_list)",
        "model = SklearnModelWrapper()",
    )
    assert load_victim(spec).predict(["a", "b"]) == [[0.25, 0.75]] * 2


def test_a_saved_linear_model_carries_its_names(tmp_path: Path) -> None:
    one = np.ones(1)
    TfidfLinearModel(
        ("good",), one, np.ones((1, 1)), np.zeros(1), -one, np.zeros(1), ("negative", "positive")
    ).save(tmp_path / "m.npz")
    spec = write(
        tmp_path,
        "linear.py",
        "from rif_plugins.victims import TfidfLinearModel",
        f"model = TfidfLinearModel.load({json.dumps(str(tmp_path / 'm.npz'))})",
    )
    assert load_victim(spec).label_names == ("negative", "positive")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["x = 1", "", "raise ValueError('no\\nmodel here')"],
            r"broken\.py, line 3: ValueError: no model here",
        ),
        (["def f():", "    return {}['key']", "f()"], r"broken\.py, line 2: KeyError: 'key'"),
        (["x = 1", "def"], r"broken\.py, line 2: SyntaxError"),
        (["import nothing_of_this_name"], r"line 1: ModuleNotFoundError: No module named 'nothing_of_th"),
        (["import sys", "sys.exit(3)"], r"broken\.py, line 2: SystemExit: 3"),
        (["import json", "json.loads('{')"], r"broken\.py, line 2: JSONDecodeError"),
        (["def predict(texts): pass"], r"broken\.py sets no variable `model`, found predict: set `model` to"),
        (["x = 1"], r"sets no variable `model`, found nothing that can be called"),
        (
            ["class Model: pass", "model = Model"],
            r"is the class Model, expected an object: write `model = Mod",
        ),
        (["model = 3"], r"`model` is a int, expected any callable"),
        (["def model(t): pass", "label_names = 'ab'"], r"broken\.py, label_names: expected a list of names"),
        (["def model(t): pass", "label_names = ['a', 'a']"], r"label_names: expected two or more different"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, lines: list[str], message: str) -> None:
    spec = write(tmp_path, "broken.py", *lines)
    with pytest.raises(VictimError, match=message) as caught:
        load_victim(spec)
    assert "\n" not in str(caught.value)


def test_missing_file() -> None:
    with pytest.raises(VictimError, match=r"no file 'nowhere/victim\.py': expected a Python file"):
        load_victim("nowhere/victim.py")


SKLEARN = (
    "from sklearn.feature_extraction.text import CountVectorizer",
    "from sklearn.linear_model import LogisticRegression",
    "from sklearn.pipeline import make_pipeline",
    "from sklearn.svm import LinearSVC",
    "texts = ['good film', 'bad film', 'good', 'bad']",
)


def test_scikit_learn_classifiers(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    fitted = "model = make_pipeline(CountVectorizer(), {}).fit(texts, {})"
    spec = write(
        tmp_path, "logistic.py", *SKLEARN, fitted.format("LogisticRegression()", "['pos', 'neg'] * 2")
    )
    victim = load_victim(spec)
    assert (victim.output, victim.label_names) == ("probabilities", ("neg", "pos"))
    assert victim.predict(["good"]).argmax() == 1
    spec = write(tmp_path, "margin.py", *SKLEARN, fitted.format("LinearSVC()", "[1, 0, 1, 0]"))
    victim = load_victim(spec)
    assert (victim.output, victim.label_names) == ("logits", None)
    rows = VictimEngine(victim.predict, output=victim.output).probabilities(["good", "bad"])
    assert rows.argmax(axis=1).tolist() == [1, 0]
    spec = write(tmp_path, "stars.py", *SKLEARN, fitted.format("LogisticRegression()", "[5, 1, 5, 1]"))
    assert load_victim(spec).label_names == ("1", "5")


CHECK_MODULES = """
import sys
from rif_plugins.victims.loading import load_victim
from rif_plugins.examples.loading import load_examples
victim = load_victim(sys.argv[1])
examples = load_examples(sys.argv[2], label_names=victim.label_names, limit=2)
victim.predict([example.text for example in examples.examples])
print(sorted({"textattack", "torch", "transformers", "art", "datasets"} & set(sys.modules)))
"""


@pytest.mark.parametrize("kind", ["callable", "scikit-learn", "embedded"])
def test_no_host_is_imported(tmp_path: Path, run_python, kind: str) -> None:
    data = write(tmp_path, "data.csv", "text,label", "good film,1", "bad film,0")
    spec = "embedded"
    if kind == "callable":
        spec = write(tmp_path, "light.py", "def model(texts):", "    return [[0.5, 0.5] for _ in texts]")
    if kind == "scikit-learn":
        pytest.importorskip("sklearn", reason="needs scikit-learn")
        fit = "model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, [1, 0, 1, 0])"
        spec = write(tmp_path, "fitted.py", *SKLEARN, fit)
    done = run_python("-c", CHECK_MODULES, spec, data)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
