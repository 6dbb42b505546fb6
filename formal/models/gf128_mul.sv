// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Any multiplier with any latency, which replaces that of GHASH in proofs about the lane. It computes one product at a
// time, with any value, and keeps it through the first cycle of the next product. During a product, its output is
// arbitrary.

module gf128_mul #(
  parameter int unsigned W = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         wipe_i,
  input  logic         start_i,
  output logic         ready_o,
  input  logic [127:0] digits_i,
  input  logic [127:0] factor_i,
  output logic         last_o,
  output logic [127:0] product_o,
  output logic [127:0] early_o,
  output logic         fault_o
);
  (* anyseq *) logic ends;
  (* anyseq *) logic [127:0] any_product, any_sum;
  logic busy_q;

  assign ready_o = !busy_q;
  assign fault_o = 1'b0;
  assign last_o = busy_q && ends;
  assign early_o = last_o ? any_product : product_o;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) busy_q <= 1'b0;
    else if (wipe_i) busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (last_o) busy_q <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (last_o) product_o <= any_product;
    else if (busy_q) product_o <= any_sum;
  end

endmodule
