"""Maps RTL to the look-up tables of a Xilinx series 7 FPGA, by Yosys.

The counts are those of Yosys; Xilinx's tool packs cells otherwise. So use them only to compare cores with each other.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from casemate.hardware import tools
from casemate.hardware.design import Design
from casemate.hardware.synthesis import FLATTEN_ALL, WITHOUT_WORDS, read_command
from casemate.schemas.hardware import Fpga

_FPGA_KINDS = {
    "LUT": "lut",
    "INV": "lut",
    "FD": "flops",
    "MUXF": "muxes",
    "CARRY": "carries",
    "RAMB": "block_rams",
    "DSP": "dsps",
}


def to_fabric(design: Design, folder: Path, boxes: Sequence[str] = ()) -> Fpga:
    """Returns the resources of a design in a Xilinx series 7 FPGA as Yosys counts them, without pads and without the
    content of boxes.
    """
    script = [
        read_command(design, boxes),
        *WITHOUT_WORDS,
        *_without_parameters(design, boxes, folder),
        f"synth_xilinx -family xc7 -flatten -noiopad -top {design.top}",
        *FLATTEN_ALL,
        "write_json fabric.json",
    ]
    tools.yosys(script, folder, "fabric")
    cells = tools.json_of(folder / "fabric.json")["modules"][design.top]["cells"].values()
    counted = Counter[str]()
    for cell in cells:
        kind = cell["type"]
        if kind not in ("$scopeinfo", "BUFG", "GND", "VCC", *boxes):
            part = next((part for start, part in _FPGA_KINDS.items() if kind.startswith(start)), "others")
            counted[part] += 1
    return Fpga(**{part: counted[part] for part in Fpga.model_fields})


def _without_parameters(design: Design, boxes: Sequence[str], folder: Path) -> list[str]:
    """Yosys commands that remove the parameters of boxes: `synth_xilinx` refuses a box with parameters, since it cannot
    set them.
    """
    if not boxes:
        return []
    tools.yosys([read_command(design, boxes), "write_json boxes.json"], folder, "boxes")
    cells = tools.json_of(folder / "boxes.json")["modules"][design.top]["cells"].values()
    named = {(cell["type"], name) for cell in cells if cell["type"] in boxes for name in cell["parameters"]}
    return [f"setparam -unset {name} t:{box}" for box, name in sorted(named)]
