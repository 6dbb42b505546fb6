"""Runs a netlist with the port values of the RTL, and counts the toggles of every net.

The module writes the netlist as a C program, with a statement for each cell after the statements of the cells that
drive it. A cycle is one pass over the statements, without events and without glitches: with zero delay, each net
changes at most once a cycle. The C program builds in a twentieth of the time that general simulators need, which makes
a sweep over many cores possible. `make hw-synthesis` compares its toggles with Verilator's, net by net.

In every measured cycle the outputs of the netlist must equal those of the RTL, so that the measured energy is that of
the RTL's function.
"""

import itertools
import re
import struct
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from casemate._core import CasemateError
from casemate.hardware import functions, tools
from casemate.hardware.library import Cell, Flop, Library
from casemate.hardware.netlist import Instance, Net, Netlist
from casemate.hardware.stimulus import Trace

STATEMENTS_IN_A_FUNCTION = 2000
"""Compilers take more than linear time for long functions."""

_MAIN = """
int main(void) {
    static unsigned char in[INPUTS + 1], out[OUTPUTS + 1];
    FILE* const file = fopen("trace.bin", "rb");
    unsigned header[2];
    begin();
    if (!file || fread(header, sizeof header, 1, file) != 1) return 2;
    for (unsigned cycle = 0; cycle < header[0]; cycle++) {
        if (fread(in, 1, INPUTS, file) != INPUTS || fread(out, 1, OUTPUTS, file) != OUTPUTS) return 2;
        set(in);
        settle();
        // What resets may come from logic: until it stays the same.
        for (int turn = 0; force() && turn < 64; turn++) settle();
        const int measured = cycle >= header[1];
        const int wrong = measured ? compare(out) : -1;
        if (wrong >= 0) {
            printf("WRONG %u %d\\n", cycle, wrong);
            return 0;
        }
        if (measured)
            for (int n = 0; n < NETS; n++) {
                rises[n] += v[n] & ~old[n] & 1;
                falls[n] += old[n] & ~v[n] & 1;
            }
        memcpy(old, v, NETS);
        edge();
    }
    FILE* const counts = fopen("toggles.bin", "wb");
    if (!counts) return 2;
    fwrite(rises, sizeof *rises, NETS, counts);
    fwrite(falls, sizeof *falls, NETS, counts);
    return fclose(counts) != 0;
}
"""


class DifferenceError(CasemateError):
    """An output of the netlist differs from that of the RTL."""


@dataclass(frozen=True)
class Toggles:
    """Rises and falls of each net, by its number."""

    rises: dict[int, int]
    falls: dict[int, int]
    cycles: int


def run(netlist: Netlist, library: Library, clock: str, trace: Trace, folder: Path) -> Toggles:
    """Runs a netlist with a trace of its ports. Raises `DifferenceError` if an output differs from the RTL's in a
    measured cycle, and `CasemateError` if the netlist has parts that cannot be run: gated clocks, latches.
    """
    compiler = tools.need_program("cc", "gcc", "simulation of netlists")
    numbers = {net: number for number, net in enumerate(sorted(netlist.nets()))}
    (folder / "gates.c").write_text(_Writer(netlist, library, clock, numbers).text())
    inputs = [(name, bit) for name, bit, _ in netlist.input_bits() if name != clock]
    outputs = [(name, bit) for name, bit, _ in netlist.output_bits()]
    _write_trace(trace, inputs, outputs, folder / "trace.bin")
    tools.run([compiler, "-O0", "-w", "-o", "gates", "gates.c"], folder, "gates", "the C compiler")
    said = tools.run([str(folder / "gates")], folder, "simulation", "the netlist's simulation")
    if said.startswith("WRONG"):
        _, cycle, bit = said.split()
        name, position = outputs[int(bit)]
        raise DifferenceError(f"the netlist differs from the RTL in cycle {cycle}: bit {position} of '{name}'")
    counted = struct.unpack(f"<{2 * len(numbers)}I", (folder / "toggles.bin").read_bytes())
    rises, falls = counted[: len(numbers)], counted[len(numbers) :]
    return Toggles(
        {net: rises[number] for net, number in numbers.items()},
        {net: falls[number] for net, number in numbers.items()},
        trace.cycles,
    )


