// SPDX-License-Identifier: Apache-2.0
// Requests that are prepared once, and started again and again.
#include <fmt/format.h>

#include "mpi/api/buffered.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

enum class Mode : std::uint8_t { send, synchronous, buffered, receive };

/// The arguments of a call.
struct Arguments {
  const char* function;
  const void* address;
  std::int64_t count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;

  Message message() const { return {{function}, address, count, type, peer, tag, comm}; }
};

/// A call that was checked. The program may free the handles of its objects, which are there as
/// long as the request is.
struct Prepared {
  Arguments arguments;
  Mode mode;
  Communicator* communicator = nullptr;
  Buffer buffer{};
  bool is_null = false;

  int start(Request& request) const {
    Message message = arguments.message();
    message.communicator = communicator;
    message.buffer = buffer;
    message.is_null = is_null;
    if (mode == Mode::receive) {
      message.start_receive(request);
    } else if (mode == Mode::buffered) {
      if (const int error = send_buffered(message); error != MPI_SUCCESS) return error;
      request.done = true;
    } else {
      message.start_send(mode == Mode::synchronous, request);
    }
    return message.call.settle(communicator);
  }
};

int prepare(const Arguments& arguments, Mode mode, MPI_Request* handle) {
  Message message = arguments.message();
  if (const int error = message.check(mode != Mode::receive); error != MPI_SUCCESS) return error;
  auto request = std::make_unique<Request>();
  request->starts = [prepared = Prepared{arguments, mode, message.communicator, message.buffer,
                                         message.is_null}](Request& self) {
    return prepared.start(self);
  };
  *handle = keep_prepared(std::move(request));
  return MPI_SUCCESS;
}

int start(const Call& call, MPI_Request handle) {
  Request* const request =
      is_of(abi::made_request, handle) ? library().requests.find(number_of(handle)) : nullptr;
  if (request == nullptr || !request->starts) {
    return call.fail(&library().world, MPI_ERR_REQUEST, "the request is no persistent one");
  }
  if (request->is_active) {
    return call.fail(&library().world, MPI_ERR_REQUEST,
                     "the request is under way; wait for it before it is started again");
  }
  request->done = false;
  request->is_active = true;
  request->is_matched = false;
  request->status = {};
  return request->starts(*request);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return prepare({"MPI_Send_init", buffer, count, type, to, tag, comm}, Mode::send, request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare({"MPI_Ssend_init", buffer, count, type, to, tag, comm}, Mode::synchronous,
                 request);
}

int MPI_Rsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare({"MPI_Rsend_init", buffer, count, type, to, tag, comm}, Mode::send, request);
}

int MPI_Bsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return prepare({"MPI_Bsend_init", buffer, count, type, to, tag, comm}, Mode::buffered, request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return prepare({"MPI_Recv_init", buffer, count, type, from, tag, comm}, Mode::receive, request);
}

int MPI_Send_init_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return prepare({"MPI_Send_init_c", buffer, count, type, peer, tag, comm}, Mode::send, request);
}

int MPI_Ssend_init_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return prepare({"MPI_Ssend_init_c", buffer, count, type, peer, tag, comm}, Mode::synchronous,
                 request);
}

int MPI_Rsend_init_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return prepare({"MPI_Rsend_init_c", buffer, count, type, peer, tag, comm}, Mode::send, request);
}

int MPI_Bsend_init_c(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return prepare({"MPI_Bsend_init_c", buffer, count, type, peer, tag, comm}, Mode::buffered,
                 request);
}

int MPI_Recv_init_c(void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return prepare({"MPI_Recv_init_c", buffer, count, type, peer, tag, comm}, Mode::receive, request);
}

int MPI_Start(MPI_Request* request) {
  return start({"MPI_Start"}, *request);
}

int MPI_Startall(int count, MPI_Request* requests) {
  const Call call{"MPI_Startall"};
  for (int i = 0; i < count; ++i) {
    if (const int error = start(call, requests[i]); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}
