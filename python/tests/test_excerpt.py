"""A window of a run, in a file: in the trace-event format, whole or missing, and refusals."""

import json
import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from casemate import BuiltIn, CasemateError, RunOptions, TraceWindow, api
from casemate.excerpt import Excerpt
from casemate.schemas.explain import VERBS
from casemate.text import amounts
from conftest import NO_PLACES_FOR_A_FILE, SMALL, Casemate, refused_before_the_run

COMMAND = [sys.executable, "-m", "casemate"]
WRITING = ("--workload", "gups", "--set", "footprint=64 MB", "--limit", "200K", "--with", "machine.llc.size=512 KB")
"""A run that writes lines back to memory."""
WINDOW = ("--trace-window", "300us:2us")

NUMBERED = {"pid": {"type": "integer", "minimum": 1}, "tid": {"type": "integer", "minimum": 0}}
TIMED = {**NUMBERED, "ts": {"type": "number", "minimum": 0}, "name": {"type": "string", "minLength": 1}}
ARGS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "access": {"type": "integer", "minimum": 1},
        "line": {"type": "string", "pattern": "^0x[0-9a-f]+$"},
        "waited_for": {"enum": ["queue", "bank", "refresh", "write-drain", "unit", "lock", "verdict"]},
        "waited_ns": {"type": "number", "exclusiveMinimum": 0},
        "outcome": {"type": "string"},
    },
}


def _event(kind: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"ph": {"const": kind}, **properties},
        "required": ["ph", "name", "pid", "tid", *required],
        "additionalProperties": False,
    }


SCHEMA = {
    # Keys that the description of the format requires in an object, and in each kind of event that we write.
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit", "otherData"],
    "additionalProperties": False,
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    _event(
                        "X",
                        {**TIMED, "dur": {"type": "number", "minimum": 0}, "cat": {"type": "string"}, "args": ARGS},
                        ["ts", "dur", "cat", "args"],
                    ),
                    _event(
                        "i",
                        {**TIMED, "s": {"enum": ["g", "p", "t"]}, "cat": {"type": "string"}, "args": ARGS},
                        ["ts", "cat", "args"],
                    ),
                    *(
                        _event(
                            kind,
                            {**TIMED, "id": {"type": "integer"}, "cat": {"type": "string"}, "bp": {"const": "e"}},
                            ["ts", "id", "cat"],
                        )
                        for kind in "stf"
                    ),
                    _event(
                        "M",
                        {
                            **NUMBERED,
                            "name": {
                                "enum": ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]
                            },
                            "args": {
                                "oneOf": [
                                    {"properties": {"name": {"type": "string"}}, "required": ["name"]},
                                    {"properties": {"sort_index": {"type": "integer"}}, "required": ["sort_index"]},
                                ]
                            },
                        },
                        ["args"],
                    ),
                ]
            },
        },
    },
}

Track = tuple[int, int]


