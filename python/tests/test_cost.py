"""`casemate cost`: batteries next to the SecPB paper's, from the command and from Python."""

import itertools
from pathlib import Path
from typing import Any

import casemate as cm
import jsonschema
import pytest
from casemate.plots import battery_picture, picture
from casemate.schemas import BatteryCost
from conftest import Casemate

PROFILE = Path(__file__).parents[2] / "crates/cost/profiles/secpb.toml"
CHAIN = ("cobcm", "obcm", "bcm", "cm", "m", "nogap")
OTHERS = ("nogap-whole", "secure-eadr", "secure-eadr-consistent", "bbb", "eadr")
COLUMNS_MAX = 100


def test_the_battery_table_lists_all_systems_with_published_sizes_and_fits_a_screen(casemate: Casemate) -> None:
    said = casemate("cost", "secpb")
    assert said.code == 0
    for words in ("cobcm", "4.891", "4.89", "obcm", "-0.16 %", "3,699.9", "11,075.8", "149.32", "53.6", "1.761 mJ"):
        assert words in said.out
    assert "section VI.C says 4.92 mm3 where Table V has 4.89" in said.out
    assert max(len(line.rstrip()) for line in said.out.splitlines()) <= COLUMNS_MAX


def test_the_battery_operations_table_shows_the_drain_operations_per_entry(casemate: Casemate) -> None:
    said = casemate("cost", "secpb", "--operations", "--scheme", "bcm", "--scheme", "cm")
    rows = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line.startswith((" bcm", " cm"))}
    assert rows["bcm"] == ["pad", "4,128", "199", "297", "1", "1.701", "mJ"]
    assert rows["cm"] == ["root", "4,128", "7", "41", "1", "263.9", "uJ"]
    assert "bcm, cm: entries x (late steps + the fields that they need) + one whole tuple in flight" in said.out


def test_the_battery_table_shows_closed_form_and_counted_energies(casemate: Casemate) -> None:
    said = casemate("cost", "secpb", "--scheme", "cobcm", "--scheme", "nogap", "--scheme", "bbb")
    rows = [line.split() for line in said.out.splitlines() if line.startswith((" cobcm ", " nogap ", " bbb "))]
    energies = ["1.761", "mJ", "2.837", "mJ", "2.693", "mJ", "35.12", "mJ"]
    assert ["cobcm", *energies, "4.891", "7.882", "7.479", "97.55"] in rows
    energies = ["101.5", "uJ", "181.2", "uJ", "181.2", "uJ", "1.165", "mJ"]
    assert ["nogap", *energies, "0.2819", "0.5034", "0.5034", "3.235"] in rows
    assert max(len(line.rstrip()) for line in said.out.splitlines()) <= COLUMNS_MAX
    closed = casemate("cost", "secpb", "--scheme", "cobcm", "--closed-form")
    assert "carried out" not in closed.out
    assert "4.891" in closed.out


def test_the_battery_table_lists_the_differences_of_a_counted_drain_from_the_closed_form(casemate: Casemate) -> None:
    said = casemate("cost", "secpb", "--scheme", "obcm", "--scheme", "cm", "--counted")
    rows = [line.split() for line in said.out.splitlines()]
    assert ["each", "alone", "6,397.875", "40", "47", "1", "343.6", "uJ"] in rows
    assert ["+", "counters-again", "+32", "+22.99", "uJ"] in rows
    assert ["-", "edges", "-1", "-5.075", "uJ"] in rows
    assert ["-", "shared", "-25", "-25", "-144.8", "uJ"] in rows
    assert sum(row[:1] == ["overflowing"] for row in rows) == 2
    assert "renewed: a group's other lines and tags are fetched" in said.out
    assert "edges: the paper hashes once a level" in said.out
    assert max(len(line.rstrip()) for line in said.out.splitlines()) <= COLUMNS_MAX
    for other in ("--operations", "--closed-form"):
        refused = casemate("cost", "secpb", "--counted", other)
        assert (refused.code, "--counted goes with neither --operations nor --closed-form" in refused.err) == (2, True)


def test_counted_battery_energies_equal_the_closed_form_plus_listed_differences() -> None:
    progress: list[dict[str, int]] = []
    found = cm.cost_of_battery(CHAIN, entries=(8, 32), progress=progress.append)
    for row in found.rows:
        assert row.counted is not None
        alone, together = row.counted.alone, row.counted.together
        named = sum(by.energy_nj for by in alone.differences)
        assert alone.energy_nj == pytest.approx(row.energy_nj + named)
        shared = sum(by.energy_nj for by in together.differences)
        assert together.energy_nj == pytest.approx(alone.energy_nj + shared)
        overflowing = row.counted.overflowing
        assert overflowing is not None
        assert [by.name for by in overflowing.differences] == ["renewed"]
        assert overflowing.energy_nj == pytest.approx(together.energy_nj + overflowing.differences[0].energy_nj)
        # With an early root only the store in flight fetches a path, which no other drain shares.
        assert [by.name for by in together.differences] == ([] if row.system in ("cm", "m", "nogap") else ["shared"])
        assert shared <= 0.0
        assert all((by.energy_nj < 0.0) == by.is_less for by in alone.differences)
        assert [size.printed_mm3 for size in alone.sizes] == [None, None]
    assert progress
    assert cm.cost_of_battery("cobcm", counted="nothing").of("cobcm").counted is None


