"""Checks the cost estimates of whole hardware cores: `casemate.hardware.flow` against mental arithmetic (`make
hw-synthesis`).

The cells are of a library with delays linear in the load and equal energies for all slews. The RTL leaves synthesis no
choice: a lane that shifts the parity of four bits through twenty flip-flops, and a pair of lanes behind one more. In
the lane the longest path begins at an input, in the pair it ends at an output. The stimulus has every flip-flop toggle
in every cycle. So each figure follows from only the RTL and the library, as its comment shows.
"""

from dataclasses import replace
from math import isclose
from pathlib import Path

from casemate.hardware import library as libraries
from casemate.hardware import sources
from casemate.hardware.design import Design
from casemate.hardware.flow import Flow, Request
from casemate.schemas.hardware import CoreCost

RTL = """
module lane #(parameter int unsigned Bits = 3) (
  input logic clk_i, input logic rst_ni, input logic [3:0] b_i, output logic y_o
);
  logic [Bits-1:0] q;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) q <= '0;
    else q <= {q[Bits-2:0], ^b_i};
  assign y_o = q[Bits-1];
endmodule

module pair #(parameter int unsigned Bits = 3) (
  input logic clk_i, input logic rst_ni, input logic [3:0] b_i, output logic y_o
);
  logic [1:0] y;
  logic turn_q;
  for (genvar l = 0; l < 2; l++) begin : gen_lane
    lane #(.Bits(Bits)) u_lane (.clk_i, .rst_ni, .b_i, .y_o(y[l]));
  end
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) turn_q <= 1'b0;
    else turn_q <= ^b_i;
  assign y_o = ^{y, turn_q};
endmodule
"""
PARAMETERS = (("Bits", "20"),)
STIMULUS = """
def drive(core):
    for reset in (1, 0, 1):
        core.cycle(rst_ni=reset)
    if core.key < 1 << 128:
        raise ValueError("a key of 32 bytes was asked for")
    for cycle in range(4 * len(core.lines)):
        if cycle == 24:
            core.measure()
        core.cycle(b_i=cycle % 2)
        if cycle % 4 == 0:
            core.begun(cycle // 4)
        if cycle % 4 == 3:
            core.done(line=cycle // 4)
"""
"""Fills all flip-flops, so that each toggles in every cycle, and then measures ten fours of cycles, of
sixteen that are requested."""
AXES = 'index_1 ("0, 0.5, 1"); index_2 ("0.1, 0.5, 1");'
"""Loads and slews of tables: ABC accepts no table of fewer than three."""


def table(kind: str, template: str, value: float, at_1_pf: float = 0.0) -> str:
    """Returns a table that has `value` at every slew, plus `at_1_pf` for each pF of load."""
    rows = ", ".join(f'"{row}, {row}, {row}"' for row in (value, value + at_1_pf / 2, value + at_1_pf))
    return f"{kind}({template}) {{ {AXES} values ({rows}); }} "


def arc(source: str, how: str, delay_ns: float, energy_pj: tuple[float, float]) -> str:
    """Returns the effect of an input on an output: this delay and 1 ns more for each pF, these energies of a rise and a
    fall.
    """
    times = "".join(table(f"cell_{edge}", "t", delay_ns, 1) for edge in ("rise", "fall"))
    times += "".join(table(f"{edge}_transition", "t", 0.1, 1) for edge in ("rise", "fall"))
    energies = "".join(table(f"{edge}_power", "e", pj) for edge, pj in zip(("rise", "fall"), energy_pj, strict=True))
    related = f'related_pin : "{source}";'
    return f"timing() {{ {related} {how} {times} }} internal_power() {{ {related} {energies} }} "


def pin(name: str, capacitance_pf: float, more: str = "") -> str:
    """Returns the pin of an input."""
    return f"pin({name}) {{ direction : input; capacitance : {capacitance_pf}; {more} }} "


def gate(name: str, area: int, function: str, inputs: str, delay_ns: float, energy_pj: tuple[float, float]) -> str:
    """A gate with inputs of 0.02 pF, which leaks 2 nW."""
    arcs = "".join(arc(each, "timing_sense : non_unate;", delay_ns, energy_pj) for each in inputs)
    pins = "".join(pin(each, 0.02) for each in inputs)
    output = f'pin(Y) {{ direction : output; function : "{function}"; {arcs} }}'
    return f"cell ({name}) {{ area : {area}; cell_leakage_power : 2; {pins} {output} }}"


