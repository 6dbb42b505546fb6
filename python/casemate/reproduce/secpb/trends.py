"""Statements of the SecPB paper about its tables and figures, which our numbers support or refute."""

from collections.abc import Sequence
from itertools import pairwise

from casemate.reproduce.secpb.cases import NWPE_SWEPT, PPTI_SWEPT, swept
from casemate.reproduce.secpb.figures import BCM_OVER_COBCM, FELT, MODELLED, OVERFLOWS, SP
from casemate.reproduce.secpb.settings import ENTRIES, SCHEMES
from casemate.reproduce.statements import listed, rank_correlation, rising
from casemate.reproduce.study import Each, Finding, Means, Trend

NOISE = 1.0
"""Maximum difference of execution times that should be equal, in percent."""
MODEL_WITHIN = 15.0
"""Maximum error of the linear model, in percent."""
RANKED = 0.5
"""Rank correlation above which two orders count as equal."""
A_FEW = 3.0
"""Largest overhead or difference that counts as a few percent."""

_SIZES = tuple(f"{entries} entries" for entries in ENTRIES)


def _off(cases: Sequence[str]) -> str:
    return f"; not on {', '.join(cases)}" if cases else ""


def _in_order(number: str) -> "Trend":
    """Checks for every workload of a figure that each scheme takes at least as long as the preceding scheme."""

    def find(means: Means, each: Each) -> Finding:
        by_scheme = {scheme: each(number, scheme) for scheme in SCHEMES}
        steps = {
            f"{case} ({later} {by_scheme[later][case] / by_scheme[earlier][case]:.3f} of {earlier})": (
                100 * (by_scheme[later][case] / by_scheme[earlier][case] - 1) + NOISE
            )
            for case in by_scheme["CM"]
            for earlier, later in pairwise(SCHEMES)
        }
        note = f"{listed(means, number, SCHEMES, '')}{_off([step for step, margin in steps.items() if margin <= 0])}"
        return Finding(tuple(steps.values()), note)

    where = "every workload (Fig. 6)" if number == "6" else "stores at every rate"
    return Trend(f"COBCM <= OBCM <= BCM <= CM <= M <= NoGap on {where}, to within {NOISE:g} %", (number,), find)


def _steps(means: Means) -> dict[str, float]:
    return {f"{earlier} to {later}": means["6"][later] - means["6"][earlier] for earlier, later in pairwise(SCHEMES)}


def _root_then_tags(means: Means, each: Each) -> Finding:
    steps = _steps(means)
    root, tags = steps.pop("BCM to CM"), steps.pop("M to NoGap")
    rest = ", ".join(f"{name} {100 * step:+.1f}" for name, step in steps.items())
    note = f"BCM to CM {100 * root:+.1f} points, M to NoGap {100 * tags:+.1f}, {rest}"
    return Finding((root - tags, tags - max(steps.values())), note)


def _roots_by_locality(means: Means, each: Each) -> Finding:
    shared = each("6b", "NWPE")
    bcm, cm, m, no_gap = (each("6", scheme) for scheme in ("BCM", "CM", "M", "NoGap"))
    part = {case: (cm[case] - bcm[case]) / (cm[case] - bcm[case] + no_gap[case] - m[case]) for case in shared}
    rank = rank_correlation([shared[case] for case in shared], [-part[case] for case in shared])
    order = sorted(shared, key=shared.__getitem__)
    note = ", ".join(f"{case} {100 * part[case]:.0f} % ({shared[case]:.1f})" for case in order)
    return Finding((rank - RANKED,), f"rank correlation {rank:.2f}; of both, the root's part (NWPE): {note}")


def _nearly_free(means: Means, each: Each) -> Finding:
    cost = 100 * (means["6"]["COBCM"] - 1)
    names = ("banks idle", "hashes of a cycle", "both", "reads verified first")
    waits = ", ".join(
        f"{what}, {name} {means['6c'][f'{what}, {name}']:.1f} %"
        for what in ("no entry free", "entry leaves")
        for name in ("bbb", "COBCM", "neither")
    )
    return Finding((A_FEW - cost,), f"{cost:.1f} %; {listed(means, '6d', names, '')} times; {waits} of cycles")


def _cm_is_m(means: Means, each: Each) -> Finding:
    cm, m = each("6", "CM"), each("6", "M")
    more = {case: 100 * (m[case] / cm[case] - 1) for case in cm}
    most = max(more, key=lambda case: abs(more[case]))
    return Finding(
        tuple(A_FEW - abs(share) for share in more.values()), f"M takes {more[most]:+.2f} % on {most}, the furthest off"
    )


