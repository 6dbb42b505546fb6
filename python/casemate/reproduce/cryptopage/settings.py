"""Designs of the CryptoPage study, and changes of their keys. Each setting with permutations has a twin with
permutations that take no time. The architectures have another twin, with permutations that take bus time from other
requests.
"""

from casemate.reproduce.runs import Changes, Setting

FREE = "-free"
"""Suffix of the name of a twin with free permutations."""
CHARGED = "-charged"
"""Suffix of the name of a twin whose permutations compete with other requests for the bus."""
ARCHITECTURES = ("hide", "cryptopage-basic", "cryptopage")
"""Architectures that the paper compares (Fig. 7a)."""
UNPROTECTED = "none"
CACHES = (0, 256, 512, 1024)
"""Entries of the Merkle cache (Fig. 7b); `cryptopage` has 512."""
SLOTS = (1, 2, 4)
"""Numbers of lines that share a tag (Figs. 7c, 7d); `cryptopage` has one."""

_PERMUTATION = "design.parts.permutation"
_VERIFIED: Changes = {"design.parts.release": "verified"}


def cached(entries: int) -> str:
    """Name of the setting of `cryptopage` with this number of entries in its Merkle cache."""
    return "cryptopage" if entries == 512 else f"cryptopage-cache-{entries}"


def tagged(slots: int, verified: bool) -> str:
    """Name of the setting of `cryptopage` with this number of lines under a tag, which the controller releases when
    verified or when decrypted.
    """
    if verified:
        return f"cryptopage-verified-{slots}"
    return "cryptopage" if slots == 1 else f"cryptopage-slots-{slots}"


def requested(slots: int) -> str:
    """Name of the setting of `cryptopage` with this number of lines under a tag, the requested line first."""
    return f"cryptopage-requested-{slots}"


def _cached(entries: int) -> Setting:
    return Setting(cached(entries), "cryptopage", {f"{_PERMUTATION}.merkle_cache.entries": entries})


def _tagged(slots: int, verified: bool) -> Setting:
    changes: Changes = {f"{_PERMUTATION}.slots_per_tag": slots, **(_VERIFIED if verified else {})}
    return Setting(tagged(slots, verified), "cryptopage", changes)


_IN_IDLE_TIME = (
    *(Setting(design, design) for design in ARCHITECTURES),
    *(_cached(entries) for entries in CACHES if entries != 512),
    *(_tagged(slots, verified=False) for slots in SLOTS if slots != 1),
    *(
        Setting(
            requested(slots),
            "cryptopage",
            {f"{_PERMUTATION}.slots_per_tag": slots, f"{_PERMUTATION}.first": "requested"},
        )
        for slots in SLOTS
        if slots != 1
    ),
    *(_tagged(slots, verified=True) for slots in SLOTS),
)


def _twin(setting: Setting, end: str, time: str) -> Setting:
    return Setting(f"{setting.name}{end}", setting.design, {**setting.changes, f"{_PERMUTATION}.time": time})


SETTINGS = (
    Setting(UNPROTECTED, "none"),
    *_IN_IDLE_TIME,
    *(_twin(setting, FREE, "free") for setting in _IN_IDLE_TIME),
    *(_twin(setting, CHARGED, "charged") for setting in _IN_IDLE_TIME if setting.name in ARCHITECTURES),
)
