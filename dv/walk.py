"""Searches every register of a design for secrets.

Names of registers end in _q, and dv/sv/visible.vlt makes all of them visible. The search finds a word of 128 bits at
any bit of a register, also if it spans elements of an array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from cocotb.handle import (
    ArrayObject,
    EnumObject,
    HierarchyArrayObject,
    HierarchyObject,
    IntegerObject,
    LogicArrayObject,
    LogicObject,
    PackedObject,
)
from tools import RTL

WORD = 128


def registers(design: Any) -> Iterator[tuple[str, str]]:
    """Yields the path of each register in and below `design`, with its bits as text."""
    for child in design:
        if isinstance(child, (HierarchyObject, HierarchyArrayObject)):
            yield from registers(child)
        elif child._name.endswith("_q"):
            yield child._path, _bits(child)


def _bits(handle: object) -> str:
    if isinstance(handle, ArrayObject):
        return "".join(_bits(element) for element in handle)
    if isinstance(handle, (EnumObject, IntegerObject)):
        # Enumerations and integers are codes of few bits.
        return format(int(handle.value), "b")
    assert isinstance(handle, (LogicArrayObject, LogicObject, PackedObject)), f"{type(handle)} is no register"
    return str(handle.value)


def found(design: Any, words: Iterable[bytes]) -> list[str]:
    """Returns the paths of the registers that contain one of the words."""
    patterns = [format(int.from_bytes(word, "big"), f"0{8 * len(word)}b") for word in words]
    return [path for path, bits in registers(design) if any(pattern in bits for pattern in patterns)]


def words(design: Any, but: Iterable[str]) -> dict[tuple[str, int], str]:
    """Returns the non-zero 128-bit words of each register, by path and bit offset, except registers named in `but`."""
    left_out = set(but)
    return {
        (path, at): bits[at : at + WORD]
        for path, bits in registers(design)
        if re.split(r"[.\[]", path)[-1] not in left_out
        for at in range(0, len(bits) - WORD + 1, WORD)
        if "1" in bits[at : at + WORD]
    }


def unseen(design: Any, files: Iterable[str]) -> set[str]:
    """Returns the registers that these files of rtl/ name but `registers` does not find."""
    named = {name for file in files for name in re.findall(r"\b[a-z]\w*_q\b", (RTL / file).read_text())}
    return named - {re.split(r"[.\[]", path)[-1] for path, _ in registers(design)}