def _counters_cost_nothing(means: Means, each: Each) -> Finding:
    cobcm, obcm = each("6", "COBCM"), each("6", "OBCM")
    points = {case: 100 * (obcm[case] - cobcm[case]) for case in cobcm}
    overflows = each("6j", OVERFLOWS)
    far = [f"{case} ({more:+.1f}, {overflows[case]:.0f} overflows)" for case, more in points.items() if more >= 1]
    quiet = sum(more < 1 and not overflows[case] for case, more in points.items())
    note = f"less on {len(points) - len(far)} of {len(points)}, {quiet} of these without an overflow{_off(far)}"
    return Finding(tuple(1 - more for more in points.values()), note)


def _modelled(claim: str, number: str, schemes: tuple[str, ...], also: tuple[str, ...] = ()) -> Trend:
    """Checks for every workload of a figure that the linear model's error is within its maximum; the finding also
    prints `also`.
    """

    def find(means: Means, each: Each) -> Finding:
        above = {(scheme, case): more for scheme in schemes for case, more in each(number, scheme).items()}
        far = [f"{case} ({scheme} {more:+.0f} %)" for (scheme, case), more in above.items() if abs(more) > MODEL_WITHIN]
        mean = listed(means, number, (*schemes, *also))
        note = f"{len(above) - len(far)} of {len(above)} are, {mean} in the mean{_off(far)}"
        return Finding(tuple(MODEL_WITHIN - abs(more) for more in above.values()), note)

    return Trend(claim, (number,), find)


def _gamess(means: Means, each: Each) -> Finding:
    estimated, measured = means["6g"]["estimated"], means["6g"]["measured"]
    note = f"estimated {estimated:.4f}, measured {measured:.4f}"
    # The intervals are those that round to the printed digits: from 0.105 to 0.115, and from 0.125 to 0.135.
    return Finding((0.005 - abs(estimated - 0.11), 0.005 - abs(measured - 0.13), measured - estimated), note)


def _tags_are_for_each_store(means: Means, each: Each) -> Finding:
    m, no_gap = each("6h", "M"), each("6h", "NoGap")
    saved = {case: 100 * (1 - m[case] / no_gap[case]) for case in m}
    # After Ctrl-C some cases may lack runs.
    rows = {
        ppti: {nwpe: saved[swept(ppti, nwpe)] for nwpe in NWPE_SWEPT if swept(ppti, nwpe) in saved}
        for ppti in PPTI_SWEPT
    }
    note = "; ".join(
        f"PPTI {ppti}: {', '.join(f'{share:.1f} % (NWPE {nwpe})' for nwpe, share in row.items())}"
        for ppti, row in rows.items()
    )
    return Finding(tuple(step for row in rows.values() for step in rising(row.values())), note)


def _falls_and_flattens(means: Means, each: Each) -> Finding:
    times = means["7"]
    steps = tuple(-step for step in rising(times[name] for name in _SIZES))
    early, late = (
        (times[start] - times[end]) / 3 for start, end in (("8 entries", "64 entries"), ("64 entries", "512 entries"))
    )
    note = f"{listed(means, '7', _SIZES, '')}; a doubling saves {100 * early:.1f} points to 64, {100 * late:.1f} beyond"
    return Finding((*steps, early - late), note)


def _streams_are_flat(means: Means, each: Each) -> Finding:
    times = [each("7b", name) for name in _SIZES]
    ranges = {
        case: 100 * (max(time[case] for time in times) / min(time[case] for time in times) - 1) for case in times[0]
    }
    note = ", ".join(f"{case} by {most:.2f} %" for case, most in ranges.items())
    return Finding(tuple(2 * NOISE - most for most in ranges.values()), f"largest against smallest: {note}")


def _reuse_falls(means: Means, each: Each) -> Finding:
    smallest, largest = each("7c", _SIZES[0]), each("7c", _SIZES[-1])
    note = ", ".join(f"{case} {smallest[case]:.2f} to {largest[case]:.2f}" for case in smallest)
    return Finding(tuple(smallest[case] / 2 - largest[case] for case in smallest), note)


def _fewer_roots(means: Means, each: Each) -> Finding:
    updates = [means["8"][name] for name in _SIZES]
    an_entry = each("8b", "CM")
    off = max(abs(updates - 1) for updates in an_entry.values())
    note = f"{listed(means, '8', _SIZES)} of stores; one for an entry, to within {100 * off:.1f} %"
    return Finding((*(-step for step in rising(updates)), NOISE / 100 - off), note)


