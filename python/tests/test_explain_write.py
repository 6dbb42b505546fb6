"""`casemate explain --of write`, and `--value`."""

from pathlib import Path

import jsonschema
import pytest
from casemate import Write, explain
from conftest import Casemate


def test_explain_shows_a_write_until_memory_accepts_it_or_it_is_durable(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("explain", "plp-pipelined", "--of", "write", "--against", "sc64-bmt", "--json")
    jsonschema.validate(said.json(), casemate("schema", "explain").json())
    durable, taken = said.json()["explanations"]
    assert (durable["until"], taken["until"]) == ("durable", "taken")
    assert durable["latency_fs"] > taken["latency_fs"]
    text = casemate("explain", "plp-pipelined", "--of", "write", "--against", "sc64-bmt", "--svg", "write.svg").out
    for part in (
        "one write",
        "persist counter",
        "complete tuple",
        "store data",
        "until durable",
        "until taken: memory's",
    ):
        assert part in text, part
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "time since the write reached the memory controller" in (tmp_path / "write.svg").read_text()


def test_explain_shows_and_records_the_given_content_of_a_line(casemate: Casemate) -> None:
    usual = casemate("explain", "sc64-bmt", "--json").json()["explanations"][0]
    for given, held, words in (
        ("zeros", "00" * 64, "holds zeros"),
        ("0x0123456789ABCDEF", "0123456789abcdef" * 8, "holds 0123456789abcdef 8 times"),
        ("".join(f"{byte:02x}" for byte in range(64)), bytes(range(64)).hex(), "holds 000102030405"),
    ):
        said = casemate("explain", "sc64-bmt", "--value", given, "--json").json()["explanations"][0]
        assert said["scenario"]["value"] == held
        assert said["spans"] == usual["spans"]
        assert words in casemate("explain", "sc64-bmt", "--value", given).out
    assert casemate("explain", "sc64-bmt").out.count("5a 64 times") == 1
    assert explain("sc64-bmt", Write(value=b"\1\2")).scenario.value == "0102" * 32


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (
            ("--value", "123"),
            "value '123' has 3 digits, which do not fill a line: expected 'zeros', 'frequent', 'rarest'",
        ),
        (("--value", "zeroes"), "value 'zeroes' is not hexadecimal"),
        (("--of", "write", "--from", "l2"), "--from l2 is for reads"),
        (("--of", "erase"), "'erase' is not one of 'read', 'write'"),
        (("--layout", "--of", "write"), "--value, --of and --meets are for timelines"),
    ],
)
def test_explain_refuses_an_invalid_access(casemate: Casemate, wrong: tuple[str, ...], expected: str) -> None:
    said = casemate("explain", "sc64-bmt", *wrong)
    assert said.code == 2
    assert expected in said.err
    assert "line 1 column" not in said.err
    assert said.out == ""


def test_explain_draws_a_picture_of_a_write_without_duration(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("explain", "none", "--of", "write", "--png", "write.png")
    assert said.code == 0
    assert (tmp_path / "write.png").stat().st_size > 0


CHUNKS = """
name = "chunks"
summary = "Chunks of eight bytes, with a tag for each."
design_class = "C3"
source = "made for this test"
[parts]
cipher = "tdes-ocb-chunks"
counters = "mono-56"
mac = { code = "ocb-chunks", chunk_tag_bits = 32, over = "plaintext" }
tree = { kind = "none" }
"""


def test_explain_titles_spans_with_cipher_and_bytes_in_full(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "chunks.toml").write_text(CHUNKS)
    at = ("--machine", "simplescalar-2005", "--row", "hit", "--on-chip", "all")
    said = casemate("explain", "chunks.toml", *at)
    # 100 ns for the words, 96 each for cipher and tag; the last words arrive after 135.
    assert "292.0 ns for the words asked for, 327.0 ns for the line" in said.out
    for title in ("pad 2 TDES blocks", "decrypt TDES 48-55", "mac TDES 48-55", "release verified 0-7 "):
        assert title in said.out, title
    assert "AES" not in said.out
    untagged = CHUNKS.replace('mac = { code = "ocb-chunks", chunk_tag_bits = 32, over = "plaintext" }\n', "")
    (tmp_path / "chunks.toml").write_text(untagged.replace('design_class = "C3"', 'design_class = "C1\'"'))
    assert "release unverified 0-7 " in casemate("explain", "chunks.toml", *at).out
    assert "encrypt" in casemate("explain", "xts", "--of", "write").out


def test_a_store_is_drawn_from_the_persist_buffer_until_it_is_accepted(casemate: Casemate, tmp_path: Path) -> None:
    ask = ("--of", "store", "--machine", "secpb-pcm", "--on-chip", "all")
    said = casemate("explain", "secpb-cm", *ask, "--svg", "store.svg")
    assert said.code == 0, said.out
    assert "one store" in said.out
    assert "until accepted: the persist buffer has the store" in said.out
    assert "time since the store reached the persist buffer" in (tmp_path / "store.svg").read_text()
    assert max(len(line) for line in said.out.splitlines()[1:]) <= 100
    refused = casemate("explain", "plp-sp", "--of", "store")
    assert refused.code == 2
    assert "'plp-sp' has no persist buffer" in refused.err
