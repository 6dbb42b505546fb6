"""A mapped netlist: cells of a library, with the net at each of their pins. A net is a number.

Yosys writes the netlist as JSON, as a whole or with boxes for parts that were mapped once and occur several times. All
later steps use this data structure: splitting of fan-out, area, simulation and energy.

For static timing the module writes the plainest Verilog, with a wire for each net and no vectors. The reason is OpenSTA
2.0.17: it silently drops an `assign` between vectors, and with the `assign` all logic behind it.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from casemate._core import CasemateError
from casemate.hardware import liberty
from casemate.hardware.library import Library

Net = int | Literal["0", "1"]
"""A net, or a constant."""


@dataclass(frozen=True)
class Port:
    """A port of the core, its lowest bit first."""

    is_input: bool
    nets: tuple[Net, ...]


@dataclass(frozen=True)
class Instance:
    """An instance of a cell, with the net at each pin."""

    name: str
    cell: str
    pins: dict[str, Net]


@dataclass(frozen=True)
class Netlist:
    """A core as cells of a library."""

    top: str
    ports: dict[str, Port]
    instances: tuple[Instance, ...]
    names: dict[int, str]
    """Names of nets in the RTL, for nets that have one."""

    def area_um2(self, library: Library) -> float:
        """The sum of the cells' areas."""
        return sum(library.cells[each.cell].area_um2 for each in self.instances)

    def counts(self) -> Counter[str]:
        """Number of cells of each kind."""
        return Counter(each.cell for each in self.instances)

    def sinks(self, library: Library) -> dict[int, list[tuple[int, str]]]:
        """Input pins that each net drives, each by the number of its instance and the name of the pin."""
        found = defaultdict[int, list[tuple[int, str]]](list)
        for number, each in enumerate(self.instances):
            for pin in library.cells[each.cell].inputs:
                net = each.pins.get(pin, "0")
                if isinstance(net, int):
                    found[net].append((number, pin))
        return found

    def nets(self) -> set[int]:
        """Returns all nets of the netlist."""
        pins = (net for each in self.instances for net in each.pins.values())
        ports = (net for port in self.ports.values() for net in port.nets)
        return {net for net in (*pins, *ports) if isinstance(net, int)}

    def with_instances(self, instances: list[Instance]) -> "Netlist":
        """Returns the same core with other cells."""
        return replace(self, instances=tuple(instances))

    def input_bits(self) -> Iterator[tuple[str, int, Net]]:
        """Every bit of every input port."""
        return self._bits(True)

    def output_bits(self) -> Iterator[tuple[str, int, Net]]:
        """Every bit of every output port."""
        return self._bits(False)

    def _bits(self, is_input: bool) -> Iterator[tuple[str, int, Net]]:
        for name, port in self.ports.items():
            if port.is_input == is_input:
                for bit, net in enumerate(port.nets):
                    yield name, bit, net


def read(path: Path, top: str, library: Library, parts: Mapping[str, "Netlist"] | None = None) -> Netlist:
    """Reads the netlist in a file that Yosys wrote, and replaces modules that Yosys left as boxes by the netlists in
    `parts`. Raises `CasemateError` if the file contains anything that is no cell of the library.
    """
    content = path.read_bytes()
    module = json.loads(gzip.decompress(content) if content[:2] == liberty.GZIP else content)["modules"][top]
    ports = {
        name: Port(port["direction"] == "input", tuple(_net(bit) for bit in port["bits"]))
        for name, port in module["ports"].items()
    }
    instances = list[Instance]()
    boxes = list[tuple[Netlist, dict[str, list[Net]]]]()
    for number, cell in enumerate(module["cells"].values()):
        kind, bits = cell["type"], {pin: [_net(bit) for bit in bits] for pin, bits in cell["connections"].items()}
        # A `$scopeinfo` cell is no hardware: it only records the names of flattened modules.
        if kind == "$scopeinfo":
            continue
        if parts and kind in parts:
            boxes.append((parts[kind], bits))
            continue
        if kind not in library.cells:
            raise CasemateError(
                f"'{top}' needs '{kind}', which the library '{library.path}' lacks: expected logic and flip-flops "
                "that it has a cell for, and no latches or memories"
            )
        if library.cells[kind].is_other_state:
            raise CasemateError(
                f"'{top}' needs '{kind}', a latch: expected flip-flops; latches are neither timed nor run here"
            )
        instances.append(Instance(f"i{number}", kind, {pin: nets[0] for pin, nets in bits.items() if nets}))
    netlist = Netlist(top, ports, tuple(instances), _names(module["netnames"]))
    return _filled(netlist, boxes) if boxes else netlist


