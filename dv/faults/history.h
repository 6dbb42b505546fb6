// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A history of a lane: its requests in order, and the secrets that it must never output. `histories.py` writes it as
// text, with one statement in each line. Keys, nonces, lines, tags and blocks are hexadecimal, with leading zeros. All
// other numbers are decimal.
//
//     key KEY                                       key that the lane takes after reset
//     stall N                                       a response is taken in one cycle of N + 1
//     window FIRST LAST AFTER                       bits flip from the acceptance of request FIRST (-1: from cycle 0)
//                                                   until AFTER cycles after the response to request LAST
//     slack N                                       cycles beyond the run without a fault, after which a missing
//                                                   response is lost
//     known BLOCK                                   data that an attacker may add to an output
//     secret BLOCK                                  block that must not be output, with or without a known block added
//     request KIND ID GAP NONCE LINE TAG LINE TAG   a request and its response; `-` means that it is a refusal
//
// KIND is one of six:
// - `seal`;
// - `open`: opens an authentic line;
// - `refuse`: opens a line that is not authentic;
// - `again I`: opens the response to request I with LINE and TAG added, which the lane must refuse;
// - `abort`: discards the lines inside;
// - `key`: loads another key, given after GAP.
//
// GAP is the number of idle cycles before the request.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

// Words of 32 bits, least significant word first, as Verilator stores them.
template <size_t Words>
using Wide = std::array<uint32_t, Words>;
using Line = Wide<16>;
using Block = Wide<4>;

enum class Kind { Seal, Open, Refuse, Again, Abort, Key };

struct Request {
  Kind kind;
  unsigned id, gap, of;  // `of`: request with the response that is opened again
  std::string key;
  Wide<3> nonce;
  Line line;
  Block tag;
  Line response_line;
  Block response_tag;

  bool has_response() const { return kind != Kind::Abort && kind != Kind::Key; }
  bool must_be_refused() const { return kind == Kind::Refuse || kind == Kind::Again; }
};

struct History {
  std::string key;
  unsigned stall = 0, after = 0, slack = 0;
  int first = -1;
  unsigned last = 0;
  std::vector<Block> known, secrets;
  std::vector<Request> requests;
};

template <size_t Words>
Wide<Words> parse_wide(const std::string& digits) {
  Wide<Words> value{};
  if (digits.size() != 8 * Words) {
    std::cerr << "history: " << digits << " has " << digits.size() << " digits, not " << 8 * Words << "\n";
    std::exit(2);
  }
  for (size_t w = 0; w < Words; w++) value[w] = std::stoul(digits.substr(8 * (Words - 1 - w), 8), nullptr, 16);
  return value;
}

inline Request parse_request(std::istringstream& words) {
  Request request{};
  std::string kind, nonce, line, tag, response_line, response_tag;
  words >> kind;
  if (kind == "again") words >> request.of;
  words >> request.id >> request.gap;
  if (kind == "abort" || kind == "key") {
    request.kind = kind == "key" ? Kind::Key : Kind::Abort;
    words >> request.key;
    return request;
  }
  words >> nonce >> line >> tag >> response_line >> response_tag;
  request.kind = kind == "seal" ? Kind::Seal : kind == "open" ? Kind::Open : kind == "again" ? Kind::Again : Kind::Refuse;
  request.nonce = parse_wide<3>(nonce);
  request.line = parse_wide<16>(line);
  request.tag = parse_wide<4>(tag);
  if (response_line != "-") request.response_line = parse_wide<16>(response_line);
  if (response_tag != "-") request.response_tag = parse_wide<4>(response_tag);
  return request;
}

inline History read_history(const char* path) {
  History history;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string statement, block;
    words >> statement;
    if (statement == "key") words >> history.key;
    else if (statement == "stall") words >> history.stall;
    else if (statement == "slack") words >> history.slack;
    else if (statement == "window") words >> history.first >> history.last >> history.after;
    else if (statement == "request") history.requests.push_back(parse_request(words));
    else if (words >> block) (statement == "known" ? history.known : history.secrets).push_back(parse_wide<4>(block));
  }
  return history;
}

// Both halves of each secret, with and without each known block added. One half is enough for a match, so that one
// changed bit does not hide a secret.
class Forbidden {
 public:
  Forbidden(const std::vector<Block>& secrets, const std::vector<Block>& known) {
    for (const Block& secret : secrets) {
      add(secret, Block{});
      for (const Block& k : known) add(secret, k);
    }
  }

  bool has(const uint32_t* block) const {
    for (unsigned half = 0; half < 2; half++) {
      const uint64_t value = joined(block[2 * half], block[2 * half + 1]);
      if (value != 0 && halves_.count(value) != 0) return true;
    }
    return false;
  }

  size_t size() const { return halves_.size(); }

 private:
  static uint64_t joined(uint32_t low, uint32_t high) { return uint64_t(high) << 32 | low; }

  void add(const Block& a, const Block& b) {
    for (unsigned half = 0; half < 2; half++) {
      const unsigned w = 2 * half;
      halves_.insert(joined(a[w] ^ b[w], a[w + 1] ^ b[w + 1]));
    }
  }

  std::unordered_set<uint64_t> halves_;
};
