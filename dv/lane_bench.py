"""The bench of one lane or router: driver and monitor over dv/sv/lane_bench.sv, and the scoreboard.

The bench wakes for events alone: `send` returns when the line was accepted, the monitor wakes for each response. A rule
of the interface that broke in any cycle is an error.
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
# So many of the latest are kept for tests to look at.
ANSWERS_KEPT = 1 << 14
HALTS = "nothing halts"
# Bits of `broken_o`.
RULES = (
    "a response that is not taken stays as it is",
    "line and tag are zero unless a line is released",
    "no line enters while a key waits",
    "a key enters only when nothing is inside",
    "what has a response is not idle",
    HALTS,
)
# Bits of a face, as `face_t` of dv/sv/lane_bench.sv packs them: the lowest of each field.
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
    """One point of points.LANES, under test."""

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
        """The lane or the router."""
        here = self.dut.gen_point[chosen().index(self.point)]
        return here.gen_lane.u_dut if self.point.lanes is None else here.gen_router.u_dut

    async def start(self) -> None:
        """Resets all, and lets the point's clock run."""
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
        """From now on each response is not taken for `wait()` cycles."""
        self._response_wait = wait
        self.dut.rsp_wait_i.value = wait()

    async def load_key(self, key: bytes) -> int:
        """Returns, when the key was taken, the cycle in which it was."""
        self.dut.key_i.value = int.from_bytes(key, "big")
        await self._post("key")
        self.board.keyed(key)
        return int(self.dut.key_cycle_o.value)

    async def send(self, request: Request, wait: int = 0) -> int:
        """Offers a line after `wait` cycles; returns, when it was accepted, the cycle in which it was."""
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
        """Offers a line with any operation and id, and expects nothing of it; it is withdrawn by `reset` alone."""
        self._show(request, op, number)
        self._posted["req"] ^= 1
        self.dut.req_post_i.value = self._posted["req"]

    @property
    def is_taken(self) -> bool:
        """Whether the line that was offered last entered."""
        return int(self.dut.req_done_o.value) == self._posted["req"]

    def offer_key(self, key: bytes) -> None:
        """Offers a key, and expects nothing of it; it is withdrawn by `reset` alone."""
        self.dut.key_i.value = int.from_bytes(key, "big")
        self._posted["key"] ^= 1
        self.dut.key_post_i.value = self._posted["key"]

    @property
    def key_is_taken(self) -> bool:
        """Whether the key that was offered last entered."""
        return int(self.dut.key_done_o.value) == self._posted["key"]

    async def spoil(self, *fields: str) -> None:
        """For one cycle the bench sees these fields of the face with their lowest bit flipped."""
        self.dut.spoil_i.value = sum(1 << FACE[field] for field in fields)
        await FallingEdge(self.dut.clk_i)
        self.dut.spoil_i.value = 0

    def broken(self) -> list[str]:
        """The rules that broke since reset."""
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
        """Sends a line alone, and waits for its response."""
        await self.drained()
        await self.send(request)
        await self.drained()
        return self.answers[-1]

    async def abort(self) -> None:
        """Aborts for one cycle."""
        await FallingEdge(self.dut.clk_i)
        self.dut.abort_i.value = 1
        await FallingEdge(self.dut.clk_i)
        self.dut.abort_i.value = 0
        self.board.aborted()
        self._changed.set()

    async def reset(self) -> None:
        """Resets for half a cycle, in which no edge of the clock comes: all inside is gone, and so is the key."""
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
        """Returns when a line left, answered or aborted."""
        self._changed.clear()
        await self._changed.wait()

    async def drained(self) -> None:
        """Returns when no line is inside."""
        while self.board.pending:
            await self.changed()

    async def finish(self) -> None:
        """What must hold at the end: nothing came that was not awaited, and no rule broke."""
        await self.drained()
        # Longer than any line takes: what was aborted would come now.
        await Timer(1000 * PERIOD_NS, "ns")
        assert not self.broken(), f"broken: {'; '.join(self.broken())}"
        assert int(self.dut.idle_o.value) == 1, "nothing is inside, and the lane is not idle"

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
