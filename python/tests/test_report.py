"""`casemate report` without a browser: its errors, its notices, and the escaping of names."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from casemate import report
from casemate.report import charts, measures, writing
from casemate.report.sampled import RATIOS
from casemate.reproduce import KEPT
from casemate.rows import needed
from casemate.schemas.run import RunResults
from casemate.studies.study import Study
from casemate.studies.sweep import Workers, sweep
from casemate.tables import run_details
from conftest import SMALL, Casemate
from report_pages import EVIL, data, figures, notices, renamed, reproduction, rows_of, write

pytest.importorskip("altair")
pytest.importorskip("vl_convert")
pytest.importorskip("distributed")

DESIGNS = ("none", "ctr-mac-version", "sc64-bmt")
PROGRAM: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}, "name": "gups"}
SCRIPT_LINES_MAX = 300


@pytest.fixture(scope="module")
def folder(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three designs with two seeds."""
    path = tmp_path_factory.mktemp("study")
    assert sweep(
        Study(programs=[PROGRAM], limit="10K", seeds=2, designs=DESIGNS), path, workers=Workers(scheduler=scheduler)
    ).complete
    return path


def test_a_page_has_each_row_once_with_the_columns_of_its_figures(casemate: Casemate, folder: Path) -> None:
    said = casemate("report", str(folder), "-o", "page.html")
    assert (said.code, said.out) == (0, "")
    assert "wrote page.html" in said.err
    content = data(Path("page.html"))
    assert content["tables"]["runs"]["length"] == 6
    assert len(content["tables"]["runs"]["columns"]) < 50
    used = {measure["name"] for figure in content["figures"] for measure in figure["measures"]}
    columns = set(content["tables"]["runs"]["columns"])
    assert used <= columns
    assert columns - used <= {"design", "program", "machine", "label", "seed", "setting"}


def test_a_page_refers_to_no_other_file_and_states_its_conditions(casemate: Casemate, folder: Path) -> None:
    casemate("report", str(folder), "-o", "page.html")
    text = Path("page.html").read_text()
    assert "src=" not in text.partition("<body>")[0]
    assert "<link" not in text
    assert "default-src 'none'" in text
    for figure in data(Path("page.html"))["figures"]:
        stated = " ".join(figure["conditions"])
        assert (
            "up to 10,000 instructions of each program; Casemate " in "; ".join(figure["conditions"])
            or "warm-up" in stated
        )
    assert data(Path("page.html"))["machines"] == {"modern": "modern, pages in 2 MB blocks"}


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ("page.csv", "'page.csv' would be a page of HTML: expected a name such as 'page.html'"),
        ("nowhere/page.html", "there is no folder 'nowhere'"),
        ("taken.html", "'taken.html' exists and is no report of Casemate"),
        ("folder.html", "it is a folder; expected the name of a file"),
    ],
)
def test_a_page_that_cannot_be_written_is_refused_before_the_results_are_read(
    casemate: Casemate, output: str, error: str
) -> None:
    Path("taken.html").write_text("<p>mine</p>")
    Path("folder.html").mkdir()
    said = casemate("report", "no-such-folder", "-o", output)
    assert (said.code, said.out) == (2, "")
    assert error in said.err
    assert said.err.count("\n") == 1
    assert Path("taken.html").read_text() == "<p>mine</p>"


def test_an_earlier_report_is_replaced(casemate: Casemate, folder: Path) -> None:
    for _ in range(2):
        assert casemate("report", str(folder), "-o", "page.html").code == 0


def test_a_folder_without_results_is_refused_in_one_line(casemate: Casemate) -> None:
    Path("empty").mkdir()
    for name, error in (("empty", "has no results"), ("missing", "there is no results folder")):
        said = casemate("report", name, "-o", "page.html")
        assert said.code == 2
        assert error in said.err
        assert said.err.count("\n") == 1
        assert not Path("page.html").exists()


@pytest.mark.parametrize("library", ["altair", "duckdb", "vl_convert"])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    casemate: Casemate, folder: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    said = casemate("report", str(folder), "-o", "page.html")
    assert said.code == 2
    assert (
        f"a report needs the library '{library}', which is not installed: run `scripts/setup.sh .venv report`"
        in said.err
    )


def test_an_installed_wheel_names_the_command_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert needed.SETUP.exists()
    monkeypatch.setattr(needed, "SETUP", tmp_path / "scripts/setup.sh")
    assert needed.REPORT.install == "run `pip install 'casemate[report]'`"


