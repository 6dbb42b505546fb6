"""Notes above and below the table of a run, which state the limits of its figures."""

from conftest import SMALL, Casemate


def test_several_programs_are_named_and_a_note_says_that_cycles_do_not_add_up(casemate: Casemate) -> None:
    programs = ("--workload", "stream", "--workload", "gups", "--workload", "gups", "--limit", "20K")
    run = ("run", "--machine", "emcc-4core", *programs, "--design", "none")
    said, verbose = casemate(*run), casemate(*run, "--verbose")
    assert said.out.startswith("stream beside gups, 2 times on emcc-4core:")
    assert "do not add up to the slowdown" not in said.out
    assert "do not add up to the slowdown" in " ".join(verbose.out.split())
    alone = casemate("run", *SMALL, "--design", "none", "--verbose")
    assert alone.out.startswith("gups on modern:")
    assert "add up" not in alone.out


def test_a_table_of_several_machines_names_the_baseline_of_each_slowdown(casemate: Casemate) -> None:
    machines = ("--machine", "modern", "--machine", "modern-ddr5")
    several = casemate("run", *SMALL, *machines, "--design", "none", "--design", "xts")
    assert "Each slowdown is against the baseline on the same machine" in several.out
    one = casemate("run", *SMALL, *machines, "--design", "xts")
    assert "Each slowdown is against xts on modern." in one.out
    assert "Each slowdown" not in casemate("run", *SMALL, "--design", "none", "--design", "xts").out
