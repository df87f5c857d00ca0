"""Files of users: lexicons, candidates, examples, label maps, baselines, settings, schemas, logs."""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from fuzz import hostile
from fuzz.engine import Target

from rif_plugins.errors import DataError
from rif_plugins.examples.labels import LabelReader, read_label_map
from rif_plugins.examples.loading import load_examples
from rif_plugins.metrics.attack_logs import read_attack_results
from rif_plugins.metrics.text_table import rif_text_table
from rif_plugins.proposers import TableProposer, TokenContext
from rif_plugins.runner.gates import read_baseline
from rif_plugins.runner.tabular_input import TabularOptions, describe_table, read_table
from rif_plugins.settings import FIELDS, Settings, variable_of
from rif_plugins.similar import Lexicon, find_spans, similar_texts
from rif_plugins.similar.lexicon_file import read_lexicon_file
from rif_plugins.tables import TableSchema
from rif_plugins.tables.fields import FieldLayout
from rif_plugins.tables.schema_file import write_columns

Read = Callable[[Path], None]


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="rif-fuzz-")


def place(name: str) -> Path:
    """A file of a folder that goes with the process."""
    return Path(_folder().name) / name


def _file(name: str, read: Read) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        path = place(name)
        path.write_bytes(data)
        read(path)

    return check


def _lexicon(path: Path) -> None:
    lexicon = Lexicon((read_lexicon_file(path),))
    terms = [term.text for term in lexicon][:8]
    text = " ".join(("The", *terms, "came", *(term.upper() for term in terms), "home."))
    for span in find_spans(text, lexicon):
        assert 0 <= span.start < span.end <= len(text)
    for pair in similar_texts(text, lexicon, max_counterparts=4):
        assert pair.original == text != pair.similar
    assert lexicon.describe()
    Lexicon.load("marital_status").merged_with(lexicon)


def _candidates(path: Path) -> None:
    proposer = TableProposer(path, min_score=0.1)
    text = "He is a good actor and plays well."
    contexts = [TokenContext(text, 8, 12), TokenContext(text, 13, 18), TokenContext(text, 23, 28)]
    for found in proposer.propose(contexts):
        assert all(candidate.text.strip() and "\n" not in candidate.text for candidate in found)


def _examples(path: Path) -> None:
    for labels in ("given", "predicted"):
        found = load_examples(str(path), label_names=("negative", "positive"), labels=labels)
        assert len(found.examples) == len({example.id for example in found.examples}) > 0
        for example in found.examples:
            assert isinstance(example.text, str)
            example.text.encode()
            assert (example.label in (0, 1)) if labels == "given" else example.label is None


def _label_map(path: Path) -> None:
    reader = LabelReader(("negative", "positive"), label_map=read_label_map(path))
    for value in ("neg", "pos", "1", 0, True, None, 1.0):
        with suppress(DataError):
            assert reader.read(value, "row 1") in (0, 1)


def _baseline(path: Path) -> None:
    assert all(isinstance(name, str) and name for name in read_baseline(path))


def _settings(path: Path) -> None:
    _check_settings(Settings.load(path, {}))


def check_variables(variables: dict[str, str]) -> None:
    _check_settings(Settings.load(None, variables))


def _check_settings(found: Settings) -> None:
    assert 0 < found.min_equivalence <= 1
    assert found.beam >= 1
    assert found == found.updated()


def _schema(path: Path) -> None:
    schema = TableSchema.from_toml(path)
    again = place("again.toml")
    again.write_text(write_columns(schema.columns), encoding="utf-8")
    assert TableSchema.from_toml(again).columns == schema.columns
    rows = np.random.default_rng(0).normal(0, 3, (4, schema.n_features))
    original = np.concatenate(
        [column.nearest(rows[:, schema.slice_of(column.name)]) for column in schema.columns], axis=1
    )
    valid = schema.project(rows * 2, original)
    assert valid.shape == rows.shape
    schema.check(valid, "rows")
    schema.describe()
    if max(len(c.values or ()) for c in schema.columns) < 100:
        layout = FieldLayout(schema)
        assert layout.join(*layout.split(valid)).shape == rows.shape


def _table(path: Path) -> None:
    options = TabularOptions(Path("model.py"), path, sensitive=("sex",), missing="drop")
    frame, numbers, _ = read_table(options)
    encoder, label, _ = describe_table(options, frame, None, ())
    x = encoder.encode(frame, out_of_range="clip")
    assert len(x) == len(numbers)
    assert np.isfinite(x).all()
    assert label is None or label in frame.columns


def _log(path: Path) -> None:
    def victim(texts: list[str]) -> Any:
        p = np.array([(len(text) % 7) / 7 for text in texts])
        return np.stack([1 - p, p], axis=1)

    def counterparts(text: str) -> list[str]:
        return [pair.similar for pair in similar_texts(text, Lexicon.load("gender"), max_counterparts=2)]

    for item in read_attack_results(path):
        assert item.label >= 0
    table = rif_text_table(victim, path, counterparts, n_resamples=10)
    json.dumps(table.to_dict(), allow_nan=False)
    assert table.to_text()


def _rows(delimiter: str, *rows: tuple[Any, ...]) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


def _lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def _variables(rng: random.Random) -> dict[str, str]:
    values = ("", "1", "0.5", "1e999", "nan", "all", "none", "on", "9" * 5000, "a,b", *hostile.ODD)
    names = rng.sample(FIELDS, rng.randint(1, 3))
    return {variable_of(name): rng.choice(values) for name in names}


