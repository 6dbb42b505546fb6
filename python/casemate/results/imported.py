"""What `casemate machine import` gives: a machine file, and what became of each key that it was made of."""

from typing import Literal

from casemate.results.base import Result


class ImportedKey(Result):
    """A key of another simulator's configuration."""

    key: str
    """The key, by its path."""
    value: str
    """Its value in the file."""
    fate: Literal["taken", "changed", "no counterpart"]
    """Whether the machine has the same, something else, or nothing of this kind."""
    said: str
    """What the machine has instead, or why it has nothing; empty if the key was taken."""


class ImportedMachine(Result):
    """A machine made of another simulator's configuration."""

    name: str
    """The machine's name."""
    of: Literal["DRAMsim3", "Ramulator 2"]
    """The simulator."""
    file: str
    """The configuration."""
    memory_bytes: int
    """Bytes of the memory that it describes. Programs get half of them (`memory.size`); the rest is for metadata."""
    keys: tuple[ImportedKey, ...]
    """Its keys, in its order."""
    toml: str
    """The machine file."""

    def brief(self) -> str:
        """The machine, and how much of the configuration it has."""
        taken = sum(key.fate == "taken" for key in self.keys)
        return f"{self.name}: {taken} of {len(self.keys)} keys of {self.file} ({self.of})"
