"""YAML in which nothing is overwritten: a key that stands twice in a mapping is an error, where PyYAML keeps the last one.

Knows nothing of what the file means.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from nightgarden.errors import UserError


class _Loader(yaml.SafeLoader):
    """The safe loader, but for keys that stand twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for name, _ in node.value:
            key = self.construct_object(name, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", name.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


def read(path: Path, advice: str) -> Any:
    """The value of a YAML file.

    Args:
        path: the file.
        advice: what to do where it cannot be read.

    Raises:
        UserError: missing, unreadable, not YAML, or a key stands twice.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)  # noqa: S506
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}. {advice}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not YAML: {error}") from error
