// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Properties of a lane with an iterated core, for any function and any latency of its cipher and multiplier
// (`models/`):
//
// * an accepted request is inside until its response, and has one response, under its id. The lane does not lose a
//   request, respond twice, or respond under the id of another request;
// * the lane releases an opened line only if three values of the same request cancel out: its tag, its mask and the
//   hash over its ciphertext. The released text is the line of the request plus its pads;
// * a line that is not released outputs zeros, and the lane clears the remainder of its tag with it;
// * the key is constant while a line is inside, and no line enters before the first key;
// * one cycle after reset, the lane contains no line from before it, and no key.
//
// The proof follows one request through the lane: the request with the id `watched`, which may be any id. It records
// the history of this request from the ports of the lane, the cipher and the multiplier, and not from the registers in
// which the lane stores the request. Ids of requests that are inside differ.

module gcm_lane_properties #(
  parameter int unsigned KeyBits = 128,
  parameter int unsigned IdBits = 2
) (
  input logic clk_i,
  input logic rst_ni,
  input logic abort_i,
  input logic key_valid_i,
  input logic [KeyBits-1:0] key_i,
  input logic req_valid_i,
  input gcm_pkg::op_e req_op_i,
  input logic [IdBits-1:0] req_id_i,
  input gcm_pkg::nonce_t req_nonce_i,
  input gcm_pkg::line_t req_line_i,
  input gcm_pkg::block_t req_tag_i,
  input logic rsp_ready_i
);
  import gcm_pkg::*;

  logic key_ready, req_ready, rsp_valid, rsp_ok, idle, alert;
  logic [IdBits-1:0] rsp_id;
  line_t rsp_line;
  block_t rsp_tag;

  gcm_lane #(
    .KeyBits(KeyBits),
    .IdBits(IdBits)
  ) u_lane (
    .*,
    .key_ready_o(key_ready),
    .req_ready_o(req_ready),
    .rsp_valid_o(rsp_valid),
    .rsp_id_o(rsp_id),
    .rsp_ok_o(rsp_ok),
    .rsp_line_o(rsp_line),
    .rsp_tag_o(rsp_tag),
    .idle_o(idle),
    .alert_o(alert)
  );

  // Any constant id: a register with an arbitrary initial value that never changes.
  logic [IdBits-1:0] watched;
  always_ff @(posedge clk_i) watched <= watched;

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;

  // The environment: one reset, legal operations, no id twice at a time.
  logic accept, answer;
  assign accept = req_valid_i && req_ready;
  assign answer = rsp_valid && rsp_ready_i;

  // The watched request: inside or not, its operation, the blocks that the cipher has output, and a complete hash or
  // not.
  logic inside_q, opens_q;
  logic [2:0] blocks_q;
  nonce_t nonce_q;
  line_t line_q, shown_q;
  block_t remainder_q;
  logic hashed_q;

  // The watched request is in the lane's input entry, or in its output entry.
  logic in_it, out_it;
  assign in_it = u_lane.in_valid_q[0] == Yes && u_lane.in_id_q[0] == watched;
  assign out_it = u_lane.out_busy_q[0] == Yes && u_lane.out_id_q[0] == watched;

  // The cipher outputs blocks of the older of the two lines inside; here, that is the watched request.
  logic turn;
  assign turn = inside_q && blocks_q != 3'd5 && u_lane.in_id_q[0] == watched;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) inside_q <= 1'b0;
    else if (accept && req_id_i == watched) inside_q <= 1'b1;
    else if (answer && rsp_id == watched) inside_q <= 1'b0;

    if (accept && req_id_i == watched) begin
      opens_q <= req_op_i == OpOpen;
      line_q <= req_line_i;
      nonce_q <= req_nonce_i;
      blocks_q <= '0;
      hashed_q <= 1'b0;
      remainder_q <= req_op_i == OpOpen ? req_tag_i : '0;
    end else if (inside_q) begin
      if (u_lane.fire && turn) begin
        blocks_q <= blocks_q + 3'd1;
        if (opens_q && blocks_q == '0) remainder_q <= remainder_q ^ u_lane.aes_out;
        for (int unsigned w = 0; w < 4; w++) begin
          if (blocks_q == 3'(opens_q ? w + 1 : w)) shown_q[w] <= line_q[w] ^ u_lane.aes_out;
        end
      end
      if (u_lane.hashed && out_it) begin
        hashed_q <= 1'b1;
        remainder_q <= remainder_q ^ u_lane.mul_product ^ u_lane.h_length_q;
      end
    end
  end

  always_comb begin
    assume (rst_ni == started_q);
    if (req_valid_i) assume (req_op_i inside {OpSeal, OpOpen});
    if (accept && inside_q) assume (req_id_i != watched);
  end

  logic [2:0] issued, consumed;
  logic taken, filled, hashed, hashing, words_kept;
  rails_e in_valid, out_busy;

  assign in_valid = u_lane.in_valid_q[0];
  assign out_busy = u_lane.out_busy_q[0];
  assign filled = u_lane.out_filled_q[0] == Yes;
  assign hashed = u_lane.out_hashed_q[0] == Yes;
  assign taken = consumed != '0;
  assign hashing = (u_lane.u_mul.busy_q && (u_lane.final_q == Yes)) || u_lane.hashed;

  always_comb begin
    consumed = '0;
    issued = in_valid == Yes ? 3'd5 : 3'd0;
    for (int unsigned s = 1; s < Slots; s++) begin
      if (u_lane.back_q[s]) consumed = 3'(s);
      if (u_lane.front_q[s]) issued = 3'(s);
    end
  end

  // The register of the line contains all words that the lane has computed.
  always_comb begin
    words_kept = 1'b1;
    for (int unsigned w = 0; w < 4; w++) begin
      if (blocks_q > 3'(opens_q ? w + 1 : w)) words_kept &= u_lane.out_line_q[0][w] == shown_q[w];
    end
  end

  // ---------------------------------------------------------------- Claims

  logic [KeyBits-1:0] key_before_q;
  logic idle_before_q;
  always_ff @(posedge clk_i) begin
    key_before_q <= u_lane.key_q;
    idle_before_q <= idle || !rst_ni;
  end

  // The lane sent a response in the cycle before.
  logic answered_q;
  always_ff @(posedge clk_i) answered_q <= answer;

  logic fresh_before_q, nothing;
  always_ff @(posedge clk_i) fresh_before_q <= u_lane.fresh;
  assign nothing = {u_lane.in_line_q, u_lane.out_line_q, u_lane.out_tag_q, u_lane.key_q} == '0;

  logic keyed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) keyed_q <= 1'b0;
    else if (key_valid_i && key_ready) keyed_q <= 1'b1;
  end

  logic claims;
  assign claims = rst_ni && started_q;

  always_ff @(posedge clk_i) begin
    if (claims) begin
      a_answer_is_of_a_request: assert (!(rsp_valid && rsp_id == watched) || inside_q);
      a_request_is_inside_until_answered: assert (inside_q == (in_it || out_it));
      a_released_is_verified:
      assert (!(rsp_valid && rsp_ok && rsp_id == watched && opens_q) || (hashed_q && remainder_q == '0));
      a_hash_is_over_this_ciphertext:
      assert (!(u_lane.fire && turn && opens_q && blocks_q < 3'd4) ||
              u_lane.mul_digits == (line_q[blocks_q[1:0]] ^ (blocks_q == '0 ? '0 : u_lane.mul_product)));
      a_released_is_its_own:
      assert (!(rsp_valid && rsp_ok && rsp_id == watched) || rsp_line == shown_q);
      a_first_block_is_of_the_request:
      assert (!(accept && req_id_i == watched) || u_lane.aes_in == {req_nonce_i, req_op_i == OpOpen ? 32'd1 : 32'd2});
      a_other_blocks_are_of_the_request:
      assert (!(u_lane.aes_in_valid && u_lane.aes_in_ready && in_it && !u_lane.front_q[0]) ||
              u_lane.aes_in == {nonce_q, opens_q ? 32'(issued) + 32'd1 : issued == 3'd4 ? 32'd1 : 32'(issued) + 32'd2});
      a_last_product_is_by_h_squared:
      assert (!(u_lane.u_mul.busy_q && out_busy == Yes) ||
              u_lane.mul_factor == (filled || consumed == 3'd4 ? u_lane.h_squared_q : u_lane.h_q));
      a_abort_takes_nothing: assert (!(abort_i && accept));
      a_refused_shows_nothing: assert (rsp_ok || (rsp_line == '0 && rsp_tag == '0));
      a_tag_goes_with_its_line: assert (!answered_q || u_lane.out_tag_q[0] == '0);
      a_key_is_stable_while_busy: assert (idle_before_q || u_lane.key_q == key_before_q);
      a_no_line_enters_without_a_key: assert (!accept || keyed_q);
      a_reset_leaves_nothing: assert (!fresh_before_q || nothing);
      a_lane_does_not_halt_by_itself: assert (!alert);
    end
  end

  // ---------------------------------------------------------------- Invariants of the lane's state, for induction

  always_ff @(posedge clk_i) begin
    if (claims) begin
      i_states_are_legal: assert (!u_lane.fault && !u_lane.halted_q);
      i_key_changes_when_empty:
      assert (u_lane.key_state_q == KeyReady || (in_valid == No && out_busy == No && !taken && u_lane.front_q[0]));
      i_key_is_used_if_there_is_one:
      assert (keyed_q == (u_lane.given_q == Yes) && (keyed_q || u_lane.key_state_q != KeyReady));
      i_reset_comes_first: assert (u_lane.fresh_q == No || (u_lane.key_state_q == KeyNone && !keyed_q));
      i_nothing_without_a_line:
      assert (in_valid == Yes ||
              (!taken && u_lane.front_q[0] && (!u_lane.u_aes.busy_q || u_lane.key_state_q == KeyEncrypt)));
      i_new_key_is_used_at_once: assert (!(u_lane.key_state_q == KeyEncrypt && u_lane.key_new && u_lane.u_aes.busy_q));
      i_blocks_are_consumed_in_order:
      assert (in_valid == No ||
              ((issued == consumed || issued == consumed + 3'd1) && u_lane.u_aes.busy_q == (issued != consumed)));
      i_out_belongs_to_in: assert (!taken || (in_valid == Yes && out_busy == Yes && !filled &&
                                    u_lane.out_id_q[0] == u_lane.in_id_q[0] && u_lane.out_op_q[0] == u_lane.in_op_q[0]));
      i_out_is_filled_or_being_filled: assert (out_busy == No || filled || taken);
      i_no_out_no_progress: assert (out_busy == Yes || (!filled && !hashed && !hashing && u_lane.verdict[0] == Pending));
      i_products_belong_to_out:
      assert (!(u_lane.u_mul.busy_q || u_lane.hashed) || (out_busy == Yes && !hashed) ||
              (u_lane.key_state_q inside {KeySquare, KeyLength} && !(u_lane.final_q == Yes) && !u_lane.hashed));
      i_key_products_are_made_in_turn:
      assert (!(u_lane.key_state_q inside {KeySquare, KeyLength}) ||
              {u_lane.key_new, u_lane.u_mul.busy_q, logic'(u_lane.mul_done_q == Yes)} inside {3'b100, 3'b010, 3'b001});
      i_hash_is_last:
      assert (!(filled || consumed == 3'd4) || (hashed != hashing && !(u_lane.u_mul.busy_q && u_lane.hashed)));
      i_hash_is_not_early:
      assert (filled || consumed == 3'd4 || (!hashed && !u_lane.hashed && !(taken && (u_lane.final_q == Yes))));
      i_verdict_comes_last: assert (u_lane.verdict[0] == Pending || (filled && hashed));
      i_open_is_accepted_with_nothing_left:
      assert (!(u_lane.verdict[0] == Accepted && u_lane.out_op_q[0] == OpOpen) || u_lane.out_tag_q[0] == '0);
      // The watched request.
      i_id_is_inside_once: assert (!(in_it && out_it) || taken);
      i_in_is_the_request: assert (!in_it || (blocks_q == consumed && u_lane.in_op_q[0] == (opens_q ? OpOpen : OpSeal) &&
                                   u_lane.in_line_q[0] == line_q && u_lane.in_nonce_q[0] == nonce_q));
      i_out_is_the_request: assert (!out_it || u_lane.out_op_q[0] == (opens_q ? OpOpen : OpSeal));
      i_tag_waits: assert (!in_it || taken || (!hashed_q && (!opens_q || remainder_q == u_lane.in_tag_q[0])));
      i_remainder_is_kept: assert (!(out_it && opens_q) || remainder_q == u_lane.out_tag_q[0]);
      i_words_are_kept: assert (!(out_it && u_lane.verdict[0] != Refused) || words_kept);
      i_hash_is_complete_once: assert (!out_it || hashed_q == hashed);
      i_blocks_are_counted: assert (!out_it || blocks_q == (taken ? consumed : 3'd5));
    end
  end

endmodule
