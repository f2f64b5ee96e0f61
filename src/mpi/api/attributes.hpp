// SPDX-License-Identifier: Apache-2.0
// Attributes: values that a program attaches to an object under keys of its own, with functions
// that copy and delete them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/abi/abi.hpp"

namespace weft::mpi {

/// The attributes of one object, in the order in which they were set.
struct Attributes {
  struct Value {
    int key = 0;
    void* value = nullptr;
  };
  std::vector<Value> values;

  Value* find(int key) {
    for (Value& value : values) {
      if (value.key == key) return &value;
    }
    return nullptr;
  }
};

/// The keys of all objects of a kind. A key that was freed can be used as long as an object has a
/// value under it.
template <class Handle>
class Keys {
 public:
  using Copy = int(Handle, int, void*, void*, void*, int*);
  using Delete = int(Handle, int, void*, void*);

  /// The keys of different kinds are different numbers.
  explicit Keys(int first) : first_(first) {}

  int add(Copy* copies, Delete* deletes, void* extra) {
    keys_.push_back({copies, deletes, extra, true});
    return first_ + static_cast<int>(keys_.size()) - 1;
  }
  /// False: there is no such key.
  bool free(int key) {
    Key* const found = find(key);
    if (found != nullptr) found->is_open = false;
    return found != nullptr;
  }
  bool is_open(int key) { return find(key) != nullptr; }

  /// Sets a value, and deletes the earlier one. Returns an error of MPI's.
  int set(Handle handle, Attributes& of, int key, void* value) {
    if (Attributes::Value* const old = of.find(key)) {
      if (const int error = call_delete(handle, *old); error != 0) return error;
      of.find(key)->value = value;
      return 0;
    }
    keep(of, key, value);
    return 0;
  }
  int remove(Handle handle, Attributes& of, int key) {
    Attributes::Value* const value = of.find(key);
    if (value == nullptr) return 0;
    if (const int error = call_delete(handle, *value); error != 0) return error;
    of.values.erase(of.values.begin() + (of.find(key) - of.values.data()));
    --at(key).uses;
    return 0;
  }
  /// The last that was set is the first to be deleted.
  int remove_all(Handle handle, Attributes& of) {
    while (!of.values.empty()) {
      const Attributes::Value last = of.values.back();
      if (const int error = call_delete(handle, last); error != 0) return error;
      of.values.pop_back();
      --at(last.key).uses;
    }
    return 0;
  }
  /// Copies the attributes of `from` for which the keys' copy functions allow it.
  int copy_all(Handle from, const Attributes& of, Attributes& to) {
    for (const Attributes::Value value : of.values) {
      const Key key = at(value.key);
      if (key.copies == nullptr) continue;
      if (reinterpret_cast<std::uintptr_t>(key.copies) == abi::dup_function) {
        keep(to, value.key, value.value);
        continue;
      }
      void* copied = nullptr;
      int flag = 0;
      if (const int error = key.copies(from, value.key, key.extra, value.value, &copied, &flag);
          error != 0) {
        return error;
      }
      if (flag != 0) keep(to, value.key, copied);
    }
    return 0;
  }

 private:
  struct Key {
    Copy* copies = nullptr;
    Delete* deletes = nullptr;
    void* extra = nullptr;
    bool is_open = true;
    int uses = 0;  ///< values under it
  };
  Key& at(int key) { return keys_[static_cast<std::size_t>(key - first_)]; }
  Key* find(int key) {
    const auto i = static_cast<std::size_t>(key - first_);
    if (key < first_ || i >= keys_.size()) return nullptr;
    return keys_[i].is_open || keys_[i].uses > 0 ? &keys_[i] : nullptr;
  }
  void keep(Attributes& of, int key, void* value) {
    of.values.push_back({key, value});
    ++at(key).uses;
  }
  int call_delete(Handle handle, const Attributes::Value& value) {
    const Key key = at(value.key);  // the function may make keys
    return key.deletes != nullptr ? key.deletes(handle, value.key, value.value, key.extra) : 0;
  }

  int first_;
  std::vector<Key> keys_;
};

Keys<MPI_Comm>& communicator_keys();
Keys<MPI_Datatype>& type_keys();
Keys<MPI_Win>& window_keys();

}  // namespace weft::mpi
