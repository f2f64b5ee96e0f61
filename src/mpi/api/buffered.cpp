// SPDX-License-Identifier: Apache-2.0
// Buffered sends.
#include "mpi/api/buffered.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include "mpi/api/counted.hpp"

namespace weft::mpi {
namespace {

/// How long a program waits for room before it hears that its buffer is too small: longer than a
/// process that shares its core waits for it. Looks have a limit, too, since time may stand still
/// in a simulation.
constexpr Duration patience = Duration::milliseconds(50);
constexpr int most_looks = 200'000;

using Buffered = std::shared_ptr<AttachedBuffer>;

struct BufferedSend {
  std::vector<std::byte> copy;
  Request request;
  Buffered buffer;
  std::uint64_t number = 0;
};

struct BufferedSends {
  Buffered of_process;
  std::list<BufferedSend> under_way;
  std::uint64_t begun = 0;

  static std::uint64_t cost(std::uint64_t bytes) { return bytes + MPI_BSEND_OVERHEAD; }
  void drop_done() {
    under_way.remove_if([](const BufferedSend& send) {
      if (send.request.done) send.buffer->taken -= cost(send.copy.size());
      return send.request.done;
    });
  }
  /// Null: there is none.
  Buffered buffer_for(const Communicator& communicator) const {
    if (communicator.buffer != nullptr) return communicator.buffer;
    const SessionBuffer* const session = communicator.session.get();
    return session != nullptr && session->attached != nullptr ? session->attached : of_process;
  }
  /// That depends on which earlier messages are done. A receiver may answer a message before it
  /// confirms the message's arrival, so that one look is not enough.
  bool find_room(const AttachedBuffer& buffer, std::uint64_t bytes) {
    if (cost(bytes) > buffer.bytes) return false;
    const auto fits = [&] {
      drop_done();
      return cost(bytes) <= buffer.bytes - buffer.taken;
    };
    Transfer& transfer = *library().transfer;
    const auto finds_room = [&]() -> std::optional<std::int64_t> {
      if (fits()) return 1;
      const Instant end = library().process->now() + patience;
      for (int look = 0; look < most_looks; ++look) {
        transfer.turn();
        if (transfer.failure()) return std::nullopt;
        if (fits()) return 1;
        if (library().process->now() >= end) return 0;
      }
      return 0;
    };
    if (library().questions->once_mostly(1, finds_room) == 0) return false;
    transfer.until(fits);  // an earlier life has found it
    return !transfer.failure();
  }
};

BufferedSends& sends() {
  static auto* const all = new BufferedSends;
  return *all;
}

/// The sends of a buffer that are under way when this is made. A later one is none of them.
struct SendsSoFar {
  Buffered buffer;
  std::uint64_t last = sends().begun;

  bool are_done() const {
    return std::ranges::none_of(sends().under_way, [this](const BufferedSend& send) {
      return send.buffer == buffer && send.number <= last && !send.request.done;
    });
  }
};

class Flush final : public Task {
 public:
  Flush(Buffered buffer, Request& request) : sends_{std::move(buffer)}, request_(request) {}
  bool advance() override { return request_.done = sends_.are_done(); }

