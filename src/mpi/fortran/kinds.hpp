// SPDX-License-Identifier: Apache-2.0
// Kinds of arguments of MPI's functions in Fortran. A kind takes an argument's address, gives C's
// argument (`c`), and writes results back once the function has returned (`done`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/abi/fortran.hpp"

namespace weft::mpi::fortran {

/// The parts of a call that a kind may use besides its own argument.
struct Context {
  const void* first;        ///< the address of the first argument: of arrays, their length
  std::size_t text_length;  ///< of a function's string
  void* const* all;         ///< the addresses of all arguments

  std::size_t count() const {
    return static_cast<std::size_t>(std::max(*static_cast<const int*>(first), 0));
  }
};

/// An argument whose memory is that of C.
template <class T>
class InPlace {
 public:
  InPlace(void* address, const Context&) : address_(static_cast<T*>(address)) {}
  T* c() { return address_; }
  void done(int) {}

 private:
  T* address_;
};
using IntOut = InPlace<int>;  // also of LOGICAL: true is 1
using Ints = InPlace<int>;
using AintOut = InPlace<MPI_Aint>;
using Aints = InPlace<MPI_Aint>;
using Address = InPlace<void>;  // where C writes a pointer
using CountOut = InPlace<MPI_Count>;
using Ranges = InPlace<int[3]>;

template <class T>
class Value {
 public:
  Value(void* address, const Context&) : value_(*static_cast<const T*>(address)) {}
  T c() { return value_; }
  void done(int) {}

 private:
  T value_;
};
using Int = Value<int>;
using Aint = Value<MPI_Aint>;
using Count = Value<MPI_Count>;

/// Memory of the program, MPI_BOTTOM or MPI_IN_PLACE.
class Buffer {
 public:
  Buffer(void* address, const Context&) : address_(address) {
    if (address == abi::fortran_bottom) address_ = nullptr;
    if (address == abi::fortran_in_place) address_ = abi::in_place;
  }
  void* c() { return address_; }
  void done(int) {}

 private:
  void* address_;
};

/// Weights of a graph's edges, or one of the words for none.
class Weights {
 public:
  Weights(void* address, const Context&) : weights_(static_cast<int*>(address)) {
    if (address == abi::fortran_unweighted) weights_ = MPI_UNWEIGHTED;
    if (address == abi::fortran_weights_empty) weights_ = MPI_WEIGHTS_EMPTY;
  }
  int* c() { return weights_; }
  void done(int) {}

 private:
  int* weights_;
};

template <class Handle>
class In {
 public:
  In(void* address, const Context&)
      : value_(abi::from_fortran<Handle>(*static_cast<const int*>(address))) {}
  Handle c() { return value_; }
  void done(int) {}

 private:
  Handle value_;
};

template <class Handle>
class InOut {
 public:
  InOut(void* address, const Context&)
      : fortran_(static_cast<int*>(address)), value_(abi::from_fortran<Handle>(*fortran_)) {}
  Handle* c() { return &value_; }
  void done(int) { *fortran_ = abi::to_fortran<Handle>(value_); }

 private:
  int* fortran_;
  Handle value_;
};

template <class Handle>
class Out {
 public:
  Out(void* address, const Context&) : fortran_(static_cast<int*>(address)) {}
  Handle* c() { return &value_; }
  void done(int error) {
    if (error == MPI_SUCCESS) *fortran_ = abi::to_fortran<Handle>(value_);
  }

