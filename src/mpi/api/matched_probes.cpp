// SPDX-License-Identifier: Apache-2.0
// Probes that take the message they find, and receives of it.
#include <algorithm>

#include "mpi/api/continuation.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/matched.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

/// True: there is a message. It is taken, and its handle and status are written.
bool take(Message& message, bool waits, MPI_Message* handle, MPI_Status* status) {
  const Group& group = message.communicator->group;
  const auto found =
      library().questions->probe(group, message.match_source(), message.match_tag(), waits);
  auto matched = std::make_unique<MatchedMessage>();
  if (!found || !library().transfer->extract(group, found->source, found->tag, matched->request,
                                             matched->memory)) {
    return false;
  }
  write_status(status, matched->request.status);
  *handle = handle_of(abi::made_message, library().messages.add(std::move(matched)));
  return true;
}

/// Null, with `error` set: the handle is of no message.
std::shared_ptr<MatchedMessage> remove(const Call& call, MPI_Message* handle, int& error) {
  if (!is_of(abi::made_message, *handle) ||
      library().messages.find(number_of(*handle)) == nullptr) {
    error = call.fail(&library().world, MPI_ERR_REQUEST, "the handle is of no message");
    return nullptr;
  }
  std::shared_ptr<MatchedMessage> removed = library().messages.remove(number_of(*handle));
  *handle = MPI_MESSAGE_NULL;
  return removed;
}

/// Copies a message that is there to the receive's buffer.
void hand_over(const MatchedMessage& matched, Request& receive) {
  const std::uint64_t room = receive.buffer.bytes();
  receive.group = matched.request.group;
  receive.status = matched.request.status;
  receive.status.is_truncated = matched.memory.size() > room;
  receive.status.bytes = std::min<std::uint64_t>(matched.memory.size(), room);
  receive.buffer.type->unpack(std::span(matched.memory).first(receive.status.bytes),
                              receive.buffer.address);
  receive.done = true;
}

bool set_buffer(const Call& call, void* address, std::int64_t count, MPI_Datatype type,
                const MPI_Message* handle, Request& request, int& error) {
  const Datatype* const datatype = call.communicated(type, count, error);
  if (datatype == nullptr) return false;
  if ((error = call.check_results(handle)) != MPI_SUCCESS) return false;
  if (count < 0) {
    error = call.fail(&library().world, MPI_ERR_COUNT, "the count is {}", count);
    return false;
  }
  request.buffer = {address, static_cast<std::uint64_t>(count), datatype};
  return true;
}

int receive_matched(const char* function, void* buffer, std::int64_t count, MPI_Datatype type,
                    MPI_Message* handle, MPI_Status* status) {
  const Call call{function};
  int error = MPI_SUCCESS;
  Request receive;
  if (!set_buffer(call, buffer, count, type, handle, receive, error)) return error;
  if (*handle == MPI_MESSAGE_NO_PROC) {
    *handle = MPI_MESSAGE_NULL;
    write_status(status, Message::null_status());
    return MPI_SUCCESS;
  }
  const auto matched = remove(call, handle, error);
  if (matched == nullptr) return error;
  library().transfer->until([&] { return matched->request.done; });
  if ((error = call.settle(nullptr)) != MPI_SUCCESS) return error;
  hand_over(*matched, receive);
  return take_result(call, receive, status);
}

int start_matched(const char* function, void* buffer, std::int64_t count, MPI_Datatype type,
                  MPI_Message* handle, MPI_Request* request) {
  const Call call{function};
  int error = MPI_SUCCESS;
  auto receive = std::make_unique<Request>();
  if (!set_buffer(call, buffer, count, type, handle, *receive, error)) return error;
  if ((error = call.check_requests(1, request)) != MPI_SUCCESS) return error;
  if (*handle == MPI_MESSAGE_NO_PROC) {
    *handle = MPI_MESSAGE_NULL;
    receive->status = Message::null_status();
    receive->done = true;
    *request = keep_request(std::move(receive));
    return MPI_SUCCESS;
  }
  const auto matched = remove(call, handle, error);
  if (matched == nullptr) return error;
  auto step = [matched, target = receive.get()] {
    if (matched->request.done) hand_over(*matched, *target);
    return matched->request.done;
  };
  *request = keep_request(std::move(receive));
  library().transfer->start(std::make_unique<Continuation>(std::move(step)));
  return call.settle(nullptr);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* handle, MPI_Status* status) {
  Message message{{"MPI_Mprobe"}, nullptr, 0, MPI_BYTE, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS) return error;
  if (const int error = message.call.check_results(handle); error != MPI_SUCCESS) return error;
  if (message.is_null) {
    *handle = MPI_MESSAGE_NO_PROC;
    write_status(status, Message::null_status());
    return MPI_SUCCESS;
  }
  take(message, true, handle, status);
  return message.call.settle(message.communicator);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* handle,
                MPI_Status* status) {
  Message message{{"MPI_Improbe"}, nullptr, 0, MPI_BYTE, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS) return error;
  if (const int error = message.call.check_results(flag, handle); error != MPI_SUCCESS)
    return error;
  *flag = 1;
  if (message.is_null) {
    *handle = MPI_MESSAGE_NO_PROC;
    write_status(status, Message::null_status());
    return MPI_SUCCESS;
  }
  *flag = take(message, false, handle, status) ? 1 : 0;
  if (*flag == 0) *handle = MPI_MESSAGE_NULL;
  return message.call.settle(message.communicator);
}

WEFT_MPI_BOTH(MPI_Mrecv, receive_matched)

WEFT_MPI_BOTH(MPI_Imrecv, start_matched)
