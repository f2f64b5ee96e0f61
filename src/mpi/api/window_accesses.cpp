// SPDX-License-Identifier: Apache-2.0
// Accesses to the windows of others.
#include <fmt/format.h>

#include <algorithm>

#include "mpi/api/collective_call.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/windows.hpp"

namespace weft::mpi {
namespace {

/// Where the program wants the access's request, if it calls a function that makes one.
struct RequestPlace {
  MPI_Request* handle = nullptr;
  bool is_wanted = false;
};

/// An access's arguments, checked.
struct WindowAccess {
  Call call;
  RequestPlace place;
  int error = MPI_SUCCESS;
  WindowObject* window = nullptr;
  Target target;
  bool is_null = false;  ///< the target is MPI_PROC_NULL
  Change change = Change::replace;
  Fold fold = Fold::sum;

  WindowAccess(const char* function, MPI_Win handle, RequestPlace request = {})
      : call{function}, place(request) {
    window = find_window(call, handle, error);
    if (ok() && place.is_wanted && place.handle == nullptr) {
      fail(MPI_ERR_REQUEST, "a pointer to requests is null");
    }
  }
  bool ok() const { return error == MPI_SUCCESS; }
  void fail(int code, const std::string& what) { error = window->fail(call, code, what); }

  Buffer buffer(const void* address, std::int64_t count, MPI_Datatype type) {
    const Datatype* const found = ok() ? call.communicated(type, error) : nullptr;
    if (found == nullptr) return {};
    if (count < 0) fail(MPI_ERR_COUNT, fmt::format("the count is {}", count));
    return {const_cast<void*>(address), static_cast<std::uint64_t>(count), found};
  }

  void aim(int rank, MPI_Aint displacement, std::int64_t count, MPI_Datatype type) {
    const Buffer elements = buffer(nullptr, count, type);
    if (!ok()) return;
    is_null = rank == MPI_PROC_NULL;
    if (is_null) return;
    if (rank < 0 || static_cast<std::size_t>(rank) >= window->parts.size()) {
      return fail(MPI_ERR_RANK,
                  fmt::format("{} is no rank of a window of {}", rank, window->parts.size()));
    }
    if (!window->epochs.may_access(static_cast<std::uint32_t>(rank))) {
      return fail(MPI_ERR_RMA_SYNC,
                  fmt::format("rank {} is accessed outside of an epoch; call MPI_Win_fence, "
                              "MPI_Win_start or MPI_Win_lock first",
                              rank));
    }
    const WindowPart& part = window->parts[static_cast<std::size_t>(rank)];
    // Wider than any address: a wrong displacement must not become a right one.
    __extension__ using Wide = __int128;
    const Wide offset = static_cast<Wide>(displacement) * part.unit;
    target = {static_cast<std::uint32_t>(rank), static_cast<std::int64_t>(offset), elements.count,
              elements.type};
    if (window->flavor == MPI_WIN_FLAVOR_DYNAMIC || count == 0 || elements.bytes() == 0) return;
    // The last element may lie before the first.
    const Wide last = static_cast<Wide>(count - 1) * elements.type->extent();
    const Wide first_byte = offset + elements.type->true_lower();
    const Wide begin = first_byte + std::min<Wide>(0, last);
    const Wide end = first_byte + std::max<Wide>(0, last) + elements.type->true_extent();
    if (begin < 0 || end > static_cast<Wide>(part.bytes)) {
      fail(MPI_ERR_RMA_RANGE,
           fmt::format("bytes {} to {} are outside of the {} bytes of rank {}'s window", begin, end,
                       part.bytes, rank));
    }
  }

  /// The target checks nothing: what it is sent must be what was checked here.
  void compare(const Buffer& origin) {
    if (!ok() || is_null) return;
    const std::uint64_t bytes = target.count * target.type->size();
    if (origin.bytes() == bytes) return;
    fail(MPI_ERR_TRUNCATE, fmt::format("the origin has {} bytes, and the target {}; give the same "
                                       "number of elements for both",
                                       origin.bytes(), bytes));
  }

  void choose(MPI_Op op) {
    if (!ok() || is_null) return;
    if (target.count * target.type->size() == 0) {  // a datatype without elements has no operation
      change = Change::nothing;
      return;
    }
    if (op == MPI_REPLACE || op == MPI_NO_OP) {
      change = op == MPI_REPLACE ? Change::replace : Change::nothing;
      return;
    }
    change = Change::fold;
    const auto found = fold_of(op);
    if (!found || !mpi::fold(*found, target.type->basic(), nullptr, nullptr, 0)) {
      return fail(MPI_ERR_OP, "the operation is not predefined, or not for that datatype");
    }
    fold = *found;
  }

