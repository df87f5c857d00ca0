"""The tables of names, and how `rif_plugins.text.host` puts them into a (fake) TextAttack."""

from __future__ import annotations

import ast
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from rif_plugins import registry
from rif_plugins.errors import DataError, RIFError
from rif_plugins.text import host

ROOT = Path(__file__).resolve().parent.parent
TABLES = {
    "ATTACK_RECIPE_NAMES": ("textattack.attack_recipes", registry.ATTACK_RECIPES),
    "GOAL_FUNCTION_CLASS_NAMES": ("textattack.goal_functions", registry.GOAL_FUNCTIONS),
    "SEARCH_METHOD_CLASS_NAMES": ("textattack.search_methods", registry.SEARCH_METHODS),
    "BLACK_BOX_TRANSFORMATION_CLASS_NAMES": ("textattack.transformations", registry.TRANSFORMATIONS),
    "CONSTRAINT_CLASS_NAMES": ("textattack.constraints", registry.CONSTRAINTS),
    "AUGMENTATION_RECIPE_NAMES": ("textattack.augmentation", registry.AUGMENTATION_RECIPES),
}
NAMES = [(table, name) for table, (_, names) in TABLES.items() for name in names]


class Log:
    """Stands for any of TextAttack's loggers: keeps what it is given."""

    def __init__(self, stdout: bool = False) -> None:
        self.stdout = stdout
        self.fout = self
        self.written = ""
        self.tables: list[tuple[str, list[list[Any]]]] = []

    def write(self, text: str) -> None:
        self.written += text

    def log_summary_rows(self, rows: list[list[Any]], title: str, window_id: str) -> None:
        self.tables.append((title, rows))


class FileLogger(Log):
    pass


class JsonSummaryLogger(Log):
    """Like TextAttack's: rewrites the rows that it is given, and raises on a value that is no number."""

    def __init__(self) -> None:
        super().__init__()
        self.json_dictionary: dict[str, dict[str, Any]] = {}

    def log_summary_rows(self, rows: list[list[Any]], title: str, window_id: str) -> None:
        for row in rows:
            row[1] = float(str(row[1]).replace("%", ""))
        super().log_summary_rows(rows, title, window_id)
        self.json_dictionary[title] = {row[0]: row[1] for row in rows}


class WeightsAndBiasesLogger(JsonSummaryLogger):
    pass


class LangDetectException(Exception):
    """Named as the detector's own."""


def detect_language(text: str) -> str:
    """Raises where the real one does."""
    if not any(character.isalpha() for character in text):
        raise LangDetectException("No features in text.")
    return "en"


