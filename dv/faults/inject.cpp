// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Flips one flip-flop of a lane, for every flip-flop and every cycle. The injector runs a history once without a fault.
// Then it runs it again from each cycle of the window, with each bit of each register flipped.
//
// A run ends when the lane and its history are in the same state as without the fault, because all later cycles are
// then the same. It also ends after the first cycle if that cycle shows no effect and the same bit is the only
// difference. Its result is then that of the same flip one cycle later, which ran before. Otherwise it ends at a
// released secret, some cycles after an alert, or at the limit, where a missing response is lost.
//
//     inject HISTORY SHARE SEED [WHOLE...]  flips, in registers wider than 32 bits, one bit of SHARE, in every cycle;
//                                           flips every bit of each WHOLE, a register or its first element, NAME[0]
//     inject --registers                    prints the registers, with their bits
//
// Prints `run` with the cycles and the window of the run without a fault, and `of REGISTER` with the number of flips
// for each result. `release` names the first few flips of each register that released a secret, and `simulated` the
// cycles of all flips. Progress goes to standard error.

#include <cstdio>
#include <map>
#include <random>

#include "session.h"

namespace {

constexpr unsigned AfterAlert = 16;
constexpr unsigned WideRegister = 32;
constexpr unsigned LinesStruck = 2;      // with fewer lines at an abort, the lane is almost empty
constexpr unsigned ReleasesPrinted = 5;  // per register

enum End { Released, Wrong, WrongAlert, Misaddressed, Alert, Lost, Refused, Same, Ends };
const char* const EndNames[Ends] = {"released", "wrong",   "wrong_alert", "misaddressed",
                                      "alert",    "lost", "refused",     "same"};

struct Moment {
  std::vector<uint8_t> state;
  Progress progress;
};

unsigned all_bits(const Register& r) { return r.bits * r.elements; }

// Flips random bits, because the state at power-up is arbitrary; seed 0 flips no bit.
void power_up(Lane& lane, unsigned seed) {
  std::mt19937 random(seed);
  for (size_t r = 0; r < lane.registers().size(); r++) {
    for (unsigned b = 0; b < all_bits(lane.registers()[r]); b++) {
      if (seed != 0 && random() % 2 != 0) lane.flip(r, b);
    }
  }
}

void reset(Lane& lane) {
  Vlane& top = lane.top();
  top.req_op_i = 1;
  top.rst_ni = 0;
  for (unsigned i = 0; i < 2; i++) {
    lane.settle_inputs();
    lane.tick();
  }
  top.rst_ni = 1;
}

// Runs the history without a fault; returns the state before each cycle.
std::vector<Moment> straight(Lane& lane, Session& session, const History& history, unsigned limit) {
  std::vector<Moment> moments;
  while (!session.complete() && moments.size() < limit) {
    moments.push_back({lane.state(), session.progress});
    session.cycle();
  }
  if (!session.complete() || session.seen.released || session.seen.wrong || session.seen.refused || session.seen.alert) {
    std::cerr << "inject: the run without a fault went wrong in cycle " << session.progress.cycle << "\n";
    std::exit(1);
  }
  const bool aborts = std::any_of(history.requests.begin(), history.requests.end(),
                                  [](const Request& r) { return r.kind == Kind::Abort; });
  if (aborts && session.struck < LinesStruck) {
    std::cerr << "inject: an abort found " << session.struck << " lines inside at most, and must find " << LinesStruck << "\n";
    std::exit(1);
  }
  // Further cycles, because a run with a fault may reach the same state a little later.
  for (unsigned i = 0; i < 8; i++) {
    moments.push_back({lane.state(), session.progress});
    session.cycle();
  }
  return moments;
}

class Injector {
 public:
  Injector(Lane& lane, Session& session, const std::vector<Moment>& moments, unsigned slack)
      : lane_(lane), session_(session), moments_(moments), limit_(unsigned(moments.size()) + slack) {}

  uint64_t cycles = 0;

  // Returns the result of a flip; `later` is the result of the same flip one cycle later, or `Ends` if unknown.
  End inject(unsigned at, size_t which, unsigned bit, End later) {
    lane_.restore(moments_[at].state);
    session_.progress = moments_[at].progress;
    session_.seen = Seen{};
    lane_.flip(which, bit);
    unsigned since_alert = 0;
    while (session_.progress.cycle < limit_ && since_alert < AfterAlert) {
      session_.cycle();
      cycles++;
      if (session_.seen.released) return Released;
      if (session_.seen.alert) since_alert++;
      if (as_without()) break;
      if (later != Ends && session_.progress.cycle == at + 1 && as_later(which, bit)) return later;
    }
    return end();
  }

 private:
  bool as_without() {
    const unsigned now = session_.progress.cycle;
    return now < moments_.size() && lane_.is(moments_[now].state) && session_.progress == moments_[now].progress;
  }

