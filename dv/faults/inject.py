# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Flips one bit of a GCM lane, in every register and every cycle, while it opens lines that are not authentic.

The lane must not release a secret, and must not lose a response without an alert. For each parameter point, the script
compares the flipped registers with the flip-flops that synthesis finds. Then it flips bits of lanes with planted
weaknesses, and must find each weakness.

    inject.py                            every history, all of control and a share of data, one complete; a sixth of
                                         the planted weaknesses, which the seed selects: a minute
    inject.py --complete                 every bit in every cycle, on more parameter points; all planted weaknesses
    inject.py --history hash-after --point pipelined --share 1
    inject.py --history authentic --registers   harm that GCM does not detect, by register

Exit codes: 0 if all checks pass, 2 if tools are missing or the request makes no sense. Code 1 means a release, a lost
response or a plant that was not found. Ctrl-C ends with 130. Code 141 means that the reader of the output left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import command

with command.ending("inject.py"):
    import endings
    from casemate._core import CasemateError
    from histories import HISTORIES, UNSEEN, history
    from lane_model import ROOT, FaultsError, Point, build, flip_flops, registers
    from plants import ENTERED, ENTERED_STAGE, NONCE, PLANTS, Plant

POINTS = {
    "iterated": Point(),
    "pipelined": Point(128, 0, 128),
    "iterated-256": Point(256),
    # Its hash is ready after its last slot.
    "slow-hash-256": Point(256, 1, 8),
    "two-rounds": Point(128, 2, 32),
    "pipelined-256": Point(256, 0, 128),
}
QUICK_POINTS = ("iterated", "pipelined")
# Share by point: one of N bits of registers wider than 32 bits is flipped. Below, the exception with every bit flipped.
QUICK_SHARES = {"iterated": 128, "pipelined": 1024}
QUICK_COMPLETE = ("iterated", "busy")
# Registers with all bits flipped in a history: flips of AES inputs give blocks of other counters or lines.
QUICK_WHOLE = {
    ("iterated", "between-authentic"): ENTERED,
    ("iterated", "neighbours"): (*NONCE, *ENTERED),
    ("pipelined", "between-authentic"): ENTERED_STAGE,
    ("pipelined", "neighbours"): (*NONCE, *ENTERED_STAGE),
}
# A share that in practice flips only control.
CONTROL = 1_000_000
# One of this many planted weaknesses is tried by default, because each one needs a compiled lane.
QUICK_PLANTS = 6


@dataclass(frozen=True)
class Options:
    """Options of a run, and the folder of the compiled models."""

    points: list[str]
    histories: list[str]
    share: int | None
    seed: int
    build: Path
    show_registers: bool


def inject(injector: Path, outcome: endings.Outcome, key_bits: int, seed: int) -> None:
    """Runs a history with flips, shows its progress, and adds the results to `outcome`."""
    with tempfile.NamedTemporaryFile("w", suffix=".history") as file, command.step(outcome.point, "flips") as steps:
        file.write(history(outcome.history, key_bits, seed).written(slack=200))
        file.flush()
        words = [str(injector), file.name, str(outcome.share), str(seed), *outcome.whole]
        with command.started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            said = ""
            for line in run.stderr:
                if line.startswith("progress "):
                    done, total = map(int, line.split()[1:])
                    steps.report({"done": done, "of": total, "about": outcome.history})
                else:
                    said = line.strip()
            for line in run.stdout:
                outcome.take(line)
    if run.returncode != 0:
        outcome.broken = said or f"the injector ended with {run.returncode}"


def same_registers(point: Point, injector: Path) -> None:
    """Compares the registers with the flip-flops of synthesis. Raises `FaultsError` if they differ."""
    with command.step(point.name, "synthesis finds flip-flops"):
        flipped, found = registers(injector), flip_flops(point, ROOT / "rtl")
    print(f"\n{point.name}: {sum(flipped.values()):,} flip-flops in {len(flipped)} registers are flipped; ", end="")
    print(f"synthesis finds {sum(found.values()):,} in {len(found)}", flush=True)
    if flipped != found:
        names = sorted(name for name in flipped.keys() | found.keys() if flipped.get(name) != found.get(name))
        raise FaultsError(f"registers differ between Verilator and synthesis: {', '.join(names)}")


def share_of(point: str, name: str, options: Options) -> int:
    """Returns the share of a history: one of N bits of wide registers is flipped."""
    if options.share is not None:
        return options.share
    return 1 if (point, name) == QUICK_COMPLETE else QUICK_SHARES[point]


def sweep(name: str, options: Options) -> Iterator[endings.Outcome]:
    """Runs every history on a lane and prints a row for each. Raises `FaultsError` if a history fails."""
    point = POINTS[name]
    with command.step(point.name, "build"):
        injector = build(point, ROOT / "rtl", options.build)
    same_registers(point, injector)
    print(endings.header())
    outcomes = []
    for each in options.histories:
        share = share_of(name, each, options)
        outcome = endings.Outcome(name, each, share, QUICK_WHOLE.get((name, each), ()) if share > 1 else ())
        inject(injector, outcome, point.key_bits, options.seed)
        if outcome.broken:
            raise FaultsError(f"{name}, {each}: {outcome.broken}")
        outcomes.append(outcome)
        print(endings.row(each, [outcome]) + _share(outcome), flush=True)
        for register, bit, cycle in outcome.releases if each in HISTORIES else []:
            print(f"  released: bit {bit} of {register} in cycle {cycle}")
        if options.show_registers:
            print("\n".join(endings.by_register(outcome)))
        yield outcome
    claimed = [outcome for outcome in outcomes if outcome.history in HISTORIES]
    if claimed:
        print(endings.row("must be refused", claimed))


