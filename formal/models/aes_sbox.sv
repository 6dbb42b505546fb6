// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Any S-box: what proofs about the control of an AES core put in the place of the real one. It may answer the same byte otherwise
// each time.

module aes_sbox #(
  parameter bit Tower = 1'b0
) (
  input  aes_pkg::byte_t byte_i,
  output aes_pkg::byte_t byte_o
);
  (* anyseq *) aes_pkg::byte_t any_byte;
  assign byte_o = any_byte;

endmodule
