"""Tests the AES core and the multiplier of GHASH on all their points, against published values and the golden model.

dv/run.py runs these tests under cocotb, with dv/sv/block_bench.sv as top.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import cocotb
from casemate._core import GcmLines, ghash_product
from cocotb.triggers import FallingEdge, ReadOnly
from points import MULTIPLIERS, CorePoint, chosen_cores, rounds
from reset import clock_and_reset
from vectors import BLOCKS, HASHES

# Number of random blocks for each core, and of random products for each multiplier.
RANDOM = 100

POINTS = cocotb.parametrize(point=[cocotb.Param(core, name=core.name) for core in chosen_cores()])


def number(block: bytes) -> int:
    return int.from_bytes(block, "big")


class Blocks:
    """Driver of the bench with the cores and the multipliers."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.cycle = 0

    async def start(self, core: int = 0, multiplier: int = 0) -> None:
        """Resets the bench, and starts the clocks of one core and one multiplier, given by their indices."""
        dut = self.dut
        for name in ("wipe_i", "key_i", "key_new_i", "valid_i", "block_i", "ready_i"):
            getattr(dut, name).value = 0
        for name in ("mul_wipe_i", "mul_start_i", "mul_digits_i", "mul_factor_i"):
            getattr(dut, name).value = 0
        dut.core_i.value, dut.mul_i.value = core, multiplier
        await clock_and_reset(dut)
        await self.step()

    async def step(self) -> None:
        """Waits for the middle of the next cycle, where inputs change."""
        await FallingEdge(self.dut.clk_i)
        self.cycle += 1

    async def load_key(self, key: bytes) -> None:
        dut = self.dut
        dut.key_i.value = number(key)
        dut.key_new_i.value = 1
        await self.step()
        dut.key_new_i.value = 0
        while not int(dut.key_ready_o.value):
            await self.step()

    async def encrypt(self, blocks: list[bytes], rng: random.Random | None = None) -> tuple[list[bytes], list[int]]:
        """Encrypts blocks; returns the results, and the cycle of each counted from the entry of the first block.

        With `rng`, both handshakes stall at random.
        """
        dut = self.dut
        results: list[bytes] = []
        cycles: list[int] = []
        sent, offered, first = 0, False, None
        while len(results) < len(blocks):
            if not offered and sent < len(blocks):
                offered = rng is None or rng.random() < 0.5
            dut.valid_i.value = int(offered)
            dut.block_i.value = number(blocks[sent]) if offered else 0
            takes = rng is None or rng.random() < 0.5
            dut.ready_i.value = int(takes)
            await ReadOnly()
            assert not int(dut.fault_o.value)
            if offered and int(dut.ready_o.value):
                first = self.cycle if first is None else first
                sent, offered = sent + 1, False
            if not int(dut.valid_o.value):
                assert int(dut.block_o.value) == 0, "a block without valid_o is not zero"
            elif takes:
                assert first is not None, "a block left before one entered"
                results.append(int(dut.block_o.value).to_bytes(16, "big"))
                cycles.append(self.cycle - first)
            await self.step()
        dut.valid_i.value = dut.ready_i.value = 0
        return results, cycles

    async def multiply(self, digits: bytes, factor: bytes) -> tuple[bytes, int]:
        """Multiplies two blocks; returns the product and its number of cycles."""
        dut = self.dut
        assert int(dut.mul_ready_o.value)
        dut.mul_digits_i.value, dut.mul_factor_i.value = number(digits), number(factor)
        dut.mul_start_i.value = 1
        await self.step()
        dut.mul_start_i.value = 0
        cycles = 1
        while not int(dut.mul_last_o.value):
            await self.step()
            cycles += 1
        early = int(dut.mul_early_o.value)
        await self.step()
        product = int(dut.mul_product_o.value)
        assert early == product, "the early product is the product"
        assert not int(dut.mul_fault_o.value)
        return product.to_bytes(16, "big"), cycles


@cocotb.test()
@POINTS
async def published_blocks_are_encrypted_as_published(dut: Any, point: CorePoint) -> None:
    bench = Blocks(dut)
    await bench.start(core=chosen_cores().index(point))
    cases = [case for case in BLOCKS if 8 * len(case.key) == point.key_bits]
    assert len(cases) == {128: 6, 256: 5}[point.key_bits]
    for case in cases:
        await bench.load_key(case.key)
        assert (await bench.encrypt([case.plaintext]))[0] == [case.ciphertext], case.source