def _lanes(events: list[dict[str, Any]]) -> dict[Track, list[dict[str, Any]]]:
    lanes: dict[Track, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            lanes[event["pid"], event["tid"]].append(event)
    return lanes


def _as_perfetto(lane: list[dict[str, Any]], as_float: bool) -> Iterator[tuple[int, int]]:
    """Returns the ends of spans in ns, cut off as by Perfetto, from exact numbers or binary fractions."""
    for event in sorted(lane, key=lambda event: event["ts"]):
        if as_float:
            start, length = int(float(event["ts"]) * 1000), int(float(event["dur"]) * 1000)
        else:
            start, length = int(event["ts"] * 1000), int(event["dur"] * 1000)
        yield start, start + length


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The excerpt of a run."""
    path = tmp_path_factory.mktemp("excerpt") / "gups.json"
    arguments = [*COMMAND, "run", *WRITING, "--design", "sc64-bmt", *WINDOW, "-o", str(path)]
    subprocess.run(arguments, check=True, capture_output=True)
    return path


def test_an_excerpt_file_is_in_the_trace_event_format(whole: Path) -> None:
    found = json.loads(whole.read_text(), parse_float=Decimal)
    plain = json.loads(whole.read_text())
    jsonschema.validate(plain, SCHEMA)
    events = found["traceEvents"]
    assert found["displayTimeUnit"] == "ns"
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    lanes = _lanes(events)
    assert set(lanes) <= named
    assert {process for process, _ in named} <= processes
    assert len(lanes) > 20
    # Spans of a thread must be nested or disjoint; ours are disjoint, also after rounding to nanoseconds.
    for lane in lanes.values():
        for as_float in (False, True):
            for (_, end), (start, _) in pairwise(_as_perfetto(lane, as_float)):
                assert end <= start
    verbs = {*VERBS, "window", "read", "write back"}
    names = {e["name"] for e in events if e["ph"] in "Xi"}
    assert all(any(name == verb or name.startswith(f"{verb} ") for verb in map(str, verbs)) for name in names), names


def test_flow_arrows_of_an_excerpt_connect_the_spans_of_an_access(whole: Path) -> None:
    events = json.loads(whole.read_text(), parse_float=Decimal)["traceEvents"]
    lanes = _lanes(events)
    flows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            flows[event["id"]].append(event)
    assert len(flows) > 20
    for number, arrows in flows.items():
        assert [arrow["ph"] for arrow in arrows] == ["s", *"t" * (len(arrows) - 2), "f"]
        assert [arrow["ts"] for arrow in arrows] == sorted(arrow["ts"] for arrow in arrows)
        for arrow in arrows:
            lane = lanes[arrow["pid"], arrow["tid"]]
            bound = [e for e in lane if e["ts"] <= arrow["ts"] < e["ts"] + e["dur"]]
            assert [e["args"]["access"] for e in bound] == [number]
        spans = [e for lane in lanes.values() for e in lane if e["args"].get("access") == number]
        assert len(spans) == len(arrows)


def test_every_span_of_an_excerpt_overlaps_its_window(whole: Path) -> None:
    excerpt = Excerpt.read(whole)
    begin, end = excerpt.window_fs
    assert (begin, end) == (300 * 10**9, 302 * 10**9)
    spans = [span for listed in excerpt.units.values() for span in listed]
    assert all(span.start_fs < end and span.end_fs >= begin for span in spans)
    assert any(span.start_fs < begin for span in spans)
    assert any(span.end_fs > end for span in spans)
    names = {unit.name for unit in excerpt.units}
    assert {"core 0 reads", "write-backs", "AES", "MAC", "hash", "cache of counters"} <= names
    assert "channel 0 data bus: reads" in names
    assert any(name.startswith("channel 0 bank ") for name in names)
    waited = {span.waited_for for span in spans}
    assert waited >= {"queue", "write-drain"}, waited


def test_a_run_that_writes_an_excerpt_has_the_same_result(casemate: Casemate, tmp_path: Path) -> None:
    arguments = ("run", *WRITING, "--design", "sc64-bmt", "--json")
    said = casemate(*arguments, *WINDOW, "-o", "gups.json")
    answer, without = said.json(), casemate(*arguments).json()
    assert said.code == 0
    assert [Path(name).name for name in answer["excerpts"]] == ["gups.json"]
    assert "wrote gups.json" in said.err
    (record,), (other,) = answer["records"], without["records"]
    assert {**record, "host": None} == {**other, "host": None}
    assert Excerpt.read(tmp_path / "gups.json").about.configuration_hash == record["configuration_hash"]


def test_the_same_seed_gives_the_same_file_and_another_a_different_one(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> bytes:
        options = RunOptions(limit="50K", seed=seed, trace=TraceWindow("5us:1us", tmp_path / name), protection=False)
        results = api.run(BuiltIn("gups", {"footprint": "1 MB"}), designs="sc64-bmt", options=options)
        assert results.excerpts == (str(tmp_path / name),)
        return (tmp_path / name).read_bytes()

    first = written("first", 1)
    assert first == written("again", 1)
    assert first != written("other", 2)


def test_each_of_several_simulations_has_a_separate_file(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("run", *SMALL, "--trace-window", "5us:1us", "-o", "gups.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gups.none.json", "gups.sc64-bmt.json"]
    assert "wrote gups.none.json" in said.err
    assert Excerpt.read("gups.sc64-bmt.json").about.design == "sc64-bmt"


def test_records_and_a_trace_window_are_written_to_separate_paths(casemate: Casemate, tmp_path: Path) -> None:
    casemate("run", *SMALL, "--design", "none", "--trace-window", "5us:1us", "-o", "x.json", "--output", "records")
    assert (tmp_path / "x.json").is_file()
    assert [path.name.startswith("gups-none-") for path in (tmp_path / "records").iterdir()] == [True]


def test_every_metadata_cache_has_a_track_in_an_excerpt(casemate: Casemate) -> None:
    reordered = ("--machine", "simplescalar-2005", "--design", "fvs-aes")
    casemate("run", *SMALL, *reordered, "--trace-window", "20us:5us", "-o", "fvs.json")
    names = {unit.name for unit in Excerpt.read("fvs.json").units}
    assert {"cache of counters", "cache of tags", "cache of bitmaps"} <= names


def test_each_core_has_a_separate_track_in_an_excerpt(casemate: Casemate) -> None:
    on_four = ("--machine", "emcc-4core", "--design", "emcc", "--copies", "4")
    casemate("run", *SMALL, *on_four, "--trace-window", "1us:5us", "-o", "cores.json")
    names = {unit.name for unit in Excerpt.read("cores.json").units}
    assert {f"core {core} reads" for core in range(4)} <= names


def test_the_command_lists_and_draws_the_work_of_every_unit(casemate: Casemate, whole: Path, tmp_path: Path) -> None:
    said = casemate("excerpt", str(whole), "--png", "a.png", "--svg", "a.svg")
    assert said.code == 0
    for text in ("2 us from 300 us", "longest (ns)", "core 0 reads", "channel 0 data bus: reads", "AES", "hash"):
        assert text in said.out, text
    assert max(len(line) for line in said.out.splitlines()) <= 100
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "cache of counters" in (tmp_path / "a.svg").read_text()
    found = casemate("excerpt", str(whole), "--json", "--svg", "b.svg").json()
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    jsonschema.validate(found, casemate("schema", "excerpt").json())
    units = {unit["unit"]: unit for unit in found["units"]}
    assert units["channel 0 data bus: reads"]["at_once"] == 1
    assert all(0 <= unit["busy_fs"] <= 2 * 10**9 for unit in found["units"])


@pytest.mark.parametrize(("target", "expected"), NO_PLACES_FOR_A_FILE)
def test_an_unusable_path_is_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, target: str, expected: str
) -> None:
    refused_before_the_run(casemate, tmp_path, (*WINDOW, "-o", target), expected)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (("--trace-window", "20us:5us"), "add -o FILE"),
        (("-o", "x.json"), "add --trace-window FROM:LENGTH; records go to --output FOLDER"),
        (("--trace-window", "20us", "-o", "x"), "'20us' is not a window: expected FROM:LENGTH, as in 20us:5us"),
        (("--trace-window", "20:5us", "-o", "x"), "'20' is not a length of simulated time: expected a number and its"),
        (("--trace-window", "-1us:5us", "-o", "x"), "'-1us' is not a length of simulated time"),
        (("--trace-window", "20us:0ns", "-o", "x"), "the window to trace is empty"),
        (("--trace-window", "0.5fs:1us", "-o", "x"), "not a whole number of femtoseconds"),
        (("--trace-window", "18447s:1us", "-o", "x"), "more than the simulated clock can count"),
        (("--trace-window", "18446s:18446s", "-o", "x"), "ends beyond 18446 s, the end of the simulated clock"),
        ((*WINDOW, "-o", "x", "--detail", "sampled"), "a sampled run has no window to trace"),
        ((*WINDOW, "-o", "x", "--bus", "x"), "'x' is asked for twice"),
    ],
)
def test_invalid_excerpt_or_interval_options_are_refused_before_the_run(
    casemate: Casemate, tmp_path: Path, wrong: tuple[str, ...], expected: str
) -> None:
    said = casemate("run", *SMALL, *wrong)
    assert said.code == 2
    assert expected in said.err
    assert "Running" not in said.err
    assert list(tmp_path.iterdir()) == []


def test_the_api_refuses_an_invalid_window() -> None:
    with pytest.raises(CasemateError, match="window: '5' is not a window: expected FROM:LENGTH"):
        api.run(BuiltIn("gups"), options=RunOptions(trace=TraceWindow("5", "x")))


def test_a_trace_window_past_the_end_is_a_one_line_error_and_keeps_the_earlier_file(
    casemate: Casemate, tmp_path: Path
) -> None:
    (tmp_path / "x.json").write_text("old")
    said = casemate("run", *SMALL, "--design", "none", "--trace-window", "50ms:1us", "-o", "x.json")
    assert said.code == 2
    (line,) = [line for line in said.err.splitlines() if "window" in line]
    assert line.startswith("none: the window to trace begins at 50ms, and the run has ended at ")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert (tmp_path / "x.json").read_text() == "old"
    # One that begins before it is kept until then.
    said = casemate("run", *SMALL, "--design", "none", "--trace-window", "1us:50ms", "-o", "x.json")
    assert said.code == 0
    about = Excerpt.read("x.json").about
    assert about.ended_fs < about.window_from_fs + about.window_length_fs


def test_a_window_past_the_end_does_not_prevent_the_other_files_of_the_run(casemate: Casemate, tmp_path: Path) -> None:
    also = ("--bus", "x.bus", "--output", "results", "--interval", "10K", "--intervals", "x.csv")
    said = casemate("run", *SMALL, "--design", "none", "--trace-window", "50ms:1us", "-o", "x.json", *also)
    assert said.code == 2
    assert "slowdown" in said.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "x.bus", "x.csv"]
    assert len(list((tmp_path / "results").iterdir())) == 1


@pytest.mark.parametrize(
    ("where", "expected"),
    [("--png", "--png would write over"), ("--svg", "--svg would write over")],
)
def test_a_picture_that_would_overwrite_its_excerpt_is_refused(
    casemate: Casemate, whole: Path, where: str, expected: str
) -> None:
    before = whole.read_bytes()
    said = casemate("excerpt", str(whole), where, str(whole))
    assert said.code == 2
    assert expected in said.err
    assert whole.read_bytes() == before
    said = casemate("excerpt", str(whole), where, "picture.txt")
    assert said.code == 2
    assert f"expected a name such as 'picture.{where[2:]}'" in said.err


def test_an_empty_trace_window_and_one_beyond_the_end_of_the_run_are_drawn(casemate: Casemate, tmp_path: Path) -> None:
    for window, expected in (("0ns:1fs", "No unit did anything"), ("1us:50ms", "from 1 us to the end of the run")):
        assert casemate("run", *SMALL, "--design", "none", "--trace-window", window, "-o", "x.json").code == 0
        said = casemate("excerpt", "x.json", "--png", "x.png")
        assert said.code == 0
        assert expected in said.out
        assert (tmp_path / "x.png").stat().st_size > 0


def test_a_full_disk_is_a_one_line_error_and_keeps_the_earlier_output_file(tmp_path: Path, whole: Path) -> None:

    def no_file_above(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    (tmp_path / "gups.json").write_text("old")
    arguments = [*COMMAND, "run", *WRITING, "--design", "sc64-bmt", *WINDOW, "-o", "gups.json"]
    length = whole.stat().st_size
    for size in (1000, length // 2, length - 1):
        ended = subprocess.run(
            arguments, cwd=tmp_path, capture_output=True, text=True, preexec_fn=partial(no_file_above, size)
        )
        said = [line for line in ended.stderr.splitlines() if "cannot write" in line]
        assert ended.returncode == 2, ended.stderr
        assert said == ["sc64-bmt: cannot write 'gups.json': File too large"], ended.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["gups.json"]
        assert (tmp_path / "gups.json").read_text() == "old"


def test_a_file_that_is_no_excerpt_is_refused_with_its_reason(casemate: Casemate, whole: Path, tmp_path: Path) -> None:
    good = whole.read_text()
    for content, expected in (
        ("not JSON", "'file' is no excerpt of Casemate's"),
        ('{"traceEvents": []}', "'file' is no excerpt of Casemate's"),
        (good[:-3], "'file' is no excerpt of Casemate's"),
        (good.replace('"version":1', '"version":2'), "version 2; this Casemate reads version 1"),
        (good.replace('"ph":"X"', '"ph":"Y"').replace('"ph":"i"', '"pk":"i"'), "'file' is damaged"),
    ):
        (tmp_path / "file").write_text(content)
        said = casemate("excerpt", "file")
        assert said.code == 2, content[:40]
        assert expected in said.err
        assert said.out == ""
    assert "cannot read 'missing': No such file" in casemate("excerpt", "missing").err


def test_simulated_times_are_parsed_exactly_or_refused() -> None:
    assert amounts.parse_window("20us:5us") == (20 * 10**9, 5 * 10**9)
    assert amounts.parse_window("0ns:0.625ns") == (0, 625_000)
    assert amounts.parse_simulated("1.5ms") == 15 * 10**11
    assert amounts.parse_simulated("250 ns") == 250 * 10**6
    with pytest.raises(ValueError, match="is not a whole number of femtoseconds"):
        amounts.parse_simulated("0.0000001ns")


def test_ctrl_c_keeps_the_window_until_then(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted(
        "run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "all", "--design", "none", "--json",
        "--trace-window", "5us:1us", "-o", "x.json",
    )  # fmt: skip
    assert said.code == 130
    assert json.loads(said.out)["interrupted"]
    assert Excerpt.read(tmp_path / "x.json").info().accesses > 0
