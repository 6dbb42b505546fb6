"""Shi and Lee, "Accelerating Memory Decryption and Authentication With Frequent Value Prediction", Computing Frontiers
2007: its evaluation.

The numbers in this package are the paper's results, for comparison with ours, or parameters that the paper varies. The
simulation does not use the paper's results.
"""

from casemate.reproduce.fvs.cases import CASES, TABLES
from casemate.reproduce.fvs.figures import FIGURES
from casemate.reproduce.fvs.settings import SETTINGS
from casemate.reproduce.fvs.trends import TRENDS
from casemate.reproduce.runs import Bench
from casemate.reproduce.study import Study

CONDITIONS = (
    "Workloads are programs of this computer, each recorded in the middle of its work, and built-in kernels. The paper "
    "shows the SPEC 2000 programs that miss L2 often; brackets name the one that does the same kind of work.",
    "Each runs 0.2 to 4 M instructions, and the last 0.1 to 2 M are counted; caches and the table of values warm "
    "in those before. The paper counts 400 M after as much warming as it takes.",
    "Memory begins ordered: a first pass without protection finds the frequent values, the table of each design begins "
    "with them, and every line begins re-ordered by them, with its bitmap in memory. Nothing on the chip says that a "
    "line is in its own order, so every line from memory needs its bitmap (7h).",
    "The paper leaves open: each chunk has a tag of 32 bits over its plaintext, in a region with a cache; the "
    "table learns by rules of ours; tags cover bitmaps, so that tags wait for bitmaps. The paper's counters are "
    "always on the chip: here in a cache of 8 MB, which fetches each line of them once.",
    "A block of a candidate and the block of its tag go through the same pipelines: 8 for Triple-DES that take a block "
    "every 2 ns, 4 for AES that take one every 6.4 ns (20 Gbit/s, section 4). The paper does not say how many it has.",
)

STUDY = Study(
    name="fvs",
    paper='Shi and Lee, "Accelerating Memory Decryption and Authentication With Frequent Value Prediction", CF 2007',
    bench=Bench("simplescalar-2005", copies=1, shared={"values": TABLES, "start_order": "frequent"}),
    conditions=CONDITIONS,
    cases=CASES,
    settings=SETTINGS,
    figures=FIGURES,
    trends=TRENDS,
    seeds=2,
)