 private:
  int* fortran_;
  Handle value_{};
};

using Comm = In<MPI_Comm>;
using CommOut = Out<MPI_Comm>;
using CommInOut = InOut<MPI_Comm>;
using Type = In<MPI_Datatype>;
using TypeOut = Out<MPI_Datatype>;
using TypeInOut = InOut<MPI_Datatype>;
using Op = In<MPI_Op>;
using OpInOut = InOut<MPI_Op>;
using RequestOut = Out<MPI_Request>;
using RequestInOut = InOut<MPI_Request>;
using Request = In<MPI_Request>;
using Errhandler = In<MPI_Errhandler>;
using ErrhandlerOut = Out<MPI_Errhandler>;
using ErrhandlerInOut = InOut<MPI_Errhandler>;
using MessageOut = Out<MPI_Message>;
using MessageInOut = InOut<MPI_Message>;
using Group = In<MPI_Group>;
using GroupOut = Out<MPI_Group>;
using GroupInOut = InOut<MPI_Group>;
using Info = In<MPI_Info>;
using InfoOut = Out<MPI_Info>;
using InfoInOut = InOut<MPI_Info>;
using Win = In<MPI_Win>;
using WinOut = Out<MPI_Win>;
using WinInOut = InOut<MPI_Win>;
using File = In<MPI_File>;
using FileOut = Out<MPI_File>;
using FileInOut = InOut<MPI_File>;
using Session = In<MPI_Session>;
using SessionOut = Out<MPI_Session>;
using SessionInOut = InOut<MPI_Session>;
using Offset = Value<MPI_Offset>;
using OffsetOut = InPlace<MPI_Offset>;

/// An array of handles; its length is the first argument.
template <class Handle, bool writes>
class Handles {
 public:
  Handles(void* address, const Context& context)
      : fortran_(static_cast<int*>(address)), values_(context.count()) {
    std::transform(fortran_, fortran_ + values_.size(), values_.begin(),
                   [](int handle) { return abi::from_fortran<Handle>(handle); });
  }
  Handle* c() { return values_.data(); }
  void done(int) {
    if (!writes) return;
    std::transform(values_.begin(), values_.end(), fortran_,
                   [](Handle handle) { return abi::to_fortran<Handle>(handle); });
  }

 private:
  int* fortran_;
  std::vector<Handle> values_;
};
using Requests = Handles<MPI_Request, true>;
using Types = Handles<MPI_Datatype, false>;
using Infos = Handles<MPI_Info, false>;

/// A datatype for each process that the communicator's collectives reach. The communicator is the
/// argument of that number, from 1. Those that a process `sends` are none when its buffer, the
/// first argument, is MPI_IN_PLACE: programs then mostly pass no array.
template <std::size_t place, bool sends>
class MemberTypes {
 public:
  MemberTypes(void* address, const Context& context) {
    if (sends && context.first == abi::fortran_in_place) return;
    const MPI_Comm handle = Comm(context.all[place - 1], context).c();
    int members = 0, is_inter = 0;
    MPI_Comm_test_inter(handle, &is_inter);
    (is_inter != 0 ? MPI_Comm_remote_size : MPI_Comm_size)(handle, &members);
    const auto* const fortran = static_cast<const int*>(address);
    for (int i = 0; i < members; ++i) {
      values_.push_back(abi::from_fortran<MPI_Datatype>(fortran[i]));
    }
  }
  const MPI_Datatype* c() { return values_.data(); }
  void done(int) {}

 private:
  std::vector<MPI_Datatype> values_;
};

template <std::size_t place>
using SentTypes = MemberTypes<place, true>;
template <std::size_t place>
using ReceivedTypes = MemberTypes<place, false>;

/// A datatype for each neighbour to which the communicator's neighbourhood collectives send, or
/// from which they receive. The communicator is the argument of that number, from 1.
template <std::size_t place, bool sends>
class NeighborTypes {
 public:
  NeighborTypes(void* address, const Context& context) {
    const auto* const fortran = static_cast<const int*>(address);
    const int neighbors = count_in(Comm(context.all[place - 1], context).c());
    for (int i = 0; i < neighbors; ++i) {
      values_.push_back(abi::from_fortran<MPI_Datatype>(fortran[i]));
    }
  }
  const MPI_Datatype* c() { return values_.data(); }
  void done(int) {}

 private:
  /// Zero for a communicator without neighbours, which the function refuses.
  static int count_in(MPI_Comm comm) {
    int topology = MPI_UNDEFINED, count = 0, rank = 0, sources = 0, targets = 0, is_weighted = 0;
    if (MPI_Topo_test(comm, &topology) != MPI_SUCCESS) return 0;
    if (topology == MPI_CART) {
      MPI_Cartdim_get(comm, &count);
      return 2 * count;
    }
    if (topology == MPI_GRAPH) {
      MPI_Comm_rank(comm, &rank);
      MPI_Graph_neighbors_count(comm, rank, &count);
      return count;
    }
    if (topology != MPI_DIST_GRAPH) return 0;
    MPI_Dist_graph_neighbors_count(comm, &sources, &targets, &is_weighted);
    return sends ? targets : sources;
  }

