// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A lane under Verilator, for the injector. It lists every register by name, saves, restores and compares the whole
// state as bytes, and flips one bit.
//
// All state of a synchronous design is in its registers. After a flip, `eval_settle` recomputes all signals that depend
// on registers, as Verilator does at the start of a simulation.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "Vlane.h"
#include "Vlane___024root.h"
#include "verilated_syms.h"

void Vlane___024root___eval_settle(Vlane___024root* root);

struct Register {
  std::string name;  // without the name of the top module
  uint8_t* data;
  size_t bytes;       // of all elements
  unsigned bits;      // of one element
  unsigned elements;  // more than one for an unpacked array
};

class Lane {
 public:
  Lane() : context_(new VerilatedContext), top_(new Vlane(context_.get())) {
    top_->clk_i = 0;
    top_->eval();
    find_registers();
  }

  Vlane& top() { return *top_; }
  const std::vector<Register>& registers() const { return registers_; }

  void tick() {
    top_->clk_i = 1;
    top_->eval();
  }

  // Updates the signals that depend on inputs.
  void settle_inputs() {
    top_->clk_i = 0;
    top_->eval();
  }

  std::vector<uint8_t> state() const {
    std::vector<uint8_t> kept;
    for (const Register& r : registers_) kept.insert(kept.end(), r.data, r.data + r.bytes);
    return kept;
  }

  // Restores the registers only; `flip` must follow to update the signals that depend on them.
  void restore(const std::vector<uint8_t>& kept) {
    const uint8_t* from = kept.data();
    for (const Register& r : registers_) {
      std::memcpy(r.data, from, r.bytes);
      from += r.bytes;
    }
  }

  // Returns true if the state equals a saved one. Compares first the register that differed last, because it usually
  // still differs.
  bool is(const std::vector<uint8_t>& kept) {
    const Register& suspect = registers_[suspect_];
    if (std::memcmp(suspect.data, kept.data() + offsets_[suspect_], suspect.bytes) != 0) return false;
    for (size_t i = 0; i < registers_.size(); i++) {
      if (std::memcmp(registers_[i].data, kept.data() + offsets_[i], registers_[i].bytes) != 0) {
        suspect_ = i;
        return false;
      }
    }
    return true;
  }

  // Returns true if the state equals a saved one except for one bit.
  bool is_but_for(const std::vector<uint8_t>& kept, size_t which, unsigned bit) {
    toggle(which, bit);
    const bool same = is(kept);
    toggle(which, bit);
    return same;
  }

  // Flips a bit; bits are numbered through all elements of a register.
  void flip(size_t which, unsigned bit) {
    toggle(which, bit);
    Vlane___024root___eval_settle(top_->rootp);
    suspect_ = which;
  }

 private:
  void toggle(size_t which, unsigned bit) {
    const Register& r = registers_[which];
    const size_t stride = r.bytes / r.elements;
    r.data[(bit / r.bits) * stride + (bit % r.bits) / 8] ^= 1u << (bit % r.bits % 8);
  }

  void find_registers() {
    const std::string prefix = "TOP.gcm_lane";
    for (const auto& [scope_name, scope] : *context_->scopeNameMap()) {
      if (!scope->varsp()) continue;
      std::string inside = scope->name();
      inside = inside.size() > prefix.size() ? inside.substr(prefix.size() + 1) + "." : "";
      for (const auto& [name, variable] : *scope->varsp()) add(inside + name, variable);
    }
    size_t offset = 0;
    for (const Register& r : registers_) {
      offsets_.push_back(offset);
      offset += r.bytes;
    }
  }

  void add(const std::string& name, const VerilatedVar& variable) {
    if (name.size() < 2 || name.substr(name.size() - 2) != "_q") return;
    const unsigned bits = variable.entBits();
    size_t stride = 4 * ((bits + 31) / 32);
    if (bits <= 8) stride = 1;
    else if (bits <= 16) stride = 2;
    else if (bits > 32 && bits <= 64) stride = 8;
    registers_.push_back({name, static_cast<uint8_t*>(variable.datap()), variable.totalSize(), bits,
                          static_cast<unsigned>(variable.totalSize() / stride)});
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vlane> top_;
  std::vector<Register> registers_;
  std::vector<size_t> offsets_;
  size_t suspect_ = 0;
};
