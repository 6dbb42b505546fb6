"""Replaces nets with many sinks by trees of buffers.

ABC sizes and buffers logic, but assumes that the outputs of flip-flops drive any load. Without this step, a state bit
with 414 sinks would decide the frequency of a whole core. A place-and-route tool would split this kind of net by the
positions of its sinks. This module has no positions, so it groups the sinks in the order of the netlist. It does not
split the clock, since the clock tree is not modelled.
"""

from casemate.hardware.library import Library
from casemate.hardware.netlist import Instance, Net, Netlist

SINKS_MAX = 16
"""Maximum number of pins that a buffer or any other cell may drive."""


def split(netlist: Netlist, library: Library, clock: str, sinks_max: int = SINKS_MAX) -> tuple[Netlist, int]:
    """Returns the netlist without nets of more than `sinks_max` sinks, except the clock's, and the number of added
    buffers.
    """
    sinks = netlist.sinks(library)
    pins = [pin for cell in library.cells.values() for pin in cell.pins.values() if not pin.is_output]
    load = sinks_max * sum(pin.capacitance_f for pin in pins) / len(pins)
    buffer = library.buffer(load)
    at_ports = {net for _, _, net in netlist.output_bits()}
    kept = set(netlist.ports[clock].nets)
    changed = [dict(each.pins) for each in netlist.instances]
    added = list[Instance]()
    net = 1 + max(netlist.nets(), default=0)
    for source, served in sorted(sinks.items()):
        if source in kept or len(served) + (source in at_ports) <= sinks_max:
            continue
        # Build the tree level by level: the buffers of one level become the sinks of the next, until the source can
        # drive all sinks that remain.
        level = [(changed[number], pin) for number, pin in served]
        while len(level) + (source in at_ports) > sinks_max:
            above = list[tuple[dict[str, Net], str]]()
            for first in range(0, len(level), sinks_max):
                for pins_of, pin in level[first : first + sinks_max]:
                    pins_of[pin] = net
                own: dict[str, Net] = {buffer.inputs[0]: source, buffer.outputs[0]: net}
                added.append(Instance(f"fanout{net}", buffer.name, own))
                above.append((own, buffer.inputs[0]))
                net += 1
            level = above
    instances = [Instance(each.name, each.cell, pins) for each, pins in zip(netlist.instances, changed, strict=True)]
    return netlist.with_instances([*instances, *added]), len(added)
