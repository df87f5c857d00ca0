from __future__ import annotations

import collections
import dataclasses
import functools
import importlib.util
import logging
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from rif_plugins.core.predictions import PredictionReader
from rif_plugins.victims import EmbeddedVictim, TfidfLinearModel
from rif_plugins.victims.code_identity import UnknownIdentityError
from rif_plugins.victims.fingerprint import PROBES, Fingerprint, probe_digest, victim_fingerprint
from rif_plugins.victims.identity import MAX_DEPTH, IdentityWalk

HALF = [0.5] * len(PROBES)


def constant(texts: list[str]) -> list[float]:
    return [0.5] * len(texts)


def digest(value: Any) -> bytes:
    return IdentityWalk().digest(value)


def value_of(victim: object, predict: Callable[[list[str]], Any] | None = constant) -> str:
    found = victim_fingerprint(victim, predict)
    assert found.value is not None, found.reason
    assert found.reason == "" and re.fullmatch("[0-9a-f]{32}", found.value)
    return found.value


# -- plain data ----------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


class Slotted:
    __slots__ = ("__own", "weight")

    def __init__(self, weight: float, own: int) -> None:
        self.weight = weight
        self.__own = own


class Words(dict):  # type: ignore[type-arg]
    pass


def words(order: str = "ab", **attributes: Any) -> Words:
    found = Words((letter, i) for i, letter in enumerate(order))
    found.__dict__.update(attributes)
    return found


NAMED = np.zeros(2, dtype=[("a", "i1"), ("b", "f8")])
DIFFERENT: dict[str, list[Any]] = {
    "numbers": [0, 1, -1, 2**70, 0.0, -0.0, 1.0, float("nan"), 1j, True, False, None],
    "texts": ["", "a", b"a", "b", bytearray(b"a"), "é", "\ud800"],
    "containers": [[], (), {}, set(), frozenset(), [1], (1,), {1: 1}, {1}, [[1]], [1, 1]],
    "order": [["a", "b"], ["b", "a"], {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2, "b": 1}],
    "nesting": [["a", ["b"]], [["a"], "b"], [["a", "b"]], ["ab"], ["a", "b", []]],
    "factories": [collections.defaultdict(int), collections.defaultdict(list), collections.OrderedDict(), {}],
    "arrays": [
        np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.ones(2), np.array([0.0, 1e-300]),
        np.zeros(0), np.array(0.0), np.float64(0), np.array(["a", "b"]),
        np.array(["a", 1], dtype=object), NAMED,
    ],
    "matrices": [
        scipy.sparse.csr_matrix(np.eye(2)), scipy.sparse.csc_matrix(np.eye(2)),
        scipy.sparse.csr_matrix((2, 2)), scipy.sparse.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0]])),
    ],
    "generators": [np.random.RandomState(0), np.random.RandomState(1), np.random.default_rng(0)],
    "objects": [
        Point(1, 2), Point(2, 1), (1, 2), Slotted(1.0, 1), Slotted(2.0, 1), Slotted(1.0, 2),
        words(), words("ba"), words(limit=1),
        types.SimpleNamespace(a=1), types.SimpleNamespace(a=2), types.SimpleNamespace(b=1),
    ],
    "patterns": [re.compile("a"), re.compile("a", re.IGNORECASE), re.compile(b"a"), Path("a"), "a"],
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFERENT)
def test_what_differs_has_different_digests(kind: str) -> None:
    found = [digest(value) for value in DIFFERENT[kind]]
    assert len(set(found)) == len(found)
    assert [digest(value) for value in DIFFERENT[kind]] == found


def test_equal_content_has_one_digest_however_it_is_shared() -> None:
    text = "".join(["a", "b"])
    shared, apart = [text, text], ["ab", "a" + "b"[:1]]
    assert digest(shared) == digest(apart)
    inner = [1, 2]
    assert digest([inner, inner]) == digest([[1, 2], [1, 2]])
    array = np.arange(6.0).reshape(2, 3)
    assert digest(array.T) == digest(np.ascontiguousarray(array.T))


def test_cycles_end() -> None:
    first: list[Any] = [1]
    first.append(first)
    second: list[Any] = [1]
    second.append(second)
    third: list[Any] = [2]
    third.append(third)
    assert digest(first) == digest(second) != digest(third)


def test_depth_is_bounded() -> None:
    nested: list[Any] = []
    for _ in range(MAX_DEPTH + 1):
        nested = [nested]
    with pytest.raises(UnknownIdentityError, match="nested more than 60 deep"):
        digest(nested)


