// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// One rail of the verdict over the lines of a lane: two bits record whether each line is decided and whether it is
// accepted. A lane has two rails, and accepts a line that both accept.
//
// The two rails compute the same function, so synthesis would merge them. Therefore this module contains the whole
// decision, with comparator and register, and the attribute keeps the module, and so the second rail, through
// flattening and mapping.

(* keep_hierarchy *)
module gcm_verdict_rail #(
  parameter int unsigned Lines = 1
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic [Lines-1:0]            clear_i,
  input  gcm_pkg::rails_e [Lines-1:0] filled_i,
  input  gcm_pkg::rails_e [Lines-1:0] hashed_i,
  input  gcm_pkg::op_e [Lines-1:0]    op_i,
  input  gcm_pkg::block_t [Lines-1:0] tag_i,      // zero if an opened line is authentic
  output gcm_pkg::rail_t [Lines-1:0]  rail_o
);
  import gcm_pkg::*;

  rail_t [Lines-1:0] rail_q;

  for (genvar l = 0; l < Lines; l++) begin : gen_line
    logic decide;
    assign decide = filled_i[l] == Yes && hashed_i[l] == Yes && rail_q[l] == '0;

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) rail_q[l] <= '0;
      else if (clear_i[l]) rail_q[l] <= '0;
      else if (decide) rail_q[l] <= {op_i[l] == OpSeal || (op_i[l] == OpOpen && tag_i[l] == '0), 1'b1};
    end
  end

  assign rail_o = rail_q;

endmodule
