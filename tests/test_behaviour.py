"""The comparison of scripts/behaviour.py: records that count as the same, and the report on those that differ."""

from __future__ import annotations

import pytest
from behaviour import compare, differences

BEFORE = {"cycles": 5, "cores": [{"loads": 1}, {"loads": 2}]}


def test_the_behaviour_comparison_reports_a_changed_figure_with_both_values() -> None:
    assert differences(BEFORE, {"cycles": 5, "cores": [{"loads": 1}, {"loads": 3}]}, False) == [
        "cores.1.loads: 2 before, 3 now"
    ]
    assert differences(BEFORE, BEFORE, False) == []


def test_a_removed_figure_differs_from_a_figure_without_a_value() -> None:
    assert differences({"ipc": None}, {}, False) == ["ipc: None before, missing now"]
    assert differences({}, {"ipc": None}, False) == ["ipc: missing before, None now"]


def test_the_behaviour_comparison_can_ignore_renamed_figures() -> None:
    renamed = {"clocks": 5, "cores": [{"reads": 1}, {"reads": 2}]}
    assert differences(BEFORE, renamed, True) == []
    assert differences(BEFORE, {**renamed, "clocks": 6}, True) == ["other values"]
    assert len(differences(BEFORE, renamed, False)) == 6


def test_the_behaviour_comparison_counts_added_and_removed_runs(capsys: pytest.CaptureFixture[str]) -> None:
    kept = {"run of btree, none": BEFORE, "run of btree, gone": BEFORE}
    assert compare(kept, iter([("run of btree, none", BEFORE), ("run of btree, new", {"cycles": 1})]), False) == 2
    said = capsys.readouterr().out
    for line in (
        "btree, none: the same",
        "btree, new: differs: cycles: missing before, 1 now",
        "btree, gone: missing now",
    ):
        assert line in said