 private:
  const SendsSoFar sends_;
  Request& request_;
};

const Datatype& byte_type() {
  static const Datatype bytes(Basic::bytes);
  return bytes;
}

int attach(const char* function, void* buffer, std::int64_t bytes) {
  const Call call{function};
  return buffer_of_process(call).attach(buffer, bytes);
}

template <class Number>
int detach(const char* function, void* address, Number* bytes) {
  const Call call{function};
  return buffer_of_process(call).detach(address, bytes);
}

}  // namespace

BufferOwner buffer_of_process(const Call& call) {
  return {.call = call, .buffer = &sends().of_process, .refuse = [&call](const std::string& why) {
            return call.fail(&library().world, MPI_ERR_BUFFER, why);
          }};
}

BufferOwner buffer_of_communicator(const Call& call, MPI_Comm comm) {
  BufferOwner owner{.call = call};
  if (Communicator* const found = call.communicator(comm, owner.error)) {
    owner.buffer = &found->buffer;
    owner.refuse = [&call, found](const std::string& why) {
      return call.fail(found, MPI_ERR_BUFFER, why);
    };
  }
  return owner;
}

int BufferOwner::attach(void* address, std::int64_t bytes) const {
  if (error != MPI_SUCCESS) return error;
  if (bytes < 0 && !is_automatic(address)) return refuse(fmt::format("the size is {}", bytes));
  if (*buffer != nullptr) return refuse("a buffer is attached already; detach it first");
  const auto size = is_automatic(address) ? std::numeric_limits<std::int64_t>::max() : bytes;
  *buffer = std::make_shared<AttachedBuffer>(
      AttachedBuffer{.address = address, .bytes = static_cast<std::uint64_t>(size)});
  return MPI_SUCCESS;
}

int BufferOwner::flush() const {
  if (error != MPI_SUCCESS) return error;
  call.transfer().until([so_far = SendsSoFar{*buffer}] { return so_far.are_done(); });
  sends().drop_done();
  return call.settle(nullptr);
}

int BufferOwner::start_flush(MPI_Request* handle) const {
  if (error != MPI_SUCCESS) return error;
  if (const int missing = call.check_results(handle)) return missing;
  Transfer& transfer = call.transfer();
  auto request = std::make_unique<Request>();
  request->status = empty_status();
  auto flush = std::make_unique<Flush>(*buffer, *request);
  if (!flush->advance()) transfer.start(std::move(flush));
  *handle = keep_request(std::move(request));
  return MPI_SUCCESS;
}

int send_buffered(Message& message) {
  if (message.is_null) return MPI_SUCCESS;
  const std::uint64_t bytes = message.buffer.bytes();
  const Buffered own = sends().buffer_for(*message.communicator);
  if (own == nullptr || !sends().find_room(*own, bytes)) {
    if (library().transfer->failure()) return message.call.settle(message.communicator);
    const AttachedBuffer full = own != nullptr ? *own : AttachedBuffer();
    return message.call.fail(message.communicator, MPI_ERR_BUFFER,
                             "a message of {} bytes has no room: {} of the {} bytes of the "
                             "attached buffer are taken; attach a larger one",
                             bytes, full.taken, full.bytes);
  }
  own->taken += BufferedSends::cost(bytes);
  BufferedSend& send = sends().under_way.emplace_back();
  send.buffer = own;
  send.number = ++sends().begun;
  send.copy.resize(bytes);
  message.buffer.type->pack(message.buffer.address, message.buffer.count, send.copy.data());
  message.buffer = {send.copy.data(), bytes, &byte_type()};
  message.start_send(false, send.request);
  return message.call.settle(message.communicator);
}

namespace {

int send_copy(const char* function, const void* buffer, std::int64_t count, MPI_Datatype type,
              int to, int tag, MPI_Comm comm) {
  Message message{{function}, buffer, count, type, to, tag, comm};
  if (const int error = message.check(true); error != MPI_SUCCESS) return error;
  return send_buffered(message);
}

int start_copy(const char* function, const void* buffer, std::int64_t count, MPI_Datatype type,
               int to, int tag, MPI_Comm comm, MPI_Request* handle) {
  Message message{{function}, buffer, count, type, to, tag, comm};
  int error = message.check(true, handle);
  if (error == MPI_SUCCESS) error = send_buffered(message);
  if (error != MPI_SUCCESS) return error;
  auto request = std::make_unique<Request>();
  request->done = true;
  *handle = keep_request(std::move(request));
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_BOTH(MPI_Buffer_attach, attach)
WEFT_MPI_BOTH(MPI_Buffer_detach, detach)

WEFT_MPI_BOTH(MPI_Bsend, send_copy)
WEFT_MPI_BOTH(MPI_Ibsend, start_copy)
