# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Weaknesses planted into copies of the sources. For each weakness, some flipped bit must release a secret.

Each plant removes a protection of the lane that tests without faults do not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lane_model import ROOT, FaultsError, Point

ITERATED = Point()
PIPELINED = Point(128, 0, 128)
# Register with the nonce of a line inside; the nonce of a neighbouring line is one flip away.
NONCE = ("in_nonce_q",)
# Registers with the counter block plus the first round key in a block's first step, and with the stored round key.
ENTERED = ("u_aes.gen_iterated.u_core.state_q",)
ENTERED_STAGE = ("u_aes.gen_pipelined.u_core.state_q[0]", "u_aes.gen_pipelined.u_core.round_key_q[0]")


@dataclass(frozen=True)
class Plant:
    """Replacements (old, new) in a source, and the history and point in which flips must reveal the weakness."""

    name: str
    source: str
    changes: tuple[tuple[str, str], ...]
    history: str
    point: Point = ITERATED
    # Wide registers, or first elements of wide registers, with all bits flipped.
    whole: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Writes the changed source to `folder`. Raises `FaultsError` if a text to be replaced does not occur once."""
        text = (ROOT / "rtl" / self.source).read_text()
        for before, after in self.changes:
            if text.count(before) != 1:
                found = text.count(before)
                raise FaultsError(
                    f"plant `{self.name}`: rtl/{self.source} has {found} times, not once: {before.strip()}"
                )
            text = text.replace(before, after)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / self.source).write_text(text)


# Port connections of a rail that follow its operation.
_TO = "\n    .tag_i(out_tag_q),\n    .rail_o(rail_"

PLANTS = (
    Plant(
        "a line is shown unless it is refused",
        "gcm_lane.sv",
        (
            ("verdict[o] inside {Refused, Accepted}) begin", "verdict[o] != Pending) begin"),
            ("if (verdict[o] == Accepted && ^out_op_q[o])", "if (verdict[o] != Refused)"),
        ),
        "busy",
    ),
    Plant(
        "the verdict is on one rail",
        "gcm_lane.sv",
        (("verdict_e'({rail_a[o], rail_b[o]})", "verdict_e'({2{rail_a[o]}})"),),
        "busy",
    ),
    Plant(
        "the operation is on one wire",
        "gcm_lane.sv",
        (
            *(
                (f".op_i(out_op_q),{_TO}{rail})", f".op_i(out_op_q[0][0] ? OpSeal : OpOpen),{_TO}{rail})")
                for rail in "ab"
            ),
            ("          (out_busy_q[o] == Yes && ~^out_op_q[o]) ||\n", ""),
            ("verdict[o] == Accepted && ^out_op_q[o]", "verdict[o] == Accepted"),
        ),
        "busy",
    ),
    Plant(
        "the lane does not check the slots of the back",
        "gcm_lane.sv",
        (("!is_one_hot(16'(front_q)) || !is_one_hot(16'(back_q)) ||", "!is_one_hot(16'(front_q)) ||"),),
        "busy",
        PIPELINED,
    ),
    Plant(
        "the lane does not check the stages of AES",
        "gcm_lane.sv",
        (("assign fault = control_fault || aes_fault || mul_fault;", "assign fault = control_fault || mul_fault;"),),
        "busy",
        PIPELINED,
    ),
    Plant(
        "a nonce is kept without its parity",
        "gcm_lane.sv",
        ((" || ^{in_nonce_q[i], in_parity_q[i]}", ""),),
        "neighbours",
        whole=NONCE,
    ),
    Plant(
        "a block enters AES without its parity",
        "aes_core_iterated.sv",
        ((" || (step_q[1] && ^state_q != parity_q)", ""),),
        "between-authentic",
        whole=ENTERED,
    ),
    Plant(
        "a block enters a stage without its parity",
        "aes_core_pipelined.sv",
        (("contradiction = there_q[0] == 2'b10 && ^state_q[0] != parity_q;", "contradiction = 1'b0;"),),
        "between-authentic",
        PIPELINED,
        whole=ENTERED_STAGE,
    ),
    Plant(
        "the cycle of a product is a counter in binary",
        "gf128_mul.sv",
        (
            ("  logic [Cycles:0] step_q;", "  logic [$clog2(Cycles + 1)-1:0] left_q;\n  logic first_q;"),
            ("assign last = step_q[Cycles];", "assign last = left_q == 1;"),
            ("assign fault_o = (step_q & (step_q - 1)) != '0 || step_q == '0;", "assign fault_o = 1'b0;"),
            ("step_q[1] ? '0 : sum_q", "first_q ? '0 : sum_q"),
            ("step_q[0] || (Cycles == 1 && last)", "left_q == '0 || (Cycles == 1 && last)"),
            ("if (!rst_ni) step_q <= (Cycles + 1)'(1);", "if (!rst_ni) left_q <= '0;"),
            ("else if (wipe_i) step_q <= (Cycles + 1)'(1);", "else if (wipe_i) left_q <= '0;"),
            ("else if (start_i) step_q <= (Cycles + 1)'(2);", "else if (start_i) left_q <= Cycles;"),
            (
                "else if (!step_q[0]) step_q <= {step_q[Cycles-1:0], step_q[Cycles]};",
                "else if (left_q != '0) left_q <= left_q - 1;",
            ),
            (
                "    if (start_i) digits_q <= digits_i;",
                "    first_q <= start_i;\n    if (start_i) digits_q <= digits_i;",
            ),
            ("if (!step_q[0]) sum_q", "if (left_q != '0) sum_q"),
        ),
        "one-digit",
    ),
    Plant(
        "that a line is hashed is on one wire",
        "gcm_lane.sv",
        (
            ("assign hashed = hashed_q == Yes;", "assign hashed = hashed_q[1];"),
            (" || ~^final_q || ~^hashed_q;", " || ~^final_q;"),
        ),
        "hash-after",
        PIPELINED,
    ),
    Plant(
        "that a key's step is new is on one wire",
        "gcm_lane.sv",
        (
            ("assign key_new = key_new_q == Yes;", "assign key_new = key_new_q[1];"),
            ("~^key_new_q || ~^fresh_q", "~^fresh_q"),
        ),
        "rekeyed",
        PIPELINED,
    ),
    Plant(
        "an alert is raised, and the lane continues",
        "gcm_lane.sv",
        (
            ("assign answers = is_one_hot(16'(answer_q)) && !halted_q;", "assign answers = 1'b1;"),
            ("key_state_q == KeyReady) || fresh || halted_q;", "key_state_q == KeyReady) || fresh;"),
        ),
        "busy",
        PIPELINED,
    ),
)
