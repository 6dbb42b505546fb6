"""The site of the documentation: its pages, the references that the build writes, and the links of all pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import casemate
import pytest
import site_pages
from casemate.cli import main
from command_tree import every_command
from files import tracked

ROOT = Path(__file__).parents[1]
WRITTEN_BY_THE_BUILD = {"reference/commands.md", "reference/api.md"}
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
PAGES = tracked("**/*.md")
"""All pages; the build of the site checks only those in docs/."""


def test_the_navigation_lists_every_page_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(listed) == sorted(pages | WRITTEN_BY_THE_BUILD)


def test_the_page_of_commands_shows_every_command() -> None:
    shown = (ROOT / "docs/COMMANDS.md").read_text()
    assert site_pages.undocumented(shown) == []
    assert site_pages.undocumented(re.sub("casemate (trace info|bus)", "", shown)) == [
        "casemate trace info",
        "casemate bus",
    ]


def test_the_reference_has_the_help_of_every_command() -> None:
    page = site_pages.command_page()
    headings = re.findall(r"^#+ (casemate.*)$", page, re.MULTILINE)
    commands = dict(every_command(main.casemate, "casemate"))
    assert headings == list(commands)
    for name, command in commands.items():
        section = page.partition(f"# {name}\n")[2].partition("\n#")[0]
        assert f"Usage: {name} " in section
        for parameter in command.params:
            assert all(option in section for option in parameter.opts if option.startswith("--")), name


def test_the_reference_of_python_has_every_public_name() -> None:
    listed = re.findall(r"^::: casemate\.(\w+)$", site_pages.interface_page(), re.MULTILINE)
    public = {name: getattr(casemate, name).__name__ for name in casemate.__all__ if not name.startswith("_")}
    assert set(listed) == set(public.values())
    assert len(listed) == len(set(listed))


def test_the_site_refuses_broken_links_and_loads_no_fonts() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "\nstrict: true\n" in settings
    assert "  font: false" in settings
    for check in ("omitted_files", "absolute_links", "unrecognized_links", "anchors"):
        assert f"\n  {check}: warn\n" in settings


def headings(page: Path) -> Iterator[str]:
    """Yields the names by which links reach the headings of a page."""
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        yield re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())


def broken(page: Path, text: str) -> list[str]:
    """Returns the links of a page to files and headings that do not exist."""
    found = []
    for target in LINK.findall(CODE.sub("", text)):
        name, _, heading = target.partition("#")
        to = (page.parent / name).resolve() if name else page
        is_written = to.is_relative_to(ROOT / "docs") and str(to.relative_to(ROOT / "docs")) in WRITTEN_BY_THE_BUILD
        if re.match(r"[a-z]+:", target) or is_written:
            continue
        if not to.exists() or (heading and heading not in headings(to)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_and_pictures_of_a_page_exist(page: Path) -> None:
    assert broken(page, page.read_text()) == []


def test_a_broken_link_is_found() -> None:
    page = ROOT / "docs/REPORT.md"
    text = "[a](GUIDE.md) ![b](pictures/report.png) [c](NONE.md) ![d](none.png) [e](#contents-of-a-page) [f](#none)"
    assert broken(page, text) == ["NONE.md", "none.png", "#none"]
