// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// All parameter points of the lane and the router behind shared ports for cocotb. The clock of one point runs.
//
// The Python testbench wakes for events and not for cycles. It posts a key or a request by a change of `key_post_i` or
// `req_post_i`. The bench offers a key at once, and a request after `req_wait_i` cycles. When the lane has taken it,
// `done` follows `post`, with the cycle. The bench takes a response after it has waited `rsp_wait_i` cycles, and keeps
// it for reading.
//
// The bench checks in every cycle the rules that must always hold, and `broken_o` keeps the violations. `spoil_i` flips
// bits of the outputs as the bench sees them, so that a test can check that the rules detect behaviour that no lane
// has.

module lane_bench
  import points_pkg::*;
#(
  parameter int unsigned IdBits = 4
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [7:0]        point_i,
  input  logic              abort_i,
  input  logic [IdBits+645:0] spoil_i,     // as `face_t`

  input  logic              key_post_i,
  input  logic [255:0]      key_i,         // a 128-bit key is in the lower half
  output logic              key_done_o,
  output logic [31:0]       key_cycle_o,

  input  logic              req_post_i,
  input  logic [15:0]       req_wait_i,
  input  logic [1:0]        req_op_i,
  input  logic [IdBits-1:0] req_id_i,
  input  logic [95:0]       req_nonce_i,
  input  logic [511:0]      req_line_i,
  input  logic [127:0]      req_tag_i,
  output logic              req_done_o,
  output logic [31:0]       req_cycle_o,

  input  logic [15:0]       rsp_wait_i,
  output logic              rsp_done_o,
  output logic [31:0]       rsp_cycle_o,
  output logic [IdBits-1:0] rsp_id_o,
  output logic              rsp_ok_o,
  output logic [511:0]      rsp_line_o,
  output logic [127:0]      rsp_tag_o,

  output logic              rsp_waits_o,   // the lane offers a response
  output logic              idle_o,
  output logic [31:0]       cycle_o,
  output logic [5:0]        broken_o       // bit i: rule i, as `RULES` of dv/lane_bench.py lists them
);

  typedef struct packed {
    logic              key_ready;
    logic              req_ready;
    logic              rsp_valid;
    logic [IdBits-1:0] id;
    logic              ok;
    logic [511:0]      line;
    logic [127:0]      tag;
    logic              idle;
    logic              alert;
  } face_t;

  localparam int unsigned PointBits = LanePoints > 1 ? $clog2(LanePoints) : 1;

  face_t [LanePoints-1:0] faces;
  face_t face;
  logic key_valid, req_valid, rsp_ready;

  assign face = faces[point_i[PointBits-1:0]] ^ spoil_i;

  for (genvar p = 0; p < LanePoints; p++) begin : gen_point
    localparam lane_point_t Point = LanePoint[p];
    logic clk;
    assign clk = clk_i && 32'(point_i) == p;

    if (Point.lanes == 0) begin : gen_lane
      gcm_lane #(
        .KeyBits(Point.key_bits),
        .RoundsPerCycle(Point.rounds_per_cycle),
        .MulBits(Point.mul_bits),
        .Tower(Point.tower[0]),
        .IdBits(IdBits)
      ) u_dut (
        .clk_i(clk),
        .rst_ni,
        .abort_i,
        .key_valid_i(key_valid),
        .key_ready_o(faces[p].key_ready),
        .key_i(key_i[Point.key_bits-1:0]),
        .req_valid_i(req_valid),
        .req_ready_o(faces[p].req_ready),
        .req_op_i(gcm_pkg::op_e'(req_op_i)),
        .req_id_i,
        .req_nonce_i,
        .req_line_i,
        .req_tag_i,
        .rsp_valid_o(faces[p].rsp_valid),
        .rsp_ready_i(rsp_ready),
        .rsp_id_o(faces[p].id),
        .rsp_ok_o(faces[p].ok),
        .rsp_line_o(faces[p].line),
        .rsp_tag_o(faces[p].tag),
        .idle_o(faces[p].idle),
        .alert_o(faces[p].alert)
      );
    end else begin : gen_router
      gcm_router #(
        .Lanes(Point.lanes),
        .KeyBits(Point.key_bits),
        .RoundsPerCycle(Point.rounds_per_cycle),
        .MulBits(Point.mul_bits),
        .Tower(Point.tower[0]),
        .IdBits(IdBits)
      ) u_dut (
        .clk_i(clk),
        .rst_ni,
        .abort_i,
        .key_valid_i(key_valid),
        .key_ready_o(faces[p].key_ready),
        .key_i(key_i[Point.key_bits-1:0]),
        .req_valid_i(req_valid),
        .req_ready_o(faces[p].req_ready),
        .req_op_i(gcm_pkg::op_e'(req_op_i)),
        .req_id_i,
        .req_nonce_i,
        .req_line_i,
        .req_tag_i,
        .rsp_valid_o(faces[p].rsp_valid),
        .rsp_ready_i(rsp_ready),
        .rsp_id_o(faces[p].id),
        .rsp_ok_o(faces[p].ok),
        .rsp_line_o(faces[p].line),
        .rsp_tag_o(faces[p].tag),
        .idle_o(faces[p].idle),
        .alert_o(faces[p].alert)
      );
    end
  end

  // ---------------------------------------------------------------- Posted requests and keys, kept responses

  logic [15:0] req_waited_q, rsp_waited_q;
  logic req_taken, rsp_taken;

  assign key_valid = key_post_i != key_done_o;
  assign req_valid = req_post_i != req_done_o && req_waited_q >= req_wait_i;
  assign rsp_ready = rsp_waited_q >= rsp_wait_i;
  assign req_taken = req_valid && face.req_ready;
  assign rsp_taken = face.rsp_valid && rsp_ready;
  assign rsp_waits_o = face.rsp_valid;
  assign idle_o = face.idle;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycle_o <= '0;
      key_done_o <= 1'b0;
      key_cycle_o <= '0;
      req_done_o <= 1'b0;
      req_cycle_o <= '0;
      req_waited_q <= '0;
      rsp_done_o <= 1'b0;
      rsp_cycle_o <= '0;
      rsp_waited_q <= '0;
    end else begin
      cycle_o <= cycle_o + 32'd1;
      if (key_valid && face.key_ready) begin
        key_done_o <= key_post_i;
        key_cycle_o <= cycle_o;
      end
      req_waited_q <= req_taken || req_post_i == req_done_o ? '0 : req_waited_q + 16'd1;
      if (req_taken) begin
        req_done_o <= req_post_i;
        req_cycle_o <= cycle_o;
      end
      rsp_waited_q <= rsp_taken || !face.rsp_valid ? '0 : rsp_waited_q + 16'd1;
      if (rsp_taken) begin
        rsp_done_o <= !rsp_done_o;
        rsp_cycle_o <= cycle_o;
        {rsp_id_o, rsp_ok_o, rsp_line_o, rsp_tag_o} <= response;
      end
    end
  end

  // ---------------------------------------------------------------- Rules of every cycle

  logic [IdBits+640:0] response, before_q;
  logic kept_q;

  assign response = {face.id, face.ok, face.line, face.tag};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      before_q <= '0;
      kept_q <= 1'b0;
      broken_o <= '0;
    end else begin
      before_q <= response;
      kept_q <= face.rsp_valid && !rsp_ready && !abort_i;
      if (kept_q && (!face.rsp_valid || response != before_q)) broken_o[0] <= 1'b1;
      if (!(face.rsp_valid && face.ok) && {face.line, face.tag} != '0) broken_o[1] <= 1'b1;
      if (face.req_ready && key_valid) broken_o[2] <= 1'b1;
      if (face.key_ready && !face.idle) broken_o[3] <= 1'b1;
      if (face.rsp_valid && face.idle) broken_o[4] <= 1'b1;
      if (face.alert) broken_o[5] <= 1'b1;
    end
  end

endmodule
