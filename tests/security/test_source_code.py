"""What no file of the package may do: run text as code, unpickle, start programs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "rif_plugins"
TREES = {
    str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}
# Modules that build objects out of bytes, or start programs.
MODULES = {
    *("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle"),
    *("subprocess", "pty", "popen2", "commands", "code", "codeop", "ctypes", "cffi", "yaml", "sh", "pexpect"),
    *("xmlrpc", "telnetlib", "ftplib", "smtplib"),
}
BUILTINS = {"eval", "exec", "compile", "__import__", "input", "breakpoint"}
METHODS = {
    *(
        "system",
        "popen",
        "spawnl",
        "spawnv",
        "spawnvp",
        "execv",
        "execve",
        "execvp",
        "execl",
        "fork",
        "startfile",
    ),
    *("read_pickle", "to_pickle", "literal_eval", "from_pickle"),
}
# The file of --model is a program that the user runs; the start-up file hands on the import of the host.
MAY_RUN_MODULES = {"victims/python_file.py", "autoload.py"}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def problems(tree: ast.AST, name: str = "x.py") -> list[str]:
    found = []
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        found += [f"line {node.lineno}: imports {n}" for n in names if n.partition(".")[0] in MODULES]
    for call in calls(tree):
        function, keywords = call.func, {keyword.arg: keyword.value for keyword in call.keywords}
        where = f"line {call.lineno}"
        if isinstance(function, ast.Name) and function.id in BUILTINS:
            found.append(f"{where}: calls {function.id}")
        if isinstance(function, ast.Attribute):
            owner = ast.unparse(function.value)
            if function.attr in METHODS:
                found.append(f"{where}: calls {owner}.{function.attr}")
            if function.attr == "load" and owner in ("torch", "numpy", "np"):
                safe = "weights_only" if owner == "torch" else "allow_pickle"
                value = keywords.get(safe)
                if not isinstance(value, ast.Constant) or value.value is not (owner == "torch"):
                    found.append(f"{where}: calls {owner}.load without {safe}")
            if function.attr in ("exec_module", "load_module", "run_path") and name not in MAY_RUN_MODULES:
                found.append(f"{where}: calls {owner}.{function.attr}")
            is_remote = (
                function.attr == "from_pretrained" and None not in keywords
            )  # `**options` is looked at there
            if is_remote and "trust_remote_code" not in keywords:
                found.append(f"{where}: {owner}.from_pretrained leaves trust_remote_code open")
        for flag in ("shell", "trust_remote_code", "allow_pickle"):
            value = keywords.get(flag)
            if value is not None and not (isinstance(value, ast.Constant) and value.value is False):
                found.append(f"{where}: passes {flag}={ast.unparse(value)}")
    return found


@pytest.mark.parametrize("name", TREES)
def test_no_file_runs_text_or_unpickles(name: str) -> None:
    assert problems(TREES[name], name) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import subprocess as s",
        "eval('1')",
        "exec(text)",
        "import os\nos.system('ls')",
        "os.popen(x)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "pandas.read_pickle(path)",
        "AutoModel.from_pretrained(name)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
        "run(command, shell=True)",
        "spec.loader.exec_module(module)",
    ],
)
def test_the_look_finds_what_it_looks_for(source: str) -> None:
    assert problems(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()",
        "re.compile('x')",
        "np.load(path, allow_pickle=False)",
        "torch.load(path, weights_only=True)",
        "AutoModel.from_pretrained(name, trust_remote_code=False)",
        "AutoModel.from_pretrained(name, **safely)",
    ],
)
def test_the_look_leaves_alone_what_is_fine(source: str) -> None:
    assert problems(ast.parse(source)) == []


def test_the_walk_sees_the_package() -> None:
    assert len(TREES) > 150
    assert "victims/python_file.py" in TREES
