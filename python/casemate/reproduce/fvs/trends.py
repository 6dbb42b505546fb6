"""Statements of the paper on frequent values about its figures, which our numbers support or refute. If a statement may
fail for lack of cryptographic engines or memory bandwidth, the finding includes measurements of them.
"""

from statistics import fmean

from casemate.reproduce.statements import listed, rank_correlation, rising
from casemate.reproduce.study import Each, Finding, Means, Trend

RANKED = 0.5
"""Rank correlation above which two orders count as equal."""
NOTHING = 0.2
"""Largest change of speed that counts as neither gain nor loss, in percent."""
LITTLE = 2.0
"""Largest change of speed that counts as small, in percent."""

_VALUES = ("8 values", "16 values", "32 values")


def _more_values_predict_more(means: Means, each: Each) -> Finding:
    steps = rising(means["5"][name] for name in _VALUES)
    return Finding((*steps, steps[0] - steps[1]), listed(means, "5", _VALUES))


def _two_in_five(means: Means, each: Each) -> Finding:
    predicted = each("5", "8 values")
    over = sum(share > 40 for share in predicted.values())
    low, high = (f"{case} {predicted[case]:.0f} %" for case in _ends(predicted))
    mean = means["5"]["8 values"]
    return Finding((mean - 40,), f"{mean:.1f} %; {over} of {len(predicted)} workloads are over 40 %; {low} to {high}")


def _ends(values: dict[str, float]) -> tuple[str, str]:
    return min(values, key=values.__getitem__), max(values, key=values.__getitem__)


def _gzip_is_poor(means: Means, each: Each) -> Finding:
    predicted = each("5", "8 values")
    rest = fmean(share for case, share in predicted.items() if case != "gzip")
    own = predicted.get("gzip", rest)
    return Finding((rest - own,), f"gzip {own:.1f} %, the others {rest:.1f} % in the mean")


def _never_fewer(means: Means, each: Each) -> Finding:
    as_they_lie, ordered_ = (each("6", f"8 values, {how}") for how in ("as they lie", "re-ordered"))
    more = {case: ordered_[case] - as_they_lie[case] for case in ordered_}
    low, high = _ends(more)
    note = f"from {more[low]:.1f} points more ({low}) to {more[high]:.1f} ({high})"
    # An equal share satisfies "never fewer", so the margin is positive then.
    return Finding(tuple(share + 1e-9 for share in more.values()), note)


def _few_and_nearly_all(means: Means, each: Each) -> Finding:
    as_they_lie, ordered_ = (means["6"][f"8 values, {how}"] for how in ("as they lie", "re-ordered"))
    words, odd = means["6b"]["predictable words in a line (words)"], means["6b"]["lines with an odd number of them"]
    note = f"{as_they_lie:.1f} -> {ordered_:.1f} %; {odd:.0f} % of lines have an odd number, of {words:.1f} in the mean"
    return Finding((50 - as_they_lie, ordered_ - 95), note)


def _gain_follows(means: Means, each: Each) -> Finding:
    gains, misses = each("7c", "gain, Triple-DES"), each("7c", "lines for 1000 instructions")
    saved, predicted = each("7c", "saved of a read, Triple-DES (ns)"), each("5", "8 values")
    speed = each("7c", "IPC without")

    def rank(factor: dict[str, float]) -> float:
        return rank_correlation([gains[case] for case in gains], [misses[case] * factor[case] for case in gains])

    by_share, by_time = rank(predicted), rank(saved)
    by_part = rank({case: saved[case] * speed[case] for case in gains})
    note = (
        f"rank correlation {by_share:.2f} with misses x predictability (a hit saves the same everywhere), "
        f"{by_time:.2f} with misses x time saved of a read, over {len(gains)} workloads; "
        f"{by_part:.2f} with that as a part of the program's time"
    )
    return Finding((by_share - RANKED, by_time - RANKED), note)


