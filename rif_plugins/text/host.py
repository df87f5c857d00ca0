"""The only file that writes into TextAttack.

TextAttack 0.3.11 has no plugin hook. Its names are dictionaries in `textattack.attack_args` and
`textattack.augment_args` whose values are class paths that two modules ``eval``. :func:`register` adds
the tables of `rif_plugins.registry` to them, makes the classes reachable under the module that each path
names, and adds the RIF rows to the summary that ends a run. Nothing of TextAttack's own is replaced.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from rif_plugins import autoload, registry
from rif_plugins.errors import DataError, RIFError

SUMMARY_TITLE = "RIF Results"
_SUMMARY_WINDOW = "rif_results_summary"
_MARK = "_rif_plugins"
_TRAINING = "_rif_plugins_training"
_last_run = {"errors": 0}


@dataclass(frozen=True)
class HostTable:
    """One of TextAttack's name tables and the module whose attributes its class paths use.

    Attributes:
        module: Where the table lives.
        table: The dictionary's name there.
        home: The TextAttack module under which our classes become reachable.
        names: Our names and where the classes really live, as ``module:attribute``.
    """

    module: str
    table: str
    home: str
    names: Mapping[str, str]

    def path_of(self, name: str) -> str:
        """The class path that TextAttack evaluates for one of our names."""
        return f"{self.home}.{self.names[name].partition(':')[2]}"


def host_tables() -> tuple[HostTable, ...]:
    """The tables of TextAttack that get our names."""
    arguments = "textattack.attack_args"
    return (
        HostTable(arguments, "ATTACK_RECIPE_NAMES", "textattack.attack_recipes", registry.ATTACK_RECIPES),
        HostTable(
            arguments, "GOAL_FUNCTION_CLASS_NAMES", "textattack.goal_functions", registry.GOAL_FUNCTIONS
        ),
        HostTable(
            arguments, "SEARCH_METHOD_CLASS_NAMES", "textattack.search_methods", registry.SEARCH_METHODS
        ),
        HostTable(
            arguments,
            "BLACK_BOX_TRANSFORMATION_CLASS_NAMES",
            "textattack.transformations",
            registry.TRANSFORMATIONS,
        ),
        HostTable(arguments, "CONSTRAINT_CLASS_NAMES", "textattack.constraints", registry.CONSTRAINTS),
        HostTable(
            "textattack.augment_args",
            "AUGMENTATION_RECIPE_NAMES",
            "textattack.augmentation",
            registry.AUGMENTATION_RECIPES,
        ),
    )


def register() -> None:
    """Add our names, classes and summary rows to TextAttack; calling it again changes nothing.

    Imports TextAttack if that has not happened yet (10 to 18 s), after offering it the embedded NLTK data.

    Raises:
        RIFError: TextAttack does not have the tables that this version of rif-plugins knows.

    Warns:
        UserWarning: A name or an attribute is already taken by something else; it is left alone.
    """
    if "textattack" not in sys.modules:
        autoload.offer_nltk_data()
        import_module("textattack")
    taken: list[str] = []
    for table in host_tables():
        taken += _fill(table)
    _extend_summary()
    _extend_command_line()
    _keep_logs()
    _allow_texts_without_letters()
    _train_on_both_sides()
    if taken:
        warnings.warn(
            "rif-plugins: left alone in TextAttack, because somebody else already registered: "
            + ", ".join(taken),
            stacklevel=2,
        )


def is_registered() -> bool:
    """True when every one of our names stands in TextAttack's tables."""
    return "textattack" in sys.modules and all(
        _table_of(table).get(name) == table.path_of(name) for table in host_tables() for name in table.names
    )


