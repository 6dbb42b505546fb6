"""`casemate results`: questions to the rows of studies and to stored records, with answers computed by hand."""

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from casemate import api
from casemate.studies import identity, study_file, table
from casemate.studies.folder import ResultsFolder
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from conftest import Casemate, Said

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")
pytest.importorskip("distributed")

SMALL: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}}
SIZES = ("2 MB", "4 MB")
DESIGNS = ("none", "sc64-bmt")
USUAL = [
    "point", "program", "machine", "design", "changes", "seed", "instructions", "ipc", "read_latency_ns", "time_fs",
    "dram_bytes", "checks_passed",
]  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "STUDIES.md"


@pytest.fixture(scope="module")
def made(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with eight runs, an attack, a crash, and a run that failed."""
    path = tmp_path_factory.mktemp("made")
    api.record(["true"], path / "true.trace", limit=5_000)
    workers = Workers(scheduler=scheduler)
    runs = Study(programs=[SMALL], limit="20K", seeds=2, designs=DESIGNS, over={"machine.llc.size": SIZES})
    campaigns = Study(designs="none", attacks={"trials": 2, "row": "replay-data"}, crashes={"row": "power-loss"})
    failing = Study(programs=[{"trace": str(path / "true.trace")}], designs="none", warm_up=6_000)
    for study in (runs, campaigns, failing):
        sweep(study, path / "results", workers=workers)
    # A folder that keeps no study shows the points of all.
    (path / "results" / study_file.KEPT).unlink()
    return path / "results"


@pytest.fixture(scope="module")
def all_rows(made: Path) -> list[dict[str, Any]]:
    """The rows of the folder, as the tables have them."""
    return [row for path in table.written(made) for row in parquet.read_table(path).to_pylist()]


@pytest.fixture
def stored(made: Path, all_rows: list[dict[str, Any]], tmp_path: Path) -> list[dict[str, Any]]:
    """Copies the folder as `results`, and returns its rows."""
    shutil.copytree(made, tmp_path / "results")
    return all_rows


def rows(said: Said) -> list[dict[str, Any]]:
    """Returns the rows of `--json`."""
    assert said.code == 0, said.err
    return list(said.json()["rows"])


def test_runs_are_shown_with_the_usual_columns_and_failures_are_counted(casemate: Casemate, stored: Any) -> None:
    said = casemate("results", "results", "--json")
    assert [list(row) for row in rows(said)] == [USUAL] * 8
    jsonschema.validate(said.json(), casemate("schema", "results").json())
    assert re.search("1 points? failed: --failed shows", said.err)
    shown = casemate("results", "results")
    assert shown.code == 0
    assert shown.out.count("sc64-bmt") == 4
    assert "replay-data" not in shown.out


def test_a_condition_and_columns_select_what_the_tables_contain(casemate: Casemate, stored: Any) -> None:
    columns = ("design", "seed", "machine_llc_size_bytes", "ipc", "dram_bytes")
    where = "design <> 'none' AND machine_llc_size_bytes > 3e6 OR seed = 2 -- and a comment"
    question = ("results", "results", "--where", where, "--columns", ", ".join(columns))
    expected = [
        {name: row[name] for name in columns}
        for row in stored
        if row["kind"] == "run" and row["status"] == "done"
        if (row["design"] != "none" and row["machine_llc_size_bytes"] == 4 << 20) or row["seed"] == 2
    ]
    found = rows(casemate(*question, "--json"))
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert len(found) == 5
    text = casemate(*question, "--csv").out
    assert [
        {name: type(row[name])(value) for name, value in line.items()}
        for line, row in zip(csv.DictReader(io.StringIO(text)), found, strict=True)
    ] == found


@pytest.mark.parametrize(
    ("given", "column"),
    [
        ("machine.llc.ways", "machine_llc_ways"),
        ("design.parts.mac.tag_bits", "design_parts_mac_tag_bits"),
        ("design.claims.replay-data", "design_claims_replay_data"),
        ("machine.llc.size", "machine_llc_size_bytes"),
        ("reads.parts_ns.counter", "reads_parts_counter_ns"),
    ],
)
def test_a_column_may_be_named_like_its_key_or_field(given: str, column: str, casemate: Casemate, stored: Any) -> None:
    shown = rows(casemate("results", "results", "--columns", given, "--where", "design = 'sc64-bmt'", "--json"))
    assert {value for row in shown for value in row.values()} == {
        row[column] for row in stored if row["design"] == "sc64-bmt"
    }


def test_every_column_that_the_page_about_studies_names_exists(casemate: Casemate, stored: Any) -> None:
    columns = casemate("results", "results", "--list-columns").out.split()
    words = [word.strip("`.,:;()") for word in PAGE.read_text().split() if word.startswith("`")]
    named = {word for word in words if word.endswith(("_ns", "_bytes", "_fs", "_cycles"))}
    assert len(named) >= 2
    assert named <= set(columns)


def test_the_list_of_columns_has_each_column_of_the_tables_once(casemate: Casemate, stored: Any) -> None:
    listed = casemate("results", "results", "--list-columns").out.split()
    assert len(set(listed)) == len(listed)
    assert set(listed) == {name for row in stored for name in row}


def test_an_answer_in_sql_agrees_with_a_computation_by_hand(casemate: Casemate, stored: Any) -> None:
    question = "SELECT design, count(*) AS n, avg(ipc) AS ipc, max(seed) AS seed FROM runs GROUP BY 1 ORDER BY 1"
    runs = [row for row in stored if row["kind"] == "run" and row["status"] == "done"]
    by_design = {design: [row["ipc"] for row in runs if row["design"] == design] for design in DESIGNS}
    assert rows(casemate("results", "results", "--sql", question, "--json")) == [
        {"design": design, "n": 4, "ipc": pytest.approx(sum(values) / 4), "seed": 2}
        for design, values in by_design.items()
    ]
    counts = "SELECT (SELECT count(*) FROM attacks), (SELECT count(*) FROM crashes), (SELECT count(*) FROM failed)"
    assert casemate("results", "results", "--sql", counts, "--csv").out.splitlines()[1] == "1,1,1"


def test_an_answer_of_any_type_is_printed(casemate: Casemate, stored: Any) -> None:
    values = ["1.5", "[1, 2]", "DATE '2026-01-02'", "sum(time_fs) * 1000000", "'[/b]'", "NULL"]
    question = ", ".join(f"{value} AS v{number}" for number, value in enumerate(values))
    for form in ((), ("--json",), ("--csv",)):
        said = casemate("results", "results", "--sql", f"SELECT {question} FROM runs", *form)
        assert said.code == 0, said.err
        assert all(text in said.out for text in ("1.5", "2026-01-02", "[/b]"))


REFUSED = {
    "unknown column": (("--columns", "design,ipcc"), "there is no column 'ipcc' (did you mean 'ipc'?)"),
    "unknown column in a condition": (("--where", "ipcc > 1"), "wrong SQL: Binder Error: "),
    "unknown table": (("--sql", "SELECT 1 FROM run"), "wrong SQL: Catalog Error: "),
    "no SQL": (("--sql", "SELEC 1"), "wrong SQL: Parser Error: "),
    "a condition that closes": (("--where", "1 = 1) UNION (SELECT 1"), 'syntax error at or near ")"\n'),
    "two questions": (("--sql", "SELECT 1; SELECT 2"), "expected one SELECT"),
    "two questions in a condition": (("--where", "1 = 1; DROP VIEW runs"), "expected one SELECT"),
    "an empty condition": (("--where", " "), "the condition is empty: expected SQL, as in design = 'none'"),
    "an empty question": (("--sql", " -- comment"), "expected one SELECT"),
    "drop": (("--sql", "DROP VIEW runs"), "expected one SELECT"),
    "copy": (("--sql", "COPY (SELECT 1) TO 'stolen.csv'"), "expected one SELECT"),
    "insert": (("--sql", "INSERT INTO heads SELECT * FROM heads"), "expected one SELECT"),
    "a value that cannot be converted": (("--sql", "SELECT CAST(design AS INT) FROM runs"), "wrong SQL: Conversion"),
    "two answers": (("--failed", "--sql", "SELECT 1"), "--failed and --sql exclude each other"),
    "unknown record": (("--record", "zz"), "no point that is done has a hash that begins with 'zz'"),
    "version": (("--version", "0.0.9"), "has no results of version '0.0.9'"),
    "version with a quote": (("--version", "0' OR '1"), "has no results of version"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "error"), REFUSED.values(), ids=list(REFUSED))
def test_a_wrong_question_is_refused_and_changes_no_file(
    options: tuple[str, ...], error: str, casemate: Casemate, stored: Any
) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    said = casemate("results", "results", *options)
    assert said.code == 2
    assert error in said.err
    assert said.out == ""
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_a_failed_point_is_shown_with_its_error_and_command(casemate: Casemate, stored: Any) -> None:
    (row,) = rows(casemate("results", "results", "--failed", "--json"))
    (expected,) = (row for row in stored if row["status"] == "failed")
    assert row["error"] == expected["error"]
    assert "expected more than the warm-up's 6000" in row["error"]
    assert row["command"].startswith("casemate run --design none --machine modern --trace ")
    assert expected["point"].startswith(row["point"])
    assert rows(casemate("results", "results", "--failed", "--where", "seed > 1", "--json")) == []
    assert "points failed" not in casemate("results", "results", "--failed").err


def test_campaigns_are_shown_by_their_kind(casemate: Casemate, stored: Any) -> None:
    for kind, column in (("attack", "worst_replay_data"), ("crash", "worst_power_loss")):
        (row,) = rows(casemate("results", "results", "--kind", kind, "--json"))
        assert row["design"] == "none"
        assert row["agrees"] is True
        (row,) = rows(casemate("results", "results", "--kind", kind, "--columns", column, "--json"))
        assert row[column] == next(each[column] for each in stored if each["kind"] == kind)


def test_a_record_is_found_by_the_start_of_its_hash(casemate: Casemate, stored: Any) -> None:
    (row, *_) = (row for row in stored if row["kind"] == "run" and row["status"] == "done")
    said = casemate("results", "results", "--record", row["point"][:12])
    assert said.out.strip() == row["record"]
    assert said.json()["configuration"]["seed"] == row["seed"]
    ambiguous = casemate("results", "results", "--record", "")
    assert ambiguous.code != 0 or len(ambiguous.out.splitlines()) > 1


def test_a_start_of_several_hashes_is_refused(casemate: Casemate, tmp_path: Path) -> None:
    with ResultsFolder(tmp_path / "results") as found:
        for point in ("abc1", "abc2"):
            found.add(of_version("0.9.0", point))
    assert "2 points have a hash that begins with 'abc'" in casemate("results", "results", "--record", "abc").err
    assert casemate("results", "results", "--record", "abc2").out == "{}\n"


COLUMNS = ("results", "results", "--columns", "ipc")


def of_version(version: str, point: str, build: str = "", **more: Any) -> dict[str, Any]:
    """Returns a row of some version of Casemate."""
    return {
        "point": point, "kind": "run", "status": "done", "version": version, "build": build, "finished": "2026",
        "program": "gups", "machine": "modern", "design": "none", "seed": 1, "record": "{}", "ipc": 1.5, **more,
    }  # fmt: skip


def test_rows_of_another_version_are_shown_only_on_request(casemate: Casemate, tmp_path: Path) -> None:
    with ResultsFolder(tmp_path / "results") as found:
        found.add(of_version(identity.VERSION, "new", identity.BUILD, ipc=3.0))
        for point in ("old", "older"):
            found.add(of_version("0.0.9", point, "abc", ipc=0.5))
    said = casemate("results", "results", "--columns", "ipc", "--json")
    assert [row["ipc"] for row in rows(said)] == [3.0]
    assert "not shown: 2 of 0.0.9+abc (--version shows them)" in said.err
    said = casemate("results", "results", "--columns", "ipc", "--version", "0.0.9+abc", "--json")
    assert [row["ipc"] for row in rows(said)] == [0.5, 0.5]
    assert "not shown: 1 of" in said.err
    assert "0.0.9+abc" in casemate("results", "results", "--version", "0.0.9+abd").err, "the nearest version is named"
    counted = casemate("results", "results", "--sql", "SELECT count(*) FROM runs", "--csv")
    assert counted.out.splitlines()[1] == "1", "SQL has only the rows of one version"


def test_a_version_without_a_build_selects_this_build_or_the_last_one(casemate: Casemate, tmp_path: Path) -> None:
    with ResultsFolder(tmp_path / "results") as found:
        found.add(of_version(identity.VERSION, "own", identity.BUILD, ipc=1.0, finished="2025"))
        found.add(of_version(identity.VERSION, "other", "abc", ipc=2.0, finished="2026"))
        for finished, build in (("2024", "new"), ("2023", "old")):
            found.add(of_version("0.0.9", build, build, ipc=float(finished), finished=finished))

    def shown(version: str) -> list[Any]:
        return [row["ipc"] for row in rows(casemate(*COLUMNS, "--version", version, "--json"))]

    assert [shown(version) for version in (identity.VERSION, "0.0.9", "0.0.9+old")] == [[1.0], [2024.0], [2023.0]]
    assert "results of version 0.0.9+new, and this is" in casemate(*COLUMNS, "--version", "0.0.9").err
    assert casemate(*COLUMNS, "--version", "0.0").code == 2


def test_a_folder_of_only_an_old_version_is_shown_with_a_notice(casemate: Casemate, tmp_path: Path) -> None:
    with ResultsFolder(tmp_path / "results") as found:
        found.add(of_version("0.0.9", "old", finished="2025"))
        found.add(of_version("0.1.0", "newer", "abc", ipc=2.5, finished="2026"))
    said = casemate("results", "results", "--columns", "ipc", "--json")
    assert [row["ipc"] for row in rows(said)] == [2.5]
    assert "results of version 0.1.0+abc, and this is" in said.err


def test_records_that_runs_wrote_are_rows_as_well(casemate: Casemate) -> None:
    run = ("run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "20K", "--no-attacks")
    said = casemate(*run, "--design", "none", "--design", "sc64-bmt", "--output", "records", "--json")
    Path("records/more").mkdir()
    Path("records/more/notes.json").write_text("[1]")
    shown = casemate("results", "records", "--json")
    assert "notes.json' is no record of a run and left out" in shown.err
    assert {(row["design"], row["ipc"], row["time_fs"]) for row in rows(shown)} == {
        (record["configuration"]["design"]["name"], record["ipc"], record["time_fs"])
        for record in said.json()["records"]
    }
    (row,) = rows(casemate("results", "records", "--where", "design = 'none'", "--json"))
    record = casemate("results", "records", "--record", row["point"]).json()
    assert record == json.loads(next(Path("records").glob("*none*.json")).read_text())


@pytest.mark.parametrize("name", ["absent", "empty", "notes", "file"])
def test_a_folder_without_results_is_refused_with_what_is_expected(name: str, casemate: Casemate) -> None:
    Path("empty").mkdir()
    Path("notes").mkdir()
    Path("notes/a.json").write_text("{}")
    Path("file").write_text("")
    said = casemate("results", name)
    assert said.code == 2
    assert f"'{name}'" in said.err
    assert "expected the folder of `casemate sweep` or of `casemate run --output`" in said.err


@pytest.mark.parametrize("name", ["a [1]", "it's", "*"])
def test_a_results_folder_may_have_any_name(name: str, casemate: Casemate, stored: Any) -> None:
    Path("results").rename(name)
    assert len(rows(casemate("results", name, "--json"))) == 8


def damaged_rows(content: bytes) -> bytes:
    """Damages the rows of a table and keeps its end."""
    footer = int.from_bytes(content[-8:-4], "little") + 8
    return content[:4] + b"\xff" * (len(content) - footer - 4) + content[-footer:]


def damaged_end(content: bytes) -> bytes:
    """Damages the description of a table, at its end."""
    footer = int.from_bytes(content[-8:-4], "little") + 8
    return content[:-footer] + b"\xff" * (footer - 8) + content[-8:]


@pytest.mark.parametrize("damage", [damaged_rows, damaged_end])
def test_a_damaged_table_is_named_and_is_no_bug(
    damage: Callable[[bytes], bytes], casemate: Casemate, stored: Any
) -> None:
    path = min(Path("results").glob("*.parquet"))
    path.write_bytes(damage(path.read_bytes()))
    said = casemate("results", "results")
    assert said.code in (0, 2)
    assert path.name in said.err


def test_names_with_brackets_are_shown_as_they_are(casemate: Casemate, tmp_path: Path) -> None:
    with ResultsFolder(tmp_path / "results") as found:
        found.add(of_version(identity.VERSION, "first", identity.BUILD, program="sort [/tmp] [bold]x"))
    assert "sort [/tmp] [bold]x" in casemate("results", "results").out
