"""How this copy of Casemate was built. Results do not depend on it; the time of a run does."""

from casemate._core import BUILT_AS

RELEASED = "release"

IN_WORDS = {
    RELEASED: "released build",
    f"{RELEASED}-by-profile": "build by a profile of runs, the fastest",
    "demo": "quick build for `make demo`; its runs need 1.1 to 1.7 times the host's instructions of `make build`",
    "debug": "build for tests; the package of `make build` runs several times as fast",
}
"""Names of builds, as results have them, with what a user should know of each."""


def in_words(name: str = BUILT_AS) -> str:
    """Returns a build's name in words; a profile of the user's own has only its name."""
    return IN_WORDS.get(name, f"build with the profile '{name}'")


def is_fast(name: str = BUILT_AS) -> bool:
    """Returns true if no other build runs much faster."""
    return name.startswith(RELEASED)
