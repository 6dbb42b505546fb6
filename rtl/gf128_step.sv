// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One step of a product in the field of GHASH (NIST SP 800-38D, section 6.3). By Horner's rule, it multiplies the sum
// by x^W and adds one factor times W bits of the other. Bit i of a polynomial is the coefficient of x^i here; the
// lowest bit of a digit is its highest power.
//
// A tree of whole vectors adds the partial products: a sum for each bit would make simulation slow, and a chain would
// make the circuit slow. The step reduces the total once, by x^128 + x^7 + x^2 + x + 1.

module gf128_step #(
  parameter int unsigned W = 16
) (
  input  logic [127:0] sum_i,
  input  logic [127:0] factor_i,
  input  logic [W-1:0] digit_i,
  output logic [127:0] sum_o
);

  function automatic logic [127+W:0] times_digit(logic [127:0] a, logic [W-1:0] digit);
    logic [127+W:0] sums[W];
    for (int unsigned power = 0; power < W; power++) begin
      sums[power] = digit[W-1-power] ? (128 + W)'(a) << power : '0;
    end
    for (int unsigned half = W / 2; half > 0; half /= 2) begin
      for (int unsigned node = 0; node < half; node++) sums[node] ^= sums[node+half];
    end
    return sums[0];
  endfunction

  // Folds the coefficients of x^128 and above into the lower ones, twice, because the first fold may leave up to seven.
  function automatic logic [127:0] reduced(logic [127+W:0] a);
    automatic logic [W-1:0] high = a[127+W:128];
    automatic logic [134+W:0] once = (135 + W)'(high) ^ ((135 + W)'(high) << 1) ^ ((135 + W)'(high) << 2) ^
        ((135 + W)'(high) << 7);
    automatic logic [6:0] again;
    once = once ^ (135 + W)'(a[127:0]);
    again = once[134:128];
    return once[127:0] ^ 128'(again) ^ (128'(again) << 1) ^ (128'(again) << 2) ^ (128'(again) << 7);
  endfunction

  assign sum_o = reduced(((128 + W)'(sum_i) << W) ^ times_digit(factor_i, digit_i));

endmodule
