from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from rif_plugins import cache
from rif_plugins.cache import CacheWarning, SQLiteStore, default_folder, open_store
from rif_plugins.cache.store import FILE_NAME
from rif_plugins.core.stores import PredictionStore, text_keys
from rif_plugins.errors import UsageError


def keys(n: int, prefix: str = "text") -> list[bytes]:
    return text_keys([f"{prefix} {i}" for i in range(n)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "cache") as opened:
        yield opened


def raw(store: SQLiteStore) -> sqlite3.Connection:
    return sqlite3.connect(store.file, isolation_level=None)


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True)


def test_values_come_back_in_order_and_outlive_the_store(store: SQLiteStore) -> None:
    first, second, third = keys(3)
    store.set_many({first: b"one", second: b""})
    assert store.get_many([second, third, first, first]) == [b"", None, b"one", b"one"]
    store.close()
    with SQLiteStore(store.folder) as again:
        assert again.get_many([second, third, first]) == [b"", None, b"one"]
        again.set_many({first: b"two"})
    assert store.get_many([first]) == [b"two"]
    assert store.get_many([]) == []
    assert isinstance(store, PredictionStore)


def test_a_store_that_is_left_open_ends_a_program_in_silence(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rif_plugins.cache.store import SQLiteStore\n"
        "store = SQLiteStore(Path(sys.argv[1]))\n"
        "store.get_many([b'a' * 16])\n"
        "store.cycle = store\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_thousands_of_keys(store: SQLiteStore) -> None:
    values = {key: b"%d" % i for i, key in enumerate(keys(5001))}
    store.set_many(values)
    store.close()
    for n in (1, 2, 255, 256, 257, 5001):
        asked = list(values)[:n]
        assert store.get_many(asked) == [values[key] for key in asked]


def test_texts_are_not_on_the_disk(store: SQLiteStore) -> None:
    store.set_many(dict.fromkeys(text_keys(["the patient is Mary Smith"]), b"value on disk"))
    store.close()
    content = b"".join(file.read_bytes() for file in store.folder.iterdir())
    assert b"value on disk" in content and b"Mary" not in content
    assert store.folder.stat().st_mode & 0o077 == 0


class Planted:
    """Unpickling this makes a file."""

    path = ""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (type(self).path,))


def test_a_planted_pickle_is_never_loaded(store: SQLiteStore, tmp_path: Path) -> None:
    Planted.path = str(tmp_path / "planted")
    payload = pickle.dumps(Planted())
    asked = keys(4)
    store.set_many(dict.fromkeys(asked, b"right"))
    store.close()
    connection = raw(store)
    numbers = [int.from_bytes(key[:8], "little", signed=True) for key in asked]
    for number, value in zip(numbers, [payload, payload.hex(), 7, b""], strict=True):
        connection.execute("UPDATE young SET value = ? WHERE id = ?", (value, number))
    connection.close()
    assert store.get_many(asked) == [None] * 4
    assert not Path(Planted.path).exists()
    assert not store.is_broken
    # The pickle is a working one.
    pickle.loads(payload)
    assert Path(Planted.path).exists()


def test_no_module_that_unpickles_is_used() -> None:
    unpickling = {"pickle", "_pickle", "shelve", "marshal", "joblib", "diskcache"}
    for module in (cache, cache.store, cache.sqlite_file):
        assert unpickling.isdisjoint(vars(module))


@pytest.mark.parametrize("place", [0, 3, 4, 7])
def test_a_flipped_bit_is_a_miss(store: SQLiteStore, place: int) -> None:
    (key,) = keys(1)
    store.set_many({key: b"value"})
    store.close()
    connection = raw(store)
    ((value,),) = connection.execute("SELECT value FROM young").fetchall()
    broken = bytes(byte ^ (4 if i == place else 0) for i, byte in enumerate(value))
    connection.execute("UPDATE young SET value = ?", (broken,))
    connection.close()
    assert store.get_many([key]) == [None]
    store.set_many({key: b"value"})
    assert store.get_many([key]) == [b"value"]


def test_keys_that_share_their_number_are_told_apart(store: SQLiteStore) -> None:
    (key,) = keys(1)
    other = key[:8] + bytes(8)
    store.set_many({key: b"value"})
    store.close()
    assert store.get_many([other, key]) == [None, b"value"]


def n_rows(store: SQLiteStore) -> int:
    connection = raw(store)
    counts = [connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in ("young", "old")]
    connection.close()
    return sum(counts)


