"""Where a run is searched: in this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass

from rif_plugins.errors import UsageError
from rif_plugins.runner.options import AuditOptions
from rif_plugins.runner.shards import Engine

LOCAL = "local"
RAY = "ray"
ENGINES = (LOCAL, RAY)


@dataclass(frozen=True)
class Place:
    """Where a run is searched; what it finds does not depend on it.

    Attributes:
        workers: Processes or actors.
        engine: One of ``ENGINES``.
        ray_address: Of a cluster; None starts one on this machine.

    Raises:
        UsageError: The engine is unknown, or an address goes with none.
    """

    workers: int = 1
    engine: str = LOCAL
    ray_address: str | None = None

    def __post_init__(self) -> None:
        """Check what was asked."""
        if self.engine not in ENGINES:
            raise UsageError(f"engine {self.engine!r}: expected one of {', '.join(ENGINES)}")
        if self.ray_address is not None and self.engine != RAY:
            raise UsageError(f"--ray-address {self.ray_address} goes with --engine ray only: say both")

    @property
    def is_spread(self) -> bool:
        """Whether other processes than this one search."""
        return self.workers > 1 or self.engine == RAY

    @property
    def name(self) -> str:
        """The option that spreads the run, for messages."""
        return f"--workers {self.workers}" if self.workers > 1 or self.engine == LOCAL else "--engine ray"

    def start(self, options: AuditOptions, n_workers: int) -> Engine:
        """Start the engine."""
        if self.engine == RAY:
            from rif_plugins.runner.ray_engine import RayEngine

            return RayEngine(options, n_workers, address=self.ray_address)
        from rif_plugins.runner.workers import ProcessEngine

        return ProcessEngine(options, n_workers)
