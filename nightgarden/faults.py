"""What is wrong with a settings file, in words: the key, what came, and for an unknown key the near ones."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError


def explain(error: ValidationError, model: type[BaseModel], path: Path) -> str:
    """One line per fault: the key, what came, and for an unknown key the near ones."""
    lines = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"]) or "(whole file)"
        if fault["type"] == "extra_forbidden":
            known = _known_keys(model, fault["loc"])
            near = difflib.get_close_matches(str(fault["loc"][-1]), known, n=3) or sorted(known)
            lines.append(f"{where}: unknown key; did you mean {', '.join(near)}?")
        else:
            lines.append(f"{where}: {fault['msg']} (got {fault['input']!r})"[:300])
    return f"{path} is not valid:\n  " + "\n  ".join(lines) + f"\nEdit {path} and run the command again."


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Field names of the section that holds the last part of `location`."""
    current = model
    for part in location[:-1]:
        fields = {field.alias or name: field for name, field in current.model_fields.items()}
        if part in fields:
            current = _section_in(fields[str(part)].annotation) or current
    return [field.alias or name for name, field in current.model_fields.items()]


def _section_in(annotation: Any) -> type[BaseModel] | None:
    """The section that an annotation names, or holds as the values of a dict."""
    for candidate in (annotation, *getattr(annotation, "__args__", ())):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None
