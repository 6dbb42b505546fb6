"""The bench of one lane or router: driver and monitor over dv/sv/lane_bench.sv, and the scoreboard.

The bench wakes only for events: `send` returns when the line was accepted, and the monitor wakes for each response. A
violation of an interface rule in any cycle is an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
from cocotb.triggers import Event, FallingEdge, Timer
from lines import LINE_BYTES, TAG_BYTES, Op, Request, Response
from points import LanePoint, chosen
from reset import PERIOD_NS, clock_and_reset
from scoreboard import Answered, Scoreboard

IDS = 16
# Number of latest responses that the bench keeps for tests.
ANSWERS_KEPT = 1 << 14
HALTS = "the lane does not halt"
# Rules of the interface, in the order of the bits of `broken_o`.
RULES = (
    "a response that is not taken stays as it is",
    "line and tag are zero unless a line is released",
    "no line enters while a key waits",
    "a key enters only when no line is inside",
    "a lane with a response is not idle",
    HALTS,
)
# Lowest bit of each field of the outputs, as `face_t` of dv/sv/lane_bench.sv packs them.
FACE = {
    "alert": 0,
    "idle": 1,
    "tag": 2,
    "line": 2 + 8 * TAG_BYTES,
    "ok": 2 + 8 * (TAG_BYTES + LINE_BYTES),
    "id": 3 + 8 * (TAG_BYTES + LINE_BYTES),
    "rsp_valid": 7 + 8 * (TAG_BYTES + LINE_BYTES),
    "req_ready": 8 + 8 * (TAG_BYTES + LINE_BYTES),
    "key_ready": 9 + 8 * (TAG_BYTES + LINE_BYTES),
}


class Bench:
    """Bench of one point of points.LANES."""

    def __init__(self, dut: Any, point: LanePoint) -> None:
        self.dut = dut
        self.point = point
        self.board = Scoreboard()
        self.answers: deque[Answered] = deque(maxlen=ANSWERS_KEPT)
        self._response_wait: Callable[[], int] = lambda: 0
        self._posted = {"req": 0, "key": 0}
        self._changed = Event()

    @property
    def design(self) -> Any:
        """Handle of the lane or the router under test."""
        here = self.dut.gen_point[chosen().index(self.point)]
        return here.gen_lane.u_dut if self.point.lanes is None else here.gen_router.u_dut

    async def start(self) -> None:
        """Resets the bench, and starts the clock of the point and the monitor."""
        dut = self.dut
        for name in ("abort_i", "spoil_i", "key_post_i", "key_i", "req_post_i", "req_wait_i", "req_id_i", "rsp_wait_i"):
            getattr(dut, name).value = 0
        for name in ("req_nonce_i", "req_line_i", "req_tag_i"):
            getattr(dut, name).value = 0
        dut.req_op_i.value = int(Op.SEAL)
        dut.point_i.value = chosen().index(self.point)
        await clock_and_reset(dut)
        await FallingEdge(dut.clk_i)
        cocotb.start_soon(self._monitor())

    def stall_responses(self, wait: Callable[[], int]) -> None:
        """Delays the acceptance of each response by `wait()` cycles from now on."""
        self._response_wait = wait
        self.dut.rsp_wait_i.value = wait()

    async def load_key(self, key: bytes) -> int:
        """Loads a key; returns when the lane has taken it, with the cycle in which it did."""
        self.dut.key_i.value = int.from_bytes(key, "big")
        await self._post("key")
        self.board.keyed(key)
        return int(self.dut.key_cycle_o.value)

    async def send(self, request: Request, wait: int = 0) -> int:
        """Offers a line after `wait` cycles; returns when the lane has accepted it, with the cycle in which it did."""
        while len(self.board.pending) == IDS:
            await self.changed()
        number = next(number for number in range(IDS) if number not in self.board.pending)
        dut = self.dut
        dut.req_wait_i.value = wait
        self._show(request, int(request.op), number)
        await self._post("req")
        cycle = int(dut.req_cycle_o.value)
        self.board.accepted(number, request, cycle)
        return cycle

    def offer(self, request: Request, op: int, number: int) -> None:
        """Offers a line with any operation and id, and expects no response. Only `reset` withdraws the offer."""
        self._show(request, op, number)
        self._posted["req"] ^= 1
        self.dut.req_post_i.value = self._posted["req"]

    @property
    def is_taken(self) -> bool:
        """True if the line that was offered last has entered."""
        return int(self.dut.req_done_o.value) == self._posted["req"]

    def offer_key(self, key: bytes) -> None:
        """Offers a key without waiting for its acceptance. Only `reset` withdraws the offer."""
        self.dut.key_i.value = int.from_bytes(key, "big")
        self._posted["key"] ^= 1
        self.dut.key_post_i.value = self._posted["key"]

    @property
    def key_is_taken(self) -> bool:
        """True if the key that was offered last has entered."""
        return int(self.dut.key_done_o.value) == self._posted["key"]

    async def spoil(self, *fields: str) -> None:
        """Flips the lowest bit of these output fields for one cycle, as the bench sees them."""
        self.dut.spoil_i.value = sum(1 << FACE[field] for field in fields)
        await FallingEdge(self.dut.clk_i)
        self.dut.spoil_i.value = 0

    def broken(self) -> list[str]:
        """Returns the rules that were violated since reset."""
        bits = int(self.dut.broken_o.value)
        return [rule for bit, rule in enumerate(RULES) if bits >> bit & 1]

    def _show(self, request: Request, op: int, number: int) -> None:
        dut = self.dut
        dut.req_op_i.value = op
        dut.req_id_i.value = number
        dut.req_nonce_i.value = int.from_bytes(request.nonce, "big")
        dut.req_line_i.value = int.from_bytes(request.line, "big")
        dut.req_tag_i.value = int.from_bytes(request.tag, "big")

    async def ask(self, request: Request) -> Answered:
        """Sends a line when the lane is empty, and returns its response."""
        await self.drained()
        await self.send(request)
        await self.drained()
        return self.answers[-1]

    async def abort(self) -> None:
        """Aborts for one cycle; the scoreboard drops all lines inside."""
        await FallingEdge(self.dut.clk_i)
        self.dut.abort_i.value = 1
        await FallingEdge(self.dut.clk_i)
        self.dut.abort_i.value = 0
        self.board.aborted()
        self._changed.set()

    async def reset(self) -> None:
        """Resets between two clock edges; the lane loses the lines inside and the key."""
        dut = self.dut
        await FallingEdge(dut.clk_i)
        dut.key_post_i.value = dut.req_post_i.value = 0
        self._posted = {"req": 0, "key": 0}
        dut.rst_ni.value = 0
        await Timer(PERIOD_NS // 4, "ns")
        dut.rst_ni.value = 1
        await FallingEdge(dut.clk_i)
        self.board.aborted()
        self._changed.set()

    async def changed(self) -> None:
        """Returns when a line has left, by a response, an abort or a reset."""
        self._changed.clear()
        await self._changed.wait()

    async def drained(self) -> None:
        """Returns when no line is pending."""
        while self.board.pending:
            await self.changed()

    async def finish(self) -> None:
        """Checks at the end of a test that no unexpected response arrived and that no rule was violated."""
        await self.drained()
        # Longer than any line takes, so that a response to an aborted line would arrive now.
        await Timer(1000 * PERIOD_NS, "ns")
        assert not self.broken(), f"broken: {'; '.join(self.broken())}"
        assert int(self.dut.idle_o.value) == 1, "no line is inside, but the lane is not idle"

    async def _post(self, port: str) -> None:
        self._posted[port] ^= 1
        getattr(self.dut, f"{port}_post_i").value = self._posted[port]
        await getattr(self.dut, f"{port}_done_o").value_change

    async def _monitor(self) -> None:
        dut = self.dut
        while True:
            await dut.rsp_done_o.value_change
            if not int(dut.rst_ni.value):
                continue
            dut.rsp_wait_i.value = self._response_wait()
            response = Response(
                bool(int(dut.rsp_ok_o.value)),
                int(dut.rsp_line_o.value).to_bytes(LINE_BYTES, "big"),
                int(dut.rsp_tag_o.value).to_bytes(TAG_BYTES, "big"),
            )
            answer = self.board.answered(int(dut.rsp_id_o.value), response, int(dut.rsp_cycle_o.value))
            self.answers.append(answer)
            self._changed.set()
