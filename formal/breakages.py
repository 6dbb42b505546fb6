"""Changes to the sources with which a proof must fail. They show that each claim of `formal/` can be false.

A claim that every design fulfils would also hold for a broken design. So each claim (`a_...`) has a change that breaks
it. The changed copy assumes all other properties of the module, up to and including the cycle in which the claim fails.
Induction assumes them before that cycle anyway. With the assumptions in that cycle, the solver can only fail at the
claim.
"""

import re
from dataclasses import dataclass

PROPERTY = re.compile(r"\b([ai]_\w+):(\s*)assert\b")


@dataclass(frozen=True)
class Change:
    """A change to a source, after which a proof must fail at the property `fails`, or hold if `fails` is empty."""

    proof: str
    file: str
    old: str
    new: str
    fails: str = ""
    # Replacement (old, new) in the module of properties: sets a parameter with which the change has an effect.
    parameter: tuple[str, str] = ("", "")

    @property
    def properties(self) -> str:
        """Path of the module of properties, from the root."""
        return f"formal/{self.proof}{'' if self.proof == 'aes_sbox_equal' else '_properties'}.sv"

    def properties_of(self, text: str) -> str:
        """Returns a module of properties with the parameter set, and with all but `fails` assumed if `fails` is set."""
        text = text.replace(*self.parameter) if self.parameter[0] else text
        return alone(text, self.fails) if self.fails else text


def alone(text: str, name: str) -> str:
    """Returns a module of properties that asserts only the named property and assumes all other properties."""
    return PROPERTY.sub(lambda found: found[0] if found[1] == name else f"{found[1]}:{found[2]}assume", text)


