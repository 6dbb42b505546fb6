"""Lists all parameter points of rtl/ for lint and simulation.

A simulation of Verilator with cocotb takes long to build, so one build contains all points. The tops in dv/sv
instantiate each point of `points_pkg`, which `package` writes, and run the clock of one of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


def rounds(key_bits: int) -> int:
    """Returns the number of rounds of AES with a key of `key_bits` bits (FIPS-197, Figure 4)."""
    return key_bits // 32 + 6


@dataclass(frozen=True)
class LanePoint:
    """Parameters of a lane, or of a router over several lanes."""

    name: str
    key_bits: int = 128
    rounds_per_cycle: int = 1
    mul_bits: int = 16
    tower: bool = False
    # Number of lanes behind a router; `None` means a lane without a router.
    lanes: int | None = None

    @property
    def top(self) -> str:
        return "gcm_lane" if self.lanes is None else "gcm_router"

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of `top`, by their names in SystemVerilog."""
        values = {
            "KeyBits": self.key_bits,
            "RoundsPerCycle": self.rounds_per_cycle,
            "MulBits": self.mul_bits,
            "Tower": int(self.tower),
        }
        return values if self.lanes is None else values | {"Lanes": self.lanes}


@dataclass(frozen=True)
class CorePoint:
    """Parameters of an AES core."""

    key_bits: int
    rounds_per_cycle: int
    tower: bool

    @property
    def name(self) -> str:
        how = {0: "pipelined", 1: "one-round", 2: "two-rounds"}[self.rounds_per_cycle]
        return f"aes{self.key_bits}-{how}-{'tower' if self.tower else 'table'}"


# MulBits of the third and the seventh point makes GHASH the bottleneck: AES waits for the multiplier. With MulBits of
# the fifth, the first block of a line also waits for the response of the line before.
LANES = (
    LanePoint("aes128-w16"),
    LanePoint("aes128-two-rounds-w32", rounds_per_cycle=2, mul_bits=32),
    LanePoint("aes256-w8", key_bits=256, mul_bits=8),
    LanePoint("aes256-two-rounds-w32-tower", key_bits=256, rounds_per_cycle=2, mul_bits=32, tower=True),
    LanePoint("aes256-two-rounds-w8", key_bits=256, rounds_per_cycle=2, mul_bits=8),
    LanePoint("aes128-pipelined-w128", rounds_per_cycle=0, mul_bits=128),
    LanePoint("aes256-pipelined-w64", key_bits=256, rounds_per_cycle=0, mul_bits=64),
    LanePoint("aes256-pipelined-w128-tower", key_bits=256, rounds_per_cycle=0, mul_bits=128, tower=True),
    LanePoint("router-3-aes128-w16", lanes=3),
    LanePoint("router-2-aes128-pipelined-w128", rounds_per_cycle=0, mul_bits=128, lanes=2),
)

# A proof shows that both S-boxes are equal (formal/), so only one core of each kind uses the tower field.
CORES = (
    *(CorePoint(key_bits, rounds_per_cycle, tower=False) for key_bits in (128, 256) for rounds_per_cycle in (1, 2, 0)),
    CorePoint(128, 1, tower=True),
    CorePoint(256, 2, tower=True),
    CorePoint(128, 0, tower=True),
)

MULTIPLIERS = (1, 8, 16, 32, 64, 128)


def chosen() -> tuple[LanePoint, ...]:
    """Returns the lanes and routers to simulate: those in the variable POINTS, or all. Fewer points build faster."""
    names = os.environ.get("POINTS")
    return LANES if names is None else tuple(point for point in LANES if point.name in names.split(","))


def chosen_cores() -> tuple[CorePoint, ...]:
    """Returns the AES cores to simulate without a lane: the cores of the chosen lanes, or all."""
    if "POINTS" not in os.environ:
        return CORES
    return tuple(dict.fromkeys(CorePoint(lane.key_bits, lane.rounds_per_cycle, lane.tower) for lane in chosen()))


def package() -> str:
    """Returns the points for the tops of dv/sv, as a package of SystemVerilog."""
    lanes = [(p.key_bits, p.rounds_per_cycle, p.mul_bits, int(p.tower), p.lanes or 0) for p in chosen()]
    cores = [(p.key_bits, p.rounds_per_cycle, int(p.tower)) for p in chosen_cores()]
    lane_rows = ",\n".join(
        f"    '{{key_bits: {k}, rounds_per_cycle: {r}, mul_bits: {w}, tower: {t}, lanes: {n}}}"
        for k, r, w, t, n in lanes
    )
    core_rows = ",\n".join(f"    '{{key_bits: {k}, rounds_per_cycle: {r}, tower: {t}}}" for k, r, t in cores)
    return f"""// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Written by dv/points.py.

package points_pkg;

  typedef struct packed {{
    int unsigned key_bits;
    int unsigned rounds_per_cycle;
    int unsigned mul_bits;
    int unsigned tower;
    int unsigned lanes;
  }} lane_point_t;

  typedef struct packed {{
    int unsigned key_bits;
    int unsigned rounds_per_cycle;
    int unsigned tower;
  }} core_point_t;

  localparam int unsigned LanePoints = {len(lanes)};
  localparam lane_point_t LanePoint[LanePoints] = '{{
{lane_rows}
  }};

  localparam int unsigned CorePoints = {len(cores)};
  localparam core_point_t CorePoint[CorePoints] = '{{
{core_rows}
  }};

  localparam int unsigned MulPoints = {len(MULTIPLIERS)};
  localparam int unsigned MulBits[MulPoints] = '{{{", ".join(map(str, MULTIPLIERS))}}};

endpackage
"""


def write_package(folder: Path) -> Path:
    """Writes `package` to a file in the folder if its content changed, so that make never recompiles the same text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "points_pkg.sv"
    if not path.exists() or path.read_text() != package():
        path.write_text(package())
    return path