def test_derived_values_do_not_count() -> None:
    class Cached:
        def __init__(self) -> None:
            self.words = ["a"]

        @functools.cached_property
        def index(self) -> dict[str, int]:
            return {word: i for i, word in enumerate(self.words)}

    used, unused = Cached(), Cached()
    assert used.index == {"a": 0}
    assert digest(used) == digest(unused)
    reader, fresh = PredictionReader(), PredictionReader()
    reader.read([[0.5, 0.5]], 1)
    assert digest(reader) == digest(fresh) != digest(PredictionReader(output="logits"))


def open_file() -> Any:
    return Path(__file__).open()


def generator() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (open_file, "a _io.TextIOWrapper"),
        (generator, "a builtins.generator"),
        (threading.Event, None),
        (lambda: logging.getLogger("x"), None),
        (threading.Lock, None),
    ],
)
def test_what_cannot_be_looked_into(make: Callable[[], Any], what: str | None) -> None:
    value = make()
    victim = types.SimpleNamespace(parts=[{"held": value}])
    found = victim_fingerprint(victim, constant)
    if what is None:
        assert found.value is not None, found.reason
    else:
        assert found == Fingerprint(
            None,
            f"the victim holds {what} (parts), which cannot be identified: give the victim an attribute "
            "`fingerprint` (a text that changes whenever its answers may)",
        )
    if hasattr(value, "close"):
        value.close()


# -- code ----------------------------------------------------------------------------------------------

SOURCE = '''
import math
import re
from dataclasses import dataclass, field

TABLE = {"good": 1.0, "bad": -1.0}
UNUSED = object()
PATTERN = re.compile("[a-z]+")


def weigh(word, table=TABLE, *, scale=1.0):
    """What a word adds."""
    return scale * table.get(word, 0.0)


class Base:
    bias = 0.25

    def start(self):
        return self.bias


@dataclass
class Model(Base):
    names: list = field(default_factory=lambda: ["a"])

    def __call__(self, texts):
        def one(text):
            return sum(weigh(word) for word in PATTERN.findall(text.lower()))

        return [1 / (1 + math.exp(-self.start() - one(text))) for text in texts]


def maker(limit):
    def model(texts):
        return [0.5 if len(text) < limit else 0.75 for text in texts]

    return model


by_class = Model()
by_closure = maker(1000)
by_function = lambda texts: Model()(texts)
'''


def module_of(source: str, folder: Path, name: str = "victim") -> types.ModuleType:
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


VICTIMS = ("by_class", "by_closure", "by_function")


@pytest.mark.parametrize("victim", VICTIMS)
def test_code_loaded_twice_is_the_same(victim: str, tmp_path: Path) -> None:
    first = getattr(module_of(SOURCE, tmp_path), victim)
    # Neither the name of the file, nor comments, nor the lines matter.
    moved = "# a comment\n\n" + SOURCE.replace("def weigh", "# another comment\n\ndef weigh")
    second = getattr(module_of(moved, tmp_path, "other_name"), victim)
    assert value_of(first, None) == value_of(second, None)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('"bad": -1.0', '"bad": -1.0000001', {"by_class", "by_function"}),
        ('"bad"', '"badly"', {"by_class", "by_function"}),
        ("scale=1.0)", "scale=1.0000001)", {"by_class", "by_function"}),
        ("return scale * table", "return table", {"by_class", "by_function"}),
        ("bias = 0.25", "bias = 0.2500001", {"by_class", "by_function"}),
        ('"[a-z]+"', '"[a-zé]+"', {"by_class", "by_function"}),
        ('["a"]', '["b"]', {"by_class", "by_function"}),
        ("text.lower()", "text", {"by_class", "by_function"}),
        ("maker(1000)", "maker(1001)", {"by_closure"}),
        ("< limit", "<= limit", {"by_closure"}),
        ("0.75 for", "0.7500001 for", {"by_closure"}),
        ("Model()(texts)", "Model()(list(texts))", {"by_function"}),
    ],
)
def test_one_change_of_the_code_is_another_victim(
    old: str, new: str, changed: set[str], tmp_path: Path
) -> None:
    assert old in SOURCE
    before, after = (
        module_of(SOURCE, tmp_path, "before"),
        module_of(SOURCE.replace(old, new), tmp_path, "after"),
    )
    for name in VICTIMS:
        # Answers apart: the constant stands in for both.
        is_same = value_of(getattr(before, name)) == value_of(getattr(after, name))
        assert is_same is (name not in changed), name