BREAKAGES = (
    Change("aes_sbox_equal", "aes_sbox.sv", "8'h01, 8'h50,", "8'h01, 8'h51,", "a_tower_is_table"),
    Change("aes_core", "aes_core_iterated.sv", "wipe_i || (leave && !enter)", "wipe_i", "a_idle_core_holds_zeros"),
    Change(
        "aes_core",
        "aes_core_iterated.sv",
        "else if (!step_q[0] && !last) step_d",
        "else if (!step_q[0]) step_d",
        "a_iterated_core_is_in_a_step",
    ),
    Change(
        "aes_core",
        "aes_core_pipelined.sv",
        "valid_i ? block_i ^ round_key_q[0] : '0",
        "block_i ^ round_key_q[0]",
        "a_stage_without_a_block_holds_zeros",
    ),
    # Keys are ready one cycle early, while the core computes the last one.
    Change(
        "aes_core",
        "aes_core_pipelined.sv",
        "key_ready_o = making_q[0];",
        "key_ready_o = making_q[0] || making_q[Rounds];",
        "a_keys_take_the_cycles_of_their_rounds",
    ),
    Change(
        "aes_core",
        "aes_core_pipelined.sv",
        "^block_i ^ key_parity_q;",
        "^block_i;",
        "a_pipelined_core_does_not_contradict_itself",
    ),
    # A response has the id of another request.
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "rsp_id_o |= out_id_q[o];",
        "rsp_id_o |= out_id_q[o] ^ IdBits'(1);",
        "a_answer_is_of_a_request",
    ),
    # The lane drops a response that the consumer does not take.
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "&& rsp_valid_o && rsp_ready_i;",
        "&& rsp_valid_o;",
        "a_request_is_inside_until_answered",
    ),
    # The lane releases refused lines.
    Change("gcm_lane", "gcm_lane.sv", "if (verdict[o] == Accepted && ^out", "if (^out", "a_released_is_verified"),
    Change("gcm_lane", "gcm_lane.sv", "rsp_line_o |= out_line_q[o];", "rsp_line_o |= line;", "a_released_is_its_own"),
    # Every response contains the line.
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "rsp_id_o |= out_id_q[o];",
        "rsp_id_o |= out_id_q[o]; rsp_line_o |= out_line_q[o];",
        "a_refused_shows_nothing",
    ),
    # The lane stores a key that it has not accepted.
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "else if (key_enter) key_q",
        "else if (key_valid_i) key_q",
        "a_key_is_stable_while_busy",
    ),
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "alert_o = halted_q;",
        "alert_o = halted_q || abort_i;",
        "a_lane_does_not_halt_by_itself",
    ),
    # The ports accept a line before a key, and the lane ignores it.
    Change(
        "gcm_lane",
        "gcm_lane.sv",
        "assign accept = req_valid_i && req_ready_o;\n  assign req_ready_o = key_state_q == KeyReady && ",
        "assign accept = req_valid_i && req_ready_o && key_state_q == KeyReady;\n  assign req_ready_o = ",
        "a_no_line_enters_without_a_key",
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
    *(
        Change("gcm_lane", "gcm_lane.sv", "counter_of(issue_op,", "counter_of(OpOpen,", which)
        for which in ("a_first_block_is_of_the_request", "a_other_blocks_are_of_the_request")
    ),
    Change("gcm_lane", "gcm_lane.sv", "aes_in_ready && !wipe;", "aes_in_ready;", "a_abort_takes_nothing"),
    Change("gcm_router", "gcm_router.sv", "rsp_id[l] & {IdBits{grant[l]}};", "rsp_id[l];", "a_answer_is_of_a_request"),
    # A request that the router does not take enters a lane.
    Change(
        "gcm_router",
        "gcm_router.sv",
        "req_valid_i && req_ready_o && chosen[l]",
        "req_valid_i && chosen[l]",
        "a_request_is_in_one_lane",
    ),
    Change("gcm_router", "gcm_router.sv", "? held_q : first", "? first : first", "a_waiting_answer_stays"),
    Change("gcm_router", "gcm_router.sv", "= |alert;", "= &alert;", "a_alert_is_any_lanes"),
    Change(
        "gcm_router", "gcm_router.sv", "!key_valid_i && !alert_o", "!key_valid_i", "a_nothing_enters_after_an_alert"
    ),
    Change("gcm_router", "gcm_router.sv", "!key_valid_i && !alert_o", "!alert_o", "a_no_line_enters_while_a_key_waits"),
    Change(
        "gcm_router",
        "gcm_router.sv",
        "req_ready_o && chosen[l]",
        "req_ready_o && req_ready[l]",
        "a_lowest_ready_lane_takes_it",
    ),
    Change("gcm_router", "gcm_router.sv", "= &key_ready;", "= |key_ready;", "a_key_comes_when_all_are_idle"),
    Change("gcm_router", "gcm_router.sv", "key_valid_i && key_ready_o)", "key_valid_i)", "a_all_lanes_have_one_key"),
    # The lowest lane always responds first. With two lanes, each lane still waits for at most one other response.
    Change(
        "gcm_router",
        "gcm_router.sv",
        "|(rsp_valid & above_q) ? rsp_valid & above_q : rsp_valid;",
        "rsp_valid;",
        "a_lanes_take_turns",
        ("Lanes = 2", "Lanes = 3"),
    ),
    Change(
        "gcm_router",
        "gcm_router.sv",
        "~(grant | (grant - Lanes'(1)))",
        "grant | (grant - Lanes'(1))",
        "i_turns_are_kept",
    ),
)


# Proofs that take minutes, and the changes that take the solver longest.
WIDER = (
    Change("gcm_router", "../formal/gcm_router_properties.sv", "Lanes = 2", "Lanes = 3"),
    Change("aes_core", "../formal/aes_core_properties.sv", "KeyBits = 128", "KeyBits = 256"),
    Change("gcm_router", "gcm_router.sv", "|(rsp_ok & grant)", "|rsp_ok", "a_answer_is_what_the_lane_says"),
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
        "i_key_is_used_if_there_is_one",
    ),
)
