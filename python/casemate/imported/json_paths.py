"""JSON of a configuration as values by path, in the form of `block_yaml.parse`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casemate._core import CasemateError


def parse(path: Path, text: str) -> dict[str, str]:
    """Returns all scalars as `Key.key`, list items with their position. Raises `CasemateError` if it is no JSON."""
    try:
        return dict(_scalars("", json.loads(text)))
    except json.JSONDecodeError as error:
        raise CasemateError(f"'{path}', line {error.lineno}: it is no JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise CasemateError(f"'{path}' is no JSON of a configuration: {error}") from error


def _scalars(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in entries:
            yield from _scalars(f"{name}.{key}" if name else str(key), each)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)
