// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Properties of a router over any lanes (`models/gcm_lane.sv`):
//
// * an accepted request is in exactly one lane until its response. It has one response, under its id and with the
//   result of that lane;
// * a response that the consumer does not take stays the same;
// * all lanes receive the same keys, when all are idle, and no request enters while a key waits;
// * a request enters the lowest lane that could take it;
// * no lane responds twice while the response of another lane waits all the time;
// * an alert of a lane raises the router's alert, and no request enters after it.
//
// The proof follows one request: the request with the id `watched`, which may be any id. Ids of requests that are
// inside differ.

module gcm_router_properties #(
  parameter int unsigned Lanes = 2,
  parameter int unsigned KeyBits = 128,
  parameter int unsigned IdBits = 3
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

  gcm_router #(
    .Lanes(Lanes),
    .KeyBits(KeyBits),
    .IdBits(IdBits)
  ) u_router (
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

  logic accept, answer, inside_q;
  assign accept = req_valid_i && req_ready;
  assign answer = rsp_valid && rsp_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) inside_q <= 1'b0;
    else if (accept && req_id_i == watched) inside_q <= 1'b1;
    else if (answer && rsp_id == watched) inside_q <= 1'b0;
  end

  always_comb begin
    assume (rst_ni == started_q);
    if (accept && inside_q) assume (req_id_i != watched);
  end

  // Lanes that contain the watched request, lanes that have the key of lane 0, and the response to the watched request.
  logic [Lanes-1:0] has, knows, busy;
  logic same_ok, said_ok;
  line_t said_line;
  block_t said_tag;

  for (genvar l = 0; l < Lanes; l++) begin : gen_watch
    assign busy[l] = u_router.gen_lane[l].u_lane.busy_q;
    assign has[l] = busy[l] && u_router.gen_lane[l].u_lane.id_q == watched;
    assign knows[l] = u_router.gen_lane[l].u_lane.key_q == u_router.gen_lane[0].u_lane.key_q;
  end

  always_comb begin
    said_ok = 1'b0;
    said_line = '0;
    said_tag = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (has[l]) begin
        said_ok |= u_router.rsp_ok[l];
        said_line |= u_router.rsp_line[l];
        said_tag |= u_router.rsp_tag[l];
      end
    end
    same_ok = rsp_ok == said_ok && rsp_line == said_line && rsp_tag == said_tag;
  end

  // The response of the cycle before, if it was not taken; all lanes have received a key since reset.
  logic waits_q, ok_q, keyed_q;
  logic [IdBits-1:0] id_q;
  line_t line_q;
  block_t tag_q;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && rsp_valid && !rsp_ready_i && !abort_i;
    ok_q <= rsp_ok;
    id_q <= rsp_id;
    line_q <= rsp_line;
    tag_q <= rsp_tag;
    if (!rst_ni) keyed_q <= 1'b0;
    else if (key_valid_i && key_ready) keyed_q <= 1'b1;
  end

  // Lane k responded while lane l waited, and lane l still waits.
  logic [Lanes-1:0][Lanes-1:0] passed_q;
  logic [Lanes-1:0] again, out_of_turn;
  logic rises;

  for (genvar l = 0; l < Lanes; l++) begin : gen_turn
    logic [Lanes-1:0] follows;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || !u_router.rsp_valid[l] || (answer && u_router.grant[l])) passed_q[l] <= '0;
      else if (answer) passed_q[l] <= passed_q[l] | u_router.grant;
    end
    for (genvar k = 0; k < Lanes; k++) begin : gen_other
      assign follows[k] = u_router.above_q[k] == u_router.above_q[l] ? k > l : u_router.above_q[l];
    end
    assign again[l] = u_router.rsp_valid[l] && (passed_q[l] & u_router.grant) != '0;
    // Lanes that passed lane l follow it in turn and hold no grant. A lane with a held grant does not follow it.
    assign out_of_turn[l] = u_router.rsp_valid[l] && passed_q[l] != '0 &&
        ((passed_q[l] & (u_router.held_q | ~follows)) != '0 || (u_router.held_q & follows) != '0);
  end

  always_comb begin
    rises = 1'b1;
    for (int unsigned l = 1; l < Lanes; l++) rises &= !u_router.above_q[l-1] || u_router.above_q[l];
  end

  // The lane that a request enters, and the lanes above some lane that could take the request.
  logic [Lanes-1:0] entered, lower_ready;
  always_comb begin
    lower_ready = '0;
    for (int unsigned l = 1; l < Lanes; l++) lower_ready[l] = lower_ready[l-1] || u_router.req_ready[l-1];
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_entered
    assign entered[l] = u_router.gen_lane[l].u_lane.req_valid_i;
  end

  logic abort_before_q;
  always_ff @(posedge clk_i) abort_before_q <= abort_i;

  always_ff @(posedge clk_i) begin
    if (rst_ni && started_q) begin
      a_answer_is_of_a_request: assert (!(rsp_valid && rsp_id == watched) || inside_q);
      a_request_is_in_one_lane: assert (inside_q ? $onehot(has) : has == '0);
      a_answer_is_what_the_lane_says: assert (!(rsp_valid && rsp_id == watched && has != '0) || same_ok);
      a_waiting_answer_stays: assert (!waits_q || (rsp_valid && rsp_id == id_q && rsp_ok == ok_q && rsp_line == line_q &&
                                                 rsp_tag == tag_q));
      a_alert_is_any_lanes: assert (alert == (|u_router.alert));
      a_nothing_enters_after_an_alert: assert (!(accept && alert));
      a_no_line_enters_while_a_key_waits: assert (!(accept && key_valid_i));
      a_lowest_ready_lane_takes_it: assert (!accept || (entered & lower_ready) == '0);
      a_key_comes_when_all_are_idle: assert (!(key_valid_i && key_ready) || busy == '0);
      a_all_lanes_have_one_key: assert (!keyed_q || &knows);
      a_lanes_take_turns: assert (!answer || again == '0);
      i_turns_are_kept: assert (out_of_turn == '0 && rises);
      // Invariant for induction: a lane with a held grant still has its response.
      i_held_is_one_lane: assert (waits_q ? $onehot(u_router.held_q) && (u_router.held_q & u_router.rsp_valid) != '0 :
                                  u_router.held_q == '0 || (abort_before_q && $onehot(u_router.held_q) && busy == '0));
    end
  end

endmodule
