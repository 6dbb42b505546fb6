// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Runs a history on a lane, cycle by cycle, and checks the outputs against the allowed ones.
#pragma once

#include <algorithm>

#include "history.h"
#include "lane.h"

// Observations since a flip.
struct Seen {
  bool released = false;   // the lane output a secret, or accepted a line that is not authentic
  bool wrong = false;      // a response has a wrong line or tag, or these are not zero without an accepted response
  bool misaddressed = false;  // a response has the id of no request that waits
  bool refused = false;    // the lane refused an authentic line
  bool alert = false;

  bool nothing() const { return !released && !wrong && !misaddressed && !refused && !alert; }
};

// Progress of a history. With the lane's registers, it determines all later cycles.
struct Progress {
  unsigned cycle = 0;
  int next = -1;  // -1 for the key, then the index of each request
  unsigned waited = 0;
  std::vector<uint8_t> answered;
  std::vector<Line> lines;  // responses that a later request opens
  std::vector<Block> tags;

  bool operator==(const Progress& other) const {
    return next == other.next && waited == other.waited && answered == other.answered && lines == other.lines &&
           tags == other.tags;
  }
};

class Session {
 public:
  Session(Lane& lane, const History& history) : lane_(lane), history_(history), forbidden_(history.secrets, history.known), secrets_(history.secrets, {}) {
    const size_t requests = history.requests.size();
    progress.answered.assign(requests, 0);
    progress.lines.assign(requests, Line{});
    progress.tags.assign(requests, Block{});
    for (const Request& request : history.requests) opened_again_.push_back(is_opened_again(request));
  }

  Progress progress;
  Seen seen;

  // Cycles of the acceptance and of the response of each request, in a run without a fault.
  std::vector<unsigned> accepted, responded;

  // Largest number of lines inside at an abort.
  unsigned struck = 0;

  bool complete() const {
    return progress.next == int(history_.requests.size()) &&
           std::all_of(progress.answered.begin(), progress.answered.end(), [](uint8_t a) { return a != 0; });
  }

  // Sets the inputs from the progress, checks the outputs, and then ticks the clock.
  void cycle() {
    Vlane& top = lane_.top();
    drive(top);
    lane_.settle_inputs();
    look(top);
    advance(top);
    lane_.tick();
    progress.cycle++;
  }

  size_t forbidden() const { return forbidden_.size(); }

 private:
  bool is_opened_again(const Request& request) const {
    const size_t index = &request - history_.requests.data();
    return std::any_of(history_.requests.begin(), history_.requests.end(),
                       [&](const Request& r) { return r.kind == Kind::Again && r.of == index; });
  }

  // `again` waits for the response that it opens.
  bool due(const Request& request) const {
    return progress.waited >= request.gap && (request.kind != Kind::Again || progress.answered[request.of] != 0);
  }

  void drive(Vlane& top) {
    const bool first_key = progress.next < 0;
    const bool asks = !first_key && progress.next < int(history_.requests.size()) && due(history_.requests[progress.next]);
    const Kind kind = asks ? history_.requests[progress.next].kind : Kind::Key;
    top.key_valid_i = first_key || (asks && kind == Kind::Key);
    if (top.key_valid_i) show_key(top, first_key ? history_.key : history_.requests[progress.next].key);
    top.rsp_ready_i = progress.cycle % (history_.stall + 1) == history_.stall;
    top.abort_i = asks && kind == Kind::Abort;
    top.req_valid_i = asks && kind != Kind::Abort && kind != Kind::Key;
    if (!top.req_valid_i) return;
    const Request& request = history_.requests[progress.next];
    const bool again = request.kind == Kind::Again;
    top.req_op_i = request.kind == Kind::Seal ? 1 : 2;
    top.req_id_i = request.id;
    for (unsigned w = 0; w < 3; w++) top.req_nonce_i[w] = request.nonce[w];
    for (unsigned w = 0; w < 16; w++) {
      top.req_line_i[w] = request.line[w] ^ (again ? progress.lines[request.of][w] : 0);
    }
    for (unsigned w = 0; w < 4; w++) top.req_tag_i[w] = request.tag[w] ^ (again ? progress.tags[request.of][w] : 0);
  }