def test_full_caches_are_drained_on_request_and_compared_with_both_closed_forms(
    casemate: Casemate, tmp_path: Path
) -> None:
    caches = PROFILE.read_text().split("[caches]")[1].split("[")[0]
    small = 'l1 = "1 KB"\nl2 = "2 KB"\nl3 = "4 KB"\n\n'
    (tmp_path / "small.toml").write_text(PROFILE.read_text().replace(caches, f"\n{small}"))
    ask = ("cost", "secpb", "--profile", "small.toml", "--scheme", "secure-eadr", "--scheme", "secure-eadr-consistent")
    said = casemate(*ask, "--counted")
    rows = [line.split() for line in said.out.splitlines()]
    # 112 lines: counters, six nodes and tags are fetched and written; 14 edges and a tag are hashed.
    work = ["each", "alone", "64,512", "896", "1,680", "112"]
    assert sum(row[: len(work)] == work for row in rows) == 2
    assert sum(row[:2] == ["+", "uncharged"] for row in rows) == 1
    assert "nodes-written: without tuples, the drain" in said.out
    assert max(len(line.rstrip()) for line in said.out.splitlines()) <= COLUMNS_MAX
    found = casemate(*ask, "--counted", "--json")
    jsonschema.validate(found.json(), casemate("schema", "cost", "secpb").json())
    for row in BatteryCost.model_validate_json(found.out).rows:
        assert row.counted is not None
        assert row.counted.overflowing is None
        named = sum(by.energy_nj for by in row.counted.alone.differences)
        assert row.counted.alone.energy_nj == pytest.approx(row.energy_nj + named)
    assert all(row.counted is None for row in BatteryCost.model_validate_json(casemate(*ask, "--json").out).rows)


def test_an_unsupported_battery_drain_is_not_counted_and_the_reason_is_shown(
    casemate: Casemate, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(PROFILE.read_text().replace("arity = 8", "arity = 4"))
    said = casemate("cost", "secpb", "--profile", "mine.toml")
    assert said.code == 0
    reason = "Not carried out: the profile's tree has 4 children a node and 4 KB under a counter line"
    assert said.out.count(reason) == 1
    high = cm.cost_of_battery("cobcm", height=20).of("cobcm")
    assert high.counted is None
    assert high.not_counted is not None
    assert "covers more than 1024 GB" in high.not_counted
    large = cm.cost_of_battery("cobcm", entries=2**20).of("cobcm")
    assert large.not_counted == "a design's buffer has 65536 entries at most"


def test_json_fits_its_schema_and_reads_back(casemate: Casemate) -> None:
    said = casemate("cost", "secpb", "--entries", "8", "--entries", "512", "--json")
    jsonschema.validate(said.json(), casemate("schema", "cost", "secpb").json())
    found = BatteryCost.model_validate_json(said.out)
    assert found == cm.cost_of_battery(entries=[8, 512])
    assert len(found.rows) == 2 * 8 + 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--entries", "0"), "casemate: entries is 0: expected 1 to 1048576"),
        (("--entries", "many"), "'many' is not a whole number"),
        (("--height", "1"), "casemate: height is 1: expected 2 to 64"),
        (("--scheme", "cobmc"), "casemate: unknown scheme 'cobmc' (did you mean 'cobcm'?); there are: cobcm, obcm"),
        (("--profile", "secbp"), "casemate: unknown profile 'secbp' (did you mean 'secpb'?)"),
        (("--profile", "nowhere.toml"), "casemate: nowhere.toml: "),
        (("--png", "picture.svg"), "--png writes a file of that kind: expected a name such as 'picture.png'"),
        (("--png", "nowhere/picture.png"), "cannot write 'nowhere/picture.png'"),
    ],
)
def test_an_impossible_cost_is_refused_with_the_reason(
    casemate: Casemate, arguments: tuple[str, ...], expected: str
) -> None:
    said = casemate("cost", "secpb", *arguments)
    assert said.code == 2
    assert expected in said.err


def test_an_unknown_cost_names_the_nearest(casemate: Casemate) -> None:
    said = casemate("cost", "sepcb")
    assert said.code == 2
    assert "unknown command 'sepcb' (did you mean 'secpb'?)" in said.err


