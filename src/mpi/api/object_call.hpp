// SPDX-License-Identifier: Apache-2.0
// How most calls begin: they find the object that a handle stands for.
#pragma once

#include <functional>
#include <string>

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// A call that concerns one object, to which `->` and `*` lead. `find(call, handle, error)` looks
/// for it; it returns null and sets `error` when the handle stands for no such object.
template <class Object, class Handle, auto find>
struct CallOn : Call {
  int error = MPI_SUCCESS;
  Object* const object;

  /// `results`: places that the program has to give, see check_results.
  template <class... Results>
  CallOn(const char* function, Handle handle, const Results*... results)
      : Call{function}, object(found(handle, results...)) {}
  explicit operator bool() const { return object != nullptr; }
  Object* operator->() const { return object; }
  Object& operator*() const { return *object; }

  using Call::fail;
  /// Reports an error to the object's own error handler.
  int fail(int code, const std::string& what) const { return object->fail(*this, code, what); }
  template <class Arg, class... Args>
  int fail(int code, fmt::format_string<Arg, Args...> format, Arg&& arg, Args&&... args) const {
    return fail(code, fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
  }
  int fail_errno(const std::string& what) const { return object->fail_errno(*this, what); }

 private:
  template <class... Results>
  Object* found(Handle handle, const Results*... results) {
    Object* const there = std::invoke(find, *this, handle, error);
    if (there != nullptr) error = check_results(results...);
    return error == MPI_SUCCESS ? there : nullptr;
  }
};

using CommunicatorCall = CallOn<Communicator, MPI_Comm, &Call::communicator>;
using TypeCall = CallOn<const Datatype, MPI_Datatype, &Call::type>;

}  // namespace weft::mpi
