"""Behaviour of the scripts that check the hardware (dv/, formal/) as commands, without a simulation or a proof: their
refusals, their ends, and that they leave no process behind.
"""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import command
import pytest
import run
import simulation
from casemate.terminal import progress

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 30.0

# Starts a program that starts another one in a separate group, as SymbiYosys does; `pid` is the number of the latter.
WORK = """
import subprocess, sys
sys.path.insert(0, {dv!r})
import command
INNER = '''
import os, subprocess, sys
inner = subprocess.Popen(["sleep", "60"], preexec_fn=os.setpgrp)
open("new", "w").write(str(inner.pid))
os.rename("new", "pid")
inner.wait()
'''
def work():
    with command.started([sys.executable, "-c", INNER]) as process:
        while not {printing} or process.poll() is None:
            if {printing}:
                print("a line")
            else:
                process.wait()
command.carry_out("check.py", work)
"""


def script(folder: str, name: str) -> Any:
    """A script in a folder with its modules."""
    path = str(ROOT / folder)
    if path not in sys.path:
        sys.path.insert(0, path)
    return importlib.import_module(name)


def at_work(folder: Path, printing: bool) -> tuple[subprocess.Popen[str], int]:
    """A script that has begun its work, and the process that it must not leave behind."""
    text = WORK.format(dv=str(ROOT / "dv"), printing=printing)
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests may run in the background of a shell or under nohup, which ignore some.
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in command.SIGNALS],
    )
    until = time.monotonic() + PATIENCE_SECONDS
    while not (folder / "pid").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return process, int((folder / "pid").read_text())


def runs(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]
)
def test_a_signal_ends_a_script_with_one_line_and_all_that_it_started(
    tmp_path: Path, number: signal.Signals, said: str
) -> None:
    process, inner = at_work(tmp_path, printing=False)
    assert runs(inner)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 128 + number
    assert errors == f"check.py: interrupted by {said}\n"
    assert not runs(inner)


def test_a_closed_pipe_ends_a_script_quietly_and_not_as_a_failed_check(tmp_path: Path) -> None:
    process, inner = at_work(tmp_path, printing=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=PATIENCE_SECONDS) == 128 + signal.SIGPIPE
    assert process.stderr.read() == ""
    process.stderr.close()
    assert not runs(inner)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (command.UnusableError("no such point"), "no such point"),
        (ModuleNotFoundError("No module", name="cocotb"), "the Python package 'cocotb' is missing: run `make build`"),
        (OSError(28, "No space left on device", "log.txt"), "cannot use 'log.txt': No space left on device"),
    ],
)
def test_a_usage_error_of_a_hardware_script_is_one_line_with_exit_code_2(
    capsys: pytest.CaptureFixture[str], error: Exception, said: str
) -> None:
    with pytest.raises(SystemExit) as ended, command.ending("check.py"):
        raise error
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith(f"check.py: {said}")
    assert line.count("\n") == 1


def test_a_missing_compiler_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(command.UnusableError, match=r"'no-such-compiler' is missing: .*scripts/setup\.sh \.venv hw"):
        command.run(["no-such-compiler", "-c"])


@pytest.mark.parametrize(
    ("folder", "name", "words", "said"),
    [
        ("dv", "run", ["--points", "aes128w16"], "run.py: argument --points: there is no 'aes128w16' (did you mean"),
        ("dv", "run", ["--points", "nope"], "there is no 'nope': expected one of aes128-w16, "),
        ("dv", "run", ["--bench", "lanebench"], "there is no 'lanebench' (did you mean 'lane_bench'?)"),
        ("dv", "run", ["--lines", "7"], "run.py: --lines 7: expected 1000 or more"),
        ("formal", "prove", ["--only", "gcm_lan"], "prove.py: argument --only: there is no 'gcm_lan' (did you mean"),
        ("formal", "prove", ["--only", "xyz"], "there is no 'xyz': expected one of aes_sbox_equal, "),
        ("formal", "prove", ["--long", "--seed", "1"], "prove.py: --seed goes without --long"),
        ("dv/faults", "inject", ["--point", "iteratd"], "inject.py: argument --point: there is no 'iteratd' (did you"),
        ("dv/faults", "inject", ["--history", "nope"], "there is no 'nope': expected one of alone, "),
    ],
)
def test_an_invalid_hardware_script_request_is_a_one_line_error_with_a_hint(
    capsys: pytest.CaptureFixture[str], folder: str, name: str, words: list[str], said: str
) -> None:
    module = script(folder, name)
    with pytest.raises(SystemExit) as refused:
        (module.arguments if name == "run" else module.parse)(words)
    assert refused.value.code == 2
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


def test_an_unknown_test_is_refused_before_a_bench_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"block_bench": ["block_tests.products_are_right/width=8"], "lane_bench": ["lane_tests.lines_follow"]}
    built: list[str] = []
    monkeypatch.setattr(run, "need", lambda *programs: None)
    monkeypatch.setattr(simulation.Bench, "tests", lambda bench: names[bench.top])
    monkeypatch.setattr(simulation.Bench, "build", lambda bench: built.append(bench.top))
    monkeypatch.setattr(sys, "argv", ["run.py", "--test", "zzzz"])
    with pytest.raises(
        command.UnusableError, match=r"--test zzzz: no test's name matches; tests are in dv/block_tests"
    ):
        run.main()
    assert not built
    benches = [simulation.Bench(top) for top in names]
    assert [bench.top for bench in run.matching(benches, "products.*width=8")] == ["block_bench"]


