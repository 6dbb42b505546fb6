// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One step of the key schedule (FIPS-197, section 5.2): the next round key. With a 128-bit key, each round key follows
// from the one before. With a 256-bit key, it follows from the two before, and only every second step rotates and adds
// the round constant.

module aes_next_key #(
  parameter int unsigned KeyBits = 128,
  parameter bit Tower = 1'b0
) (
  input  aes_pkg::block_t earlier_i,   // round key to which the step adds: KeyBits before the next one
  input  logic [31:0]     last_i,      // last word of the round key directly before the next one
  input  logic            rotates_i,   // the step rotates and adds the constant; always 1 for 128 bits
  input  aes_pkg::byte_t  constant_i,
  output aes_pkg::block_t next_o
);
  logic [31:0] turned, substituted, mixed;

  // The same S-boxes serve the steps with and without rotation.
  assign turned = rotates_i ? {last_i[23:0], last_i[31:24]} : last_i;

  aes_sub_bytes #(
    .Bytes(4),
    .Tower(Tower)
  ) u_sub_word (
    .bytes_i(turned),
    .bytes_o(substituted)
  );

  assign mixed = substituted ^ {rotates_i ? constant_i : 8'h00, 24'h0};
  // Word i is word i of the earlier key plus new word i - 1.
  logic [31:0] word_0, word_1, word_2, word_3;
  assign word_0 = earlier_i[127:96] ^ mixed;
  assign word_1 = earlier_i[95:64] ^ word_0;
  assign word_2 = earlier_i[63:32] ^ word_1;
  assign word_3 = earlier_i[31:0] ^ word_2;
  assign next_o = {word_0, word_1, word_2, word_3};

  if (KeyBits != 128 && KeyBits != 256) begin : gen_no_such_key
    $error("KeyBits is 128 or 256");
  end

endmodule
