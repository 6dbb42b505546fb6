# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Start of both benches: a clock, and a reset with a falling edge."""

from __future__ import annotations

from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

PERIOD_NS = 10


async def clock_and_reset(dut: Any) -> None:
    """Starts the clock and resets the design; returns in the middle of a cycle, where inputs change."""
    dut.rst_ni.value = 1
    Clock(dut.clk_i, PERIOD_NS, "ns").start()
    await FallingEdge(dut.clk_i)
    # The edge of reset matters and not its level, because the bench must also reset registers with a stopped clock.
    dut.rst_ni.value = 0
    await Timer(2 * PERIOD_NS, "ns")
    dut.rst_ni.value = 1