def _triple_des_gains_more(means: Means, each: Each) -> Finding:
    small, large = (means["7"][f"Triple-DES, {size}"] - means["7"][f"AES, {size}"] for size in ("256 KB", "1 MB"))
    names = ("Triple-DES, 256 KB", "AES, 256 KB", "Triple-DES, 1 MB", "AES, 1 MB")
    never = means["7b"]
    note = f"{listed(means, '7', names)}; engines never saturated: {never['Triple-DES']:.1f} and {never['AES']:.1f} %"
    note += f", AES with a block every ns {never['AES, a block every ns']:.1f} %"
    return Finding((small, large), note)


def _finds_them(means: Means, each: Each) -> Finding:
    found = each("6c", "re-ordered")
    low, high = (f"{case} {found[case]:.0f} %" for case in _ends(found))
    return Finding(tuple(share - 95 for share in found.values()), f"{low} to {high}")


def _over_ten(means: Means, each: Each) -> Finding:
    def over(number: str, name: str) -> int:
        return sum(gain > 10 for gain in each(number, name).values())

    counts = {cipher: over("7", f"{cipher}, 256 KB") for cipher in ("Triple-DES", "AES")}
    never = {cipher: over("7b", cipher) for cipher in counts}
    note = ", ".join(
        f"{cipher} {count} ({never[cipher]} if engines never saturate)" for cipher, count in counts.items()
    )
    return Finding(tuple(float(count) - 7 for count in counts.values()), note)


def _less_with_a_larger_l2(means: Means, each: Each) -> Finding:
    falls = [means["7"][f"{cipher}, 256 KB"] - means["7"][f"{cipher}, 1 MB"] for cipher in ("Triple-DES", "AES")]
    small, large = each("7", "Triple-DES, 256 KB"), each("7", "Triple-DES, 1 MB")
    fewer = sum(small[case] > large[case] for case in small)
    names = ("Triple-DES, 256 KB", "Triple-DES, 1 MB", "AES, 256 KB", "AES, 1 MB")
    note = (
        f"{listed(means, '7', names)}; Triple-DES gains less on {fewer} of {len(small)}; engines never saturated, AES "
        f"{means['7b']['AES']:.1f} and {means['7b']['AES, 1 MB']:.1f} %"
    )
    return Finding(tuple(falls), note)


def _by_tags_alone(means: Means, each: Each) -> Finding:
    gains = means["8"]
    over = sum(gain > 5 for gain in each("8", "256 KB").values())
    never = means["8b"]["256 KB"]
    note = f"{listed(means, '8', ('256 KB', '1 MB'))}, over 5 % on {over}; engines never saturated {never:.1f} %"
    return Finding((gains["256 KB"], gains["1 MB"]), note)


def _tags_alone_gain_less(means: Means, each: Each) -> Finding:
    direct, tags = means["7b"]["AES"], means["8b"]["256 KB"]
    as_they_lie = means["7g"]["as they lie"]
    note = f"AES {direct:.1f} %, and {as_they_lie:.1f} % where no bitmap is waited for; counter mode {tags:.1f} %"
    return Finding((direct - tags,), note)


def _re_ordering_gains(means: Means, each: Each) -> Finding:
    names = ("re-ordered", "re-ordered, bitmaps loose", "re-ordered, 8 MB for bitmaps", "as they lie")
    fetched = means["7h"]["bitmaps fetched"]
    note = (
        f"{listed(means, '7e', names)}; engines never saturated {listed(means, '7g', names)}; a bitmap is fetched for "
        f"{fetched:.0f} % of lines"
    )
    return Finding((means["7e"]["re-ordered"] - means["7e"]["as they lie"],), note)


def _rises_with_the_clock(means: Means, each: Each) -> Finding:
    ratios = ("1:4", "1:5", "1:6")
    without_bitmaps = [f"Triple-DES, {ratio}" for ratio in ratios]
    note = (
        f"{listed(means, '9', ratios)}; engines never saturated {listed(means, '9b', ratios)}; without bitmaps "
        f"{listed(means, '9c', without_bitmaps)}"
    )
    return Finding(rising(means["9"][ratio] for ratio in ratios), note)


