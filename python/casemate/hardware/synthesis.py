"""RTL to cells of a library: Yosys with its slang front end, and ABC.

The recipe is the same for every core and has nothing to set but the delay that ABC aims at, by default a number of
delays of the library's own inverter, so that a recipe for one library is that for another too. Two of its steps decide
how fast a netlist is. `buffer` and the sizing after it are one. The other is `if -g`, which balances logic for delay:
without it `dch` and `map` keep the area of a carry chain small and make it serial, and a core with a wide counter is
judged by that counter. The open AES-GCM core in comparisons/gcm-aes has 75 MHz in osu018 without it, and 273 MHz with
it.

A module that the RTL marks `(* keep_hierarchy *)` is mapped by itself, so what is in it is not merged with what does
the same elsewhere; at the end it is flattened too. Synthesis would merge the rails of what is doubled against faults.
slang keeps all modules of a design or none, and what ABC makes of the same RTL then differs (our lane: 266 MHz where it
had 293), so a design that marks none is read as one module.
"""

from collections.abc import Sequence
from pathlib import Path

from casemate.hardware import tools
from casemate.hardware.design import Design
from casemate.hardware.fanout import SINKS_MAX
from casemate.hardware.library import FANOUT_OF_FO4, Library

FLATTEN_ALL = ("setattr -mod -unset keep_hierarchy", "setattr -unset keep_hierarchy", "flatten")
"""Yosys commands that put what was kept apart into the module on top, when nothing is merged any more."""
WITHOUT_WORDS = ("delete */t:$print", "delete */t:$check")
"""Yosys commands that leave out what RTL prints and asserts, which is no hardware."""
TARGET_FO4 = 40
"""The delay that ABC aims at, in delays of an inverter with four of its kind behind it."""


def read_command(design: Design, boxes: Sequence[str] = ()) -> str:
    """The Yosys command that reads a design, with modules that stay boxes. Delays are no hardware, and are left out;
    what the RTL says is to be kept apart is.
    """
    values = " ".join(f"-G {name}={value}" for name, value in design.parameters)
    sources = " ".join(map(str, design.sources))
    boxed = " ".join(f"--blackboxed-module {name}" for name in boxes)
    modules = "--best-effort-hierarchy" if design.keeps_modules else ""
    return f"read_slang --ignore-timing --ignore-assertions {modules} --top {design.top} {values} {boxed} {sources}"


def ports(design: Design, folder: Path) -> dict[str, tuple[bool, int]]:
    """The ports of a design: whether each is an input, and how many bits it has."""
    script = [read_command(design), "write_json ports.json"]
    tools.yosys(script, folder, "ports")
    module = tools.json_of(folder / "ports.json")["modules"][design.top]
    return {name: (port["direction"] == "input", len(port["bits"])) for name, port in module["ports"].items()}


def target_s(library: Library) -> float:
    """The delay that is aimed at where nothing is said (s)."""
    return TARGET_FO4 * library.fo4_s()


def to_cells(design: Design, library: Library, delay_s: float, folder: Path, boxes: Sequence[str] = ()) -> Path:
    """Maps a design to a library, aiming at a delay (s), and returns the netlist as Yosys writes it (JSON). Modules
    that are boxes stay so.
    """
    picoseconds = f"{delay_s * 1e12:.0f}"
    inverter = library.inverter()
    load = FANOUT_OF_FO4 * inverter.pins[inverter.inputs[0]].capacitance_f
    constraints = folder / "abc.constr"
    constraints.write_text(f"set_driving_cell {library.buffer(load).name}\nset_load {load * 1e15:.2f}\n")
    recipe = folder / "abc.script"
    recipe.write_text(
        f"strash; ifraig; strash; if -g -K 6; strash; dch -f; map -B 0.9 -D {picoseconds}; topo; "
        f"buffer -c -N {SINKS_MAX}; topo; upsize -D {picoseconds}; dnsize -D {picoseconds}; stime -p\n"
    )
    placed = library.place(folder)
    script = [
        read_command(design, boxes),
        *WITHOUT_WORDS,
        f"synth -flatten -top {design.top}",
        f'dfflibmap -liberty "{placed}"',
        "opt",
        f'abc -liberty "{placed}" -constr "{constraints}" -script "{recipe}"',
        *FLATTEN_ALL,
        "opt_clean -purge",
        "setundef -zero",
        "opt_clean -purge",
        "write_json mapped.json",
    ]
    tools.yosys(script, folder, "map")
    # Before it is kept for good.
    tools.json_of(folder / "mapped.json")
    return folder / "mapped.json"
