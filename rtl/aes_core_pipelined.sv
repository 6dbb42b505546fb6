// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// AES encryption with one stage for each round: a block enters in each cycle and leaves Rounds cycles later. The core
// stores all round keys, and computes one a cycle when a key is new. A result that the consumer does not take stalls
// the whole pipeline.
//
// Two rails of each stage record whether it contains a block, so that the core detects a flipped bit. After a wipe,
// a stage without a block holds zeros.
//
// The first stage has the parity of its block and of the first round key, taken when the key arrived. Before the first
// round, a flipped bit of either has the effect of another counter, and the core would output the pad of that counter.
// After a round, no flip of one bit turns the state into the state of another counter block.

module aes_core_pipelined #(
  parameter int unsigned KeyBits = 128,
  parameter bit Tower = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               wipe_i,       // discards all blocks
  input  logic [KeyBits-1:0] key_i,        // must not change until the next new key
  input  logic               key_new_i,    // high for one cycle: the core computes the round keys of `key_i`
  output logic               key_ready_o,
  input  logic               valid_i,
  output logic               ready_o,
  input  aes_pkg::block_t    block_i,
  output logic               valid_o,
  input  logic               ready_i,
  output aes_pkg::block_t    block_o,      // zero unless `valid_o`
  output logic               fault_o       // rails of a stage agree, `making_q` not one-hot, or wrong parity in stage 0
);
  import aes_pkg::*;

  localparam int unsigned Rounds = KeyBits / 32 + 6;
  localparam bit LongKey = KeyBits == 256;
  // Number of round keys that the key itself contains.
  localparam int unsigned Given = KeyBits / 128;

  // Bit 0: all round keys are computed. Bit k: the core computes round key k in this cycle.
  logic [Rounds:0] making_q;
  block_t round_key_q[Rounds+1];
  block_t earlier, made;
  logic [31:0] last;
  byte_t  constant_q;
  // Parity of the first round key.
  logic   key_parity_q;
  logic   rotates;

  assign key_ready_o = making_q[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) making_q <= (Rounds + 1)'(1);
    else if (key_new_i) making_q <= (Rounds + 1)'(1) << Given;
    else if (!making_q[0]) making_q <= {making_q[Rounds-1:0], making_q[Rounds]};
  end

  always_comb begin
    earlier = '0;
    last = '0;
    rotates = !LongKey;
    for (int unsigned k = Given; k <= Rounds; k++) begin
      earlier |= round_key_q[k-Given] & {128{making_q[k]}};
      last |= round_key_q[k-1][31:0] & {32{making_q[k]}};
      if (k % 2 == 0) rotates |= making_q[k];
    end
  end

  aes_next_key #(
    .KeyBits(KeyBits),
    .Tower(Tower)
  ) u_next_key (
    .earlier_i(earlier),
    .last_i(last),
    .rotates_i(rotates),
    .constant_i(constant_q),
    .next_o(made)
  );

  always_ff @(posedge clk_i) begin
    if (key_new_i) begin
      for (int unsigned k = 0; k < Given; k++) round_key_q[k] <= key_i[KeyBits-1-128*k-:128];
      constant_q <= 8'h01;
      key_parity_q <= ^key_i[KeyBits-1-:128];
    end else begin
      for (int unsigned k = Given; k <= Rounds; k++) begin
        if (making_q[k]) round_key_q[k] <= made;
      end
      if (!making_q[0] && rotates) constant_q <= xtime(constant_q);
    end
  end

  // Stage s does round s + 1. Rails: 2'b10 if a block is in the stage, 2'b01 if not.
  logic [1:0] there_q[Rounds];
  block_t state_q[Rounds];
  block_t unmixed[Rounds];
  logic parity_q, advance, contradiction;

  assign valid_o = there_q[Rounds-1] == 2'b10;
  assign advance = !valid_o || ready_i;
  assign ready_o = advance;

  for (genvar s = 0; s < Rounds; s++) begin : gen_stage
    block_t substituted;
    aes_sub_bytes #(
      .Tower(Tower)
    ) u_sub_bytes (
      .bytes_i(state_q[s]),
      .bytes_o(substituted)
    );
    assign unmixed[s] = shift_rows(substituted);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned s = 0; s < Rounds; s++) there_q[s] <= 2'b01;
    end else if (wipe_i) begin
      for (int unsigned s = 0; s < Rounds; s++) there_q[s] <= 2'b01;
    end else if (advance) begin
      there_q[0] <= valid_i ? 2'b10 : 2'b01;
      for (int unsigned s = 1; s < Rounds; s++) there_q[s] <= there_q[s-1];
    end
  end

  always_ff @(posedge clk_i) begin
    if (wipe_i) begin
      for (int unsigned s = 0; s < Rounds; s++) state_q[s] <= '0;
    end else if (advance) begin
      state_q[0] <= valid_i ? block_i ^ round_key_q[0] : '0;
      for (int unsigned s = 1; s < Rounds; s++) begin
        state_q[s] <= there_q[s-1] == 2'b10 ? mix_columns(unmixed[s-1]) ^ round_key_q[s] : '0;
      end
    end

    if (valid_i && advance) parity_q <= ^block_i ^ key_parity_q;
  end

  // The last round does not mix columns.
  assign block_o = valid_o ? unmixed[Rounds-1] ^ round_key_q[Rounds] : '0;

  always_comb begin
    contradiction = there_q[0] == 2'b10 && ^state_q[0] != parity_q;
    for (int unsigned s = 0; s < Rounds; s++) contradiction |= ~^there_q[s];
  end
  assign fault_o = contradiction || (making_q & (making_q - 1)) != '0 || making_q == '0;

endmodule