  bool as_later(size_t which, unsigned bit) {
    const Moment& next = moments_[session_.progress.cycle];
    return session_.seen.nothing() && session_.progress == next.progress && lane_.is_but_for(next.state, which, bit);
  }

  End end() const {
    const Seen& seen = session_.seen;
    if (seen.wrong) return seen.alert ? WrongAlert : Wrong;
    if (seen.misaddressed) return Misaddressed;
    if (seen.alert) return Alert;
    // A run that ended before the limit is in the state without a fault, so its later responses are the same.
    if (session_.progress.cycle >= limit_ && !session_.complete()) return Lost;
    return seen.refused ? Refused : Same;
  }

  Lane& lane_;
  Session& session_;
  const std::vector<Moment>& moments_;
  unsigned limit_;
};

struct Window {
  unsigned first, last;
};

Window window_of(const History& history, const Session& session, size_t moments) {
  const unsigned first = history.first < 0 ? 0 : session.accepted[history.first];
  const unsigned last = session.responded[history.last] + history.after;
  return {first, std::min(last, unsigned(moments) - 1)};
}

struct Bit {
  size_t which;
  unsigned bit;
  End later;
};

struct Share {
  unsigned one_of;                 // one of this many bits of wide registers
  std::vector<std::string> whole;  // registers, or their first elements, with all bits flipped
  unsigned seed;
};

bool names(const std::string& whole, const Register& r) { return whole == r.name || whole == r.name + "[0]"; }

// Number of low bits of a register that are flipped regardless of its share.
unsigned whole_bits(const Register& r, const Share& share) {
  if (all_bits(r) <= WideRegister) return all_bits(r);
  unsigned bits = 0;
  for (const std::string& whole : share.whole) {
    if (names(whole, r)) bits = std::max(bits, whole == r.name ? all_bits(r) : r.bits);
  }
  return bits;
}

std::vector<Bit> chosen_bits(const std::vector<Register>& registers, const Share& share) {
  std::vector<Bit> bits;
  std::mt19937 random(share.seed);
  for (size_t r = 0; r < registers.size(); r++) {
    const unsigned whole = whole_bits(registers[r], share);
    for (unsigned b = 0; b < all_bits(registers[r]); b++) {
      if (b < whole || random() % share.one_of == 0) bits.push_back({r, b, Ends});
    }
  }
  return bits;
}

void require(const std::vector<Register>& registers, const std::string& whole) {
  const bool there = std::any_of(registers.begin(), registers.end(), [&](const Register& r) { return names(whole, r); });
  if (there) return;
  std::cerr << "inject: no register `" << whole << "`; `inject --registers` lists them\n";
  std::exit(2);
}

// Flips from the last cycle to the first, so that the result one cycle later is known.
void sweep(Lane& lane, Injector& injector, Window window, const Share& share) {
  const std::vector<Register>& registers = lane.registers();
  std::vector<std::array<uint64_t, Ends>> counts(registers.size());
  std::vector<Bit> bits = chosen_bits(registers, share);
  for (unsigned at = window.last + 1; at-- > window.first;) {
    for (Bit& b : bits) {
      b.later = injector.inject(at, b.which, b.bit, b.later);
      if (b.later == Released && counts[b.which][Released] < ReleasesPrinted) {
        std::printf("release %s %u %u\n", registers[b.which].name.c_str(), b.bit, at);
      }
      counts[b.which][b.later]++;
    }
    std::fprintf(stderr, "progress %u %u\n", window.last - at + 1, window.last - window.first + 1);
  }
  for (size_t r = 0; r < registers.size(); r++) {
    std::printf("of %s", registers[r].name.c_str());
    for (unsigned e = 0; e < Ends; e++) std::printf(" %s %llu", EndNames[e], (unsigned long long)counts[r][e]);
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** arguments) {
  Lane lane;
  if (count == 2 && std::string(arguments[1]) == "--registers") {
    for (const Register& r : lane.registers()) std::printf("%s %u\n", r.name.c_str(), all_bits(r));
    return 0;
  }
  if (count < 4) {
    std::fprintf(stderr, "usage: inject HISTORY SHARE SEED [WHOLE...] | inject --registers\n");
    return 2;
  }
  const History history = read_history(arguments[1]);
  const unsigned seed = std::stoul(arguments[3]);
  const Share share{unsigned(std::stoul(arguments[2])), {arguments + 4, arguments + count}, seed};
  for (const std::string& whole : share.whole) require(lane.registers(), whole);
  power_up(lane, seed);
  reset(lane);
  Session session(lane, history);
  const std::vector<Moment> moments = straight(lane, session, history, 20000);
  const Window window = window_of(history, session, moments.size());
  Injector injector(lane, session, moments, history.slack);
  std::printf("run cycles %zu first %u last %u forbidden %zu\n", moments.size(), window.first, window.last,
              session.forbidden());
  sweep(lane, injector, window, share);
  std::printf("simulated %llu\n", (unsigned long long)injector.cycles);
  return 0;
}
