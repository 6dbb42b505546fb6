"""`casemate run`, from the command line."""

import io
import json
import subprocess
import sys
from pathlib import Path

import casemate as cm
import jsonschema
import pytest
from casemate import CasemateError
from casemate.schemas import Record, RunResults
from casemate.tables import run_table
from casemate.terminal.progress import Instructions
from conftest import SMALL, Casemate, claimed
from rich.console import Console

COMMAND = (sys.executable, "-m", "casemate")


def printed(results: RunResults, check_values: bool) -> str:
    """Output of a run with these results."""
    console = Console(width=100, file=io.StringIO())
    console.print(run_table.run_table(results, check_values))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_run_shows_cost_and_protection_of_the_default_designs(casemate: Casemate) -> None:
    said = casemate("run", *SMALL)
    assert said.code == 0
    stopped = [f"{stopped} of {kinds}" for stopped, kinds in map(claimed, ("none", "sc64-bmt"))]
    for text in ("none", "sc64-bmt", "slowdown", "1.000x", *stopped, "no freshness", "passed"):
        assert text in said.out, text
    assert "the first 50,000 instructions (the program was stopped there)" in said.out
    assert max(len(line) for line in said.out.splitlines()) <= 100


def test_the_head_of_a_run_names_what_decides_its_figures(casemate: Casemate) -> None:
    designs = ("--design", "none", "--design", "sc64-bmt", "--design", "ctr-mac")
    run = ("run", "--workload", "gups", "--limit", "5K", "--no-attacks", *designs)
    said = casemate(*run).out.splitlines()
    assert "  pages in 2 MB blocks, prefetch stride (L1D), stream (L2); sc64-bmt: gmac 5 ns, caches 192.0 KB" in said
    assert "  ctr-mac: cmac 56 ns, caches 128.0 KB" in said
    changed = casemate(
        *run, "--with", "machine.memory.placement=scattered", "--with", "machine.engines.mac.latency_ns=7",
        "--with", "machine.node.l2.prefetcher=", "--with", "design.sc64-bmt.parts.caches.tags=32 KB",
    )  # fmt: skip
    head = "scattered pages, prefetch stride (L1D); sc64-bmt: gmac 7 ns, caches 160.0 KB\n  ctr-mac: cmac 56 ns"
    assert head in changed.out
    slow = casemate(*run, "--machine", "modern", "--machine", "cryptopage-2006")
    assert "cryptopage-2006: pages in 2 MB blocks, no prefetch" in slow.out


def test_the_baseline_is_the_design_none_in_any_order(casemate: Casemate) -> None:
    results = RunResults.model_validate_json(
        casemate("run", *SMALL, "--design", "sc64-bmt", "--design", "none", "--json").out
    )
    assert results.slowdown("none") == 1.0
    assert results.slowdown("sc64-bmt") > 1.0


def test_a_program_that_ends_is_reported_as_run_whole(casemate: Casemate) -> None:
    said = casemate(
        "run", "--workload", "gups", "--set", "footprint=64 KB", "--set", "updates=1000", "--design", "none"
    )
    assert "the whole program" in said.out


def test_json_is_one_object_that_fits_its_schema(casemate: Casemate) -> None:
    answer = casemate("run", *SMALL, "--json").json()
    jsonschema.validate(answer, casemate("schema", "run").json())
    assert [record["configuration"]["design"]["name"] for record in answer["records"]] == ["none", "sc64-bmt"]
    for record in answer["records"]:
        jsonschema.validate(record, casemate("schema", "result").json())


def test_the_same_seed_gives_the_same_record_except_for_the_host(casemate: Casemate) -> None:
    def records(seed: str) -> list[dict[str, object]]:
        answer = casemate("run", *SMALL, "--seed", seed, "--json").json()
        return [{key: value for key, value in record.items() if key != "host"} for record in answer["records"]]

    assert records("3") == records("3")
    assert records("3") != records("4")


def test_checked_values_are_counted_and_all_are_right(casemate: Casemate) -> None:
    answer = casemate("run", *SMALL, "--check-values", "--ledger", "--json").json()
    for record in answer["records"]:
        assert record["feed"]["load_values_checked"] > 1000
        assert record["feed"]["load_values_wrong"] == 0
        assert record["checks"]["pad_reused"] is False
    said = casemate("run", *SMALL, "--check-values")
    assert "load values compared" in said.out