def library() -> str:
    """The library: pF, ns, pJ and nW, at 2 V."""
    setup = "".join(table(f"{edge}_constraint", "s", 0.1) for edge in ("rise", "fall"))
    inside = 'internal_power() { rise_power(p) { values ("0.5, 0.5"); } fall_power(p) { values ("0.25, 0.25"); } }'
    thresholds = "".join(
        f"slew_upper_threshold_pct_{edge} : 80; slew_lower_threshold_pct_{edge} : 20; "
        f"input_threshold_pct_{edge} : 50; output_threshold_pct_{edge} : 50; "
        for edge in ("rise", "fall")
    )
    return f"""library (flat) {{ delay_model : table_lookup; nom_voltage : 2; nom_process : 1; nom_temperature : 25;
  time_unit : "1ns"; voltage_unit : "1V"; leakage_power_unit : "1nW"; capacitive_load_unit (1,pf); {thresholds}
  lu_table_template(t) {{ variable_1 : total_output_net_capacitance; variable_2 : input_net_transition; {AXES} }}
  lu_table_template(s) {{ variable_1 : related_pin_transition; variable_2 : constrained_pin_transition; {AXES} }}
  power_lut_template(e) {{ variable_1 : total_output_net_capacitance; variable_2 : input_transition_time; {AXES} }}
  power_lut_template(p) {{ variable_1 : input_transition_time; index_1 ("0.1, 1"); }}
{gate("INV", 10, "!A", "A", 0.1, (0.1, 0.1))}
{gate("BUF", 20, "A", "A", 0.2, (0.2, 0.2))}
{gate("NAND", 15, "!(A*B)", "AB", 0.15, (0.3, 0.3))}
{gate("XOR", 30, "A^B", "AB", 0.4, (0.5, 0.7))}
cell (FLOP) {{ area : 100; cell_leakage_power : 5;
  ff (IQ, IQN) {{ next_state : "D"; clocked_on : "C"; clear : "!R"; }}
  {pin("C", 0.03, f"clock : true; {inside}")}
  {pin("D", 0.04, f'timing() {{ related_pin : "C"; timing_type : setup_rising; {setup} }}')}
  {pin("R", 0.01)}
  pin(Q) {{ direction : output; function : "IQ"; {arc("C", "timing_type : rising_edge;", 0.3, (0.6, 0.8))} }} }} }}
"""


def lane_is(cost: CoreCost) -> dict[str, tuple[float | str, float | str]]:
    """Compares the cost of a lane with the expected cost."""
    area, speed = cost.area, cost.speed
    return {
        # A parity of four bits is three gates; two buffers share the twenty pins of the reset.
        "cells": (area.cells, 20 + 3 + 2),
        "flops": (area.flops, 20),
        "um2": (area.um2, 20 * 100 + 3 * 30 + 2 * 20),
        "flops_um2": (area.flops_um2, 20 * 100),
        "fanout_buffers": (area.fanout_buffers, 2),
        # Two gates of 0.4 ns, the one with a gate of 0.02 pF, the other with a flip-flop of 0.04 behind it, and setup.
        "delay_ns": (1e3 / speed.fmax_mhz, 0.42 + 0.44 + 0.1),
        "path_cells": (speed.path_cells, 3),
        "path_begins": (speed.path_begins.rsplit("_", 1)[0], "b_i"),
        "path_ends": (speed.path_ends, "q[0]"),
    }


