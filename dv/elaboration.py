"""Parameters that make no design are refused when it is elaborated, with words that name the parameter."""

from __future__ import annotations

from tools import lint

# A module, its parameters, and the parameter that the refusal must name. Of no bits at all Verilator says that they
# are no range before it comes to the rule.
REFUSED: tuple[tuple[str, dict[str, int], str | None], ...] = (
    ("gcm_lane", {"KeyBits": 192}, "KeyBits"),
    ("gcm_lane", {"KeyBits": 0}, "KeyBits"),
    ("gcm_lane", {"KeyBits": 192, "RoundsPerCycle": 0}, "KeyBits"),
    ("gcm_lane", {"RoundsPerCycle": 3}, "RoundsPerCycle"),
    ("gcm_lane", {"RoundsPerCycle": 5}, "RoundsPerCycle"),
    ("gcm_lane", {"MulBits": 0}, None),
    ("gcm_lane", {"MulBits": 24}, "MulBits"),
    ("gcm_lane", {"MulBits": 256}, "MulBits"),
    ("gcm_lane", {"IdBits": 0}, "IdBits"),
    ("gcm_router", {"Lanes": 0}, "Lanes"),
    ("gf128_mul", {"W": 48}, "W"),
)


def not_refused() -> list[str]:
    """The bad parameters that are not refused, or not by name."""
    wrong = []
    for top, parameters, name in REFUSED:
        done = lint(top, parameters)
        said = [line for line in done.stdout.splitlines() if "USERERROR" in line]
        if done.returncode == 0:
            wrong.append(f"{top} takes {parameters}")
        elif name and not any(f" {name} is " in line for line in said):
            wrong.append(f"{top} refuses {parameters} without naming {name}: {done.stdout.strip().splitlines()[0]}")
    return wrong
