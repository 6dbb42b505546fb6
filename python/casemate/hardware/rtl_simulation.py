"""Runs RTL with a stimulus: a simulator by Verilator, behind an interface that shows only the ports of the core.

The simulator is a process. For each cycle it reads the inputs as a line of text and prints the outputs before the clock
edge, so that a stimulus can wait for the core. Text that the RTL prints goes to standard error. Verilator reads the RTL
without Yosys, so a comparison of its outputs with the netlist's checks the synthesis. Registers without reset begin as
zero in both.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from casemate._core import CasemateError
from casemate.hardware import tools
from casemate.hardware.design import Design
from casemate.hardware.stimulus import Core, Drive, Trace

CYCLES_MAX = 200_000
_TAKEN = frozenset({
    "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "concept",
    "const", "continue", "contextp", "decltype", "default", "delete", "do", "double", "else", "enum", "eval",
    "eval_step", "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto", "hierName",
    "if", "inline", "int", "long", "modelName", "mutable", "name", "namespace", "new", "noexcept", "not", "nullptr",
    "operator", "or", "private", "protected", "public", "register", "requires", "return", "rootp", "short", "signed",
    "sizeof", "static", "struct", "switch", "template", "this", "threads", "throw", "trace", "true", "try",
    "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "vlSymsp", "while",
    "xor",
})  # fmt: skip
"""Names that ports cannot have: keywords of C++, and members of every Verilator model."""

_HARNESS = """// Reads `port:hex ...` for each cycle, writes all outputs as hex before the edge of the clock.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <unistd.h>
#include "Vcore.h"
#include "verilated.h"

static FILE* answers;
static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

template <typename T> void put(T& port, const char* hex) { port = static_cast<T>(strtoull(hex, nullptr, 16)); }
template <std::size_t N> void put(VlWide<N>& port, const char* hex) {
    const std::size_t length = strlen(hex);
    for (std::size_t word = 0; word < N; word++) port[word] = 0;
    for (std::size_t i = 0; i < length; i++) port[i / 8] |= static_cast<EData>(digit(hex[length - 1 - i])) << (4 * (i %
    8));
}
template <typename T> void say(const T& port) { fprintf(answers, "%llx ", static_cast<unsigned long long>(port)); }
template <std::size_t N> void say(const VlWide<N>& port) {
    for (std::size_t word = N; word > 0; word--) fprintf(answers, "%08x", port[word - 1]);
    putc(' ', answers);
}

int main(int argc, char** argv) {
    // $display writes to standard output, which is the stimulus's here.
    answers = fdopen(dup(1), "w");
    if (!answers || dup2(2, 1) < 0) return 2;
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Vcore core{&context};
    core.@CLOCK@ = 0;
    core.eval();
    std::string line;
    while (std::getline(std::cin, line)) {
        for (char* part = strtok(&line[0], " "); part; part = strtok(nullptr, " ")) {
            char* const hex = strchr(part, ':') + 1;
            switch (atoi(part)) {
@INPUTS@
            }
        }
        core.eval();
@OUTPUTS@
        putc('\\n', answers);
        fflush(answers);
        core.@CLOCK@ = 1;
        core.eval();
        core.@CLOCK@ = 0;
        core.eval();
    }
    return 0;
}
"""


class Process:
    """The simulator of a design, while it runs."""

    def __init__(
        self, program: Path, ports: dict[str, tuple[bool, int]], clock: str, options: Sequence[str] = ()
    ) -> None:
        self._process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._inputs = {name: number for number, name in enumerate(inputs_of(ports, clock))}
        self._outputs = [name for name, (is_input, _) in ports.items() if not is_input]
        self._cycles = 0

    def cycle(self, changes: dict[str, int]) -> dict[str, int]:
        """Sets inputs, lets a clock cycle pass, and returns the outputs just before the clock edge."""
        self._cycles += 1
        if self._cycles > CYCLES_MAX:
            raise CasemateError(
                f"the stimulus did not end after {CYCLES_MAX} cycles: it waits for an event that does not happen"
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join(f"{self._inputs[name]}:{value:x}" for name, value in changes.items()) + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline().split()
        if len(said) != len(self._outputs):
            raise CasemateError(
                f"the simulation ended in cycle {self._cycles}: expected RTL that settles and does not stop the "
                "simulation; its messages are above"
            )
        return {name: int(value, 16) for name, value in zip(self._outputs, said, strict=True)}

    def end(self) -> None:
        """Ends the simulator's process."""
        self._process.kill()
        self._process.communicate()


def _member(port: str) -> str:
    """Returns the name of a port in Verilator's model. Raises `CasemateError` if the port has no plain name."""
    if not re.fullmatch(r"[A-Za-z_]\w*", port, re.ASCII) or port in _TAKEN:
        raise CasemateError(
            f"a simulation cannot set or read the port '{port}': expected a name of letters, digits and _ that is no "
            "word of C++; put a module with other names around it, or price it without a stimulus"
        )
    # Verilator encodes two underscores in a row, since it uses them to join names.
    return port.replace("__", "___05F")


def inputs_of(ports: dict[str, tuple[bool, int]], clock: str) -> list[str]:
    """Inputs that a stimulus may set: all but the clock."""
    return [name for name, (is_input, _) in ports.items() if is_input and name != clock]


def build(
    design: Design, ports: dict[str, tuple[bool, int]], clock: str, folder: Path, options: Sequence[str] = ()
) -> Path:
    """Builds the simulator of a design; `options` are further options of Verilator. Raises `CasemateError` if Verilator
    does not accept the design.
    """
    tools.need_simulation()
    program, environment = tools.verilator()
    cases = [
        f"                case {number}: put(core.{_member(name)}, hex); break;"
        for number, name in enumerate(inputs_of(ports, clock))
    ]
    outputs = [f"        say(core.{_member(name)});" for name, (is_input, _) in ports.items() if not is_input]
    text = _HARNESS.replace("@CLOCK@", _member(clock)).replace("@INPUTS@", "\n".join(cases))
    (folder / "harness.cpp").write_text(text.replace("@OUTPUTS@", "\n".join(outputs)))
    command = [
        program, "--cc", "--exe", "--build", "-MAKEFLAGS", "OPT_FAST=-O1 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0",
        "-Wno-fatal", "-Wno-lint", "-Wno-style", "--no-timing", "--no-assert", *options,
        "--prefix", "Vcore", "--Mdir", "simulator", "-o", "simulator", "--top-module", design.top,
        *(f"-G{name}={value}" for name, value in design.parameters), *map(str, design.sources), "harness.cpp",
    ]  # fmt: skip
    tools.run(command, folder, "verilator", "Verilator", environment)
    return folder / "simulator" / "simulator"


def drive(
    program: Path, ports: dict[str, tuple[bool, int]], clock: str, drive: Drive, make: Callable[[Process], Core]
) -> Trace:
    """Runs a simulator with a stimulus, and returns the trace. Raises `CasemateError` if the stimulus fails, or if it
    measures no cycle.
    """
    process = Process(program, ports, clock)
    try:
        core = make(process)
        drive(core)
    except CasemateError:
        raise
    except Exception as error:
        raise CasemateError(f"the stimulus failed: {type(error).__name__}: {error}") from error
    finally:
        process.end()
    if not core.measures:
        raise CasemateError(
            "the stimulus never calls core.measure(): expected it after reset, where the measurement begins"
        )
    if not core.trace.done or not core.trace.cycles:
        raise CasemateError("the stimulus measured no line: expected core.done() at least once after core.measure()")
    return core.trace
