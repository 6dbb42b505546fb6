// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Any block cipher with any latency, which replaces AES in proofs about the lane. It contains one block, and outputs
// any value at any time. Therefore the proofs hold for every cipher and latency.

module aes_core #(
  parameter int unsigned KeyBits = 128,
  parameter int unsigned RoundsPerCycle = 1,
  parameter bit Tower = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               wipe_i,
  input  logic [KeyBits-1:0] key_i,
  input  logic               key_new_i,
  output logic               key_ready_o,
  input  logic               valid_i,
  output logic               ready_o,
  input  aes_pkg::block_t    block_i,
  output logic               valid_o,
  input  logic               ready_i,
  output aes_pkg::block_t    block_o,
  output logic               fault_o
);
  (* anyseq *) logic arrives, key_arrives;
  (* anyseq *) logic [127:0] any_block;
  logic busy_q;

  assign key_ready_o = key_arrives;
  assign fault_o = 1'b0;
  assign valid_o = busy_q && arrives;
  assign ready_o = !busy_q || (valid_o && ready_i);
  assign block_o = valid_o ? any_block : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (wipe_i) busy_q <= 1'b0;
    else if (valid_i && ready_o) busy_q <= 1'b1;
    else if (valid_o && ready_i) busy_q <= 1'b0;
  end

endmodule
