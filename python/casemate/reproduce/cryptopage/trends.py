"""Statements of the CryptoPage paper about its figures, which our numbers support or refute."""

from casemate.reproduce.cryptopage.cases import SIMPLEX
from casemate.reproduce.cryptopage.figures import (
    ADVANCED,
    BASIC,
    BEHIND,
    HIDE,
    L2_MISSES,
    TLB_MISSES,
    cache_name,
    slots_name,
)
from casemate.reproduce.cryptopage.settings import CACHES, FREE, SLOTS
from casemate.reproduce.statements import listed, rank_correlation, rising
from casemate.reproduce.study import Each, Finding, Means, Trend

PUBLISHED_LOSS = 3.0
"""Mean loss of CryptoPage in the paper, in percent of IPC."""
_WITHIN = 1e-9
"""Tolerance of comparisons that permit equality: a program without permutations has equal numbers in all series."""


def _on_each(figure: str, names: tuple[str, ...], each: Each) -> Finding:
    """Checks for each program that no series is below the preceding series."""
    columns = [each(figure, name) for name in names]
    margins = {case: min(rising(column[case] for column in columns)) + _WITHIN for case in columns[0]}
    broken = [
        f"{case} ({', '.join(f'{column[case]:.1f}' for column in columns)} %)"
        for case, margin in margins.items()
        if margin <= 0
    ]
    note = f"on {len(margins) - len(broken)} of {len(margins)}" + (f"; not on {', '.join(broken)}" if broken else "")
    return Finding(tuple(margins.values()), note)


def _architectures(end: str) -> Trend:
    def find(means: Means, each: Each) -> Finding:
        return _on_each(f"7a{end}", (BASIC, ADVANCED, HIDE), each)

    free = ", with free permutations too" if end else ""
    claim = f"HIDE loses no more than CryptoPage, this no more than basic{free} (Fig. 7a)"
    return Trend(claim, (f"7a{end}",), find, within_intervals=True)


def _first_entries_count(means: Means, each: Each) -> Finding:
    none, *others = (means["7b"][cache_name(entries)] for entries in CACHES)
    step, rest = others[0] - none, others[-1] - others[0]
    return Finding((step - rest, rest + _WITHIN), listed(means, "7b", [cache_name(entries) for entries in CACHES]))


def _most_where_tlbs_miss(means: Means, each: Each) -> Finding:
    misses = each(f"7b{BEHIND}", TLB_MISSES)
    none, some = each(f"7b{FREE}", cache_name(0)), each(f"7b{FREE}", cache_name(256))
    gained = {case: some[case] / none[case] for case in misses}
    cases = sorted(gained)
    rank = rank_correlation([gained[case] for case in cases], [misses[case] for case in cases])
    note = f"rank correlation {rank:.2f} over {len(cases)} workloads"
    if SIMPLEX in gained:
        note += f"; {gained[SIMPLEX]:.2f} times on {SIMPLEX}, with {misses[SIMPLEX]:.1f} TLB misses"
    return Finding((rank,), note)


def _lines_under_a_tag(end: str) -> Trend:
    def find(means: Means, each: Each) -> Finding:
        found = _on_each(f"7c{end}", tuple(slots_name(slots) for slots in reversed(SLOTS)), each)
        why = "" if found.holds or end else "; permutations move fewer tags, which saves more than fills cost"
        return Finding(found.margins, found.measured + why)

    free = "With free permutations and v" if end else "V"
    claim = f"{free}erified first, each program loses more with more lines under a tag (Fig. 7c)"
    return Trend(claim, (f"7c{end}",), find, within_intervals=True)


def _speculation(means: Means, each: Each) -> Finding:
    margins: dict[str, float] = {}
    for slots in SLOTS:
        verified, decrypted = each("7c", slots_name(slots)), each("7d", slots_name(slots))
        margins |= {f"{case}, {slots_name(slots)}": decrypted[case] - verified[case] + _WITHIN for case in verified}
    broken = [f"{name} ({margin:.2f})" for name, margin in margins.items() if margin <= 0]
    gains = ", ".join(
        f"{slots_name(slots)} {means['7d'][slots_name(slots)] - means['7c'][slots_name(slots)]:+.2f}" for slots in SLOTS
    )
    return Finding(
        tuple(margins.values()), f"points gained: {gains}" + (f"; not {', '.join(broken)}" if broken else "")
    )


def _slowdown_follows_misses(means: Means, each: Each) -> Finding:
    left, free, misses = each("7a", ADVANCED), each(f"7a{FREE}", ADVANCED), each(f"7a{BEHIND}", L2_MISSES)
    cases = sorted(left, key=lambda case: -left[case])
    rank = rank_correlation([-left[case] for case in cases], [misses[case] for case in cases])
    lost = {case: f"{case} {100 - left[case]:.1f} ({100 - free[case]:.1f})" for case in cases}
    near = [lost[case] for case in cases if 100 - left[case] <= PUBLISHED_LOSS]
    others = [lost[case] for case in cases if 100 - left[case] > PUBLISHED_LOSS]
    note = (
        f"rank correlation {rank:.2f} over {len(cases)}. % lost, and in brackets with free permutations: within "
        f"{PUBLISHED_LOSS:.0f} % {', '.join(near) or 'none'}; more {', '.join(others) or 'none'}"
    )
    return Finding((rank,), note)


TRENDS = (
    _architectures(""),
    _architectures(FREE),
    Trend("A small Merkle cache helps much, a larger one little more (Fig. 7b)", ("7b",), _first_entries_count),
    Trend(
        "The first 256 entries gain most where TLBs miss most (Fig. 7b)", (f"7b{FREE}", f"7b{BEHIND}"),
        _most_where_tlbs_miss,
    ),
    _lines_under_a_tag(""),
    _lines_under_a_tag(FREE),
    Trend(
        "No program loses more by a release before the verdict (Figs. 7c, 7d)", ("7c", "7d"), _speculation,
        within_intervals=True,
    ),
    Trend(
        "Slowdowns rank with the misses of L2: the published 3 % are of programs that seldom miss",
        ("7a", f"7a{FREE}", f"7a{BEHIND}"), _slowdown_follows_misses,
    ),
)  # fmt: skip
