// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// All parameter points of the AES core and of the multiplier behind shared ports for cocotb. The clocks of one core and
// of one multiplier run.

module block_bench
  import points_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic [7:0]   core_i,
  input  logic         wipe_i,
  input  logic [255:0] key_i,         // a 128-bit key is in the lower half
  input  logic         key_new_i,
  output logic         key_ready_o,
  input  logic         valid_i,
  output logic         ready_o,
  input  logic [127:0] block_i,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [127:0] block_o,
  output logic         fault_o,

  input  logic [7:0]   mul_i,
  input  logic         mul_wipe_i,
  input  logic         mul_start_i,
  output logic         mul_ready_o,
  input  logic [127:0] mul_digits_i,
  input  logic [127:0] mul_factor_i,
  output logic         mul_last_o,
  output logic [127:0] mul_product_o,
  output logic [127:0] mul_early_o,
  output logic         mul_fault_o
);

  typedef struct packed {
    logic         key_ready;
    logic         ready;
    logic         valid;
    logic [127:0] block;
    logic         fault;
  } core_face_t;

  typedef struct packed {
    logic         ready;
    logic         last;
    logic [127:0] product;
    logic [127:0] early;
    logic         fault;
  } mul_face_t;

  // At least one bit, also for a bench with one core.
  localparam int unsigned CoreBits = CorePoints > 1 ? $clog2(CorePoints) : 1;

  core_face_t [CorePoints-1:0] cores;
  mul_face_t [MulPoints-1:0] muls;

  assign {key_ready_o, ready_o, valid_o, block_o, fault_o} = cores[core_i[CoreBits-1:0]];
  assign {mul_ready_o, mul_last_o, mul_product_o, mul_early_o, mul_fault_o} = muls[mul_i[$clog2(MulPoints)-1:0]];

  for (genvar p = 0; p < CorePoints; p++) begin : gen_core
    localparam core_point_t Point = CorePoint[p];
    logic clk;
    assign clk = clk_i && 32'(core_i) == p;
    aes_core #(
      .KeyBits(Point.key_bits),
      .RoundsPerCycle(Point.rounds_per_cycle),
      .Tower(Point.tower[0])
    ) u_dut (
      .clk_i(clk),
      .rst_ni,
      .wipe_i,
      .key_i(key_i[Point.key_bits-1:0]),
      .key_new_i,
      .key_ready_o(cores[p].key_ready),
      .valid_i,
      .ready_o(cores[p].ready),
      .block_i,
      .valid_o(cores[p].valid),
      .ready_i,
      .block_o(cores[p].block),
      .fault_o(cores[p].fault)
    );
  end

  for (genvar p = 0; p < MulPoints; p++) begin : gen_mul
    logic clk;
    assign clk = clk_i && 32'(mul_i) == p;
    gf128_mul #(
      .W(MulBits[p])
    ) u_dut (
      .clk_i(clk),
      .rst_ni,
      .wipe_i(mul_wipe_i),
      .start_i(mul_start_i),
      .ready_o(muls[p].ready),
      .digits_i(mul_digits_i),
      .factor_i(mul_factor_i),
      .last_o(muls[p].last),
      .product_o(muls[p].product),
      .early_o(muls[p].early),
      .fault_o(muls[p].fault)
    );
  end

endmodule
