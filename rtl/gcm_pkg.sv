// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// AES-GCM over lines of memory (NIST SP 800-38D): no additional data, 64 bytes of text, a nonce of 96 bits, a tag of
// 128 bits. Byte 0 of every value is first and most significant.
//
// The signals that decide whether a text may leave use codes in which one flipped bit never gives another code word.

package gcm_pkg;

  typedef logic [127:0] block_t;
  typedef logic [95:0] nonce_t;
  typedef block_t [0:3] line_t;

  typedef enum logic [1:0] {
    OpSeal = 2'b01,
    OpOpen = 2'b10
  } op_e;

  typedef enum logic [1:0] {
    No  = 2'b01,
    Yes = 2'b10
  } rails_e;

  // Bit 1: the line is accepted. Bit 0: the line is decided.
  typedef logic [1:0] rail_t;

  // Two rails. From pending to accepted, all four bits change; from refused to accepted, one bit of each rail.
  typedef enum logic [3:0] {
    Pending  = 4'b0000,
    Refused  = 4'b0101,
    Accepted = 4'b1111
  } verdict_e;

  // Steps of a new key: the lane encrypts zero for the hash key H, and then computes H^2 and the product of the length
  // and H.
  typedef enum logic [5:0] {
    KeyNone    = 6'b000001,
    KeyExpand  = 6'b000010,
    KeyEncrypt = 6'b000100,
    KeySquare  = 6'b001000,
    KeyLength  = 6'b010000,
    KeyReady   = 6'b100000
  } key_state_e;

  // Last input block of GHASH: no additional data, and 512 bits of text.
  localparam block_t Lengths = 128'd512;

  // The lane encrypts five blocks for a line: four pads, and the mask of the tag. A one-hot ring selects the slot.
  localparam int unsigned Slots = 5;
  typedef logic [Slots-1:0] slot_t;

  // Counter of the block that the lane encrypts in a slot. Opening needs the mask first, because the whole ciphertext
  // for the hash has arrived; sealing needs the mask last.
  function automatic logic [31:0] counter_of(op_e op, slot_t slot);
    automatic logic [2:0] counter = '0;
    for (int unsigned s = 0; s < Slots; s++) begin
      if (slot[s] && op == OpOpen) counter |= 3'(s + 1);
      if (slot[s] && op == OpSeal) counter |= s == Slots - 1 ? 3'd1 : 3'(s + 2);
    end
    return 32'(counter);
  endfunction

  function automatic logic is_one_hot(logic [15:0] bits);
    return bits != '0 && (bits & (bits - 16'd1)) == '0;
  endfunction

endpackage
