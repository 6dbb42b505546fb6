"""The commands of the guide and of the README run as printed, in their order.

The usual test leaves out commands that take over ten seconds; `CASEMATE_DRILL=full` runs them as well.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Casemate

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/GUIDE.md")

LONG = {
    "casemate run -- gzip -9 -c /usr/bin/python3",
    "casemate run --workload bfs --limit 2M --design none --design ctr-mac-version --design sc64-bmt",
    "casemate attack sc64-bmt",
    "casemate crash plp-sp",
}
"""Commands that take over ten seconds with a build for tests."""


def printed(page: str) -> Iterator[str]:
    """Returns the commands of Casemate that a page prints behind a prompt."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        yield from re.findall(r"^\$ (casemate .*)$", block, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_as_printed(
    casemate: Casemate, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    commands = [
        command for command in printed(page) if os.environ.get("CASEMATE_DRILL") == "full" or command not in LONG
    ]
    assert len(commands) > 2
    for command in commands:
        said = casemate(*shlex.split(command)[1:])
        assert said.code == 0, f"{command}\n{said.err}"


def test_every_long_command_is_on_a_page() -> None:
    assert {command for page in PAGES for command in printed(page)} >= LONG
