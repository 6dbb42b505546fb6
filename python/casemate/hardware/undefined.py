"""Finds the reason that a netlist differs from its RTL.

Synthesis gives an `'x` of the RTL the value that makes the logic small, and all registers of a netlist begin with zero.
An RTL simulator may choose other values for an `'x` and for registers. So this module runs the RTL again with the same
inputs, first with other values for each `'x`, then with other values in the registers without an initial value. The
first change that affects the outputs is the cause (Verilator's manual, `--x-assign`, `--x-initial`,
`+verilator+rand+reset+`).
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from casemate.hardware import rtl_simulation
from casemate.hardware.design import Design
from casemate.hardware.stimulus import Trace

_SEEDS = ("+verilator+rand+reset+0", "+verilator+rand+reset+1", "+verilator+rand+reset+2")
"""Values of `'x` and of registers to try: all zero, all one, and random."""

_OF_VALUES = ("--x-assign", "unique", "--x-initial", "0")
_OF_BEGINNINGS = ("--x-assign", "0", "--x-initial", "unique")

Ports = dict[str, tuple[bool, int]]


def cause(design: Design, ports: Ports, clock: str, trace: Trace) -> str:
    """Returns the cause, as a sentence with the expected RTL."""
    if found := _depends(design, ports, clock, trace, _OF_VALUES):
        return (
            f"the RTL reaches an 'x: with another value for it, '{found[1]}' differs in cycle {found[0]}. Synthesis "
            "gives an 'x the value that makes the logic small: expected a value for every signal that a measured cycle "
            "reaches, such as a default that is not 'x"
        )
    if found := _depends(design, ports, clock, trace, _OF_BEGINNINGS):
        return (
            "the RTL has registers without a value when the measurement begins: with another value, "
            f"'{found[1]}' differs in cycle {found[0]}: expected a reset before core.measure()"
        )
    return (
        "the RTL reaches no 'x and gives all registers a value. Registers of the netlist begin with zero: expected a "
        "reset before core.measure(), if the RTL gives a register another initial value (as in `reg q = 1`)"
    )


def _depends(
    design: Design, ports: Ports, clock: str, trace: Trace, options: tuple[str, ...]
) -> tuple[int, str] | None:
    """Returns the first measured cycle with an output that depends on Verilator's choice under these options, and this
    output.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = rtl_simulation.build(design, ports, clock, Path(folder), options)
        runs = [_replayed(program, ports, clock, trace, seed) for seed in _SEEDS]
        for cycle, (seen, *others) in enumerate(zip(trace.outputs, *runs, strict=True)):
            if cycle >= trace.first:
                for name, value in seen.items():
                    if any(other[name] != value for other in others):
                        return cycle, name
    return None


def _replayed(program: Path, ports: Ports, clock: str, trace: Trace, seed: str) -> Iterator[dict[str, int]]:
    """Yields the outputs of a simulator for the inputs of a trace, cycle by cycle."""
    process = rtl_simulation.Process(program, ports, clock, (seed,))
    try:
        for changes in trace.inputs:
            yield process.cycle(changes)
    finally:
        process.end()