def pair_is(cost: CoreCost) -> dict[str, tuple[float | str, float | str]]:
    """Compares the cost of two lanes behind a flip-flop with the expected cost."""
    area, speed, fpga, energy = cost.area, cost.speed, cost.fpga, cost.energy
    assert fpga is not None
    assert energy is not None
    return {
        # Around the lanes: a parity of four, one of three, a flip-flop. 41 pins of the reset take three buffers.
        "cells": (area.cells, 2 * (20 + 3) + (1 + 3 + 2) + 3),
        "flops": (area.flops, 41),
        "um2": (area.um2, 41 * 100 + (3 + 3 + 3 + 2) * 30 + 3 * 20),
        "flops_um2": (area.flops_um2, 41 * 100),
        "fanout_buffers": (area.fanout_buffers, 3),
        # A flip-flop of 0.3 ns with a gate behind it, a gate with a gate behind it, and one with the port.
        "delay_ns": (1e3 / speed.fmax_mhz, 0.32 + 0.42 + 0.4),
        "path_cells": (speed.path_cells, 3),
        "path_ends": (speed.path_ends, "y_o_0"),
        # Four cycles each; the last of them is three after the one in which it was taken.
        "cycles_per_line": (speed.cycles_per_line or 0, 4),
        "latency_cycles": (speed.latency_cycles or 0, 3),
        "lines": (energy.lines, 10),
        # Each parity is a look-up table, and so is the inverter that makes a low reset high, one in each module.
        "lut": (fpga.lut, 2 * 2 + 3),
        "fpga flops": (fpga.flops, 2 * 20 + 1),
        "other parts": (fpga.muxes + fpga.carries + fpga.block_rams + fpga.others, 0),
        # Each cycle half of 4 V2 times the toggling pins. Bit 0 has three gates, and each parity a gate and a flip-flop
        # behind it. Each lane has 19 flip-flops behind other flip-flops, and three gates are behind the last ones.
        # Rises and falls are as many.
        "switching_nj": (energy.switching_nj, 4e-3 * 2 * (3 * 0.02 + 3 * (0.02 + 0.04) + 2 * 19 * 0.04 + 3 * 0.02)),
        # In each parity two gates toggle; the last ones toggle together, so that one of the two gates behind them does.
        # Rises and falls are as many.
        "internal_nj": (energy.internal_nj, 4e-3 * ((3 * 2 + 1) * (0.5 + 0.7) / 2 + 41 * (0.6 + 0.8) / 2)),
        # A rise and a fall each cycle: the energy within, and 0.03 pF at 4 V2.
        "clock_nj": (energy.clock_nj, 4e-3 * 41 * (0.5 + 0.25 + 0.03 * 4)),
        # 41 flip-flops of 5 nW, 11 gates and 3 buffers of 2, for 4 cycles of 1.14 ns.
        "leakage_nj": (energy.leakage_nj, (41 * 5 + 14 * 2) * 4 * 1.14e-9),
        "total_nj": (energy.total_nj, 0.01456 + 0.1316 + 0.14268 + 1.06e-6),
    }


def check(said: str, figures: dict[str, tuple[float | str, float | str]]) -> tuple[str, bool, str]:
    """Returns true if all figures are as expected: counts are equal, OpenSTA's times have seven digits of 1000 ns."""

    def differs(found: float | str, expected: float | str) -> bool:
        if isinstance(found, str) or isinstance(expected, str):
            return found != expected
        return not isclose(found, expected, rel_tol=2e-4)

    off = [
        f"{name} is {found} and not {expected}"
        for name, (found, expected) in figures.items()
        if differs(found, expected)
    ]
    return said, not off, "; ".join(off) or f"{len(figures)} figures"


def checks(folder: Path) -> list[tuple[str, bool, str]]:
    """Yields every check: its statement, its result, and the figures."""
    folder.mkdir()
    for name, text in (("pair.sv", RTL), ("flat.lib", library()), ("drives.py", STIMULUS)):
        (folder / name).write_text(text)
    read = sources.read([folder / "pair.sv"])
    lane, pair = (Design(read, top, PARAMETERS) for top in ("lane", "pair"))
    begun = list[str]()
    flow = Flow(libraries.read(folder / "flat.lib"), folder / "kept", report=begun.append)
    arguments = (
        Request(lane, has_fpga=False),
        Request(pair, stimulus=folder / "drives.py", key_bytes=32, lines=16, part=lane, copies=2),
    )
    alone, both = (flow.price(request) for request in arguments)
    steps = len(begun)
    # The results of this stimulus are not kept, like those of any user.
    again = [flow.price(replace(request, stimulus=None)) for request in arguments]
    is_same = [(cost.area, cost.speed.fmax_mhz, cost.fpga) for cost in again] == [
        (cost.area, cost.speed.fmax_mhz, cost.fpga) for cost in (alone, both)
    ]
    return [
        check("a lane is priced as by hand", lane_is(alone)),
        check("two lanes and the logic around them are priced as by hand", pair_is(both)),
        ("cores that are priced again from kept steps cost the same", is_same and len(begun) == steps,
         f"{steps} steps, and {len(begun) - steps} again"),
    ]  # fmt: skip
