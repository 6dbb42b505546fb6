"""The energy of a netlist, net by net, from the toggles of each net.

At each rise of a net with load C, the supply delivers the energy C V^2. The cell dissipates half of this energy at the
rise and half at the fall. So

    switching   = (rises + falls) 1/2 C V^2,  C = the input pins at the net
    internal    = the tables of `internal_power` for each output that rises or falls, by its load and the slew at
                  its input (the mean over its inputs, since without delays the cause is unknown), and for
                  each input with a separate table
    clock       = both of the clock's net and of the clock pins of flip-flops, which toggle twice a cycle
    leakage     = the cells' leakage over the time that it took

The slew at an output is the slowest that the tables give for any input of the cell; ports and the clock have the
library's fastest slew. The energy of wires, of the clock tree and of glitches is not modelled. Source: Liberty user
guide, "Modeling power".
"""

from dataclasses import dataclass

from casemate.hardware.gate_simulation import Toggles, in_order
from casemate.hardware.library import Arc, Cell, Library
from casemate.hardware.netlist import Instance, Net, Netlist


@dataclass(frozen=True)
class Energy:
    """Dynamic energy of the measured cycles in joules, and leakage power in watts."""

    switching_j: float
    internal_j: float
    clock_j: float
    leakage_w: float

    @property
    def dynamic_j(self) -> float:
        """Sum of the parts that toggling causes: switching, internal and clock energy."""
        return self.switching_j + self.internal_j + self.clock_j


def find(netlist: Netlist, library: Library, clock: str, toggles: Toggles) -> Energy:
    """Energy of these toggles, and of the clock, which rises and falls once in each cycle."""
    return _Account(netlist, library, clock, toggles).energy()


class _Account:
    """Loads, slews and toggles of all nets of a netlist."""

    def __init__(self, netlist: Netlist, library: Library, clock: str, toggles: Toggles) -> None:
        self._netlist, self._library, self._toggles = netlist, library, toggles
        self._clock = netlist.ports[clock].nets[0]
        self._loads = {
            net: sum(library.cells[netlist.instances[number].cell].pins[pin].capacitance_f for number, pin in served)
            for net, served in netlist.sinks(library).items()
        }
        self._slews = self._propagated()

    def energy(self) -> Energy:
        """Energy of all nets and pins."""
        switching = sum(
            sum(self._times(net)) / 2 * load * self._library.voltage_v**2
            for net, load in self._loads.items()
            if net != self._clock
        )
        at_clock = self._loads.get(self._clock, 0.0) if isinstance(self._clock, int) else 0.0
        clock = self._toggles.cycles * at_clock * self._library.voltage_v**2
        internal = leakage = 0.0
        for each in self._netlist.instances:
            cell = self._library.cells[each.cell]
            leakage += cell.leakage_w
            for name, pin in cell.pins.items():
                net = each.pins.get(name, "0")
                if isinstance(net, int) and pin.energies_j:
                    taken = self._internal(cell, name, net, each)
                    internal += 0.0 if net == self._clock else taken
                    clock += taken if net == self._clock else 0.0
        return Energy(switching, internal, clock, leakage)

    def _times(self, net: int) -> tuple[int, int]:
        """Number of rises and falls of a net."""
        if net == self._clock:
            return self._toggles.cycles, self._toggles.cycles
        return self._toggles.rises.get(net, 0), self._toggles.falls.get(net, 0)

    def _internal(self, cell: Cell, name: str, net: int, each: Instance) -> float:
        pin = cell.pins[name]
        arcs = _causes(cell, pin.energies_j)
        rises, falls = self._times(net)
        load = self._loads.get(net, 0.0) if pin.is_output else 0.0
        total = 0.0
        for arc in arcs:
            source = each.pins.get(arc.source, net) if arc.source else net
            slew = self._slew(source)
            total += rises * arc.rise.at(load, slew) + falls * arc.fall.at(load, slew)
        return total / len(arcs)

    def _slew(self, net: Net) -> float:
        return self._slews.get(net, self._library.first_slew_s) if isinstance(net, int) else self._library.first_slew_s

    def _propagated(self) -> dict[int, float]:
        """Slew of each net that a cell drives, in seconds."""
        slews = dict[int, float]()
        flops = [(each, cell) for each in self._netlist.instances if (cell := self._library.cells[each.cell]).flop]
        for each, cell in [*flops, *in_order(self._netlist, self._library)]:
            for name in cell.outputs:
                net = each.pins.get(name)
                if not isinstance(net, int):
                    continue
                load = self._loads.get(net, 0.0)
                found = [self._library.first_slew_s]
                for arc in _causes(cell, cell.pins[name].transitions):
                    source = each.pins.get(arc.source, "0")
                    slew = slews.get(source) if isinstance(source, int) else None
                    slew = self._library.first_slew_s if slew is None else slew
                    found.append(max(arc.rise.at(load, slew), arc.fall.at(load, slew)))
                slews[net] = max(found)
        return slews


def _causes(cell: Cell, arcs: tuple[Arc, ...]) -> tuple[Arc, ...]:
    """Timing arcs that cause changes of an output; for a flip-flop only those from its clock, since resets are rare."""
    if cell.flop is None:
        return arcs
    clocked = tuple(arc for arc in arcs if arc.source and arc.source in cell.flop.clock)
    return clocked or arcs
