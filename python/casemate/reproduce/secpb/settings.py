"""Designs of the SecPB study, and changes of designs and machine."""

from casemate.reproduce.runs import Changes, Setting

SCHEMES = ("COBCM", "OBCM", "BCM", "CM", "M", "NoGap")
"""Schemes in order, from COBCM without early steps to NoGap without late steps, which leaves no security work to the
drain.
"""

ENTRIES = (8, 16, 32, 64, 128, 256, 512)
"""Numbers of entries of the persist buffer (Fig. 7); all other figures use 32 entries."""

_SPECULATIVE: Changes = {"design.parts.release": "speculative"}
"""Section V: "We assume speculative integrity verification in all our models"."""
_CACHES: Changes = {
    **{f"design.parts.caches.{kind}": "128 KB" for kind in ("counters", "tags", "nodes")},
    "design.parts.caches.ways": 8,
}
"""The metadata caches of Table I, which the schemes have."""
_IDLE_BANKS: Changes = {"machine.pcm.write_ns": 1}
"""Writes that hardly occupy their bank, so that no access waits for them."""
_QUICK_HASHES: Changes = {"machine.engines.hash.latency_ns": 0.25}
"""One cycle for the hash of each tree node, so that no drain waits for the preceding drain."""


_PSEUDO_RANDOM: Changes = {"machine.pcm.mapping": "pseudo-random"}
"""Mapping of lines to banks by Rau (ISCA 1991), which prevents that two streams conflict in one bank again and again.
"""

WATERMARKS = ((0.5, 0.25), (0.75, 0.25), (0.75, 0.5), (0.75, 0.7), (0.95, 0.5), (0.95, 0.9))
"""Watermarks: shares of used entries at which a buffer begins to drain, and at which it stops. The paper does not state
the second.
"""
USUAL_WATERMARKS = (0.75, 0.5)
STREAMED_ENTRIES = (8, 16, 24, 32, 48, 64)
"""Numbers of entries at which a stream of stores under the design `bbb` is either fast or slow."""


def design(scheme: str) -> str:
    """Returns the name of the design that models a scheme."""
    return f"secpb-{scheme.lower()}"


def sized(entries: int) -> str:
    """Name of the setting of CM with this number of entries."""
    return design("CM") if entries == 32 else f"{design('CM')}-{entries}"


def marked(design: str, marks: tuple[float, float]) -> str:
    """Name of the setting of a design with these watermarks."""
    return design if marks == USUAL_WATERMARKS else f"{design}-{round(100 * marks[0])}-{round(100 * marks[1])}"


def streamed(entries: int, mapping: str) -> str:
    """Name of the setting of `bbb` with this number of entries and this mapping of lines to banks."""
    return "bbb" if (entries, mapping) == (32, "xor") else f"bbb-{entries}-{mapping}"


def _marks(marks: tuple[float, float]) -> Changes:
    return dict(zip(("design.parts.persistence.drain_from", "design.parts.persistence.drain_to"), marks, strict=True))


def _streams() -> tuple[Setting, ...]:
    of = {"xor": {}, "pseudo-random": _PSEUDO_RANDOM}
    return tuple(
        Setting(streamed(entries, mapping), "bbb", {"design.parts.persistence.entries": entries, **changes})
        for entries in STREAMED_ENTRIES
        for mapping, changes in of.items()
        if streamed(entries, mapping) != "bbb"
    )


def _secure(name: str, design: str, changes: Changes | None = None) -> Setting:
    """Returns the setting with speculative verification of reads, as in the paper's models."""
    return Setting(name, design, {**_SPECULATIVE, **(changes or {})})


SETTINGS = (
    Setting("bbb", "bbb"), Setting("bbb-idle-banks", "bbb", _IDLE_BANKS),
    *(_secure(design(scheme), design(scheme)) for scheme in SCHEMES),
    *(_secure(f"{design(scheme)}-idle-banks", design(scheme), _IDLE_BANKS) for scheme in SCHEMES),
    _secure("secpb-cobcm-quick-hashes", "secpb-cobcm", _QUICK_HASHES),
    _secure("secpb-cobcm-neither", "secpb-cobcm", {**_IDLE_BANKS, **_QUICK_HASHES}),
    Setting("secpb-cobcm-verified", "secpb-cobcm"),
    *(
        _secure(sized(entries), "secpb-cm", {"design.parts.persistence.entries": entries})
        for entries in ENTRIES
        if entries != 32
    ),
    *(Setting(marked("bbb", marks), "bbb", _marks(marks)) for marks in WATERMARKS if marks != USUAL_WATERMARKS),
    *(
        _secure(marked("secpb-cobcm", marks), "secpb-cobcm", _marks(marks))
        for marks in WATERMARKS
        if marks != USUAL_WATERMARKS
    ),
    *_streams(),
    *(_secure(f"secpb-cm-{forest}", f"secpb-cm-{forest}") for forest in ("sbmf", "dbmf")),
    _secure("sp", "plp-sp", _CACHES),
    *(_secure(f"sp-{forest}", f"plp-sp-{forest}", _CACHES) for forest in ("sbmf", "dbmf")),
)  # fmt: skip
