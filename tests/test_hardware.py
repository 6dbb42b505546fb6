"""Foundations of the hardware's verification (dv/), without a simulation.

The scoreboard detects errors, the list of bit flips is complete, coverage figures are right, and the error for a
missing tool names the tool.
"""

from __future__ import annotations

import importlib
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import cycles
import hdl_coverage
import points
import pytest
import tools
from casemate._core import CasemateError, GcmLines, ghash_product
from lines import REFUSED, Op, Request, Source, expected, flipped, single_flips
from scoreboard import Scoreboard
from vectors import BLOCKS, HASHES, LINES

KEY = bytes(range(16))
FORMAL = Path(tools.ROOT) / "formal"
SEALING = Request(Op.SEAL, bytes(12), bytes(64))


def keyed() -> Scoreboard:
    board = Scoreboard()
    board.keyed(KEY)
    return board


def test_the_golden_model_meets_the_published_values() -> None:
    for line in LINES:
        golden = GcmLines(line.key)
        assert golden.seal(line.nonce, line.plaintext) == (line.ciphertext, line.tag), line.source
        assert golden.open(line.nonce, line.ciphertext, line.tag) == line.plaintext, line.source
        assert golden.open(line.nonce, line.ciphertext, flipped(line.tag, 127)) is None, line.source
    for block in BLOCKS:
        assert GcmLines(block.key).encrypt_block(block.plaintext) == block.ciphertext, block.source
    for case in HASHES:
        value = bytes(16)
        for block_of_text, published in zip(case.blocks, case.values, strict=True):
            summed = bytes(a ^ b for a, b in zip(value, block_of_text, strict=True))
            value = ghash_product(summed, case.hash_key)
            assert value == published, case.source


@pytest.mark.parametrize(
    ("key", "nonce", "line"), [(bytes(24), bytes(12), bytes(64)), (KEY, bytes(11), bytes(64)), (KEY, bytes(12), b"")]
)
def test_the_golden_model_refuses_inputs_of_the_wrong_length(key: bytes, nonce: bytes, line: bytes) -> None:
    with pytest.raises(CasemateError, match=r"has \d+ bytes: expected (16 or 32|12|64)"):
        GcmLines(key).seal(nonce, line)


def test_a_correct_response_passes_the_scoreboard() -> None:
    board = keyed()
    board.accepted(3, SEALING, 10)
    answer = board.answered(3, expected(GcmLines(KEY), SEALING), 62)
    assert (answer.latency, board.answers, board.refusals) == (52, 1, 0)


@pytest.mark.parametrize(
    ("part", "bit"), [("line", 0), ("line", 200), ("line", 511), ("tag", 0), ("tag", 64), ("tag", 127)]
)
def test_the_scoreboard_detects_one_wrong_bit_of_a_line_or_a_tag(part: str, bit: int) -> None:
    board = keyed()
    board.accepted(0, SEALING, 0)
    right = expected(GcmLines(KEY), SEALING)
    if part == "line":
        wrong = replace(right, line=flipped(right.line, bit))
    else:
        wrong = replace(right, tag=flipped(right.tag, bit))
    with pytest.raises(AssertionError, match="expected"):
        board.answered(0, wrong, 50)


def test_the_scoreboard_detects_a_tag_in_the_response_to_a_decryption() -> None:
    sealed = Request(Op.OPEN, SEALING.nonce, *GcmLines(KEY).seal(SEALING.nonce, SEALING.line))
    for request in (sealed, replace(sealed, line=flipped(sealed.line, 9))):
        board = keyed()
        board.accepted(0, request, 0)
        with pytest.raises(AssertionError, match="expected"):
            board.answered(0, replace(expected(GcmLines(KEY), request), tag=sealed.tag), 50)


def test_the_scoreboard_detects_a_released_forgery_and_a_refused_authentic_line() -> None:
    sealed = Request(Op.OPEN, SEALING.nonce, *GcmLines(KEY).seal(SEALING.nonce, SEALING.line))
    forged = Request(Op.OPEN, SEALING.nonce, sealed.line, flipped(sealed.tag, 5))
    assert expected(GcmLines(KEY), forged) == REFUSED
    for request, response in ((forged, expected(GcmLines(KEY), sealed)), (sealed, REFUSED)):
        board = keyed()
        board.accepted(0, request, 0)
        with pytest.raises(AssertionError, match="expected"):
            board.answered(0, response, 50)


