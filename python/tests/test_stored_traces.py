"""Stored traces of any format: recognised by content in every command; other files are refused."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from casemate import CasemateError, RunOptions, Trace, run, trace_info
from conftest import Casemate

RECORD = struct.Struct("<QBB2B4B2Q4Q")
RECORDS = 3_000

COMMANDS = (("champsim", "FILE", "--instructions", "1K"), ("run", "--trace", "FILE", "--design", "none"))
"""All commands that run a trace of ChampSim."""


def records(count: int = RECORDS) -> bytes:
    """Loads, each of the line after the one before."""
    return b"".join(
        RECORD.pack(0x400000 + 4 * (n % 16), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0x10000000 + 64 * n, 0, 0, 0)
        for n in range(count)
    )


def archive(content: bytes) -> bytes:
    """A tar of one file with a short name."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        member = tarfile.TarInfo("t")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_trace_of_champsim_is_recognised_under_any_name(
    casemate: Casemate, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    packings: dict[str, Callable[[bytes], bytes]] = {
        "bc-5.trace.gz": gzip.compress,
        "bzip2_10M.trace.xz": lzma.compress,
        "UPPER.CHAMPSIMTRACE": bytes,
        "a.bin": bz2.compress,
        "no-suffix": bytes,
    }
    answers = []
    for name, pack in packings.items():
        (tmp_path / name).write_bytes(pack(records()))
        said = casemate(*(name if word == "FILE" else word for word in arguments), "--json")
        assert said.code == 0, (name, said.err)
        answer = said.json()
        answers.append(answer["cycles"] if "cycles" in answer else answer["records"][0]["cycles"])
    assert len(set(answers)) == 1, answers


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_bytes_that_are_no_trace_are_refused_though_the_window_ends_before_them(
    casemate: Casemate, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    text = b"".join(b"%07d some words\n" % n for n in range(20_000))
    cases = {
        "text.champsimtrace.xz": (lzma.compress(text), "text, and begins '0000000 some words'"),
        "text.champsimtrace": (text, "text, and begins"),
        "tar.champsimtrace.xz": (lzma.compress(archive(records())), "a tar archive"),
        "text.champsimtrace.gz": (gzip.compress(text), "text, and begins"),
        "empty.champsimtrace": (b"", "it is empty"),
        "empty.champsimtrace.gz": (gzip.compress(b""), "it is empty"),
        "short.champsimtrace": (records(1)[:-1], "63 bytes"),
        "zeros.champsimtrace": (bytes(640_000), "address is 0"),
        "later.champsimtrace": (records() + text[: 64 * 100] + records(), "record 3000"),
        "cut.champsimtrace": (records()[:-10], "bytes"),
    }
    for name, (content, expected) in cases.items():
        (tmp_path / name).write_bytes(content)
        # A window of 1000 instructions ends before the text, which is later in the file, and does not need it.
        longer = ["5K" if word == "1K" else word for word in arguments]
        said = casemate(*(name if word == "FILE" else word for word in longer))
        assert (said.code, said.out) == (2, ""), (name, said.out)
        assert expected in said.err, said.err
        assert name in said.err


def test_every_command_recognises_a_trace_by_its_content(casemate: Casemate, tmp_path: Path) -> None:
    champsim, native = tmp_path / "prog.trace", tmp_path / "native.champsimtrace"
    champsim.write_bytes(records())
    info = trace_info(champsim)
    assert (info.format, info.totals.instructions, info.totals.loads) == ("champsim", RECORDS, RECORDS)
    assert "every record keeps the format's rules" in casemate("trace", "info", "prog.trace").out
    found = run(Trace(champsim), designs="none", options=RunOptions(protection=False))
    assert found.records[0].instructions == RECORDS
    shipped = Path(__file__).parents[2] / "traces" / "gzip.trace"
    native.write_bytes(shipped.read_bytes())
    assert casemate("run", "--trace", native.name, "--design", "none", "--limit", "10K").code == 0
    said = casemate("champsim", native.name, "--instructions", "1K")
    assert said.code == 2
    assert "a trace of `casemate record`" in said.err
    assert "casemate run --trace" in said.err
    packed = tmp_path / "packed.trace"
    packed.write_bytes(gzip.compress(shipped.read_bytes()))
    with pytest.raises(CasemateError, match="packed by gzip: unpack it"):
        trace_info(packed)


def test_a_champsim_window_reports_how_often_its_trace_restarted(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(records())
    for length, restarts, shown in (("3K", 0, "never"), ("3001", 1, "1 time"), ("12K", 3, "3 times")):
        window = ("champsim", "x", "--instructions", length)
        assert casemate(*window, "--json").json()["restarts"] == restarts
        assert shown in casemate(*window).out
    warmed = casemate("champsim", "x", "--warmup", "2K", "--instructions", "2K", "--json").json()
    assert warmed["restarts"] == 1
    assert "restarts" in casemate("schema", "champsim").json()["required"]
