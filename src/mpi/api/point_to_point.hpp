// SPDX-License-Identifier: Apache-2.0
// The common part of calls of point-to-point communication.
#pragma once

#include <cstdint>

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// The arguments of a send or a receive, and the objects that they name once they were checked.
struct Message {
  Call call;
  const void* address;
  std::int64_t count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;

  Communicator* communicator = nullptr;
  Buffer buffer{};
  bool is_null = false;
  int error = MPI_SUCCESS;

  int check(bool sends) {
    communicator = call.communicator(comm, error);
    const Datatype* const datatype =
        communicator != nullptr && count >= 0 ? call.communicated(type, count, error) : nullptr;
    if (datatype == nullptr) return fail();
    buffer = {const_cast<void*>(address), static_cast<std::uint64_t>(count), datatype};
    const bool is_rank = peer >= 0 && static_cast<std::uint32_t>(peer) < communicator->group.size();
    return is_rank && tag >= 0 && address != nullptr ? MPI_SUCCESS : check_otherwise(sends);
  }
  /// The same of a call that gives a request.
  int check(bool sends, const MPI_Request* handle) {
    const int failed = check(sends);
    return failed != MPI_SUCCESS ? failed : call.check_requests(1, handle, communicator);
  }
  void start_send(bool synchronous, Request& request);
  void start_receive(Request& request);
  /// A short send that needs no request. False: nothing has happened.
  bool send_now();
  std::uint32_t match_source() const;
  std::int32_t match_tag() const;
  static Status null_status();

 private:
  int fail();
  /// Checks a call that has a wildcard, no peer or no memory, or is erroneous.
  int check_otherwise(bool sends);
};

/// A message between two ranks with a tag, in which nothing is wrong, as in nearly all: they are
/// found without what others need.
struct Plain {
  Plain(const void* address, std::int64_t count, MPI_Datatype type, int peer, int tag,
        MPI_Comm comm) {
    const Library& mpi = library();
    const Datatype* const datatype = detail::recent_types.find(type);
    const bool is_known = mpi.is_initialized && !mpi.is_finalized && comm == MPI_COMM_WORLD &&
                          datatype != nullptr && address != nullptr && count >= 0 && tag >= 0 &&
                          peer >= 0 && static_cast<std::uint32_t>(peer) < mpi.world.group.size();
    if (!is_known || mpi.transfer->failure()) return;
    group = &mpi.world.group;
    buffer = {const_cast<void*>(address), static_cast<std::uint64_t>(count), datatype};
  }

  const Group* group = nullptr;  ///< null: it is another one
  Buffer buffer{};
};

/// Blocks; the call's result.
int wait_for(const Call& call, const Communicator* communicator, Request& request,
             MPI_Status* status);
/// As MPI_Testall and MPI_Testsome, but the requests stay. `only_first`: one of those that are
/// done.
int look_at_all(const Call& call, int count, const MPI_Request* requests, int* flag,
                MPI_Status* statuses);
int look_at_some(const Call& call, int count, const MPI_Request* requests, bool only_first,
                 int* done, int* indices, MPI_Status* statuses);
/// Reports the error of a message that was too long, by the communicator of the request.
int fail_truncated(const Call& call, const Request& request);
/// Writes the status of a completed request and returns its error code.
inline int take_result(const Call& call, const Request& request, MPI_Status* status) {
  write_status(status, request.status);
  return request.status.is_truncated ? call.result(fail_truncated(call, request)) : MPI_SUCCESS;
}

}  // namespace weft::mpi
