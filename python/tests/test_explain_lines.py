"""The line that `casemate explain` shows: the median of many lines, of one design or two, or a named line."""

from pathlib import Path

import pytest
from casemate.laboratory.explaining import explain_together
from casemate.laboratory.requests import Read
from casemate.plots import timeline
from casemate.schemas.explain import Spread
from casemate.text.amounts import counted
from conftest import Casemate


def test_the_median_of_many_lines_is_drawn_with_the_percentiles_of_the_sample(
    casemate: Casemate, tmp_path: Path
) -> None:
    said = casemate("explain", "sc64-bmt", "--json").json()["explanations"][0]
    spread = said["spread"]
    assert spread["lines"] == 999
    order = [spread[name] for name in ("shortest_fs", "p5_fs", "p50_fs", "p95_fs", "longest_fs")]
    assert order == sorted(order)
    assert (said["latency_fs"], spread["typical"]) == (spread["p50_fs"], 999)
    text = casemate("explain", "sc64-bmt", "--svg", "read.svg").out
    p5, p50, p95 = (spread[name] / 1e6 for name in ("p5_fs", "p50_fs", "p95_fs"))
    percentiles = f"all 999 lines: 5th percentile {p5:.1f}, median {p50:.1f}, 95th percentile {p95:.1f} ns"
    assert f"the median of all 999 lines, at {said['address']:#x}" in text
    assert f"the access fetches {spread['clashes']} pair" in text
    assert percentiles in text
    assert percentiles in (tmp_path / "read.svg").read_text()
    other = casemate("explain", "sc64-bmt", "--seed", "2", "--json").json()["explanations"][0]
    assert other["address"] != said["address"]


def test_without_conflicts_explain_draws_the_fastest_kind_of_line(casemate: Casemate) -> None:
    median, fast = (
        casemate("explain", "sc64-bmt", *more, "--json").json()["explanations"][0] for more in ((), ("--no-conflict",))
    )
    assert fast["spread"]["p50_fs"] == median["latency_fs"] > fast["latency_fs"]
    assert fast["spread"]["clashes"] == 0 < fast["spread"]["typical"] < 999
    text = casemate("explain", "sc64-bmt", "--no-conflict").out
    lines = f"the median of the {fast['spread']['typical']} lines that fetch no two rows of one bank"
    assert f"{lines}, at {fast['address']:#x}" in text
    said = casemate("explain", "sc64-bmt", "--no-conflict", "--address", "64")
    assert (said.code, "with --address there is only one" in said.err) == (2, True)


def test_explain_compares_two_designs_on_one_line_and_at_their_medians(casemate: Casemate) -> None:
    ask = ("explain", "sc64-bmt", "--against", "ctr-mac-version")
    pair = casemate(*ask, "--json").json()["explanations"]
    assert pair[0]["address"] == pair[1]["address"]
    alone = [casemate("explain", each["design"], "--json").json()["explanations"][0] for each in pair]
    assert [each["spread"]["p50_fs"] for each in pair] == [each["latency_fs"] for each in alone]
    for each, single in zip(pair, alone, strict=True):
        assert each["latency_fs"] == pytest.approx(single["latency_fs"], rel=0.05), "the line is typical of both"
    text = casemate(*ask).out
    assert text.count(f"of all 999 lines, the nearest to the medians of both designs, at {pair[0]['address']:#x}") == 2
    medians = [each["latency_fs"] / 1e6 for each in alone]
    row = next(line for line in text.splitlines() if "median of all 999 lines  " in line).split()
    assert row[-2:] == [f"{medians[0] - medians[1]:+.1f}", "ns"]


def test_explain_with_an_address_describes_the_read_of_that_line(casemate: Casemate) -> None:
    median = casemate("explain", "sc64-bmt", "--json").json()["explanations"][0]
    ask = ("explain", "sc64-bmt", "--address", hex(median["address"] + 5))
    alone = casemate(*ask, "--json").json()["explanations"][0]
    assert (alone["spread"], alone["address"], alone["spans"]) == (None, median["address"], median["spans"])
    assert f"the line at {median['address']:#x}" in casemate(*ask).out


TWO_BANKS = {
    "machine.dram.organisation.bank_groups": 1, "machine.dram.organisation.banks_per_group": 2,
    "machine.memory.size": "256 MB",
}  # fmt: skip
"""Changes of a machine to two banks in each rank, so that each read with metadata meets two rows of one bank."""


def shown(
    designs: list[str], no_conflict: bool, changes: dict[str, object] | None = None
) -> list[tuple[Spread, list[str]]]:
    """Returns the spread under each design, with its lines of text."""
    access = Read(lines=99, no_conflict=no_conflict)
    found = explain_together(designs, access, changes=changes).explanations
    assert all(len(line) <= 100 for each in found for line in timeline.among(each, found))
    return [(each.spread, timeline.among(each, found)) for each in found if each.spread]


def test_a_line_under_three_designs_is_nearest_to_the_medians_of_all_designs() -> None:
    for designs, word in ((["sc64-bmt", "vault"], "both"), (["sc64-bmt", "vault", "none"], "all")):
        for _, (selected, *_) in shown(designs, no_conflict=False):
            assert f"of all 99 lines, the nearest to the medians of {word} designs, at 0x" in selected
        for spread, (selected, fetched, *_) in shown(designs, no_conflict=True):
            lines = f"of {spread.typical} lines, the nearest to the medians of these lines under {word} designs, at 0x"
            assert lines in selected
            assert fetched == f"each of these lines fetches no two rows of one bank, under {word} designs"


def test_if_each_line_has_conflicts_the_text_states_the_fewest_pairs() -> None:
    ((spread, text),) = shown(["ctr-mac"], no_conflict=True, changes=TWO_BANKS)
    assert (spread.clashes, 0 < spread.typical < 99) == (1, True)
    assert f"the median of the {spread.typical} lines that fetch only 1 pair of rows of one bank, at 0x" in text[0]
    assert text[2] == "the access fetches 1 pair of rows of one bank, so fetches wait for each other"


def test_lines_of_several_designs_are_selected_by_the_sum_of_their_pairs() -> None:
    found = shown(["ctr-mac-version", "vault", "none"], no_conflict=True, changes=TWO_BANKS)
    pairs = [spread.clashes for spread, _ in found]
    assert pairs[0] > pairs[2] == 0
    for spread, (_, fetched, _, *own) in found:
        assert (
            fetched
            == f"each of these lines fetches only {sum(pairs)} pairs of rows of one bank, added over all designs"
        )
        waits = f"the access fetches {counted(spread.clashes, 'pair')} of rows of one bank, so fetches wait for"
        assert own == ([f"{waits} each other"] if spread.clashes else [])
