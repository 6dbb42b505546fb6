"""Freij, Zhou and Solihin, "SecPB: Architectures for Secure Non-Volatile Memory with Battery-Backed Persist Buffers",
HPCA 2023: its evaluation.

The numbers in this package are the paper's results, for comparison with ours, or parameters that the paper varies. The
simulation does not use the paper's results.
"""

from casemate.reproduce.runs import Bench
from casemate.reproduce.secpb.cases import CASES
from casemate.reproduce.secpb.figures import FIGURES
from casemate.reproduce.secpb.settings import SETTINGS
from casemate.reproduce.secpb.trends import TRENDS
from casemate.reproduce.study import Study

CONDITIONS = (
    "Workloads are programs of this computer, each recorded in the middle of its work, and stores at stated rates. Two "
    "have the rates that the paper states for gamess and povray. The paper has 18 programs of SPEC 2006.",
    "Programs run 2 M instructions in full detail, and the last 1 M is counted; stores at stated rates run 0.5 M, and "
    "half is counted. The paper counts 250 M.",
    "The core gets read lines before they are verified, as in all of the paper's models (section V). The built-in "
    "designs verify first: see figure 6d.",
    "All of memory is persistent, and so are all stores: those to the stack too. In figure 6l only the heap is.",
    "A mean is geometric: with gamess at 18.2 times, an arithmetic one of 18 programs would be more than Table IV has.",
    "The paper does not say how many banks its memory has: 16 here, as gem5's. Nor does it say when a buffer that "
    "drains stops: here when half of it is in use; figure 6k has other points.",
)

STUDY = Study(
    name="secpb",
    paper='Freij, Zhou and Solihin, "SecPB: Architectures for Secure Non-Volatile Memory with Battery-Backed Persist '
    'Buffers", HPCA 2023',
    bench=Bench("secpb-pcm", copies=1),
    conditions=CONDITIONS,
    cases=CASES,
    settings=SETTINGS,
    figures=FIGURES,
    trends=TRENDS,
)
