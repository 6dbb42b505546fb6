// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A product in the field of GHASH (NIST SP 800-38D, section 6.3), W bits of one factor a cycle: 128 / W cycles, the highest
// powers first (Horner's rule). Blocks are as GCM writes them: bit 127 is the coefficient of x^0.
//
// Each cycle multiplies the sum by x^W, adds the other factor times the next W bits, and reduces once by
// x^128 + x^7 + x^2 + x + 1. The partial products are added as a tree of whole vectors: a sum for each bit would make
// simulation slow, and a chain would make the circuit slow.
//
// The cycle is a ring with one bit for each and one for idleness, so that a flipped bit is seen: a product that is begun anew,
// cut short or signalled when there is none would have a line verified without some of its digits, or with another's hash.

module gf128_mul #(
  parameter int unsigned W = 16
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         wipe_i,
  input  logic         start_i,      // takes `digits_i`; only while `ready_o`
  output logic         ready_o,      // idle, or about to be where a product takes one cycle
  input  logic [127:0] digits_i,     // the factor that is taken W bits a cycle
  input  logic [127:0] factor_i,     // the other factor, the same until the product is there
  output logic         last_o,       // the last cycle of a product
  output logic [127:0] product_o,    // from the cycle after it to the first of the next product
  output logic [127:0] early_o,      // the same, a cycle earlier
  output logic         fault_o       // the cycle is none
);
  localparam int unsigned Cycles = 128 / W;

  // Coefficient i of a polynomial is bit i here.
  typedef logic [127:0] field_t;

  function automatic field_t reversed(logic [127:0] a);
    field_t r;
    for (int unsigned b = 0; b < 128; b++) r[b] = a[127-b];
    return r;
  endfunction

  // The partial products, added as a tree of whole vectors. The lowest bit of a digit is its highest power.
  function automatic logic [127+W:0] times_digit(field_t a, logic [W-1:0] digit);
    logic [127+W:0] sums[W];
    for (int unsigned power = 0; power < W; power++) begin
      sums[power] = digit[W-1-power] ? (128 + W)'(a) << power : '0;
    end
    for (int unsigned half = W / 2; half > 0; half /= 2) begin
      for (int unsigned node = 0; node < half; node++) sums[node] ^= sums[node+half];
    end
    return sums[0];
  endfunction

  // Folds the coefficients from x^128 on into those below, twice: the first time may leave up to seven of them.
  function automatic field_t reduced(logic [127+W:0] a);
    automatic logic [W-1:0] high = a[127+W:128];
    automatic logic [134+W:0] once = (135 + W)'(high) ^ ((135 + W)'(high) << 1) ^ ((135 + W)'(high) << 2) ^
        ((135 + W)'(high) << 7);
    automatic logic [6:0] again;
    once = once ^ (135 + W)'(a[127:0]);
    again = once[134:128];
    return once[127:0] ^ 128'(again) ^ (128'(again) << 1) ^ (128'(again) << 2) ^ (128'(again) << 7);
  endfunction

  // Bit 0: idle. Bit s: cycle s of a product.
  logic [Cycles:0] step_q;
  logic [127:0] digits_q;
  field_t sum_q, sum_d;
  logic last;

  assign last = step_q[Cycles];
  assign fault_o = (step_q & (step_q - 1)) != '0 || step_q == '0;
  // The sum starts from zero in the first cycle of a product, and not before: until then the product of before is read.
  assign sum_d = reduced(((128 + W)'(step_q[1] ? '0 : sum_q) << W) ^
      times_digit(reversed(factor_i), digits_q[W-1:0]));
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

endmodule
