"""Figures 7a to 7d of the CryptoPage paper as functions of records, with the values in the paper's text.

Each figure has two companions: the same figure with permutations that take no time, and the misses and bus traffic that
explain its numbers. Figure 7a has a third, with permutations that compete with other requests for the bus.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from casemate.reproduce.cryptopage import measures
from casemate.reproduce.cryptopage.settings import CACHES, CHARGED, FREE, SLOTS, UNPROTECTED, cached, requested, tagged
from casemate.reproduce.study import Figure, Series, of_run

HIDE, BASIC, ADVANCED = "HIDE", "CryptoPage, basic", "CryptoPage"
L2_MISSES, TLB_MISSES = "L2 misses", "TLB misses"
BEHIND = "-behind"
"""Suffix of a figure's number for the companion with misses and bus traffic."""


@dataclass(frozen=True)
class Bar:
    """A series of a figure: the IPC under one setting."""

    name: str
    setting: str
    paper: float | None = None
    """Mean in the paper, if the text states it."""

    def ipc(self, end: str = "") -> Series:
        """Returns the IPC in percent of the unprotected machine's, under the setting or under its twin with this
        suffix.
        """
        setting = f"{self.setting}{end}"
        paper = None if end else self.paper
        return Series(self.name, lambda under: 100 * under(setting).ipc / under(UNPROTECTED).ipc, paper)

    def behind(self) -> Sequence[Series]:
        """Returns the series of bus traffic under the setting."""
        return [
            of_run(f"{what}, {self.name}", measure, self.setting)
            for what, measure in (
                ("fills a permutation", measures.fills_per_permutation),
                ("lines moved a fill", measures.moved_per_fill),
                ("bus time, %", measures.bus_time),
            )
        ]


def cache_name(entries: int) -> str:
    """Name of the series for a number of entries in the Merkle cache."""
    return f"{entries} entries" if entries else "no cache"


def slots_name(slots: int) -> str:
    """Name of the series for a number of lines that share a tag."""
    return f"{slots} line{'s' if slots > 1 else ''} a tag"


def _figures(number: str, title: str, bars: Sequence[Bar], note: str = "") -> tuple[Figure, ...]:
    """Returns a figure of the paper and its companions."""
    settings = [bar.setting for bar in bars]
    unit = "% of unprotected IPC"
    misses = (
        of_run(L2_MISSES, measures.l2_misses, UNPROTECTED),
        of_run(TLB_MISSES, measures.tlb_misses, UNPROTECTED),
    )
    return (
        Figure(number, title, unit, tuple(bar.ipc() for bar in bars), (UNPROTECTED, *settings), note=note),
        Figure(
            f"{number}{FREE}", f"{title}: permutations are free", unit, tuple(bar.ipc(FREE) for bar in bars),
            (UNPROTECTED, *(f"{setting}{FREE}" for setting in settings)), note="Not the paper's.",
        ),
        Figure(
            f"{number}{BEHIND}", f"{title}: misses and moves behind it", "misses in 1000 instructions; lines; %",
            (*misses, *(series for bar in bars for series in bar.behind())), (UNPROTECTED, *settings),
            note="Not the paper's. Misses are the unprotected machine's. Without a permutation, fills a permutation "
            "are 0.",
            one_unit=False,
        ),
    )  # fmt: skip


def _charged(number: str, title: str, bars: Sequence[Bar]) -> Figure:
    settings = (UNPROTECTED, *(f"{bar.setting}{CHARGED}" for bar in bars))
    return Figure(
        f"{number}{CHARGED}",
        f"{title}: permutations compete for the bus",
        "% of unprotected IPC",
        tuple(bar.ipc(CHARGED) for bar in bars),
        settings,
        note="Not the paper's.",
    )


def _of_tags(number: str, verified: bool, note: str) -> tuple[Figure, ...]:
    papers = {2: 95.6, 4: 88.3} if verified else {}
    bars = [Bar(slots_name(slots), tagged(slots, verified), papers.get(slots)) for slots in SLOTS]
    if not verified:
        firsts = [Bar(f"{slots_name(slots)}, requested first", requested(slots)) for slots in SLOTS if slots > 1]
        bars = [*bars, *firsts]
    return _figures(number, f"Lines under one tag, released when {'verified' if verified else 'decrypted'}", bars, note)


ARCHITECTURES = (Bar(HIDE, "hide", 98.7), Bar(BASIC, "cryptopage-basic"), Bar(ADVANCED, "cryptopage", 97.0))

FIGURES = (
    *_figures(
        "7a", "Architectures", ARCHITECTURES,
        "HIDE's 98.7 % are from the HIDE paper. The paper's basic architecture loses up to 50 %, on mcf.",
    ),
    _charged("7a", "Architectures", ARCHITECTURES),
    *_figures("7b", "Entries of the Merkle cache", [Bar(cache_name(entries), cached(entries)) for entries in CACHES]),
    *_of_tags(
        "7c", True, "The paper does not say whether it compares with the unprotected machine or with one line a tag."
    ),
    *_of_tags("7d", False, "The paper says that less than 1 % is lost."),
)  # fmt: skip
