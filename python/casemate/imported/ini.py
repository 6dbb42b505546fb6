"""Parser of DRAMsim3's `.ini` files: sections of keys, with comments behind `;` or `#`."""

import configparser
from pathlib import Path

from casemate._core import CasemateError


def parse(path: Path, text: str) -> dict[str, str]:
    """Returns the keys as `section.key`. Raises `CasemateError` with the first line that is not a key."""
    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(";", "#"), strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        parser.read_string(text, source=str(path))
    except configparser.Error as error:
        raise CasemateError(f"'{path}' is no .ini file: {' '.join(str(error).split())}") from error
    return {
        f"{section}.{key}": value.strip() for section in parser.sections() for key, value in parser[section].items()
    }