def fill(store: SQLiteStore, prefix: str, n: int, step: int = 500) -> None:
    wanted = keys(n, prefix)
    for start in range(0, n, step):
        store.set_many(dict.fromkeys(wanted[start : start + step], bytes(60)))
        store.close()


def test_the_size_is_capped_and_what_was_used_stays(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path, max_bytes=2**20)
    fill(store, "dear", 10)
    for round_ in range(12):
        fill(store, f"filling {round_}", 2500)
        assert store.get_many(keys(10, "dear")) == [bytes(60)] * 10
        store.close()
        assert store.file.stat().st_size <= 2**20
    assert store.get_many(keys(10, "filling 0")) == [None] * 10
    assert store.get_many(keys(2500, "filling 11")).count(None) == 0
    assert 3000 < n_rows(store) < 12_000


def test_a_smaller_cap_shrinks_the_file(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path, max_bytes=2**23)
    fill(store, "old", 30_000, step=10_000)
    before = store.file.stat().st_size
    assert before > 2**21
    store = SQLiteStore(tmp_path, max_bytes=2**19)
    fill(store, "new", 1000)
    fill(store, "newer", 100)
    assert store.file.stat().st_size <= 2**19
    assert store.get_many(keys(100, "newer")).count(None) == 0


WRITER = """
import sys
from pathlib import Path
from rif_plugins.cache import SQLiteStore
from rif_plugins.core.stores import text_keys
import warnings
warnings.simplefilter("error")
store = SQLiteStore(Path(sys.argv[1]))
own = text_keys([f"{sys.argv[2]} {i}" for i in range(1000)])
shared = text_keys([f"shared {i}" for i in range(1000)])
for start in range(0, 1000, 50):
    store.set_many({key: sys.argv[2].encode() for key in own[start : start + 50]})
    store.set_many({key: b"shared" for key in shared[start : start + 50]})
    assert store.get_many(own[start : start + 50]).count(None) == 0
    store.close()
assert set(store.get_many(shared)) == {b"shared"}
"""


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    started = [run(WRITER, str(tmp_path / "cache"), f"process{i}") for i in range(4)]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, "")
    store = SQLiteStore(tmp_path / "cache")
    for i in range(4):
        assert set(store.get_many(keys(1000, f"process{i}"))) == {b"process%d" % i}
    assert n_rows(store) == 5000


def test_the_end_of_a_process_writes_what_is_left(tmp_path: Path) -> None:
    script = WRITER.partition("for start")[0] + "store.set_many(dict.fromkeys(own, b'late'))"
    process = run(script, str(tmp_path), "left")
    assert (process.communicate(timeout=60)[1], process.returncode) == ("", 0)
    assert SQLiteStore(tmp_path).get_many(keys(1000, "left")) == [b"late"] * 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_opens_its_own_connection(tmp_path: Path) -> None:
    script = WRITER.partition("for start")[0] + (
        "import os\n"
        "store.set_many({own[0]: b'parent'}); store.get_many(own)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    inherited = store._connection\n"
        "    store.set_many({own[1]: b'child'}); store.close()\n"
        "    is_own = store.get_many(own[:2]) == [None, b'child'] and store._connection is not inherited\n"
        "    os._exit(0 if is_own else 1)\n"
        "status = os.waitpid(child, 0)[1]\n"
        "sys.exit(status or store.get_many(own[:2]) != [b'parent', b'child'])\n"
    )
    process = run(script, str(tmp_path), "fork")
    assert process.communicate(timeout=60)[1] == "" and process.returncode == 0


