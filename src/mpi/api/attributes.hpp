// SPDX-License-Identifier: Apache-2.0
// Attributes: values that a program attaches to an object under keys of its own, with functions
// that copy and delete them.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/abi/abi.hpp"

namespace weft::mpi {

/// `to` is a void** of the program's.
inline void write_pointer(void* to, const void* pointer) {
  std::memcpy(to, &pointer, sizeof pointer);
}

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
  void tell(int key, void* value, int* flag) {
    const Value* const found = find(key);
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) write_pointer(value, found->value);
  }
};

/// The keys of all objects of a kind. A key that was freed can be used as long as an object has a
/// value under it.
template <class Handle>
class Keys {
 public:
  using Copy = int(Handle, int, void*, void*, void*, int*);
  using Delete = int(Handle, int, void*, void*);
  /// How a language calls functions of its own: those are the first argument.
  using CopyProxy = int(Copy*, Handle, int, void*, int kind, void*, void*, int*);
  using DeleteProxy = int(Delete*, Handle, int, int kind, void*, void*);

  /// The keys of different kinds are different numbers.
  explicit Keys(int first) : first_(first) {}

  int add(Copy* copies, Delete* deletes, void* extra) {
    keys_.push_back({.copies = copies, .deletes = deletes, .extra = extra});
    return first_ + static_cast<int>(keys_.size()) - 1;
  }
  /// False: there is no such key.
  bool free(int key) {
    Key* const found = find(key);
    if (found != nullptr) found->is_open = false;
    return found != nullptr;
  }
  /// False: there is no such key.
  bool set_proxies(int key, CopyProxy* copy, DeleteProxy* remove) {
    Key* const found = find(key);
    if (found == nullptr) return false;
    found->copy_proxy = copy;
    found->delete_proxy = remove;
    return true;
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
      const int error = key.copy_proxy != nullptr
                            ? key.copy_proxy(key.copies, from, value.key, key.extra, proxied_kind,
                                             value.value, &copied, &flag)
                            : key.copies(from, value.key, key.extra, value.value, &copied, &flag);
      if (error != 0) return error;
      if (flag != 0) keep(to, value.key, copied);
    }
    return 0;
  }

 private:
  /// Of values, as proxies are told it: an integer of the size of addresses.
  static constexpr int proxied_kind = 1;
  struct Key {
    Copy* copies = nullptr;
    Delete* deletes = nullptr;
    void* extra = nullptr;
    CopyProxy* copy_proxy = nullptr;  ///< null: the functions are called themselves
    DeleteProxy* delete_proxy = nullptr;
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
    if (key.deletes == nullptr) return 0;
    if (key.delete_proxy == nullptr) return key.deletes(handle, value.key, value.value, key.extra);
    return key.delete_proxy(key.deletes, handle, value.key, proxied_kind, value.value, key.extra);
  }

  int first_;
  std::vector<Key> keys_;
};

Keys<MPI_Comm>& communicator_keys();
Keys<MPI_Datatype>& type_keys();
Keys<MPI_Win>& window_keys();

}  // namespace weft::mpi
