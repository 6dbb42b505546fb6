"""Wrappers of the functions of `casemate._core`, which accept only text in UTF-8. The wrappers accept any text of a
Python program.

Names of files may contain any bytes. `os.listdir` returns bytes that are not UTF-8 as halves of surrogate pairs, which
neither JSON nor a Rust string can contain. If a name of this kind reaches the laboratory, the error quotes its bytes.
The words of a program's command line may contain any bytes: `word` passes them to the program unchanged.
"""

import functools
import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from casemate import _core
from casemate._core import CasemateError

if TYPE_CHECKING:
    from casemate._core import *  # noqa: F403

_NOT_UTF_8 = re.compile(r'[^"\ud800-\udfff]*[\ud800-\udfff][^"]*')


def shown(text: str) -> str:
    """Returns a name in the form for errors: bytes that are not UTF-8 are written as `\\xff`."""
    return text.encode(errors="surrogateescape").decode(errors="backslashreplace")


def refuse(text: str) -> CasemateError:
    """Returns the error for a name that is not UTF-8."""
    return CasemateError(f"'{shown(text)}' is not UTF-8: expected names and arguments in UTF-8")


def to_json(request: object) -> str:
    """Returns a request as JSON, the form that the native functions accept."""
    return json.dumps(request, ensure_ascii=False)


def word(given: object) -> str | list[int]:
    """Returns a word of a command in the form for requests: text, or a list of bytes if the word is not UTF-8."""
    encoded = os.fsencode(given if isinstance(given, str | bytes | os.PathLike) else str(given))
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return list(encoded)


def _in_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a native function, so that its error about text that is not UTF-8 quotes the text."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except UnicodeEncodeError as error:
            found = _NOT_UTF_8.search(error.object)
            raise refuse(found[0] if found else error.object) from None

    return call


def __getattr__(name: str) -> Any:
    return _in_words(getattr(_core, name))
