"""Draws 70 sentences of the project for a reader who has not seen it: ten of each kind, with their contexts.

scripts/prose_sample.py SEED
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator

from files import ROOT
from names import subjects, test_names
from prose import CODE_SPAN, SHORT_DOCSTRING_WORDS, Passage, passages, sentences


def with_code(text: str) -> list[str]:
    """The sentences of a passage with their code spans."""
    spans: list[str] = []

    def hide(span: re.Match[str]) -> str:
        spans.append(span[0])
        return f"X{len(spans) - 1}X"

    hidden = sentences(CODE_SPAN.sub(hide, text))
    return [re.sub(r"X(\d+)X", lambda at: spans[int(at[1])], sentence) for sentence in hidden]


def context(passage: Passage) -> str:
    """The heading above a passage of a page, or the line of code that a comment or a docstring describes."""
    path = ROOT / passage.path
    if not path.is_file():
        return ""
    lines = path.read_text().splitlines()
    above, below = lines[passage.line - 2 :: -1] if passage.line > 1 else [], lines[passage.line - 1 :]
    if path.suffix == ".md":
        return next((line for line in above if line.startswith("#")), "")
    if path.suffix == ".py" and passage.mark == "docstring":
        return next((line.strip() for line in above if line.strip()), "")
    return next((line.strip() for line in below if line.strip() and not re.match(r"\s*(//|#)", line)), "")


def sample(seed: int) -> Iterator[str]:
    """Ten sentences of each kind, drawn with this seed, with their places and contexts: of at least four words, and not
    from cells of tables.
    """
    draw = random.Random(seed)
    for kind in ("README", "docs", "help", "Rust", "Python"):
        prose = (passage for passage in passages(kind) if not passage.is_cell)
        found = [
            (passage, sentence)
            for passage in prose
            for sentence in with_code(passage.text)
            if len(sentence.split()) >= SHORT_DOCSTRING_WORDS
        ]
        for passage, sentence in draw.sample(found, 10):
            yield f"{kind}\t{passage.path}:{passage.line}\t{context(passage)}\t{sentence}"
    for kind, names in (("test", sorted(test_names())), ("commit", subjects())):
        for name in draw.sample(names, min(10, len(names))):
            yield f"{kind}\t\t\t{name}"


def main() -> None:
    """Prints the sentences of a seed: kind, place, context and sentence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    for line in sample(parser.parse_args().seed):
        print(line)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    main()
