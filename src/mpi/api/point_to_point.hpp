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

  int check(bool sends);
  void start_send(bool synchronous, Request& request);
  void start_receive(Request& request);
  /// A short send that needs no request. False: nothing has happened.
  bool send_now();
  std::uint32_t match_source() const;
  std::int32_t match_tag() const;
  static Status null_status();
};

/// Blocks; the call's result.
int wait_for(const Call& call, const Communicator* communicator, Request& request,
             MPI_Status* status);
int fail_truncated(const Call& call, const Communicator* communicator, const Request& request);
/// Of a request that is done.
inline int take_result(const Call& call, const Communicator* communicator, const Request& request,
                       MPI_Status* status) {
  write_status(status, request.status);
  return request.status.is_truncated ? fail_truncated(call, communicator, request) : MPI_SUCCESS;
}

}  // namespace weft::mpi