def test_the_scoreboard_detects_a_duplicate_unknown_or_aborted_id() -> None:
    board = keyed()
    board.accepted(1, SEALING, 0)
    right = expected(GcmLines(KEY), SEALING)
    board.answered(1, right, 50)
    with pytest.raises(AssertionError, match="no line inside"):
        board.answered(1, right, 51)
    board.accepted(2, Request(Op.OPEN, bytes(12), bytes(64)), 60)
    board.aborted()
    with pytest.raises(AssertionError, match="no line inside"):
        board.answered(2, REFUSED, 110)
    assert board.dropped == 1


def test_the_scoreboard_detects_a_key_change_while_lines_are_in_flight() -> None:
    board = keyed()
    board.accepted(1, SEALING, 0)
    with pytest.raises(AssertionError, match="while 1 lines were inside"):
        board.keyed(bytes(16))


def test_the_scoreboard_detects_a_nonce_reused_for_encryption_under_one_key() -> None:
    board = keyed()
    board.accepted(0, SEALING, 0)
    board.aborted()
    with pytest.raises(AssertionError, match="seals twice"):
        board.accepted(1, SEALING, 90)
    board.aborted()
    board.keyed(bytes(16))
    board.accepted(2, SEALING, 200)


def test_single_flips_are_736_requests_each_one_bit_apart() -> None:
    request = Request(Op.OPEN, bytes(12), bytes(64), bytes(16))
    flips = {(flip.nonce + flip.line + flip.tag) for flip in single_flips(request)}
    assert len(flips) == 512 + 128 + 96
    assert all(int.from_bytes(flip, "big").bit_count() == 1 for flip in flips)


def test_random_requests_seal_open_and_refuse_lines_without_a_repeated_nonce() -> None:
    source, golden = Source(random.Random(1)), GcmLines(KEY)
    requests = [source.draw(golden) for _ in range(300)]
    kinds = Counter((request.op, expected(golden, request).ok) for request in requests)
    assert set(kinds) == {(Op.SEAL, True), (Op.OPEN, True), (Op.OPEN, False)}
    assert len({request.nonce for request in requests}) == len(requests)


def test_random_lines_that_are_refused_have_a_flipped_bit_anywhere_in_line_and_tag() -> None:
    source, golden = Source(random.Random(2)), GcmLines(KEY)
    quarters = Counter[tuple[str, int]]()
    for request in (source.draw(golden) for _ in range(1000)):
        if expected(golden, request).ok:
            continue
        pads, _ = golden.seal(request.nonce, bytes(64))
        _, tag = golden.seal(request.nonce, bytes(a ^ b for a, b in zip(pads, request.line, strict=True)))
        # A tag one flip away from that of this line was flipped itself; else the line was.
        flips = int.from_bytes(tag, "big") ^ int.from_bytes(request.tag, "big")
        if flips.bit_count() == 1:
            quarters["tag", flips.bit_length() - 1 >> 5] += 1
            continue
        by_tag = [bit for bit in range(512) if golden.open(request.nonce, flipped(request.line, bit), request.tag)]
        assert len(by_tag) == 1, "one flip makes it authentic"
        quarters["line", by_tag[0] >> 7] += 1
    assert set(quarters) == {(part, quarter) for part in ("line", "tag") for quarter in range(4)}


def test_extreme_requests_have_all_zeros_and_all_ones_in_text_and_multiplier() -> None:
    source, golden = Source(random.Random(1)), GcmLines(KEY)
    hash_key = golden.encrypt_block(bytes(16))
    requests = source.extremes(golden)
    kinds = Counter((request.op, expected(golden, request).ok) for request in requests)
    assert kinds == {(Op.SEAL, True): 8, (Op.OPEN, True): 8, (Op.OPEN, False): 16}
    assert len({request.nonce for request in requests if request.op is Op.SEAL}) == 8
    for op in Op:
        texts, factors = set(), Counter[tuple[bytes, ...]]()
        for request in requests:
            answer = expected(golden, request)
            if request.op is not op or not answer.ok:
                continue
            text, ciphertext = (request.line, answer.line) if op is Op.SEAL else (answer.line, request.line)
            texts |= {text[at : at + 16] for at in range(0, 64, 16)}
            value, taken = bytes(16), []
            for at in range(0, 64, 16):
                taken.append(bytes(a ^ b for a, b in zip(value, ciphertext[at : at + 16], strict=True)))
                value = ghash_product(taken[-1], hash_key)
            factors[tuple(taken)] += 1
        for block in (bytes(16), b"\xff" * 16):
            assert block in texts
            assert sum(taken[1:] == (block,) * 3 for taken in factors) >= 1
        # A ciphertext of zeros: all four.
        assert factors[(bytes(16),) * 4] == 1


