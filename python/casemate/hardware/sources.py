"""Sources for the two front ends (Yosys's slang and Verilator), in order: files, and settings for the preprocessor from
lists of files.

Each word of a list (`.f`) is a file, `+incdir+FOLDER` or `+define+NAME=VALUE`; both front ends accept these words
unchanged. Other content of lists (libraries, other lists) is refused with the list's name and line, since the two front
ends would read it differently.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError
from casemate.text.nearest import hint_of_file

INCLUDE, DEFINE = "+incdir+", "+define+"
EXPECTED = f"expected files, {INCLUDE}FOLDER or {DEFINE}NAME=VALUE"
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDED = re.compile(r'`include\s+"([^"]+)"')
_IN_QUOTES = re.compile(r'"([^"\n]+)"')
_NO_PATH = re.compile(r"""[\s;#"']""")
"""Characters that a path must not contain: Yosys ends a word or a command at them."""


@dataclass(frozen=True)
class Setting:
    """An include folder or macros, for the preprocessor of a front end."""

    text: str

    def __str__(self) -> str:
        return self.text

    def folders(self) -> list[Path]:
        """Folders that the setting adds to the search path of included files."""
        return [Path(self.text.removeprefix(INCLUDE))] if self.text.startswith(INCLUDE) else []


Source = Path | Setting


@dataclass(frozen=True)
class _Word:
    """A word of a list or of the command line."""

    text: str
    location: str
    """Position of the word, as the beginning of a sentence; empty on the command line."""
    folders: tuple[Path, ...]
    """Folders that relative names in the word may start from; the first folder that contains the name is used."""

    def path(self, name: str) -> Path:
        """Returns the path that a name in the word means."""
        found = (folder / name for folder in self.folders if (folder / name).exists())
        return next(found, self.folders[0] / name)

    def refused(self, why: str) -> CasemateError:
        """Returns the error for this word."""
        return CasemateError(f"{self.location}{why}")


def read(paths: Sequence[Path]) -> tuple[Source, ...]:
    """Returns the sources: files, and the content of `.f` lists. Names in a list start from the folder of the list, or
    from one above it.

    Raises `CasemateError` if a source does not exist or if front ends do not accept it; for words of a list, with the
    list's name and the line.
    """
    found = list[Source]()
    for word in (each for path in paths for each in _words(path)):
        found += _meant(word)
    files = [each for each in found if isinstance(each, Path)]
    if not files:
        raise CasemateError("the sources have no file: expected one with the module on top")
    # Verilator looks for included files only in the folders on its command line, slang also next to the including file.
    include_folders = {each.parent for each in files if _INCLUDED.search(text(each))}
    settings = [each for each in found if isinstance(each, Setting)]
    settings += [Setting(f"{INCLUDE}{folder}") for folder in sorted(include_folders)]
    return tuple(dict.fromkeys((*settings, *files)))


def text(path: Path) -> str:
    """A source without its comments. Raises `CasemateError` if it cannot be read."""
    return _COMMENTS.sub(" ", _content(path))


def included(sources: Sequence[Source]) -> list[Path]:
    """Returns the files that sources may include or fill memories from (`$readmemh`), and the files that these may
    include. The function considers every text in quotes, since a macro or a parameter may contain a file name. It
    ignores files that do not exist: the front ends report them.
    """
    folders = [folder for each in sources if isinstance(each, Setting) for folder in each.folders()]
    waiting = [each for each in sources if isinstance(each, Path)]
    found = dict[Path, None]()
    while waiting:
        path = waiting.pop()
        for name in _IN_QUOTES.findall(text(path)):
            included = next((folder / name for folder in (path.parent, *folders) if (folder / name).is_file()), None)
            if included and included not in found:
                found[included] = None
                waiting.append(included)
    return sorted(found)


def _content(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise CasemateError(
            f"cannot read the source '{path}': {error.strerror or error}{hint_of_file(path)}"
        ) from error


def _words(path: Path) -> Iterator[_Word]:
    """Yields the words of a list, or the path itself if it is no list."""
    if path.suffix != ".f":
        yield _Word(str(path), "", (Path(),))
        return
    folders = (path.parent, *path.absolute().parent.parents)
    for number, line in enumerate(_content(path).splitlines(), 1):
        for word in re.split(r"//|#", line)[0].split():
            yield _Word(os.path.expandvars(word), f"'{path}' line {number}: ", folders)


def _meant(word: _Word) -> list[Source]:
    """Returns the sources that a word means."""
    if word.text.startswith(DEFINE):
        defined = word.text.removeprefix(DEFINE)
        if not re.fullmatch(r"[A-Za-z_]\w*(=[\w.'+]*)?", defined):
            raise word.refused(f"'{word.text}' defines no name: expected {DEFINE}NAME=VALUE, as in {DEFINE}WIDTH=16")
        return [Setting(word.text)]
    if word.text.startswith(INCLUDE):
        folders = [word.path(name) for name in word.text.removeprefix(INCLUDE).split("+") if name]
        for folder in folders:
            if not folder.is_dir():
                raise word.refused(f"there is no folder '{folder}' to include from{hint_of_file(folder)}")
        return [Setting(f"{INCLUDE}{_taken(word, folder)}") for folder in folders]
    if word.text.startswith(("+", "-")):
        raise word.refused(f"'{word.text}' is no argument of both front ends: {EXPECTED}")
    path = word.path(word.text)
    if path.is_dir():
        raise word.refused(f"the source '{path}' is a folder: {EXPECTED}")
    if not path.is_file():
        raise word.refused(f"there is no source '{path}'{hint_of_file(path)}")
    if path.suffix == ".f":
        raise word.refused(f"'{word.text}' is another list: expected it next to this one on the command line")
    return [_taken(word, path)]


def _taken(word: _Word, path: Path) -> Path:
    """Returns the absolute path. Raises `CasemateError` if Yosys would not accept it."""
    whole = path.absolute()
    if wrong := _NO_PATH.search(str(whole)):
        what = "a space" if wrong[0].isspace() else f"a {wrong[0]}"
        raise word.refused(f"the source '{path}' has {what} in its path, which Yosys does not accept: expected none")
    return whole