def _buffer_filters_more(means: Means, each: Each) -> Finding:
    updates = ", ".join(f"{name} {means['8c'][name]:.2f}" for name in ("CM", SP))
    note = (
        f"{listed(means, '8d', ('CM', SP), '')} times, SP by the linear model {means['9c']['SP, no forest']:.3g}; root "
        f"updates in 1000 instructions: {updates}"
    )
    return Finding((means["8d"][SP] - means["8d"]["CM"],), note)


def _lower_trees(means: Means, each: Each) -> Finding:
    names = ("CM, dynamic", "CM, static", "CM, no forest")
    note = f"{listed(means, '9', names, '')} times; {listed(means, '9b', names, '')} hashes for a root update"
    return Finding(rising(means["9"][name] for name in names), note)


def _buffer_beats_forest(means: Means, each: Each) -> Finding:
    names = ("CM, static", "SP, dynamic")
    note = f"{listed(means, '9', names, '')} times, SP by the linear model {means['9c']['SP, dynamic']:.3g}"
    return Finding(rising(means["9"][name] for name in names), note)


def _energy_is_the_reverse(means: Means, each: Each) -> Finding:
    times, volumes = ([means[number][scheme] for scheme in SCHEMES] for number in ("6", "V"))
    note = f"{listed(means, 'V', SCHEMES, 'mm³')}; of drains carried out {listed(means, 'Vb', SCHEMES, 'mm³')}"
    # Execution times that differ by no more than `NOISE` may be in either order.
    return Finding((*(step + NOISE / 100 for step in rising(times)), *(-step for step in rising(volumes))), note)


def _linear(means: Means, each: Each) -> Finding:
    volumes = [means["VI"][name] for name in _SIZES]
    slopes = [step / (more - fewer) for step, (fewer, more) in zip(rising(volumes), pairwise(ENTRIES), strict=True)]
    note = f"{listed(means, 'VI', (_SIZES[0], _SIZES[-1]), 'mm³')}; {min(slopes):.5f} to {max(slopes):.5f} an entry"
    return Finding((min(slopes), 1e-6 - (max(slopes) / min(slopes) - 1)), note)


TRENDS = (
    _in_order("6"),
    _in_order("6h"),
    Trend("The root is the largest step, a tag for each store the next (Table IV)", ("6",), _root_then_tags),
    Trend(
        "The fewer stores share an entry, the more of that is the root (section VI-B)", ("6", "6b"), _roots_by_locality
    ),
    Trend("COBCM costs a few percent (Table IV)", ("6", "6c", "6d"), _nearly_free),
    Trend(f"M takes what CM does, to within {A_FEW:g} % (Fig. 6)", ("6",), _cm_is_m),
    Trend("OBCM is less than a point above COBCM on every workload (Fig. 6)", ("6", "6j"), _counters_cost_nothing),
    _modelled(
        "The linear model is within 15 % on every workload, CM to NoGap (section VI-B)", "6f", MODELLED[1:], (FELT,)
    ),
    _modelled("So it is of BCM", "6f", MODELLED[:1], (BCM_OVER_COBCM,)),
    _modelled("It is within 15 % of stores at every rate", "6i", MODELLED, (FELT,)),
    Trend("gamess's IPC under NoGap is estimated as 0.11, and is 0.13 (section VI-B)", ("6g",), _gamess),
    Trend(
        "The more stores share an entry, the more M saves of NoGap (section VI-B)", ("6h",), _tags_are_for_each_store
    ),
    Trend("More entries are faster, beyond 64 by less (Fig. 7)", ("7",), _falls_and_flattens),
    Trend("A workload that streams is as fast with any number (Fig. 7)", ("7b",), _streams_are_flat),
    Trend("Reuse that a buffer can keep at least halves the time (Fig. 7)", ("7c",), _reuse_falls),
    Trend("Root updates fall with entries, and are one for each (Fig. 8)", ("8", "8b"), _fewer_roots),
    Trend(
        "CM is faster than strict persistency at the controller (section VII)", ("8c", "8d", "9c"), _buffer_filters_more
    ),
    Trend("The lower the trees, the faster CM: dynamic forests, static ones, none (Fig. 9)", ("9", "9b"), _lower_trees),
    Trend("CM over a static forest is faster than SP over a dynamic one (Fig. 9)", ("9", "9c"), _buffer_beats_forest),
    Trend("The faster a scheme, the larger its battery (Tables IV, V)", ("6", "V", "Vb"), _energy_is_the_reverse),
    Trend("The battery is linear in entries (Table VI)", ("VI",), _linear),
)