def test_threads_share_a_store(store: SQLiteStore) -> None:
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for _ in range(5):
                fill(store, name, 50, step=10)
                assert store.get_many(keys(50, name)) == [bytes(60)] * 50
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def is_without_effect(store: SQLiteStore) -> bool:
    """After its one warning a store takes and gives nothing, and says nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.set_many(dict.fromkeys(keys(3), b"x"))
        is_empty = store.get_many(keys(3)) == [None] * 3
        store.close()
    return is_empty and store.is_broken


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"this is no database at all" * 100)
    store = SQLiteStore(tmp_path)
    with pytest.warns(
        CacheWarning, match=r"answers-1\.sqlite cannot be used \(file is not a database\).*delete"
    ):
        assert store.get_many(keys(3)) == [None] * 3
    assert is_without_effect(store)


def test_a_damaged_database(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    fill(store, "text", 2000, step=2000)
    content = bytearray(store.file.read_bytes())
    content[4096 * 4 :] = b"\xa5" * (len(content) - 4096 * 4)
    store.file.write_bytes(content)
    with pytest.warns(CacheWarning, match="the run goes on without it"):
        found = store.get_many(keys(2000))
    assert set(found) <= {None, bytes(60)}
    assert is_without_effect(store)


def test_a_database_with_other_tables(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("CREATE VIEW young AS SELECT 1 AS id, 2 AS other")
    connection.close()
    store = SQLiteStore(tmp_path)
    store.set_many(dict.fromkeys(keys(3), b"x"))
    with pytest.warns(CacheWarning, match="cannot be used"):
        store.close()
    assert is_without_effect(store)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = SQLiteStore(tmp_path / "file" / "cache")
    with pytest.warns(CacheWarning, match=r"cannot be used \(Not a directory\)"):
        assert store.get_many(keys(1)) == [None]
    assert is_without_effect(store)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    store = SQLiteStore(tmp_path)
    with pytest.warns(CacheWarning, match="unable to open"):
        assert store.get_many(keys(1)) == [None]
    tmp_path.chmod(0o700)


def test_a_full_disk(tmp_path: Path) -> None:
    script = """
import resource, sys, warnings
from pathlib import Path
from rif_plugins.cache import SQLiteStore
from rif_plugins.core.stores import text_keys
store = SQLiteStore(Path(sys.argv[1]))
few, many = text_keys(["a"]), text_keys([f"text {i}" for i in range(20000)])
store.set_many({few[0]: b"few"}); store.close(); store.get_many(few)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    store.set_many(dict.fromkeys(many, b"x" * 50)); store.close()
    answers = store.get_many(many)
assert answers == [None] * 20000, "no answers"
assert len(caught) == 1 and "the run goes on without it" in str(caught[0].message), caught
print(caught[0].message, file=sys.stderr)
"""
    process = run(script, str(tmp_path))
    _, message = process.communicate(timeout=60)
    assert process.returncode == 0, message
    assert "disk" in message


def test_keys_of_another_size_are_refused(store: SQLiteStore) -> None:
    for wrong in ([b"short"], [b"short", bytes(27)]):
        with pytest.raises(UsageError, match="must have 16 bytes"):
            store.get_many(wrong)
    with pytest.raises(UsageError, match="must have 16 bytes"):
        store.set_many({b"short": b""})


def test_a_store_pickles_as_its_settings(store: SQLiteStore) -> None:
    (key,) = keys(1)
    store.set_many({key: b"value"})
    store.close()
    copy = pickle.loads(pickle.dumps(store))
    assert copy.get_many([key]) == [b"value"]
    assert (copy.folder, copy.max_bytes) == (store.folder, store.max_bytes)
    copy.close()


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache.sys, "platform", "linux")
    home = {"HOME": str(tmp_path)}
    assert default_folder(home) == tmp_path / ".cache/rif-plugins"
    assert default_folder({**home, "XDG_CACHE_HOME": "relative"}) == tmp_path / ".cache/rif-plugins"
    assert default_folder({**home, "XDG_CACHE_HOME": "/x"}) == Path("/x/rif-plugins")
    assert default_folder({**home, "XDG_CACHE_HOME": "/x", "RIF_CACHE_DIR": "/y/z"}) == Path("/y/z")
    monkeypatch.setattr(cache.sys, "platform", "darwin")
    assert default_folder(home) == tmp_path / "Library/Caches/rif-plugins"


def test_open_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert open_store(cache="off") is None
    monkeypatch.setenv("RIF_CACHE_DIR", str(tmp_path / "here"))
    opened = open_store(size=3)
    assert opened is not None and (opened.folder, opened.max_bytes) == (tmp_path / "here", 3 * 2**20)
    assert open_store(folder=tmp_path).folder == tmp_path  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="cache must be on or off, got 'yes'"):
        open_store(cache="yes")
    with pytest.raises(UsageError, match="cache_size must be 1 megabyte or more, got 0"):
        open_store(size=0)


def test_no_home_gives_a_warning_and_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("RIF_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.Path, "home", staticmethod(no_home))
    with pytest.warns(CacheWarning, match="no home folder for the cache: set RIF_CACHE_DIR"):
        assert open_store() is None
