"""Tables and figures of the SecPB paper as functions of records, with the means in the paper's text."""

from casemate.reproduce.secpb import measures
from casemate.reproduce.secpb.cases import HEAP, NAMED, PROGRAM, REUSE, STREAM, SWEEP
from casemate.reproduce.secpb.settings import (
    ENTRIES,
    SCHEMES,
    STREAMED_ENTRIES,
    WATERMARKS,
    design,
    marked,
    sized,
    streamed,
)
from casemate.reproduce.study import Figure, Measure, Series, Under, of_run

MODELLED = ("BCM", "CM", "M", "NoGap")
"""Schemes with early steps, which the paper's linear model covers."""
BCM_OVER_COBCM = "BCM, without what COBCM costs"
SP = "SP, at the controller"
OVERFLOWS = "overflows in a million instructions"
FELT = "what the core feels of waits under CM"

_SLOWDOWNS = {"COBCM": 1.013, "OBCM": 1.015, "BCM": 1.148, "CM": 1.713, "M": 1.738, "NoGap": 2.184}
"""Table IV: execution times as multiples of the baseline's."""
_BATTERIES = {"COBCM": 4.89, "OBCM": 4.82, "BCM": 4.72, "CM": 0.73, "M": 0.67, "NoGap": 0.28}
"""Table V: volumes of supercapacitors in cubic millimetres."""
_AT_DRAINS = (("bbb", "bbb"), ("COBCM", "secpb-cobcm"), ("neither", "secpb-cobcm-neither"))
_FORESTS = (("no forest", "secpb-cm", 1.713), ("static", "secpb-cm-sbmf", 1.566), ("dynamic", "secpb-cm-dbmf", 1.333))
_TIMES = "times bbb's"
_BUFFERED = ("bbb", *(design(scheme) for scheme in SCHEMES))
_SIZED = tuple(sized(entries) for entries in ENTRIES)
_WORKLOADS = (PROGRAM, NAMED)


def _times(name: str, setting: str, paper: float | None = None, baseline: str = "bbb") -> Series:
    """Returns the series of a setting's execution time as a multiple of the baseline's."""
    return Series(name, lambda under: under(baseline).ipc / under(setting).ipc, paper)


def _of_schemes(papers: dict[str, float], idle: str = "") -> tuple[Series, ...]:
    return tuple(_times(scheme, f"{design(scheme)}{idle}", papers.get(scheme), f"bbb{idle}") for scheme in SCHEMES)


def _above_model(scheme: str, without: str = "bbb", name: str | None = None) -> Series:
    """Returns the series of the excess of a scheme's simulated IPC over the model's, in percent of the model's."""

    def of(under: Under) -> float:
        record = under(design(scheme))
        return 100 * (record.ipc / measures.modelled_ipc(under(without), record) - 1)

    return Series(name or scheme, of)


def _written_through(name: str, like: str) -> Series:
    """Returns the series of modelled execution time under strict persistency, if a root update takes as many hashes as
    under the design `like`.
    """

    def of(under: Under) -> float:
        without, hashes = under("bbb"), measures.hashes_by_update(under(like))
        return without.ipc / measures.written_through_ipc(without, hashes)

    return Series(name, of)


def _by_size(of: Measure | None, papers: dict[int, float]) -> tuple[Series, ...]:
    """Returns a series for each number of entries of CM's buffer: of the measure, or of the execution time without a
    measure.
    """
    return tuple(
        of_run(name, of, sized(entries), papers.get(entries))
        if of
        else _times(name, sized(entries), papers.get(entries))
        for entries, name in ((entries, f"{entries} entries") for entries in ENTRIES)
    )


def _streamed(number: str, mapping: str) -> Figure:
    """Returns the figure of a stream of stores under the design `bbb`, with this mapping of lines to banks."""
    entries = {f"{size} entries": streamed(size, mapping) for size in STREAMED_ENTRIES}
    return Figure(
        number, f"IPC of a stream under bbb, by entries: banks by {mapping}", "instructions a cycle",
        tuple(of_run(name, lambda record: record.ipc, setting) for name, setting in entries.items()),
        tuple(entries.values()), groups=(STREAM,), note="Not the paper's: gamess's rates, over 1 MB.",
    )  # fmt: skip


def _all_buffered(idle: str = "") -> tuple[str, ...]:
    return tuple(f"{name}{idle}" for name in _BUFFERED)


