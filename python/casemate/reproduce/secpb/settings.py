"""Designs, and what is changed of them and of the machine."""

from casemate.reproduce.runs import Changes, Setting

SCHEMES = ("COBCM", "OBCM", "BCM", "CM", "M", "NoGap")
"""From the one that does nothing as a store enters to the one that leaves nothing to the drain."""

ENTRIES = (8, 16, 32, 64, 128, 256, 512)
"""Sizes of the buffer (Fig. 7), of which 32 is that of all other figures."""

_SPECULATIVE: Changes = {"design.parts.release": "speculative"}
"""Section V: "We assume speculative integrity verification in all our models"."""
_CACHES: Changes = {
    **{f"design.parts.caches.{kind}": "128 KB" for kind in ("counters", "tags", "nodes")},
    "design.parts.caches.ways": 8,
}
"""The metadata caches of Table I, which the schemes have."""
_IDLE_BANKS: Changes = {"machine.pcm.write_ns": 1}
"""Writes that no bank is busy with, so that none is waited for."""
_QUICK_HASHES: Changes = {"machine.engines.hash.latency_ns": 0.25}
"""A cycle for each node of the tree, so that no drain is held up by the one before it."""


def design(scheme: str) -> str:
    """The design of a scheme."""
    return f"secpb-{scheme.lower()}"


def sized(entries: int) -> str:
    """The setting of CM with so many entries."""
    return design("CM") if entries == 32 else f"{design('CM')}-{entries}"


def _secure(name: str, design: str, changes: Changes | None = None) -> Setting:
    """As the paper's models verify what is read."""
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
    *(_secure(f"secpb-cm-{forest}", f"secpb-cm-{forest}") for forest in ("sbmf", "dbmf")),
    _secure("sp", "plp-sp", _CACHES),
    *(_secure(f"sp-{forest}", f"plp-sp-{forest}", _CACHES) for forest in ("sbmf", "dbmf")),
)  # fmt: skip
