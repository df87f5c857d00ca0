"""Settings of a run: `rif.toml`, then ``RIF_*`` environment variables, which win.

TextAttack refuses recipe names with arguments, so this is how a recipe is configured from its command line.
The file is the one named by ``RIF_PLUGINS_CONFIG``, else ``rif.toml`` in the working folder if it exists. Its
keys are the field names of :class:`Settings`; the variable of ``min_equivalence`` is ``RIF_MIN_EQUIVALENCE``.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rif_plugins.errors import UsageError

CONFIG_VARIABLE = "RIF_PLUGINS_CONFIG"
CONFIG_FILE = "rif.toml"
PREFIX = "RIF_"
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run does where its command line is silent.

    Attributes:
        sensitive: Sensitive attributes to swap; ``None`` means all that the lexicon has.
        lexicon: A lexicon file, used with the embedded one; ``None`` means the embedded one alone.
        counterparts: Most similar texts of one example: a number (a seeded sample where there are more)
            or ``"all"``. The attack reports one pair an example, the worst that it finds.
        proposer: Where replacements come from: ``wordnet``, ``context``, ``table:FILE``, ``masked-lm:NAME``,
            ``embedding:FILE``, ``llm:NAME``, ``phrases:llm:NAME``, or several with commas between them.
        entailment: The entailment scorer: ``embedded``, ``hf:NAME``, ``cosine:NAME`` (the ablation) or
            ``none``.
        min_equivalence: Least bidirectional entailment of an admissible edit, 0 to 1.
        veto: ``"lexicon"`` also refuses antonyms, siblings and cousins of WordNet, ``"none"`` does not,
            ``"auto"`` does with the embedded scorer.
        scope: Whether the edited sentence or the bare word is scored.
        positions: Whether both sides of a pair share the edited positions.
        max_positions: Most token positions tried on a text.
        max_edits: Most edits on one side; ``None`` means no limit.
        max_candidates: Most candidates for a token.
        saliency: How token positions are ranked; ``"gradient"`` needs a white-box victim.
        beam: States that the sweep keeps at each depth; 1 is greedy.
        exhaustive: Let the sweep try all edits of at most this many tokens a side, and certify what is not
            found; ``None`` searches greedily.
        mask_token: What the saliency ``"mask"`` puts in the place of a token.
        n_wrong_labels: More than two classes, target ``unrobust_fair``: how many wrong labels to aim at.
        victim_output: What the victim returns; ``"auto"`` decides at the first call.
        seed: Seed of every random choice.
        batch_size: Victim rows in one call.
        cache: Whether answers of models are kept across runs of `rif audit`.
        cache_dir: Folder of that cache; ``None`` is ``RIF_CACHE_DIR`` or the platform's.
        cache_size: Most megabytes of it.
        filter_order: Which of filter and victim sees candidates first; ``"auto"`` is the filter when a query
            budget is set, else the victim. The accepted edits are the same, the costs are not.
        results: Append one JSON record an example to this file.
        max_llm_calls: Most calls to language models in a run, of proposer, victim and judge together; a
            stored answer is no call.
        llm_samples: Answers that are drawn for a text from a language model as the victim, where it does not
            tell the chances of its first token; 1 takes one answer as it is.
        llm_max_tokens: Longest answer of such a victim; models that think aloud first need hundreds.
        llm_temperature: How freely a language model as the proposer draws, 0 to 2; 0 is greedy. Victim and
            judge are asked as before.
        llm_prompt_price, llm_completion_price: Price of a million tokens, in any currency, for the costs in
            ``run.json``.
        judge: Language models, one or two, that rate after a run of `rif audit` how well the found edits keep
            the meaning.
        judge_sample: Most edited texts that each of them rates.
    """

    sensitive: tuple[str, ...] | None = None
    lexicon: Path | None = None
    counterparts: Literal["all"] | int = 8
    proposer: str = "wordnet"
    entailment: str = "embedded"
    min_equivalence: float = 0.8
    veto: Literal["auto", "lexicon", "none"] = "auto"
    scope: Literal["sentence", "word"] = "sentence"
    positions: Literal["shared", "independent", "coupled"] = "shared"
    max_positions: int = 20
    max_edits: int | None = None
    max_candidates: int = 12
    saliency: Literal["delete", "mask", "gradient", "random"] = "delete"
    mask_token: str = "[MASK]"
    beam: int = 1
    exhaustive: int | None = None
    n_wrong_labels: int = 3
    victim_output: Literal["auto", "probabilities", "logits"] = "auto"
    seed: int = 0
    batch_size: int = 32
    filter_order: Literal["auto", "filter-first", "victim-first"] = "auto"
    cache: Literal["on", "off"] = "on"
    cache_dir: Path | None = None
    cache_size: int = 256
    results: Path | None = None
    max_llm_calls: int | None = None
    llm_samples: int = 5
    llm_max_tokens: int = 32
    llm_temperature: float = 0.7
    llm_prompt_price: float = 0.0
    llm_completion_price: float = 0.0
    judge: tuple[str, ...] | None = None
    judge_sample: int = 100

    @classmethod
    def load(cls, path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
        """Read the settings file and the environment.

        Args:
            path: The settings file; by default the one that the module's documentation names.
            environment: Environment variables; by default the process's own.

        Raises:
            UsageError: The file cannot be read, or a key or a value is not one of those allowed.
        """
        variables = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        file = path or settings_file(variables)
        if file is not None:
            for key, raw in _read(file).items():
                values[key] = _checked(key, raw, f"{file}: key `{key}`")
        for key in FIELDS:
            variable = variable_of(key)
            if variable in variables:
                values[key] = _checked(key, variables[variable], f"environment variable {variable}")
        return cls(**values)

    def updated(self, **values: Any) -> Settings:
        """A copy with some fields replaced.

        Raises:
            UsageError: A name is no setting, or a value is not one of those allowed.
        """
        for key, value in values.items():
            if key not in FIELDS:
                raise UsageError(f"unknown setting `{key}`; allowed are {', '.join(FIELDS)}")
            is_default = value is None and getattr(Settings(), key) is None
            values[key] = None if is_default else _checked(key, _as_read(value), f"setting `{key}`")
        return dataclasses.replace(self, **values)


FIELDS = tuple(field.name for field in dataclasses.fields(Settings))


def variable_of(key: str) -> str:
    """The environment variable that overrides a key."""
    return PREFIX + key.upper()


def _as_read(value: Any) -> Any:
    """A Python value as a settings file would give it."""
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value


def settings_file(environment: Mapping[str, str] | None = None) -> Path | None:
    """The settings file in force, or ``None`` when there is none.

    Raises:
        UsageError: ``RIF_PLUGINS_CONFIG`` names a file that does not exist.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise UsageError(f"{CONFIG_VARIABLE}: no file {named!r}; correct the path or unset the variable")
        return Path(named)
    return Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None


def _read(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{file} is larger than 1 MB: is it a settings file?")
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except UsageError:
        raise
    except RecursionError:
        raise UsageError(f"{file}: not TOML that can be read: its lists are nested too deeply") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); correct {CONFIG_VARIABLE}") from error
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise UsageError(f"{file}: not TOML ({error}); write lines like `min_equivalence = 0.8`") from error
    for key in values:
        if key not in FIELDS:
            raise UsageError(f"{file}: unknown key `{key}`; allowed are {', '.join(FIELDS)}")
    return values


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one field is read: ``parse`` raises ``ValueError`` on what ``allowed`` does not describe."""

    allowed: str
    parse: Callable[[Any], Any]


def _checked(key: str, raw: Any, place: str) -> Any:
    kind = _KINDS[key]
    try:
        return kind.parse(raw)
    except (ValueError, OverflowError):
        raise UsageError(f"{place}: expected {kind.allowed}, got {_shown(raw)}") from None


def _shown(raw: Any) -> str:
    try:
        return repr(raw)
    except (ValueError, RecursionError):  # a number of thousands of digits cannot be written
        return f"a value of type {type(raw).__name__}"


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueError
    return raw.strip()


def _whole_number(least: int) -> Callable[[Any], int]:
    def parse(raw: Any) -> int:
        if isinstance(raw, bool) or not isinstance(raw, (int, str)):
            raise ValueError
        number = int(raw)
        if number < least:
            raise ValueError
        return number

    return parse


def _fraction(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise ValueError
    number = float(raw)
    if not 0.0 < number <= 1.0:
        raise ValueError
    return number


def _not_negative(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        raise ValueError
    number = float(raw)
    if not 0.0 <= number < float("inf"):
        raise ValueError
    return number


def _temperature(raw: Any) -> float:
    number = _not_negative(raw)
    if number > 2.0:
        raise ValueError
    return number


def _judges(raw: Any) -> tuple[str, ...]:
    names = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError
    cleaned = tuple(name.strip() for name in names)
    is_sound = all(name.startswith("llm:") and len(name) > len("llm:") for name in cleaned)
    if not is_sound or not 1 <= len(set(cleaned)) == len(cleaned) <= 2:
        raise ValueError
    return cleaned


def _one_of(*choices: str) -> _Kind:
    def parse(raw: Any) -> str:
        if raw not in choices:
            raise ValueError
        return str(raw)

    return _Kind("one of " + ", ".join(f'"{choice}"' for choice in choices), parse)


def _attributes(raw: Any) -> tuple[str, ...] | None:
    names = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError
    cleaned = tuple(name.strip() for name in names if name.strip())
    if not cleaned:
        raise ValueError
    return None if cleaned == ("all",) else cleaned


def _or_word(word: str, value: Any, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda raw: value if raw == word else parse(raw)


_KINDS: dict[str, _Kind] = {
    "sensitive": _Kind('attribute names such as "gender,race", or "all"', _attributes),
    "lexicon": _Kind("the path of a lexicon file", lambda raw: Path(_text(raw))),
    "counterparts": _Kind('"all" or a whole number from 1', _or_word("all", "all", _whole_number(1))),
    "proposer": _Kind(
        '"wordnet", "context", "table:FILE", "masked-lm:NAME", "embedding:FILE", "llm:NAME", '
        '"phrases:llm:NAME", or several with commas between them',
        _text,
    ),
    "entailment": _Kind('"embedded", "hf:NAME", "cosine:NAME" or "none"', _text),
    "min_equivalence": _Kind("a number above 0, up to 1", _fraction),
    "veto": _one_of("auto", "lexicon", "none"),
    "scope": _one_of("sentence", "word"),
    "positions": _one_of("shared", "independent", "coupled"),
    "max_positions": _Kind("a whole number from 1", _whole_number(1)),
    "max_edits": _Kind('a whole number from 0, or "none"', _or_word("none", None, _whole_number(0))),
    "max_candidates": _Kind("a whole number from 1", _whole_number(1)),
    "saliency": _one_of("delete", "mask", "gradient", "random"),
    "mask_token": _Kind("a word", _text),
    "beam": _Kind("a whole number from 1", _whole_number(1)),
    "exhaustive": _Kind('a whole number from 1, or "none"', _or_word("none", None, _whole_number(1))),
    "n_wrong_labels": _Kind("a whole number from 1", _whole_number(1)),
    "victim_output": _one_of("auto", "probabilities", "logits"),
    "seed": _Kind("a whole number from 0", _whole_number(0)),
    "batch_size": _Kind("a whole number from 1", _whole_number(1)),
    "filter_order": _one_of("auto", "filter-first", "victim-first"),
    "cache": _one_of("on", "off"),
    "cache_dir": _Kind("the path of a folder", lambda raw: Path(_text(raw))),
    "cache_size": _Kind("a whole number of megabytes from 1", _whole_number(1)),
    "results": _Kind("the path of a file to append to", lambda raw: Path(_text(raw))),
    "max_llm_calls": _Kind('a whole number from 0, or "none"', _or_word("none", None, _whole_number(0))),
    "llm_samples": _Kind("a whole number from 1", _whole_number(1)),
    "llm_max_tokens": _Kind("a whole number from 1", _whole_number(1)),
    "llm_temperature": _Kind(
        "a number from 0 to 2, for language models as the proposer (victim and judge have their own)",
        _temperature,
    ),
    "llm_prompt_price": _Kind("a price of a million tokens, from 0", _not_negative),
    "llm_completion_price": _Kind("a price of a million tokens, from 0", _not_negative),
    "judge": _Kind(
        '"llm:NAME", or two of them with a comma between, or "none"', _or_word("none", None, _judges)
    ),
    "judge_sample": _Kind("a whole number from 1", _whole_number(1)),
}


def allowed_values(key: str) -> str:
    """What a key accepts, in words."""
    return _KINDS[key].allowed
