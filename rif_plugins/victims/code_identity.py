"""What a function, class or module does, as a digest: its compiled code and all that the code refers to.

Code of installed packages counts as the package's version and file list; everything else is followed into
closures, defaults and global names. Comments, line numbers and the name of the file do not matter.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

_NOT_PART_OF_A_CLASS = {
    "__module__", "__dict__", "__weakref__", "__doc__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__abstractmethods__", "_abc_impl",
    "__firstlineno__", "__static_attributes__",
    "__parameters__", "__orig_bases__", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
    "_is_protocol", "_is_runtime_protocol", "__protocol_attrs__", "__non_callable_proto_members__",
    "__qualname__", "__classcell__", "__hash__",
}  # fmt: skip


# Who asks another program through these does not hold the model that answers.
_REMOTE = {
    "aiohttp", "anthropic", "boto3", "grpc", "http.client", "httpx", "litellm", "ollama", "openai",
    "requests", "socket", "subprocess", "urllib.request", "urllib3", "websocket", "websockets",
}  # fmt: skip


_CYTHON = "cython_function_or_method"


class UnknownIdentityError(Exception):
    """There is no telling whether this object is the same as another one."""


class Walk(Protocol):
    """Gives digests of values; ``name`` says what the value is to its owner, for the reason of a failure."""

    def digest(self, value: Any, name: str = "") -> bytes:
        """The digest of a value.

        Raises:
            UnknownIdentityError: It has none.
        """
        ...


def joined(*parts: bytes) -> bytes:
    """One digest of several byte strings."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def text(*parts: object) -> bytes:
    """One digest of several texts."""
    return joined(*(str(part).encode("utf-8", "surrogatepass") for part in parts))


def library(module: Any) -> str | None:
    """Version and file list of the installed package that a module belongs to; None for other code.

    Raises:
        UnknownIdentityError: The package asks other programs, whose model nobody can see from here.
    """
    if not isinstance(module, str):  # types that Cython makes name none
        return None
    root = module.partition(".")[0]
    if module in _REMOTE or root in _REMOTE:
        raise UnknownIdentityError(f"a call of another program through {module}")
    return _package(root)


@functools.lru_cache(maxsize=1024)
def _package(root: str) -> str | None:
    if root in sys.stdlib_module_names or root in sys.builtin_module_names:
        return "python " + sys.version
    if not root or root == "__main__" or not _is_installed(root):
        return None
    try:
        package = importlib.metadata.distribution(root)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(root)
        if not names:
            return None
        package = importlib.metadata.distribution(names[0])
    files = package.read_text("RECORD") or ""
    return f"{root} {package.version} {hashlib.blake2b(files.encode(), digest_size=16).hexdigest()}"


