"""Notes above and below the table of a run, which state the limits of its figures."""

import pytest
from casemate import CasemateError
from casemate.schemas import RunResults
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


def cost_rows(out: str, name: str) -> list[str]:
    """The cells of each row of a table that begins with this name, with the end of the row's name."""
    return [line.split(name, 1)[1].strip() for line in out.splitlines() if line.strip().startswith(name)]


@pytest.mark.parametrize(("design", "second"), [("sc64-bmt", "--design none"), ("none", "a second --design")])
def test_a_design_without_a_baseline_has_no_slowdown_and_a_note_says_why(
    casemate: Casemate, design: str, second: str
) -> None:
    run = ("run", *SMALL, "--no-attacks", "--design", design)
    said = casemate(*run).out
    assert cost_rows(said, "slowdown") == ["-"]
    assert "1.00" not in said
    assert f"No slowdown: {design} has no baseline. Add {second} to compare time and traffic." in said
    results = RunResults.model_validate_json(casemate(*run, "--json").out)
    assert f"{design} -; " in results.brief()
    with pytest.raises(CasemateError, match=f"{design} on modern has no baseline: expected a second design"):
        results.slowdown(design)


def test_the_rows_of_slowdown_and_traffic_name_their_baseline(casemate: Casemate) -> None:
    run = ("run", *SMALL, "--no-attacks")
    for options, baseline in (
        (("--design", "xts", "--design", "none"), "none"),
        (("--design", "xts", "--design", "sc64-bmt"), "xts"),
        (("--design", "xts", "--machine", "modern-ddr5", "--machine", "modern"), "modern-ddr5"),
    ):
        said = casemate(*run, *options).out
        (slowdown,), (traffic,) = cost_rows(said, f"slowdown over {baseline}"), cost_rows(said, f"over {baseline}")
        assert "1.000x" in slowdown.split()
        assert "1.00x" in traffic.split()
        assert "No slowdown" not in said
