"""Proves that a step of the GHASH multiplier with W bits equals two steps with W / 2, for every sum, factor and digit.

With this equality for each W in turn, every width gives the same products as one bit a cycle. ABC's equivalence check
of combinational circuits compares the steps, because the solvers of the other proofs are slow on wide networks of
exclusive-ors. The time grows with the square of the width, so only simulation checks 128 bits, against the library's
GHASH.
"""

import subprocess
import sys
from pathlib import Path

import pyosys
from pyosys import libyosys

STEP = "gf128_step.sv"

TOP = """
module {name} (input logic [127:0] sum, factor, input logic [{width}-1:0] digit, output logic [127:0] next);
  logic [127:0] sums[{steps}+1];
  assign sums[0] = sum;
  for (genvar i = 0; i < {steps}; i++) begin : gen_step
    gf128_step #(.W({width}/{steps})) u_step (
      .sum_i(sums[i]), .factor_i(factor), .digit_i(digit[i*({width}/{steps})+:{width}/{steps}]), .sum_o(sums[i+1]));
  end
  assign next = sums[{steps}];
endmodule
"""


def circuit(rtl: Path, folder: Path, width: int, steps: int) -> Path:
    """Writes the circuit of `steps` steps that together take `width` bits, as an AIGER file in `folder`."""
    name = f"step_{width}_in_{steps}"
    source, result = folder / f"{name}.sv", folder / f"{name}.aig"
    source.write_text(TOP.format(name=name, width=width, steps=steps))
    design = libyosys.Design()
    passes = [
        f"read_slang --top {name} {rtl / STEP} {source}",
        f"synth -flatten -top {name} -run begin:fine",
        "opt -full",
        "techmap",
        "opt",
        "aigmap",
        f"write_aiger -symbols {result}",
    ]
    for command in passes:
        design.run_pass(f"tee -q {command}")
    return result


def equal(rtl: Path, folder: Path, width: int) -> bool:
    """Returns True if one step of `width` bits and two steps of half the width are the same function."""
    folder.mkdir(parents=True, exist_ok=True)
    circuits = " ".join(str(circuit(rtl, folder, width, steps)) for steps in (1, 2))
    abc = next(Path(pyosys.__file__).parent.rglob("yosys-abc*"))
    run = subprocess.run([abc, "-c", f"cec {circuits}"], capture_output=True, text=True, check=True)
    return "Networks are equivalent" in run.stdout


if __name__ == "__main__":
    sys.exit(not equal(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
