"""The design space of our AES-GCM engine: one lane of `rtl/`, or several lanes behind the router, with their
parameters.

A router with N lanes is synthesised as it would be laid out: the lane once, and the router with N empty boxes once.
Then the flow copies the lane into each box. Area, timing and energy are those of the whole netlist, without
extrapolation. Synthesis can share no logic between router and lanes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from casemate._core import CasemateError
from casemate.hardware import sources as reading
from casemate.hardware.design import Design
from casemate.hardware.flow import Flow, Request
from casemate.hardware.sources import Source
from casemate.schemas.hardware import CoreCost

KEY_BITS = (128, 256)
ROUNDS = (0, 1, 2)
MUL_BITS = (8, 16, 32, 64, 128)
LANES_MAX = 16
ID_BITS = 4
STIMULUS = Path(__file__).parent / "engine_stimulus.py"
LINES_OF_A_LANE = 24
"""Number of lines that each lane seals; a third of them before the measurement begins."""


@dataclass(frozen=True)
class Point:
    """A point of the design space: one configuration of the engine."""

    key_bits: int = 128
    rounds: int = 1
    """Rounds of AES per cycle; 0 for a pipeline with one stage per round."""
    mul_bits: int = 16
    """Bits of a GHASH product that the multiplier processes per cycle."""
    tower: bool = False
    lanes: int = 1

    @property
    def title(self) -> str:
        """Name of the point in tables and pictures."""
        rounds = "pipelined" if self.rounds == 0 else f"{self.rounds} round{'s' if self.rounds > 1 else ''}"
        lanes = f"{self.lanes} x " if self.lanes > 1 else ""
        return f"{lanes}AES-{self.key_bits} {rounds}, W={self.mul_bits}{', tower' if self.tower else ''}"

    def request(self, sources: tuple[Source, ...], has_fpga: bool) -> Request:
        """Returns the request to the flow for this point."""
        # Each lane of a router has as many request ids as a single lane.
        ids = ID_BITS + (self.lanes - 1).bit_length()
        parameters = (
            ("KeyBits", str(self.key_bits)), ("RoundsPerCycle", str(self.rounds)), ("MulBits", str(self.mul_bits)),
            ("Tower", str(int(self.tower))), ("IdBits", str(ids)),
        )  # fmt: skip
        lane = Design(sources, "gcm_lane", parameters)
        router = Design(sources, "gcm_router", (("Lanes", str(self.lanes)), *parameters))
        single = self.lanes == 1
        return Request(
            design=lane if single else router,
            clock="clk_i",
            stimulus=STIMULUS,
            key_bytes=self.key_bits // 8,
            lines=LINES_OF_A_LANE * self.lanes,
            has_fpga=has_fpga,
            part=None if single else lane,
            copies=0 if single else self.lanes,
        )


USUAL = (
    Point(),
    Point(tower=True),
    Point(mul_bits=32),
    Point(rounds=2, mul_bits=32),
    Point(rounds=0, mul_bits=128),
    Point(lanes=2),
)
"""Configurations that the command estimates by default."""


def points(
    key_bits: Sequence[int],
    rounds: Sequence[int],
    mul_bits: Sequence[int],
    tower: Sequence[bool],
    lanes: Sequence[int],
) -> list[Point]:
    """All combinations of these values; an empty list means the default of that parameter. If all lists are empty, the
    six default configurations.
    """
    if not any((key_bits, rounds, mul_bits, tower, lanes)):
        return list(USUAL)
    usual = Point()
    axes = (
        key_bits or (usual.key_bits,), rounds or (usual.rounds,), mul_bits or (usual.mul_bits,),
        tower or (usual.tower,), lanes or (usual.lanes,),
    )  # fmt: skip
    return [Point(*values) for values in dict.fromkeys(product(*axes))]


def rtl_folder(requested: Path | None) -> tuple[Source, ...]:
    """Sources of the engine: those in a folder, or in the repository that this package was built from. Raises
    `CasemateError` if they do not exist.
    """
    here = Path(__file__).resolve().parents[3] / "rtl"
    folder = requested or (here if here.is_dir() else Path("rtl"))
    listed = folder / "sources.f"
    if not listed.is_file():
        raise CasemateError(
            f"there is no RTL in '{folder}': expected its list 'sources.f'; name its folder with --rtl FOLDER"
        )
    return reading.read([listed])


def price(
    requested: list[Point], flow: Flow, sources: tuple[Source, ...], has_fpga: bool, begin: Callable[[int, str], object]
) -> list[CoreCost]:
    """Returns the cost of each configuration; calls `begin` before the work on each."""
    rows = list[CoreCost]()
    for number, point in enumerate(requested):
        begin(number, point.title)
        found = flow.price(point.request(sources, has_fpga))
        composed = (
            None if point.lanes == 1 else f"lane and router synthesised once each, {point.lanes} lanes put into it"
        )
        rows.append(found.model_copy(update={"name": point.title, "composed": composed}))
    return rows
