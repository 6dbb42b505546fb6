"""Tags of a user's design that are longer than a word, and tags of chunks: their cost, and refusals."""

from pathlib import Path

import casemate as cm
import pytest
from casemate import api
from conftest import SMALL, Casemate

DESIGNS = Path(__file__).resolve().parents[2] / "designs"
CODES = {
    "wide": 'code = "hmac-sha256", tag_bits = 256, covers = ["address", "counter"]',
    "behind": 'code = "gmac", tag_bits = 128, place = "beside"',
    "chunks": 'code = "ocb-chunks", chunk_tag_bits = 128',
}
"""Tags in the files with these names."""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    """The design with a tree, with each of these tags."""
    text = (DESIGNS / "sc64-bmt.toml").read_text()
    mac = 'code = "gmac", tag_bits = 56'
    assert mac in text
    for name, code in CODES.items():
        other = text.replace(mac, code).replace('name = "sc64-bmt"', f'name = "{name}"')
        if name == "chunks":
            other = other.replace("aes128-counter", "aes256-ocb-chunks")
        (tmp_path / f"{name}.toml").write_text(other)


def test_long_tags_are_included_in_layouts_and_run_output(casemate: Casemate) -> None:
    found = {name: cm.layout(f"{name}.toml", memory="4 GB") for name in CODES}
    serves = {name: [it.serves for it in layout.regions if it.role == "tag"] for name, layout in found.items()}
    assert serves == {"wide": [2], "behind": [], "chunks": [1]}
    # 256 bits for each 512, then 128, then all of 512.
    assert [round(it.overhead_percent - found["behind"].overhead_percent, 6) for it in found.values()] == [25, 0, 75]
    assert "1 line " in casemate("explain", "chunks.toml", "--layout").out
    said = casemate("run", *SMALL, *(part for name in CODES for part in ("--design", f"{name}.toml")), "--json")
    assert said.code == 0, said.err
    macs = [record["configuration"]["design"]["parts"]["mac"] for record in said.json()["records"]]
    assert [(mac.get("tag_bits"), mac.get("chunk_tag_bits")) for mac in macs] == [(256, None), (128, None), (None, 128)]
    assert all(record["checks"]["passed"] for record in said.json()["records"])
    assert api.design("chunks.toml").parts.mac.chunk_tag_bits == 128


@pytest.mark.parametrize("name", CODES)
def test_long_tags_stop_the_tampering_that_short_tags_stop(casemate: Casemate, name: str) -> None:
    rows = ("--row", "flip-tag", "--row", "splice-data-tag") if name == "wide" else ("--row", "flip-data")
    for row in rows[1::2]:
        said = casemate("attack", f"{name}.toml", "--row", row, "--trials", "20")
        assert (said.code, "detected" in said.out) == (0, True), said.out


@pytest.mark.parametrize(
    ("name", "longer", "expected"),
    [
        ("wide", "tag_bits = 300", "mac.tag_bits = 300 must be between 1 and 256: set mac.tag_bits = 256"),
        ("wide", 'tag_bits = 256, place = "ecc"', "set mac.tag_bits = 64 or mac.place"),
        ("behind", "tag_bits = 256", "set mac.tag_bits = 128 or mac.code"),
        ("behind", "chunk_tag_bits = 8", 'set mac.code = "ocb-chunks"'),
        ("chunks", "chunk_tag_bits = 129", "set mac.chunk_tag_bits = 128"),
        ("chunks", "chunk_tag_bits = 8, tag_bits = 32", "leave one of them out"),
    ],
)
def test_impossible_tag_lengths_are_refused_in_a_line(
    casemate: Casemate, tmp_path: Path, name: str, longer: str, expected: str
) -> None:
    file = tmp_path / f"{name}.toml"
    said_before = CODES[name].split(", ")[1]
    file.write_text(file.read_text().replace(said_before, longer))
    said = casemate("attack", f"{name}.toml")
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert f"{name}.toml" in said.err
    assert expected in said.err