def check(netlist: Netlist, library: Library, clock: str) -> None:
    """Raises `CasemateError` for a netlist without meaningful timing and energy: without flip-flops, with flip-flops
    that the clock does not drive directly, or with a loop of logic.
    """
    if all(library.cells[each.cell].flop is None for each in netlist.instances):
        raise CasemateError(
            f"'{netlist.top}' has no flip-flops: expected a core that is clocked; put registers around it"
        )
    numbers = {net: number for number, net in enumerate(sorted(netlist.nets()))}
    _Writer(netlist, library, clock, numbers).edges()
    in_order(netlist, library)
    _check_clock(netlist, library, clock)


def _check_clock(netlist: Netlist, library: Library, clock: str) -> None:
    """Raises `CasemateError` if logic or an output port uses the clock as data, since a clock has no single value in a
    cycle.
    """
    net = netlist.ports[clock].nets[0]
    for each in netlist.instances:
        flop = library.cells[each.cell].flop
        clocked = re.findall(r"\w+", flop.clock) if flop else []
        for pin in library.cells[each.cell].inputs:
            if each.pins.get(pin) == net and pin not in clocked:
                raise CasemateError(
                    f"'{netlist.top}' has logic behind its clock '{clock}' (a cell '{each.cell}'): expected it "
                    "only at clock pins of flip-flops"
                )
    for name, bit, out in netlist.output_bits():
        if out == net:
            raise CasemateError(f"'{netlist.top}' gives its clock '{clock}' out as bit {bit} of '{name}'")


def _write_trace(trace: Trace, inputs: list[tuple[str, int]], outputs: list[tuple[str, int]], path: Path) -> None:
    """Writes all port values, a byte for each bit."""
    values = dict.fromkeys((name for name, _ in inputs), 0)
    with path.open("wb") as file:
        file.write(struct.pack("<2I", len(trace.inputs), trace.first))
        for changes, seen in zip(trace.inputs, trace.outputs, strict=True):
            values |= changes
            file.write(bytes(values[name] >> bit & 1 for name, bit in inputs))
            file.write(bytes(seen[name] >> bit & 1 for name, bit in outputs))


def in_order(netlist: Netlist, library: Library) -> list[tuple[Instance, Cell]]:
    """Returns the cells without state, each after the cells that drive it. Raises `CasemateError` for a loop."""
    logic = [(each, library.cells[each.cell]) for each in netlist.instances if library.cells[each.cell].flop is None]
    driver = {
        each.pins[pin]: number for number, (each, cell) in enumerate(logic) for pin in cell.outputs if pin in each.pins
    }
    waits = [0] * len(logic)
    behind = list[list[int]]([] for _ in logic)
    for number, (each, cell) in enumerate(logic):
        for pin in cell.inputs:
            if (before := driver.get(each.pins.get(pin, "0"))) is not None:
                waits[number] += 1
                behind[before].append(number)
    ready = deque(number for number, count in enumerate(waits) if not count)
    order = list[tuple[Instance, Cell]]()
    while ready:
        number = ready.popleft()
        order.append(logic[number])
        for after in behind[number]:
            waits[after] -= 1
            if not waits[after]:
                ready.append(after)
    if len(order) < len(logic):
        raise CasemateError(f"'{netlist.top}' has a combinational loop: it cannot be simulated without delays")
    return order


