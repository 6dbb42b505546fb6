"""Results of `casemate machine import`: a machine file, and the treatment of each key of its source."""

from typing import Literal

from casemate.results.base import Result


class ImportedKey(Result):
    """A key of another simulator's configuration."""

    key: str
    """Path of the key."""
    value: str
    """Value in the file."""
    fate: Literal["taken", "changed", "no counterpart"]
    """Treatment of the key: the machine has the same value, a different one, or no counterpart."""
    said: str
    """The machine's value instead, or the reason that it has no counterpart; empty if the key was taken."""


class ImportedMachine(Result):
    """A machine that was converted from another simulator's configuration."""

    name: str
    """Name of the machine."""
    of: Literal["DRAMsim3", "Ramulator 2"]
    """Name of the simulator."""
    file: str
    """Name of the configuration file."""
    memory_bytes: int
    """Bytes of the memory that it describes. Programs get half of them (`memory.size`); the other half is for metadata.
    """
    keys: tuple[ImportedKey, ...]
    """Keys of the configuration, in its order."""
    toml: str
    """Text of the machine file."""

    def brief(self) -> str:
        """Returns the machine, and how many keys of the configuration it took over."""
        taken = sum(key.fate == "taken" for key in self.keys)
        return f"{self.name}: {taken} of {len(self.keys)} keys of {self.file} ({self.of})"
