"""The model for bit flips in the GCM lane (`dv/faults`) computes AES-GCM correctly, and its planted weaknesses still
apply to the RTL.

Flipping bits in the RTL itself needs the hardware tools: `make hw-faults`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from casemate._core import GcmLines

FAULTS = Path(__file__).resolve().parents[1] / "dv" / "faults"


def part(name: str) -> Any:
    if str(FAULTS) not in sys.path:
        sys.path.insert(0, str(FAULTS))
    return importlib.import_module(name)


def test_the_secret_blocks_of_the_fault_search_meet_fips_197() -> None:
    # FIPS-197, C.1 and C.3.
    block = bytes.fromhex("00112233445566778899aabbccddeeff")
    for size, expected in ((16, "69c4e0d86a7b0430d8cdb78070b4c55a"), (32, "8ea2b7ca516745bfeafc49904b496089")):
        assert GcmLines(bytes(range(size))).encrypt_block(block).hex() == expected


def test_the_fault_search_model_gives_test_case_3_of_the_gcm_specification() -> None:
    # "The Galois/Counter Mode of Operation", appendix B, test case 3.
    gcm = part("counter_blocks").Gcm(bytes.fromhex("feffe9928665731c6d6a8f9467308308"))
    nonce = bytes.fromhex("cafebabefacedbaddecaf888")
    text = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
    )
    ciphertext = gcm.crypt(nonce, text)
    assert ciphertext.hex().startswith("42831ec2217774244b7221b784d0d49c")
    assert gcm.tag(nonce, ciphertext).hex() == "4d5c2af327cd64a62cf35abd2ba6fab4"


def test_each_planted_weakness_still_applies_to_the_sources(tmp_path: Path) -> None:
    plants = part("plants").PLANTS
    assert len(plants) >= 5
    for number, plant in enumerate(plants):
        folder = tmp_path / str(number)
        plant.write(folder)
        assert (folder / plant.source).read_text() != (FAULTS.parents[1] / "rtl" / plant.source).read_text()


def test_a_planted_rtl_weakness_without_its_text_in_the_source_is_refused() -> None:
    plants, lane_model = part("plants"), part("lane_model")
    plant = plants.Plant("gone", "gcm_lane.sv", (("no such text", ""),), "busy")
    with pytest.raises(lane_model.FaultsError, match=r"plant `gone`: rtl/gcm_lane\.sv has 0 times, not once"):
        plant.write(Path("unused"))


def test_no_single_bit_flip_makes_a_refused_line_of_any_fault_history_authentic() -> None:
    histories = part("histories")
    for name in histories.HISTORIES:
        made = histories.history(name, 128, 1)
        for request in made.requests:
            words = request.split()
            if words[1] != "refuse":
                continue
            nonce, line, tag = map(bytes.fromhex, words[4:7])
            for bit in range(8 * len(line)):
                flipped = bytearray(line)
                flipped[bit // 8] ^= 1 << bit % 8
                assert made.gcm.tag(nonce, bytes(flipped)) != tag, (name, bit)


def test_request_ids_of_a_fault_history_differ_in_at_least_two_bits() -> None:
    ids = part("histories").IDS
    assert all(bin(a ^ b).count("1") >= 2 for a in ids for b in ids if a != b)


def test_the_rekeyed_fault_history_has_two_keys_and_both_are_secrets_of_the_search() -> None:
    made = part("histories").history("rekeyed", 128, 1)
    first = made.written(slack=1).split(maxsplit=2)[1]
    second = next(request.split()[-1] for request in made.requests if request.startswith("request key"))
    assert first != second
    assert {bytes.fromhex(first), bytes.fromhex(second)} <= set(made.secrets)


def test_the_fault_search_covers_masks_and_forgery_tags_of_all_lines() -> None:
    histories = part("histories")
    for name in histories.HISTORIES:
        made = histories.history(name, 128, 1)
        requests = [request.split() for request in made.requests]
        if name == "rekeyed":
            requests = requests[[words[1] for words in requests].index("key") :]
        for words in requests:
            if words[1] not in ("seal", "open", "refuse"):
                continue
            nonce, line = map(bytes.fromhex, words[4:6])
            assert made.gcm.pads(nonce)[0] in made.secrets, (name, words)
            right = made.gcm.tag(nonce, line)
            if words[1] == "refuse" and right not in made.known:
                assert right in made.secrets, (name, words)


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        (["--share", "0"], "--share 0: expected 1 (every bit) or more"),
        (["--complete", "--share", "4"], "--share 4: --complete flips every bit; expected one of the two"),
        (["--build", "FOLDER/file/models"], "--build: cannot make the folder 'FOLDER/file/models'"),
        (["--json", "FOLDER"], "--json: cannot write 'FOLDER': expected a file in an existing folder"),
        (["--json", "FOLDER/nowhere/x.json"], "expected a file in an existing folder"),
    ],
)
def test_invalid_options_of_the_fault_search_are_refused_before_any_bit_flip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], requests: list[str], said: str
) -> None:
    (tmp_path / "file").touch()
    words = [each.replace("FOLDER", str(tmp_path)) for each in requests]
    if "--build" not in words:
        words += ["--build", str(tmp_path / "models")]
    with pytest.raises(SystemExit) as refused:
        part("inject").parse(words)
    assert refused.value.code == 2
    assert said.replace("FOLDER", str(tmp_path)) in capsys.readouterr().err
