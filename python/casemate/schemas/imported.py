"""Result of `casemate machine import`: a machine file, and the treatment of each key of the imported configuration."""

from typing import Literal

from casemate.schemas.base import Result

Fate = Literal["taken", "changed", "no counterpart", "default"]
"""Treatment of a key: the machine has the same value, a different one, or no counterpart; or the file lacks the key,
and the machine has a default.
"""

Simulator = Literal["DRAMsim3", "Ramulator 2", "Ramulator 2.1"]
"""Simulator with configurations that Casemate imports."""


class ImportedKey(Result):
    """A key of another simulator's configuration."""

    key: str
    """Path of the key."""
    value: str
    """Value in the file; the default value if the file lacks the key."""
    fate: Fate
    """Treatment of the key: the machine has the same value, a different one, or no counterpart. It is `default` if the
    file lacks the key and the machine has a default value.
    """
    said: str
    """The different value in the machine, the reason that the key has no counterpart, or the origin of the default;
    empty if the machine has the same value.
    """


class ImportedMachine(Result):
    """A machine converted from another simulator's configuration."""

    name: str
    """Name of the machine."""
    of: Simulator
    """Name of the other simulator."""
    file: str
    """Name of the configuration file."""
    memory_bytes: int
    """Size of the memory that the configuration describes, in bytes. Programs get half of this memory (`memory.size`),
    metadata the other half.
    """
    keys: tuple[ImportedKey, ...]
    """Keys of the configuration, in its order; then the keys that the file lacks and that have a default value."""
    toml: str
    """Text of the machine file."""

    def brief(self) -> str:
        """Returns the machine, the number of keys with the same value in the machine, and the number of defaults."""
        return f"{self.name}: {self.counts()}"

    def counts(self) -> str:
        """Returns, for example, "20 of 25 keys of x.ini (DRAMsim3) as they are, 12 defaults for missing keys"."""
        taken = sum(key.fate == "taken" for key in self.keys)
        defaults = sum(key.fate == "default" for key in self.keys)
        added = f", {defaults} default{'s' * (defaults > 1)} for missing keys" if defaults else ""
        return f"{taken} of {len(self.keys) - defaults} keys of {self.file} ({self.of}) as they are{added}"
