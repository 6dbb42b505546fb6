"""A wrong use of any command is one line with the expected use, and exits with 2. Every --json has a schema."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import casemate as casemate_package
import pytest
from casemate import built
from casemate.cli import main
from casemate.cli.commands import schema
from casemate.plots import timeline
from casemate.schemas.explain import AesBandwidth
from casemate.text.nearest import hint, hint_of_file
from command_tree import every_command
from conftest import Casemate

WRONG = [
    (("nix",), "unknown command 'nix'; there are: run, explain"),
    (("cost", "rtll"), "unknown command 'rtll' (did you mean 'rtl'?); there are: compare, engine, rtl, secpb"),
    (("run", "--desgin", "none"), "no option '--desgin' (did you mean '--design'?); see `casemate run --help`"),
    (("reproduce", "gcm", "--figure", "1"), "no option '--figure'; see `casemate reproduce gcm --help`"),
    (("cost", "rtl"), "expected FILE...; see `casemate cost rtl --help`"),
    (("cost", "rtl", "a.v"), "expected --top MODULE (The module on top); see `casemate cost rtl --help`"),
    (("cost", "engine", "8"), "got unexpected extra argument (8); see `casemate cost engine --help`"),
    (("cost", "engine", "--mul-bits", "9"), "--mul-bits: '9' is not one of '8', '16', '32', '64', '128' (did you"),
    (("cost", "engine", "--lanes", "17"), "--lanes: 17 is out of range: expected a whole number from 1 to 16 (did you"),
    (("cost", "engine", "--lanes", "x"), "--lanes: 'x' is not a whole number: expected one from 1 to 16\n"),
    (("cost", "engine", "--lanes", "2.2"), "is not a whole number: expected one from 1 to 16 (did you mean '2'?)"),
    (("cost", "engine", "--lanes", "1e400"), "is not a whole number: expected one from 1 to 16 (did you mean '16'?)"),
    (("cost", "engine", "--target", "5ns"), "'5ns' is not a number: expected one in NS (did you mean '5.0'?)"),
    (("cost", "secpb", "--entries", "many"), "--entries: 'many' is not a whole number: expected one, such as 8\n"),
    (("attack", "none", "--trials", "0"), "0 is out of range: expected a whole number from 1 to 1000000000000 (did"),
    (("cost", "engine", "--beside", "."), "--beside: '.' is a folder: expected a regular file"),
    (("cost", "rtl", "a.v", "--top", "a", "--param", "W"), "--param: 'W' sets no value: expected NAME=VALUE"),
    (("bench", "crypto", "--size", "many"), "--size: 'many' is not a whole number: expected one in BYTES\n"),
    (("bench", "crypto", "--size"), "option '--size' requires an argument"),
    (("run", "--limit", "x"), "--limit: 'x' is not a number of instructions: expected a number such as"),
    (("schema", "cost", "engine", "8"), "unknown schema 'cost engine 8' (did you mean 'cost engine'?); there are: run"),
    (("schema", "trace", "inof"), "unknown schema 'trace inof' (did you mean 'trace'?); there are: run"),
    (("explain",), "expected DESIGN; see `casemate explain --help`"),
    (("attack",), "expected designs, or --all for every built-in one"),
    (("attack", "xts", "--all"), "both designs (xts) and --all are given: expected one of them"),
    (("crash", "xts", "none", "--all"), "both designs (xts, none) and --all are given: expected one of them"),
    (("cost", "secpb", "--counted", "--operations"), "--counted goes with neither --operations nor --closed-form"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_command_line_is_a_one_line_error_with_the_expected_form(
    casemate: Casemate, arguments: tuple[str, ...], said: str
) -> None:
    refused = casemate(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("casemate: ")
    assert refused.err.count("\n") == 1
    assert said in refused.err


def test_a_group_without_a_command_shows_its_help(casemate: Casemate) -> None:
    said = casemate("cost")
    assert (said.code, said.out) == (2, "")
    assert "Examples:" in said.err


def test_the_hint_for_a_missing_file_has_the_same_extension_or_stem(tmp_path: Path) -> None:
    for name in ("sch.json", "core.v", "adder.sv", "include"):
        (tmp_path / name).touch()
    for wrong, expected in (
        ("nosuch.v", ""),
        ("cores.v", " (did you mean 'core.v'?)"),
        ("adder.v", " (did you mean 'adder.sv'?)"),
        ("includ", " (did you mean 'include'?)"),
    ):
        assert hint_of_file(tmp_path / wrong) == expected


def test_aes_bandwidth_is_printed_as_blocks_per_second() -> None:
    assert timeline.aes(AesBandwidth(total=4e9, controller=2.5e8, each_l2=None)) == (
        "peak AES throughput in blocks per second: 4.0G in all, 250.0M at the controller"
    )


def test_a_run_of_one_instruction_is_described_in_the_singular(casemate: Casemate) -> None:
    for limit, expected in (("1", "  the first instruction (the"), ("2", "  the first 2 instructions (the")):
        assert expected in casemate("run", "--workload", "gups", "--design", "none", "--limit", limit).out


@pytest.mark.parametrize("study", ["emcc", "fvs", "secpb", "gcm"])
def test_the_help_of_a_study_aligns_examples_and_lists_the_exit_codes_of_signals(
    casemate: Casemate, study: str
) -> None:
    lines = casemate("reproduce", study, "--help").out.splitlines()
    examples = [line.strip() for line in lines if line.startswith(f"    casemate reproduce {study}")]
    # Column of the explanations, after two blanks or more.
    columns = {re.match(r".*?\S {2,}(?=\S)", line).end() for line in examples}  # type: ignore[union-attr]
    assert (len(examples) >= 4, len(columns)) == (True, 1)
    assert all(code in "\n".join(lines).partition("Exit codes:")[2] for code in ("130 Ctrl-C", "143 SIGTERM"))


def test_the_help_of_attack_states_the_default_trials_with_a_time_budget(casemate: Casemate) -> None:
    assert "[default: 100; with --budget, as many as fit]" in " ".join(casemate("attack", "--help").out.split())


def test_the_hint_for_a_wrong_number_is_the_closest_valid_number() -> None:
    assert hint("100", ["8", "16", "128"]) == " (did you mean '128'?)"
    assert hint("20", ["8", "16", "128"]) == " (did you mean '16'?)"
    assert hint("hundred", ["8", "16"]) == ""
    assert hint("w", ["KeyBits", "W"]) == " (did you mean 'W'?)"
    assert hint("nan", []) == ""


def test_every_command_that_prints_json_has_a_schema_under_its_name() -> None:
    known = every_command(main.casemate, "casemate")
    printing = {
        words.removeprefix("casemate ") for words, each in known if any("--json" in one.opts for one in each.params)
    }
    assert {"run", "cost engine", "cost rtl", "reproduce gcm", "bench crypto"} <= printing
    for words in printing:
        assert schema.of(words)
    # Files of a run's records, and the output of other forms of a command.
    for kind in set(schema.KINDS) - {"result", "power loss", "sweep plan", "list settings"}:
        assert any(words == kind or words.startswith(f"{kind} ") for words in printing), kind


def test_the_package_runs_as_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "casemate", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith(f"casemate, version {casemate_package.__version__} (")
    assert built.in_words() in said.stdout


def test_each_build_has_a_name_in_words_and_only_released_ones_are_fast() -> None:
    assert [built.in_words(name) for name in ("release", "mine")] == ["released build", "build with the profile 'mine'"]
    assert {name: built.is_fast(name) for name in built.IN_WORDS} == {
        "release": True, "release-by-profile": True, "demo": False, "debug": False,
    }  # fmt: skip


def test_ctrl_c_while_the_command_is_being_loaded_ends_it_without_a_traceback() -> None:
    words = [sys.executable, "-X", "importtime", "-m", "casemate", "list", "designs"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        next(line for line in running.stderr if "casemate.starting" in line)
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
        assert running.wait() == 130
    assert "Traceback" not in rest
    assert rest.endswith("casemate: interrupted by Ctrl-C\n")


def test_importing_the_package_keeps_the_handler_of_ctrl_c() -> None:
    program = "import signal, casemate; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_a_group_whose_commands_print_alike_has_one_schema(casemate: Casemate) -> None:
    assert casemate("schema", "bench").json() == casemate("schema", "bench", "crypto").json()
    assert casemate("schema", "cost-engine").json() == casemate("schema", "cost", "engine").json()
    assert casemate("schema", "cost", "secpb").json() != casemate("schema", "cost", "engine").json()