def _share(outcome: endings.Outcome) -> str:
    if outcome.share == 1:
        return "  complete"
    return f"  data: 1 of {outcome.share}" + "".join(f", all of {each.split('.')[-1]}" for each in outcome.whole)


def find(plant: Plant, options: Options) -> bool:
    """Returns True if flips find a planted weakness, and prints a sentence about it."""
    with tempfile.TemporaryDirectory() as folder:
        plant.write(Path(folder))
        with command.step(plant.name, "build"):
            # The run takes a second and compilation takes longer, so a lower level of optimisation is faster.
            injector = build(plant.point, Path(folder), options.build, "-O1")
    outcome = endings.Outcome("planted", plant.history, CONTROL, plant.whole)
    inject(injector, outcome, plant.point.key_bits, options.seed)
    count = outcome.ended("released") if not outcome.broken else 0
    if outcome.broken:
        print(f"  {plant.name:48} not tried: {outcome.broken}")
    elif count == 0:
        print(f"  {plant.name:48} NOT FOUND by `{plant.history}`")
    else:
        register, bit, cycle = outcome.releases[0]
        print(f"  {plant.name:48} {count:4} releases by `{plant.history}`, as bit {bit} of {register} in cycle {cycle}")
    sys.stdout.flush()
    return count > 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parses and checks the command line."""
    summary, _, examples = (__doc__ or "").partition("\n\n")
    all_histories = [*HISTORIES, *UNSEEN]
    parser = command.Parser(
        prog="inject.py", description=summary, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--complete", action="store_true", help="every bit in every cycle, on all points")
    for option, what, names in (("--point", "parameter point", [*POINTS]), ("--history", "history", all_histories)):
        listed = f"a {what}, again for more: {', '.join(names)}"
        parser.add_argument(option, action="append", type=command.one_of(names), metavar="NAME", help=listed)
    parser.add_argument("--share", type=int, metavar="N", help="flip one of N bits of wide registers (1: all)")
    parser.add_argument("--seed", type=int, default=1, help="seed of keys, lines, the state at power-up and the share")
    parser.add_argument("--registers", action="store_true", help="show registers with flips that GCM does not detect")
    parser.add_argument("--no-plants", action="store_true", help="skip the planted weaknesses")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "hw" / "faults", help="folder of the models")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all counts, by register")
    options = parser.parse_args(arguments)
    if options.share is not None and options.share < 1:
        parser.error(f"--share {options.share}: expected 1 (every bit) or more")
    if options.complete and options.share not in (None, 1):
        parser.error(f"--share {options.share}: --complete flips every bit; expected one of the two")
    try:
        options.build.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--build: cannot make the folder '{options.build}': {error.strerror}")
    if options.json and (options.json.is_dir() or not options.json.absolute().parent.is_dir()):
        # Checked now, because the file is written at the end, minutes later.
        parser.error(f"--json: cannot write '{options.json}': expected a file in an existing folder")
    return options


def plants(chosen: argparse.Namespace) -> tuple[Plant, ...]:
    """Returns the planted weaknesses to try."""
    if chosen.no_plants:
        return ()
    return PLANTS if chosen.complete else PLANTS[chosen.seed % QUICK_PLANTS :: QUICK_PLANTS]


def main() -> int:
    """Runs the histories and plants that the command line selects; returns the exit code."""
    chosen = parse(sys.argv[1:])
    points = chosen.point or list(POINTS if chosen.complete else QUICK_POINTS)
    shares = 1 if chosen.complete else chosen.share
    if shares is None and not set(points) <= set(QUICK_SHARES):
        shares = max(QUICK_SHARES.values())
    names = chosen.history or [*HISTORIES, *UNSEEN]
    options = Options(points, names, shares, chosen.seed, chosen.build, chosen.registers)
    try:
        outcomes = [outcome for point in options.points for outcome in sweep(point, options)]
        print("\n" + endings.LEGEND)
        planted = plants(chosen)
        if planted:
            print(
                f"\n{len(planted)} of {len(PLANTS)} planted weaknesses, with flips of control and of the inputs of AES:"
            )
        missed = [plant for plant in planted if not find(plant, options)]
        if chosen.json:
            endings.write(outcomes, chosen.json)
    except CasemateError as error:
        raise FaultsError(str(error)) from error
    claimed = [outcome for outcome in outcomes if outcome.history in HISTORIES]
    released, lost = (sum(outcome.ended(end) for outcome in claimed) for end in ("released", "lost"))
    flips = sum(outcome.flips for outcome in claimed)
    print(f"\n{flips:,} flips while lines had to be refused: {released} releases, {lost} lost responses", end="")
    print(f"; {len(planted) - len(missed)} of {len(planted)} planted weaknesses found" if planted else "")
    return 1 if released or lost or missed else 0


if __name__ == "__main__":
    command.carry_out("inject.py", main)
