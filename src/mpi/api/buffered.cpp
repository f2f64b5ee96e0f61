// SPDX-License-Identifier: Apache-2.0
// Buffered sends. The program's buffer only says how much may be under way: copies are the
// library's own memory.
#include "mpi/api/buffered.hpp"

#include <fmt/format.h>

#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "mpi/api/counted.hpp"

namespace weft::mpi {
namespace {

/// Looks for room before a program hears that its buffer is too small: about as long as a process
/// that shares its core waits for it. A number, since each life of a process looks as often.
constexpr int most_looks = 1'000'000;

struct BufferedSend {
  std::vector<std::byte> copy;
  Request request;
};

struct AttachedBuffer {
  void* address = nullptr;
  std::uint64_t bytes = 0;
  std::list<BufferedSend> sends;
  std::uint64_t taken = 0;

  /// Whether a message of so many bytes has room depends on which earlier ones are done. A receiver
  /// may answer a message before it confirms the message's arrival, so that one look is not enough.
  bool has_room(std::uint64_t bytes) {
    if (cost(bytes) > this->bytes) return false;
    const auto fits = [&] {
      drop_done();
      return taken + cost(bytes) <= this->bytes;
    };
    for (int look = 0; look < most_looks; ++look) {
      if (library().questions->is(fits)) return true;
      if (library().transfer->failure()) return false;
    }
    return false;
  }
  void drop_done() {
    sends.remove_if([&](const BufferedSend& send) {
      if (send.request.done) taken -= cost(send.copy.size());
      return send.request.done;
    });
  }
  static std::uint64_t cost(std::uint64_t bytes) { return bytes + MPI_BSEND_OVERHEAD; }
};

AttachedBuffer& attached() {
  static AttachedBuffer* const the_buffer = new AttachedBuffer;
  return *the_buffer;
}

const Datatype& byte_type() {
  static const Datatype bytes(Basic::bytes);
  return bytes;
}

int attach(const char* function, void* buffer, std::int64_t bytes) {
  const Call call{function};
  AttachedBuffer& own = attached();
  if (own.address != nullptr || bytes < 0) {
    return call.fail(&library().world, MPI_ERR_BUFFER,
                     bytes < 0 ? fmt::format("the size is {}", bytes)
                               : std::string("a buffer is attached already; detach it first"));
  }
  own.address = buffer;
  own.bytes = static_cast<std::uint64_t>(bytes);
  return MPI_SUCCESS;
}

template <class Number>
int detach(const char* function, void* address, Number* bytes) {
  const Call call{function};
  AttachedBuffer& own = attached();
  if (library().transfer != nullptr) {
    library().transfer->until([&] {
      own.drop_done();
      return own.sends.empty();
    });
  }
  std::memcpy(address, &own.address, sizeof own.address);
  own.address = nullptr;
  *bytes = static_cast<Number>(std::exchange(own.bytes, 0));
  return library().transfer != nullptr ? call.settle(nullptr) : MPI_SUCCESS;
}

}  // namespace

int send_buffered(Message& message) {
  if (message.is_null) return MPI_SUCCESS;
  AttachedBuffer& own = attached();
  const std::uint64_t bytes = message.buffer.bytes();
  if (!own.has_room(bytes)) {
    return message.call.fail(message.communicator, MPI_ERR_BUFFER,
                             "a message of {} bytes has no room: {} of the {} bytes of the "
                             "attached buffer are taken; attach a larger one",
                             bytes, own.taken, own.bytes);
  }
  own.taken += AttachedBuffer::cost(bytes);
  BufferedSend& send = own.sends.emplace_back();
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
  const Held held;
  const int error = send_copy(function, buffer, count, type, to, tag, comm);
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
