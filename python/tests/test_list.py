"""`casemate list`: built-in components, values of machines and designs, and traces, with the schemas of their JSON."""

import gzip
import lzma
import os
import struct
from pathlib import Path

import jsonschema
import pytest
from conftest import Casemate

INSTRUCTION = struct.pack("<QBB2B4B2Q4Q", 0x400000, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0x10000000, 0, 0, 0)
"""A record of ChampSim."""


def test_the_list_command_shows_everything_that_is_built_in(casemate: Casemate) -> None:
    said = casemate("list", "--json")
    jsonschema.validate(said.json(), casemate("schema", "list").json())
    text = casemate("list").out
    for kind in ("designs", "machines", "workloads", "attacks"):
        for item in said.json()[kind]:
            assert item["name"] in text, item["name"]


@pytest.mark.parametrize("named", [("machines", "modern"), ("designs", "sc64-bmt")])
def test_the_values_of_a_machine_or_design_fit_their_listed_schema(casemate: Casemate, named: tuple[str, ...]) -> None:
    values = casemate("list", *named, "--json").json()
    assert values["name"] == named[1]
    for words in (("list", "settings"), ("list", *named)):
        jsonschema.validate(values, casemate("schema", *words).json())
    listing = casemate("list", named[0], "--json").json()
    jsonschema.validate(listing, casemate("schema", "list", named[0]).json())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(values, casemate("schema", "list").json())
    assert "unknown schema 'list workloads gups'" in casemate("schema", "list", "workloads", "gups").err


def test_traces_are_listed_by_content_and_files_that_are_only_named_so_with_the_reason(
    casemate: Casemate, tmp_path: Path
) -> None:
    records = INSTRUCTION * 2000
    text = b"".join(b"%07g 11003072" % number for number in range(400))
    contents = {
        "x.champsimtrace.xz": lzma.compress(records), "bc-5.trace.gz": gzip.compress(records), "UPPER": records,
        "requests.txt": b"0x40 R\n0x80 W\n", "text.champsimtrace.xz": lzma.compress(text), "note.trace": b"hello\n",
        "EMPTY.TRACE": b"", "notes.txt": b"hello\n", "x.trace.partial": b"CASEMTRC",
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.trace").mkdir()
    os.mkfifo(tmp_path / "pipe.trace")
    found = casemate("list", "traces", "--json").json()
    jsonschema.validate(found, casemate("schema", "list", "traces").json())
    assert found["traces"] == ["UPPER", "bc-5.trace.gz", "requests.txt", "x.champsimtrace.xz"]
    refused = {file["path"]: file["reason"] for file in found["refused_traces"]}
    assert list(refused) == ["EMPTY.TRACE", "note.trace", "text.champsimtrace.xz"]
    assert "it is empty" in refused["EMPTY.TRACE"]
    assert "it is text of 6 bytes, and begins 'hello'; expected a trace of" in refused["note.trace"]
    assert "'text.champsimtrace.xz' is not a trace: it is text" in refused["text.champsimtrace.xz"]
    for_people = casemate("list", "traces").out
    assert all(name in for_people for name in (*found["traces"], *refused))
    assert "notes.txt" not in for_people
