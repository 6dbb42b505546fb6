"""Measures the prose of the project: comments, docstrings, help texts and pages.

    scripts/prose.py                    markers per 1,000 words, long sentences and forbidden openings, by kind
    scripts/prose.py --list KIND        every marker of a kind, with its file and line
    scripts/prose.py --list KIND PATH   those of files with this prefix

A marker is a word of a construction that docs/STYLE.md replaces. Code blocks, code spans and questions are no prose.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import prose_strings
from files import ROOT, tracked
from names import banned_identifiers, tree, types_defined_twice

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LONG_WORDS = 30
MARKERS = {
    "what": r"what",
    "lie": r"lie|lies|lay|lying",
    "stand": r"stand|stands|stood",
    "go on": r"(?:go|goes|going|went|gone) on",
    "there": r"there(?! (?:is|are|was|were|can|may|must|has|have)\b)",
    "nothing": r"nothing|none|nobody|no one",
    "so many": r"so (?:many|much|long|few)",
    "such": r"such(?! as\b)",
    "its own": r"(?:its|their|our|his) own",
    "of which": r"of which|whose|of whom",
    "others": r"others|the rest",
    "bring": r"bring|brings|brought|come|comes|came",
    "tell": r"tell|tells|told",
    "beside": r"beside|besides",
    "alone": r"alone|by itself|by themselves",
}
MARKER = re.compile("|".join(rf"(?P<m{number}>\b(?:{form})\b)" for number, form in enumerate(MARKERS.values())), re.I)
OPENINGS = re.compile(r"(?:What|Which|Where|Whether|Of|As)\b")
WORD = re.compile(r"[A-Za-z][A-Za-z'\-]*|\d[\d.,]*")
# Abbreviations with a full stop that ends no sentence.
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|et al|Fig|Figs|Eq|Sec|No|Dr|approx|ca)\.$")


SHORT_DOCSTRING_WORDS = 4


class Passage(NamedTuple):
    """A piece of prose that is read in one go: a paragraph, a cell of a table, a comment or a docstring."""

    path: str
    line: int
    text: str
    is_cell: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Measure:
    """Counts over the prose of one kind of document."""

    words: int
    words_in_sentences: int
    markers: Counter[str]
    sentences: int
    long: int
    openings: int

    @property
    def per_kilo(self) -> float:
        """Markers per 1,000 words."""
        return 1000 * self.markers.total() / max(self.words, 1)

    @property
    def what_per_kilo(self) -> float:
        """Occurrences of `what` per 1,000 words."""
        return 1000 * self.markers["what"] / max(self.words, 1)

    @property
    def long_percent(self) -> float:
        """Share of sentences over 30 words, in percent."""
        return 100 * self.long / max(self.sentences, 1)


CODE_SPAN = re.compile(r"``[^`]*``|`[^`\n]*`")
EXCEPTIONS = tomllib.loads((ROOT / "tests/prose.toml").read_text())["exceptions"]


def plain(text: str) -> str:
    """The prose of a passage: without code spans, links' targets, rustdoc references and emphasis."""
    for phrase in EXCEPTIONS:
        text = text.replace(phrase, " X ")
    text = CODE_SPAN.sub(" X ", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[(X|\s*X\s*)\]", r"\1", text)
    text = re.sub(r"https?://\S+", " X ", text)
    return re.sub(r"\*\*|__|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", "", text)


def sentences(text: str) -> list[str]:
    """The sentences of a passage, but for questions."""
    parts = re.split(r"(?<=[.!?])[\")]?\s+(?=[A-Z\"'(X])|(?<=:)\s*\n\s*\n", plain(text))
    joined: list[str] = []
    for part in parts:
        if joined and ABBREVIATION.search(joined[-1]):
            joined[-1] += f" {part}"
        else:
            joined.append(part)
    stripped = (" ".join(part.split()) for part in joined)
    return [part for part in stripped if part and not part.endswith("?") and WORD.search(part.replace("X", ""))]


def in_markdown(path: Path) -> Iterator[Passage]:
    """Paragraphs, items and cells of a page; headings are passages as well."""
    fenced = False
    passage: list[str] = []
    start = 0
    name = str(path.relative_to(ROOT))

    def done() -> Iterator[Passage]:
        if passage:
            yield Passage(name, start, "\n".join(passage))
            passage.clear()

    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            yield from done()
            fenced = not fenced
            continue
        if fenced or not line.strip() or line.startswith("    "):
            yield from done()
            continue
        if line.startswith("#"):
            yield from done()
            continue
        if line.lstrip().startswith("|"):
            yield from done()
            for cell in line.strip().strip("|").split("|"):
                if not re.fullmatch(r"\s*:?-+:?\s*", cell) and cell.strip():
                    yield Passage(name, number, cell.strip(), is_cell=True)
            continue
        item = re.match(r"\s*(?:[-*+]|\d+\.)\s+(.*)", line)
        if item:
            yield from done()
            line = item[1]
        if not passage:
            start = number
        passage.append(line.strip())
    yield from done()


def in_comments(path: Path, marks: str) -> Iterator[Passage]:
    """Yields the comments of a program, in languages with comments that run to the end of the line."""
    name = str(path.relative_to(ROOT))
    block: list[str] = []
    start, kind, fenced = 0, "", False
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        found = re.match(rf"\s*({marks})(?: (.*)|$)", line)
        trailing = None if found else re.search(rf"[;,{{}}:)\]] +(?:{marks}) (.*)$", line)
        if block and (not found or found[1] != kind):
            yield from (passage._replace(mark=kind) for passage in paragraphs(name, start, block))
            block, fenced = [], False
        if found:
            text = found[2] or ""
            if text.strip().startswith("```"):
                fenced = not fenced
                text = ""
            if not block:
                start, kind = number, found[1]
            block.append("" if fenced else text)
        elif trailing:
            yield Passage(name, number, trailing[1])


def paragraphs(name: str, start: int, lines: list[str]) -> Iterator[Passage]:
    """Splits a comment at its blank lines and items."""
    passage: list[str] = []
    first = start
    for number, line in enumerate([*lines, ""], start):
        is_item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        is_picture = re.search(r"[─│┌└├┤┬┴╭╰▶▲▼]|-->|^\s*\|", line) or line.startswith("    ")
        if (not line.strip() or is_item or is_picture or line.startswith("#")) and passage:
            yield Passage(name, first, "\n".join(passage))
            passage = []
        if line.strip() and not is_picture and not line.startswith("#"):
            if not passage:
                first = number
            passage.append(re.sub(r"^\s*(?:[-*]|\d+\.)\s+", "", line).strip())


def in_python(path: Path) -> Iterator[Passage]:
    """Comments and docstrings of a module, those of its attributes included."""
    name = str(path.relative_to(ROOT))
    yield from (Passage(name, line, text, mark="docstring") for line, text in docstrings(path))
    comments = in_comments(path, "#")
    yield from (passage for passage in comments if not re.match(r"(?:noqa|type:|pragma|ruff)", passage.text))


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a block and of the blocks in their bodies."""
    for statement in body:
        yield statement
        yield from statements(getattr(statement, "body", ()))


@cache
def docstrings(path: Path) -> tuple[tuple[int, str], ...]:
    """Docstrings with their lines: strings that are statements."""
    strings = (
        node.value
        for node in statements(tree(path).body)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    )
    texts = ((text.lineno, inspect.cleandoc(str(text.value)).splitlines()) for text in strings)
    found = (passage for line, lines in texts for passage in paragraphs("", line, lines))
    return tuple((passage.line, passage.text) for passage in found)


def short_docstrings() -> Iterator[tuple[str, int, str]]:
    """Docstrings and doc comments of fewer than four words, with their files and lines."""
    for passage in (*passages("Rust"), *passages("Python")):
        is_documentation = passage.mark in {"///", "docstring"} and not passage.path.startswith("python/tests")
        if is_documentation and len(WORD.findall(plain(passage.text))) < SHORT_DOCSTRING_WORDS:
            yield passage.path, passage.line, passage.text


def in_help() -> Iterator[Passage]:
    """Help of all commands and their options."""
    import click
    from casemate.cli.main import casemate
    from command_tree import every_command

    for words, command in every_command(casemate, "casemate"):
        for text in (command.help, command.epilog, command.short_help):
            if text:
                prose = re.sub(r"\x08\n(?:.+\n?)*", "", text)
                yield from paragraphs(words, 1, prose.splitlines())
        for parameter in command.params:
            if isinstance(parameter, click.Option) and parameter.help:
                yield Passage(f"{words} {parameter.opts[-1]}", 1, parameter.help)


@cache
def passages(kind: str) -> list[Passage]:
    """All prose of a kind of document."""
    match kind:
        case "README":
            return list(in_markdown(ROOT / "README.md"))
        case "docs":
            # The page on style quotes the constructions that it replaces.
            files = [path for path in tracked("docs/**/*.md", "CONTRIBUTING.md") if path.stem != "STYLE"]
            return [found for path in files for found in in_markdown(path)]
        case "help":
            return list(in_help())
        case "Rust":
            files = tracked("crates/**/*.rs", "fuzz/**/*.rs", "comparisons/**/*.rs")
            return [found for path in files for found in in_comments(path, "//[/!]?")]
        case "Python":
            return [
                found for path in tracked("python/**/*.py", "scripts/*.py", "tests/*.py") for found in in_python(path)
            ]
        case "SystemVerilog":
            # Includes its benches; most are written in Python.
            files = tracked("rtl/**", "dv/**", "formal/**")
            code = [path for path in files if path.suffix in {".sv", ".svh", ".v", ".cpp", ".h"}]
            benches = [path for path in files if path.suffix == ".py"]
            return [
                *(found for path in code for found in in_comments(path, "//")),
                *(found for path in benches for found in in_python(path)),
            ]
        case "configuration":
            files = tracked(
                "**/*.toml", "Makefile", "**/*.sh", ".ci/run", "**/*.sby", "!tests/prose.toml", "!tests/structure.toml"
            )
            return [found for path in files for found in in_comments(path, "#")]
        case "strings":
            return [Passage(str(path.relative_to(ROOT)), line, text) for path, line, text in prose_strings.in_sources()]
    raise ValueError(f"no kind of document is called {kind}")


KINDS = ("README", "docs", "help", "Rust", "Python", "SystemVerilog", "configuration", "strings")


def measure(found: list[Passage]) -> Measure:
    """Counts markers, sentences, long ones and forbidden openings."""
    words = in_sentences = number = long = openings = 0
    markers: Counter[str] = Counter()
    names = list(MARKERS)
    for passage in found:
        for sentence in sentences(passage.text):
            found_words = WORD.findall(sentence)
            words += sum(word != "X" for word in found_words)
            length = len(found_words)
            if not passage.is_cell:
                number += 1
                in_sentences += length
                long += length > LONG_WORDS
            openings += bool(OPENINGS.match(sentence))
            markers.update(names[int(str(hit.lastgroup)[1:])] for hit in MARKER.finditer(sentence))
    return Measure(words, in_sentences, markers, number, long, openings)


@cache
def measure_of(kind: str) -> Measure:
    """Counts over all prose of a kind of document."""
    return measure(passages(kind))


def table() -> Iterator[str]:
    """One line for each kind of document."""
    yield f"{'':14}{'words':>8} {'markers':>8} {'what':>6} {'sentences':>10} {'mean':>6} {'over 30':>8} {'openings':>9}"
    for kind in KINDS:
        seen = measure_of(kind)
        yield (
            f"{kind:14}{seen.words:8} {seen.per_kilo:8.1f} {seen.what_per_kilo:6.1f} {seen.sentences:10} "
            f"{seen.words_in_sentences / max(seen.sentences, 1):6.1f} {seen.long_percent:7.1f}% {seen.openings:9}"
        )
    twice = types_defined_twice()
    within = sum(len(crates) > len(set(crates)) for crates in twice.values())
    yield f"types defined more than once: {len(twice)}, {within} of them within a crate"
    yield f"identifiers with a banned word: {len(banned_identifiers())}"
    yield f"docstrings of fewer than {SHORT_DOCSTRING_WORDS} words: {len(list(short_docstrings()))}"


def listed(kind: str, prefix: str) -> Iterator[str]:
    """Each marker, forbidden opening and long sentence, with the words around it."""
    for passage in passages(kind):
        if not passage.path.startswith(prefix):
            continue
        at = f"{passage.path}:{passage.line}:"
        for sentence in sentences(passage.text):
            if OPENINGS.match(sentence):
                yield f"{at} [opening] {sentence[:100]}"
            length = len(WORD.findall(sentence))
            if length > LONG_WORDS and not passage.is_cell:
                yield f"{at} [{length} words] {sentence[:100]}"
            for hit in MARKER.finditer(sentence):
                yield f"{at} [{hit[0]}] {sentence[max(0, hit.start() - 50) : hit.end() + 50]}"


def main() -> None:
    """Prints the table, or the markers of a kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=KINDS)
    parser.add_argument("path", nargs="?", default="")
    chosen = parser.parse_args()
    for line in listed(chosen.list, chosen.path) if chosen.list else table():
        print(line)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    main()