def test_names_are_text_in_the_page_and_in_its_script(casemate: Casemate, folder: Path, tmp_path: Path) -> None:
    write(tmp_path / EVIL.replace("/", "_"), renamed(rows_of(folder)))
    assert casemate("report", EVIL.replace("/", "_"), "-o", "page.html").code == 0

    class Tags(HTMLParser):
        """Counts the elements of a page."""

        def __init__(self) -> None:
            super().__init__()
            self.found: list[str] = []

        def handle_starttag(self, tag: str, attrs: Any) -> None:
            """Notes the name of an element."""
            self.found.append(tag)

    tags = Tags()
    tags.feed(Path("page.html").read_text())
    assert tags.found.count("script") == 3
    assert "b" not in tags.found
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    assert EVIL in columns["design"]["names"]
    assert columns["program"]["names"] == [EVIL]


def test_a_design_without_a_baseline_has_no_ratio(casemate: Casemate, folder: Path) -> None:
    said = casemate("report", str(folder), "-o", "page.html", "--where", "design = 'sc64-bmt'")
    assert said.code == 0
    assert "No run has a baseline" in notices(Path("page.html"))
    assert {"slowdown", "pareto"}.isdisjoint(figures(Path("page.html")))
    assert {"speed", "time", "reads"} <= set(figures(Path("page.html")))
    assert "slowdown" not in data(Path("page.html"))["tables"]["runs"]["columns"]


def test_a_run_without_its_baseline_has_no_ratio(casemate: Casemate, folder: Path, tmp_path: Path) -> None:
    rows = [row for row in rows_of(folder) if not (row["design"] == "none" and row["seed"] == 2)]
    write(tmp_path / "some", rows)
    assert casemate("report", "some", "-o", "page.html").code == 0
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    known = zip(columns["seed"], columns["slowdown"], strict=True)
    assert {(seed, value is None) for seed, value in known} == {(1, False), (2, True)}


def test_a_run_with_two_possible_baselines_has_no_ratio(casemate: Casemate, folder: Path, tmp_path: Path) -> None:
    rows = rows_of(folder)
    write(tmp_path / "some", [*rows, *(row for row in rows if row["design"] == "none" and row["seed"] == 2)])
    assert casemate("report", "some", "-o", "page.html").code == 0
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    known = zip(columns["seed"], columns["slowdown"], strict=True)
    assert {(seed, value is None) for seed, value in known} == {(1, False), (2, True)}
    assert "4 runs without a ratio" in notices(Path("page.html"))


def test_one_run_makes_a_page(casemate: Casemate) -> None:
    assert casemate("run", *SMALL, "--design", "sc64-bmt", "--no-attacks", "--output", "records").code == 0
    assert casemate("report", "records", "-o", "page.html").code == 0
    assert data(Path("page.html"))["tables"]["runs"]["length"] == 1
    assert "speed" in figures(Path("page.html"))


