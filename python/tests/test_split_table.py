"""Tables on narrow screens: no number is cut, and no column is lost."""

import io

import pytest
from casemate.schemas.hardware import Area, CoreCost, HardwareCost, Scaling, Speed
from casemate.tables import hardware_table
from casemate.tables.layouts import plain_table
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from rich.text import Text

WORDS = st.text("abc", min_size=1, max_size=8)
NUMBERS = st.integers(0, 10**9).map(lambda number: f"{number:,}")


def shown(what: RenderableType, columns: int) -> str:
    console = Console(width=columns, file=io.StringIO(), record=True)
    console.print(what)
    return console.export_text()


@given(
    st.integers(45, 120),
    st.lists(st.tuples(st.lists(WORDS, min_size=1, max_size=6), st.lists(NUMBERS, min_size=9, max_size=9)), min_size=1),
)
def test_no_screen_cuts_a_number_or_a_word(columns: int, rows: list[tuple[list[str], list[str]]]) -> None:
    names = [f"n{number}" for number in range(9)]
    table = plain_table("core", *names, right=names)
    for words, numbers in rows:
        table.add_row(Text(" ".join(words)), *numbers)
    said = shown(table, columns)
    assert "…" not in said
    assert all(len(line) <= columns for line in said.splitlines())
    found = said.split()
    for words, numbers in rows:
        assert all(number in found for number in numbers)
        assert all(word in found for word in words)


def test_a_narrow_terminal_table_breaks_words_and_no_numbers() -> None:
    table = plain_table("reference", "subject", "ours", right=("ours",))
    table.add_row("Ramulator", "instructions", "7.703e+04 ± 1.6e+02")
    said = shown(table, 36)
    assert max(map(len, said.splitlines())) <= 36
    assert "7.703e+04 ± 1.6e+02" in said
    assert "…" not in said


def test_a_wide_table_is_split_into_tables_of_similar_size() -> None:
    names = [f"number-{number}" for number in range(6)]
    table = plain_table("core", *names, right=names)
    table.add_row("a", *"123456")
    heads = [line.split() for line in shown(table, 65).splitlines() if "core" in line]
    assert heads == [["core", *names[:3]], ["core", *names[3:]]]
    assert [line.split() for line in shown(table, 90).splitlines() if "core" in line] == [["core", *names]]


def test_terminal_tables_wrap_words_before_splitting_off_columns() -> None:
    table = plain_table("core", "number", "from", right=("number",))
    table.add_row("a", "1", "throughput / 11.05 mW, the slope of the power")
    lines = shown(table, 40).splitlines()
    assert sum("core" in line for line in lines) == 1
    assert max(map(len, lines)) <= 40


def cost(um2: float, scaling: list[Scaling]) -> HardwareCost:
    """A core without a stimulus and an FPGA."""
    speed = Speed(
        fmax_mhz=100, path_begins="a", path_ends="b", path_cells=1, cycles_per_line=None, latency_cycles=None,
        gbps=None, gbps_per_mm2=None,
    )  # fmt: skip
    area = Area(um2=um2, flops_um2=um2 / 2, cells=1, flops=1, fanout_buffers=0)
    core = CoreCost(name="core", target_ns=4, area=area, speed=speed, fpga=None, energy=None)
    return HardwareCost(
        library_content="",
        recipe="",
        library="small",
        voltage_v=1,
        targets_ns=[4],
        tools={},
        rows=[core],
        scaling=scaling,
    )


@pytest.mark.parametrize(
    ("um2", "said"), [(1_108_000, "1.108"), (227_000, "0.227"), (1268, "0.00127"), (96, "9.60e-05")]
)
def test_hardware_areas_are_printed_with_three_digits_for_every_core_size(um2: float, said: str) -> None:
    text = shown(hardware_table.table(cost(um2, [])), 80)
    assert f" {said} " in text
    # A figure that no core has takes no column.
    assert "nJ" not in text
    assert "LUT" not in text


def test_a_fitted_line_is_written_as_a_sum_or_a_difference() -> None:
    fit = Scaling(
        name="lane", lanes=[1, 2], clock_mhz=180, area_um2_a_lane=1.154e6, area_um2_besides=-46e3,
        power_mw_a_lane=240.5, power_mw_besides=3.2,
    )  # fmt: skip
    text = shown(hardware_table.table(cost(1e6, [fit])), 120)
    assert "n x lane, fitted at n = 1, 2: 1.154 n - 0.0460 mm2, 240.5 n + 3.20 mW at 180.0 MHz" in text
