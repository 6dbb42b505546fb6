"""The error for a netlist that differs from its RTL, or for a library without a suitable flip-flop, names the cause."""

from pathlib import Path
from typing import Any

import pytest
from casemate._core import CasemateError
from casemate.hardware import design, functions, gate_simulation, rtl_simulation, tools, undefined
from casemate.hardware.netlist import Instance
from casemate.hardware.stimulus import Trace
from hardware_parts import TEXT, netlist, small_library

PORTS = {"clk": (True, 1), "d": (True, 1), "q": (False, 1)}
INVERSE = [
    ("!D", "IQN"),
    ("(D')", "!IQ"),
    ("(!D)", "(IQ)'"),
]
"""Next states and outputs of cells that store the inverse of their state."""


def stores_inverse(next_state: str, output: str) -> str:
    return TEXT.replace('next_state : "D"', f'next_state : "{next_state}"').replace(
        'function : "IQ"', f'function : "{output}"'
    )


class Replay:
    """A simulator that prints the last word on its command line."""

    def __init__(self, outputs: dict[str, list[int]], options: tuple[str, ...]) -> None:
        self._outputs = iter(outputs[options[0]])

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        return {"q": next(self._outputs)}

    def end(self) -> None:
        pass


def cause(monkeypatch: pytest.MonkeyPatch, of_values: list[int], of_beginnings: list[int]) -> str:
    """Returns the cause of a difference for RTL with the outputs 1, 0, 1, and with these outputs for other values of an
    `'x`, and for other values in registers.
    """
    built = list[str]()

    def build(*arguments: Any) -> Path:
        built.append(" ".join(arguments[-1]))
        return Path("simulator")

    def process(*arguments: Any) -> Replay:
        other = of_values if "x-assign unique" in built[-1] else of_beginnings
        zeros, ones, random = (f"+verilator+rand+reset+{number}" for number in range(3))
        return Replay({zeros: [1, 0, 1], ones: other, random: [1, 0, 1]}, arguments[-1])

    monkeypatch.setattr(rtl_simulation, "build", build)
    monkeypatch.setattr(rtl_simulation, "Process", process)
    trace = Trace([{"d": 1}, {}, {}], [{"q": 1}, {"q": 0}, {"q": 1}], first=1)
    return undefined.cause(design.Design((), "top"), PORTS, "clk", trace)


def test_a_mismatch_of_netlist_and_rtl_is_attributed_to_the_undefined_value_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "reaches an 'x: with another value for it, 'q' differs in cycle 2" in cause(
        monkeypatch, [1, 0, 0], [1, 1, 1]
    )
    assert "registers without a value when the measurement begins: with another value, 'q' differs in cycle 1" in (
        cause(monkeypatch, [1, 0, 1], [1, 1, 1])
    )
    assert "reaches no 'x and gives all registers a value" in cause(monkeypatch, [1, 0, 1], [1, 0, 1])


def test_a_value_undefined_only_before_the_measurement_is_not_blamed_for_a_mismatch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "reaches no 'x" in cause(monkeypatch, [0, 0, 1], [0, 0, 1])


@pytest.mark.parametrize(("next_state", "output"), INVERSE)
def test_a_netlist_with_inverting_flip_flops_simulates_as_its_rtl(tmp_path: Path, next_state: str, output: str) -> None:
    flop = netlist(
        {"clk": (True, 2), "d": (True, 3), "q": (False, 4)}, (Instance("r", "DFF", {"CK": 2, "D": 3, "Q": 4}),)
    )
    trace = Trace([{"d": 1}, {"d": 0}, {"d": 0}], [{"q": 0}, {"q": 1}, {"q": 0}], done=1)
    cells = small_library(tmp_path, stores_inverse(next_state, output))
    toggles = gate_simulation.run(flop, cells, "clk", trace, tmp_path)
    assert (toggles.rises[4], toggles.falls[4]) == (1, 1)


@pytest.mark.parametrize(("next_state", "output"), INVERSE)
def test_inverting_flip_flops_of_a_library_are_rewritten_to_the_form_that_synthesis_accepts(
    tmp_path: Path, next_state: str, output: str
) -> None:
    placed = small_library(tmp_path, stores_inverse(next_state, output)).copy_to(tmp_path).read_text()
    assert placed == stores_inverse("!D", "IQN")


def test_a_library_without_a_flip_flop_for_the_edge_is_named(tmp_path: Path) -> None:
    cells = small_library(tmp_path, TEXT.replace('clocked_on : "CK"', 'clocked_on : "!CK"'))
    instances = (
        Instance("c", "INV", {"A": 2, "Y": 5}),
        Instance("r", "DFF", {"CK": 5, "D": 3, "Q": 4}),
    )
    behind = netlist({"clk": (True, 2), "d": (True, 3), "q": (False, 4)}, instances)
    with pytest.raises(CasemateError, match="has no flip-flop for the rising edge that synthesis takes: it put 'DFF'"):
        gate_simulation.check(behind, cells, "clk")
    gated = netlist({"clk": (True, 2), "d": (True, 3), "q": (False, 4)}, instances[1:])
    with pytest.raises(CasemateError, match="has a flip-flop that 'clk' does not clock directly"):
        gate_simulation.check(gated, cells, "clk")


@pytest.mark.parametrize(
    ("function", "literal"),
    [("A", ("A", False)), ("(!A)", ("A", True)), ("(A')'", ("A", False)), ("!A B", None), ("1", None)],
)
def test_a_function_of_one_input_is_recognised_in_every_notation(
    function: str, literal: tuple[str, bool] | None
) -> None:
    assert functions.literal(function) == literal


DONT_CARE = """
module core(input clk, input rst, input [3:0] d, output reg [3:0] q);
  reg [1:0] t;
  always @* casez (d) 4'b1???: t = 3; 4'b01??: t = 2; default: t = 2'bx; endcase
  always @(posedge clk) if (rst) q <= 0; else q <= q + {2'b0, t} + d;
endmodule
"""


def test_a_real_simulation_reports_rtl_that_reaches_an_x(tmp_path: Path) -> None:
    try:
        tools.need_simulation()
    except CasemateError as missing:
        pytest.skip(str(missing))
    (tmp_path / "core.v").write_text(DONT_CARE)
    core = design.Design((tmp_path / "core.v",), "core")
    ports = {"clk": (True, 1), "rst": (True, 1), "d": (True, 4), "q": (False, 4)}
    inputs = [{"rst": 1, "d": 8}, {"rst": 0}, {"d": 1}, {"d": 8}]
    outputs = [{"q": 0}, {"q": 0}, {"q": 11}, {"q": 12}]
    assert "reaches an 'x: with another value for it, 'q' differs in cycle 3" in undefined.cause(
        core, ports, "clk", Trace(inputs, outputs, first=1)
    )
    defined = [{"q": 0}, {"q": 0}, {"q": 11}, {"q": 6}]
    inputs[2] = {"d": 8}
    assert "reaches no 'x" in undefined.cause(core, ports, "clk", Trace(inputs, defined, first=1))
