// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A product in the field of GHASH (NIST SP 800-38D, section 6.3), W bits of one factor a cycle: 128 / W cycles, the
// highest powers first (Horner's rule). Blocks are in GCM's bit order: bit 127 is the coefficient of x^0.
//
// A ring tracks the cycles of a product, with one bit for each cycle and one for idle, so that the multiplier detects a
// flipped bit. A flipped bit could restart a product, end it early, or signal an end without a start. The lane would
// then verify a line without some of its digits, or with the hash of another line.

module gf128_mul #(
  parameter int unsigned W = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         wipe_i,
  input  logic         start_i,      // loads `digits_i`; allowed only while `ready_o`
  output logic         ready_o,      // idle, or, with W = 128, in the one cycle of a product
  input  logic [127:0] digits_i,     // factor that the multiplier takes W bits a cycle
  input  logic [127:0] factor_i,     // other factor; must not change from the cycle after `start_i` through `last_o`
  output logic         last_o,       // last cycle of a product
  output logic [127:0] product_o,    // valid from the cycle after `last_o` through the first cycle of the next product
  output logic [127:0] early_o,      // the same product, one cycle earlier
  output logic         fault_o       // `step_q` is not one-hot
);
  localparam int unsigned Cycles = 128 / W;

  // Polynomial: bit i is the coefficient of x^i.
  typedef logic [127:0] field_t;

  function automatic field_t reversed(logic [127:0] a);
    field_t r;
    for (int unsigned b = 0; b < 128; b++) r[b] = a[127-b];
    return r;
  endfunction

  // Bit 0: idle. Bit s: cycle s of a product.
  logic [Cycles:0] step_q;
  logic [127:0] digits_q;
  field_t sum_q, sum_d;
  logic last;

  assign last = step_q[Cycles];
  assign fault_o = (step_q & (step_q - 1)) != '0 || step_q == '0;
  // The sum restarts from zero in the first cycle of a product and not earlier, because until then the previous product
  // is read.
  gf128_step #(
    .W(W)
  ) u_step (
    .sum_i(step_q[1] ? '0 : sum_q),
    .factor_i(reversed(factor_i)),
    .digit_i(digits_q[W-1:0]),
    .sum_o(sum_d)
  );

  assign ready_o = step_q[0] || (Cycles == 1 && last);
  assign last_o = last;
  assign product_o = reversed(sum_q);
  assign early_o = reversed(last ? sum_d : sum_q);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= (Cycles + 1)'(1);
    else if (wipe_i) step_q <= (Cycles + 1)'(1);
    else if (start_i) step_q <= (Cycles + 1)'(2);
    else if (!step_q[0]) step_q <= {step_q[Cycles-1:0], step_q[Cycles]};
  end

  always_ff @(posedge clk_i) begin
    if (start_i) digits_q <= digits_i;
    else digits_q <= digits_q >> W;
    if (!step_q[0]) sum_q <= sum_d;
  end

  if (W == 0 || W > 128 || (W & (W - 1)) != 0) begin : gen_no_such_digit
    $error("W is a power of two from 1 to 128");
  end

endmodule
