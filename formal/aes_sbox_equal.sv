// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The S-box in the tower field equals the table for every byte.

module aes_sbox_equal (
  input aes_pkg::byte_t byte_i
);
  aes_pkg::byte_t by_table, by_tower;

  aes_sbox #(
    .Tower(1'b0)
  ) u_table (
    .byte_i,
    .byte_o(by_table)
  );
  aes_sbox #(
    .Tower(1'b1)
  ) u_tower (
    .byte_i,
    .byte_o(by_tower)
  );

  always_comb a_tower_is_table: assert (by_table == by_tower);

endmodule