def test_modules_of_the_user_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = {}
    for weight in ("1.0", "2.0", "1.0 "):
        (tmp_path / "user_parts.py").write_text(
            f"WEIGHT = {weight}\ndef weigh(t):\n    return WEIGHT * len(t)\n"
        )
        for name in list(sys.modules):
            if name == "user_parts":
                del sys.modules[name]
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        victim = module_of(
            "import user_parts\ndef model(texts):\n    return [user_parts.weigh(t) for t in texts]\n",
            tmp_path,
        )
        sys.dont_write_bytecode = before
        found[weight] = value_of(victim.model)
    assert found["1.0"] == found["1.0 "] != found["2.0"]
    late = module_of("def model(texts):\n    import nowhere_to_be_found\n    return texts\n", tmp_path)
    assert victim_fingerprint(late.model, constant).reason.startswith(
        "the victim holds a function that imports nowhere_to_be_found when it is called"
    )


@pytest.mark.parametrize(
    ("source", "through"),
    [
        (
            "import urllib.request\ndef model(t):\n    return urllib.request.urlopen('http://x')",
            "urllib.request",
        ),
        ("def model(t):\n    import subprocess\n    return subprocess.run(t)", "subprocess"),
        ("from subprocess import run\ndef model(t):\n    return run(t)", "subprocess"),
        ("from http.client import HTTPConnection as C\ndef model(t):\n    return C(t)", "http.client"),
    ],
)
def test_a_model_elsewhere_has_no_fingerprint(source: str, through: str, tmp_path: Path) -> None:
    found = victim_fingerprint(module_of(source, tmp_path).model, constant)
    assert found.value is None
    assert f"a call of another program through {through}" in found.reason


def test_partials_methods_and_wrappers(tmp_path: Path) -> None:
    module = module_of(SOURCE, tmp_path)
    victims = [
        functools.partial(module.weigh, "good"),
        functools.partial(module.weigh, "bad"),
        functools.partial(module.weigh, "good", scale=2.0),
        functools.lru_cache(module.weigh),
        module.by_class.start,
        module.by_class.__call__,
        module.Model(["b"]).start,
        len,
        "text".count,
        "texts".count,
        str.lower,
    ]
    found = [value_of(victim) for victim in victims]
    assert len(set(found)) == len(found)
    assert value_of(functools.partial(module.weigh, "good")) == found[0]


