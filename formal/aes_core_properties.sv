// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Properties of an AES core, for any function of its S-boxes (`models/`):
//
// * without a flip, no core reports a fault, for any order of inputs;
// * an iterated core is zero after a block has left it or a wipe, until the next block enters;
// * after a wipe, each stage of a pipelined core without a block holds zeros;
// * the keys of a pipelined core are ready after one cycle for each round key to be computed, no earlier and no later.
//
// The last three do not affect the output blocks, so a test of values cannot see them.

module aes_core_properties #(
  parameter int unsigned KeyBits = 128
) (
  input logic clk_i,
  input logic rst_ni,
  input logic wipe_i,
  input logic [KeyBits-1:0] key_i,
  input logic key_new_i,
  input logic valid_i,
  input logic ready_i,
  input aes_pkg::block_t block_i
);
  localparam int unsigned Rounds = KeyBits / 32 + 6;
  localparam int unsigned Made = Rounds + 1 - KeyBits / 128;

  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (rst_ni == started_q);

  logic holds;
  assign holds = rst_ni && started_q;

  // ---------------------------------------------------------------- One round a cycle

  logic iterated_ready, iterated_valid, iterated_fault;
  aes_pkg::block_t iterated_block;

  aes_core_iterated #(
    .KeyBits(KeyBits)
  ) u_iterated (
    .clk_i,
    .rst_ni,
    .wipe_i,
    .key_i,
    .valid_i,
    .ready_o(iterated_ready),
    .block_i,
    .valid_o(iterated_valid),
    .ready_i,
    .block_o(iterated_block),
    .fault_o(iterated_fault)
  );

  // A block left the core or a wipe cleared it, and no block has entered since.
  logic left_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_q <= 1'b0;
    else if (wipe_i) left_q <= 1'b1;
    else if (valid_i && iterated_ready) left_q <= 1'b0;
    else if (iterated_valid && ready_i) left_q <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (holds) begin
      a_idle_core_holds_zeros: assert (!left_q || u_iterated.state_q == '0);
      a_iterated_core_is_in_a_step: assert (!iterated_fault);
      i_what_was_left_is_idle: assert (!left_q || u_iterated.step_q[0]);
    end
  end

  // ---------------------------------------------------------------- A stage for each round

  // A block enters only after a key: before it, the parity of the first round key is arbitrary.
  logic keyed_q, keys_ready, pipelined_ready, pipelined_valid, pipelined_fault;
  aes_pkg::block_t pipelined_block;

  aes_core_pipelined #(
    .KeyBits(KeyBits)
  ) u_pipelined (
    .clk_i,
    .rst_ni,
    .wipe_i,
    .key_i,
    .key_new_i,
    .key_ready_o(keys_ready),
    .valid_i(valid_i && keyed_q),
    .ready_o(pipelined_ready),
    .block_i,
    .valid_o(pipelined_valid),
    .ready_i,
    .block_o(pipelined_block),
    .fault_o(pipelined_fault)
  );

  logic [Rounds-1:0] zero;
  for (genvar s = 0; s < Rounds; s++) begin : gen_stage
    assign zero[s] = u_pipelined.there_q[s] == 2'b10 || u_pipelined.state_q[s] == '0;
  end

  // A wipe has cleared all stages since reset.
  logic wiped_q;
  // Cycles since the key was new, at most `Made`.
  logic [4:0] since_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) wiped_q <= 1'b0;
    else if (wipe_i) wiped_q <= 1'b1;

    if (!rst_ni) keyed_q <= 1'b0;
    else if (key_new_i) keyed_q <= 1'b1;
    if (key_new_i) since_q <= '0;
    else if (since_q != 5'(Made)) since_q <= since_q + 5'd1;
  end

  always_ff @(posedge clk_i) begin
    if (holds) begin
      a_stage_without_a_block_holds_zeros: assert (!wiped_q || &zero);
      a_keys_take_the_cycles_of_their_rounds: assert (!keyed_q || keys_ready == (since_q == 5'(Made)));
      a_pipelined_core_does_not_contradict_itself: assert (!pipelined_fault);
      i_first_key_has_its_parity: assert (!keyed_q || ^u_pipelined.round_key_q[0] == u_pipelined.key_parity_q);
      i_no_block_without_a_key: assert (keyed_q || u_pipelined.there_q[0] == 2'b01);
      i_cycles_are_counted_to_the_last_key: assert (!keyed_q || since_q <= 5'(Made));
      i_round_keys_are_made_in_turn:
      assert (!keyed_q || (since_q == 5'(Made) ? u_pipelined.making_q[0] :
                           u_pipelined.making_q[4'(since_q)+4'(KeyBits/128)]));
    end
  end

endmodule
