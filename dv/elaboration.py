"""Checks that elaboration rejects invalid parameters with a message that names the parameter."""

from __future__ import annotations

from tools import lint

# A module, its parameters, and the parameter that the message must name. For MulBits = 0 there is no name, because
# Verilator reports an invalid range before it reaches the rule.
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
    """Returns a message for each invalid set of parameters that is accepted, or rejected without the expected name."""
    wrong = []
    for top, parameters, name in REFUSED:
        done = lint(top, parameters)
        said = [line for line in done.stdout.splitlines() if "USERERROR" in line]
        if done.returncode == 0:
            wrong.append(f"{top} takes {parameters}")
        elif name and not any(f" {name} is " in line for line in said):
            wrong.append(f"{top} refuses {parameters} without naming {name}: {done.stdout.strip().splitlines()[0]}")
    return wrong
