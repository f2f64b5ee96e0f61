// SPDX-License-Identifier: Apache-2.0
// Attributes and their keys. An attribute is a pointer in C and a number in Fortran. What Fortran
// sets, C gets as a pointer to the number; what C sets, Fortran gets as the pointer's address.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "mpi/fortran/kinds.hpp"

namespace weft::mpi::fortran {
namespace {

/// The numbers that programs in Fortran set, by their addresses.
class Numbers {
 public:
  /// Stores the number and returns its address, which C's functions take as the attribute.
  void* keep(MPI_Aint number) {
    auto kept = std::make_unique<MPI_Aint>(number);
    const std::lock_guard held(lock_);  // the program may have threads
    MPI_Aint* const address = kept.get();
    numbers_.emplace(address, std::move(kept));
    return address;
  }
  /// Returns whether Fortran set the attribute.
  bool has(void* attribute) {
    const std::lock_guard held(lock_);
    return numbers_.contains(attribute);
  }
  /// Returns the attribute as Fortran sees it.
  MPI_Aint value(void* attribute) {
    const std::lock_guard held(lock_);
    const auto found = numbers_.find(attribute);
    return found != numbers_.end() ? *found->second : reinterpret_cast<MPI_Aint>(attribute);
  }
  void drop(void* attribute) {
    const std::lock_guard held(lock_);
    numbers_.erase(attribute);
  }

 private:
  std::mutex lock_;
  std::unordered_map<const void*, std::unique_ptr<MPI_Aint>> numbers_;
};

Numbers& numbers() {
  static auto* const all = new Numbers;
  return *all;
}

/// `Number`: of values and of the key's state; MPI-1 had plain integers.
template <class Number>
struct Key {
  using Copy = void(int* object, int* key, Number* state, Number* from, Number* to, int* flag,
                    int* error);
  using Delete = void(int* object, int* key, Number* value, Number* state, int* error);
  Copy* copy = nullptr;
  Delete* remove = nullptr;
  Number state = 0;
};

template <class Handle, class Number>
int copy_attribute(Handle object, int key, void* state, void* value, void* copied, int* flag) {
  auto& own = *static_cast<Key<Number>*>(state);
  int handle = abi::to_fortran<Handle>(object), error = MPI_SUCCESS;
  auto from = static_cast<Number>(numbers().value(value));
  Number to = 0;
  own.copy(&handle, &key, &own.state, &from, &to, flag, &error);
  if (error != MPI_SUCCESS || *flag == 0) return error;
  // A copy of C's pointer is a pointer.
  *static_cast<void**>(copied) =
      numbers().has(value) ? numbers().keep(to) : reinterpret_cast<void*>(MPI_Aint{to});
  return error;
}

template <class Handle, class Number>
int delete_attribute(Handle object, int key, void* value, void* state) {
  auto& own = *static_cast<Key<Number>*>(state);
  int handle = abi::to_fortran<Handle>(object), error = MPI_SUCCESS;
  auto old = static_cast<Number>(numbers().value(value));
  own.remove(&handle, &key, &old, &own.state, &error);
  if (error == MPI_SUCCESS) numbers().drop(value);
  return error;
}

/// Attributes outlive their keys.
template <class Number>
Key<Number>* keep_key(const Key<Number>& key) {
  static std::mutex lock;
  static std::deque<Key<Number>> kept;
  const std::lock_guard held(lock);
  return &kept.emplace_back(key);
}

/// An attribute's value: predefined ones are integers, to which C gets a pointer.
int get_attribute(int comm, int fortran_key, MPI_Aint& value, int* flag) {
  const int key = abi::key_from_fortran(fortran_key);
  void* found = nullptr;
  const int error = MPI_Comm_get_attr(abi::from_fortran<MPI_Comm>(comm), key, &found, flag);
  if (error != MPI_SUCCESS || *flag == 0) return error;
  constexpr std::array predefined{MPI_TAG_UB,          MPI_HOST,          MPI_IO,
                                  MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE,
                                  MPI_APPNUM};
  const bool is_integer = std::find(predefined.begin(), predefined.end(), key) != predefined.end();
  value = is_integer ? *static_cast<const int*>(found) : numbers().value(found);
  return error;
}

/// Sets an attribute by C's function. The number does not stay when that fails.
template <class Set, class Handle>
int set_attribute(Set* set, Handle object, int key, MPI_Aint value) {
  void* const kept = numbers().keep(value);
  const int error = set(object, key, kept);
  if (error != MPI_SUCCESS) numbers().drop(kept);
  return error;
}

}  // namespace
}  // namespace weft::mpi::fortran

using namespace weft::mpi::fortran;
namespace abi = weft::mpi::abi;
using NewKey = Key<MPI_Aint>;
using OldKey = Key<int>;