@dataclass
class Handle:
    """Names that the walk sees of a handle of cocotb: the subclasses of `walking` have the names of cocotb's."""

    _path: str
    children: tuple[Handle, ...] = ()
    value: object = None

    @property
    def _name(self) -> str:
        return self._path.split(".")[-1]

    def __iter__(self) -> Iterator[Handle]:
        return iter(self.children)


HANDLES = (
    *("LogicObject", "LogicArrayObject", "PackedObject", "EnumObject", "IntegerObject"),
    *("ArrayObject", "HierarchyObject", "HierarchyArrayObject"),
)


@pytest.fixture
def walking(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """dv/walk.py over handles that no simulator is needed for."""
    package, handles = ModuleType("cocotb"), ModuleType("cocotb.handle")
    for name in HANDLES:
        setattr(handles, name, type(name, (Handle,), {}))
    monkeypatch.setitem(sys.modules, "cocotb", package)
    monkeypatch.setitem(sys.modules, "cocotb.handle", handles)
    monkeypatch.delitem(sys.modules, "walk", raising=False)
    yield importlib.import_module("walk")
    sys.modules.pop("walk", None)


def test_the_secret_search_in_registers_covers_every_bit_and_word_position(walking: ModuleType) -> None:
    kind = sys.modules["cocotb.handle"]
    word = bytes(range(1, 17))
    text = format(int.from_bytes(word, "big"), "0128b")
    stages = [kind.LogicArrayObject(f"top.u_aes.state_q[{s}]", value=bits) for s, bits in enumerate(("0" * 128, text))]
    # A word that begins in one element and ends in the next, in an array of arrays.
    halves = [kind.LogicArrayObject(f"top.split_q[{h}]", value=half) for h, half in enumerate((text[:50], text[50:]))]
    rows = [
        kind.ArrayObject("top.split_q[0]", (kind.LogicArrayObject("top.zero", value="00"),)),
        kind.ArrayObject("top.split_q[1]", tuple(halves)),
    ]
    design = kind.HierarchyObject(
        "top",
        (
            kind.EnumObject("top.state_q", value=6),
            kind.LogicArrayObject("top.wire", value=text),
            kind.ArrayObject("top.split_q", tuple(rows)),
            kind.PackedObject("top.packed_q", value="1" + text),
            kind.HierarchyArrayObject(
                "top.gen", (kind.HierarchyObject("top.gen[1]", (kind.LogicObject("top.gen[1].flag_q", value="1"),)),)
            ),
            kind.HierarchyObject("top.u_aes", (kind.ArrayObject("top.u_aes.state_q", tuple(stages)),)),
        ),
    )
    assert dict(walking.registers(design)) == {
        "top.state_q": "110",
        "top.split_q": "00" + text,
        "top.packed_q": "1" + text,
        "top.gen[1].flag_q": "1",
        "top.u_aes.state_q": "0" * 128 + text,
    }
    assert walking.found(design, [word]) == ["top.split_q", "top.packed_q", "top.u_aes.state_q"]
    assert walking.found(design, [flipped(word, 3)]) == []
    assert {(path, at) for path, at in walking.words(design, but=["packed_q"]) if at} == {("top.u_aes.state_q", 128)}


def count_of(kind: str, line: int, what: str, instance: str, count: int) -> str:
    fields = {"f": "rtl/a.sv", "l": str(line), "n": "1", "page": f"{kind}/a", "o": what, "h": instance}
    return "C '" + "".join(f"\x01{key}\x02{value}" for key, value in fields.items()) + f"' {count}"


def test_rtl_coverage_is_summed_over_instances_and_lists_unreached_lines() -> None:
    text = "\n".join(
        [
            count_of("v_line", 3, "block", "top.one", 0),
            count_of("v_line", 3, "block", "top.two", 4),
            count_of("v_line", 9, "if", "top.one", 0),
            count_of("v_toggle", 5, "wire_q[0]:0->1", "top.one", 2),
            count_of("v_toggle", 5, "wire_q[0]:1->0", "top.one", 0),
            count_of("v_toggle", 5, "wire_q[1]:0->1", "top.one", 0),
        ]
    )
    counts = hdl_coverage.parsed(text)
    rows, shares = hdl_coverage.table(counts, [Path("rtl/a.sv")])
    assert shares == {"line": 50.0, "toggle": pytest.approx(100 / 3)}
    assert re.search(r"a\.sv +50\.0 % of 2 +33\.3 % of 3", rows[1])
    assert hdl_coverage.missed(counts, [Path("rtl/a.sv")]) == [
        "a.sv:9: not reached",
        "a.sv: wire_q: 2 changes of bits not seen",
    ]
    assert hdl_coverage.table(counts, [Path("rtl/b.sv")])[1] == {"line": 0.0, "toggle": 0.0}


def test_every_engine_configuration_is_in_the_systemverilog_package_of_the_benches() -> None:
    text = points.package()
    assert text.count("lanes: ") == len(points.LANES)
    assert text.count("'{key_bits: ") == len(points.LANES) + len(points.CORES)
    assert f"MulPoints = {len(points.MULTIPLIERS)};" in text


def test_the_computed_cycles_of_each_engine_lane_equal_its_documentation() -> None:
    page = (Path(tools.ROOT) / "docs" / "systems" / "gcm-engine.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)`[^|]*\| ([\d./]+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    stated = {name: (Fraction(pace), int(alone), int(key)) for name, pace, alone, key in rows}
    assert stated == {
        point.name: (cycles.pace(point), cycles.latency(point), cycles.key_setup(point)) for point in points.LANES
    }
    for name, wanted in cycles.WANTED_PACE.items():
        assert stated[name][0] <= wanted
    for name, wanted_latency in cycles.WANTED_LATENCY.items():
        assert stated[name][1] <= wanted_latency


# Cycle counts as the lane needs them in simulation.
@pytest.mark.parametrize(
    ("rounds", "mul_bits", "lanes", "pace"), [(2, 8, 2, 35.5), (2, 2, None, 263), (2, 1, None, 519), (1, 8, None, 79)]
)
def test_the_line_interval_of_an_engine_lane_follows_from_rounds_and_multiplier_width(
    rounds: int, mul_bits: int, lanes: int | None, pace: float
) -> None:
    point = points.LanePoint("slow", 256, rounds, mul_bits, lanes=lanes)
    assert cycles.pace(point) == pace


def test_the_aes_core_of_every_selected_engine_lane_is_simulated_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for lane in points.LANES:
        monkeypatch.setenv("POINTS", lane.name)
        assert points.chosen_cores() == (points.CorePoint(lane.key_bits, lane.rounds_per_cycle, lane.tower),)
    monkeypatch.setenv("POINTS", ",".join(lane.name for lane in points.LANES))
    assert len(points.chosen_cores()) == len(
        {(lane.key_bits, lane.rounds_per_cycle, lane.tower) for lane in points.LANES}
    )


@pytest.fixture
def breakages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FORMAL)
    return importlib.import_module("breakages")


def test_every_formal_property_is_listed_with_an_rtl_mutation_that_breaks_it(
    breakages: ModuleType,
) -> None:
    broken = [change for change in breakages.BREAKAGES + breakages.WIDER if change.fails]
    claims = set()
    for file in FORMAL.glob("*.sv"):
        proof = file.stem.removesuffix("_properties")
        claims |= {(proof, name) for name in re.findall(r"\b(a_\w+):", file.read_text())}
    assert len(claims) > 30
    assert claims == {(change.proof, change.fails) for change in broken if change.fails.startswith("a_")}
    for change in breakages.BREAKAGES + breakages.WIDER:
        assert (FORMAL.parent / "rtl" / change.file).read_text().count(change.old) == 1, change
        assert change.parameter[0] in (FORMAL.parent / change.properties).read_text(), change


def test_each_formal_property_is_tested_alone_with_all_others_assumed(breakages: ModuleType) -> None:
    properties = sorted(FORMAL.glob("*_properties.sv"))
    assert len(properties) == 3
    for file in properties:
        text = file.read_text()
        names = re.findall(r"^ +([ai]_\w+):\s*assert\b", text, re.MULTILINE)
        assert len(names) == len(re.findall(r"\bassert\b", text))
        for name in names:
            assert re.findall(r"(\w+):\s*assert\b", breakages.alone(text, name)) == [name]
            assert len(re.findall(r"\w+:\s*assume\b", breakages.alone(text, name))) == len(names) - 1


def test_a_missing_tool_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "PACKAGES", {"no_such_simulator": "simulates"})
    with pytest.raises(tools.MissingError, match=r"no_such_simulator \(simulates\).*scripts/setup\.sh \.venv hw"):
        tools.need()
