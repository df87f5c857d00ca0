"""The arrows of docs/architecture.md: who may import whom, and a few rules that hold everywhere."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "rif_plugins"
MAX_LINES = 400

BASE = {"errors", "optional", "version"}
CORE = BASE | {"core"}
PARTS = {"similar", "proposers", "entailment", "metrics", "diagnostics", "reports", "tables", "training"}
ENGINE = CORE | PARTS | {"settings", "cache", "victims", "examples", "llm"}
# Layer (a folder or a file of rif_plugins) -> the layers that it may import.
ALLOWED: dict[str, set[str]] = {
    "__init__": CORE | {"runner"},
    "errors": set(),
    "optional": {"errors"},
    "registry": set(),
    "version": set(),
    "autoload": {"registry"},
    "settings": BASE,
    "core": BASE,
    "cache": CORE,
    "llm": CORE,
    "victims": CORE | {"llm"},
    "examples": CORE,
    **dict.fromkeys(PARTS, CORE),
    "proposers": CORE | {"llm"},
    "diagnostics": CORE | {"llm"},
    "text": ENGINE | {"registry", "autoload"},
    "tabular": ENGINE,
    "runner": ENGINE | {"text", "tabular"},
    "cli": ENGINE | {"text", "tabular", "runner", "registry", "autoload", "__init__"},
}
# Third-party packages that only some layers may import at all.
HOSTS = {"textattack": {"text"}, "art": {"tabular"}}
# What may be imported when a module loads; anything else must wait until it is needed.
EAGER = {
    "text": {"numpy", "textattack", "torch", "transformers"},
    "tabular": {"numpy", "art"},
    **{layer: {"numpy"} for layer in (*PARTS, "core", "cache", "llm", "victims", "runner")},
}
# Layers that never import more than the standard library and numpy, not even late.
PURE = {
    "core": {"numpy"},
    "errors": set(),
    "optional": set(),
    "registry": set(),
    "autoload": set(),
    "version": set(),
}


@dataclass(frozen=True)
class Arrow:
    """One import statement: from which module, to which, and whether loading the module runs it."""

    source: str
    target: str
    line: int
    is_eager: bool

    def __str__(self) -> str:
        return f"{self.source}:{self.line} -> {self.target}"


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def arrows_of(tree: ast.Module, module: str, known: set[str]) -> Iterator[Arrow]:
    """All imports of a module; `from package import module` points at the module where there is one."""

    def walk(node: ast.AST, is_eager: bool) -> Iterator[Arrow]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            is_eager = False
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            is_eager = False
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Arrow(module, name.name, node.lineno, is_eager)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: relative import"
            for name in node.names:
                longer = f"{node.module}.{name.name}"
                yield Arrow(module, longer if longer in known else str(node.module), node.lineno, is_eager)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, is_eager)

    yield from walk(tree, True)


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


TREES = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in MODULES.items()}
ARROWS = [arrow for module, tree in TREES.items() for arrow in arrows_of(tree, module, set(MODULES))]
INTERNAL = [arrow for arrow in ARROWS if arrow.target.split(".")[0] == PACKAGE]
EXTERNAL = [
    arrow
    for arrow in ARROWS
    if arrow.target.split(".")[0] not in {PACKAGE, "__future__", *sys.stdlib_module_names}
]


def test_the_walk_sees_the_package() -> None:
    assert {"rif_plugins", "rif_plugins.errors", "rif_plugins.core.pairs"} <= MODULES.keys()
    assert len(INTERNAL) > 20


def test_imports_are_recognised() -> None:
    source = "import a.b\nfrom rif_plugins import errors\n"
    source += "if TYPE_CHECKING:\n    import c\ndef f():\n    import d\n"
    found = list(arrows_of(ast.parse(source), "m", {"rif_plugins.errors"}))
    assert [(a.target, a.is_eager) for a in found] == [
        ("a.b", True),
        ("rif_plugins.errors", True),
        ("c", False),
        ("d", False),
    ]


def test_every_layer_is_in_the_table() -> None:
    assert {layer_of(module) for module in MODULES} - ALLOWED.keys() == set()


def test_no_forbidden_arrow() -> None:
    forbidden = [
        str(arrow)
        for arrow in INTERNAL
        if (target := layer_of(arrow.target)) != (source := layer_of(arrow.source))
        and target not in ALLOWED[source]
    ]
    assert forbidden == []


def test_the_table_of_layers_has_no_cycle() -> None:
    # `__init__` re-exports and `cli` reads the version from it; both are leaves of the picture.
    graph = {layer: targets - {"__init__"} for layer, targets in ALLOWED.items()}
    assert find_cycle(graph) == []


def test_no_cycle_between_modules() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for arrow in INTERNAL:
        if arrow.is_eager and arrow.target in MODULES and arrow.target != arrow.source:
            graph[arrow.source].add(arrow.target)
    assert find_cycle(graph) == []


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if cycle := visit(target, [*path, node]):
                return cycle
        done.add(node)
        return []

    for start in sorted(graph):
        if cycle := visit(start, []):
            return cycle
    return []


def test_find_cycle_finds_one() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_host_is_imported_in_its_own_layer_only(host: str) -> None:
    wrong = [
        str(arrow)
        for arrow in EXTERNAL
        if arrow.target.split(".")[0] == host and layer_of(arrow.source) not in HOSTS[host]
    ]
    assert wrong == []


def test_heavy_packages_are_imported_late() -> None:
    eager = [
        str(arrow)
        for arrow in EXTERNAL
        if arrow.is_eager and arrow.target.split(".")[0] not in EAGER.get(layer_of(arrow.source), set())
    ]
    assert eager == []


def test_the_core_stays_pure() -> None:
    wrong = [
        str(arrow)
        for arrow in EXTERNAL
        if layer_of(arrow.source) in PURE and arrow.target.split(".")[0] not in PURE[layer_of(arrow.source)]
    ]
    assert wrong == []


def test_files_are_short() -> None:
    long = {m: n for m, path in MODULES.items() if (n := len(path.read_text().splitlines())) > MAX_LINES}
    assert long == {}


FORBIDDEN_CALLS = {
    "eval": "reads code from data",
    "exec": "reads code from data",
    "np.random.seed": "seeds the whole process",
    "numpy.random.seed": "seeds the whole process",
    "random.seed": "seeds the whole process",
    "torch.manual_seed": "seeds the whole process",
}
FORBIDDEN_MODULES = {"pickle", "dill", "shelve", "marshal", "joblib"}


def calls(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            yield ast.unparse(node.func), node.lineno


def test_no_forbidden_call() -> None:
    found = [
        f"{module}:{line}: {name} {FORBIDDEN_CALLS[name]}"
        for module, tree in TREES.items()
        for name, line in calls(tree)
        if name in FORBIDDEN_CALLS
    ]
    assert found == []


def test_nothing_is_unpickled() -> None:
    assert [str(a) for a in EXTERNAL + ARROWS if a.target.split(".")[0] in FORBIDDEN_MODULES] == []


def test_only_the_command_line_prints() -> None:
    found = [
        f"{module}:{line}"
        for module, tree in TREES.items()
        for name, line in calls(tree)
        if name == "print" and layer_of(module) != "cli"
    ]
    assert found == []


def test_no_assert_in_the_package() -> None:
    found = [
        f"{module}:{node.lineno}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
    ]
    assert found == []


def test_recipes_are_thin() -> None:
    for path in sorted((ROOT / "recipes").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= 40, path.name
        assert not [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef)], path.name


def test_nothing_in_the_package_imports_its_users() -> None:
    users = {"recipes", "tests", "benchmarks"}
    assert [str(arrow) for arrow in ARROWS if arrow.target.split(".")[0] in users] == []