def test_a_run_writes_its_page_with_the_attacks_that_it_tried(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--design", "none", "--design", "sc64-bmt", "--report", "page.html", "--json")
    assert said.code == 0
    results = RunResults.model_validate_json(said.out)
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    assert columns["design"]["names"] == ["none", "sc64-bmt"]
    assert columns["slowdown"] == [1.0, pytest.approx(results.slowdown("sc64-bmt"))]
    stopped = [100 * each.stopped / each.applicable for each in results.protection]
    assert columns["protection"] == pytest.approx(stopped)


def test_the_page_of_a_recorded_program_states_the_instructions_that_it_executed(casemate: Casemate) -> None:
    words = ("--design", "none", "--limit", "40K", "--warm-up", "10K", "--report", "page.html", "--json")
    said = casemate("run", *words, "--", "/bin/true")
    (record,) = said.json()["records"]
    stated = "; ".join(data(Path("page.html"))["figures"][0]["conditions"])
    assert f"{record['feed']['instructions']:,} instructions executed; 10,000 of these as warm-up" in stated


def test_a_condition_that_no_run_meets_is_refused_with_the_names_that_there_are(
    casemate: Casemate, folder: Path
) -> None:
    said = casemate("report", str(folder), "-o", "page.html", "--where", "program = 'gup'")
    assert said.code == 2
    assert "meets the condition program = 'gup': program is 'gups'; design is 'ctr-mac-version' or 'none'" in said.err
    assert not Path("page.html").exists()


def test_conditions_and_notices_are_those_of_the_selected_runs(
    casemate: Casemate, folder: Path, tmp_path: Path
) -> None:
    rows = rows_of(folder)
    other = [row | {"budget": 77_000, "machine": "other", "warm_up": 1_000} for row in rows]
    rows[0] |= {"checks_passed": False}
    write(tmp_path / "some", [*rows, *other])
    assert casemate("report", "some", "-o", "page.html", "--where", "machine = 'modern'").code == 0
    content = data(Path("page.html"))
    assert content["machines"] == {"modern": "modern, pages in 2 MB blocks"}
    for figure in content["figures"]:
        assert figure["conditions"][0] == "up to 10,000 instructions of each program"
        assert "warm-up" not in "; ".join(figure["conditions"])
    assert "1 run left out: a check of the run failed" in notices(Path("page.html"))
    assert casemate("report", "some", "-o", "page.html", "--where", "machine = 'other'").code == 0
    assert "a check" not in notices(Path("page.html"))
    stated = data(Path("page.html"))["figures"][0]["conditions"]
    assert stated[:2] == ["up to 77,000 instructions of each program", "1,000 of these as warm-up"]


def test_a_condition_also_selects_the_designs_of_campaigns(casemate: Casemate, scheduler: str, tmp_path: Path) -> None:
    study = Study(programs=[PROGRAM], limit="10K", designs=DESIGNS, attacks={"trials": 1, "row": "replay-data"})
    assert sweep(study, tmp_path / "study", workers=Workers(scheduler=scheduler)).complete
    assert casemate("report", "study", "-o", "page.html", "--where", "design <> 'none'").code == 0
    tables = data(Path("page.html"))["tables"]
    for name in ("runs", "attacks"):
        assert sorted(tables[name]["columns"]["design"]["names"]) == ["ctr-mac-version", "sc64-bmt"]


def test_a_file_that_is_left_out_is_named_on_the_terminal(casemate: Casemate) -> None:
    assert casemate("run", *SMALL, "--design", "none", "--no-attacks", "--output", "records").code == 0
    Path("records/other.json").write_text("{}")
    said = casemate("report", "records", "-o", "page.html")
    assert said.err == "'records/other.json' is no record of a run and left out\nwrote page.html\n"
    assert "records/other.json&#x27; is no record" in notices(Path("page.html"))


def test_each_part_of_a_sum_has_one_colour() -> None:
    parts = [*measures.TIME_CAUSES, *measures.READ_CAUSES, *measures.KINDS]
    assert charts.PART_COLOURS.keys() == set(parts)
    for causes in (measures.TIME_CAUSES, measures.READ_CAUSES, measures.KINDS):
        assert len({charts.PART_COLOURS[cause] for cause in causes}) == len(causes)


def test_a_page_and_the_terminal_have_the_same_names_for_causes_of_reads() -> None:
    on_the_terminal = {field: name for name, field in run_details.PARTS}
    for name, (first, *_) in measures.READ_CAUSES.items():
        assert on_the_terminal[first] == name


def test_the_page_of_an_interrupted_run_says_so(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--design", "none", "--no-attacks", "--json")
    results = RunResults.model_validate_json(said.out)
    writing.write_run(results.model_copy(update={"interrupted": True}), Path("page.html"))
    assert "The run was interrupted" in notices(Path("page.html"))
    writing.write_run(results, Path("page.html"))
    assert "interrupted" not in notices(Path("page.html"))


def test_a_run_refuses_a_page_that_it_could_not_write_before_it_begins(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--report", "page.txt", "--output", "records")
    assert said.code == 2
    assert said.err == "casemate: 'page.txt' would be a page of HTML: expected a name such as 'page.html'\n"
    assert not Path("records").exists()
    said = casemate("run", *SMALL, "--power-loss", "random", "--report", "page.html")
    assert said.code == 2
    assert "--report is for runs without a loss of power" in said.err


def test_a_sampled_run_has_the_interval_of_its_units(casemate: Casemate) -> None:
    said = casemate(
        "run", "--workload", "gups", "--limit", "1M", "--detail", "sampled", "--design", "none", "--design", "sc64-bmt",
        "--no-attacks", "--report", "page.html", "--json",
    )  # fmt: skip
    assert said.code == 0
    results = RunResults.model_validate_json(said.out)
    columns = data(Path("page.html"))["tables"]["runs"]["columns"]
    for measure, figure in RATIOS.items():
        found = results.interval("sc64-bmt", figure)
        assert found
        assert columns[measure][1] == pytest.approx(found.value)
        assert columns[f"{measure}_half"][1] == pytest.approx((found.high - found.low) / 2, rel=1e-5)


def test_a_reproduction_shows_the_paper_next_to_ours_with_each_trend(
    casemate: Casemate, folder: Path, tmp_path: Path
) -> None:
    write(tmp_path / "paper", rows_of(folder))
    (tmp_path / "paper" / KEPT).write_text(reproduction().to_json())
    assert casemate("report", "paper", "-o", "page.html").code == 0
    content = data(Path("page.html"))
    assert figures(Path("page.html")) == ["trends", "paper-0"]
    rows = content["tables"]["paper"]["columns"]
    assert rows["case"]["names"] == ["gups", "mean of all"]
    assert rows["paper"] == [None, None, 1.25, None]
    assert (rows["value"], rows["low"], rows["high"]) == ([1.5, 2.0] * 2, [1.25, 1.5] * 2, [1.75, 2.5] * 2)
    assert content["tables"]["trends"]["columns"]["verdict"]["names"] == ["fails"]
    assert "Shorter." in notices(Path("page.html"))
    assert "gcc is left out" in notices(Path("page.html"))


def test_the_script_of_the_page_is_short() -> None:
    script = Path(report.__file__).with_name("report.js").read_text()
    assert script.count("\n") <= SCRIPT_LINES_MAX


def test_failed_points_and_failed_checks_are_counted_and_not_drawn(
    casemate: Casemate, folder: Path, tmp_path: Path
) -> None:
    rows = rows_of(folder)
    rows[0] |= {"status": "failed", "error": "the worker died"}
    rows[1] |= {"checks_passed": False}
    write(tmp_path / "some", rows)
    assert casemate("report", "some", "-o", "page.html").code == 0
    assert "1 point failed and appear" in notices(Path("page.html"))
    assert "1 run left out: a check of the run failed" in notices(Path("page.html"))
    assert data(Path("page.html"))["tables"]["runs"]["length"] == 4


def test_rows_of_another_build_are_named_and_left_out(casemate: Casemate, folder: Path, tmp_path: Path) -> None:
    rows = rows_of(folder)
    write(tmp_path / "some", [*rows, *(row | {"build": "0123", "ipc": 99.0} for row in rows)])
    assert casemate("report", "some", "-o", "page.html").code == 0
    assert "not shown: 6 of" in notices(Path("page.html"))
    assert max(data(Path("page.html"))["tables"]["runs"]["columns"]["ipc"]) < 10


def test_an_earlier_form_of_the_study_is_named_and_left_out(
    casemate: Casemate, folder: Path, tmp_path: Path, scheduler: str
) -> None:
    for limit in ("5K", "6K"):
        sweep(
            Study(programs=[PROGRAM], limit=limit, designs="none"),
            tmp_path / "some",
            workers=Workers(scheduler=scheduler),
        )
    assert casemate("report", "some", "-o", "page.html").code == 0
    assert "1 row of earlier forms of the study not shown" in notices(Path("page.html"))
    assert casemate("report", "some", "--all", "-o", "all.html").code == 0
    assert data(Path("all.html"))["tables"]["runs"]["length"] == 2


def test_ten_thousand_runs_become_means_over_the_seeds(casemate: Casemate, folder: Path, tmp_path: Path) -> None:
    (none, *_) = (row for row in rows_of(folder) if row["design"] == "none")
    (other, *_) = (row for row in rows_of(folder) if row["design"] == "sc64-bmt")
    slim = [{name: value for name, value in row.items() if name != "record"} for row in (none, other)]
    rows = [
        row | {"seed": seed, "program": f"program {program}", "time_fs": row["time_fs"] + 1000 * seed}
        for row in slim
        for program in range(50)
        for seed in range(1, 101)
    ]
    write(tmp_path / "many", rows)
    assert casemate("report", "many", "-o", "page.html").code == 0
    assert "10,000 runs: the page has 100 rows" in notices(Path("page.html"))
    assert data(Path("page.html"))["tables"]["runs"]["length"] == 100
    assert json.dumps(data(Path("page.html"))["tables"]["runs"]["columns"]["slowdown_half"]) != "null"