  /// Null: the program wants none.
  Request* make_request() {
    if (!place.is_wanted) return nullptr;
    auto request = std::make_unique<Request>();
    request->status = empty_status();
    Request* const made = request.get();
    *place.handle = keep_request(std::move(request));
    return made;
  }
  int settle() { return call.settle(&window->communicator); }
  /// The result of an access that is over for its origin.
  int finish() {
    if (Request* const request = make_request()) request->done = true;
    return settle();
  }
};

int put(const char* function, const void* address, std::int64_t count, MPI_Datatype type, int rank,
        MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type, MPI_Win window,
        RequestPlace place) {
  WindowAccess access(function, window, place);
  const Buffer from = access.buffer(address, count, type);
  access.aim(rank, displacement, target_count, target_type);
  access.compare(from);
  if (!access.ok()) return access.error;
  if (!access.is_null) access.window->window->put(access.target, from);
  return access.finish();
}

int get(const char* function, void* address, std::int64_t count, MPI_Datatype type, int rank,
        MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type, MPI_Win window,
        RequestPlace place) {
  WindowAccess access(function, window, place);
  const Buffer into = access.buffer(address, count, type);
  access.aim(rank, displacement, target_count, target_type);
  access.compare(into);
  if (!access.ok()) return access.error;
  if (access.is_null) return access.finish();
  access.window->window->get(access.target, into, access.make_request());
  return access.settle();
}

int accumulate(const char* function, const void* address, std::int64_t count, MPI_Datatype type,
               int rank, MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type,
               MPI_Op op, MPI_Win window, RequestPlace place) {
  WindowAccess access(function, window, place);
  const Buffer from = access.buffer(address, count, type);
  access.aim(rank, displacement, target_count, target_type);
  access.choose(op);
  access.compare(from);
  if (!access.ok()) return access.error;
  if (!access.is_null && access.change != Change::nothing) {
    access.window->window->accumulate(access.target, from, access.change, access.fold);
  }
  return access.finish();
}

int get_accumulate(const char* function, const void* address, std::int64_t count, MPI_Datatype type,
                   void* result, std::int64_t result_count, MPI_Datatype result_type, int rank,
                   MPI_Aint displacement, std::int64_t target_count, MPI_Datatype target_type,
                   MPI_Op op, MPI_Win window, RequestPlace place) {
  WindowAccess access(function, window, place);
  // The origin of an operation that changes nothing may be anything.
  const Buffer from = op == MPI_NO_OP ? Buffer{} : access.buffer(address, count, type);
  const Buffer into = access.buffer(result, result_count, result_type);
  access.aim(rank, displacement, target_count, target_type);
  access.choose(op);
  if (op != MPI_NO_OP) access.compare(from);
  access.compare(into);
  if (!access.ok()) return access.error;
  if (access.is_null) return access.finish();
  access.window->window->get_accumulate(access.target, from, into, access.change, access.fold,
                                        access.make_request());
  return access.settle();
}

bool can_be_swapped(MPI_Datatype handle, const Datatype& type) {
  const Basic basic = type.basic();
  return !is_of(abi::made_type, handle) && basic >= Basic::bytes && basic <= Basic::uint64;
}

}  // namespace
}  // namespace weft::mpi

// Each access has a function without a request and one with it.
#define WEFT_MPI_WINDOW_ACCESS(Name, name, parameters, arguments)                                  \
  WEFT_MPI_COUNTED(MPI_##Name, (WEFT_MPI_LIST parameters, MPI_Win window), name,                   \
                   (WEFT_MPI_LIST arguments, window, RequestPlace{}))                              \
  WEFT_MPI_COUNTED(MPI_R##name, (WEFT_MPI_LIST parameters, MPI_Win window, MPI_Request * request), \
                   name, (WEFT_MPI_LIST arguments, window, RequestPlace{request, true}))
#include "mpi/api/window_accesses.def"
#undef WEFT_MPI_WINDOW_ACCESS

using namespace weft::mpi;

int MPI_Fetch_and_op(const void* address, void* result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Op op, MPI_Win window) {
  return get_accumulate("MPI_Fetch_and_op", address, 1, type, result, 1, type, rank, displacement,
                        1, type, op, window, {});
}

int MPI_Compare_and_swap(const void* wanted, const void* expected, void* result, MPI_Datatype type,
                         int rank, MPI_Aint displacement, MPI_Win window) {
  WindowAccess access("MPI_Compare_and_swap", window);
  const Buffer into = access.buffer(result, 1, type);
  access.aim(rank, displacement, 1, type);
  if (access.ok() && !can_be_swapped(type, *into.type)) {
    access.fail(MPI_ERR_TYPE, "it is for predefined integers, logicals and bytes alone");
  }
  if (!access.ok()) return access.error;
  if (!access.is_null) {
    access.window->window->compare_and_swap(access.target, wanted, expected, into);
  }
  return access.settle();
}
