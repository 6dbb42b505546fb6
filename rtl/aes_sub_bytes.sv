// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Substitutes `Bytes` bytes with an S-box for each: 16 for a block, four for a word of the key schedule.

module aes_sub_bytes #(
  parameter int unsigned Bytes = 16,
  parameter bit Tower = 1'b0
) (
  input  logic [8*Bytes-1:0] bytes_i,
  output logic [8*Bytes-1:0] bytes_o
);

  for (genvar i = 0; i < Bytes; i++) begin : gen_sbox
    aes_sbox #(
      .Tower(Tower)
    ) u_sbox (
      .byte_i(bytes_i[8*i+:8]),
      .byte_o(bytes_o[8*i+:8])
    );
  end

endmodule
