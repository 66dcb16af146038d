"""What every section of params.yaml is made of: its base, and the kinds of its values.

Knows no section.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _key(name: str) -> str:
    """A name that may become part of a stage name: DVC hands those to a shell."""
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise ValueError(f"got the key {name!r}; use only a-z, 0-9 and _")
    return name


def _inside(path: str) -> str:
    """A relative path that stays inside the repository."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", path) or ".." in path:
        raise ValueError(f"got the path {path!r}; use a relative path of letters, digits, _ . / and - inside the repository")
    return path


Key = Annotated[str, AfterValidator(_key)]
InsidePath = Annotated[str, AfterValidator(_inside)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class Section(BaseModel):
    """Base of every section: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
