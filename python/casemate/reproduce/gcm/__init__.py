"""A thesis on authentication and encryption of memory with AES-GCM in software, an FPGA and an ASIC (supervised by Lizy
K. John). The package derives its figures from its parameters.

`parameters` contains the values that the thesis measured or took from tools, `printed` the derived values that it
prints. `tables` and `comparison` contain the formulas that derive them; `engines` applies the same formulas to other
bandwidths, numbers of engines and clocks.
"""

from collections.abc import Callable, Mapping, Sequence

from casemate.reproduce import derivation
from casemate.reproduce.derivation import DerivedStudy, Parameter, Requirements
from casemate.reproduce.gcm import comparison, engines, picture, tables
from casemate.schemas.derivation import Derivation, DerivedTable

PAPER = "a thesis on AES-GCM for memory in software, FPGA and ASIC (supervised by Lizy K. John)"
CONDITIONS = (
    "Parameters are the thesis's measurements, reports of its tools and figures from other work; every other "
    "figure is computed from them.",
    "As printed: rounded, or cut off, to the digits that the thesis prints; after a ~ (its approximately) rounded.",
    "Figures are missing in our copy, and the row of throughputs in Table 6.1 cannot be read.",
)
TABLES: Mapping[str, Callable[[], DerivedTable]] = {
    "section-2.3": tables.prior_work,
    "section-3.1": tables.key_schedules,
    "4.1": tables.software,
    "5.1": tables.cores,
    "5.2": tables.module_power,
    "equations-5.1-5.5": tables.fits,
    "5.3": tables.density,
    "6.1": comparison.summary,
    "6.2": comparison.bandwidths,
    "section-6.1": comparison.feasibility,
    "chapter-8": comparison.conclusion,
}
PARAMETERS = (
    Parameter(
        "bandwidth", "GB/s", "Engines that carry this bandwidth; repeat it.  [default: 25.6]", is_repeatable=True
    ),
    Parameter(
        "lanes", "N", "Bandwidth and cost of this number of engines; repeat it.", is_whole=True, is_repeatable=True
    ),
    Parameter("clock", "MHz", "The clock of the ASIC's and the FPGA's engines.  [default: 225 and 200]", most=1e5),
)
EXAMPLES = """\b
Examples:
  casemate reproduce gcm                                  all tables, and engines for 25.6 GB/s
  casemate reproduce gcm --bandwidth 51.2                 engines for another memory
  casemate reproduce gcm --lanes 16 --clock 300           bandwidth of sixteen engines at 300 MHz
  casemate reproduce gcm --table 6.1 --table section-6.1  only these tables
  casemate reproduce gcm --json > gcm.json                everything, to work on

\b
How to read it:
  computed  the result of the formula for the thesis's parameters
  printed   the same figure as the thesis prints it
  off       by how much ours is larger; empty if both are the same, rounded or cut off to the printed digits
  [1]       a remark below the table: why the two differ, or what contradicts
The last table is for the requested bandwidths, numbers of engines and clock. Power at another clock: its dynamic part
is proportional to the clock, its static part is constant.
"""


def _derive(numbers: Sequence[str], required: Requirements) -> Derivation:
    found = tuple(TABLES[number]() for number in numbers)
    return Derivation(
        paper=PAPER, conditions=CONDITIONS, tables=found, needs=tuple(engines.needs(required)), dots=picture.dots(),
        holds=derivation.holds(found),
    )  # fmt: skip


STUDY = DerivedStudy(
    name="gcm",
    paper=PAPER,
    tables=tuple(TABLES),
    parameters=PARAMETERS,
    derive=_derive,
    draw=picture.draw,
    examples=EXAMPLES,
)
