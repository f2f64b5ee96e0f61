// SPDX-License-Identifier: Apache-2.0
// The chapter on point-to-point communication: sends, receives, probes.
#include "mpi/api/point_to_point.hpp"

#include <limits>

#include "mpi/api/counted.hpp"

namespace weft::mpi {

int Message::fail() {
  if (communicator == nullptr || count >= 0) return error;
  return call.fail(communicator, MPI_ERR_COUNT, "the count is {}", count);
}

int Message::check_otherwise(bool sends) {
  if (tag < 0 && (sends || tag != MPI_ANY_TAG)) {
    return call.fail(communicator, MPI_ERR_TAG, "the tag is {}", tag);
  }
  is_null = peer == MPI_PROC_NULL;
  const bool is_any = !sends && peer == MPI_ANY_SOURCE;
  const bool is_rank = peer >= 0 && static_cast<std::uint32_t>(peer) < communicator->group.size();
  if (!is_null && !is_any && !is_rank) {
    return call.fail(communicator, MPI_ERR_RANK, "{} is no rank of a communicator of {}", peer,
                     communicator->group.size());
  }
  if (is_null || !buffer.is_null()) return MPI_SUCCESS;
  return call.fail(communicator, MPI_ERR_BUFFER, no_buffer, count);
}

Status Message::null_status() {
  return {.source = static_cast<std::uint32_t>(MPI_PROC_NULL), .tag = MPI_ANY_TAG};
}

void Message::start_send(bool synchronous, Request& request) {
  if (is_null) {
    request.status = null_status();
    request.done = true;
    return;
  }
  library().transfer->send(communicator->group, static_cast<std::uint32_t>(peer), tag, buffer,
                           synchronous, request);
}

bool Message::send_now() {
  Transfer& transfer = *library().transfer;
  if (is_null || transfer.failure()) return false;
  return transfer.send_now(communicator->group, static_cast<std::uint32_t>(peer), tag, buffer);
}

void Message::start_receive(Request& request) {
  if (is_null) {
    request.status = null_status();
    request.done = true;
    return;
  }
  library().questions->receive(communicator->group, match_source(), match_tag(), buffer, request);
}

std::uint32_t Message::match_source() const {
  return peer == MPI_ANY_SOURCE ? match::any_source : static_cast<std::uint32_t>(peer);
}

std::int32_t Message::match_tag() const {
  return tag == MPI_ANY_TAG ? match::any_tag : tag;
}

int wait_for(const Call& call, const Communicator* communicator, Request& request,
             MPI_Status* status) {
  library().transfer->until([&] { return request.done; });
  if (const int error = call.settle(communicator); error != MPI_SUCCESS) return error;
  return take_result(call, request, status);
}

namespace {

/// The communicator of a receive: MPI_COMM_WORLD, if the program has freed it.
const Communicator& communicator_of(const Request& receive) {
  const Library& mpi = library();
  const Communicator* found = receive.group == &mpi.self.group ? &mpi.self : &mpi.world;
  mpi.communicators.for_each([&](const Communicator& communicator) {
    if (&communicator.group == receive.group) found = &communicator;
  });
  return *found;
}

}  // namespace

int fail_truncated(const Call& call, const Request& request) {
  return call.fail(
      &communicator_of(request), MPI_ERR_TRUNCATE,
      "the message of rank {} with tag {} is longer than the receive's buffer of {} bytes",
      request.status.source, request.status.tag, request.buffer.bytes());
}

namespace {

int send(Message&& message, bool synchronous) {
  if (const int error = message.check(true); error != MPI_SUCCESS)
    return message.call.result(error);
  if (!synchronous && message.send_now()) return MPI_SUCCESS;
  Request request;
  message.start_send(synchronous, request);
  if (message.is_null) {
    return wait_for(message.call, message.communicator, request, abi::status_ignore);
  }
  const NodeId to = message.communicator->group.members[static_cast<std::size_t>(message.peer)];
  const message::Name sent = library().transfer->last_sent_to(to);
  const int error = wait_for(message.call, message.communicator, request, abi::status_ignore);
  library().transfer->make_way(to, sent);
  return error;
}

int start_send(Message&& message, bool synchronous, MPI_Request* handle) {
  if (const int error = message.check(true, handle); error != MPI_SUCCESS) return error;
  if (!synchronous && message.send_now()) {
    *handle = sent_request();
    return MPI_SUCCESS;
  }
  const Requests::Made made = library().requests.make();
  message.start_send(synchronous, *made.request);
  library().transfer->look_if_queued();
  *handle = handle_of(abi::made_request, made.number);
  return message.call.settle(message.communicator);
}

bool send_plainly(const Plain& plain, int to, int tag) {
  return plain.group != nullptr &&
         library().transfer->send_now(*plain.group, static_cast<std::uint32_t>(to), tag,
                                      plain.buffer);
}

// Instances for each type of count, which their only caller has inline.

template <class Count>
int send(const char* function, const void* buffer, Count count, MPI_Datatype type, int to, int tag,
         MPI_Comm comm) {
  const Held held;
  const Plain plain(buffer, count, type, to, tag, comm);
  if (send_plainly(plain, to, tag)) return MPI_SUCCESS;
  return send({{function}, buffer, count, type, to, tag, comm}, false);
}

template <class Count>
int start_send(const char* function, const void* buffer, Count count, MPI_Datatype type, int to,
               int tag, MPI_Comm comm, MPI_Request* request) {
  const Held held;
  const Plain plain(buffer, count, type, to, tag, comm);
  if (request != nullptr && send_plainly(plain, to, tag)) {
    *request = sent_request();
    return MPI_SUCCESS;
  }
  return start_send({{function}, buffer, count, type, to, tag, comm}, false, request);
}

template <class Count>
int receive(const char* function, void* buffer, Count count, MPI_Datatype type, int from, int tag,
            MPI_Comm comm, MPI_Status* status) {
  const Held held;
  if (const Plain plain(buffer, count, type, from, tag, comm); plain.group != nullptr) {
    const Call call{function};
    Request request;
    library().questions->receive(*plain.group, static_cast<std::uint32_t>(from), tag, plain.buffer,
                                 request);
    return wait_for(call, &library().world, request, status);
  }
  Message message{{function}, buffer, count, type, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS)
    return message.call.result(error);
  Request request;
  message.start_receive(request);
  return wait_for(message.call, message.communicator, request, status);
}

template <class Count>
int start_receive(const char* function, void* buffer, Count count, MPI_Datatype type, int from,
                  int tag, MPI_Comm comm, MPI_Request* handle) {
  const Held held;
  const Plain plain(buffer, count, type, from, tag, comm);
  if (plain.group != nullptr && handle != nullptr) {
    Library& mpi = library();
    const Requests::Made made = mpi.requests.make();
    mpi.questions->receive(*plain.group, static_cast<std::uint32_t>(from), tag, plain.buffer,
                           *made.request);
    *handle = handle_of(abi::made_request, made.number);
    return mpi.transfer->failure() ? Call{function}.settle(&library().world) : MPI_SUCCESS;
  }
  Message message{{function}, buffer, count, type, from, tag, comm};
  if (const int error = message.check(false, handle); error != MPI_SUCCESS) return error;
  const Requests::Made made = library().requests.make();
  message.start_receive(*made.request);
  *handle = handle_of(abi::made_request, made.number);
  return message.call.settle(message.communicator);
}

template <class Count>
int send_and_receive(const char* function, const void* send_buffer, Count send_count,
                     MPI_Datatype send_type, int to, int send_tag, void* receive_buffer,
                     Count receive_count, MPI_Datatype receive_type, int from, int receive_tag,
                     MPI_Comm comm, MPI_Status* status) {
  const Call call{function};
  Message in{call, receive_buffer, receive_count, receive_type, from, receive_tag, comm};
  Message out{call, send_buffer, send_count, send_type, to, send_tag, comm};
  if (const int error = in.check(false); error != MPI_SUCCESS) return in.call.result(error);
  if (const int error = out.check(true); error != MPI_SUCCESS) return out.call.result(error);
  Request received, sent;
  in.start_receive(received);
  if (!out.send_now()) {
    out.start_send(false, sent);
    library().transfer->until([&] { return sent.done; });
  }
  return wait_for(call, in.communicator, received, status);
}

// In another way than MPI_Send and MPI_Isend do.
int send_as(const char* function, bool synchronous, const void* buffer, std::int64_t count,
            MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return send({{function}, buffer, count, type, to, tag, comm}, synchronous);
}
int start_send_as(const char* function, bool synchronous, const void* buffer, std::int64_t count,
                  MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  return start_send({{function}, buffer, count, type, to, tag, comm}, synchronous, request);
}

template <class Number>
int get_count(const char* function, const MPI_Status* status, MPI_Datatype type, Number* count) {
  int error = MPI_SUCCESS;
  const Call call{function};
  const Datatype* const datatype = call.type(type, error);
  if (datatype == nullptr) return error;
  if ((error = call.check_status(status)) != MPI_SUCCESS) return error;
  if ((error = call.check_results(count)) != MPI_SUCCESS) return error;
  const std::uint64_t bytes = abi::bytes_in(*status);
  const std::uint64_t size = datatype->size();
  const bool is_whole = size == 0 ? bytes == 0 : bytes % size == 0;
  const std::uint64_t elements = size == 0 ? 0 : bytes / size;
  const bool has_room = elements <= std::uint64_t{std::numeric_limits<Number>::max()};
  *count = is_whole && has_room ? static_cast<Number>(elements) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_BOTH(MPI_Send, send)
WEFT_MPI_BOTH(MPI_Ssend, send_as, true)
WEFT_MPI_BOTH(MPI_Rsend, send_as, false)
WEFT_MPI_BOTH(MPI_Isend, start_send)
WEFT_MPI_BOTH(MPI_Issend, start_send_as, true)
WEFT_MPI_BOTH(MPI_Irsend, start_send_as, false)
WEFT_MPI_BOTH(MPI_Recv, receive)
WEFT_MPI_BOTH(MPI_Irecv, start_receive)
WEFT_MPI_BOTH(MPI_Sendrecv, send_and_receive)
WEFT_MPI_BOTH(MPI_Get_count, get_count)

using namespace weft::mpi;

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Message message{{"MPI_Iprobe"}, nullptr, 0, MPI_BYTE, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS)
    return message.call.result(error);
  if (const int error = message.call.check_results(flag); error != MPI_SUCCESS) return error;
  const auto found = message.is_null ? std::optional(Message::null_status())
                                     : library().questions->probe(message.communicator->group,
                                                                  message.match_source(),
                                                                  message.match_tag(), false);
  *flag = found ? 1 : 0;
  if (found) write_status(status, *found);
  return message.call.settle(message.communicator);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  Message message{{"MPI_Probe"}, nullptr, 0, MPI_BYTE, from, tag, comm};
  if (const int error = message.check(false); error != MPI_SUCCESS)
    return message.call.result(error);
  if (message.is_null) {
    write_status(status, Message::null_status());
    return MPI_SUCCESS;
  }
  const auto found = library().questions->probe(message.communicator->group, message.match_source(),
                                                message.match_tag(), true);
  if (found) write_status(status, *found);
  return message.call.settle(message.communicator);
}

int MPI_Test_cancelled(const MPI_Status* status, int* flag) {
  const Call call{"MPI_Test_cancelled"};
  if (const int error = call.check_status(status); error != MPI_SUCCESS) return error;
  if (const int error = call.check_results(flag); error != MPI_SUCCESS) return error;
  *flag = abi::is_cancelled(*status) ? 1 : 0;
  return MPI_SUCCESS;
}