  std::vector<MPI_Datatype> values_;
};
template <std::size_t place>
using TargetTypes = NeighborTypes<place, true>;
template <std::size_t place>
using SourceTypes = NeighborTypes<place, false>;

/// The datatypes of a persistent operation, which reads them whenever it starts. They stay for the
/// life of the process, since nothing tells when the program frees the request.
template <class Types>
class Kept {
 public:
  Kept(void* address, const Context& context) {
    static std::mutex lock;
    static std::deque<Types> kept;
    const std::lock_guard held(lock);  // the program may have threads
    types_ = &kept.emplace_back(address, context);
  }
  const MPI_Datatype* c() { return types_->c(); }
  void done(int) {}

 private:
  Types* types_ = nullptr;
};

/// A status, whose integers are those of C's one after the other, aligned as integers are.
class StatusIn {
 public:
  StatusIn(void* address, const Context&) { std::memcpy(&value_, address, sizeof value_); }
  MPI_Status* c() { return &value_; }
  void done(int) {}

 private:
  MPI_Status value_;
};

/// The field of the error stays as it is where a function does not write it.
class StatusOut {
 public:
  StatusOut(void* address, const Context&)
      : fortran_(address != abi::fortran_status_ignore ? address : nullptr) {
    if (fortran_ != nullptr) std::memcpy(&value_, fortran_, sizeof value_);
  }
  MPI_Status* c() { return fortran_ != nullptr ? &value_ : abi::status_ignore; }
  void done(int) {
    if (fortran_ != nullptr) std::memcpy(fortran_, &value_, sizeof value_);
  }

 private:
  void* fortran_;
  MPI_Status value_{};
};

class StatusesOut {
 public:
  StatusesOut(void* address, const Context& context)
      : fortran_(address != abi::fortran_statuses_ignore ? address : nullptr) {
    if (fortran_ == nullptr) return;
    values_.resize(context.count() + 1);  // none of them is no pointer to ignore
    copy(values_.data(), fortran_);
  }
  MPI_Status* c() { return fortran_ != nullptr ? values_.data() : abi::status_ignore; }
  void done(int) {
    if (fortran_ != nullptr) copy(fortran_, values_.data());
  }

 private:
  void copy(void* to, const void* from) const {
    std::memcpy(to, from, (values_.size() - 1) * sizeof(MPI_Status));
  }

  void* fortran_;
  std::vector<MPI_Status> values_;
};

/// Fortran counts from 1.
class IndexOut {
 public:
  IndexOut(void* address, const Context&) : fortran_(static_cast<int*>(address)) {}
  int* c() { return &value_; }
  void done(int) { *fortran_ = value_ >= 0 ? value_ + 1 : value_; }

 private:
  int* fortran_;
  int value_ = MPI_UNDEFINED;
};

class IndicesOut {
 public:
  IndicesOut(void* address, const Context& context)
      : fortran_(static_cast<int*>(address)), values_(context.count(), MPI_UNDEFINED) {}
  int* c() { return values_.data(); }
  void done(int) {
    for (std::size_t i = 0; i < values_.size() && values_[i] >= 0; ++i)
      fortran_[i] = values_[i] + 1;
  }

 private:
  int* fortran_;
  std::vector<int> values_;
};

/// Of a string: Open MPI's library of `use mpi_f08` passes an int.
inline std::size_t length_of(std::size_t passed) {
  return static_cast<unsigned>(passed);
}

/// A string without a terminator; blanks at its ends do not count, as in MPICH and Open MPI.
class TextIn {
 public:
  TextIn(void* address, const Context& context)
      : value_(static_cast<const char*>(address), context.text_length) {
    value_.erase(value_.find_last_not_of(' ') + 1);
    value_.erase(0, value_.find_first_not_of(' '));
  }
  const char* c() { return value_.c_str(); }
  void done(int) {}

 private:
  std::string value_;
};

/// Copies C's string to Fortran's, which has no terminator and ends with blanks.
inline void copy_padded(const char* from, char* to, std::size_t length) {
  const std::size_t used = std::min(std::strlen(from), length);
  std::memcpy(to, from, used);
  std::fill(to + used, to + length, ' ');
}

/// A string without a terminator, filled up with blanks.
class TextOut {
 public:
  TextOut(void* address, const Context& context)
      : fortran_(static_cast<char*>(address)),
        length_(context.text_length),
        value_(std::max<std::size_t>(MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_ERROR_STRING) + 1,
               '\0') {}
  char* c() { return value_.data(); }
  void done(int error) {
    if (error != MPI_SUCCESS) return;
    copy_padded(value_.c_str(), fortran_, length_);
  }

 private:
  char* fortran_;
  std::size_t length_;
  std::string value_;
};

}  // namespace weft::mpi::fortran
