"""RTL to cells of a library: Yosys with its slang front end, and ABC.

The recipe is the same for every hardware core. Its only setting is the delay that ABC aims at. By default the flow maps
each core for several delays, and keeps the netlist with the highest frequency for its area: one delay for all cores
favours the core that it happens to suit. The delays are multiples of the delay of the library's inverter, so that the
same recipe fits every library. Two steps of the recipe decide the speed of a netlist. One is `buffer` with the sizing
after it. The other is `if -g`, which balances logic for delay. Without `if -g`, `dch` and `map` minimise the area of a
carry chain and make it serial. A wide counter then decides the speed of its core. The open AES-GCM core in
comparisons/gcm-aes reaches 75 MHz in osu018 without `if -g`, and 273 MHz with it.

A module that the RTL marks `(* keep_hierarchy *)` is mapped separately, so that synthesis does not merge it with equal
logic elsewhere; at the end the module is flattened too. Synthesis would otherwise merge the two rails of a verdict,
which exist twice against faults. The front end slang either keeps all modules of a design or flattens all. ABC's
results for the same RTL differ between the two: our lane reaches 266 MHz with all modules kept, 293 MHz flattened. So
the flow flattens a design without marks into one module.
"""

from collections.abc import Sequence
from pathlib import Path

from casemate.hardware import tools
from casemate.hardware.design import Design
from casemate.hardware.fanout import SINKS_MAX
from casemate.hardware.library import FANOUT_OF_FO4, Library

FLATTEN_ALL = ("setattr -mod -unset keep_hierarchy", "setattr -unset keep_hierarchy", "flatten")
"""Yosys commands that flatten separate modules into the module on top, after the last step that merges logic."""
WITHOUT_WORDS = ("delete */t:$print", "delete */t:$check")
"""Yosys commands that remove the print statements and assertions of the RTL, which are no hardware."""
WRITERS = ("$memwr", "$memwr_v2")
"""Yosys cells that write to a memory."""
MEMORY_BITS = 1024
"""Bits from which on a memory is named before its synthesis."""
TARGETS_FO4 = (20, 30, 40, 60, 80)
"""Delays that ABC aims at by default, in delays of an inverter that drives four of its kind."""


def read_command(design: Design, boxes: Sequence[str] = ()) -> str:
    """Returns the Yosys command that reads a design and leaves the modules `boxes` empty. The command ignores delays,
    which are no hardware, and keeps the hierarchy if the RTL marks a module.
    """
    values = " ".join(f"-G {name}={value}" for name, value in design.parameters)
    sources = " ".join(map(str, design.sources))
    boxed = " ".join(f"--blackboxed-module {name}" for name in boxes)
    modules = "--best-effort-hierarchy" if design.keeps_modules else ""
    return f"read_slang --ignore-timing --ignore-assertions {modules} --top {design.top} {values} {boxed} {sources}"


def ports(design: Design, folder: Path) -> dict[str, tuple[bool, int]]:
    """Ports of a design, each with a flag for inputs and its number of bits."""
    script = [read_command(design), "write_json ports.json"]
    tools.yosys(script, folder, "ports")
    module = tools.json_of(folder / "ports.json")["modules"][design.top]
    return {name: (port["direction"] == "input", len(port["bits"])) for name, port in module["ports"].items()}


def memories(design: Design, folder: Path, boxes: Sequence[str] = ()) -> dict[str, int]:
    """Returns the bits of each memory that the design writes, by its module and name, in all modules but `boxes`. A
    library of cells has no memories, so each bit becomes a flip-flop, and the words of a large memory take synthesis
    hours. A table of constants becomes gates.
    """
    tools.yosys([read_command(design, boxes), "write_json memories.json"], folder, "memories")
    found = dict[str, int]()
    for module, content in tools.json_of(folder / "memories.json")["modules"].items():
        cells = content.get("cells", {}).values()
        written = {cell["parameters"]["MEMID"].lstrip("\\") for cell in cells if cell["type"] in WRITERS}
        for name, each in content.get("memories", {}).items():
            if name in written:
                found[f"{module}.{name}"] = each["width"] * each["size"]
    return {name: bits for name, bits in found.items() if bits >= MEMORY_BITS}


def targets_s(library: Library) -> tuple[float, ...]:
    """Returns the delays that ABC aims at by default, in seconds."""
    return tuple(multiple * library.fo4_s() for multiple in TARGETS_FO4)


def to_logic(design: Design, folder: Path, boxes: Sequence[str] = ()) -> Path:
    """Synthesises a design to gates of no library, and returns the path of the result as Yosys writes it (RTLIL). The
    modules `boxes` stay empty.
    """
    script = [
        read_command(design, boxes),
        *WITHOUT_WORDS,
        f"synth -flatten -top {design.top}",
        "write_rtlil logic.il",
    ]
    tools.yosys(script, folder, "synthesis")
    return folder / "logic.il"


def to_cells(logic: Path, library: Library, delay_s: float, folder: Path) -> Path:
    """Maps gates that `to_logic` returned to a library with a target delay in seconds, and returns the path of the
    netlist as Yosys writes it (JSON).
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
    placed = library.copy_to(folder)
    script = [
        f'read_rtlil "{logic}"',
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
    # Check that the file is complete before the store keeps it.
    tools.json_of(folder / "mapped.json")
    return folder / "mapped.json"