def test_records_are_written_whole_one_per_design(casemate: Casemate, tmp_path: Path) -> None:
    said = casemate("run", *SMALL, "--output", "results", "--json")
    files = sorted((tmp_path / "results").iterdir())
    written = [Record.model_validate_json(file.read_bytes()) for file in files]
    assert [record.design for record in written] == ["none", "sc64-bmt"]
    assert [record.configuration_hash[:8] in file.name for record, file in zip(written, files, strict=True)] == [
        True
    ] * 2
    assert json.loads(files[0].read_text()) == said.json()["records"][0]


def test_a_folder_that_cannot_be_written_is_named(casemate: Casemate, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    said = casemate("run", *SMALL, "--output", "results/deeper")
    assert said.code == 2
    assert "results/deeper" in said.err


def test_a_design_file_of_the_user_runs_with_the_built_in_designs(casemate: Casemate, tmp_path: Path) -> None:
    repository = Path(__file__).resolve().parents[2]
    text = (repository / "designs" / "sc64-bmt.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace('name = "sc64-bmt"', 'name = "mine"').replace("56", "64"))
    said = casemate("run", *SMALL, "--design", "none", "--design", "mine.toml")
    assert said.code == 0
    assert "mine" in said.out
    assert "{} of {}".format(*claimed("sc64-bmt")) in said.out


def test_several_programs_run_at_once_on_separate_cores(casemate: Casemate) -> None:
    programs = ("--workload", "gups", "--workload", "bfs", "--copies", "2", "--limit", "20k")
    said = casemate("run", "--machine", "emcc-4core", *programs, "--design", "none", "--design", "sc64-bmt", "--json")
    assert said.code == 0
    for record in json.loads(said.out)["records"]:
        assert [core["instructions"] for core in record["cores"]] == [20_000] * 4
        others = [origin["program"][0] for origin in record["configuration"]["beside"]]
        assert [record["configuration"]["workload"]["program"][0], *others] == ["gups", "bfs", "gups", "bfs"]
        assert record["checks"]["passed"]


def test_a_warm_up_is_simulated_and_not_counted(casemate: Casemate) -> None:
    (whole, counted) = (
        casemate("run", *SMALL, "--design", "sc64-bmt", *more, "--json").json()["records"][0]
        for more in ((), ("--warm-up", "20K"))
    )
    assert (counted["configuration"]["warm_up"], whole["configuration"]["warm_up"]) == (20_000, 0)
    assert counted["event_hash"] == whole["event_hash"]
    assert counted["feed"]["instructions"] == whole["instructions"] == 50_000
    assert counted["instructions"] <= 30_000
    assert counted["dram_bytes"] < whole["dram_bytes"]
    said = casemate("run", *SMALL, "--design", "none", "--warm-up", "20K")
    assert "after a warm-up of 20,000" in said.out


def test_aged_counters_overflow_in_a_run_without_overflows_of_new_ones(casemate: Casemate) -> None:
    small = [f"--with=machine.{cache}.size=64 KB" for cache in ("llc", "node.l2")]
    run = ("run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "50K", "--design", "sc128-tree", *small)
    new, aged = (casemate(*run, "--age", age, "--json").json()["records"][0] for age in ("new", "steady"))
    assert [record["configuration"]["age"] for record in (new, aged)] == ["new", "steady"]
    assert new["renewals"]["groups"] == 0 < aged["renewals"]["groups"]
    assert aged["dram_bytes"] > new["dram_bytes"] + 64 * aged["renewals"]["lines"]
    assert aged["checks"]["passed"]
    said = casemate(*run, "--age", "steady")
    assert "counters of data at a moment of a long life" in said.out
    assert "groups renewed" in said.out


def test_the_table_shows_the_ipc_of_each_core_or_that_it_is_idle(casemate: Casemate) -> None:
    said = casemate("run", "--machine", "emcc-4core", *SMALL, "--design", "none")
    assert said.code == 0
    assert "IPC of each core" in said.out
    assert said.out.count("idle") == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run"], "expected one thing to run"),
        (["run", "--workload", "bfs", "--", "true"], "expected one thing to run"),
        (["run", "--copies", "2", "--", "true"], "record the program"),
        (["run", "--workload", "bfs", "--copies", "2"], "2 programs need 2 cores, and machine 'modern' has 1"),
        (["run", "--workload", "bsf"], "did you mean 'bfs'?"),
        (["run", "--workload", "bfs", "--set", "scal=9"], "did you mean scale?"),
        (["run", "--workload", "bfs", "--set", "scale"], "expected KEY=VALUE"),
        (["run", "--workload", "bfs", "--design", "sc64-btm"], "did you mean 'sc64-bmt'?"),
        (["run", "--workload", "bfs", "--machine", "moden"], "did you mean 'modern'?"),
        (["run", "--workload", "bfs", "--limit", "5X"], "expected a number such as"),
        (["run", "--workload", "bfs", "--limit", "5K", "--warm-up", "5K"], "the warm-up is 5000 of 5000 instructions"),
        (["run", "--workload", "bfs", "--warm-up", "1K", "--detail", "sampled"], "a sampled run has no warm-up"),
        (["run", "--workload", "bfs", "--age", "old"], "'old' is not one of 'new', 'steady'"),
        (["run", "--trace", "x.trace", "--set", "scale=9"], "--set is for built-in workloads"),
        (["run", "--workload", "bfs", "--copies", "0"], "0 is out of range: expected a whole number of at least 1"),
        (["run", "--workload", "bfs", "--skip", "5"], "--skip and --region are for programs that run now"),
        (["run", "--workload", "bfs", "--dezign", "none"], "--design"),
        (["run", "--trace", "missing.trace"], "missing.trace"),
        (["run", "--", "no-such-program"], "program 'no-such-program' not found"),
        (["run", "--workload", "bfs", "--limit", "0"], "limit is 0: expected 1 instruction or more"),
        (["run", "--", "no\udcffsuch"], "program 'no\N{REPLACEMENT CHARACTER}such' not found"),
        (["run", "--workload", "bfs", "--design", "no\udcffsuch.toml"], r"'no\xffsuch.toml' is not UTF-8"),
        (["rnu", "--workload", "bfs"], "did you mean 'run'?"),
    ],
)
def test_invalid_input_is_refused_with_the_nearest_valid_choice(
    casemate: Casemate, arguments: list[str], expected: str
) -> None:
    said = casemate(*arguments)
    assert said.code == 2
    assert expected in said.err
    assert said.out == ""


def test_more_programs_than_cores_are_refused_once_and_before_any_design_runs(casemate: Casemate) -> None:
    said = casemate("run", "--workload", "gups", "--copies", "2", "--design", "none", "--design", "xts")
    assert said.code == 2
    assert said.err == "casemate: 2 programs need 2 cores, and machine 'modern' has 1\n"


def test_a_workload_without_loads_is_reported_as_not_compared(casemate: Casemate) -> None:
    # It builds its graph first, which it only stores.
    said = casemate("run", "--workload", "bfs", "--design", "none", "--limit", "20K", "--check-values")
    assert "no load values were compared: the program executed no load in the part that was run; run more" in said.out
    assert said.code == 1
    assert "trace" not in said.out


def test_a_warm_up_as_long_as_the_run_is_refused(casemate: Casemate) -> None:
    said = casemate("run", "--workload", "gups", "--design", "none", "--limit", "100K", "--warm-up", "99999")
    assert said.code == 2
    assert "'gups' had no instructions left to count when its warm-up of 99999 instructions ended" in said.err
    assert "expected more than the warm-up's" not in said.err


@pytest.mark.parametrize("arguments", [["list", "designs"], ["list", "designs", "--json"]])
def test_results_that_cannot_be_written_are_one_error_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.stderr == "casemate: cannot write the results: No space left on device\n"
    assert ended.returncode == 2


def test_closed_standard_streams_are_treated_as_empty() -> None:
    words = ["sh", "-c", '"$@" <&- >&-', "sh", *COMMAND, "list", "designs"]
    ended = subprocess.run(words, stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_keeps_and_shows_the_run_until_then(interrupted: Casemate, tmp_path: Path) -> None:
    said = interrupted(
        "run", "--workload", "gups", "--set", "footprint=1 MB", "--limit", "all", "--output", "results", "--json"
    )
    assert said.code == 130
    results = RunResults.model_validate_json(said.out)
    first, second = results.records
    assert results.interrupted
    assert first.instructions == second.instructions > 0
    # The record says how to have the same run again.
    assert first.configuration.budget == first.instructions
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_an_interrupted_run_can_be_repeated_by_its_record(interrupted: Casemate, casemate: Casemate) -> None:
    workload = ("--workload", "gups", "--set", "footprint=1 MB", "--design", "none", "--json")
    (first,) = interrupted("run", *workload, "--limit", "all").json()["records"]
    (again,) = casemate("run", *workload, "--limit", str(first["instructions"])).json()["records"]
    assert again["configuration_hash"] == first["configuration_hash"]
    assert again["cycles"] == first["cycles"]


def test_programs_stopped_by_ctrl_c_are_compared_over_equal_instructions(interrupted: Casemate) -> None:
    programs = ("--workload", "gups", "--set", "footprint=8 MB", "--copies", "4", "--limit", "all")
    said = interrupted("run", "--machine", "emcc-4core", *programs, "--json")
    assert said.code == 130
    results = RunResults.model_validate_json(said.out)
    none, protected = results.records
    assert results.interrupted
    by_core = [[core.instructions for core in record.cores] for record in (none, protected)]
    assert by_core[0] == by_core[1]
    assert min(by_core[0]) > 0
    assert results.slowdown("sc64-bmt") > 1.0


def test_records_with_different_instruction_counts_are_not_compared(casemate: Casemate) -> None:
    answer = casemate("run", *SMALL, "--json").json()
    answer["records"][1]["feed"]["instructions"] -= 1
    results = RunResults.model_validate_json(json.dumps(answer))
    with pytest.raises(CasemateError, match="their results cannot be compared"):
        results.slowdown("sc64-bmt")
    shown = printed(results, check_values=False)
    assert "sc64-bmt executed 49,999 instructions and none 50,000: their results cannot be compared." in shown
    assert "1.000x" in shown
    assert next(line.split()[-2:] for line in shown.splitlines() if "slowdown" in line) == ["1.000x", "-"]


def test_load_differences_between_threads_are_a_warning_with_addresses(casemate: Casemate) -> None:
    answer = casemate("run", *SMALL, "--design", "none", "--check-values", "--json").json()
    (record,) = answer["records"]
    assert record["checks"]["load_values"]["verdict"] == "same"
    wrong = {"process": 0, "thread": 2, "pc": 0x401000, "address": 0x7000, "bytes": 8}
    record["checks"]["load_values"].update(different=7, threads=4, processes=1, first=[wrong], verdict="other-order")
    shown = printed(RunResults.model_validate_json(json.dumps(answer)), check_values=True)
    assert "none: 7 of " in shown
    assert "(4 threads in 1 process). Each is of a line that another thread" in " ".join(shown.split())
    assert "8 bytes at 0x7000, by the instruction at 0x401000 (process 0, thread 2)" in shown
    assert "FAILED" not in shown


def test_exit_code_json_and_python_report_the_same_result(casemate: Casemate) -> None:
    said = casemate("run", *SMALL, "--check-values", "--json")
    results = RunResults.model_validate_json(said.out)
    assert (said.code, said.json()["passed"], results.passed) == (0, True, True)
    assert [record.checks.passed for record in results.records] == [True, True]
    # A window that the run does not reach: one thing that fails, and all three say so.
    failed = casemate("run", *SMALL, "--design", "none", "--trace-window", "1s:1us", "-o", "x.json", "--json")
    assert (failed.code, failed.json()["passed"], len(failed.json()["failures"])) == (2, False, 1)
    assert len(failed.json()["records"]) == 1
    for command, key in ((("attack", "none", "--trials", "1"), "agrees"), (("crash", "none"), "agrees")):
        said = casemate(*command, "--json")
        assert (said.code == 0) == said.json()[key], command


def test_unknown_names_are_refused_before_a_run_is_announced(casemate: Casemate) -> None:
    for wrong in (("--design", "nope"), ("--machine", "nope"), ("--with", "machine.nope=1")):
        said = casemate("run", *SMALL, *wrong)
        assert said.code == 2
        assert "Running" not in said.err
    assert "Running" not in casemate("run", "--workload", "nope").err
    assert "Running gups on modern under none, sc64-bmt" in casemate("run", *SMALL).err


def test_names_are_not_truncated_in_a_pipe(casemate: Casemate) -> None:
    designs = ("sc64-bmt-speculative", "cryptopage-fixed", "scalable-sgx-like", "ctr-mac-version", "plp-pipelined")
    attacked = casemate("attack", *designs, "--trials", "1", "--row", "badram").out
    options = [word for design in designs for word in ("--design", design)]
    run = casemate("run", *SMALL, *options).out
    for said in (attacked, run, casemate("list").out):
        assert "…" not in said
        assert all(design in said.split() for design in designs)


def test_a_failed_check_shows_and_is_not_passed(casemate: Casemate) -> None:
    answer = casemate("run", *SMALL, "--design", "none", "--json").json()
    answer["records"][0]["checks"]["lines"]["lines_wrong"] = 1
    answer["records"][0]["checks"]["passed"] = answer["passed"] = False
    results = RunResults.model_validate_json(json.dumps(answer))
    assert not results.passed
    assert "FAILED" in printed(results, check_values=False)
    assert "FAILED" in repr(results)


def test_a_workload_larger_than_the_machine_is_refused_before_it_runs(casemate: Casemate, tmp_path: Path) -> None:
    machine = Path(__file__).resolve().parents[2] / "machines" / "modern.toml"
    (tmp_path / "small.toml").write_text(machine.read_text().replace('size = "4 GB"', 'size = "64 MB"'))
    said = casemate("run", "--machine", "small.toml", "--workload", "chase", "--set", "footprint=32 GB")
    assert said.code == 2
    assert "needs more memory than the machine's 64 MB: it touches 32768 MB" in " ".join(said.err.split())


def test_an_impossible_machine_is_refused_with_file_key_and_rule(casemate: Casemate, tmp_path: Path) -> None:
    machine = Path(__file__).resolve().parents[2] / "machines" / "modern.toml"
    for line, wrong, rule in (
        ("trc = 74", "trc = 73", "mine.toml: dram: trc must be at least tras + trp, but 73 < 74"),
        ("mshrs = 64", "mshrs = 0", "mine.toml: llc.mshrs is 0: expected 1 to 4096"),
        ("trcd = 22", "tRCD = 22", "did you mean 'trcd'?"),
    ):
        (tmp_path / "mine.toml").write_text(machine.read_text().replace(line, wrong))
        said = casemate("run", "--machine", "mine.toml", *SMALL)
        assert said.code == 2
        assert rule in " ".join(said.err.split())


def test_progress_without_a_terminal_has_a_total_and_an_expected_end() -> None:
    clock = iter(range(0, 1000, 10))
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("casemate.terminal.progress.time.monotonic", lambda: float(next(clock)))
        with Instructions(Console(file=said, width=200), ["none", "sc64-bmt"], None, "Running it") as progress:
            progress.report({"instructions": [2_000_000, 1_000_000], "of": 10_000_000})
            progress.report({"instructions": [4_000_000, 2_500_000], "of": 10_000_000})
    assert said.getvalue().splitlines() == [
        "Running it",
        "    10 s: instructions: none 2.0M of 10.0M, sc64-bmt 1.0M of 10.0M, about 2 min left",
        "    20 s: instructions: none 4.0M of 10.0M, sc64-bmt 2.5M of 10.0M, about 60 s left",
    ]


def test_the_length_of_a_trace_is_known_before_it_runs() -> None:
    progress: list[dict[str, object]] = []
    trace = cm.Trace(Path(__file__).resolve().parents[2] / "traces" / "gzip.trace")
    brief = cm.RunOptions(limit="20K", protection=False)
    cm.run(trace, designs="none", options=brief, progress=progress.append)
    cm.run([trace, trace], machine="emcc-4core", designs="none", options=brief, progress=progress.append)
    assert [progress[0]["of"], progress[-1]["of"]] == [20_000, 40_000]
    whole = cm.trace_info(trace.path).totals.instructions
    with pytest.raises(RuntimeError):
        cm.run(trace, designs="none", progress=lambda progress: check_total(progress, whole))


def check_total(progress: dict[str, object], whole: int) -> None:
    """Ends a run when it has reported its length."""
    assert progress["of"] == whole
    raise RuntimeError
