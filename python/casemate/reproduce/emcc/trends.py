"""Statements of the EMCC paper about its figures, which our numbers support or refute."""

from statistics import fmean

from casemate.reproduce.statements import listed, ordered, rank_correlation, rising
from casemate.reproduce.study import Each, Finding, Means, Trend


def _orders_of_performance(means: Means, each: Each) -> Finding:
    names = ("SC-64", "Morphable", "EMCC")
    return Finding(rising([*(means["16"][name] for name in names), 1.0]), listed(means, "16", names, ""))


def _always_less_traffic(means: Means, each: Each) -> Finding:
    without, with_llc = each("2", "not in the LLC"), each("2", "also in the LLC")
    saved = {case: without[case] - with_llc[case] for case in without}
    other = [f"{case} {without[case]:.1f} -> {with_llc[case]:.1f} %" for case in saved if saved[case] <= 0]
    note = f"less on {len(saved) - len(other)} of {len(saved)}" + (f"; not on {', '.join(other)}" if other else "")
    return Finding(tuple(saved.values()), note)


def _fewer_misses(means: Means, each: Each) -> Finding:
    small, large = (fmean(each(number, "missed").values()) for number in ("6", "7"))
    return Finding((small - large,), f"{small:.1f} % with 2 MB a core, {large:.1f} % with 12 MB")


def _gain_follows_misses(means: Means, each: Each) -> Finding:
    gains, hits = each("16b", "EMCC"), each("6", "hit in the controller")
    cases = sorted(gains)
    rank = rank_correlation([gains[case] for case in cases], [-hits[case] for case in cases])
    return Finding((rank,), f"rank correlation {rank:.2f} over {len(cases)} workloads")


def _latency_saved_is_gained(means: Means, each: Each) -> Finding:
    gains, before, after = each("16b", "EMCC"), each("17", "Morphable"), each("17", "EMCC")
    cases = sorted(gains)
    saved = [1 - after[case] / before[case] for case in cases]
    rank = rank_correlation([gains[case] for case in cases], saved)
    mean = means["17"]["Morphable"] - means["17"]["EMCC"]
    return Finding((mean, rank), f"{mean:.1f} ns less in the mean; rank correlation with the gain {rank:.2f}")


def _few_more_requests(means: Means, each: Each) -> Finding:
    serial, eager = means["12"]["serial"], means["12"]["EMCC, nothing left to the controller"]
    return Finding((eager - serial, serial + 10 - eager), f"serial {serial:.1f} %, EMCC {eager:.1f} %")


def _slightly_less_with_a_larger_cache(means: Means, each: Each) -> Finding:
    names = ("128 KB", "256 KB", "512 KB")
    return Finding(rising(means["20"][name] for name in reversed(names)), listed(means, "20", names))


def _nothing_on_regular_work(means: Means, each: Each) -> Finding:
    gains, more_units = each("24b", "EMCC"), each("24b", "with four times the AES units")
    note = [f"{case} {gain:+.1f} % ({more_units[case]:+.1f} % with more AES units)" for case, gain in gains.items()]
    return Finding(tuple(1 - abs(gain) for gain in gains.values()), ", ".join(note))


def _queues_are_shorter(means: Means, each: Each) -> Finding:
    waits = means["22"]
    shorter = [waits[f"{kind}, 1 channel"] - waits[f"{kind}, 8 channels"] for kind in ("reads", "writes")]
    later = [waits[f"writes, {count}"] - waits[f"reads, {count}"] for count in ("1 channel", "8 channels")]
    return Finding((*shorter, *later), ", ".join(f"{name} {wait:.0f} ns" for name, wait in waits.items()))


TRENDS = (
    Trend("SC-64 <= Morphable < EMCC < not secure on irregular work (Fig. 16)", ("16",), _orders_of_performance),
    Trend("Counters in the LLC always cut traffic (Fig. 2)", ("2",), _always_less_traffic),
    Trend("A larger LLC has fewer counter misses (Figs. 6, 7)", ("6", "7"), _fewer_misses),
    Trend(
        "Gain ranks with reads that miss the controller's counters (Figs. 6, 16)", ("6", "16b"), _gain_follows_misses,
    ),
    Trend("L2's misses are faster, most where most is gained (Fig. 17)", ("16b", "17"), _latency_saved_is_gained),
    ordered("The gain rises with the latency of AES (Fig. 18)", "18", ("14 ns", "20 ns", "25 ns")),
    ordered("More units at L2s, more reads verified there (Fig. 19)", "19", ("20 %", "50 %", "80 %")),
    Trend("The gain falls slightly with a larger counter cache (Fig. 20)", ("20",), _slightly_less_with_a_larger_cache),
    ordered("The gain rises with channels (Fig. 21)", "21", ("1 channel", "8 channels")),
    Trend(
        "Queues are shorter with more channels; writes wait longer than reads (Fig. 22)", ("22",), _queues_are_shorter,
    ),
    Trend("EMCC asks the LLC little more than the serial baseline (Fig. 12)", ("12",), _few_more_requests),
    Trend("Other workloads gain and lose next to nothing (section IV-F)", ("24b",), _nothing_on_regular_work),
)  # fmt: skip