def _fill(table: HostTable) -> list[str]:
    """Add the names of one table and return those that are taken."""
    entries, home = _table_of(table), import_module(table.home)
    lazy = _lazy_attributes(home)
    taken = []
    for name, target in table.names.items():
        attribute = target.partition(":")[2]
        path = table.path_of(name)
        is_foreign = attribute in vars(home) and lazy.get(attribute) != target
        if is_foreign or entries.get(name, path) != path:
            taken.append(name)
            continue
        lazy[attribute] = target
        entries[name] = path
    return taken


def _table_of(table: HostTable) -> dict[str, str]:
    entries = getattr(import_module(table.module), table.table, None)
    if not isinstance(entries, dict):
        raise RIFError(
            f"{table.module} has no dictionary {table.table}: this TextAttack is not one that rif-plugins "
            "knows; install textattack 0.3.11"
        )
    return entries


def _lazy_attributes(home: ModuleType) -> dict[str, str]:
    """The classes of ours that ``home`` resolves on first use; installs that ability when needed.

    Importing them at once would make every ``import textattack`` pay for them, and would fail while
    TextAttack itself is only half imported.
    """
    known: dict[str, str] | None = getattr(vars(home).get("__getattr__"), _MARK, None)
    if known is not None:
        return known
    lazy: dict[str, str] = {}
    previous: Callable[[str], Any] | None = vars(home).get("__getattr__")

    def resolve(name: str) -> Any:
        if name in lazy:
            module, _, attribute = lazy[name].partition(":")
            value = getattr(import_module(module), attribute)
            setattr(home, name, value)
            return value
        if previous is not None:
            return previous(name)
        raise AttributeError(f"module {home.__name__!r} has no attribute {name!r}")

    setattr(resolve, _MARK, lazy)
    home.__getattr__ = resolve  # type: ignore[method-assign]
    return lazy