def _zero_of(flop: Flop) -> int:
    """Returns the state of a flip-flop after an edge with zero at its data input and an active enable. It is one in
    a cell that stores the inverse of its input.
    """
    states = (flop.state, flop.inverse)
    pins = [name for name in functions.inputs(flop.next_state) if name not in states]

    def after(inputs: tuple[int, ...], state: int) -> int:
        values = {**dict(zip(pins, inputs, strict=True)), flop.state: state, flop.inverse: 1 - state}
        return functions.evaluate(flop.next_state, values)

    def loads(inputs: tuple[int, ...]) -> bool:
        return after(inputs, 0) == after(inputs, 1)

    # An enable is a pin with a value at which the state stays, whatever the other pins are.
    every = list(itertools.product((0, 1), repeat=len(pins)))
    kept = [
        (at, value)
        for at in range(len(pins))
        for value in (0, 1)
        if not any(loads(inputs) for inputs in every if inputs[at] == value)
    ]
    active = {at: 1 - value for at, value in kept}
    return after(tuple(active.get(at, 0) for at in range(len(pins))), 0)


def _states_of(number: int, cell: Cell) -> dict[str, str]:
    """Returns the names of a flip-flop's state and of its inverse, each with its expression."""
    assert cell.flop is not None
    return {cell.flop.state: f"state[{number}]", cell.flop.inverse: f"(1^state[{number}])"}