def _little_by_values(means: Means, each: Each) -> Finding:
    gains = [means["10"][name] for name in _VALUES]
    eight, most = each("10", "8 values"), each("10", "32 values")
    lost = [case for case in eight if most[case] < eight[case]]
    note = f"{listed(means, '10', _VALUES)}; 32 gain less than 8 on {len(lost)}: {', '.join(lost)}"
    return Finding((LITTLE - abs(gains[2] - gains[0]), float(len(lost))), note)


def _saturation_takes_it(means: Means, each: Each) -> Finding:
    limited, never = (means[number]["32 values"] - means[number]["8 values"] for number in ("10", "10b"))
    return Finding(
        (never - limited,), f"from 8 to 32 values {limited:+.2f} points, with engines that never saturate {never:+.2f}"
    )


def _monotone(means: Means, each: Each) -> Finding:
    steps = rising(means["10b"][name] for name in _VALUES)
    by_case = [each("10b", name) for name in _VALUES]
    lost = [case for case in by_case[0] if min(rising(gains[case] for gains in by_case)) < -NOTHING]
    note = f"{listed(means, '10b', _VALUES)}; on {len(lost)} one of the steps loses over {NOTHING} %"
    return Finding(steps, note + (f": {', '.join(lost)}" if lost else ""))


def _contention_alone(means: Means, each: Each) -> Finding:
    ciphers = ("Triple-DES", "AES")
    costs = (-means["7d"]["Triple-DES"], -means["7d"]["AES, as they lie"])
    never = [each("7d", f"{cipher}, engines never saturate") for cipher in ciphers]
    largest = max(abs(change) for changes in never for change in changes.values())
    note = (
        f"Triple-DES loses {costs[0]:.2f} %, AES {costs[1]:.2f} %; with engines that never saturate no workload "
        f"changes by more than {largest:.2f} %"
    )
    return Finding((*costs, NOTHING - largest), note)


TRENDS = (
    Trend("More values predict more, each doubling less (Fig. 5)", ("5",), _more_values_predict_more),
    Trend("Over 40 % of words are predictable on average (Fig. 5, section 8)", ("5",), _two_in_five),
    Trend("gzip is poorly predictable (Fig. 5)", ("5",), _gzip_is_poor),
    Trend("Re-ordering never has fewer in blocks of 128 bits (Fig. 6)", ("6",), _never_fewer),
    Trend("Few as they lie, over 95 % re-ordered (Fig. 6)", ("6", "6b"), _few_and_nearly_all),
    Trend("The design finds 95 % of these blocks on every workload", ("6c",), _finds_them),
    Trend("Over 10 % for eight programs, with both ciphers (Fig. 7)", ("7", "7b"), _over_ten),
    Trend("AES gains by re-ordering (section 3.2.2)", ("7e", "7g", "7h"), _re_ordering_gains),
    Trend("Triple-DES gains at least what AES does (Fig. 7)", ("7", "7b"), _triple_des_gains_more),
    Trend("The gain falls with a larger L2 in general (Fig. 7)", ("7", "7b"), _less_with_a_larger_l2),
    Trend("Gain ranks with misses x predictability x time saved (Figs. 5, 7)", ("5", "7c"), _gain_follows),
    Trend("Without a predictable chunk there is contention and nothing else", ("7d",), _contention_alone),
    Trend("Counter mode gains by tags alone (Fig. 8)", ("8", "8b"), _by_tags_alone),
    Trend(
        "It gains less than direct encryption, engines aside (Figs. 7, 8)", ("7b", "7g", "8b"), _tags_alone_gain_less
    ),
    Trend(
        "The gain rises slightly with the core's clock over memory's (Fig. 9)", ("9", "9b", "9c"), _rises_with_the_clock
    ),
    Trend("More values gain little, and sometimes lose (Fig. 10)", ("10",), _little_by_values),
    Trend("What more values do not gain, engines lack (Fig. 10)", ("10", "10b"), _saturation_takes_it),
    Trend("With engines that never saturate more values gain more", ("10b",), _monotone),
)
