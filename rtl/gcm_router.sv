// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Several lanes behind the ports of a single lane. A request enters the lowest lane that is ready. Responses leave in
// the order in which the lanes finish, with the ids of their requests. If several lanes have a response, they take
// turns. A response that the consumer does not take stays the same.
//
// A key enters all lanes at once, when all are idle. While a key waits, no request enters.

module gcm_router #(
  parameter int unsigned Lanes = 2,
  parameter int unsigned KeyBits = 128,
  parameter int unsigned RoundsPerCycle = 1,
  parameter int unsigned MulBits = 16,
  parameter bit Tower = 1'b0,
  parameter int unsigned IdBits = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               abort_i,

  input  logic               key_valid_i,
  output logic               key_ready_o,
  input  logic [KeyBits-1:0] key_i,

  input  logic               req_valid_i,
  output logic               req_ready_o,
  input  gcm_pkg::op_e       req_op_i,
  input  logic [IdBits-1:0]  req_id_i,
  input  gcm_pkg::nonce_t    req_nonce_i,
  input  gcm_pkg::line_t     req_line_i,
  input  gcm_pkg::block_t    req_tag_i,

  output logic               rsp_valid_o,
  input  logic               rsp_ready_i,
  output logic [IdBits-1:0]  rsp_id_o,
  output logic               rsp_ok_o,
  output gcm_pkg::line_t     rsp_line_o,
  output gcm_pkg::block_t    rsp_tag_o,

  output logic               idle_o,
  output logic               alert_o       // a lane has halted: no request and no key enters until reset
);
  import gcm_pkg::*;

  logic [Lanes-1:0] key_ready, req_ready, chosen, rsp_valid, rsp_ok, idle, alert, grant;
  logic [Lanes-1:0][IdBits-1:0] rsp_id;
  line_t [Lanes-1:0] rsp_line;
  block_t [Lanes-1:0] rsp_tag;

  assign key_ready_o = &key_ready;
  assign idle_o = &idle;
  assign alert_o = |alert;

  // Lowest lane that is ready.
  assign chosen = req_ready & (~req_ready + Lanes'(1));
  // A halted lane has discarded its lines: no request enters until reset, even if other lanes are ready.
  assign req_ready_o = |req_ready && !key_valid_i && !alert_o;

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    gcm_lane #(
      .KeyBits(KeyBits),
      .RoundsPerCycle(RoundsPerCycle),
      .MulBits(MulBits),
      .Tower(Tower),
      .IdBits(IdBits)
    ) u_lane (
      .clk_i,
      .rst_ni,
      .abort_i,
      .key_valid_i(key_valid_i && key_ready_o),
      .key_ready_o(key_ready[l]),
      .key_i,
      .req_valid_i(req_valid_i && req_ready_o && chosen[l]),
      .req_ready_o(req_ready[l]),
      .req_op_i,
      .req_id_i,
      .req_nonce_i,
      .req_line_i,
      .req_tag_i,
      .rsp_valid_o(rsp_valid[l]),
      .rsp_ready_i(rsp_ready_i && grant[l]),
      .rsp_id_o(rsp_id[l]),
      .rsp_ok_o(rsp_ok[l]),
      .rsp_line_o(rsp_line[l]),
      .rsp_tag_o(rsp_tag[l]),
      .idle_o(idle[l]),
      .alert_o(alert[l])
    );
  end

  // Lane that responds: among the lanes with a response, the first one above the last responder, or else the lowest.
  // The grant stays the same until the response is taken.
  logic [Lanes-1:0] above_q, held_q, waiting, first;

  assign waiting = |(rsp_valid & above_q) ? rsp_valid & above_q : rsp_valid;
  assign first = waiting & (~waiting + Lanes'(1));
  assign grant = |(held_q & rsp_valid) ? held_q : first;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      above_q <= '0;
      held_q <= '0;
    end else begin
      held_q <= rsp_valid_o && !rsp_ready_i ? grant : '0;
      if (rsp_valid_o && rsp_ready_i) above_q <= ~(grant | (grant - Lanes'(1)));
    end
  end

  always_comb begin
    rsp_valid_o = |rsp_valid;
    rsp_ok_o = |(rsp_ok & grant);
    rsp_id_o = '0;
    rsp_line_o = '0;
    rsp_tag_o = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      rsp_id_o |= rsp_id[l] & {IdBits{grant[l]}};
      rsp_line_o |= rsp_line[l] & {$bits(line_t) {grant[l]}};
      rsp_tag_o |= rsp_tag[l] & {$bits(block_t) {grant[l]}};
    end
  end

  if (Lanes == 0) begin : gen_no_lane
    $error("Lanes is 1 or more");
  end

endmodule