@cache
def _parquet_seeds() -> tuple[bytes, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    columns = (
        {"text": ["He is good", "She is bad"], "label": [1, 0]},
        {"text": ["a", None], "label": [1.0, float("nan")], "similar": ["b", ""]},
        {"text": [["nested"], ["list"]], "label": [{"a": 1}, {"a": 2}]},
        {"sex": ["m", "f", "f"], "age": [30, 40, 50], "label": [0, 1, 0]},
    )
    files = []
    for column in columns:
        sink = io.BytesIO()
        parquet.write_table(pa.table(column), sink)
        files.append(sink.getvalue())
    return tuple(files)


def _parquet(rng: random.Random) -> bytes:
    return hostile.broken(rng, _parquet_seeds(), 3)


LEXICON = (
    "# attribute: gender\n# version: 1.0\n# notes: made by hand\nslot\tmale\tfemale\n"
    "subject\the\tshe\nnoun\tactor|player\tactress\nplural\tmen\twomen\nword\t>sir\tmadam\n"
    "given-a\tJohn\tMary\nguard\tactor\tneeds\tperson\nguard\t*\tnot-before\tpaper @title -like\n",
    "from\tto\nhe\tshe\nwaiter\twaitress\n",
    "slot\ta\tb\tc\nnoun\tx\t-\tz\nnoun\tq w\te’s\tÉa\n",
)
CANDIDATES = (
    {"token": "good", "candidate": "fine", "score": 0.9, "forward": 0.95, "backward": 0.95, "source": "llm"},
    {"token": "actor", "candidate": "performer", "context_hash": "00ff"},
)
CANDIDATE_CSV = (("token", "candidate", "score"), ("good", "fine", 0.9), ("actor", 'per"former', ""))
EXAMPLES = (
    {"text": "He is good", "label": 1, "similar": "She is good"},
    {"text": 'She, "the" actor', "label": "negative", "similar": None},
)
EXAMPLE_ROWS = (("text", "label"), ("He is good", 1), ('She said "no",\nand left', "negative"))
SETTINGS = (
    'sensitive = ["gender", "race"]\ncounterparts = 4\nproposer = "wordnet"\nmin_equivalence = 0.8\n'
    'max_edits = "none"\nbeam = 2\nsaliency = "delete"\ncache = "off"\nresults = "out.jsonl"\nseed = 7\n',
    'lexicon = "my.tsv"\npositions = "shared"\nexhaustive = 2\nveto = "auto"\nbatch_size = 16\n',
)
SCHEMA = (
    'schema = "rif-table/1"\n\n[[column]]\nname = "age"\nkind = "integer"\nlow = 17\nhigh = 90\nstep = 1\n\n'
    '[[column]]\nname = "sex"\nkind = "categorical"\nvalues = [0, 1]\nlabels = ["m", "f"]\n'
    'sensitive = true\n\n[[column]]\nname = "pay"\nkind = "numeric"\nlow = 0\nhigh = 1.5\nimmutable = true\n',
    'schema = "rif-table/1"\n[[column]]\nname = "job"\nkind = "one_hot"\nwidth = 3\nsensitive = true\n'
    '[[column]]\nname = "school"\nkind = "ordinal"\nvalues = [1, 2, 3]\ngrid = 1\n',
)
TABLE = "sex,age,pay,label\nm,30,1.5,0\nf,41,2.25,1\nf,52,,1\nm,20,0.5,0\n"
LOG = _rows(
    ",",
    ("original_text", "perturbed_text", "ground_truth_output", "result_type"),
    ("he is [[good]]", "he is [[fine]]", 1, "Successful"),
    ("she [[said]]<SPLIT>no", "she [[told]]<SPLIT>no", 0.0, "Failed"),
)
RECORD = {
    "schema": "rif-results/1",
    "id": "00ff",
    "example": "e1",
    "target": "robust_biased",
    "status": "induced",
    "stop_reason": "found",
}
TARGETS = (
    Target("file.lexicon", _file("l.tsv", _lexicon), hostile.breaking(*LEXICON)),
    Target("file.candidates jsonl", _file("c.jsonl", _candidates), hostile.breaking(_lines(*CANDIDATES))),
    Target("file.candidates csv", _file("c.csv", _candidates), hostile.breaking(_rows(",", *CANDIDATE_CSV))),
    Target("file.candidates tsv", _file("c.tsv", _candidates), hostile.breaking(_rows("\t", *CANDIDATE_CSV))),
    Target("file.examples jsonl", _file("e.jsonl", _examples), hostile.breaking(_lines(*EXAMPLES))),
    Target("file.examples csv", _file("e.csv", _examples), hostile.breaking(_rows(",", *EXAMPLE_ROWS))),
    Target(
        "file.examples tsv", _file("e.tsv", _examples), hostile.breaking('text\tlabel\nHe "is"\t1\nx\t0\n')
    ),
    Target("file.examples parquet", _file("e.parquet", _examples), _parquet),
    Target(
        "file.label map json",
        _file("m.json", _label_map),
        hostile.breaking('{"neg": "negative", "pos": 1, "0": 0, "true": 1}'),
    ),
    Target(
        "file.label map toml",
        _file("m.toml", _label_map),
        hostile.breaking('neg = 0\npos = "positive"\n1 = 1'),
    ),
    Target(
        "file.baseline",
        _file("b.jsonl", _baseline),
        hostile.breaking("# ours\n00ff\n" + _lines(RECORD), "ab12\n"),
    ),
    Target("file.settings", _file("rif.toml", _settings), hostile.breaking(*SETTINGS)),
    Target("file.variables", check_variables, _variables),
    Target("file.schema", _file("s.toml", _schema), hostile.breaking(*SCHEMA)),
    Target("file.table csv", _file("t.csv", _table), hostile.breaking(TABLE), is_slow=True),
    Target("file.table parquet", _file("t.parquet", _table), _parquet, is_slow=True),
    Target("file.attack log", _file("log.csv", _log), hostile.breaking(LOG)),
)