@pytest.fixture
def textattack(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A TextAttack with the tables, modules and classes that registration touches."""
    names = {module for module, _ in TABLES.values()} | {
        "textattack",
        "textattack.attack_args",
        "textattack.augment_args",
        "textattack.attack_results",
        "textattack.attack_results.attack_result",
        "textattack.loggers",
        "textattack.trainer",
        "textattack.commands",
        "textattack.commands.textattack_cli",
    }
    fake = {name: types.ModuleType(name) for name in sorted(names)}
    for name, module in fake.items():
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(fake[parent], child, module)
    for table in TABLES:
        home = "textattack.augment_args" if table == "AUGMENTATION_RECIPE_NAMES" else "textattack.attack_args"
        setattr(fake[home], table, {"pwws": "textattack.attack_recipes.PWWSRen2019"})

    class AttackLogManager:
        def __init__(self, *loggers: Log) -> None:
            self.loggers = loggers
            self.results: list[Any] = []

        def log_summary(self) -> None:
            for logger in self.loggers:
                logger.log_summary_rows([["Attack success rate:", "10.0%"]], "Attack Results", "results")

    class Attacker:
        def __init__(self, run: Any, attack_log_manager: Any) -> None:
            self.run, self.attack_log_manager, self.attack = run, attack_log_manager, None
            self.dataset = ["an example"]

        def attack_dataset(self) -> Any:
            return self.run()

    class Trainer:
        def _generate_adversarial_examples(self, epoch: int) -> Any:
            return epoch

    fake["textattack.trainer"].Trainer = Trainer  # type: ignore[attr-defined]
    fake["textattack"].Attacker = Attacker  # type: ignore[attr-defined]
    fake["textattack.attack_results.attack_result"].detect = detect_language  # type: ignore[attr-defined]
    loggers = fake["textattack.loggers"]
    for kind in (AttackLogManager, FileLogger, JsonSummaryLogger, WeightsAndBiasesLogger):
        setattr(loggers, kind.__name__, kind)
    fake["textattack.commands.textattack_cli"].main = lambda: None  # type: ignore[attr-defined]
    return types.SimpleNamespace(modules=fake, manager=AttackLogManager, args=fake["textattack.attack_args"])


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module with every class that the registry names, so that paths resolve without TextAttack."""
    module = types.ModuleType("rif_fake_classes")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for _, names in TABLES.values():
        for name, target in list(names.items()):
            attribute = target.partition(":")[2]
            setattr(module, attribute, type(attribute, (), {}))
            monkeypatch.setitem(names, name, f"{module.__name__}:{attribute}")
    return module


def entries(fake: types.SimpleNamespace, table: str) -> dict[str, str]:
    home = "textattack.augment_args" if table == "AUGMENTATION_RECIPE_NAMES" else "textattack.attack_args"
    found: dict[str, str] = getattr(fake.modules[home], table)
    return found


def summary(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    module = types.ModuleType("rif_plugins.text.summary")
    module.rif_summary_rows = make  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("rif_plugins.text.summary", module, raising=False)


def test_the_registry_holds_strings_only() -> None:
    tree = ast.parse((ROOT / "rif_plugins" / "registry.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["from __future__ import annotations"]


def test_the_three_recipes_have_the_names_of_the_interface() -> None:
    assert {"rifair-robust-biased", "rifair-unrobust-fair", "rifair-unrobust-biased"} <= set(
        registry.ATTACK_RECIPES
    )


@pytest.mark.parametrize(("table", "name"), NAMES)
def test_host_resolves_every_name_the_way_textattack_does(
    textattack: types.SimpleNamespace, classes: types.ModuleType, table: str, name: str
) -> None:
    host.register()
    path = entries(textattack, table)[name]
    found = eval(path, {"textattack": textattack.modules["textattack"]})
    assert found is getattr(classes, TABLES[table][1][name].partition(":")[2])


def test_textattacks_own_names_stay(textattack: types.SimpleNamespace) -> None:
    host.register()
    for table in TABLES:
        assert entries(textattack, table)["pwws"] == "textattack.attack_recipes.PWWSRen2019"


def test_registering_twice_changes_nothing(textattack: types.SimpleNamespace) -> None:
    assert not host.is_registered()
    host.register()
    assert host.is_registered()
    before = {table: dict(entries(textattack, table)) for table in TABLES}
    log_summary, main = (
        textattack.manager.log_summary,
        textattack.modules["textattack.commands.textattack_cli"].main,
    )
    host.register()
    assert before == {table: dict(entries(textattack, table)) for table in TABLES}
    assert textattack.manager.log_summary is log_summary
    assert textattack.modules["textattack.commands.textattack_cli"].main is main


def test_a_foreign_name_is_left_alone(textattack: types.SimpleNamespace) -> None:
    textattack.args.ATTACK_RECIPE_NAMES["rifair-unrobust-fair"] = "somebody.elses.Recipe"
    with pytest.warns(UserWarning, match=r"left alone in TextAttack.*: rifair-unrobust-fair$"):
        host.register()
    assert textattack.args.ATTACK_RECIPE_NAMES["rifair-unrobust-fair"] == "somebody.elses.Recipe"
    assert "rifair-robust-biased" in textattack.args.ATTACK_RECIPE_NAMES
    assert not host.is_registered()


def test_a_foreign_class_is_left_alone(textattack: types.SimpleNamespace) -> None:
    foreign = type("DecoupledPairSearch", (), {})
    textattack.modules["textattack.search_methods"].DecoupledPairSearch = foreign
    with pytest.warns(UserWarning, match="rif-decoupled"):
        host.register()
    assert textattack.modules["textattack.search_methods"].DecoupledPairSearch is foreign
    assert "rif-decoupled" not in textattack.args.SEARCH_METHOD_CLASS_NAMES


def test_a_module_getattr_of_the_host_still_answers(textattack: types.SimpleNamespace) -> None:
    home = textattack.modules["textattack.attack_recipes"]
    home.__getattr__ = lambda name: f"theirs: {name}"
    host.register()
    assert home.Something == "theirs: Something"


def test_an_unknown_attribute_is_still_an_error(textattack: types.SimpleNamespace) -> None:
    host.register()
    with pytest.raises(AttributeError, match=r"'textattack\.attack_recipes' has no attribute 'Nothing'"):
        _ = textattack.modules["textattack.attack_recipes"].Nothing


def test_another_textattack_is_refused_by_name(textattack: types.SimpleNamespace) -> None:
    del textattack.args.CONSTRAINT_CLASS_NAMES
    with pytest.raises(RIFError, match=r"no dictionary CONSTRAINT_CLASS_NAMES.*install textattack 0\.3\.11"):
        host.register()


def test_the_summary_gets_a_second_table(
    textattack: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["Target:", "robust_biased"], ["RIF rate:", "75.0%"], ["Pairs:", 8]]
    seen: list[Any] = []

    def make(results: list[Any]) -> list[list[Any]]:
        seen.append(results)
        return rows

    summary(monkeypatch, make)
    host.register()
    stdout, file, as_json, wandb = (
        FileLogger(stdout=True),
        FileLogger(),
        JsonSummaryLogger(),
        WeightsAndBiasesLogger(),
    )
    manager = textattack.manager(as_json, wandb, stdout, file)
    manager.results = ["a result"]
    manager.log_summary()
    assert seen == [["a result"]]
    assert [title for title, _ in stdout.tables] == ["Attack Results", "RIF Results"]
    assert stdout.tables[1][1] == file.tables[1][1] == rows
    assert list(as_json.json_dictionary["RIF Results"].items()) == [
        ("Target:", "robust_biased"),
        ("RIF rate:", 75.0),
        ("Pairs:", 8.0),
    ]
    assert wandb.tables[1] == ("RIF Results", [["RIF rate:", 75.0], ["Pairs:", 8.0]])
    assert rows[1] == ["RIF rate:", "75.0%"]
    assert (stdout.written, file.written) == ("\n", "")


@pytest.mark.parametrize("made", [None, []])
def test_ordinary_results_get_no_second_table(
    textattack: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, made: list[Any] | None
) -> None:
    summary(monkeypatch, lambda results: made)
    host.register()
    log = FileLogger(stdout=True)
    manager = textattack.manager(log)
    manager.results = ["a result"]
    manager.log_summary()
    assert [title for title, _ in log.tables] == ["Attack Results"]


def test_a_broken_summary_does_not_break_the_run(
    textattack: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(results: list[Any]) -> None:
        raise ZeroDivisionError("no pairs")

    summary(monkeypatch, make)
    host.register()
    manager = textattack.manager(FileLogger())
    manager.results = ["a result"]
    manager.log_summary()
    assert "the RIF summary could not be made (ZeroDivisionError: no pairs)" in capsys.readouterr().err


class Manager:
    """A log manager that counts its flushes, and fails at them when told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.flushed = 0

    def flush(self) -> None:
        self.flushed += 1
        if self.error is not None:
            raise self.error


class StoppedError(Exception):
    """Ends a run early."""


def stop() -> None:
    raise StoppedError


def test_a_run_that_ends_early_writes_its_logs(textattack: types.SimpleNamespace) -> None:
    host.register()
    attacker = textattack.modules["textattack"].Attacker
    manager = Manager()
    with pytest.raises(StoppedError):
        attacker(stop, manager).attack_dataset()
    assert manager.flushed == 1
    assert attacker(lambda: ["result"], manager).attack_dataset() == ["result"]
    assert manager.flushed == 1
    with pytest.raises(StoppedError):
        attacker(stop, None).attack_dataset()


@pytest.mark.parametrize(
    ("home", "is_refused"), [("rif_plugins.text.goal_functions", True), ("theirs", False)]
)
def test_our_goals_refuse_an_empty_data_set(
    textattack: types.SimpleNamespace, home: str, is_refused: bool
) -> None:
    host.register()
    attacker = textattack.modules["textattack"].Attacker(list, Manager())
    attacker.dataset = []
    goal = type("Goal", (), {"__module__": home})()
    attacker.attack = types.SimpleNamespace(goal_function=goal)
    if is_refused:
        with pytest.raises(DataError, match=r"the data set has no examples, expected one or more"):
            attacker.attack_dataset()
    else:
        assert attacker.attack_dataset() == []


def test_logs_that_cannot_be_written_do_not_hide_the_error(
    textattack: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    host.register()
    manager = Manager(PermissionError("out.csv"))
    with pytest.raises(StoppedError):
        textattack.modules["textattack"].Attacker(stop, manager).attack_dataset()
    assert "the log files could not be written (PermissionError: out.csv)" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "  ", "42 !"])
def test_a_text_without_letters_has_no_language(textattack: types.SimpleNamespace, text: str) -> None:
    host.register()
    printing = textattack.modules["textattack.attack_results.attack_result"]
    assert printing.detect(text) == "unknown"
    assert printing.detect("two words") == "en"


def raise_wrapped() -> None:
    """As TextAttack does with whatever a user's file raises."""
    try:
        raise DataError("data.csv: no column 'text'")
    except Exception:
        raise ValueError("Failed to import file data.py")  # noqa: B904


def test_our_error_behind_a_host_error_is_one_line_and_code_2(
    textattack: types.SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    textattack.modules["textattack.commands.textattack_cli"].main = raise_wrapped
    host.register()
    assert host.run_command_line(["attack"]) == 2
    assert capsys.readouterr().err == "rif-plugins: data.csv: no column 'text'\n"


def test_an_error_of_somebody_else_passes(textattack: types.SimpleNamespace) -> None:
    def main() -> None:
        raise ValueError("theirs")

    textattack.modules["textattack.commands.textattack_cli"].main = main
    host.register()
    with pytest.raises(ValueError, match=r"^theirs$"):
        host.run_command_line(["attack"])


@pytest.mark.parametrize(("code", "expected"), [(None, 0), (0, 0), (3, 3), ("a message", 1)])
def test_exit_codes_of_the_host_are_kept(
    textattack: types.SimpleNamespace, code: object, expected: int
) -> None:
    seen: list[list[str]] = []

    def main() -> None:
        seen.append(list(sys.argv))
        raise SystemExit(code)

    textattack.modules["textattack.commands.textattack_cli"].main = main
    before = list(sys.argv)
    assert host.run_command_line(["attack", "--num-examples", "3"]) == expected
    assert seen == [["textattack", "attack", "--num-examples", "3"]]
    assert sys.argv == before
