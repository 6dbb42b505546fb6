// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Any lane with room for one line, which replaces the lanes in proofs about the router. It sends any response at any
// time and keeps it until it is taken. It raises an alert at any time.

module gcm_lane #(
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
  output logic               alert_o
);
  (* anyseq *) logic arrives, takes, takes_key, any_ok, any_alert;
  (* anyseq *) logic [511:0] any_line;
  (* anyseq *) logic [127:0] any_tag;
  logic busy_q, answers_q, ok_q, alert_q;
  logic [IdBits-1:0] id_q;
  gcm_pkg::line_t line_q;
  gcm_pkg::block_t tag_q;
  logic [KeyBits-1:0] key_q;

  assign alert_o = alert_q;
  assign idle_o = !busy_q;
  assign key_ready_o = !busy_q && takes_key;
  assign req_ready_o = !busy_q && takes && !key_valid_i && !abort_i;
  assign rsp_valid_o = busy_q && answers_q;
  assign rsp_id_o = rsp_valid_o ? id_q : '0;
  assign rsp_ok_o = rsp_valid_o && ok_q;
  assign rsp_line_o = rsp_valid_o ? line_q : '0;
  assign rsp_tag_o = rsp_valid_o ? tag_q : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      answers_q <= 1'b0;
    end else if (abort_i) begin
      busy_q <= 1'b0;
      answers_q <= 1'b0;
    end else if (req_valid_i && req_ready_o) begin
      busy_q <= 1'b1;
      answers_q <= 1'b0;
    end else if (rsp_valid_o && rsp_ready_i) begin
      busy_q <= 1'b0;
      answers_q <= 1'b0;
    end else if (busy_q && arrives) begin
      answers_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (req_valid_i && req_ready_o) id_q <= req_id_i;
    alert_q <= any_alert;
    if (!answers_q) begin
      ok_q <= any_ok;
      line_q <= any_line;
      tag_q <= any_tag;
    end
    if (key_valid_i && key_ready_o) key_q <= key_i;
  end

endmodule
