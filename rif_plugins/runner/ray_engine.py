"""Shards on Ray: actors on this machine or on a cluster, a victim and a filter in each.

Ray places the actors, carries shards and records, and notices when an actor or its machine is lost. Order,
back-pressure and doing lost work again are those of all engines (see :mod:`rif_plugins.runner.shards`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from rif_plugins.errors import UsageError
from rif_plugins.optional import require
from rif_plugins.runner.child_process import told
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.shards import Lost, Shard, ShardResult
from rif_plugins.runner.slots import Slot, SlotEngine
from rif_plugins.runner.workers import ShardWorker
from rif_plugins.version import __version__

_PATIENCE = 5.0
_OBJECT_STORE = 100 << 20  # bytes; a shard of texts and its records take some hundred kilobytes
# For 127.0.0.1 Ray would take the machine's address in its network, which others can reach.
_LOOPBACK = "127.0.0.2"
_LOST = {"OutOfMemoryError": "its machine was short of memory", "NodeDiedError": "its machine was lost"}


class RayEngine(SlotEngine["_Actor"]):
    """An engine of Ray actors.

    Args:
        options: What each worker does; its paths must be readable where the actors run.
        n_workers: Actors.
        address: Of a cluster, as ``ray.init`` takes it; None starts one on this machine and ends it.
        make: Makes a worker from the options; a function or class of a module.

    Raises:
        MissingDependencyError: Ray is not installed.
        UsageError: No cluster answers, or it has fewer processors than workers.
    """

    def __init__(
        self,
        options: AuditOptions,
        n_workers: int,
        *,
        address: str | None = None,
        make: Callable[[AuditOptions], Callable[[Shard], ShardResult]] = ShardWorker,
    ) -> None:
        self._ray: Any = require("ray", package="rif-plugins[ray]", purpose="--engine ray")
        # The order of the filter was decided once; a worker must not measure it again.
        self._options = replace(options, filter_first=bool(options.filter_first))
        self._make = make
        super().__init__(n_workers)
        self._cluster = contextlib.ExitStack()
        try:
            # Ray prints what it has to say about lost actors to stdout, where our result stands.
            self._cluster.enter_context(contextlib.redirect_stdout(sys.stderr))
            self._cluster.enter_context(_connected(self._ray, n_workers, address))
            self._resources = _resources(self._ray, n_workers, address, options.device)
            self._start_all()
        except BaseException:
            self.close()
            raise

    def next(self) -> ShardResult | Lost:
        """Wait for a shard.

        Raises:
            RIFError: What a worker raised.
            UsageError: An actor ended while it loaded the victim.
        """
        while True:
            places = {actor.answer: actor for actor in self._slots if actor.answer is not None}
            ready, _ = self._ray.wait(list(places), num_returns=1)
            answer = self._heard(places[ready[0]])
            if answer is not None:
                return answer

    def close(self) -> None:
        """End all actors, and the cluster where it is ours; idempotent."""
        leaving = [
            actor.handle.close.remote() for actor in self._slots if actor.is_ready and actor.shard is None
        ]
        if leaving:
            with suppress(Exception):  # it is ended in any case
                self._ray.wait(leaving, num_returns=len(leaving), timeout=_PATIENCE)
        for actor in self._slots:
            with suppress(Exception):  # the cluster may be gone
                self._ray.kill(actor.handle)
        self._slots = []
        self._cluster.close()

    def _started(self) -> _Actor:
        handle = self._ray.remote(**self._resources, max_restarts=0, max_task_retries=0)(_Remote).remote()
        return _Actor(handle, handle.load.remote(self._make, self._options, __version__))

    def _heard(self, actor: _Actor) -> ShardResult | Lost | None:
        """What an actor answers; None where that is nothing about a shard."""
        exceptions = self._ray.exceptions
        try:
            kind, value = self._ray.get(actor.answer)
        except exceptions.RayTaskError as error:
            line = " ".join(str(error).split())[-300:]
            raise UsageError(f"a Ray actor could not do its work: {line}") from error
        except exceptions.RayError as error:
            with suppress(Exception):  # it is dead already, mostly
                self._ray.kill(actor.handle)
            return self._lost(actor, _LOST.get(type(error).__name__, "its Ray actor ended"))
        actor.answer = None
        return self._answered(actor, kind, value)

    def _unloaded(self, reason: str) -> UsageError:
        return UsageError(
            f"one of {self.n_slots} Ray actors ended while it loaded the victim ({reason}), perhaps for "
            "lack of memory: use fewer workers"
        )


class _Actor(Slot):
    """An actor, seen from here, and what it does."""

    def __init__(self, handle: Any, loading: Any) -> None:
        super().__init__()
        self.handle = handle
        self.answer = loading

    def send(self, shard: Shard) -> None:
        self.answer = self.handle.search.remote(shard)


class _Remote:
    """What runs in an actor. Errors travel as text, since their classes may not be importable elsewhere."""

    def load(self, make: Callable[[AuditOptions], Any], options: AuditOptions, version: str) -> Any:
        """Load victim and filter."""
        if version != __version__:
            message = f"a machine of the cluster has rif-plugins {__version__}, this one {version}"
            return "error", told(UsageError(f"{message}: install the same version on all of them"))
        try:
            self._worker = make(options)
        except Exception as error:
            return "error", told(error)
        return "ready", None

    def search(self, shard: Shard) -> Any:
        """Search a shard."""
        try:
            return "done", self._worker(shard)
        except Exception as error:
            return "error", told(error)

    def close(self) -> None:
        """End what was started."""
        close = getattr(self._worker, "close", None)
        if close is not None:
            close()


@contextmanager
def _connected(ray: Any, n_workers: int, address: str | None) -> Iterator[None]:
    """Join or start a cluster; a connection that this program already has is used, and stays."""
    if ray.is_initialized():
        yield
        return
    folder = None
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        if address is None:
            folder = tempfile.mkdtemp(prefix="rif-ray-")
            _start(ray, n_workers, folder)
        else:
            _join(ray, address)
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():  # Ray puts its own in their place
                signal.signal(number, handler)
        yield
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any, n_workers: int, folder: str) -> None:
    """A cluster on this machine that nobody else can use, with nothing in the user's home."""
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    ray.init(
        address="local",
        num_cpus=n_workers * _processors_a_worker(n_workers),
        include_dashboard=False,
        object_store_memory=_OBJECT_STORE,
        log_to_driver=False,
        configure_logging=False,
        _temp_dir=folder,
        **({"_node_ip_address": _LOOPBACK} if sys.platform == "linux" else {}),
    )


