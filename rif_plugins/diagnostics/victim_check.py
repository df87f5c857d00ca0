"""The result of one check of a victim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class VictimCheck:
    """One check.

    Attributes:
        name: Which.
        status: ``pass``, ``warn`` or ``fail``.
        message: One sentence with the figure, and what to do unless it passed.
    """

    name: str
    status: Status
    message: str

    def to_dict(self) -> dict[str, str]:
        """The form in ``run.json``."""
        return {"name": self.name, "status": self.status, "message": self.message}
