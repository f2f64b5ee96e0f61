// SPDX-License-Identifier: Apache-2.0
// Sends and receives in one call, beyond MPI_Sendrecv.
#include "mpi/api/continuation.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

/// A send and a receive under way; of a replacing one, with a copy of the sent bytes.
struct Exchange {
  Request sent, received;
  std::vector<std::byte> copy;
};

const Datatype& exchanged_bytes() {
  static const Datatype bytes(Basic::bytes);
  return bytes;
}

int begin(Message& in, Message& out, bool replaces, Exchange& exchange) {
  if (const int error = in.check(false); error != MPI_SUCCESS) return error;
  if (const int error = out.check(true); error != MPI_SUCCESS) return error;
  if (replaces && !out.is_null) {  // without a receiver, there may be no memory either
    exchange.copy.resize(out.buffer.bytes());
    out.buffer.type->pack(out.buffer.address, out.buffer.count, exchange.copy.data());
    out.buffer = {exchange.copy.data(), exchange.copy.size(), &exchanged_bytes()};
  }
  in.start_receive(exchange.received);
  out.start_send(false, exchange.sent);
  return MPI_SUCCESS;
}

int start_exchange(Message in, Message out, bool replaces, MPI_Request* handle) {
  if (const int error = in.check(false, handle); error != MPI_SUCCESS) return error;
  auto exchange = std::make_shared<Exchange>();
  if (const int error = begin(in, out, replaces, *exchange); error != MPI_SUCCESS) return error;
  auto request = std::make_unique<Request>();
  request->buffer = in.buffer;
  request->group = &in.communicator->group;
  auto step = [exchange, target = request.get()] {
    if (!exchange->sent.done || !exchange->received.done) return false;
    target->status = exchange->received.status;
    target->done = true;
    return true;
  };
  *handle = keep_request(std::move(request));
  library().transfer->start(std::make_unique<Continuation>(std::move(step)));
  return in.call.settle(in.communicator);
}

int send_and_receive(const char* function, const void* send_buffer, std::int64_t send_count,
                     MPI_Datatype send_type, int to, int send_tag, void* receive_buffer,
                     std::int64_t receive_count, MPI_Datatype receive_type, int from,
                     int receive_tag, MPI_Comm comm, MPI_Request* request) {
  const Call call{function};
  return start_exchange(
      {call, receive_buffer, receive_count, receive_type, from, receive_tag, comm},
      {call, send_buffer, send_count, send_type, to, send_tag, comm}, false, request);
}

int start_replacing(const char* function, void* buffer, std::int64_t count, MPI_Datatype type,
                    int to, int send_tag, int from, int receive_tag, MPI_Comm comm,
                    MPI_Request* request) {
  const Call call{function};
  return start_exchange({call, buffer, count, type, from, receive_tag, comm},
                        {call, buffer, count, type, to, send_tag, comm}, true, request);
}

int replace(const char* function, void* buffer, std::int64_t count, MPI_Datatype type, int to,
            int send_tag, int from, int receive_tag, MPI_Comm comm, MPI_Status* status) {
  const Call call{function};
  Message in{call, buffer, count, type, from, receive_tag, comm};
  Message out{call, buffer, count, type, to, send_tag, comm};
  Exchange exchange;
  if (const int error = begin(in, out, true, exchange); error != MPI_SUCCESS) return error;
  library().transfer->until([&] { return exchange.sent.done; });
  return wait_for(call, in.communicator, exchange.received, status);
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_BOTH(MPI_Sendrecv_replace, replace)
WEFT_MPI_BOTH(MPI_Isendrecv, send_and_receive)
WEFT_MPI_BOTH(MPI_Isendrecv_replace, start_replacing)
