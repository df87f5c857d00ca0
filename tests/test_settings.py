"""`rif.toml` and RIF_* variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from rif_plugins.errors import UsageError
from rif_plugins.settings import FIELDS, Settings, allowed_values, settings_file, variable_of


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "rif.toml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_those_of_the_interface() -> None:
    settings = Settings.load(environment={})
    assert settings == Settings()
    assert (settings.counterparts, settings.proposer, settings.entailment) == (8, "wordnet", "embedded")
    assert (settings.min_equivalence, settings.scope, settings.positions) == (0.8, "sentence", "shared")
    assert (settings.max_positions, settings.max_edits, settings.seed) == (20, None, 0)


def test_the_file_of_the_working_folder_is_read() -> None:
    write('sensitive = ["gender", "race"]\nmax_edits = 2\nlexicon = "words.toml"\nmin_equivalence = 1\n')
    settings = Settings.load(environment={})
    assert settings.sensitive == ("gender", "race")
    assert settings.max_edits == 2
    assert settings.lexicon == Path("words.toml")
    assert settings.min_equivalence == 1.0


def test_the_named_file_replaces_the_one_of_the_folder() -> None:
    write("seed = 1")
    write("batch_size = 7", "other.toml")
    settings = Settings.load(environment={"RIF_PLUGINS_CONFIG": "other.toml"})
    assert (settings.seed, settings.batch_size) == (0, 7)


def test_the_environment_wins() -> None:
    write('seed = 1\npositions = "coupled"')
    settings = Settings.load(environment={"RIF_SEED": "5", "RIF_SENSITIVE": "gender, age"})
    assert (settings.seed, settings.positions, settings.sensitive) == (5, "coupled", ("gender", "age"))


@pytest.mark.parametrize(
    ("variable", "value", "field", "expected"),
    [
        ("RIF_SENSITIVE", "all", "sensitive", None),
        ("RIF_COUNTERPARTS", "all", "counterparts", "all"),
        ("RIF_COUNTERPARTS", "3", "counterparts", 3),
        ("RIF_MAX_EDITS", "none", "max_edits", None),
        ("RIF_MAX_EDITS", "0", "max_edits", 0),
        ("RIF_MIN_EQUIVALENCE", "0.5", "min_equivalence", 0.5),
        ("RIF_SALIENCY", "mask", "saliency", "mask"),
        ("RIF_LEXICON", "my words.csv", "lexicon", Path("my words.csv")),
        ("RIF_ENTAILMENT", "hf:some/model", "entailment", "hf:some/model"),
        ("RIF_ENTAILMENT", "cosine:some/encoder", "entailment", "cosine:some/encoder"),
        ("RIF_PROPOSER", "llm:some-model", "proposer", "llm:some-model"),
        ("RIF_MAX_LLM_CALLS", "0", "max_llm_calls", 0),
        ("RIF_MAX_LLM_CALLS", "none", "max_llm_calls", None),
        ("RIF_LLM_SAMPLES", "9", "llm_samples", 9),
        ("RIF_LLM_MAX_TOKENS", "400", "llm_max_tokens", 400),
        ("RIF_LLM_TEMPERATURE", "0", "llm_temperature", 0.0),
        ("RIF_LLM_TEMPERATURE", "1.5", "llm_temperature", 1.5),
        ("RIF_LLM_PROMPT_PRICE", "0.15", "llm_prompt_price", 0.15),
        ("RIF_LLM_COMPLETION_PRICE", "0", "llm_completion_price", 0.0),
        ("RIF_JUDGE", "llm:a, llm:gguf:b.gguf", "judge", ("llm:a", "llm:gguf:b.gguf")),
        ("RIF_JUDGE", "none", "judge", None),
        ("RIF_JUDGE_SAMPLE", "20", "judge_sample", 20),
    ],
)
def test_variables_are_parsed(variable: str, value: str, field: str, expected: object) -> None:
    assert getattr(Settings.load(environment={variable: value}), field) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_edit = 3", r"rif\.toml: unknown key `max_edit`; allowed are .*max_edits"),
        ("seed = -1", r"rif\.toml: key `seed`: expected a whole number from 0, got -1"),
        ("seed = true", r"key `seed`: expected a whole number from 0, got True"),
        ("seed = 1.5", r"key `seed`: expected a whole number from 0, got 1\.5"),
        ("min_equivalence = 80", r"key `min_equivalence`: expected a number above 0, up to 1, got 80"),
        ("min_equivalence = nan", r"key `min_equivalence`: expected a number above 0, up to 1, got nan"),
        ("sensitive = 3", r'key `sensitive`: expected attribute names such as "gender,race"'),
        ("sensitive = []", r"key `sensitive`: expected attribute names .*got \[\]"),
        ('scope = "text"', r'key `scope`: expected one of "sentence", "word", got \'text\''),
        ("scope = [1]", r"key `scope`: expected one of"),
        ('proposer = ""', r'key `proposer`: expected "wordnet", "context", .*"llm:NAME".*, got \'\''),
        ("max_llm_calls = -1", r'key `max_llm_calls`: expected a whole number from 0, or "none", got -1'),
        ("llm_samples = 0", r"key `llm_samples`: expected a whole number from 1, got 0"),
        ("llm_temperature = 2.1", r"key `llm_temperature`: expected a number from 0 to 2, .* got 2\.1"),
        ("llm_temperature = -1", r"key `llm_temperature`: expected a number from 0 to 2, .* got -1"),
        ("llm_temperature = nan", r"key `llm_temperature`: expected a number from 0 to 2, .* got nan"),
        ("llm_prompt_price = -0.1", r"key `llm_prompt_price`: expected a price .*, from 0, got -0\.1"),
        ("llm_completion_price = inf", r"key `llm_completion_price`: expected a price .* got inf"),
        ('judge = "gpt"', r'key `judge`: expected "llm:NAME", or two of them .*, or "none", got \'gpt\''),
        ('judge = "llm:"', r"key `judge`: expected .* got 'llm:'"),
        ('judge = ["llm:a", "llm:a"]', r"key `judge`: expected"),
        ('judge = "llm:a,llm:b,llm:c"', r"key `judge`: expected"),
        ("judge_sample = 0", r"key `judge_sample`: expected a whole number from 1, got 0"),
        ("counterparts = 0", r'key `counterparts`: expected "all" or a whole number from 1, got 0'),
        ("seed = ", r"rif\.toml: not TOML \(.*\); write lines like"),
    ],
)
def test_mistakes_in_the_file_are_named(text: str, message: str) -> None:
    write(text)
    with pytest.raises(UsageError, match=message):
        Settings.load(environment={})


def test_mistakes_in_a_variable_are_named() -> None:
    with pytest.raises(UsageError, match=r"environment variable RIF_MAX_EDITS: expected .*got 'two'"):
        Settings.load(environment={"RIF_MAX_EDITS": "two"})


def test_a_missing_file_is_named() -> None:
    with pytest.raises(UsageError, match=r"RIF_PLUGINS_CONFIG: no file 'gone\.toml'"):
        Settings.load(environment={"RIF_PLUGINS_CONFIG": "gone.toml"})


def test_no_file_is_fine() -> None:
    assert settings_file({}) is None


def test_every_field_has_a_variable_and_a_description() -> None:
    assert variable_of("max_counterparts") == "RIF_MAX_COUNTERPARTS"
    for field in FIELDS:
        assert allowed_values(field)


def test_updated_checks_like_the_file() -> None:
    settings = Settings().updated(
        sensitive=("age",), lexicon=Path("w.csv"), max_edits=None, min_equivalence=1
    )
    assert settings == Settings(sensitive=("age",), lexicon=Path("w.csv"), min_equivalence=1.0)
    with pytest.raises(UsageError, match=r"unknown setting `max_edit`; allowed are"):
        Settings().updated(max_edit=1)
    with pytest.raises(UsageError, match=r"setting `scope`: expected one of .* got 'text'"):
        Settings().updated(scope="text")