extern "C" {

void mpi_comm_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                             const MPI_Aint* state, int* error) {
  *error = MPI_Comm_create_keyval(
      copy_attribute<MPI_Comm, MPI_Aint>, delete_attribute<MPI_Comm, MPI_Aint>, key,
      keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_type_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                             const MPI_Aint* state, int* error) {
  *error = MPI_Type_create_keyval(
      copy_attribute<MPI_Datatype, MPI_Aint>, delete_attribute<MPI_Datatype, MPI_Aint>, key,
      keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_win_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                            const MPI_Aint* state, int* error) {
  *error =
      MPI_Win_create_keyval(copy_attribute<MPI_Win, MPI_Aint>, delete_attribute<MPI_Win, MPI_Aint>,
                            key, keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_keyval_create_(OldKey::Copy* copy, OldKey::Delete* remove, int* key, const int* state,
                        int* error) {
  *error =
      MPI_Comm_create_keyval(copy_attribute<MPI_Comm, int>, delete_attribute<MPI_Comm, int>, key,
                             keep_key(OldKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_comm_get_attr_(int* comm, int* key, MPI_Aint* value, int* flag, int* error) {
  *error = get_attribute(*comm, *key, *value, flag);
}

void mpi_attr_get_(int* comm, int* key, int* value, int* flag, int* error) {
  MPI_Aint found = *value;
  *error = get_attribute(*comm, *key, found, flag);
  *value = static_cast<int>(found);
}

void mpi_comm_set_attr_(void* comm, const int* key, const MPI_Aint* value, int* error) {
  *error = set_attribute(&MPI_Comm_set_attr, Comm(comm, {}).c(), *key, *value);
}

void mpi_attr_put_(void* comm, const int* key, const int* value, int* error) {
  *error = set_attribute(&MPI_Comm_set_attr, Comm(comm, {}).c(), *key, MPI_Aint{*value});
}

void mpi_type_set_attr_(void* type, const int* key, const MPI_Aint* value, int* error) {
  *error = set_attribute(&MPI_Type_set_attr, Type(type, {}).c(), *key, *value);
}

void mpi_type_get_attr_(void* type, const int* key, MPI_Aint* value, int* flag, int* error) {
  void* found = nullptr;
  *error = MPI_Type_get_attr(Type(type, {}).c(), *key, &found, flag);
  if (*error == MPI_SUCCESS && *flag != 0) *value = numbers().value(found);
}

void mpi_win_set_attr_(void* window, const int* key, const MPI_Aint* value, int* error) {
  *error = set_attribute(&MPI_Win_set_attr, Win(window, {}).c(), *key, *value);
}

/// MPI's own are numbers here, to which C gets pointers; but the address of the window.
void mpi_win_get_attr_(void* window, const int* fortran_key, MPI_Aint* value, int* flag,
                       int* error) {
  const int key = abi::key_from_fortran(*fortran_key);
  void* found = nullptr;
  *error = MPI_Win_get_attr(Win(window, {}).c(), key, &found, flag);
  if (*error != MPI_SUCCESS || *flag == 0) return;
  const bool is_small =
      key == MPI_WIN_DISP_UNIT || key == MPI_WIN_CREATE_FLAVOR || key == MPI_WIN_MODEL;
  *value = is_small              ? *static_cast<const int*>(found)
           : key == MPI_WIN_SIZE ? *static_cast<const MPI_Aint*>(found)
                                 : numbers().value(found);
}

// Functions for keys that MPI has itself.
#define WEFT_ATTRIBUTE_FUNCTIONS(kind, Number)                                                     \
  void mpi_##kind##null_copy_fn_(int*, int*, Number*, Number*, Number*, int* flag, int* error) {   \
    *flag = 0;                                                                                     \
    *error = MPI_SUCCESS;                                                                          \
  }                                                                                                \
  void mpi_##kind##dup_fn_(int*, int*, Number*, Number* from, Number* to, int* flag, int* error) { \
    *to = *from;                                                                                   \
    *flag = 1;                                                                                     \
    *error = MPI_SUCCESS;                                                                          \
  }                                                                                                \
  void mpi_##kind##null_delete_fn_(int*, int*, Number*, Number*, int* error) {                     \
    *error = MPI_SUCCESS;                                                                          \
  }
WEFT_ATTRIBUTE_FUNCTIONS(, int)
WEFT_ATTRIBUTE_FUNCTIONS(comm_, MPI_Aint)
WEFT_ATTRIBUTE_FUNCTIONS(type_, MPI_Aint)
WEFT_ATTRIBUTE_FUNCTIONS(win_, MPI_Aint)
#undef WEFT_ATTRIBUTE_FUNCTIONS

}  // extern "C"
