"""Runs from which the compiler learns when the package is built by a profile (`make fast`)."""

import casemate
from training import RUNS


def test_each_training_run_names_existing_machines_designs_and_workloads() -> None:
    machines, designs, workloads = (
        {item.name for item in items} for items in (casemate.machines(), casemate.designs(), casemate.workloads())
    )
    for machine, workload, _, chosen in RUNS:
        assert {machine} <= machines
        assert {workload} <= workloads
        assert set(chosen) <= designs