def test_files_count_with_their_content(tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    for name in (file, str(file)):
        victim = types.SimpleNamespace(file=name)
        file.write_bytes(b"one")
        first = value_of(victim)
        file.write_bytes(b"two")
        second = value_of(victim)
        file.write_bytes(b"one")
        assert first == value_of(victim) != second
    victim = types.SimpleNamespace(folder=tmp_path)
    before = value_of(victim)
    (tmp_path / "more").write_text("")
    assert value_of(victim) != before


# -- offers and answers --------------------------------------------------------------------------------


@dataclasses.dataclass
class Offering:
    fingerprint: Any
    other: Any = None

    def __call__(self, texts: list[str]) -> list[float]:
        return constant(texts)


def test_a_victim_may_say_what_it_is() -> None:
    handle = open_file()
    offers = [Offering("a", handle), Offering("b", handle), Offering(lambda: "c", handle)]
    assert len({value_of(victim, None) for victim in offers}) == 3
    assert value_of(offers[0]) == value_of(Offering("a", 7)) == value_of(Offering(lambda: "a"))
    for nothing in ("", None, 7):
        assert victim_fingerprint(Offering(nothing, handle)).value is None
    handle.close()


def test_answers_count_too() -> None:
    victim = Offering("a")
    found = [value_of(victim, lambda texts, p=p: [[1 - p, p]] * len(texts)) for p in (0.5, 0.500001, 0.6)]
    assert len(set(found)) == 3
    assert value_of(victim, lambda texts: [[0.5 - 1e-9, 0.5 + 1e-9]] * len(texts)) == found[0]


def test_the_probe_digest() -> None:
    asked: list[list[str]] = []

    def predict(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[0.0, 3.0]] * len(texts)

    first = probe_digest(predict)
    assert asked == [list(PROBES)]
    assert first == probe_digest(predict)
    assert first != probe_digest(lambda texts: [[0.0, 2.9]] * len(texts))
    assert probe_digest(constant) == probe_digest(lambda texts: np.full((len(texts), 1), 0.5, np.float32))


@pytest.mark.parametrize(
    ("victim", "predict", "reason"),
    [
        (None, constant, "the victim does not say what it is"),
        (
            "a text",
            None,
            r"the victim failed on the probe sentences \(TypeError: 'str' object is not callable\)",
        ),
        (
            len,
            None,
            r"the victim failed on the probe sentences \(VictimError: the victim returned shape \(\)",
        ),
        (Offering("a"), lambda texts: [float("nan")] * len(texts), "VictimRowError: the victim returned NaN"),
        (Offering(lambda: 1 / 0), constant, r"looking into the victim failed \(ZeroDivisionError"),
    ],
)
def test_trouble_is_a_reason_and_no_error(victim: Any, predict: Any, reason: str) -> None:
    found = victim_fingerprint(victim, predict)
    assert found.value is None and "\n" not in found.reason
    assert re.search(reason, found.reason), found.reason


# -- the package's own victims and scikit-learn ----------------------------------------------------------


def test_the_embedded_victim_has_one() -> None:
    assert value_of(EmbeddedVictim(), None) == value_of(EmbeddedVictim(), None)


def test_a_linear_model(tmp_path: Path) -> None:
    def model(**changes: Any) -> TfidfLinearModel:
        values = {
            "words": ("good", "bad"),
            "idf": np.ones(2),
            "coefficients": np.array([[1.0, -1.0]]),
            "intercepts": np.zeros(1),
            "slopes": -np.ones(1),
            "offsets": np.zeros(1),
        }
        return TfidfLinearModel(**{**values, **changes})

    first = model()
    before = value_of(first, None)
    first(["this fills what is derived"])
    first.save(tmp_path / "model.npz")
    assert value_of(TfidfLinearModel.load(tmp_path / "model.npz"), None) == value_of(first, None) == before
    changes = [
        {"words": ("good", "worse")},
        {"idf": np.array([1.0, 1.0 + 1e-12])},
        {"coefficients": np.array([[1.0, -1.0 - 1e-12]])},
        {"max_ngram": 2},
    ]
    assert len({before, *(value_of(model(**change), None) for change in changes)}) == 5


TEXTS = ["a good film", "a bad film", "nice work he did", "terrible stuff she did"] * 5


def test_estimators() -> None:
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import ComplementNB
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    def fitted(last: Any, **settings: Any) -> Any:
        return make_pipeline(TfidfVectorizer(**settings), last).fit(TEXTS, [1, 0] * 10)

    def fingerprint(pipeline: Any) -> str:
        return value_of(pipeline, pipeline.predict_proba)

    for make in (LogisticRegression, ComplementNB, lambda: DecisionTreeClassifier(random_state=0)):
        assert fingerprint(fitted(make())) == fingerprint(fitted(make()))
    model = fitted(LogisticRegression(), stop_words="english")
    found = {
        fingerprint(model),
        fingerprint(fitted(LogisticRegression())),
        fingerprint(fitted(ComplementNB())),
    }
    assert len(found) == 3
    before = value_of(model)
    model[-1].coef_[0, 0] += 1e-12
    assert value_of(model) != before
    model[-1].coef_ -= np.eye(*model[-1].coef_.shape) * 1e-12
    tree = fitted(DecisionTreeClassifier(random_state=0))
    assert value_of(tree) != value_of(fitted(DecisionTreeClassifier(random_state=0, max_depth=1)))
    vocabulary = model[0].vocabulary_
    word = next(iter(vocabulary))
    before = value_of(model)
    vocabulary[word + "x"] = vocabulary.pop(word)
    assert value_of(model) != before


ACROSS = """
import sys
from rif_plugins.victims import EmbeddedVictim
from rif_plugins.victims.fingerprint import victim_fingerprint
class Model:
    words = {"alpha", "beta", "gamma", "delta"}
    def __init__(self):
        self.known = frozenset(["x", "y", "z"])
    def __call__(self, texts):
        return [0.75 if text in {"a", "b", "c"} or text in self.words else 0.25 for text in texts]
print(victim_fingerprint(Model()), victim_fingerprint(EmbeddedVictim()))
"""


def test_it_is_the_same_in_every_process(run_python: Any) -> None:
    found = {run_python("-c", ACROSS, PYTHONHASHSEED=seed).stdout for seed in ("1", "2", "77")}
    assert len(found) == 1
    assert re.fullmatch(r"(Fingerprint\(value='[0-9a-f]{32}', reason=''\)\s){2}", found.pop())
