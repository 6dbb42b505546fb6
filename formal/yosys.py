"""Yosys as SymbiYosys calls it, over the native library of `pyosys`: WebAssembly would compile for a minute first.

SymbiYosys asks for `yosys -ql LOG SCRIPT`, and for `yosys -ql LOG -p COMMANDS`; nothing else is understood.
"""

import sys

from pyosys import libyosys


def main(arguments: list[str]) -> None:
    """Runs the scripts and commands of `arguments` on one design, one after the other."""
    design = libyosys.Design()
    rest = iter(arguments)
    for argument in rest:
        if argument == "-ql":
            next(rest)  # SymbiYosys keeps what is printed, which the library always does
        elif argument == "-p":
            design.run_pass(next(rest))
        else:
            design.run_pass(f"script {argument}")


if __name__ == "__main__":
    main(sys.argv[1:])
