// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The S-box of AES: as a table, or as an inversion in the tower field GF((2^4)^2) between two changes of basis. The tower is
// smaller and slower; `formal/aes_sbox_equal.sv` proves that the two are the same function.
//
// The tower is GF(2^4) modulo z^4 + z + 1, extended by Y^2 + Y + Lambda with Lambda = z^3 + z. The root of AES's
// polynomial is 8'h50. Among all roots and all Lambda, this choice has the fewest ones in both changes of basis.

module aes_sbox #(
  parameter bit Tower = 1'b0
) (
  input  aes_pkg::byte_t byte_i,
  output aes_pkg::byte_t byte_o
);
  import aes_pkg::*;

  typedef logic [3:0] nibble_t;

  // Entry i is the image of x^i in the tower.
  localparam byte_t ToTower[8] = '{8'h01, 8'h50, 8'h27, 8'h28, 8'h48, 8'h93, 8'h42, 8'hd3};
  // Entry i is the image of the tower's bit i in AES's basis, after the affine map without its constant.
  localparam byte_t FromTower[8] = '{8'h1f, 8'hab, 8'had, 8'h9d, 8'h52, 8'h65, 8'h6c, 8'h05};
  localparam nibble_t Inverse[16] = '{
    4'h0, 4'h1, 4'h9, 4'he, 4'hd, 4'hb, 4'h7, 4'h6, 4'hf, 4'h2, 4'hc, 4'h5, 4'ha, 4'h4, 4'h3, 4'h8
  };
  // Lambda a^2, which is linear in a.
  localparam nibble_t LambdaSquare[16] = '{
    4'h0, 4'ha, 4'he, 4'h4, 4'hd, 4'h7, 4'h3, 4'h9, 4'h1, 4'hb, 4'hf, 4'h5, 4'hc, 4'h6, 4'h2, 4'h8
  };

  function automatic nibble_t times(nibble_t a, nibble_t b);
    automatic logic [6:0] product = ({3'b0, a} & {7{b[0]}}) ^ ({2'b0, a, 1'b0} & {7{b[1]}}) ^
        ({1'b0, a, 2'b0} & {7{b[2]}}) ^ ({a, 3'b0} & {7{b[3]}});
    return product[3:0] ^ {1'b0, product[6:4]} ^ {product[6:4], 1'b0};
  endfunction

  function automatic byte_t through(byte_t columns[8], byte_t a);
    automatic byte_t sum = 8'h00;
    for (int unsigned i = 0; i < 8; i++) sum ^= a[i] ? columns[i] : 8'h00;
    return sum;
  endfunction

  if (Tower) begin : gen_tower
    byte_t   mapped;
    nibble_t high, low, norm_inverse;

    assign mapped = through(ToTower, byte_i);
    assign {high, low} = mapped;
    // (high Y + low)^-1 = (high Y + high + low) / (Lambda high^2 + (high + low) low)
    assign norm_inverse = Inverse[LambdaSquare[high]^times(high^low, low)];
    assign byte_o = through(FromTower, {times(high, norm_inverse), times(high ^ low, norm_inverse)}) ^ 8'h63;
  end else begin : gen_table
    assign byte_o = SBox[byte_i];
  end

endmodule
