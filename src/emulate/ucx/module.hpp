// SPDX-License-Identifier: Apache-2.0
// The UCX module: it is loaded before a program's UCX and takes over the tables of its transports
// (UCT), so that every message carries a stamp and is handed up when an emulated network would. It
// lives in other people's programs: no exceptions, no logging, no aborts, no C++ library.
//
// One thread at a time uses a worker, its interfaces and endpoints (UCT's own rule). The same holds
// for the module's records of them.
#pragma once

#include <uct/api/uct.h>

#include "emulate/control/emulated_process.hpp"

namespace weft::emulate::ucx {

struct Process : EmulatedProcess {
  Picoseconds link_cost;  ///< a sender's time to charge one link: measured, and subtracted
  Picoseconds send_cost;  ///< likewise all that the module does for a short message
};
extern Process process;

/// Marks the process as interposed; enrols it where it is no rank of a launcher.
bool note_interposed();

/// A function of libuct itself, behind the one of the same name in this module.
void* real_function(const char* name);

/// Pointers to values that are found by a pointer. Values do not move. Not thread-safe.
template <class Value>
class PointerTable {
 public:
  Value* find(const void* key) const {
    if (capacity_ == 0) return nullptr;
    for (std::size_t i = place(key);; i = (i + 1) & (capacity_ - 1)) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].key == nullptr) return nullptr;
    }
  }
  bool insert(const void* key, Value* value);
  /// The value that was removed; nullptr when there was none.
  Value* remove(const void* key);

 private:
  struct Slot {
    const void* key;
    Value* value;
  };
  std::size_t place(const void* key) const {
    return (reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15U >> 32U) & (capacity_ - 1);
  }
  bool grow();

  Slot* slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

template <class Value>
bool PointerTable<Value>::insert(const void* key, Value* value) {
  if (2 * (used_ + 1) > capacity_ && !grow()) return false;
  std::size_t i = place(key);
  while (slots_[i].key != nullptr) i = (i + 1) & (capacity_ - 1);
  slots_[i] = {key, value};
  ++used_;
  return true;
}

template <class Value>
Value* PointerTable<Value>::remove(const void* key) {
  if (capacity_ == 0) return nullptr;
  std::size_t i = place(key);
  while (slots_[i].key != key) {
    if (slots_[i].key == nullptr) return nullptr;
    i = (i + 1) & (capacity_ - 1);
  }
  Value* const value = slots_[i].value;
  slots_[i] = {};
  --used_;
  // Entries behind the removed one that a collision had displaced move back to their place.
  for (std::size_t j = (i + 1) & (capacity_ - 1); slots_[j].key != nullptr;
       j = (j + 1) & (capacity_ - 1)) {
    const Slot moved = slots_[j];
    slots_[j] = {};
    --used_;
    insert(moved.key, moved.value);
  }
  return value;
}

template <class Value>
bool PointerTable<Value>::grow() {
  const std::size_t old = capacity_;
  Slot* const before = slots_;
  const std::size_t wanted = old == 0 ? 32 : 2 * old;
  auto* fresh = static_cast<Slot*>(__builtin_calloc(wanted, sizeof(Slot)));
  if (fresh == nullptr) return false;
  slots_ = fresh;
  capacity_ = wanted;
  used_ = 0;
  for (std::size_t i = 0; i < old; ++i) {
    if (before[i].key != nullptr) insert(before[i].key, before[i].value);
  }
  __builtin_free(before);
  return true;
}

}  // namespace weft::emulate::ucx
