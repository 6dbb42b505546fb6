"""Wang, Kotra and Jian, "Eager Memory Cryptography in Caches", MICRO 2022: its evaluation.

The numbers in this package are the paper's results, for comparison with ours, or parameters that the paper varies. The
simulation does not use the paper's results.
"""

from casemate.reproduce.emcc.cases import CASES, SETTINGS
from casemate.reproduce.emcc.figures import FIGURES
from casemate.reproduce.emcc.trends import TRENDS
from casemate.reproduce.runs import Bench
from casemate.reproduce.study import Study

CONDITIONS = (
    "Workloads are built-in kernels and programs of this computer, four copies each in separate memory, 2 MB pages. "
    "The paper has GraphBIG with four threads on a graph of Facebook's kind, and four copies of SPEC's and PARSEC's.",
    "Graphs have four million vertices each, with ends of edges drawn uniformly, and kernels are counted in the middle "
    "of their work. In the paper 91 % of requests miss the LLC; figure 16c has ours.",
    "Each core runs 0.4 to 5 M instructions, and the last 0.15 to 4 M are counted. The paper counts 20 ms, after "
    "25 G instructions that warm counters; here counters begin in the middle of a life that writes all lines equally "
    "often (--age steady), and those of tree nodes are new.",
    "Figures that need separate settings (7, 11, 12 and 18 to 22) are of four workloads, one of each kind: a "
    "search in a graph, a join, an annealer and a database.",
    "L2s predict misses (XPT), which the paper expects in the common case; its methodology does not say whether they "
    "do. The gain without it is in figure 16b.",
)

STUDY = Study(
    name="emcc",
    paper='Wang, Kotra and Jian, "Eager Memory Cryptography in Caches", MICRO 2022',
    bench=Bench("emcc-4core", copies=4, shared={"age": "steady"}),
    conditions=CONDITIONS,
    cases=CASES,
    settings=SETTINGS,
    figures=FIGURES,
    trends=TRENDS,
    seeds=8,
)