def _join(ray: Any, address: str) -> None:
    # A client's connection (ray://) takes no options of this process.
    options = {} if "://" in address else {"log_to_driver": False, "configure_logging": False}
    try:
        ray.init(address=address, **options)
    except Exception as error:  # of many kinds, by what is wrong with the address
        line = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UsageError(
            f"--ray-address {address}: expected a Ray cluster that answers, got {line}; start "
            "one with `ray start --head`, or leave the address out"
        ) from error


def _processors_a_worker(n_workers: int) -> int:
    return max(1, (os.cpu_count() or 1) // n_workers)


def _resources(ray: Any, n_workers: int, address: str | None, device: str | None) -> dict[str, float]:
    """What Ray sets aside for each actor; it also sets the threads of an actor to its processors."""
    if device is not None and ":" in device:
        raise UsageError(
            f"--device {device} does not go with --engine ray, which deals out the devices: say --device cuda"
        )
    n_cpus = 1 if address is not None else _processors_a_worker(n_workers)
    found = ray.cluster_resources()
    if found.get("CPU", 0) < n_workers * n_cpus:
        raise UsageError(
            f"the Ray cluster has {found.get('CPU', 0):g} processors, expected at least "
            f"{n_workers * n_cpus} for {n_workers} workers: use fewer workers or add machines"
        )
    resources: dict[str, float] = {"num_cpus": n_cpus}
    n_gpus = float(found.get("GPU", 0))
    if n_gpus and (device is None or device.startswith("cuda")):
        resources["num_gpus"] = 1 if n_gpus >= n_workers else n_gpus / n_workers
    return resources