class _Writer:
    """Writes a netlist as C."""

    def __init__(self, netlist: Netlist, library: Library, clock: str, numbers: dict[int, int]) -> None:
        self._netlist, self._library, self._numbers = netlist, library, numbers
        self._clock = netlist.ports[clock].nets[0]
        self._clock_name = clock
        self._flops = [
            (each, cell) for each in netlist.instances if (cell := library.cells[each.cell]).flop is not None
        ]

    def text(self) -> str:
        """Returns the whole program in C."""
        ins = [net for name, _, net in self._netlist.input_bits() if name != self._clock_name]
        outs = [net for _, _, net in self._netlist.output_bits()]
        inputs = [f"    v[{self._numbers[net]}] = in[{at}];" for at, net in enumerate(ins) if isinstance(net, int)]
        compared = [f"    if ({self._value(net)} != out[{at}]) return {at};" for at, net in enumerate(outs)]
        head = [
            "#include <stdio.h>", "#include <string.h>",
            f"enum {{ NETS = {len(self._numbers)}, INPUTS = {len(ins)}, OUTPUTS = {len(outs)} }};",
            "static unsigned char v[NETS + 1], old[NETS + 1];",
            "static unsigned rises[NETS + 1], falls[NETS + 1];",
            f"static unsigned char state[{len(self._flops)} + 1], next[{len(self._flops)} + 1];",
        ]  # fmt: skip
        return "\n".join([
            *head,
            _function("void begin(void)", self._begun()),
            _function("void set(const unsigned char* in)", inputs),
            _function("int compare(const unsigned char* out)", [*compared, "    return -1;"]),
            _in_parts("settle", [*self._states(), *self._logic()]),
            _function("int force(void)", ["    int changed = 0;", *self._forced(), "    return changed;"]),
            _function("void edge(void)", [*self.edges(), f"    memcpy(state, next, {len(self._flops)});"]),
            _MAIN,
        ])  # fmt: skip

    def _value(self, net: Net) -> str:
        return f"v[{self._numbers[net]}]" if isinstance(net, int) else net

    def _written(self, function: str, each: Instance, states: Mapping[str, str] | None = None) -> str:
        """Returns a function of the pins of a cell, and of the `states` of a flip-flop, in C."""
        names = states or {}
        return functions.expression(function, lambda name: names.get(name) or self._value(each.pins.get(name, "0")))

    def _logic(self) -> list[str]:
        lines = list[str]()
        for each, cell in in_order(self._netlist, self._library):
            for pin in cell.outputs:
                if isinstance(net := each.pins.get(pin), int):
                    lines.append(f"    {self._value(net)} = {self._written(cell.pins[pin].function, each)};")
        return lines

    def _begun(self) -> list[str]:
        """Statements that give each flip-flop the state of a zero register in the RTL."""
        flops = (cell.flop for _, cell in self._flops)
        return [f"    state[{number}] = 1;" for number, flop in enumerate(flops) if flop and _zero_of(flop)]

    def _states(self) -> list[str]:
        """Statements that drive the outputs of flip-flops."""
        lines = list[str]()
        for number, (each, cell) in enumerate(self._flops):
            assert cell.flop is not None
            states = _states_of(number, cell)
            for pin in cell.outputs:
                if isinstance(net := each.pins.get(pin), int):
                    written = functions.expression(cell.pins[pin].function, states.__getitem__)
                    lines.append(f"    {self._value(net)} = {written};")
        return lines

    def _forced(self) -> list[str]:
        """Statements for asynchronous resets and sets."""
        lines = list[str]()
        for number, (each, cell) in enumerate(self._flops):
            assert cell.flop is not None
            for function, value in ((cell.flop.clear, 0), (cell.flop.preset, 1)):
                # A pin that is tied to its inactive value needs no statement.
                if function and (written := self._written(function, each)) != "(1^1)":
                    lines.append(
                        f"    if ({written} && state[{number}] != {value}) changed = 1, state[{number}] = {value};"
                    )
        return lines

    def edges(self) -> list[str]:
        """Statements that update flip-flops at the clock edge."""
        lines = list[str]()
        for number, (each, cell) in enumerate(self._flops):
            assert cell.flop is not None
            if self._written(cell.flop.clock, each) != self._value(self._clock):
                raise CasemateError(self._not_clocked(each, cell))
            # The next state of a flip-flop with an enable depends on its state.
            value = self._written(cell.flop.next_state, each, _states_of(number, cell))
            for function, forced in ((cell.flop.preset, 1), (cell.flop.clear, 0)):
                if function and (written := self._written(function, each)) != "(1^1)":
                    value = f"({written} ? {forced} : {value})"
            lines.append(f"    next[{number}] = {value};")
        return lines

    def _not_clocked(self, each: Instance, cell: Cell) -> str:
        """Returns the message on a flip-flop with a wrong clock."""
        assert cell.flop is not None
        called, clock = self._called(each, cell), self._clock_name
        pin, at_falling_edge = functions.literal(cell.flop.clock) or ("", False)
        net = each.pins.get(pin, "0")
        inverters = (
            driver
            for driver in self._netlist.instances
            if self._library.inverts(driver.cell)
            and net in driver.pins.values()
            and self._clock in driver.pins.values()
        )
        if at_falling_edge and next(inverters, None):
            return (
                f"the library '{self._library.path}' has no flip-flop for the rising edge that synthesis takes: it put "
                f"'{each.cell}' behind an inverter for '{called}'. Expected a cell with an 'ff': 'clocked_on' is an "
                "input, 'next_state' is an input or its inverse, and an output is the state or its inverse"
            )
        return (
            f"'{self._netlist.top}' has a flip-flop that '{clock}' does not clock directly ({called}): gated, inverted "
            "and several clocks cannot be simulated here"
        )

    def _called(self, each: Instance, cell: Cell) -> str:
        """Returns the name of a flip-flop's state in the RTL."""
        nets = (each.pins.get(pin) for pin in cell.outputs)
        names = (self._netlist.names.get(net) for net in nets if isinstance(net, int))
        return next((name for name in names if name), each.name)


def _function(head: str, lines: list[str]) -> str:
    return "\n".join([f"static {head} {{", *lines, "}"])


def _in_parts(name: str, lines: list[str]) -> str:
    """Splits a C function of many statements into several, which one function calls one after the other."""
    parts = [
        lines[start : start + STATEMENTS_IN_A_FUNCTION] for start in range(0, len(lines), STATEMENTS_IN_A_FUNCTION)
    ]
    written = [_function(f"void {name}_{number}(void)", part) for number, part in enumerate(parts)]
    calls = [f"    {name}_{number}();" for number in range(len(parts))]
    return "\n".join([*written, _function(f"void {name}(void)", calls)])
