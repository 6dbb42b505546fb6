"""`casemate explain --of store --meets`: the states of the persist buffer at a store."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from casemate import Store, explain
from casemate.plots.timeline_rows import MOST_ALIKE, rows
from casemate.schemas.explain import Explanation, Span
from conftest import Casemate

LINE = 0x12345640


def store(design: str, **chosen: Any) -> Explanation:
    return explain(design, Store(address=LINE, on_chip="all", **chosen))


def test_an_explained_store_allocates_a_new_entry_by_default(casemate: Casemate) -> None:
    ask = ("explain", "secpb-cm", "--of", "store", "--address", hex(LINE), "--json")
    usual, chosen = casemate(*ask).json(), casemate(*ask, "--meets", "new-entry").json()
    assert usual == chosen
    jsonschema.validate(chosen, casemate("schema", "explain").json())
    assert chosen["explanations"][0]["scenario"]["meets"] == "new-entry"
    assert casemate("explain", "secpb-cm", "--json").json()["explanations"][0]["scenario"]["meets"] is None


@pytest.mark.parametrize("design", ["secpb-obcm", "secpb-bcm", "secpb-cm", "secpb-m", "secpb-nogap"])
def test_an_explained_store_is_fastest_to_a_present_entry_and_slowest_to_a_full_buffer(design: str) -> None:
    first, second, held = (store(design, meets=meets) for meets in ("new-entry", "entry", "full-buffer"))
    assert second.latency_fs < first.latency_fs < held.latency_fs
    drained = max(span.end for span in held.spans if span.what.startswith("oldest's "))
    assert drained <= held.latency_fs


def test_explain_names_the_condition_of_a_store_in_text_and_picture(casemate: Casemate, tmp_path: Path) -> None:
    for meets, heading, legend in (
        ("new-entry", "one store, room for a new entry", "its early steps are done; a drain follows"),
        ("entry", "one store, its line has an entry", "an earlier store has allocated the entry"),
        (
            "full-buffer",
            "one store, the persist buffer is full",
            "oldest's: steps of the entry that drains first",
        ),
        ("overflow", "one store, its counter overflows", "the other lines of its group encrypted anew"),
    ):
        ask = ("explain", "secpb-cm", "--of", "store", "--address", hex(LINE), "--meets", meets)
        said = casemate(*ask, "--svg", "store.svg")
        assert said.code == 0, said.err
        assert heading in said.out
        assert legend in said.out
        assert max(len(line) for line in said.out.splitlines()[1:]) <= 100
        assert heading.removeprefix("one store, ") in (tmp_path / "store.svg").read_text()


def test_the_timeline_of_a_counter_renewal_merges_rows_and_draws_all_spans() -> None:
    overflow = store("secpb-cm", meets="overflow")
    drawn = rows(overflow)
    assert len(drawn) < 80 < len(overflow.spans)
    pieces: list[Span] = [span for row in drawn for span in row.spans]
    assert sorted(map(repr, pieces)) == sorted(map(repr, overflow.spans))
    by_title = {row.title: row for row in drawn if len(row.spans) > 1}
    assert by_title["fetch data"].note == "63 times"
    assert by_title["persist data"].note == "64 times"
    assert all(len(row.spans) > MOST_ALIKE for row in by_title.values())
    assert all(len(row.spans) == 1 for row in rows(store("secpb-cm")))


def test_a_late_counter_overflows_in_the_drain_and_an_early_counter_at_the_store() -> None:
    late, early = (store(design, meets="overflow") for design in ("secpb-cobcm", "secpb-cm"))
    assert late.continues()
    assert late.latency_ns == 0.5
    assert not early.continues()


@pytest.mark.parametrize(
    ("design", "wrong", "expected"),
    [
        ("secpb-cm", ("--meets", "entry"), "and a read enters none: add --of store"),
        ("sc64-bmt", ("--of", "write", "--meets", "entry"), "and a write enters none: add --of store"),
        ("plp-sp", ("--of", "store", "--meets", "entry"), "'plp-sp' has no persist buffer"),
        ("bbb", ("--of", "store", "--meets", "overflow"), "'bbb' has no counters that overflow and are renewed: take"),
        ("secpb-cm", ("--of", "store", "--meets", "full"), "'full' is not one of 'new-entry', 'entry', 'full-buffer'"),
        ("secpb-cm", ("--layout", "--meets", "entry"), "--value, --of and --meets are for timelines"),
    ],
)
def test_explain_refuses_a_store_condition_that_the_design_cannot_have(
    casemate: Casemate, design: str, wrong: tuple[str, ...], expected: str
) -> None:
    said = casemate("explain", design, *wrong)
    assert said.code == 2
    assert expected in said.err
    assert said.out == ""