def test_the_tests_of_a_bench_are_those_that_cocotb_finds() -> None:
    pytest.importorskip("cocotb")
    names = simulation.Bench("block_bench").tests()
    assert "block_tests.a_product_that_is_wiped_leaves_the_next_right/width=8" in names
    assert len(names) == len(set(names))


def test_a_step_without_a_progress_bar_prints_its_progress(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES_SECONDS", 0.0)
    with command.step("iterated", "build") as steps:
        assert "iterated: 0 %, build" in capsys.readouterr().err
        steps.report({"done": 3, "of": 4, "about": "hash-after"})
        assert "iterated: 75 %, hash-after" in capsys.readouterr().err


def test_all_proofs_run_and_with_a_seed_a_twelfth_of_the_rtl_mutations(tmp_path: Path) -> None:
    prove = script("formal", "prove")

    def names(*words: str) -> list[str]:
        return [name for name, _ in prove.checks(prove.parse(list(words)), tmp_path)]

    proofs = len(prove.PROOFS) + len(prove.WIDTHS)
    assert len(names()) == proofs + len(prove.BREAKAGES)
    seeds = [names("--seed", str(seed)) for seed in range(prove.ONE_OF)]
    assert sum(len(each) - proofs for each in seeds) == len(prove.BREAKAGES)
    assert {len(each) - proofs for each in seeds} <= {len(prove.BREAKAGES) // prove.ONE_OF + more for more in (0, 1)}
    assert set(names("--only", "gcm_lane")) == {"gcm_lane"}
    assert names("--only", "multiplier") == ["multiplier"] * len(prove.WIDTHS)


def test_a_proof_is_announced_before_it_is_carried_out(capsys: pytest.CaptureFixture[str]) -> None:
    announced: list[str] = []

    def check() -> tuple[bool, str]:
        announced.append(capsys.readouterr().err)
        return False, "gcm_lane fails at a_bit"

    assert not script("formal", "prove").carried_out([("gcm_lane", check)])
    assert announced == ["1 of 1: gcm_lane ...\n"]
    assert capsys.readouterr().out.startswith("FAIL")


def test_an_aborted_proof_reports_its_error() -> None:
    prove = script("formal", "prove")
    # Error of SymbiYosys for a file with a letter missing in its last line.
    said = """\
SBY  4:42:20 [/tmp/x/proof] base: gcm_router.sv:124: ERROR: expected a declaration name
SBY  4:42:20 [/tmp/x/proof] base: Build failed: 1 error, 0 warnings
SBY  4:42:20 [/tmp/x/proof] base: ERROR: Design elaboration failed; see full log for details
SBY  4:42:20 [/tmp/x/proof] base: task failed. ERROR.
SBY  4:42:20 [/tmp/x/proof] DONE (ERROR, rc=16)
"""
    assert str(prove.ending(16, said)) == "breaks off: base: gcm_router.sv:124: ERROR: expected a declaration name"
    assert str(prove.ending(1, "Traceback\nOSError: no room\n")) == "breaks off: OSError: no room"
    assert not prove.ending(1, "").holds
    failed = "SBY  4:42:20 [proof] base: ##  Assert failed in gcm_lane: failed assertion top.u.a_bit at file.sv:3\n"
    assert prove.ending(2, failed).failed == ("a_bit",)
    assert prove.ending(0, said).holds


def test_an_rtl_mutation_without_its_text_in_the_source_is_an_error(tmp_path: Path) -> None:
    prove = script("formal", "prove")
    with pytest.raises(command.UnusableError, match=r"gcm_lane\.sv has 'no such text' 0 times"):
        prove.copy_with(prove.Change("gcm_lane", "gcm_lane.sv", "no such text", ""), tmp_path)


def test_provers_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    prove = script("formal", "prove")
    monkeypatch.setattr(prove, "TOOLS", ("no-such-solver",))
    monkeypatch.setattr(prove, "PACKAGES", ("no_such_yosys",))
    with pytest.raises(command.UnusableError, match=r"no-such-solver, the Python package no_such_yosys not found in"):
        prove.need()


def test_yosys_is_found_in_folders_with_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prove = script("formal", "prove")
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    (folder / "yosys.py").write_text("import sys\nprint(sys.argv[1:])\n")
    monkeypatch.setattr(prove.sys, "executable", str(folder / "python"))
    monkeypatch.setattr(prove, "HERE", folder)
    _, yosys = prove.environment(folder)
    assert command.run([yosys, "-ql", "a log"]).stdout == "['-ql', 'a log']\n"


def test_a_lane_of_one_round_is_named_in_the_singular() -> None:
    point = script("dv/faults", "lane_model").Point
    assert [point(128, rounds).name.split(", ")[1] for rounds in (0, 1, 2)] == [
        "pipelined",
        "1 round a cycle",
        "2 rounds a cycle",
    ]
