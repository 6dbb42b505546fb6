// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Any S-box, which replaces the real one in proofs about the control of an AES core. It may output different values for
// the same byte.

module aes_sbox #(
  parameter bit Tower = 1'b0
) (
  input  aes_pkg::byte_t byte_i,
  output aes_pkg::byte_t byte_o
);
  (* anyseq *) aes_pkg::byte_t any_byte;
  assign byte_o = any_byte;

endmodule