def _wrap(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a function of TextAttack by one that calls it, once."""
    original = getattr(owner, name)
    if not getattr(original, _MARK, False):
        wrapper = functools.wraps(original)(make(original))
        setattr(wrapper, _MARK, True)
        setattr(owner, name, wrapper)


def _extend_summary() -> None:
    """Let the log manager print the RIF table after TextAttack's own."""

    def make(original: Any) -> Any:
        def log_summary(self: Any) -> None:
            original(self)
            try:
                _log_rif_summary(self)
            except Exception as error:
                if os.environ.get("RIF_DEBUG") == "1":
                    raise
                autoload.report(f"the RIF summary could not be made ({type(error).__name__}: {error})")

        return log_summary

    _wrap(import_module("textattack.loggers").AttackLogManager, "log_summary", make)


def _log_rif_summary(manager: Any) -> None:
    from rif_plugins.text.summary import rif_summary_rows

    rows = rif_summary_rows(manager.results) if manager.results else None
    records = [getattr(getattr(r, "perturbed_result", None), "record", None) for r in manager.results]
    _last_run["errors"] = sum(getattr(record, "status", "") == "error" for record in records)
    if not rows:
        return
    loggers = import_module("textattack.loggers")
    for logger in manager.loggers:
        # Each logger gets rows of its own: the JSON logger rewrites them in place, and like the W&B
        # logger it raises on a value that is not a number.
        own = [list(row) for row in rows]
        if isinstance(logger, (loggers.JsonSummaryLogger, loggers.WeightsAndBiasesLogger)):
            own = [row for row in own if _is_number(row[1])]
        if isinstance(logger, loggers.FileLogger) and logger.stdout:
            logger.fout.write("\n")  # the table before ours ends without a line break
        logger.log_summary_rows(own, SUMMARY_TITLE, _SUMMARY_WINDOW)
        if isinstance(logger, loggers.JsonSummaryLogger):
            numbers = logger.json_dictionary[SUMMARY_TITLE]
            logger.json_dictionary[SUMMARY_TITLE] = {row[0]: numbers.get(row[0], row[1]) for row in rows}


def examples_with_errors() -> int:
    """Examples of the last attack in this process that ended in an error."""
    return _last_run["errors"]


def _is_number(value: Any) -> bool:
    try:
        float(str(value).replace("%", ""))
    except ValueError:
        return False
    return True


def _extend_command_line() -> None:
    """Let `textattack ...` end with one line and code 2 when the mistake is one that we diagnosed."""

    def make(original: Any) -> Any:
        def main(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except Exception as error:
                cause = user_mistake(error)
                if cause is None or os.environ.get("RIF_DEBUG") == "1":
                    raise
                autoload.report(str(cause))
                raise SystemExit(2) from None

        return main

    _wrap(import_module("textattack.commands.textattack_cli"), "main", make)


def _keep_logs() -> None:
    """Let an attack that ends with an error write what it has logged: the CSV logger keeps rows in memory.

    An empty data set, of which the host makes a summary of nothing, is refused for our goals.
    """

    def make(original: Any) -> Any:
        def attack_dataset(self: Any) -> Any:
            _last_run["errors"] = 0
            if _attacks_nothing(self):
                raise DataError(
                    "the data set has no examples, expected one or more: check the file and its split"
                )
            try:
                results = original(self)
            except BaseException:
                sys.stderr.write("\n")  # the progress bar leaves its line open
                _flush(self.attack_log_manager)
                raise
            if getattr(self.attack, _TRAINING, False):
                from rif_plugins.text.trainer import as_training_results

                return as_training_results(results)
            return results

        return attack_dataset

    _wrap(import_module("textattack").Attacker, "attack_dataset", make)


def _train_on_both_sides() -> None:
    """Let adversarial training use both texts of a found pair as rows of their own."""

    def make(original: Any) -> Any:
        def generate(self: Any, epoch: int) -> Any:
            setattr(self.attack, _TRAINING, True)
            try:
                return original(self, epoch)
            finally:
                setattr(self.attack, _TRAINING, False)

        return generate

    _wrap(import_module("textattack.trainer").Trainer, "_generate_adversarial_examples", make)


def _attacks_nothing(attacker: Any) -> bool:
    """True for an attack of ours on an empty data set."""
    goal = getattr(getattr(attacker, "attack", None), "goal_function", None)
    is_ours = type(goal).__module__.partition(".")[0] == "rif_plugins"
    return is_ours and len(attacker.dataset) == 0


def _flush(manager: Any) -> None:
    if manager is None:
        return
    try:
        manager.flush()
    except Exception as error:  # the error that ended the attack is the one to show
        autoload.report(f"the log files could not be written ({type(error).__name__}: {error})")


def _allow_texts_without_letters() -> None:
    """Let results of an empty text, or one of digits and signs only, be printed and logged.

    Printing asks a language detector whether the text is Chinese or Korean, and that raises when
    there is no letter to judge by: one empty line of a data set would end the whole run.
    """

    def make(original: Any) -> Any:
        def detect(text: str) -> str:
            try:
                return str(original(text))
            except Exception as error:
                # Its class cannot be named here without importing the detector.
                if type(error).__name__ != "LangDetectException":
                    raise
                return "unknown"

        return detect

    _wrap(import_module("textattack.attack_results.attack_result"), "detect", make)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run TextAttack's own `main` with the given arguments and return the exit code it asks for."""
    command_line: Any = import_module("textattack.commands.textattack_cli")
    before, sys.argv = sys.argv, ["textattack", *arguments]
    try:
        command_line.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return 0


def user_mistake(error: BaseException) -> RIFError | None:
    """The error of ours behind ``error``: TextAttack wraps what a user's file raises."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        if isinstance(current, RIFError):
            return current
        seen.add(id(current))
        current = current.__cause__ or current.__context__
    return None


def is_argument_error(error: BaseException) -> bool:
    """True when TextAttack raised ``error`` itself while it read its arguments and the user's files."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.replace("\\", "/").endswith(
        ("textattack/model_args.py", "textattack/dataset_args.py", "textattack/attack_args.py")
    )
