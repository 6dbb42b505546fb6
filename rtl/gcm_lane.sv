// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// AES-GCM over one line of memory, 64 bytes. The lane seals a line (outputs its ciphertext and tag) or opens it
// (outputs its plaintext if the tag is correct).
//
//   request --> in (line, nonce, tag) --> AES, 5 blocks a line --> text ^ pad --> out (line, tag) --> verdict --> response
//                                                                     |             ^
//                                                                     v             |
//                                                                  GHASH, 4 products a line
//
// The lane encrypts five blocks in five slots. To seal a line, it computes the pads in slots 0 to 3 and the mask of the
// tag in slot 4. To open a line, it computes the mask in slot 0 and the pads in slots 1 to 4. In both cases, slots 0 to
// 3 pass the ciphertext to GHASH:
//
//   tag = (((C1 H + C2) H + C3) H + C4) H^2 + lengths H + mask
//
// This is GHASH with its last two steps in one; the lane stores H^2 and lengths H with the key. Sealing and opening
// therefore take the same number of cycles, which depends only on the parameters. The tag register of a line starts as
// zero (sealing) or as the tag of the request (opening). The mask and the hash are added when they are ready. At the
// end the register contains the tag, or zero if the opened line is authentic.
//
// No text leaves the lane before the verdict. Control state is encoded so that one flipped flip-flop never turns a
// legal state into another legal state. Two rails with a comparator each form the verdict (`gcm_verdict_rail`). Any
// illegal state halts the lane: it discards its lines, sends no more responses and raises `alert_o` until reset.
//
// The lane accepts a key only when it is idle. While a key waits, no new line enters.
//
// Reset covers only control registers, because a register with reset has nearly twice the area of a register without.
// In the cycle after reset, the lane discards its lines as in an abort. Then it loads a key of zeros, under which no
// line enters, and computes all values that it stores with a key. When it is ready for the first key, no register holds
// a text, a pad or a key from before the reset.