def test_an_invalid_cost_profile_is_refused_with_its_key(casemate: Casemate, tmp_path: Path) -> None:
    text = PROFILE.read_text()
    line = 1 + next(number for number, line in enumerate(text.splitlines()) if line.startswith("arity"))
    for wrong, expected in (
        (text.replace("arity =", "airty ="), f"casemate: mine.toml:{line}: "),
        (text.replace("arity =", "airty ="), "(did you mean 'arity'?)"),
        (text.replace("arity = 8", "arity = true"), f"casemate: mine.toml:{line}: tree.arity: "),
        (text.replace("arity = 8", "arity = 1"), "casemate: mine.toml: tree.arity is 1: expected 2 or more children"),
    ):
        (tmp_path / "mine.toml").write_text(wrong)
        said = casemate("cost", "secpb", "--profile", "mine.toml")
        assert said.code == 2
        assert expected in said.err
        assert len(said.err.splitlines()) == 1


def test_a_user_profile_changes_battery_sizes_and_hides_the_published_ones(casemate: Casemate, tmp_path: Path) -> None:
    text = PROFILE.read_text().replace("mj_per_mm3 = 0.36", "mj_per_mm3 = 0.72").replace('"secpb"', '"denser"')
    (tmp_path / "mine.toml").write_text(text)
    said = casemate("cost", "secpb", "--profile", "mine.toml", "--json")
    mine, papers = BatteryCost.model_validate_json(said.out), cm.cost_of_battery()
    assert mine.profile == "denser"
    for own, theirs in zip(mine.rows, papers.rows, strict=True):
        assert own.sizes[0].volume_mm3 == pytest.approx(theirs.sizes[0].volume_mm3 / 2)
        assert own.sizes[1].volume_mm3 == theirs.sizes[1].volume_mm3
        assert all(size.printed_mm3 is None and size.printed_core_percent is None for size in own.sizes)
        assert own.remark is None


@pytest.mark.parametrize("schemes", [(), ("--scheme", "cm"), ("--scheme", "eadr")])
def test_battery_pictures_are_drawn_identically_each_time(
    casemate: Casemate, tmp_path: Path, schemes: tuple[str, ...]
) -> None:
    for name in ("first", "second"):
        said = casemate("cost", "secpb", *schemes, "--svg", f"{name}.svg", "--png", f"{name}.png")
        assert said.code == 0
        assert f"wrote {name}.png" in said.err
    first, second = ((tmp_path / f"{name}.svg").read_text() for name in ("first", "second"))
    assert first == second
    for name in schemes[1:] or (*CHAIN, *OTHERS):
        assert f">{name}</text>" in first
    assert (tmp_path / "first.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("scheme", "has_circles"), [("eadr", False), ("secure-eadr", False), ("cm", True)])
def test_a_picture_names_circles_only_if_it_has_some(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: str, has_circles: bool
) -> None:
    titles = list[str]()
    keep = picture.save

    def save(figure: Any, *where: Any, **how: Any) -> None:
        titles.append(figure.axes[0].get_title(loc="left"))
        keep(figure, *where, **how)

    monkeypatch.setattr(picture, "save", save)
    battery_picture.draw(cm.cost_of_battery(scheme, entries=[8, 32], counted="nothing"), tmp_path / "x.svg", "svg")
    assert ["circles" in title for title in titles] == [has_circles]


def test_python_asks_for_one_system_or_several() -> None:
    found = cm.cost_of_battery(("cobcm", "nogap-whole"), entries=(8, 512))
    assert [(row.system, row.entries) for row in found.rows] == [
        ("cobcm", 8), ("nogap-whole", 8), ("cobcm", 512), ("nogap-whole", 512),
    ]  # fmt: skip
    assert found.of("nogap-whole", 512).sizes[0].printed_mm3 == 4.35
    assert found.of("cobcm").entries == 8
    assert found.brief() == "0.000764 mm3 (nogap-whole, li-thin) to 76.1 mm3 (cobcm, supercap)"
    assert [row.system for row in cm.cost_of_battery("bbb").rows] == ["bbb"]
    with pytest.raises(cm.CasemateError, match=r"no row of 'cobcm with 9 entries' .*: cobcm with 8 entries"):
        found.of("cobcm", 9)


def test_a_lower_tree_needs_less_battery_energy_and_hides_the_published_sizes() -> None:
    high, low = cm.cost_of_battery(CHAIN), cm.cost_of_battery(CHAIN, height=2)
    assert (high.levels, low.levels) == (8, 2)
    for system in CHAIN:
        assert low.of(system).energy_nj < high.of(system).energy_nj
        assert low.of(system).sizes[0].printed_mm3 is None
    for found in (high, low):
        energies = [row.energy_nj for row in found.rows]
        assert all(earlier > later for earlier, later in itertools.pairwise(energies))


@pytest.mark.parametrize("wrong", [0, -1, 2**21, 2**70, "8", 8.0, True])
def test_python_refuses_invalid_numbers_of_entries(wrong: object) -> None:
    with pytest.raises(cm.CasemateError, match="entries is "):
        cm.cost_of_battery(entries=[wrong])  # type: ignore[list-item]
