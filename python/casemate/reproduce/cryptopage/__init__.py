"""Duc and Keryell, "CryptoPage: an efficient secure architecture with memory encryption, integrity and information
leakage protection", ACSAC 2006: its evaluation.

The numbers in this package are the paper's results, for comparison with ours, or parameters that the paper varies. The
simulation does not use the paper's results.
"""

from casemate.reproduce.cryptopage.cases import CASES
from casemate.reproduce.cryptopage.figures import FIGURES
from casemate.reproduce.cryptopage.settings import SETTINGS
from casemate.reproduce.cryptopage.trends import TRENDS
from casemate.reproduce.runs import Bench
from casemate.reproduce.study import Study

CONDITIONS = (
    "Programs of this computer are recorded in the middle of their work: each case skips the number of instructions in "
    "its row of python/casemate/reproduce/programs.py. The network simplex, for the paper's mcf, starts at its first "
    "pivot. The paper has SPEC 2000 integer programs and skips 1.5 G instructions.",
    "A program executes 20 M instructions without simulated time, which fill caches, locks and TLBs. It then warms the "
    "machine for 0.2 M and is counted for 1 M, in full detail; a kernel for fewer. The paper counts 200 M.",
    "The machine is cryptopage-2006: the paper's Table 1. Permutations share its memory bus with fills.",
    "With free permutations the same lines move at the same moments, and memory and engines take no time for them. In "
    "idle bus time, the transfers of a permutation's slots wait while any other request needs the bus.",
    "With free permutations, losses are near the published 1.3 % and 3 % for programs whose pages fit into the Merkle "
    "cache. Otherwise L2 must seldom miss: a permutation moves 512 lines with their tags in 15,360 cycles of this bus, "
    "at least 60 for each fill. The last trend names the programs within 3 %.",
)

STUDY = Study(
    name="cryptopage",
    paper='Duc and Keryell, "CryptoPage", ACSAC 2006',
    bench=Bench("cryptopage-2006", copies=1),
    conditions=CONDITIONS,
    cases=CASES,
    settings=SETTINGS,
    figures=FIGURES,
    trends=TRENDS,
)