FIGURES = (
    Figure(
        "6", "Execution time with 32 entries (means: Table IV)", _TIMES,
        _of_schemes(_SLOWDOWNS), _all_buffered(), groups=_WORKLOADS, mean="geometric",
    ),
    Figure(
        "6b", "Stores in 1000 instructions (PPTI), stores an entry (NWPE)", "stores",
        (of_run("PPTI", measures.ppti, "secpb-cobcm"), of_run("NWPE", measures.nwpe, "secpb-cobcm")), ("secpb-cobcm",),
        groups=_WORKLOADS, note="The paper: 47.4 and 2.1 for gamess, 38.8 and 17.6 for povray, called high.",
    ),
    Figure(
        "6c", "What stores wait for", "% of cycles; of banks, of their time",
        (
            *(
                of_run(f"{what}, {name}", measure, setting)
                for what, measure in (("no entry free", measures.found_full), ("entry leaves", measures.found_leaving))
                for name, setting in _AT_DRAINS
            ),
            of_run("banks busy, bbb", measures.banks_busy, "bbb"),
            of_run("banks busy, COBCM", measures.banks_busy, "secpb-cobcm"),
        ),
        tuple(setting for _, setting in _AT_DRAINS), groups=_WORKLOADS,
        note="Not the paper's. Neither: under COBCM, with idle banks and hashes of a cycle.",
    ),
    Figure(
        "6d", "COBCM with other drains, and other reads", _TIMES,
        (
            _times("COBCM", "secpb-cobcm"),
            _times("banks idle", "secpb-cobcm-idle-banks", baseline="bbb-idle-banks"),
            _times("hashes of a cycle", "secpb-cobcm-quick-hashes"),
            _times("both", "secpb-cobcm-neither", baseline="bbb-idle-banks"),
            _times("reads verified first", "secpb-cobcm-verified"),
        ),
        (
            "bbb", "bbb-idle-banks", "secpb-cobcm", "secpb-cobcm-idle-banks", "secpb-cobcm-quick-hashes",
            "secpb-cobcm-neither", "secpb-cobcm-verified",
        ),
        groups=_WORKLOADS, mean="geometric",
        note="Not the paper's. Banks are idle in the baseline, too, where they are under COBCM.",
    ),
    Figure(
        "6e", "Execution time if no bank is ever busy with a write", _TIMES,
        _of_schemes({}, "-idle-banks"), _all_buffered("-idle-banks"), groups=(NAMED,), mean="geometric",
        note="Not the paper's.",
    ),
    Figure(
        "6f", "IPC above that of the linear model", "%",
        (
            *(_above_model(scheme) for scheme in MODELLED), _above_model("BCM", "secpb-cobcm", BCM_OVER_COBCM),
            of_run(FELT, measures.felt, "secpb-cm"),
        ),
        ("bbb", "secpb-cobcm", *(design(scheme) for scheme in MODELLED)), groups=_WORKLOADS,
        note="The model of section VI-B, with this machine's latencies. The store queue hides the waits that the core "
        "does not feel.",
    ),
    Figure(
        "6g", "IPC of gamess under NoGap (section VI-B)", "instructions a cycle",
        (
            of_run("estimated", measures.estimated_ipc, "secpb-nogap", 0.11),
            of_run("measured", lambda record: record.ipc, "secpb-nogap", 0.13),
        ),
        ("secpb-nogap",), cases=("gamess",),
    ),
    Figure(
        "6h", "Execution time of stores at other rates", _TIMES,
        _of_schemes({}), _all_buffered(), groups=(SWEEP,), mean="geometric", note="Not the paper's.",
    ),
    Figure(
        "6i", "Their IPC above that of the linear model", "%",
        (*(_above_model(scheme) for scheme in MODELLED), of_run(FELT, measures.felt, "secpb-cm")),
        ("bbb", *(design(scheme) for scheme in MODELLED)), groups=(SWEEP,),
        note="Not the paper's.",
    ),
    Figure(
        "6j", "What stores wait for under OBCM", "cycles; overflows",
        (
            of_run("cycles an entry for its counter", measures.awaited_by_entry, "secpb-obcm"),
            of_run(OVERFLOWS, measures.overflows, "secpb-obcm"),
        ),
        ("secpb-obcm",), groups=_WORKLOADS, note="Not the paper's.",
    ),
    Figure(
        "6k", "Execution time under COBCM, by watermarks (begin/stop)", _TIMES,
        tuple(
            _times(f"{begin}/{stop}", marked("secpb-cobcm", (begin, stop)), baseline=marked("bbb", (begin, stop)))
            for begin, stop in WATERMARKS
        ),
        tuple(marked(of, marks) for of in ("bbb", "secpb-cobcm") for marks in WATERMARKS),
        groups=_WORKLOADS, mean="geometric",
        note="Not the paper's, which leaves open when a draining buffer stops. The baseline has the same watermarks.",
    ),
    Figure(
        "6l", "Execution time if the heap alone is persistent", _TIMES,
        _of_schemes({}), _all_buffered(), groups=(HEAP,), mean="geometric",
        note="Not the paper's. BBB, its baseline, has the heap persistent, and stacks not.",
    ),
    _streamed("6m", "xor"), _streamed("6n", "pseudo-random"),
    Figure(
        "7", "Execution time under CM, by entries", _TIMES,
        _by_size(None, {8: 2.123, 32: 1.713, 512: 1.24}), ("bbb", *_SIZED), groups=_WORKLOADS, mean="geometric",
        note="The baseline has 32 entries with any number for CM; the paper does not state its own.",
    ),
    Figure(
        "7b", "The same of stores that stream", _TIMES,
        _by_size(None, {}), ("bbb", *_SIZED), groups=(NAMED,), mean="geometric", note="Not the paper's.",
    ),
    Figure(
        "7c", "The same of stores that come back to so many lines", _TIMES,
        _by_size(None, {}), ("bbb", *_SIZED), groups=(REUSE,), mean="geometric", note="Not the paper's.",
    ),
    Figure(
        "8", "Root updates under CM, by entries", "% of stores",
        _by_size(measures.root_updates, {8: 12.7, 512: 1.8}), _SIZED, groups=_WORKLOADS,
        note="Of those of a cache that writes every store through (sec_wt), one for each store: see figure 8c.",
    ),
    Figure(
        "8b", "Root updates for an entry", "root updates",
        tuple(of_run(scheme, measures.updates_by_entry, design(scheme)) for scheme in SCHEMES),
        tuple(design(scheme) for scheme in SCHEMES), groups=_WORKLOADS, note="Not the paper's.",
    ),
    Figure(
        "8c", "Root updates in 1000 instructions", "root updates",
        (
            of_run("CM", measures.updates_in_thousand, "secpb-cm"),
            of_run(SP, measures.updates_in_thousand, "sp"),
        ),
        ("secpb-cm", "sp"), groups=_WORKLOADS, note="Not the paper's.",
    ),
    Figure(
        "8d", "Execution time of strict persistency at the controller", _TIMES,
        (_times("CM", "secpb-cm"), _times(SP, "sp")), ("bbb", "secpb-cm", "sp"), groups=_WORKLOADS, mean="geometric",
        note="Under SP each store persists separately, one after the other.",
    ),
    Figure(
        "9", "Execution time over forests", _TIMES,
        (
            *(_times(f"CM, {forest}", setting, paper) for forest, setting, paper in _FORESTS),
            _times("SP, static", "sp-sbmf", 3.43), _times("SP, dynamic", "sp-dbmf", 1.889),
        ),
        ("bbb", *(setting for _, setting, _ in _FORESTS), "sp-sbmf", "sp-dbmf"), groups=_WORKLOADS, mean="geometric",
        note="The paper takes paths of a dynamic forest to have 2 levels, those of a static one 5: see figure 9b.",
    ),
    Figure(
        "9b", "Hashes for a root update", "hashes",
        tuple(of_run(f"CM, {forest}", measures.hashes_by_update, setting) for forest, setting, _ in _FORESTS),
        tuple(setting for _, setting, _ in _FORESTS), groups=_WORKLOADS, note="Not the paper's.",
    ),
    Figure(
        "9c", "Execution time under SP by the linear model", _TIMES,
        tuple(_written_through(f"SP, {forest}", setting) for forest, setting, _ in _FORESTS),
        ("bbb", *(setting for _, setting, _ in _FORESTS)), groups=_WORKLOADS, mean="geometric",
        note="Not the paper's, nor simulated: each store takes only the hashes of figure 9b, no other step.",
    ),
    Figure(
        "V", "Supercapacitor with 32 entries", "mm³",
        tuple(of_run(scheme, measures.battery_mm3, design(scheme), _BATTERIES[scheme]) for scheme in SCHEMES),
        tuple(design(scheme) for scheme in SCHEMES), cases=("gamess",), note="It is the same for all workloads.",
    ),
    Figure(
        "Vb", "The same, of drains that were carried out", "mm³",
        tuple(of_run(scheme, measures.counted_battery_mm3, design(scheme)) for scheme in SCHEMES),
        tuple(design(scheme) for scheme in SCHEMES), cases=("gamess",), note="Not the paper's.",
    ),
    Figure(
        "VI", "Supercapacitor under CM, by entries", "mm³",
        _by_size(measures.battery_mm3, {}), _SIZED, cases=("gamess",),
        note="Table VI has COBCM and NoGap; see docs/systems/secpb-battery.md.",
    ),
)  # fmt: skip