def _filled(netlist: Netlist, boxes: list[tuple[Netlist, dict[str, list[Net]]]]) -> Netlist:
    """Returns a netlist with its boxes replaced by netlists, each connected like its box."""
    instances, names = list(netlist.instances), dict(netlist.names)
    outside = (net for _, pins in boxes for nets in pins.values() for net in nets if isinstance(net, int))
    fresh = 1 + max((*netlist.nets(), *outside))
    same = dict[Net, Net]()
    for number, (part, pins) in enumerate(boxes):
        known = dict[Net, Net]({"0": "0", "1": "1"})
        # Connect inputs first: an output may be wired directly to an input.
        for is_input in (True, False):
            for name, port in part.ports.items():
                for inner, outer in zip(port.nets, pins.get(name, ()), strict=False):
                    if port.is_input == is_input and known.setdefault(inner, outer) != outer:
                        same[outer] = known[inner]
        for net in sorted(part.nets() - known.keys()):
            known[net] = fresh
            names |= {fresh: f"box{number}.{part.names[net]}"} if net in part.names else {}
            fresh += 1
        for each in part.instances:
            instances.append(
                Instance(f"b{number}_{each.name}", each.cell, {pin: known[net] for pin, net in each.pins.items()})
            )
    if same:
        instances = [
            Instance(each.name, each.cell, {pin: _followed(net, same) for pin, net in each.pins.items()})
            for each in instances
        ]
    ports = {
        name: port if port.is_input else Port(False, tuple(_followed(net, same) for net in port.nets))
        for name, port in netlist.ports.items()
    }
    return Netlist(netlist.top, ports, tuple(instances), names)


def _followed(net: Net, same: dict[Net, Net]) -> Net:
    while net in same:
        net = same[net]
    return net


def _net(bit: int | str) -> Net:
    if isinstance(bit, int):
        return bit
    # An undefined bit may have any value; here it becomes 0, and so it is 0 in simulation and timing alike.
    return "1" if bit == "1" else "0"


def _names(named: dict[str, dict[str, object]]) -> dict[int, str]:
    """Name of each net: the shortest that the RTL gives it."""
    found = dict[int, str]()
    for name, each in sorted(named.items(), key=lambda item: -len(item[0])):
        bits = each["bits"]
        assert isinstance(bits, list)
        if not each["hide_name"]:
            for position, bit in enumerate(bits):
                if isinstance(bit, int):
                    found[bit] = f"{name}[{position}]" if len(bits) > 1 else name
    return found


def verilog(netlist: Netlist) -> str:
    """The netlist as Verilog without vectors: bit `b` of port `p` is the port `p_b`, net `n` the wire `nn`."""
    ins = [(f"{name}_{bit}", net) for name, bit, net in netlist.input_bits()]
    outs = [(f"{name}_{bit}", net) for name, bit, net in netlist.output_bits()]
    names = {net: name for name, net in ins}

    def written(net: Net) -> str:
        return names.get(net) or (f"n{net}" if isinstance(net, int) else f"1'b{net}")

    lines = [f"module {netlist.top} ({', '.join(name for name, _ in [*ins, *outs])});"]
    lines += [f"input {name};" for name, _ in ins]
    lines += [f"output {name};" for name, _ in outs]
    nets = {net for each in netlist.instances for net in each.pins.values() if isinstance(net, int)}
    lines += [f"wire n{net};" for net in sorted(nets - names.keys())]
    lines += [f"assign {name} = {written(net)};" for name, net in outs]
    for each in netlist.instances:
        pins = ", ".join(f".{pin}({written(net)})" for pin, net in each.pins.items())
        lines.append(f"{each.cell} {each.name} ({pins});")
    return "\n".join([*lines, "endmodule", ""])
