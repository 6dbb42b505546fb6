"""Keys of a configuration file, with the treatment of each key and the defaults of the keys that the file lacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from casemate._core import CasemateError
from casemate.schemas.imported import Fate, ImportedKey, Simulator
from casemate.text.nearest import hint

ALMOST_THE_SAME = 0.85
"""Similarity above which a standard is a misspelt one, not another one: LPDDR4 is not DDR4."""

DIGITS_MAX = 18
"""Digits of the largest whole number that an importer reads."""


@dataclass
class Keys:
    """Keys of a configuration file, by their path. The importer requests each key that it converts; the remaining keys
    have no counterpart in a machine.
    """

    path: Path
    values: Mapping[str, str]
    simulator: Simulator
    fates: dict[str, ImportedKey] = field(default_factory=dict)
    defaults: dict[str, ImportedKey] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The file and its simulator, for errors."""
        return f"'{self.path}' ({self.simulator})"

    def spelling(self, key: str) -> str | None:
        """Returns the file's spelling of a key, or `None` if the file lacks the key."""
        return key if key in self.values else None

    def text(self, key: str, default: str | None = None, origin: str | None = None) -> str:
        """Returns the value of a key as text. If the file lacks the key, the function returns the default and lists it
        with its origin (the simulator, unless `origin` is given). Raises `CasemateError` if the key is missing and has
        no default.
        """
        if (spelled := self.spelling(key)) is not None:
            self.taken(key)
            return self.values[spelled]
        if default is None:
            raise CasemateError(
                f"{self.source} has no key {key}{self.nearest(key)}: expected it, since the machine needs its value"
            )
        said = origin or f"{self.simulator}'s value for a missing key"
        self.defaults.setdefault(key, ImportedKey(key=key, value=default, fate="default", said=said))
        return default

    def number(self, key: str, default: int | None = None, origin: str | None = None) -> int:
        """Returns the value of a key as a whole number of at least 0. Raises `CasemateError` if it is not one."""
        text = self.text(key, None if default is None else str(default), origin)
        if not text.isdecimal() or len(text) > DIGITS_MAX:
            raise CasemateError(f"{self.source}: {key} is '{text}': expected a whole number")
        return int(text)

    def taken(self, key: str) -> None:
        """Notes that the machine has the value of a key, if the file has that key and no note on it."""
        if (spelled := self.spelling(key)) is not None and spelled not in self.fates:
            self._note(key, "taken", "")

    def changed(self, key: str, said: str) -> None:
        """Notes that the machine uses a value other than that of a key, or than the default of a missing key."""
        if key in self.defaults:
            default = self.defaults[key]
            self.defaults[key] = default.model_copy(update={"said": f"{default.said}; {said}"})
        before = self.fates.get(self.spelling(key) or "")
        self._note(key, "changed", f"{before.said}; {said}" if before and before.fate == "changed" else said)

    def without(self, key: str, said: str) -> None:
        """Notes that the machine has no counterpart of a key, if the file has that key."""
        self._note(key, "no counterpart", said)

    def rest(self, reason: Callable[[str], str]) -> None:
        """Notes each key that the importer did not request as one without counterpart, for the reason that `reason`
        returns.
        """
        for key in self.values:
            if key not in self.fates:
                self.without(key, reason(key))

    def all(self) -> tuple[ImportedKey, ...]:
        """Returns the treatment of each key, in the order of the file, then the defaults of the missing keys."""
        return (*(self.fates[key] for key in self.values), *self.defaults.values())

    def nearest(self, key: str) -> str:
        """Returns the key of the file that was most likely meant by a missing one, as the end of a sentence."""
        parent, _, name = key.rpartition(".")
        near = [each.removeprefix(f"{parent}.").split(".")[0] for each in self.values if each.startswith(f"{parent}.")]
        return hint(name, near)

    def _note(self, key: str, fate: Fate, said: str) -> None:
        if (spelled := self.spelling(key)) is not None:
            self.fates[spelled] = ImportedKey(key=spelled, value=self.values[spelled], fate=fate, said=said)
