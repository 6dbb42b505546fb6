"""Tests of a lane and a router on all chosen points. dv/run.py runs them under cocotb.

LINES is the number of random lines for the points in THOROUGH, and SEED the seed of all random values.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import cocotb
import cycles
from casemate._core import GcmLines
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from lane_bench import HALTS, IDS, RULES, Bench
from lines import LINE_BYTES, TAG_BYTES, Op, Request, Source, flipped, single_flips
from points import LanePoint, chosen
from reset import PERIOD_NS
from vectors import LINES as PUBLISHED
from walk import found, registers, unseen, words

LINES = int(os.environ.get("LINES", "10000"))
SEED = int(os.environ.get("SEED", "1"))
# Points with all random lines: the smallest lane, and a router over pipelined lanes. The other points take a tenth.
THOROUGH = {"aes128-w16", "router-2-aes128-pipelined-w128"}

# Number of cycles of a line in which a test resets the lane; and registers that may keep their content, which was
# public when it entered.
RESETS = 6
PUBLIC = ("in_nonce_q", "in_tag_q")

# Number of intervals between lines in a mean: a multiple of two and of three lanes.
INTERVALS = 186

# Output fields that violate each rule, cycle by cycle, when they are flipped in an idle lane with a key. A lane that
# shows a response must not appear idle or ready for a key, because these violate other rules.
BUSY = ("idle", "key_ready")
ANSWERS = (*BUSY, "rsp_valid")
SPOILED: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    *((RULES[0], (ANSWERS, then)) for then in (BUSY, (*ANSWERS, "id"), (*ANSWERS, "ok"))),
    *((RULES[0], ((*ANSWERS, "ok"), (*ANSWERS, "ok", part))) for part in ("line", "tag")),
    *((RULES[1], ((*alone, part),)) for alone in ((), ANSWERS, ("ok",)) for part in ("line", "tag")),
    (RULES[2], (("req_ready",),)),
    (RULES[3], (("idle",),)),
    (RULES[4], (("rsp_valid",),)),
    (RULES[5], (("alert",),)),
)

# Source files with registers of a lane: with an iterated core, and with a pipelined one.
CONSISTS_OF = [
    ["gcm_lane.sv", "gcm_verdict_rail.sv", "gf128_mul.sv", f"aes_core_{how}.sv"] for how in ("iterated", "pipelined")
]

POINTS = cocotb.parametrize(point=[cocotb.Param(point, name=point.name) for point in chosen()])
ALONE = cocotb.parametrize(point=[cocotb.Param(point, name=point.name) for point in chosen() if point.lanes is None])


def lines_for(point: LanePoint) -> int:
    return LINES if point.name in THOROUGH else LINES // 10


def say(bench: Bench, text: str) -> None:
    """Prints a figure, which dv/run.py collects for its summary."""
    print(f"FIGURE {bench.point.name}: {text}", flush=True)


async def begin(dut: Any, point: LanePoint) -> tuple[Bench, random.Random]:
    """Starts a bench with a random key; returns it with its random generator."""
    rng = random.Random(f"{SEED} {point.name}")
    bench = Bench(dut, point)
    await bench.start()
    await bench.load_key(rng.randbytes(point.key_bits // 8))
    return bench, rng


def sealed_request(bench: Bench, rng: random.Random, source: Source) -> tuple[Request, bytes]:
    """Returns a request to open a line, and the plaintext."""
    assert bench.board.golden is not None
    nonce, text = source.nonce(), rng.randbytes(LINE_BYTES)
    return Request(Op.OPEN, nonce, *bench.board.golden.seal(nonce, text)), text


async def cycles_pass(dut: Any, count: int) -> None:
    for _ in range(count):
        await FallingEdge(dut.clk_i)


def sealing_request(rng: random.Random, source: Source) -> tuple[Request, bytes]:
    """Returns a request to seal a line, and the plaintext."""
    text = rng.randbytes(LINE_BYTES)
    return Request(Op.SEAL, source.nonce(), text), text


@cocotb.test()
@POINTS
async def published_lines_are_sealed_and_opened_as_published(dut: Any, point: LanePoint) -> None:
    bench = Bench(dut, point)
    await bench.start()
    cases = [case for case in PUBLISHED if 8 * len(case.key) == point.key_bits]
    assert len(cases) == 2
    for case in cases:
        await bench.load_key(case.key)
        sealed = await bench.ask(Request(Op.SEAL, case.nonce, case.plaintext))
        assert (sealed.response.line, sealed.response.tag) == (case.ciphertext, case.tag), case.source
        opened = await bench.ask(Request(Op.OPEN, case.nonce, case.ciphertext, case.tag))
        assert opened.response.line == case.plaintext, case.source
    await bench.finish()


@cocotb.test()
@POINTS
async def every_single_flip_of_line_tag_and_nonce_is_refused(dut: Any, point: LanePoint) -> None:
    bench = Bench(dut, point)
    await bench.start()
    case = next(case for case in PUBLISHED if 8 * len(case.key) == point.key_bits)
    await bench.load_key(case.key)
    flips = single_flips(Request(Op.OPEN, case.nonce, case.ciphertext, case.tag))
    assert len(flips) == 512 + 128 + 96
    for request in flips:
        await bench.send(request)
    await bench.finish()
    assert bench.board.refusals == len(flips)
    say(bench, f"{bench.board.refusals} single flips of {len(flips)} refused")


async def _aborts(bench: Bench, rng: random.Random, cycles: int, counts: Counter[str]) -> None:
    while True:
        await Timer(rng.randrange(1, cycles) * PERIOD_NS, "ns")
        counts["aborts"] += 1
        await bench.abort()


async def _new_keys(bench: Bench, rng: random.Random, cycles: int, counts: Counter[str]) -> None:
    while True:
        await Timer(rng.randrange(1, cycles) * PERIOD_NS, "ns")
        await bench.load_key(rng.randbytes(bench.point.key_bits // 8))
        counts["new keys"] += 1


@cocotb.test()
@POINTS
async def random_lines_with_stalls_aborts_and_new_keys_are_as_the_golden_model_says(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source, counts = Source(rng), Counter[str]()
    assert bench.board.golden is not None
    alone = (await bench.ask(source.draw(bench.board.golden))).latency
    # Half of all handshakes wait, some for longer than a line takes.
    stalls = (0, 0, 0, 1, 2, rng.randrange(3, 20), rng.randrange(20, 100))
    bench.stall_responses(lambda: rng.choice(stalls))
    others = [
        cocotb.start_soon(_aborts(bench, rng, 40 * alone, counts)),
        cocotb.start_soon(_new_keys(bench, rng, 60 * alone, counts)),
    ]
    while bench.board.answers < lines_for(point):
        assert bench.board.golden is not None
        await bench.send(source.draw(bench.board.golden), rng.choice(stalls))
    others[0].cancel()
    # The bench waits until the lane takes an offered key, because it cannot withdraw the offer.
    while int(dut.key_post_i.value) != int(dut.key_done_o.value):
        await FallingEdge(dut.clk_i)
    others[1].cancel()
    dut.abort_i.value = 0
    await bench.finish()
    board = bench.board
    assert counts["aborts"]
    assert counts["new keys"]
    assert 0 < board.refusals < board.answers
    say(
        bench,
        f"{board.answers} random lines right, {board.refusals} of them refused, {board.dropped} dropped by "
        f"{counts['aborts']} aborts, {counts['new keys']} new keys, {len(board.sealed)} sealed, no nonce twice",
    )


@cocotb.test()
@POINTS
async def no_value_changes_the_cycles_of_a_line_or_a_key(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    latencies, keys, kinds = Counter[int](), Counter[int](), Counter[tuple[Op, bool]]()

    async def rekey(key: bytes) -> GcmLines:
        """Loads a key, and sends its first line as soon as it enters."""
        await bench.drained()
        taken = await bench.load_key(key)
        assert bench.board.golden is not None
        keys[await bench.send(source.draw(bench.board.golden)) - taken] += 1
        return bench.board.golden

    async def ask(request: Request) -> None:
        answer = await bench.ask(request)
        latencies[answer.latency] += 1
        kinds[answer.request.op, answer.response.ok] += 1

    length = point.key_bits // 8
    for number in range(lines_for(point)):
        if number % 100 == 0:
            golden = await rekey(rng.randbytes(length))
        await ask(source.draw(golden))
    for key in (bytes(length), b"\xff" * length, rng.randbytes(length)):
        for request in source.extremes(await rekey(key)):
            await ask(request)
    await bench.finish()
    assert len(kinds) == 3, "sealed, opened and refused lines are all among them"
    latency, setup = cycles.latency(point), cycles.key_setup(point)
    assert set(latencies) == {latency}, f"cycles of lines: {latencies}, expected {latency}"
    assert set(keys) == {setup}, f"cycles of keys: {keys}, expected {setup}"
    assert latency <= cycles.WANTED_LATENCY.get(point.name, latency)
    say(bench, f"each of {latencies.total()} lines alone takes {latency} cycles, each key {setup}")


@cocotb.test()
@POINTS
async def lines_follow_each_other_at_the_pace_of_the_slots(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    intervals = Counter[int]()
    pace = cycles.pace(point)
    for op in Op:
        await bench.drained()
        requests = [sealed_request(bench, rng, source)[0] for _ in range(IDS + INTERVALS + 1)]
        if op is Op.SEAL:
            requests = [replace(request, op=op, nonce=source.nonce()) for request in requests]
        accepted = [await bench.send(request) for request in requests]
        # The first requests fill the lanes.
        steady = accepted[IDS:]
        assert len(steady) == INTERVALS + 1
        intervals.update(late - early for early, late in pairwise(steady))
        measured = Fraction(steady[-1] - steady[0], INTERVALS)
        assert measured == pace, f"{op.name}: a line each {measured} cycles, expected {pace}"
    await bench.finish()
    if point.lanes is None:
        assert len(intervals) == 1, "a lane's pace is steady"
    assert pace <= cycles.WANTED_PACE.get(point.name, pace)
    say(bench, f"a line each {float(pace):.4g} cycles, sealed or opened")


def secrets(bench: Bench, nonce: bytes, text: bytes) -> list[bytes]:
    """Returns the words that no register may keep of a line: its text, its pads and the mask of its tag."""
    golden = bench.board.golden
    assert golden is not None
    pads = [golden.encrypt_block(nonce + block.to_bytes(4, "big")) for block in range(1, 6)]
    return [*(text[at : at + 16] for at in range(0, LINE_BYTES, 16)), *pads]


@cocotb.test()
@POINTS
async def a_refused_line_leaves_no_text_and_no_pad_in_any_register(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    bench.stall_responses(lambda: 8)

    async def waiting(request: Request) -> None:
        await bench.drained()
        await bench.send(request)
        await RisingEdge(dut.rsp_waits_o)
        # The verdict is valid in the first of these cycles; the next edge clears a refused line.
        for _ in range(2):
            await FallingEdge(dut.clk_i)

    request, text = sealed_request(bench, rng, source)
    await waiting(request)
    # Checks the walk itself: it must find the text of a line that is about to be released.
    assert any("out_line_q" in path for path in found(bench.design, [text[:16]])), "the walk does not see released text"
    assert not unseen(bench.design, CONSISTS_OF[point.rounds_per_cycle == 0]), "the walk does not see every register"
    for bit in (0, 77, 8 * TAG_BYTES - 1):
        request, text = sealed_request(bench, rng, source)
        # The correct tag must not remain either.
        hidden = [*secrets(bench, request.nonce, text), request.tag]
        await waiting(replace(request, tag=flipped(request.tag, bit)))
        assert not found(bench.design, hidden), "while the refusal waits"
        await bench.drained()
        assert not found(bench.design, hidden), "after the refusal was taken"
    for request, text in (sealed_request(bench, rng, source), sealing_request(rng, source)):
        await bench.ask(request)
        await FallingEdge(dut.clk_i)
        assert not found(bench.design, secrets(bench, request.nonce, text)), f"after a line to {request.op.name} left"
    await bench.finish()
    seen = list(registers(bench.design))
    say(
        bench,
        f"no text and no pad in {len(seen)} registers of {sum(len(bits) for _, bits in seen)} bits after refusals",
    )


@cocotb.test()
@ALONE
async def a_line_that_is_aborted_in_any_cycle_leaves_no_text_and_no_pad(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    alone = (await bench.ask(sealed_request(bench, rng, source)[0])).latency
    # The edge of the last cycle takes the response, so that cycle is left out.
    for after in range(alone - 1):
        for request, text in (sealed_request(bench, rng, source), sealing_request(rng, source)):
            await bench.send(request)
            for _ in range(after):
                await FallingEdge(dut.clk_i)
            await bench.abort()
            hidden = secrets(bench, request.nonce, text)
            assert not found(bench.design, hidden), f"a line to {request.op.name}, aborted after {after} cycles"
    await bench.finish()
    assert bench.board.dropped == 2 * (alone - 1)


@cocotb.test()
@ALONE
async def a_reset_in_mid_line_leaves_no_text_no_pad_and_no_key(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    alone = cycles.latency(point)
    for after in sorted(rng.sample(range(alone - 1), RESETS)):
        request, text = rng.choice((sealed_request(bench, rng, source), sealing_request(rng, source)))
        await bench.send(request)
        for _ in range(after):
            await FallingEdge(dut.clk_i)
        before = words(bench.design, but=PUBLIC)
        hidden = secrets(bench, request.nonce, text)
        assert {"key_q", "h_q", "h_squared_q", "h_length_q"} <= {path.split(".")[-1] for path, _ in before}
        await bench.reset()
        assert not found(bench.design, hidden), f"a line to {request.op.name}, reset after {after} cycles"
        # When the lane takes the next key, no register may keep a word from before the reset.
        await bench.load_key(rng.randbytes(point.key_bits // 8))
        kept = before.items() & words(bench.design, but=PUBLIC).items()
        assert not kept, f"registers that keep a word: {sorted(path for (path, _), _ in kept)}"
    assert bench.board.dropped == RESETS
    # The lane still works after the resets.
    await bench.ask(sealed_request(bench, rng, source)[0])
    await bench.finish()


@cocotb.test()
@ALONE
async def each_rule_of_the_interface_is_seen_to_break(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    assert {rule for rule, _ in SPOILED} == set(RULES)
    # The bench must not take the responses that the test fakes.
    bench.stall_responses(lambda: 1000)
    for rule, faces in SPOILED:
        await cycles_pass(dut, cycles.key_setup(point))
        assert not bench.broken()
        if rule == RULES[2]:
            bench.offer_key(rng.randbytes(point.key_bits // 8))
        for fields in faces:
            await bench.spoil(*fields)
        assert bench.broken() == [rule], f"{faces}"
        await bench.reset()
        await bench.load_key(rng.randbytes(point.key_bits // 8))
    await bench.finish()


@cocotb.test()
@POINTS
async def an_operation_that_is_none_halts_the_lane_until_reset(dut: Any, point: LanePoint) -> None:
    bench, rng = await begin(dut, point)
    source = Source(rng)
    for op in (0, 3):
        before = bench.board.answers
        request, text = sealed_request(bench, rng, source)
        await bench.send(sealed_request(bench, rng, source)[0])
        bench.offer(request, op, number=IDS - 1)
        await cycles_pass(dut, 3 * cycles.latency(point))
        assert bench.is_taken
        # A lane discards its lines; the other lane of a router still answers.
        assert bench.board.answers == before + (point.lanes is not None)
        assert bench.broken() == [HALTS], "it halts, and is zero where it must be"
        assert not found(bench.design, secrets(bench, request.nonce, text))
        bench.offer(request, int(Op.OPEN), number=IDS - 2)
        await cycles_pass(dut, 3 * cycles.latency(point))
        assert not bench.is_taken, "a line entered after the halt"
        bench.offer_key(rng.randbytes(point.key_bits // 8))
        await cycles_pass(dut, 3 * cycles.latency(point))
        assert not bench.key_is_taken, "a key entered after the halt"
        await bench.reset()
        await bench.load_key(rng.randbytes(point.key_bits // 8))
        await bench.ask(sealed_request(bench, rng, source)[0])
    await bench.finish()
