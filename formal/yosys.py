"""Replaces Yosys for SymbiYosys with the native library of `pyosys`: WebAssembly would first compile for a minute.

SymbiYosys calls `yosys -ql LOG SCRIPT` and `yosys -ql LOG -p COMMANDS`; this program supports no other form.
"""

import sys

from pyosys import libyosys


def main(arguments: list[str]) -> None:
    """Runs the scripts and commands of `arguments` on one design, one after the other."""
    design = libyosys.Design()
    rest = iter(arguments)
    for argument in rest:
        if argument == "-ql":
            next(rest)  # no log file: the library always prints, and SymbiYosys keeps that output
        elif argument == "-p":
            design.run_pass(next(rest))
        else:
            design.run_pass(f"script {argument}")


if __name__ == "__main__":
    main(sys.argv[1:])
