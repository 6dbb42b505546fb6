// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// AES encryption. RoundsPerCycle = 1 or 2 selects an iterated core with one or two rounds a cycle, and 0 a pipeline
// with one stage for each round. All cores have the same ports; `dv/` checks each of them against FIPS-197.

module aes_core #(
  parameter int unsigned KeyBits = 128,
  parameter int unsigned RoundsPerCycle = 1,
  parameter bit Tower = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               wipe_i,
  input  logic [KeyBits-1:0] key_i,
  input  logic               key_new_i,
  output logic               key_ready_o,
  input  logic               valid_i,
  output logic               ready_o,
  input  aes_pkg::block_t    block_i,
  output logic               valid_o,
  input  logic               ready_i,
  output aes_pkg::block_t    block_o,
  output logic               fault_o
);

  if (RoundsPerCycle == 0) begin : gen_pipelined
    aes_core_pipelined #(
      .KeyBits(KeyBits),
      .Tower(Tower)
    ) u_core (
      .*
    );
  end else begin : gen_iterated
    // The iterated core computes round keys while it encrypts, so a new key takes no cycles.
    logic unused_key_new;
    assign unused_key_new = key_new_i;
    assign key_ready_o = 1'b1;
    aes_core_iterated #(
      .KeyBits(KeyBits),
      .RoundsPerCycle(RoundsPerCycle),
      .Tower(Tower)
    ) u_core (
      .*
    );
  end

endmodule
