"""The page of a system lists the rules in its paper, and the location of the tests that are named after each rule."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"^\| (\d+) \| .* \| (`.*`) \|$", re.MULTILINE)
RULES_OF_FVS = 9


def test_each_rule_of_fvs_has_a_test_named_after_it_in_the_files_that_its_page_names() -> None:
    page = (ROOT / "docs/systems/fvs.md").read_text()
    section = page.split("## Its rules, and the tests that hold them")[1].split("\n## ")[0]
    rules = {int(number): re.findall(r"`([^`]+)`", files) for number, files in RULE.findall(section)}
    assert sorted(rules) == list(range(1, RULES_OF_FVS + 1))
    for number, files in rules.items():
        for file in files:
            text = (ROOT / "crates" / file).read_text()
            assert re.search(rf"#\[test\]\s+fn fvs_rule_{number}_\w+\(", text), (number, file)
