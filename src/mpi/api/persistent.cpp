// SPDX-License-Identifier: Apache-2.0
// Requests that are prepared once, and started again and again.
#include "mpi/api/buffered.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

enum class Mode : std::uint8_t { send, synchronous, buffered, receive };

/// A call that was checked. The program may free the handles of its objects, which are there as
/// long as the request is.
struct Prepared {
  const char* function;
  Mode mode;
  int peer;
  int tag;
  Communicator* communicator;
  Buffer buffer;
  bool is_null;

  int start(Request& request) const {
    Message message{{function}, nullptr, 0, MPI_DATATYPE_NULL, peer, tag, MPI_COMM_NULL};
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

int prepare(const char* function, Mode mode, const void* buffer, std::int64_t count,
            MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* handle) {
  Message message{{function}, buffer, count, type, peer, tag, comm};
  if (const int error = message.check(mode != Mode::receive, handle); error != MPI_SUCCESS)
    return error;
  auto request = std::make_unique<Request>();
  request->starts = [prepared = Prepared{function, mode, peer, tag, message.communicator,
                                         message.buffer, message.is_null}](Request& self) {
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

WEFT_MPI_BOTH(MPI_Send_init, prepare, Mode::send)
WEFT_MPI_BOTH(MPI_Ssend_init, prepare, Mode::synchronous)
WEFT_MPI_BOTH(MPI_Rsend_init, prepare, Mode::send)
WEFT_MPI_BOTH(MPI_Bsend_init, prepare, Mode::buffered)
WEFT_MPI_BOTH(MPI_Recv_init, prepare, Mode::receive)

using namespace weft::mpi;

int MPI_Start(MPI_Request* request) {
  const Call call{"MPI_Start"};
  const int error = call.check_requests(1, request);
  return error != MPI_SUCCESS ? error : start(call, *request);
}

int MPI_Startall(int count, MPI_Request* requests) {
  const Call call{"MPI_Startall"};
  if (const int error = call.check_requests(count, requests); error != MPI_SUCCESS) return error;
  for (int i = 0; i < count; ++i) {
    if (const int error = start(call, requests[i]); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}
