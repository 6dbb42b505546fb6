"""What is priced: sources, the module on top, its parameters and its clock; checked before anything long begins."""

import re
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError
from casemate.nearest import hint

CLOCKS = ("clk_i", "clk", "clock", "clock_i", "CLK")
"""What a clock is called where nothing is said."""
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Design:
    """RTL with the module on top of it and values of its parameters."""

    sources: tuple[Path, ...]
    top: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """Its name with its parameters."""
        return " ".join([self.top, *(f"{name}={value}" for name, value in self.parameters)])

    def check(self) -> None:
        """Raises `CasemateError` if a source is missing, or if there is no such module or parameter."""
        texts = [_COMMENTS.sub(" ", _text(path)) for path in self.sources]
        modules = {
            name: body
            for text in texts
            for name, body in re.findall(r"\bmodule\s+(\w+)(.*?)\bendmodule\b", text, re.DOTALL)
        }
        if self.top not in modules:
            there = f"there are: {', '.join(sorted(modules))}" if modules else "there is none"
            raise CasemateError(f"no module '{self.top}' in the sources{hint(self.top, modules)}; {there}")
        known = re.findall(r"\bparameter\b[^=;)]*?(\w+)\s*=", modules[self.top])
        # `parameter A = 1, B = 2` names the second without the word.
        known += re.findall(r",\s*(\w+)\s*=(?!=)", modules[self.top].split(";", 1)[0])
        for name, value in self.parameters:
            if name not in known:
                there = f"it has: {', '.join(dict.fromkeys(known))}" if known else "it has none"
                raise CasemateError(f"'{self.top}' has no parameter '{name}'{hint(name, known)}; {there}")
            if not value:
                raise CasemateError(f"the parameter '{name}' has no value: expected NAME=VALUE, as in {name}=16")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise CasemateError(f"cannot read the source '{path}': {error.strerror or error}") from error


def sources(paths: list[Path]) -> tuple[Path, ...]:
    """The files to read, in order: a file that ends in `.f` is a list of others, from the folder of which the names in
    it count, or from one above it. Raises `CasemateError` if one is not there.
    """
    found = list[Path]()
    for path in paths:
        if path.suffix != ".f":
            found.append(path)
            continue
        for line in _text(path).splitlines():
            if name := line.partition("//")[0].strip():
                folders = (path.parent, *path.absolute().parent.parents)
                found.append(
                    next((folder / name for folder in folders if (folder / name).is_file()), path.parent / name)
                )
    for path in found:
        if not path.is_file():
            raise CasemateError(f"there is no source '{path}'")
        if re.search(r"\s", str(path.absolute())):
            raise CasemateError(
                f"the source '{path}' has a space in its path, which Yosys does not take: expected none"
            )
    return tuple(dict.fromkeys(path.absolute() for path in found))


def clock_of(widths: dict[str, tuple[bool, int]], asked: str | None) -> str:
    """The clock among ports, each with whether it is an input and how many bits it has. Raises `CasemateError` if the
    one that is asked for is no port of one bit that comes in, or if none has a usual name.
    """
    fitting = [name for name, (is_input, width) in widths.items() if is_input and width == 1]
    if asked is not None:
        if asked not in fitting:
            why = "is no input of one bit" if asked in widths else "is no port"
            raise CasemateError(f"--clock: '{asked}' {why}{hint(asked, fitting)}; there are: {', '.join(fitting)}")
        return asked
    for name in CLOCKS:
        if name in fitting:
            return name
    raise CasemateError(f"no port has the usual name of a clock; say which it is with --clock: {', '.join(fitting)}")
