"""Causes of cycles: the columns of the table add up to slowdowns, and intervals to the run."""

import re
from collections.abc import Callable

import pytest
from casemate import BuiltIn, RunOptions, api
from casemate.schemas.run import RunResults
from conftest import Casemate


@pytest.fixture(scope="module")
def results() -> RunResults:
    options = RunOptions(limit="60K", interval="10K")
    return api.run(BuiltIn("gups"), designs=["none", "sc64-bmt", "ctr-mac"], options=options)


def test_the_slowdown_of_a_design_is_the_sum_of_its_causes(results: RunResults) -> None:
    for record in results.records:
        causes = results.by_cause(record)
        assert sum(causes.values()) == pytest.approx(results.slowdown(record.design), rel=0.01)
        assert all(share >= 0 for share in causes.values())
    assert sum(results.by_cause(results.records[0]).values()) == pytest.approx(1, rel=1e-9)


def test_only_protected_runs_have_slowdown_causes_of_metadata_and_engines(results: RunResults) -> None:
    unprotected, protected, _ = (results.by_cause(record) for record in results.records)
    assert all(unprotected[cause] == 0 < protected[cause] for cause in ("counter", "tree", "tag", "engine"))
    assert unprotected["data"] > 0.1


def test_the_waiting_cycles_of_intervals_add_up_to_those_of_the_run(results: RunResults) -> None:
    for record in results.records:
        assert record.intervals is not None
        for cause, cycles in record.core_time.by_cause().items():
            parts = [interval.core_time.by_cause()[cause] for interval in record.intervals]
            assert sum(parts) == pytest.approx(cycles, abs=0.01)


@pytest.mark.parametrize(
    ("machine", "workload", "designs", "largest_of"),
    [("modern", "gups", ("none", "sc64-bmt"), max), ("simplescalar-2005", "btree", ("ocb-tdes", "fvs-counter"), min)],
)
def test_printed_slowdown_causes_add_up_and_the_largest_cause_is_named(
    casemate: Casemate,
    machine: str,
    workload: str,
    designs: tuple[str, str],
    largest_of: Callable[..., str],
) -> None:
    of_designs = (word for design in designs for word in ("--design", design))
    how = ("--machine", machine, "--workload", workload, "--limit", "60K", "--verbose")
    lines = casemate("run", *how, *of_designs).out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip() == f"cycles, in % of {designs[0]}'s")
    rows = lines[start + 1 : next(number for number in range(start, len(lines)) if not lines[number].strip())]
    # A row has a share and a difference of the design, behind the share of the baseline if that has one.
    shares = {re.split("  +", row.strip())[0]: tuple(map(float, re.findall(r"[+-]?\d+\.\d", row)[-2:])) for row in rows}
    slowdown = float(re.findall(r"([\d.]+)x", next(line for line in lines if "slowdown" in line))[1])
    assert sum(share for share, _ in shares.values()) == pytest.approx(100 * slowdown, abs=1)
    assert sum(more for _, more in shares.values()) == pytest.approx(100 * slowdown - 100, abs=1)
    assert (slowdown < 1) == (largest_of is min)
    largest = largest_of(shares, key=lambda cause: shares[cause][1])
    assert next(line for line in lines if "mostly for" in line).split("  ")[-1].strip() == largest
