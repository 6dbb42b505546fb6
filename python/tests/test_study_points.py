"""Points of a study: their number, the hash of all that decides a result, and the checks before the first run."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from casemate import CasemateError, api
from casemate.studies import cluster, identity
from casemate.studies.expansion import Cell, expanded
from casemate.studies.points import Kernel, Point, StoredTrace
from casemate.studies.recordings import Recordings
from casemate.studies.sessions import batches
from casemate.studies.study import Study
from casemate.studies.sweep import Observer, Workers, sweep
from conftest import Casemate
from hypothesis import given, settings
from hypothesis import strategies as some

SMALL: dict[str, Any] = {"workload": "gups", "settings": {"footprint": "1 MB"}}
TAG_BITS = "design.sc64-bmt.parts.mac.tag_bits"
DESIGNS = Path(__file__).parents[2] / "designs"
MACHINES = Path(__file__).parents[2] / "machines"
INSTRUCTIONS = 20_000

Expand = Callable[..., list[Cell]]


@pytest.fixture
def expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Expand:
    """Returns the cells of a study of a small program, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def cells(**keys: Any) -> list[Cell]:
        return expanded(Study(**{"programs": [SMALL], "limit": "50K", **keys}), Recordings(tmp_path, str))

    return cells


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short recording of a program."""
    path = tmp_path_factory.mktemp("recording") / "true.trace"
    api.record(["true"], path, limit=INSTRUCTIONS)
    return path


def hashes(cells: Iterable[Cell]) -> list[str]:
    """Returns the hash of each point once, in order."""
    return list(dict.fromkeys(cell.point.hash for cell in cells))


def coordinates(cells: Iterable[Cell]) -> set[tuple[Any, ...]]:
    """Returns all properties of runs that a study varies."""
    return {
        (point.program, point.machine, point.design, point.seed, *sorted(point.changes.items()))
        for point in (cell.point for cell in cells)
    }


def test_a_study_crosses_programs_machines_designs_seeds_and_swept_values(expand: Expand) -> None:
    ways, sizes = (4, 8), ("2 MB", "4 MB", "8 MB")
    cells = expand(
        programs=[SMALL, {"workload": "resident"}], machines=["modern", "emcc-4core"], designs=["none", "sc64-bmt"],
        seeds=2, over={"machine.llc.ways": ways, "machine.llc.size": sizes},
    )  # fmt: skip
    assert len(cells) == len(hashes(cells)) == 2 * 2 * 2 * 2 * 2 * 3
    assert coordinates(cells) == {
        (program, machine, design, seed, ("machine.llc.size", size), ("machine.llc.ways", way))
        for program in ("gups-1MB", "resident")
        for machine in ("modern", "emcc-4core")
        for design in ("none", "sc64-bmt")
        for seed in (1, 2)
        for way in ways
        for size in sizes
    }
    assert [cell.swept for cell in cells[:: 2 * 2]][:3] == [
        {"machine.llc.ways": 4, "machine.llc.size": size} for size in sizes
    ]


def test_zipped_keys_change_together_and_cross_with_swept_keys(expand: Expand) -> None:
    cells = expand(
        designs="none",
        zipped=[{"machine.llc.size": ["2 MB", "4 MB"], "machine.llc.ways": {"from": 4, "to": 8, "step": 4}}],
        over={"machine.llc.mshrs": [16, 32]},
    )
    found = {
        tuple(cell.swept[f"machine.llc.{key}"] for key in ("size", "ways", "mshrs"))
        for cell in cells
    }  # fmt: skip
    assert found == {("2 MB", 4, 16), ("2 MB", 4, 32), ("4 MB", 8, 16), ("4 MB", 8, 32)}
    assert len(cells) == 4


def test_a_swept_key_of_one_design_adds_no_points_of_another(expand: Expand) -> None:
    cells = expand(designs=["none", "ctr-mac", "sc64-bmt"], over={TAG_BITS: [32, 48, 64]})
    assert len(cells) == 9
    assert len(hashes(cells)) == 1 + 1 + 3
    changes = {(cell.point.design, *cell.point.changes.items()) for cell in cells}
    key = "design.parts.mac.tag_bits"
    assert changes == {("none",), ("ctr-mac",), *(("sc64-bmt", (key, bits)) for bits in (32, 48, 64))}


def test_a_change_of_one_design_prevails_over_a_change_of_all(expand: Expand) -> None:
    designs, key = ["ctr-mac", "sc64-bmt"], "design.parts.mac.tag_bits"
    for changes in ({key: 32, TAG_BITS: 48}, {TAG_BITS: 48, key: 32}):
        found = {cell.point.design: cell.point.changes for cell in expand(designs=designs, changes=changes)}
        assert found == {"ctr-mac": {key: 32}, "sc64-bmt": {key: 48}}


def test_a_seed_or_design_that_is_listed_twice_is_one_point(expand: Expand) -> None:
    assert len(hashes(expand(seeds=[3, 3, 4], designs=["none", "none"]))) == 2


def test_campaigns_have_a_point_for_each_design_and_swept_design_key(expand: Expand) -> None:
    cells = expand(
        programs=[], designs=["ctr-mac", "sc64-bmt"], seeds=2, attacks={"trials": 3}, crashes={},
        over={TAG_BITS: [32, 64], "machine.llc.ways": [4, 8]},
    )  # fmt: skip
    by_kind = {kind: hashes(cell for cell in cells if cell.point.kind == kind) for kind in ("run", "attack", "crash")}
    assert {kind: len(found) for kind, found in by_kind.items()} == {"run": 0, "attack": 2 * 3, "crash": 2 * 3}


DECISIVE: dict[str, dict[str, Any]] = {
    "limit": {"limit": "51K"},
    "no limit": {"limit": None},
    "untimed start": {"untimed": 1},
    "warm-up": {"warm_up": 1},
    "detail": {"detail": "sampled"},
    "sampling": {"detail": "sampled", "sampling": {"error": 0.1}},
    "aim": {"detail": "sampled", "sampling": {"aim": "traffic"}},
    "age": {"age": "steady"},
    "checked values": {"check_values": True},
    "ledger": {"ledger": True},
    "values": {"values": [8]},
    "more values": {"values": [8, 16]},
    "seed": {"seeds": [2]},
    "large seed": {"seeds": [2**64 - 1]},
    "machine": {"machines": "champsim-default"},
    "machine key": {"changes": {"machine.llc.ways": 4}},
    "design": {"designs": "sc64-tree"},
    "design key": {"changes": {"design.parts.mac.tag_bits": 32}},
    "workload": {"programs": [{"workload": "resident"}]},
    "workload setting": {"programs": [{"workload": "gups", "settings": {"footprint": "2 MB"}}]},
    "limit of a program": {"programs": [{**SMALL, "limit": 52_000}]},
    "untimed start of a program": {"programs": [{**SMALL, "untimed": 2}]},
    "warm-up of a program": {"programs": [{**SMALL, "warm_up": 2}]},
    "attacks": {"programs": [], "attacks": {}},
    "trials": {"programs": [], "attacks": {"trials": 99}},
    "attack": {"programs": [], "attacks": {"row": "replay-data"}},
    "seed of attacks": {"programs": [], "attacks": {}, "seeds": [2]},
    "design key of attacks": {"programs": [], "attacks": {}, "changes": {"design.parts.mac.tag_bits": 32}},
    "crashes": {"programs": [], "crashes": {}},
    "thorough crashes": {"programs": [], "crashes": {"thorough": True}},
    "loss": {"programs": [], "crashes": {"row": "power-loss"}},
}
"""Keys of a study with one design, each of which decides the result of its point."""


def test_every_option_of_a_study_changes_the_hash_of_its_point(expand: Expand) -> None:
    found = {"base": expand(designs="sc64-bmt")} | {
        name: expand(**{"designs": "sc64-bmt", **keys}) for name, keys in DECISIVE.items()
    }
    by_hash: dict[str, str] = {}
    for name, cells in found.items():
        assert len(cells) == 1
        assert by_hash.setdefault(cells[0].point.hash, name) == name
        assert len(cells[0].point.hash) == 64


def test_the_number_and_order_of_programs_at_once_change_the_hash(expand: Expand) -> None:
    several = [SMALL, {"workload": "resident"}]
    kinds: list[dict[str, Any]] = [
        SMALL, {**SMALL, "copies": 2}, {**SMALL, "copies": 4}, {"together": several}, {"together": several[::-1]},
    ]  # fmt: skip
    found = [hashes(expand(machines="emcc-4core", designs="none", programs=[each])) for each in kinds]
    assert len({point for (point,) in found}) == len(kinds)


def test_only_the_content_and_the_name_of_a_trace_change_the_hash(expand: Expand, recording: Path) -> None:
    def found(path: str, **more: Any) -> str:
        (point,) = hashes(expand(programs=[{"trace": path, **more}], designs="sc64-bmt", limit=None))
        return point

    for folder in ("here", "there"):
        Path(folder).mkdir()
        shutil.copy(recording, folder)
    first = found("here/true.trace")
    assert found("there/true.trace") == found(str(Path("here").absolute() / "true.trace")) == first
    different = {first, found("here/true.trace", persistent="heap")}
    api.record(["true"], "there/true.trace", limit=INSTRUCTIONS + 1)
    different.add(found("there/true.trace"))
    shutil.copy(recording, "here/other.trace")
    different.add(found("here/other.trace"))
    assert len(different) == 4


EQUAL: dict[str, dict[str, Any]] = {
    "order of keys": {"changes": {"machine.llc.ways": 8, "machine.llc.mshrs": 24}},
    "name of the program": {"programs": [{**SMALL, "name": "another"}]},
    "name of the study": {"name": "another"},
    "limit in digits": {"limit": 50_000},
    "options as they are by default": {"untimed": 0, "warm_up": 0, "age": "new", "ledger": False, "detail": "all"},
    "seeds as a list": {"seeds": [1]},
    "swept keys": {"over": {"machine.llc.mshrs": [24], "machine.llc.ways": [8]}, "changes": {}},
    "figures": {"figures": [{"value": "ipc"}]},
    "text for a number": {"changes": {"machine.llc.ways": "8", "machine.llc.mshrs": "24"}},
}
"""Keys of a study that decide no result of its point."""


@pytest.mark.parametrize("keys", EQUAL.values(), ids=list(EQUAL))
def test_keys_that_decide_no_result_leave_the_hash_unchanged(keys: dict[str, Any], expand: Expand) -> None:
    base = {"designs": "sc64-bmt", "changes": {"machine.llc.mshrs": 24, "machine.llc.ways": 8}}
    assert hashes(expand(**base)) == hashes(expand(**{**base, **keys}))


def test_a_key_with_the_value_of_its_file_leaves_the_hash_unchanged(expand: Expand) -> None:
    usual = {each.key: str(each.value) for each in api.settings("machine", "modern").settings}
    changes = {"machine.llc.ways": int(usual["llc.ways"]), "machine.llc.size": usual["llc.size"].strip('"')}
    assert hashes(expand(changes=changes)) == hashes(expand())


def test_another_build_of_casemate_has_other_hashes(expand: Expand, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hashes(expand())
    monkeypatch.setattr(identity, "BUILD", "0123456789ab")
    assert not set(hashes(expand())) & set(before)


def test_the_content_of_files_decides_the_hash_and_not_their_folder(expand: Expand) -> None:
    def found(folder: str) -> str:
        (point,) = hashes(expand(designs=f"{folder}/mine.toml", machines=f"{folder}/own.toml"))
        return point

    for folder in ("a", "b", "c"):
        Path(folder).mkdir()
        shutil.copy(DESIGNS / "sc64-bmt.toml", f"{folder}/mine.toml")
        shutil.copy(MACHINES / "modern.toml", f"{folder}/own.toml")
    assert found("a") == found("b")
    shutil.copy(DESIGNS / "ctr-mac.toml", "c/mine.toml")
    assert found("c") != found("a")


@pytest.mark.parametrize("keys", [{}, {"programs": [], "attacks": {}}], ids=["run", "attack"])
def test_a_design_file_that_was_edited_has_another_hash(keys: dict[str, Any], expand: Expand) -> None:
    """In one process, as in a notebook."""
    shutil.copy(DESIGNS / "sc64-bmt.toml", "mine.toml")
    before = hashes(expand(designs="mine.toml", **keys))
    shutil.copy(DESIGNS / "ctr-mac.toml", "mine.toml")
    assert hashes(expand(designs="mine.toml", **keys)) != before


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "program": ({"programs": ["gusp"]}, "gusp.*did you mean gups"),
    "setting": ({"programs": [{"workload": "gups", "settings": {"footpint": 1}}]}, "footpint.*did you mean footprint"),
    "design": ({"designs": ["none", "sc64-bnt"]}, "unknown design 'sc64-bnt'.*did you mean 'sc64-bmt'"),
    "machine": ({"machines": ["moder"]}, "unknown machine 'moder'.*did you mean 'modern'"),
    "file": ({"designs": ["none", "mine.toml"]}, r"mine\.toml"),
    "trace": ({"programs": [SMALL, {"trace": "absent.trace"}]}, r"cannot read the trace 'absent\.trace'"),
    "kind of key": ({"over": {"machin.llc.size": [1]}}, "'machin.llc.size' is no key: expected machine.KEY"),
    "machine key": ({"over": {"machine.llc.sise": [1]}}, "sise.*did you mean 'size'"),
    "design key": ({"over": {"design.pats.mac": [1]}}, "pats.*did you mean 'parts'"),
    "key of an absent design": ({"over": {"design.xts.parts.mac.tag_bits": [1]}}, "'xts', which is not requested"),
    "design that cannot be built": ({"over": {TAG_BITS: [64, 1000]}}, "tag_bits = 1000 must be between 1 and 256"),
    "attacked design": ({"programs": [], "attacks": {}, "over": {TAG_BITS: [1000]}}, "must be between 1 and 256"),
    "attack": ({"attacks": {"row": "replay-dta"}}, "replay-dta.*did you mean 'replay-data'"),
    "loss": ({"crashes": {"row": "power-los"}}, "power-los.*did you mean 'power-loss'"),
    "memory": (
        {"programs": [{"workload": "gups", "settings": {"footprint": "1 GB"}}],
         "over": {"machine.memory.size": ["4 GB", "64 MB"]}},
        "needs more memory than the machine's 64 MB",
    ),
    "cores": ({"programs": [{**SMALL, "copies": 4}]}, "4 programs need 4 cores, and machine 'modern' has 1"),
    "limit": ({"limit": "5X"}, "limit: '5X' is not a number of instructions"),
    "warm-up": ({"warm_up": "50K"}, "the warm-up is 50000 of 50000 instructions"),
    "untimed start": ({"untimed": "50K"}, "50000 instructions without time and 0 of warm-up are 50000 of 50000"),
    "values": ({"values": [3]}, "a table of 3 values: expected a power of two"),
    "sampling": ({"sampling": {"error": 0.1}}, "sampling options are for sampled runs"),
    "sampling option": ({"detail": "sampled", "sampling": {"eror": 0.1}}, "unknown field `eror`"),
    "negative seed": ({"seeds": [-1]}, "seed"),
    "large seed": ({"seeds": [2**64]}, "seed"),
    "axis": ({"figures": [{"value": "ipc", "x": "programm"}]}, "'programm'.*did you mean 'program'"),
    "baseline": ({"baseline": "nne"}, "unknown baseline 'nne'.*did you mean 'none'"),
    "value without a sweep": ({"over": {"machine.llc.ways": []}}, "machine.llc.ways is empty"),
}  # fmt: skip
"""Studies that cannot be carried out, and the error."""


@pytest.mark.parametrize(("keys", "error"), REFUSED.values(), ids=list(REFUSED))
def test_a_study_that_cannot_be_carried_out_is_refused_before_any_work(
    keys: dict[str, Any], error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "SECONDS_TO_CONNECT", 0.1)
    programs = [*keys.get("programs", [SMALL]), {"command": ["true"]}]
    notices: list[str] = []
    # No scheduler has this address, and an error about it would mean that the study had started.
    with pytest.raises(CasemateError, match=error) as refused:
        sweep(
            Study(**{"limit": "50K", **keys, "programs": programs}), "results",
            workers=Workers(scheduler="tcp://127.0.0.1:1"), observer=Observer(notices.append),
        )  # fmt: skip
    assert "scheduler" not in str(refused.value)
    assert notices == [], "the command was not recorded"
    assert {path.name for path in Path("results").glob("*")} <= {".lock"}


def test_an_error_of_a_point_names_the_point(expand: Expand) -> None:
    with pytest.raises(CasemateError, match=r"^gups-1MB under sc64-bmt on modern, tag_bits=1000, seed 2: "):
        expand(designs="sc64-bmt", changes={TAG_BITS: 1000}, seeds=[2])


def test_a_point_needs_more_memory_if_its_program_touches_more(expand: Expand) -> None:
    sizes = [64, 256, 1024]
    found = [
        expand(programs=[{"workload": "gups", "settings": {"footprint": f"{size} MB"}}], designs="none")[0].point
        for size in sizes
    ]
    assert all(point.memory_bytes > size << 20 for point, size in zip(found, sizes, strict=True))
    assert found[0].memory_bytes < found[1].memory_bytes < found[2].memory_bytes


PROGRAMS = [
    (Kernel("gups", {}),),
    (Kernel("gups", {"footprint": "1 MB"}),),
    (Kernel("gups"), StoredTrace("c0ffee", "/a.trace", "a.trace")),
    (StoredTrace("c0ffee", "/a.trace", "a.trace"),),
    (),
]


@some.composite
def some_points(draw: some.DrawFn) -> list[Point]:
    """Points that differ in few properties, so that many could share a session."""
    listed = []
    for index in range(draw(some.integers(0, 24))):
        programs = draw(some.sampled_from(PROGRAMS))
        changes = {"machine.llc.ways": draw(some.sampled_from([4, 8])), "design.x": draw(some.integers(1, 3))}
        listed.append(
            Point(
                "run" if programs else draw(some.sampled_from(["attack", "crash"])),
                draw(some.sampled_from(["none", "xts", "a/mine.toml", "b/mine.toml"])),
                draw(some.sampled_from(["modern", "own.toml"])),
                {key: changes[key] for key in draw(some.sets(some.sampled_from(sorted(changes))))},
                "name", programs, draw(some.sampled_from([{}, {"limit": 5}])), draw(some.sampled_from([1, 2])),
                hash=f"{index:064}",
            )
        )  # fmt: skip
    return listed


@settings(deadline=None, max_examples=40)
@given(listed=some_points(), workers=some.integers(1, 4))
def test_batches_have_every_point_once_and_share_only_equal_runs(listed: list[Point], workers: int) -> None:
    found = batches(listed, workers, 10**18)
    assert sorted(point.hash for batch in found for point in batch) == [point.hash for point in listed]
    assert all(found), "no batch is empty"
    assert len(found) >= min(len(listed), 2 * workers), "every worker has work"
    for batch in found:
        first = batch[0]
        if len(batch) == 1:
            continue
        assert {point.kind for point in batch} == {"run"}
        assert any(isinstance(program, Kernel) for program in first.programs)
        designs = [Path(point.design).stem for point in batch]
        assert len(set(designs)) == len(designs), "results are found by the name of the design"
        for point in batch:
            assert (point.programs, point.machine, point.options, point.seed) == (
                first.programs, first.machine, first.options, first.seed,
            )  # fmt: skip
            ways = [each.changes.get("machine.llc.ways") for each in (point, first)]
            assert ways[0] == ways[1]


def test_runs_of_one_workload_share_a_session_if_all_workers_have_work(expand: Expand) -> None:
    points = [cell.point for cell in expand(designs=["none", "ctr-mac", "sc64-bmt"], seeds=4)]
    assert sorted(len(batch) for batch in batches(points, 2, 10**18)) == [3, 3, 3, 3]
    assert sorted(len(batch) for batch in batches(points, 3, 10**18)) == [1] * 12


def test_a_wrong_study_of_options_ends_the_command_with_code_2(casemate: Casemate) -> None:
    said = casemate("sweep", "--workload", "gups", "--over", "machine.llc.sise=1 MB", "--scheduler", "tcp://x:1")
    assert said.code == 2
    assert "did you mean 'size'?" in said.err