  static void show_key(Vlane& top, const std::string& digits) {
    constexpr size_t Words = sizeof(top.key_i) / 4;
    const Wide<Words> key = parse_wide<Words>(digits);
    for (size_t w = 0; w < Words; w++) top.key_i[w] = key[w];
  }

  void look(Vlane& top) {
    bool anything = false;
    for (unsigned w = 0; w < 16; w++) anything |= top.rsp_line_o[w] != 0;
    for (unsigned w = 0; w < 4; w++) anything |= top.rsp_tag_o[w] != 0;
    if (anything) {
      if (leaks(&top.rsp_tag_o[0])) seen.released = true;
      for (unsigned w = 0; w < 16; w += 4) seen.released |= leaks(&top.rsp_line_o[w]);
      if (!top.rsp_valid_o || !top.rsp_ok_o) seen.wrong = true;
    }
    seen.alert |= top.alert_o;
    if (top.rsp_valid_o && top.rsp_ready_i) respond(top);
  }

  // An attacker knows only the tags of earlier responses: whoever receives a wrong tag never sees the correct one.
  bool leaks(const uint32_t* word) const {
    if (forbidden_.has(word)) return true;
    for (size_t i = 0; i < history_.requests.size(); i++) {
      if (progress.answered[i] && history_.requests[i].kind == Kind::Seal) {
        Block sum = history_.requests[i].response_tag;
        for (unsigned w = 0; w < 4; w++) sum[w] ^= word[w];
        if (secrets_.has(sum.data())) return true;
      }
    }
    return false;
  }

  void respond(Vlane& top) {
    for (size_t i = 0; i < history_.requests.size(); i++) {
      const Request& request = history_.requests[i];
      if (!request.has_response() || request.id != top.rsp_id_o || progress.answered[i] || int(i) >= progress.next) {
        continue;
      }
      progress.answered[i] = 1;
      if (responded.size() <= i) responded.resize(i + 1);
      responded[i] = progress.cycle;
      judge(i, top);
      return;
    }
    seen.misaddressed = true;
  }

  void judge(size_t index, Vlane& top) {
    const Request& request = history_.requests[index];
    if (opened_again_[index]) {
      std::copy_n(&top.rsp_line_o[0], 16, progress.lines[index].begin());
      std::copy_n(&top.rsp_tag_o[0], 4, progress.tags[index].begin());
    }
    if (request.must_be_refused()) {
      if (top.rsp_ok_o) seen.released = true;
    } else if (!top.rsp_ok_o) {
      seen.refused = true;
    } else if (!std::equal(request.response_line.begin(), request.response_line.end(), &top.rsp_line_o[0]) ||
               !std::equal(request.response_tag.begin(), request.response_tag.end(), &top.rsp_tag_o[0])) {
      seen.wrong = true;
    }
  }

  // Moves to the next request if the lane accepted the current one.
  void advance(Vlane& top) {
    const bool taken = top.abort_i || (top.key_valid_i && top.key_ready_o) || (top.req_valid_i && top.req_ready_o);
    if (taken) {
      if (top.abort_i) forget();
      if (progress.next >= 0 && top.key_valid_i) progress.answered[progress.next] = 1;
      if (progress.next >= 0) {
        accepted.resize(progress.next + 1);
        accepted[progress.next] = progress.cycle;
      }
      progress.next++;
      progress.waited = 0;
    } else if (progress.next >= 0) {
      progress.waited++;
      // A larger count than the largest gap has no effect.
      progress.waited = std::min(progress.waited, 1000u);
    }
  }

  void forget() {
    const auto now = progress.answered.begin();
    struck = std::max(struck, unsigned(std::count(now, now + progress.next, 0)));
    for (int i = 0; i <= progress.next; i++) progress.answered[i] = 1;
  }

  Lane& lane_;
  const History& history_;
  // Secrets with and without the known blocks of the history.
  Forbidden forbidden_, secrets_;
  std::vector<bool> opened_again_;
};
