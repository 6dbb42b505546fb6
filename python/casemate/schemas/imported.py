"""Result of `casemate machine import`: a machine file, and the treatment of each key of the imported configuration."""

from typing import Literal

from casemate.schemas.base import Result


class ImportedKey(Result):
    """A key of another simulator's configuration."""

    key: str
    """Path of the key."""
    value: str
    """Value in the file."""
    fate: Literal["taken", "changed", "no counterpart"]
    """Treatment of the key: the machine has the same value, a different one, or no counterpart."""
    said: str
    """The different value in the machine, or the reason that the key has no counterpart; empty if the machine has the
    same value.
    """


class ImportedMachine(Result):
    """A machine converted from another simulator's configuration."""

    name: str
    """Name of the machine."""
    of: Literal["DRAMsim3", "Ramulator 2"]
    """Name of the other simulator."""
    file: str
    """Name of the configuration file."""
    memory_bytes: int
    """Size of the memory that the configuration describes, in bytes. Programs get half of this memory (`memory.size`),
    metadata the other half.
    """
    keys: tuple[ImportedKey, ...]
    """Keys of the configuration, in its order."""
    toml: str
    """Text of the machine file."""

    def brief(self) -> str:
        """Returns the machine, and the number of keys with the same value in the machine."""
        taken = sum(key.fate == "taken" for key in self.keys)
        return f"{self.name}: {taken} of {len(self.keys)} keys of {self.file} ({self.of})"
