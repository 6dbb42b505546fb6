"""Properties of a cell library for synthesis, timing and energy, in SI units: areas, pins, functions, tables.

Liberty's units: times in `time_unit`, capacitance in `capacitive_load_unit`, leakage in `leakage_power_unit`. Energy of
`internal_power` is in capacitance times voltage squared (Liberty user guide, "internal_power"). Areas have no unit in
Liberty; libraries of cells use square micrometres, and so does this flow.
"""

import fnmatch
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from casemate._core import CasemateError
from casemate.hardware import functions, liberty
from casemate.hardware.liberty import Group

_PREFIXES = {"f": 1e-15, "p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0}
_TRANSITIONS = ("rise_transition", "fall_transition")
_DELAYS = ("cell_rise", "cell_fall")
_ENERGIES = ("rise_power", "fall_power")
_THRESHOLDS = tuple(
    f"{which}_threshold_pct_{way}"
    for which in ("input", "output", "slew_lower", "slew_upper")
    for way in ("rise", "fall")
)
FANOUT_OF_FO4 = 4
_FF = re.compile(r'\bff\s*\(\s*"?(\w+)"?\s*,\s*"?(\w+)"?\s*\)')
_FUNCTION = re.compile(r'(?P<head>\b(?:function|next_state)\s*:\s*")(?P<text>[^"]+)"')
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Table:
    """A table over output load and input slew (F, s). Values between its points are interpolated; values outside are
    those of the nearest edge.
    """

    loads: tuple[float, ...]
    slews: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    """Values, a row for each load."""

    def at(self, load: float, slew: float) -> float:
        """The value for a load and a slew."""
        low, high, part = _between(self.loads, load)
        left, right, share = _between(self.slews, slew)
        rows = ((1 - share) * self.values[row][left] + share * self.values[row][right] for row in (low, high))
        below, above = rows
        return (1 - part) * below + part * above


def _between(points: tuple[float, ...], value: float) -> tuple[int, int, float]:
    """Returns the two points next to a value, and its relative position between them."""
    if len(points) == 1 or value <= points[0]:
        return 0, 0, 0.0
    if value >= points[-1]:
        return len(points) - 1, len(points) - 1, 0.0
    above = bisect_right(points, value)
    return above - 1, above, (value - points[above - 1]) / (points[above] - points[above - 1])


@dataclass(frozen=True)
class Arc:
    """Timing or energy arc: the effect of an input on an output of its cell, or on the cell's energy. It has a table
    for the rising and one for the falling output, or input.
    """

    source: str
    """Name of the input; empty for an effect of the pin itself."""
    rise: Table
    fall: Table


@dataclass(frozen=True)
class Pin:
    """A pin of a cell."""

    is_output: bool
    capacitance_f: float
    function: str
    transitions: tuple[Arc, ...]
    delays: tuple[Arc, ...]
    energies_j: tuple[Arc, ...]


@dataclass(frozen=True)
class Flop:
    """State of a flip-flop: its next state at the edge, and the conditions that force it."""

    state: str
    inverse: str
    next_state: str
    clock: str
    clear: str
    preset: str


@dataclass(frozen=True)
class Cell:
    """A cell of the library."""

    name: str
    area_um2: float
    leakage_w: float
    pins: dict[str, Pin]
    flop: Flop | None
    is_other_state: bool
    """True if the cell holds state, but is no flip-flop."""

    @property
    def outputs(self) -> list[str]:
        """Names of its output pins."""
        return [name for name, pin in self.pins.items() if pin.is_output]

    @property
    def inputs(self) -> list[str]:
        """Names of its input pins."""
        return [name for name, pin in self.pins.items() if not pin.is_output]


@dataclass(frozen=True)
class Library:
    """A library of cells."""

    name: str
    path: Path
    voltage_v: float
    time_s: float
    """Unit of time in the file, in seconds."""
    first_slew_s: float
    """Fastest slew in the library's tables, in seconds: the assumed slew of ports and of the clock."""
    cells: dict[str, Cell] = field(repr=False)
    unused: frozenset[str] = frozenset()
    """Names of the cells that synthesis must not use: `dont_use` in the file, or the user's choice."""

    def copy_to(self, folder: Path) -> Path:
        """Copies the library, uncompressed, into the folder in which Yosys, ABC and OpenSTA run, under a name that all
        three accept. The programs do not know paths from our folder, OpenSTA does not read compressed files, and ABC
        does not accept spaces.
        """
        placed = folder / "library.lib"
        text = liberty.without_cells(liberty.content(self.path).decode("latin-1"), self.unused)
        placed.write_text(_with_plain_flops(text), "latin-1")
        return placed

    def buffer(self, load_f: float) -> Cell:
        """Returns the buffer that drives a load fastest. Raises `CasemateError` if the library has no buffer."""
        found = [cell for cell in self.cells.values() if _is_gate(cell, "")]
        if not found:
            raise CasemateError(f"the library '{self.path}' has no buffer, which large fan-outs need")
        return min(found, key=lambda cell: (_delay_s(cell, load_f, self.first_slew_s), cell.area_um2))

    def left_out(self) -> str:
        """Returns a sentence on the parts of the energy that the library does not state; empty if it states all."""
        pins = [pin for cell in self.cells.values() for pin in cell.pins.values() if pin.is_output]
        if any(pin.energies_j for pin in pins):
            return ""
        return f"the library '{self.path}' has no 'internal_power': energy is only that of nets and leakage"

    def inverts(self, cell: str) -> bool:
        """Returns true if a cell is an inverter."""
        return _is_gate(self.cells[cell], "(1^)")

    def inverter(self) -> Cell:
        """Returns the smallest inverter. Raises `CasemateError` if the library has no inverter."""
        found = [cell for cell in self.cells.values() if _is_gate(cell, "(1^)")]
        if not found:
            raise CasemateError(f"the library '{self.path}' has no inverter")
        return min(found, key=lambda cell: (cell.area_um2, cell.pins[cell.inputs[0]].capacitance_f))

    def fo4_s(self) -> float:
        """Delay of an inverter that drives four of its kind, which measures the speed of the library."""
        inverter = self.inverter()
        load = FANOUT_OF_FO4 * inverter.pins[inverter.inputs[0]].capacitance_f
        slew = self.first_slew_s
        # In a few steps the slew converges to that of an inverter in the middle of a long chain.
        for _ in range(4):
            slew = _worst(inverter, load, slew)
        return _delay_s(inverter, load, slew)


def _with_plain_flops(text: str) -> str:
    """Returns the text of the library with changed flip-flops: outputs and next states without parentheses, and outputs
    without negation. Yosys does not recognise `!IQ` or `(IQ)` as an output of a flip-flop; instead of the cell it uses
    a flip-flop of the other clock edge with an inverter.
    """
    parts = re.split(r"(?=\bcell\s*\()", text)
    return "".join(_with_plain_flop(part) for part in parts)


def _with_plain_flop(cell: str) -> str:
    """Returns the text of one cell with the same changes."""
    flops = _FF.findall(cell)
    if len(flops) != 1:
        return cell

    def plain(found: re.Match[str]) -> str:
        literal = functions.literal(found["text"])
        if literal is None:
            return found[0]
        name, inverted = literal
        if name in flops[0]:
            name, inverted = flops[0][inverted != (name == flops[0][1])], False
        return f'{found["head"]}{"!" * inverted}{name}"'

    return _FUNCTION.sub(plain, cell)


def _is_gate(cell: Cell, written: str) -> bool:
    """Returns true if a cell has one input, one output with delays and transitions, and this function."""
    if len(cell.inputs) != 1 or len(cell.outputs) != 1 or cell.flop or cell.is_other_state:
        return False
    output = cell.pins[cell.outputs[0]]
    is_timed = bool(output.delays) and bool(output.transitions)
    return bool(output.function) and is_timed and functions.expression(output.function, lambda _: "") == written


def _delay_s(cell: Cell, load_f: float, slew_s: float) -> float:
    arcs = cell.pins[cell.outputs[0]].delays
    return sum(arc.rise.at(load_f, slew_s) + arc.fall.at(load_f, slew_s) for arc in arcs) / (2 * len(arcs))


def _worst(cell: Cell, load_f: float, slew_s: float) -> float:
    arcs = cell.pins[cell.outputs[0]].transitions
    return max(max(arc.rise.at(load_f, slew_s), arc.fall.at(load_f, slew_s)) for arc in arcs)


def read(path: Path, dont_use: Sequence[str] = ()) -> Library:
    """Returns the library in a Liberty file, without its `dont_use` cells and those with a name that matches a pattern
    of `dont_use`. Raises `CasemateError` if the file is not a library, if a number, unit,
    table or function in it is invalid, or if its cells have no areas.
    """
    group = liberty.read(path)
    try:
        library = _Reader(group, path).library(dont_use)
    except ValueError as error:
        raise CasemateError(f"the library '{path}': {error}") from error
    if not library.cells:
        left = ": expected cells that no --dont-use matches" if library.unused else ""
        raise CasemateError(f"the library '{path}' has no cells{' left' * bool(left)}{left}")
    if not any(cell.flop for cell in library.cells.values()):
        raise CasemateError(f"the library '{path}' has no flip-flop: expected cells with 'ff' and 'clocked_on'")
    if not any(pin.capacitance_f for cell in library.cells.values() for pin in cell.pins.values()):
        raise CasemateError(
            f"the library '{path}' gives no pin a capacitance: delays and energy cannot be computed with it"
        )
    if not any(cell.area_um2 for cell in library.cells.values()):
        raise CasemateError(
            f"the library '{path}' gives no cell an area: expected 'area' in its cells, as in osu018; "
            "areas of cores cannot be computed with it"
        )
    return library


class _Reader:
    """Converts groups of a Liberty file into cells, with the units of the file."""

    def __init__(self, group: Group, path: Path) -> None:
        self._group, self._path = group, path
        self._time = _unit(group, "time_unit", "1ns")
        self._farad = _unit(group, "capacitive_load_unit", "1pf")
        self._volt = _unit(group, "voltage_unit", "1V")
        self._leakage = _unit(group, "leakage_power_unit", "1nW")
        conditions = [each.number("voltage") for each in group.all("operating_conditions")]
        self._voltage = group.number("nom_voltage", (conditions or [0.0])[0]) * self._volt
        if self._voltage <= 0:
            raise ValueError("'nom_voltage' is missing or not positive: expected that of the cells, as in 1.8")
        # Without these thresholds, OpenSTA computes no delay and finds no path.
        missing = [name for name in _THRESHOLDS if not group.text(name)]
        if missing:
            raise ValueError(f"'{missing[0]}' is missing: expected a level between the rails in percent, as in 50")
        self._templates = {each.name: each for each in group.all("lu_table_template", "power_lut_template")}

    def library(self, dont_use: Sequence[str]) -> Library:
        """Returns the library that the file describes, without the cells that must not be used."""
        groups = self._group.all("cell")
        unused = frozenset(group.name for group in groups if group.text("dont_use").lower() == "true")
        for pattern in dont_use:
            unused |= frozenset(fnmatch.filter((group.name for group in groups), pattern))
        used = (group for group in groups if group.name not in unused)
        cells = [_named(f"cell '{group.name}'", self._cell, group) for group in used]
        tables = [arc.rise for cell in cells for pin in cell.pins.values() for arc in pin.transitions]
        slew = min((table.slews[0] for table in tables), default=0.0)
        name = self._group.arguments[0] if self._group.arguments else self._path.name
        by_name = {cell.name: cell for cell in cells}
        return Library(name, self._path, self._voltage, self._time, slew, by_name, unused)

    def _cell(self, group: Group) -> Cell:
        pins = {
            pin.name: _named(f"pin '{pin.name}'", self._pin, pin)
            for pin in group.all("pin")
            if pin.text("direction") != "internal"
        }
        flops = group.all("ff")
        flop = None
        if len(flops) == 1:
            state, inverse = [*flops[0].arguments, "", ""][:2]
            texts = (flops[0].text(name) for name in ("next_state", "clocked_on", "clear", "preset"))
            flop = Flop(state, inverse, *texts)
        area = group.number("area")
        if area < 0:
            raise ValueError(f"'area' is {area:g}: expected one in square micrometres")
        return Cell(
            group.name,
            area,
            group.number("cell_leakage_power", self._group.number("default_cell_leakage_power")) * self._leakage,
            pins,
            flop,
            len(flops) > 1 or bool(group.all("latch", "ff_bank", "latch_bank", "statetable")),
        )

    def _pin(self, group: Group) -> Pin:
        capacitance = group.number("capacitance", self._group.number("default_input_pin_cap"))
        # The `timing` groups of setup and hold constraints are no delays of an output.
        timing = [each for each in group.all("timing") if each.all(*_DELAYS)]
        energy = self._farad * self._volt**2
        function = group.text("function")
        if function:
            functions.check(function)
        return Pin(
            group.text("direction") == "output",
            capacitance * self._farad,
            function,
            self._arcs(timing, _TRANSITIONS, self._time),
            self._arcs(timing, _DELAYS, self._time),
            self._arcs(group.all("internal_power"), _ENERGIES, energy),
        )

    def _arcs(self, groups: list[Group], kinds: tuple[str, str], unit: float) -> tuple[Arc, ...]:
        arcs = list[Arc]()
        for group in groups:
            both = group.all("power")
            rise, fall = (group.all(kind) or both for kind in kinds)
            if rise or fall:
                tables = (self._table((side or rise or fall)[0], unit) for side in (rise, fall))
                # Several inputs may share one arc.
                arcs += [Arc(name, *tables) for name in (group.text("related_pin").split() or [""])[:1]]
        return tuple(arcs)

    def _table(self, group: Group, unit: float) -> Table:
        template = self._templates.get(group.arguments[0] if group.arguments else "")
        axes = list[tuple[bool, tuple[float, ...]]]()
        for number in ("1", "2"):
            indices = group.attributes.get(f"index_{number}") or (
                template.attributes.get(f"index_{number}") if template else None
            )
            variable = template.text(f"variable_{number}") if template else ""
            if indices and variable:
                axes.append(("capacitance" in variable, tuple(_numbers(indices))))
        values = [number * unit for number in _numbers(group.attributes.get("values", ["0"]))]
        loads = next((points for is_load, points in axes if is_load), (0.0,))
        slews = next((points for is_load, points in axes if not is_load), (0.0,))
        if len(values) != len(loads) * len(slews):
            raise ValueError(
                f"a table '{group.kind}' has {len(values)} values: expected {len(loads)} x {len(slews)}, over the "
                "output's load and the input's slew"
            )
        if (axes and axes[0][0]) or len(axes) < 2:
            rows = [tuple(values[row * len(slews) : (row + 1) * len(slews)]) for row in range(len(loads))]
        else:
            rows = [
                tuple(values[column * len(loads) + row] for column in range(len(slews))) for row in range(len(loads))
            ]
        farads, seconds = (
            [point * scale for point in points] for points, scale in ((loads, self._farad), (slews, self._time))
        )
        return Table(tuple(farads), tuple(seconds), tuple(rows))


def _named(what: str, read: Callable[[Group], _Read], group: Group) -> _Read:
    """Reads a group; adds the name `what` in front of errors."""
    try:
        return read(group)
    except (ValueError, CasemateError) as error:
        raise ValueError(f"{what}: {error}") from error


def _numbers(texts: list[str]) -> list[float]:
    written = (each for text in texts for each in re.split(r"[\s,]+", text.strip()) if each)
    return [liberty.number(each, "a value of a table") for each in written]


def _unit(group: Group, name: str, otherwise: str) -> float:
    """Returns a unit such as `100ps`, in SI units; that of capacitance is written as two values. Raises `ValueError` if
    it is not a unit of its kind.
    """
    text = "".join(group.attributes.get(name, [otherwise])[:2]).strip()
    found = re.fullmatch(rf"([\d.]+(?:e-?\d+)?)\s*([fpnum]?)(?i:{otherwise[-1]})", text)
    scale = liberty.number(found[1], f"'{name}'") if found else 0.0
    if found is None or not scale:
        raise ValueError(f"'{name}' is '{text}': expected a unit such as '{otherwise}'")
    return scale * _PREFIXES[found[2]]
