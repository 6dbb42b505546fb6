"""The reference of all keys, and the table of parts on the page of designs, against the keys that the package reads."""

import re
from functools import cache
from pathlib import Path

import keys

ROOT = Path(__file__).resolve().parents[2]


@cache
def page() -> str:
    """Output of the command."""
    return keys.page()


def test_the_configuration_key_reference_equals_the_output_of_its_generator() -> None:
    assert (ROOT / "docs" / "KEYS.md").read_text() == page(), ".venv/bin/python scripts/keys.py > docs/KEYS.md"


def test_every_key_in_the_configuration_reference_has_values_default_and_description() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]
    assert len(rows) > 200
    for row in rows:
        _, key, takes, default, what, _ = row.split(" | " if row.count(" | ") > 4 else "|")
        assert all(cell.strip() for cell in (key, takes, default, what)), row
        assert not re.search(r"\b(struct|usize|[ui]\d+|f64)\b", takes), row


def test_the_configuration_reference_includes_keys_that_no_built_in_file_sets() -> None:
    assert "| `llc.miss_prediction` | `xpt` | - |" in page()


def test_the_page_of_designs_names_every_part_of_a_design_and_every_choice() -> None:
    """A table of keys, as `caches` is, may be one row that names them."""
    table = (ROOT / "docs" / "DESIGNS.md").read_text().partition("| key | choices |")[2].partition("\n\n")[0]
    rows = {key: line for line in table.splitlines()[2:] for key in re.findall("`([^`]+)`", line.split("|")[1])}
    for path, name in keys.keys(keys.types(), "Design", "design"):
        part, _, key = path.partition(".")
        if part == "parts":
            row = rows.get(key) or next((row for named, row in rows.items() if key.startswith(f"{named}.")), "")
            assert re.search(rf"\b{key.rpartition('.')[2]}\b", row), key
            choices = re.findall("`([^`]+)`", keys.takes("design", name, path))
            shown = row + rows["counters"] if key == "tree.levels" else row
            missing = [it for it in choices if it not in ("true", "false") and not re.search(rf"[`\"]{it}[`\"]", shown)]
            assert not missing, f"{key}: {missing}"
