"""A cell library and netlists that are small enough to be worked out by hand, for the tests of the hardware flow."""

from pathlib import Path

from casemate.hardware import library
from casemate.hardware.library import Library
from casemate.hardware.netlist import Instance, Net, Netlist, Port

TABLE = 'index_1 ("0.1, 0.3"); index_2 ("0.1, 0.5"); values ("{0}, {0}", "{1}, {1}");'


def cell(name: str, area: float, function: str, inputs: str, energy: tuple[float, float]) -> str:
    """A gate with a delay of 0.1 ns at 0.1 pF and 0.3 ns at 0.3 pF, with these energies (pJ) for a rise and a fall."""
    arcs = "".join(
        f"""timing() {{ related_pin : "{pin}"; cell_rise(t) {{ {TABLE.format(0.1, 0.3)} }} cell_fall(t) {{
        {TABLE.format(0.1, 0.3)} }} rise_transition(t) {{ {TABLE.format(0.1, 0.3)} }} fall_transition(t) {{
        {TABLE.format(0.1, 0.3)} }} }} internal_power() {{ related_pin : "{pin}"; rise_power(e) {{
        {TABLE.format(energy[0], energy[0])} }} fall_power(e) {{ {TABLE.format(energy[1], energy[1])} }} }}"""
        for pin in inputs
    )
    pins = "".join(f"pin({pin}) {{ direction : input; capacitance : 0.05; }}" for pin in inputs)
    return (
        f"cell ({name}) {{ area : {area}; cell_leakage_power : 2; {pins} "
        f'pin(Y) {{ direction : output; function : "{function}"; {arcs} }} }}'
    )


CLOCK_POWER = """internal_power() {
    rise_power(p) { index_1 ("0.1, 0.5"); values ("0.5, 0.5"); }
    fall_power(p) { index_1 ("0.1, 0.5"); values ("0.25, 0.25"); } }"""
FLOP = f"""cell (DFF) {{ area : 96; cell_leakage_power : 4;
  ff (IQ, IQN) {{ next_state : "D"; clocked_on : "CK"; }}
  pin(CK) {{ direction : input; capacitance : 0.02; clock : true; {CLOCK_POWER} }}
  pin(D) {{ direction : input; capacitance : 0.01; }}
  pin(Q) {{ direction : output; function : "IQ"; }} }}"""
LATCH = FLOP.replace("DFF", "LATCH").replace("ff (IQ", "latch (IQ")
HEAD = """/* a library */ library (small) {
  time_unit : "1ns"; voltage_unit : "1V"; leakage_power_unit : "1nW"; capacitive_load_unit (1,pf); nom_voltage : 2;
  input_threshold_pct_rise : 50; output_threshold_pct_rise : 50;
  input_threshold_pct_fall : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_upper_threshold_pct_rise : 80;
  slew_lower_threshold_pct_fall : 20; slew_upper_threshold_pct_fall : 80;
  lu_table_template(t) { variable_1 : total_output_net_capacitance; variable_2 : input_net_transition;
    index_1 ("1, 2"); index_2 ("1, 2"); }
  power_lut_template(e) { variable_1 : total_output_net_capacitance; variable_2 : input_transition_time;
    index_1 ("1, 2"); index_2 ("1, 2"); }
  power_lut_template(p) { variable_1 : input_transition_time; index_1 ("1, 2"); }
"""
CELLS = "\n".join(
    (
        cell("INV", 16, "!A", "A", (1.0, 3.0)),
        cell("BUF", 24, "A", "A", (1.0, 1.0)),
        cell("XOR", 40, "A^B", "AB", (2.0, 4.0)),
        FLOP,
    )
)
TEXT = f"{HEAD}{CELLS} }}\n"


def small_library(folder: Path, text: str = TEXT) -> Library:
    """The library, read from a file."""
    path = folder / "small.lib"
    path.write_text(text)
    return library.read(path)


def two_gates() -> Netlist:
    """`y = !(a ^ b)`, with an unused clock: nets 2 (clk), 3 (a), 4 (b), 5 (between), 6 (y)."""
    instances = (
        Instance("i0", "INV", {"A": 5, "Y": 6}),
        Instance("i1", "XOR", {"A": 3, "B": 4, "Y": 5}),
    )
    return netlist({"clk": (True, 2), "a": (True, 3), "b": (True, 4), "y": (False, 6)}, instances)


def shared_net(sinks: int) -> Netlist:
    """A flip-flop with this number of inverters behind its output."""
    flop = Instance("flop", "DFF", {"CK": 2, "D": 3, "Q": 4})
    inverters = [Instance(f"i{number}", "INV", {"A": 4, "Y": 10 + number}) for number in range(sinks)]
    return netlist({"clk": (True, 2), "d": (True, 3)}, (flop, *inverters))


def netlist(ports: dict[str, tuple[bool, Net]], instances: tuple[Instance, ...]) -> Netlist:
    """A netlist with ports of one bit each."""
    return Netlist("top", {name: Port(is_input, (net,)) for name, (is_input, net) in ports.items()}, instances, {})
