// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One step of the key schedule (FIPS-197, section 5.2): the next round key. A key of 128 bits makes each round
// key from the one before; a key of 256 bits from the two before, and rotates and adds the round constant in every second
// step alone.

module aes_next_key #(
  parameter int unsigned KeyBits = 128,
  parameter bit Tower = 1'b0
) (
  input  aes_pkg::block_t earlier_i,   // the round key that a word is added to: 128 bits before the next, or 256
  input  logic [31:0]     last_i,      // the last word of the round key before the next
  input  logic            rotates_i,   // the step rotates and adds the constant; always so for 128 bits
  input  aes_pkg::byte_t  constant_i,
  output aes_pkg::block_t next_o
);
  logic [31:0] turned, substituted, mixed;

  // Without the rotation the bytes go through the same S-boxes.
  assign turned = rotates_i ? {last_i[23:0], last_i[31:24]} : last_i;

  aes_sub_bytes #(
    .Bytes(4),
    .Tower(Tower)
  ) u_sub_word (
    .bytes_i(turned),
    .bytes_o(substituted)
  );

  assign mixed = substituted ^ {rotates_i ? constant_i : 8'h00, 24'h0};
  // Each word adds itself to the one after it.
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