@cocotb.test()
@POINTS
async def random_blocks_with_stalls_are_as_the_golden_model_says(dut: Any, point: CorePoint) -> None:
    rng = random.Random(point.name)
    bench = Blocks(dut)
    await bench.start(core=chosen_cores().index(point))
    for _ in range(2):
        key = rng.randbytes(point.key_bits // 8)
        await bench.load_key(key)
        golden = GcmLines(key)
        blocks = [rng.randbytes(16) for _ in range(RANDOM // 2)]
        assert (await bench.encrypt(blocks, rng))[0] == [golden.encrypt_block(block) for block in blocks]


@cocotb.test()
@POINTS
async def a_block_takes_the_cycles_of_its_rounds_and_the_next_follows_at_once(dut: Any, point: CorePoint) -> None:
    rng = random.Random(point.name)
    bench = Blocks(dut)
    await bench.start(core=chosen_cores().index(point))
    await bench.load_key(rng.randbytes(point.key_bits // 8))
    _, cycles = await bench.encrypt([rng.randbytes(16) for _ in range(20)])
    latency = rounds(point.key_bits) // max(point.rounds_per_cycle, 1)
    interval = latency if point.rounds_per_cycle else 1
    assert cycles == [latency + interval * block for block in range(20)]


@cocotb.test()
@POINTS
async def a_block_that_is_wiped_in_any_cycle_does_not_come_out(dut: Any, point: CorePoint) -> None:
    rng = random.Random(point.name)
    bench = Blocks(dut)
    await bench.start(core=chosen_cores().index(point))
    key = rng.randbytes(point.key_bits // 8)
    await bench.load_key(key)
    for cycles in range(rounds(point.key_bits) // max(point.rounds_per_cycle, 1)):
        dut.valid_i.value, dut.block_i.value = 1, number(rng.randbytes(16))
        await bench.step()
        dut.valid_i.value = 0
        for _ in range(cycles):
            await bench.step()
        dut.wipe_i.value = 1
        await bench.step()
        dut.wipe_i.value = 0
        after = rng.randbytes(16)
        assert (await bench.encrypt([after]))[0] == [GcmLines(key).encrypt_block(after)], f"wiped after {cycles} cycles"


def products(rng: random.Random) -> Iterator[tuple[bytes, bytes]]:
    """Yields pairs of factors: extreme ones, which use the full reduction or bypass it, and random ones."""
    edges = [bytes(16), (1 << 127).to_bytes(16, "big"), (1).to_bytes(16, "big"), b"\xff" * 16]
    for left in edges:
        for right in edges:
            yield left, right
    for _ in range(RANDOM):
        yield rng.randbytes(16), rng.randbytes(16)


@cocotb.test()
@cocotb.parametrize(width=MULTIPLIERS)
async def the_hashes_of_the_gcm_specification_come_out_block_by_block(dut: Any, width: int) -> None:
    bench = Blocks(dut)
    await bench.start(multiplier=MULTIPLIERS.index(width))
    for case in HASHES:
        value = bytes(16)
        for block, published in zip(case.blocks, case.values, strict=True):
            summed = bytes(a ^ b for a, b in zip(value, block, strict=True))
            value, cycles = await bench.multiply(summed, case.hash_key)
            assert value == published, case.source
            assert cycles == 128 // width


@cocotb.test()
@cocotb.parametrize(width=MULTIPLIERS)
async def products_are_as_the_golden_model_says_and_no_factor_changes_their_cycles(dut: Any, width: int) -> None:
    bench = Blocks(dut)
    await bench.start(multiplier=MULTIPLIERS.index(width))
    for digits, factor in products(random.Random(width)):
        made = await bench.multiply(digits, factor)
        assert made == (ghash_product(digits, factor), 128 // width), (digits, factor)


@cocotb.test()
@cocotb.parametrize(width=MULTIPLIERS)
async def a_product_that_is_wiped_leaves_the_next_right(dut: Any, width: int) -> None:
    rng = random.Random(width)
    bench = Blocks(dut)
    await bench.start(multiplier=MULTIPLIERS.index(width))
    for cycles in range(128 // width):
        dut.mul_digits_i.value, dut.mul_factor_i.value = number(rng.randbytes(16)), number(rng.randbytes(16))
        dut.mul_start_i.value = 1
        await bench.step()
        dut.mul_start_i.value = 0
        for _ in range(cycles):
            await bench.step()
        dut.mul_wipe_i.value = 1
        await bench.step()
        dut.mul_wipe_i.value = 0
        digits, factor = rng.randbytes(16), rng.randbytes(16)
        assert (await bench.multiply(digits, factor))[0] == ghash_product(digits, factor)