def _is_installed(root: str) -> bool:
    found = sys.modules.get(root)
    place = getattr(found, "__file__", None) or next(iter(getattr(found, "__path__", ())), None)
    if found is None:
        try:
            spec = importlib.util.find_spec(root)
        except (ImportError, ValueError):
            return False
        place = spec.origin if spec is not None else None
    if place is None:
        return False
    folder = Path(place).resolve()
    homes = (Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib"))
    return any(folder.is_relative_to(home) for home in homes) or "dist-packages" in folder.parts


def named(kind: str, value: Any, origin: str) -> bytes:
    """The digest of something that a library defines: name and library."""
    return text(kind, origin, getattr(value, "__module__", ""), getattr(value, "__qualname__", repr(value)))


def function_digest(function: types.FunctionType, walk: Walk) -> bytes:
    """Code, defaults, closure, attributes and the global names that the code reads."""
    cells = []
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:  # not assigned yet
            cells.append(b"")
        else:
            cells.append(walk.digest(content, f"closure {name}"))
    origin = library(function.__module__)
    if origin is not None:
        return joined(named("function", function, origin), *cells)
    return joined(
        b"function",
        _code_digest(function.__code__, walk),
        walk.digest((function.__defaults__, function.__kwdefaults__, vars(function)), "defaults"),
        *cells,
        *_referred(function, walk),
    )


def _code_digest(code: types.CodeType, walk: Walk) -> bytes:
    constants = (
        _code_digest(each, walk) if isinstance(each, types.CodeType) else walk.digest(each, "constant")
        for each in code.co_consts
    )
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    handlers = getattr(code, "co_exceptiontable", b"")
    return joined(code.co_code, handlers, text(sys.version, counts, names), *constants)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _referred(function: types.FunctionType, walk: Walk) -> Iterator[bytes]:
    """Digests of the globals and modules that the code names, nested functions included."""
    read: dict[str, None] = {}
    imported: dict[str, None] = {}
    attributes: dict[str, None] = {}
    for code in _codes(function.__code__):
        attributes.update(dict.fromkeys(code.co_names))
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read[str(step.argval)] = None
            elif step.opname == "IMPORT_NAME":
                imported[str(step.argval)] = None
    for name in read:
        if name in function.__globals__:
            value = function.__globals__[name]
            yield text(name)
            if isinstance(value, types.ModuleType):
                yield module_digest(value, attributes, walk)
            else:
                yield walk.digest(value, f"global {name}")
    for name in imported:
        yield text(name)
        yield _import_digest(name, function.__globals__.get("__package__"), attributes, walk)


def _import_digest(name: str, package: str | None, attributes: Iterable[str], walk: Walk) -> bytes:
    origin = library(name)
    if origin is not None:
        return text("module", origin, name)
    parents = (package or "").split(".")
    places = [name, *(".".join([*parents[:n], name]).strip(".") for n in range(len(parents), 0, -1))]
    module = next((sys.modules[place] for place in places if place in sys.modules), None)
    if module is None:
        raise UnknownIdentityError(f"a function that imports {name or 'a module'} when it is called")
    return module_digest(module, attributes, walk)


def module_digest(module: types.ModuleType, attributes: Iterable[str], walk: Walk) -> bytes:
    """A library's name and version; of other modules the attributes that the code may mean."""
    origin = library(module.__name__)
    if origin is not None:
        for name in attributes:  # urllib.request, http.client
            library(f"{module.__name__}.{name}")
        return text("module", origin, module.__name__)
    parts = []
    for name in attributes:
        if name in vars(module):
            value = vars(module)[name]
            is_module = isinstance(value, types.ModuleType)
            parts.append(text(name))
            parts.append(
                module_digest(value, [a for a in attributes if a != name], walk)
                if is_module
                else walk.digest(value, f"{module.__name__}.{name}")
            )
    return joined(b"module", *parts)


def class_digest(kind: type, walk: Walk) -> bytes:
    """A library's class by name and version; of others the bases and all that the class body defines."""
    origin = library(kind.__module__)
    if origin is not None:
        return named("class", kind, origin)
    parts = [text("class", kind.__qualname__), walk.digest(kind.__mro__[1:], "bases")]
    if type(kind) is not type:
        parts.append(walk.digest(type(kind), "metaclass"))
    for name in sorted(vars(kind)):
        if name not in _NOT_PART_OF_A_CLASS:
            parts += [text(name), _member_digest(vars(kind)[name], name, walk)]
    return joined(*parts)


def _member_digest(member: Any, name: str, walk: Walk) -> bytes:
    if isinstance(member, (staticmethod, classmethod)):
        return joined(text(type(member).__name__), walk.digest(member.__func__, name))
    if isinstance(member, property):
        return walk.digest((member.fget, member.fset), name)
    if isinstance(member, functools.cached_property):
        return walk.digest(member.func, name)
    if inspect.isdatadescriptor(member) and not hasattr(member, "__dict__"):
        return text(type(member).__name__)  # a slot
    return walk.digest(member, name)


def is_code(value: Any) -> bool:
    """True for functions, methods, classes, modules and what wraps a function."""
    return type(value).__name__ == _CYTHON or isinstance(
        value,
        (
            type,
            types.FunctionType,
            types.MethodType,
            types.BuiltinFunctionType,
            types.ModuleType,
            types.MethodWrapperType,
            types.WrapperDescriptorType,
            types.MethodDescriptorType,
            types.ClassMethodDescriptorType,
            functools.partial,
            functools.partialmethod,
            functools._lru_cache_wrapper,
        ),
    )


def code_digest(value: Any, walk: Walk) -> bytes:
    """The digest of anything for which ``is_code`` holds."""
    if isinstance(value, type):
        return class_digest(value, walk)
    if isinstance(value, types.FunctionType):
        return function_digest(value, walk)
    if isinstance(value, types.MethodType):
        return joined(b"method", walk.digest(value.__func__, ""), walk.digest(value.__self__, "self"))
    if isinstance(value, types.ModuleType):
        origin = library(value.__name__)
        if origin is None:
            raise UnknownIdentityError(f"the module {value.__name__}")
        return text("module", origin, value.__name__)
    if isinstance(value, (functools.partial, functools.partialmethod)):
        return joined(b"partial", walk.digest((value.func, value.args, value.keywords), "partial"))
    if isinstance(value, functools._lru_cache_wrapper):
        return walk.digest(value.__wrapped__, "")
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        return joined(text("method", value.__name__), walk.digest(owner, "self"))
    kind = getattr(value, "__objclass__", owner)
    module = getattr(value, "__module__", None) or getattr(kind, "__module__", None)
    return text("builtin", library(module) or module, getattr(value, "__qualname__", repr(value)))
