"""A Python prompt prints every object of the API on one short line, without addresses and without everything inside."""

import ast
import pickle
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import casemate as cm
import pytest
from casemate import api
from casemate.bus import Block, BusFile
from casemate.excerpt import Excerpt
from casemate.schemas.base import Result
from casemate.studies.query import Results
from casemate.studies.sweep import Observer
from casemate.text import one_line
from sample_results import TEXT, kinds, sample

KINDS = sorted(set(kinds()), key=lambda kind: kind.__name__)


def check(shown: str) -> None:
    """Fails for text of several lines, for long text, and for an address."""
    assert len(shown.splitlines()) == 1
    assert len(shown) <= one_line.MOST
    assert " at 0x" not in shown


def test_the_samples_cover_the_results_of_all_commands() -> None:
    assert len(KINDS) > 120
    assert {cm.RunResults, cm.AttackReport, cm.Explanation, cm.Layout} <= set(KINDS)
    for broken in ("two\nlines", 121 * "x", "<object at 0x7f0000000000>"):
        with pytest.raises(AssertionError):
            check(broken)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_result_prints_one_short_line_with_its_type(kind: type[Result]) -> None:
    result = sample(kind)
    check(repr(result))
    assert repr(result).startswith(f"<{kind.__name__}: ")
    assert repr(result).endswith(">")
    assert len(repr(result)) > len(f"<{kind.__name__}: >")
    # Lists and tuples print the short line of each member.
    assert repr([result, result]) == f"[{result!r}, {result!r}]"


def test_the_parts_of_a_real_result_print_their_findings() -> None:
    explanation = cm.explain("none")
    assert repr(explanation.spans[0]) == "<Span: fetch data from 0.0 to 30.0 ns, row closed>"
    assert repr(explanation.scenario).startswith("<Scenario: of='read', on_chip='nothing', row='closed', ")
    assert repr(cm.attack("none", row="badram", trials=1).rows[0]) == "<Outcome: badram ended stale>"
    assert repr(cm.layout("none")) == "<Layout: none: metadata takes 0.000 % of 4.0 GB of data>"


LISTS = (cm.designs, cm.machines, cm.workloads, cm.attacks, cm.losses, api.verdicts, api.verbs)


@pytest.mark.parametrize("listed", LISTS, ids=lambda listed: listed.__name__)
def test_a_list_of_components_prints_their_number_type_and_first_names(listed: Any) -> None:
    found = listed()
    check(repr(found))
    assert repr(found).startswith(f"<{len(found)} {type(found[0]).__name__}: {found[0].name}, ")
    assert found == tuple(found)
    assert pickle.loads(pickle.dumps(found)) == found


REQUESTS = {
    "BuiltIn(name='bfs', settings={'scale': 14})": cm.BuiltIn("bfs", {"scale": 14}),
    "CryptoOptions(turns=3)": cm.CryptoOptions(turns=3),
    "LossOptions(losses=2, run=RunOptions(limit='1M'))": cm.LossOptions(losses=2, run=cm.RunOptions(limit="1M")),
    "Page()": cm.Page(),
    "Permutation(lines=1)": cm.Permutation(lines=1),
    "Program(command=('ls', '-l'))": cm.Program(("ls", "-l")),
    "Read(on_chip='tree')": cm.Read(on_chip="tree"),
    "RunOptions(limit='5M', protection=False)": cm.RunOptions(limit="5M", protection=False),
    "RunOptions()": cm.RunOptions(),
    "Store(meets='entry')": cm.Store(meets="entry"),
    "Trace(path='a.trace')": cm.Trace("a.trace"),
    "TraceWindow(window='20us:5us', file='a.json')": cm.TraceWindow("20us:5us", "a.json"),
    "Workers(count=2)": cm.Workers(2),
    "Write(value='zeros')": cm.Write(value="zeros"),
}


@pytest.mark.parametrize("shown", REQUESTS)
def test_a_request_prints_as_the_call_that_makes_it(shown: str) -> None:
    assert repr(REQUESTS[shown]) == shown
    ast.parse(shown, mode="eval")
    assert eval(shown, vars(cm) | {"Workers": cm.Workers}) == REQUESTS[shown]


def test_each_request_of_the_package_is_among_those_above() -> None:
    offered = {name for name in cm.__all__ if is_dataclass(getattr(cm, name))}
    assert offered == {type(request).__name__ for request in REQUESTS.values()}


def test_a_request_with_long_values_prints_one_short_line() -> None:
    for request in (
        cm.Program(200 * [TEXT]), cm.BuiltIn(TEXT, {str(at): TEXT for at in range(99)}), cm.RunOptions(bus=TEXT),
        cm.Study(name=TEXT, programs=[cm.BuiltIn("bfs")], over={"machine.llc.size": [f"{at} MB" for at in range(99)]}),
        Observer(lambda text: None),
    ):  # fmt: skip
        check(repr(request))


def test_files_of_a_run_print_the_run_that_wrote_them(tmp_path: Path) -> None:
    window = cm.TraceWindow("0us:20us", tmp_path / "x.json")
    small = cm.BuiltIn("gups", {"footprint": "1 MB"})
    options = cm.RunOptions(limit="20K", protection=False, bus=tmp_path / "x.bus", trace=window)
    result = cm.run(small, designs="none", options=options)
    file = BusFile(tmp_path / "x.bus")
    check(repr(file))
    assert repr(file).endswith("gups on modern under none>") or repr(file).endswith("...>")
    block: Block = next(file.blocks())
    assert repr(block) == f"<Block of {len(block.flags):,} crossings>"
    excerpt = Excerpt.read(tmp_path / "x.json")
    check(repr(excerpt))
    assert repr(excerpt).startswith("<Excerpt of gups on modern under none: ")
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "x.json").write_text(result.records[0].to_json())
    pytest.importorskip("duckdb")
    rows = Results(tmp_path / "records")
    check(repr(rows))
    assert repr(rows).endswith(": 1 run done>")
    assert repr(rows.select("run", columns=["design", "ipc"])) == "<Answer: design, ipc>"
