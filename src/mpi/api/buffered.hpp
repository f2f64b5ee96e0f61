// SPDX-License-Identifier: Apache-2.0
// Buffered sends.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {

/// The program's buffer, which only says how much may be under way: copies are the library's own
/// memory.
struct AttachedBuffer {
  void* address = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t taken = 0;
};

/// What a buffer is attached to: a communicator, a session or the process.
struct BufferOwner {
  const Call& call;
  std::shared_ptr<AttachedBuffer>* buffer = nullptr;  ///< null: there is no such owner
  std::function<int(const std::string&)> refuse;      ///< reports an error of MPI_ERR_BUFFER
  int error = MPI_SUCCESS;

  int attach(void* address, std::int64_t bytes) const;
  template <class Number>
  int detach(void* address, Number* bytes) const {
    if (error != MPI_SUCCESS) return error;
    if (const int missing = call.check_results(address, bytes)) return missing;
    const int flushed = *buffer != nullptr ? flush() : MPI_SUCCESS;
    const std::shared_ptr<AttachedBuffer> own = std::exchange(*buffer, nullptr);
    void* const attached = own != nullptr ? own->address : nullptr;
    std::memcpy(address, &attached, sizeof attached);
    *bytes = own != nullptr && !is_automatic(attached) ? static_cast<Number>(own->bytes) : 0;
    return flushed;
  }
  /// Blocks until all messages of the buffer are sent that were begun before.
  int flush() const;
  /// The same as a request.
  int start_flush(MPI_Request* request) const;
  /// MPI_BUFFER_AUTOMATIC of the standard's ABI: there is room for everything.
  static bool is_automatic(const void* address) {
    return address == reinterpret_cast<const void*>(std::uintptr_t{2});
  }
};

BufferOwner buffer_of_process(const Call& call);
BufferOwner buffer_of_communicator(const Call& call, MPI_Comm comm);
BufferOwner buffer_of_session(const Call& call, MPI_Session session);

/// Sends a copy of a message that was checked. Errors: there is no room for it in the buffer of the
/// communicator, of its session if it has none, or of the process if that has none.
int send_buffered(Message& message);

}  // namespace weft::mpi
