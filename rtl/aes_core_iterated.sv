// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// AES encryption, one or two rounds a cycle. The core computes the round keys while it encrypts. It outputs a block in
// the cycle of the block's last rounds and accepts the next block in that same cycle, so a block takes exactly
// Rounds / RoundsPerCycle cycles. A result that the consumer does not take stalls the core.
//
// A ring tracks the steps of a block, with one bit for each step and one for idle, so that the core detects a flipped
// bit.
// After a block or a wipe, an idle core holds zeros. Intermediate states never reach the outputs.
//
// A block enters with its parity, which the core compares in the first step. Before the first round, a flipped bit
// turns the block into the block of another counter, and the core would output the pad of that counter. After a round,
// no flip of one bit turns the state into the state of another counter block.

module aes_core_iterated #(
  parameter int unsigned KeyBits = 128,
  parameter int unsigned RoundsPerCycle = 1,
  parameter bit Tower = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               wipe_i,       // discards the block
  input  logic [KeyBits-1:0] key_i,        // must not change while a block is inside
  input  logic               valid_i,
  output logic               ready_o,
  input  aes_pkg::block_t    block_i,
  output logic               valid_o,
  input  logic               ready_i,
  output aes_pkg::block_t    block_o,      // zero unless `valid_o`
  output logic               fault_o       // `step_q` is not one-hot, or the block's parity differs in step 1
);
  import aes_pkg::*;

  localparam int unsigned Rounds = KeyBits / 32 + 6;
  localparam int unsigned Steps = Rounds / RoundsPerCycle;
  localparam bit LongKey = KeyBits == 256;

  // Bit 0: idle. Bit s: step s.
  logic [Steps:0] step_q, step_d;
  logic last, enter, leave;

  assign last = step_q[Steps];
  assign valid_o = last;
  assign leave = last && ready_i;
  assign ready_o = step_q[0] || leave;
  assign enter = valid_i && ready_o;
  always_comb begin
    step_d = step_q;
    if (enter) step_d = (Steps + 1)'(2);
    else if (leave) step_d = (Steps + 1)'(1);
    else if (!step_q[0] && !last) step_d = step_q << 1;
    if (wipe_i) step_d = (Steps + 1)'(1);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) step_q <= (Steps + 1)'(1);
    else step_q <= step_d;
  end

  // Round keys: the first round of this cycle adds `current_q`.
  block_t before_q, current_q, first_key;
  byte_t  constant_q;
  logic   odd_step;

  assign first_key = key_i[KeyBits-1-:128];

  always_comb begin
    odd_step = 1'b0;
    for (int unsigned s = 1; s <= Steps; s += 2) odd_step |= step_q[s];
  end

  // A 256-bit key consists of the first two round keys. With a 128-bit key, the core computes the second round key when
  // a block enters, which may be in the last cycle of the block before. In that cycle, only a core with one round a
  // cycle has a spare step of the key schedule.
  localparam bit SparesStep = RoundsPerCycle == 1;
  logic begins;
  block_t second_key;

  // High whenever a block could enter, because `enter` settles late in the cycle. If no block enters, no register takes
  // the result.
  assign begins = !LongKey && SparesStep && (step_q[0] || last);

  for (genvar i = 0; i < RoundsPerCycle; i++) begin : gen_key
    block_t earlier, current, next;
    byte_t constant, next_constant;
    logic rotates;

    if (i == 0) begin : gen_first
      assign current = begins ? first_key : current_q;
      assign earlier = LongKey ? before_q : current;
      assign constant = begins ? 8'h01 : constant_q;
    end else begin : gen_next
      assign current = gen_key[i-1].next;
      assign earlier = LongKey ? gen_key[i-1].current : current;
      assign constant = gen_key[i-1].next_constant;
    end
    // With a 256-bit key, only the step after an odd round key rotates.
    assign rotates = !LongKey || (RoundsPerCycle == 1 ? odd_step : i == 0);
    aes_next_key #(
      .KeyBits(KeyBits),
      .Tower(Tower)
    ) u_next_key (
      .earlier_i(earlier),
      .last_i(current[31:0]),
      .rotates_i(rotates),
      .constant_i(constant),
      .next_o(next)
    );
    assign next_constant = rotates ? xtime(constant) : constant;
  end

  if (LongKey) begin : gen_given
    assign second_key = key_i[127:0];
  end else if (SparesStep) begin : gen_shared
    assign second_key = gen_key[0].next;
  end else begin : gen_own
    aes_next_key #(
      .KeyBits(KeyBits),
      .Tower(Tower)
    ) u_next_key (
      .earlier_i(first_key),
      .last_i(first_key[31:0]),
      .rotates_i(1'b1),
      .constant_i(8'h01),
      .next_o(second_key)
    );
  end

  // Rounds.
  block_t state_q;

  for (genvar i = 0; i < RoundsPerCycle; i++) begin : gen_round
    block_t state, added, substituted, unmixed, mixed;
    if (i == 0) begin : gen_first
      assign state = state_q;
      assign added = current_q;
    end else begin : gen_next
      assign state = gen_round[i-1].mixed;
      assign added = gen_key[i].current;
    end
    aes_sub_bytes #(
      .Tower(Tower)
    ) u_sub_bytes (
      .bytes_i(state),
      .bytes_o(substituted)
    );
    assign unmixed = shift_rows(substituted);
    assign mixed = mix_columns(unmixed) ^ added;
  end
  block_t entering;
  logic parity_q;
  assign entering = block_i ^ first_key;
  assign fault_o = (step_q & (step_q - 1)) != '0 || step_q == '0 || (step_q[1] && ^state_q != parity_q);

  // The last round does not mix columns.
  assign block_o = (gen_round[RoundsPerCycle-1].unmixed ^ gen_round[RoundsPerCycle-1].added) & {128{last}};

  always_ff @(posedge clk_i) begin
    if (wipe_i || (leave && !enter)) state_q <= '0;
    else if (enter) state_q <= entering;
    else if (!step_q[0] && !last) state_q <= gen_round[RoundsPerCycle-1].mixed;

    if (enter) begin
      parity_q <= ^entering;
      before_q <= first_key;
      current_q <= second_key;
      constant_q <= LongKey ? 8'h01 : 8'h02;
    end else if (!step_q[0] && !last) begin
      before_q <= RoundsPerCycle == 1 ? current_q : gen_key[0].next;
      current_q <= gen_key[RoundsPerCycle-1].next;
      constant_q <= gen_key[RoundsPerCycle-1].next_constant;
    end
  end

  if (RoundsPerCycle != 1 && RoundsPerCycle != 2) begin : gen_no_such_core
    $error("RoundsPerCycle is 1 or 2");
  end

endmodule
