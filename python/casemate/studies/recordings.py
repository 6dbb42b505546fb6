"""The programs of a study as inputs that repeat anywhere: each command is recorded once, and each trace is known by the
hash of its content. A command is recorded again if its program, or a file that it names, has other content.
"""

import glob
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from casemate import api
from casemate._core import CasemateError
from casemate.laboratory import arguments, native
from casemate.laboratory.arguments import Instructions
from casemate.laboratory.requests import BuiltIn, Program, Trace
from casemate.schemas.origin import TraceInfo
from casemate.studies.points import Kernel, StoredTrace, digest
from casemate.terminal import screen
from casemate.text import amounts

TRACES = "_traces"
"""Folder of the recordings in a results folder. Readers of Parquet folders pass over names that begin so."""
READ_BYTES = 1 << 22


@dataclass(frozen=True)
class Command:
    """A command of this computer that a study records."""

    program: Program
    limit: Instructions | None = None
    """Maximum number of instructions of the recording."""
    load_values: bool = False
    """True if the recording contains the values of loads, which runs with `check_values` compare."""
    text: str = ""
    """Content of a file that the program reads; a word of the command contains `{text}` for its path."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """Commands and files that the program needs, each with its Debian package."""

    @property
    def name(self) -> str:
        """Name of the program, without folder."""
        return Path(str(native.shown(str(self.program.command[0])))).name

    def missing(self) -> str:
        """Returns the missing requirements, and how to install them; empty if all are installed."""
        absent = [(needed, package) for needed, package in self.packages.items() if found(needed) is None]
        names = ", ".join(f"'{needed}'" for needed, _ in absent)
        packages = " ".join(sorted({package for _, package in absent}))
        return f"{names} is not installed (try: apt-get install {packages})" if absent else ""


Input = BuiltIn | Trace | Command


class NotInstalledError(CasemateError):
    """A program that a study needs is not installed on this computer."""


class Recordings:
    """The recordings and traces of a study; the results folder keeps the recordings."""

    def __init__(self, folder: Path, notify: Callable[[str], object], records: bool = True) -> None:
        """Opens the recordings of a results folder. Without `records`, a built-in workload represents each command
        that has no recording yet, so that the other properties of its points can be checked.
        """
        self._folder, self._notify, self._records = folder / TRACES, notify, records
        self._hashes: dict[Path, str] = {}
        self._infos: dict[Path, TraceInfo] = {}
        """Contents of the whole recordings."""
        self._used: dict[str, Path] = {}
        """Recordings that represent commands, by the name of the command."""
        self.not_recorded: list[str] = []
        """Commands that a built-in workload represents."""
        self.unrecorded_instructions = 0
        """Maximum number of instructions of these commands, as far as they have a limit."""
        self.without_limit: list[str] = []
        """Those of these commands that are recorded to their end, so that the length is not known."""

    def input(self, given: Input) -> Kernel | StoredTrace:
        """Returns an input that workers can repeat; records a command, unless the folder has its recording. Raises
        `NotInstalledError` if the command is not on this computer, and `CasemateError` if a trace cannot be read.
        """
        if isinstance(given, BuiltIn):
            return Kernel(given.name, {name: str(value) for name, value in given.settings.items()})
        if isinstance(given, Trace):
            path = Path(given.path)
            return StoredTrace(self._content(path), str(path.absolute()), path.name, given.persistent)
        if not self._records and self._must_record(given):
            self.not_recorded.append(given.name)
            if given.limit is None:
                self.without_limit.append(given.name)
            else:
                self.unrecorded_instructions += arguments.instructions(given.limit, "limit")
            return Kernel("gups", {"updates": str(len(self.not_recorded))})
        path = self.recording(given)
        self._used[given.name] = path
        return StoredTrace(self._content(path), str(path.absolute()), path.name, given.program.persistent)

    def abnormal_ends(self) -> Iterator[str]:
        """Yields the commands that failed while they were recorded, each with its exit status or its signal."""
        for name, path in self._used.items():
            info = self._infos.get(path) or api.trace_info(path)
            if end := info.origin.abnormal_end:
                after = amounts.counted(info.totals.instructions, "instruction")
                yield f"{name} {end} after {after}: all its points run this part of it"

    def path_of(self, command: Command) -> Path:
        """Returns the path of a command's recording, which may not exist yet. Its name contains a digest of the command
        and its options, without the path of the recorder, and a digest of the program and of the files that the command
        names. On a computer without the program, it is the last recording of the command.
        """
        content = self._content_of(command)
        earlier = self._earlier(command)
        if content is None and earlier:
            return earlier[-1]
        return self._folder / f"{self._stem(command)}-{content or 'absent'}.trace"

    def _stem(self, command: Command) -> str:
        """Returns the part of a recording's name that the content of files does not change."""
        key = digest(
            [command.program.as_request(command.load_values)["live"] | {"recorder": ""}, command.limit, command.text]
        )
        return f"{command.name}-{key[:12]}"

    def _earlier(self, command: Command) -> list[Path]:
        """Returns the recordings of a command, whatever its files contained, in the order in which they were made."""
        found = self._folder.glob(f"{glob.escape(self._stem(command))}-*.trace")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    def _content_of(self, command: Command) -> str | None:
        """Returns a digest of the program and of the files that a command names; `None` without the program."""
        program, *rest = (os.fsdecode(word) for word in command.program.command)
        path = found(program)
        if path is None:
            return None
        files = [Path(path), *(Path(word) for word in rest)]
        return digest([self._content(each) if each.is_file() else "" for each in files])[:12]

    def recording(self, command: Command) -> Path:
        """Returns the recording of a command, and makes it if necessary."""
        path = self.path_of(command)
        if self._must_record(command):
            screen.make_folder(self._folder)
            again = " again: its program, or a file that it names, has changed" if self._earlier(command) else ""
            self._notify(f"recording {command.name}{again}")
            self._record(command, path)
        return path

    def _must_record(self, command: Command) -> bool:
        """Returns true if the folder has no whole recording of a command. Raises `NotInstalledError` if the command
        cannot be recorded either.
        """
        path = self.path_of(command)
        if path not in self._infos and (info := _info(path)):
            self._infos[path] = info
        if path not in self._infos and (missing := command.missing()):
            raise NotInstalledError(missing)
        return path not in self._infos

    def _record(self, command: Command, path: Path) -> None:
        text = path.with_suffix(".c")
        if command.text:
            screen.write_whole(text, command.text.encode())
        program, *rest = command.program.command
        if command.text:
            rest = [str(word).replace("{text}", str(text)) for word in rest]
        words = [found(str(program)) or program, *rest]
        partial = path.with_suffix(".partial")
        live = replace(command.program, command=words)
        try:
            done = api.record(live, partial, limit=command.limit, load_values=command.load_values)
            if done.interrupted:
                raise KeyboardInterrupt
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    def _content(self, path: Path) -> str:
        if path not in self._hashes:
            try:
                self._hashes[path] = content_hash(path)
            except OSError as error:
                raise CasemateError(f"cannot read the trace '{path}': {error.strerror or error}") from error
        return self._hashes[path]


def content_hash(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(READ_BYTES):
            hashed.update(part)
    return hashed.hexdigest()


def found(needed: str) -> str | None:
    """Returns the path of a program or a file. It also searches `/usr/games`, which not every user has in the path."""
    if "/" in needed:
        return needed if Path(needed).exists() else None
    return shutil.which(needed) or shutil.which(needed, path="/usr/games")


def _info(trace: Path) -> TraceInfo | None:
    """Returns the content of a recording; `None` if there is none, or if it cannot be read to its end."""
    try:
        return api.trace_info(trace) if trace.exists() else None
    except CasemateError:
        return None
