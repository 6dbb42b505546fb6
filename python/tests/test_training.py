"""Runs from which the compiler learns when the package is built by a profile (`make fast`)."""

import casemate
from training import RUNS


def test_each_training_run_names_what_there_is() -> None:
    machines, designs, workloads = (
        {item.name for item in items} for items in (casemate.machines(), casemate.designs(), casemate.workloads())
    )
    for machine, workload, _, chosen in RUNS:
        assert {machine} <= machines
        assert {workload} <= workloads
        assert set(chosen) <= designs