module gcm_lane #(
  parameter int unsigned KeyBits = 128,
  parameter int unsigned RoundsPerCycle = 1,  // 0: one pipeline stage for each round
  parameter int unsigned MulBits = 16,        // bits of one factor that GHASH multiplies in a cycle
  parameter bit Tower = 1'b0,                 // S-boxes in the tower field
  parameter int unsigned IdBits = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               abort_i,      // discards all lines inside, without responses

  input  logic               key_valid_i,
  output logic               key_ready_o,
  input  logic [KeyBits-1:0] key_i,

  input  logic               req_valid_i,
  output logic               req_ready_o,
  input  gcm_pkg::op_e       req_op_i,
  input  logic [IdBits-1:0]  req_id_i,
  input  gcm_pkg::nonce_t    req_nonce_i,
  input  gcm_pkg::line_t     req_line_i,
  input  gcm_pkg::block_t    req_tag_i,    // tag of a line to be opened

  output logic               rsp_valid_o,
  input  logic               rsp_ready_i,
  output logic [IdBits-1:0]  rsp_id_o,
  output logic               rsp_ok_o,     // 0: the line was not authentic, and line and tag are zero
  output gcm_pkg::line_t     rsp_line_o,
  output gcm_pkg::block_t    rsp_tag_o,    // tag of a sealed line, otherwise zero

  output logic               idle_o,
  output logic               alert_o       // the lane detected an illegal state and halted
);
  import gcm_pkg::*;

  localparam int unsigned Rounds = KeyBits / 32 + 6;
  localparam bit Pipelined = RoundsPerCycle == 0;
  // Capacity in lines: between acceptance and the last slot, and between the first slot and the response.
  localparam int unsigned InLines = Pipelined ? (Rounds + 2 * Slots - 1) / Slots : 1;
  localparam int unsigned OutLines = Pipelined ? 2 : 1;
  // Products follow each other without a cycle between them.
  localparam bit BackToBack = Pipelined && MulBits == 128;

  logic wipe, halted_q, fault, aes_fault, mul_fault, control_fault;

  // ---------------------------------------------------------------- Accepted lines

  rails_e [InLines-1:0] in_valid_q;
  op_e [InLines-1:0] in_op_q;
  logic [InLines-1:0][IdBits-1:0] in_id_q;
  nonce_t [InLines-1:0] in_nonce_q;
  // Parity of the nonce: a nonce with a flipped bit is the nonce of another line, and the lane would output pads of
  // that line.
  logic [InLines-1:0] in_parity_q;
  line_t [InLines-1:0] in_line_q;
  block_t [InLines-1:0] in_tag_q;
  // One-hot pointers to the entry for the next line, the entry that the front reads, and the entry that the back reads.
  logic [InLines-1:0] write_q, issue_q, read_q;

  // ---------------------------------------------------------------- The key

  key_state_e key_state_q, key_state_d;
  logic [KeyBits-1:0] key_q;
  // The first cycle of a step; the cycle after reset; a key arrived since reset.
  rails_e key_new_q, fresh_q, given_q;
  logic key_enter, key_new, key_expanded, fresh;
  block_t h_q, h_squared_q, h_length_q;

  // ---------------------------------------------------------------- The front: blocks for AES

  // In slot 0 the front waits for a request, and takes the nonce and the operation from the ports.
  slot_t front_q;
  logic accept, aes_in_valid, aes_in_ready, aes_out_valid, aes_out_ready, in_free, last_fire;
  op_e issue_op;
  nonce_t issue_nonce;
  block_t aes_in, aes_out;

  always_comb begin
    issue_op = front_q[0] ? req_op_i : op_e'('0);
    issue_nonce = front_q[0] ? req_nonce_i : '0;
    in_free = 1'b0;
    for (int unsigned i = 0; i < InLines; i++) begin
      if (issue_q[i] && !front_q[0]) begin
        issue_op = op_e'(issue_op | in_op_q[i]);
        issue_nonce |= in_nonce_q[i];
      end
      in_free |= write_q[i] && (in_valid_q[i] == No || (last_fire && read_q[i]));
    end
  end

  assign accept = req_valid_i && req_ready_o;
  assign req_ready_o = key_state_q == KeyReady && !key_valid_i && front_q[0] && in_free && aes_in_ready && !wipe;
  assign aes_in_valid = accept || !front_q[0] || (key_state_q == KeyEncrypt && key_new);
  assign aes_in = key_state_q == KeyEncrypt ? '0 : {issue_nonce, counter_of(issue_op, front_q)};

  aes_core #(
    .KeyBits(KeyBits),
    .RoundsPerCycle(RoundsPerCycle),
    .Tower(Tower)
  ) u_aes (
    .clk_i,
    .rst_ni,
    .wipe_i(wipe),
    .key_i(key_q),
    .key_new_i(key_state_q == KeyExpand && key_new),
    .key_ready_o(key_expanded),
    .valid_i(aes_in_valid),
    .ready_o(aes_in_ready),
    .block_i(aes_in),
    .valid_o(aes_out_valid),
    .ready_i(aes_out_ready),
    .block_o(aes_out),
    .fault_o(aes_fault)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      front_q <= slot_t'(1);
      write_q <= InLines'(1);
      issue_q <= InLines'(1);
    end else if (wipe) begin
      front_q <= slot_t'(1);
      write_q <= InLines'(1);
      issue_q <= InLines'(1);
    end else begin
      if (accept || (!front_q[0] && aes_in_ready)) front_q <= {front_q[Slots-2:0], front_q[Slots-1]};
      if (accept) begin
        write_q <= InLines'({write_q, write_q} >> (InLines - 1));
        issue_q <= write_q;
      end
    end
  end

  for (genvar i = 0; i < InLines; i++) begin : gen_in
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) in_valid_q[i] <= No;
      else if (wipe) in_valid_q[i] <= No;
      else if (accept && write_q[i]) in_valid_q[i] <= Yes;
      else if (last_fire && read_q[i]) in_valid_q[i] <= No;
    end

    always_ff @(posedge clk_i) begin
      if (accept && write_q[i]) begin
        in_op_q[i] <= req_op_i;
        in_id_q[i] <= req_id_i;
        in_nonce_q[i] <= req_nonce_i;
        in_parity_q[i] <= ^req_nonce_i;
        in_tag_q[i] <= req_tag_i;
      end

      // Cleared after the last slot and by a wipe, because it is the plaintext of a line to be sealed.
      if (accept && write_q[i]) in_line_q[i] <= req_line_i;
      else if (wipe || (last_fire && read_q[i])) in_line_q[i] <= '0;
    end
  end

  // ---------------------------------------------------------------- The back: blocks from AES

  slot_t back_q;
  logic fire;
  op_e op;
  logic [IdBits-1:0] id;
  line_t line;
  block_t tag, text, padded;

  rails_e [OutLines-1:0] out_busy_q, out_filled_q, out_hashed_q;
  op_e [OutLines-1:0] out_op_q;
  logic [OutLines-1:0][IdBits-1:0] out_id_q;
  line_t [OutLines-1:0] out_line_q;
  block_t [OutLines-1:0] out_tag_q;
  rail_t [OutLines-1:0] rail_a, rail_b;
  verdict_e [OutLines-1:0] verdict;
  // One-hot pointers to the entry that the back fills, the entry of the current hash, and the entry to respond next.
  logic [OutLines-1:0] fill_q, hash_q, answer_q;
  rails_e mul_done_q, final_q, hashed_q;
  logic out_free, mul_start, mul_ready, mul_last, hashed;
  block_t mul_digits, mul_factor, mul_product, mul_early, hash;

  always_comb begin
    op = op_e'('0);
    id = '0;
    line = '0;
    tag = '0;
    out_free = 1'b0;
    for (int unsigned i = 0; i < InLines; i++) begin
      if (read_q[i]) begin
        op = op_e'(op | in_op_q[i]);
        id |= in_id_q[i];
        line |= in_line_q[i];
        tag |= in_tag_q[i];
      end
    end
    for (int unsigned o = 0; o < OutLines; o++) out_free |= fill_q[o] && out_busy_q[o] == No;
  end

  // Words that a slot hashes and adds to its pad: when sealing, word w for both; when opening, words w and w - 1.
  block_t hashed_word, padded_word;
  always_comb begin
    hashed_word = '0;
    padded_word = '0;
    for (int unsigned w = 0; w < 4; w++) begin
      hashed_word |= line[w] & {128{back_q[w]}};
      padded_word |= line[w] & {128{op == OpOpen ? back_q[w+1] : back_q[w]}};
    end
  end
  assign padded = padded_word ^ aes_out;
  assign text = op == OpSeal ? padded : hashed_word;

  assign aes_out_ready = key_state_q != KeyReady || ((!back_q[0] || out_free) && (back_q[Slots-1] || mul_ready));
  assign fire = aes_out_valid && aes_out_ready && key_state_q == KeyReady;
  assign last_fire = fire && back_q[Slots-1];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      back_q <= slot_t'(1);
      read_q <= InLines'(1);
      fill_q <= OutLines'(1);
      hash_q <= OutLines'(1);
    end else if (wipe) begin
      back_q <= slot_t'(1);
      read_q <= InLines'(1);
      fill_q <= OutLines'(1);
      hash_q <= OutLines'(1);
    end else begin
      if (fire) back_q <= {back_q[Slots-2:0], back_q[Slots-1]};
      if (last_fire) begin
        read_q <= InLines'({read_q, read_q} >> (InLines - 1));
        fill_q <= OutLines'({fill_q, fill_q} >> (OutLines - 1));
      end
      if (hashed) hash_q <= OutLines'({hash_q, hash_q} >> (OutLines - 1));
    end
  end

  // ---------------------------------------------------------------- GHASH

  logic square, length;
  assign square = key_state_q == KeySquare && key_new;
  assign length = key_state_q == KeyLength && key_new;
  assign mul_start = (fire && !back_q[Slots-1]) || square || length;
  assign hash = back_q[0] ? '0 : (BackToBack ? mul_early : mul_product);
  assign mul_digits = square ? h_q : length ? Lengths : text ^ hash;
  // The last of the four products is by H^2.
  assign mul_factor = final_q == Yes ? h_squared_q : h_q;

  gf128_mul #(
    .W(MulBits)
  ) u_mul (
    .clk_i,
    .rst_ni,
    .wipe_i(wipe),
    .start_i(mul_start),
    .ready_o(mul_ready),
    .digits_i(mul_digits),
    .factor_i(mul_factor),
    .last_o(mul_last),
    .product_o(mul_product),
    .early_o(mul_early),
    .fault_o(mul_fault)
  );

  // The signals that assign a product to a line have two rails, because a hash that arrives one line late would verify
  // the ciphertext of another line.
  assign hashed = hashed_q == Yes;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      mul_done_q <= No;
      hashed_q <= No;
      final_q <= No;
    end else begin
      mul_done_q <= mul_last ? Yes : No;
      hashed_q <= mul_last && final_q == Yes && !wipe ? Yes : No;
      // The current product is the last one of its line.
      if (mul_start) final_q <= back_q[Slots-2] && key_state_q == KeyReady ? Yes : No;
    end
  end

  // ---------------------------------------------------------------- Lines that await their response

  logic [OutLines-1:0] leave, clear;

  gcm_verdict_rail #(
    .Lines(OutLines)
  ) u_rail_a (
    .clk_i,
    .rst_ni,
    .clear_i(clear),
    .filled_i(out_filled_q),
    .hashed_i(out_hashed_q),
    .op_i(out_op_q),
    .tag_i(out_tag_q),
    .rail_o(rail_a)
  );

  gcm_verdict_rail #(
    .Lines(OutLines)
  ) u_rail_b (
    .clk_i,
    .rst_ni,
    .clear_i(clear),
    .filled_i(out_filled_q),
    .hashed_i(out_hashed_q),
    .op_i(out_op_q),
    .tag_i(out_tag_q),
    .rail_o(rail_b)
  );

  for (genvar o = 0; o < OutLines; o++) begin : gen_out
    logic here, begins, seals;

    assign here = fire && fill_q[o];
    assign begins = here && back_q[0];
    assign leave[o] = answer_q[o] && rsp_valid_o && rsp_ready_i;
    assign clear[o] = wipe || leave[o];
    assign seals = out_op_q[o] == OpSeal;
    assign verdict[o] = verdict_e'({rail_a[o], rail_b[o]});

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        out_busy_q[o] <= No;
        out_filled_q[o] <= No;
        out_hashed_q[o] <= No;
      end else if (clear[o]) begin
        out_busy_q[o] <= No;
        out_filled_q[o] <= No;
        out_hashed_q[o] <= No;
      end else begin
        if (begins) out_busy_q[o] <= Yes;
        if (last_fire && fill_q[o]) out_filled_q[o] <= Yes;
        if (hashed && hash_q[o]) out_hashed_q[o] <= Yes;
      end
    end

    always_ff @(posedge clk_i) begin
      if (begins) begin
        out_op_q[o] <= op;
        out_id_q[o] <= id;
      end

      if (clear[o]) out_tag_q[o] <= '0;
      else if (begins) out_tag_q[o] <= op == OpOpen ? tag ^ aes_out : '0;
      else begin
        out_tag_q[o] <= out_tag_q[o] ^ ((mul_product ^ h_length_q) & {128{hashed && hash_q[o]}}) ^
            (aes_out & {128{last_fire && fill_q[o] && seals}});
      end

      for (int unsigned w = 0; w < 4; w++) begin
        if (clear[o] || (verdict[o] != Pending && verdict[o] != Accepted)) out_line_q[o][w] <= '0;
        else if (here && (op == OpOpen ? back_q[w+1] : op == OpSeal && back_q[w])) out_line_q[o][w] <= padded;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) answer_q <= OutLines'(1);
    else if (wipe) answer_q <= OutLines'(1);
    else if (|leave) answer_q <= OutLines'({answer_q, answer_q} >> (OutLines - 1));
  end

  // The verdict of a line gates that line, so that no pointer can output a line without a verdict. A pointer to two
  // lines outputs neither.
  logic answers;
  assign answers = is_one_hot(16'(answer_q)) && !halted_q;

  always_comb begin
    rsp_valid_o = 1'b0;
    rsp_ok_o = 1'b0;
    rsp_id_o = '0;
    rsp_line_o = '0;
    rsp_tag_o = '0;
    for (int unsigned o = 0; o < OutLines; o++) begin
      if (answers && answer_q[o] && verdict[o] inside {Refused, Accepted}) begin
        rsp_valid_o = 1'b1;
        rsp_id_o |= out_id_q[o];
        if (verdict[o] == Accepted && ^out_op_q[o]) begin
          rsp_ok_o = 1'b1;
          rsp_line_o |= out_line_q[o];
          if (out_op_q[o] == OpSeal) rsp_tag_o |= out_tag_q[o];
        end
      end
    end
  end

  // ---------------------------------------------------------------- A new key

  always_comb begin
    idle_o = front_q[0];
    for (int unsigned i = 0; i < InLines; i++) idle_o &= in_valid_q[i] == No;
    for (int unsigned o = 0; o < OutLines; o++) idle_o &= out_busy_q[o] == No;
  end

  assign key_ready_o = idle_o && (key_state_q == KeyNone || key_state_q == KeyReady) && !wipe;
  assign key_enter = key_valid_i && key_ready_o;
  assign key_new = key_new_q == Yes;
  assign fresh = fresh_q == Yes;

  always_comb begin
    key_state_d = key_state_q;
    unique case (key_state_q)
      KeyExpand: if (key_expanded && !key_new) key_state_d = KeyEncrypt;
      KeyEncrypt: if (aes_out_valid) key_state_d = KeySquare;
      KeySquare: if (mul_done_q == Yes) key_state_d = KeyLength;
      KeyLength: if (mul_done_q == Yes) key_state_d = given_q == Yes ? KeyReady : KeyNone;
      default: ;
    endcase
    if (key_enter || fresh) key_state_d = KeyExpand;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      key_state_q <= KeyNone;
      key_new_q <= No;
      fresh_q <= Yes;
      given_q <= No;
    end else begin
      key_state_q <= key_state_d;
      fresh_q <= No;
      if (key_enter) given_q <= Yes;
      // The first cycle in a state.
      key_new_q <= key_state_d != key_state_q ? Yes : No;
    end
  end

  always_ff @(posedge clk_i) begin
    if (fresh) key_q <= '0;
    else if (key_enter) key_q <= key_i;
    if (key_state_q == KeyEncrypt && aes_out_valid) h_q <= aes_out;
    if (key_state_q == KeySquare && mul_done_q == Yes) h_squared_q <= mul_product;
    if (key_state_q == KeyLength && mul_done_q == Yes) h_length_q <= mul_product;
  end

  // ---------------------------------------------------------------- Illegal states

  always_comb begin
    control_fault = !is_one_hot(16'(front_q)) || !is_one_hot(16'(back_q)) || !is_one_hot(16'(key_state_q)) ||
        !is_one_hot(16'(write_q)) || !is_one_hot(16'(issue_q)) || !is_one_hot(16'(read_q)) ||
        !is_one_hot(16'(fill_q)) || !is_one_hot(16'(hash_q)) || !is_one_hot(16'(answer_q)) ||
        ~^key_new_q || ~^fresh_q || ~^given_q || ~^mul_done_q || ~^final_q || ~^hashed_q;
    for (int unsigned i = 0; i < InLines; i++) begin
      control_fault |= ~^in_valid_q[i] || (in_valid_q[i] == Yes && (~^in_op_q[i] || ^{in_nonce_q[i], in_parity_q[i]}));
    end
    for (int unsigned o = 0; o < OutLines; o++) begin
      control_fault |= ~^out_busy_q[o] || ~^out_filled_q[o] || ~^out_hashed_q[o] ||
          (out_busy_q[o] == Yes && ~^out_op_q[o]) ||
          !(verdict[o] inside {Pending, Refused, Accepted});
    end
  end

  assign fault = control_fault || aes_fault || mul_fault;
  assign alert_o = halted_q;
  assign wipe = (abort_i && key_state_q == KeyReady) || fresh || halted_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) halted_q <= 1'b0;
    else if (fault) halted_q <= 1'b1;
  end

  if (MulBits == 0 || MulBits > 128 || (MulBits & (MulBits - 1)) != 0) begin : gen_no_such_product
    $error("MulBits is a power of two from 1 to 128");
  end
  if (IdBits == 0) begin : gen_no_id
    $error("IdBits is 1 or more");
  end

endmodule
