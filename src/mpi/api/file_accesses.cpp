// SPDX-License-Identifier: Apache-2.0
// The chapter on I/O: reading and writing. Every process accesses the file itself but in collective
// calls that block. Calls that do not block have done all when they return.
#include <fmt/format.h>

#include <numeric>
#include <span>
#include <vector>

#include "mpi/api/collective_io.hpp"

namespace weft::mpi {
namespace {

/// The pointer that says where an access begins.
enum class Pointer : std::uint8_t {
  none,     ///< the offset that the caller gives
  own,      ///< this process's
  shared,   ///< that of all, in any order
  ordered,  ///< that of all, in the order of ranks
};
/// Who accesses the file.
enum class Who : std::uint8_t {
  each,  ///< every process its own part, when it likes
  all,   ///< all at the same time, for each other
};

struct Access {
  const char* function;
  MPI_File handle;
  Direction direction;
  Pointer pointer;
  Who who;
  MPI_Offset offset;
  const void* address;
  std::int64_t count;
  MPI_Datatype type;
};

/// Sets the type of what is in memory, and the bytes that the file has for it.
int check(const Call& call, const FileObject& file, const Access& access, const Datatype*& type,
          std::uint64_t& bytes) {
  int error = MPI_SUCCESS;
  type = call.communicated(access.type, error);
  if (type == nullptr) return error;
  if (access.count < 0) {
    return file.fail(call, MPI_ERR_COUNT, fmt::format("the count is {}", access.count));
  }
  bytes = static_cast<std::uint64_t>(access.count) * type->size();
  if (file.view.representation != nullptr) {
    Datatype in_file(*type);
    error = make_file_type(call, *file.view.representation, access.type, in_file);
    if (error != MPI_SUCCESS) return file.fail_conversion(call, error);
    bytes = static_cast<std::uint64_t>(access.count) * in_file.size();
  }
  const bool writes = access.direction == Direction::write;
  if (writes && (file.mode & MPI_MODE_RDONLY) != 0) {
    return file.fail(call, MPI_ERR_READ_ONLY, file.path + " was opened with MPI_MODE_RDONLY");
  }
  if (!writes && (file.mode & MPI_MODE_WRONLY) != 0) {
    return file.fail(call, MPI_ERR_ACCESS, file.path + " was opened with MPI_MODE_WRONLY");
  }
  const bool is_shared = access.pointer == Pointer::shared || access.pointer == Pointer::ordered;
  if (!is_shared && (file.mode & MPI_MODE_SEQUENTIAL) != 0) {
    return file.fail(call, MPI_ERR_UNSUPPORTED_OPERATION,
                     file.path + " was opened with MPI_MODE_SEQUENTIAL; use the shared pointer");
  }
  if (access.pointer == Pointer::none && access.offset < 0) {
    return file.fail(call, MPI_ERR_ARG, fmt::format("the offset is {}", access.offset));
  }
  if (bytes > 0 && file.view.layout.size() == 0) {
    return file.fail(call, MPI_ERR_ARG, fmt::format("the view has no place for {} bytes", bytes));
  }
  if (bytes % file.view.element_bytes != 0) {
    return file.fail(call, MPI_ERR_ARG,
                     fmt::format("{} bytes are no whole elements of the view, which have {}", bytes,
                                 file.view.element_bytes));
  }
  return MPI_SUCCESS;
}

/// Returns where this process's part of a collective access in the order of ranks begins; −1 after
/// an error.
std::int64_t begin_in_order(FileObject& file, std::int64_t elements) {
  int rank = 0, size = 1;
  (void)MPI_Comm_rank(file.comm, &rank);
  (void)MPI_Comm_size(file.comm, &size);
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  if (MPI_Allgather(&elements, sizeof elements, MPI_BYTE, all.data(), sizeof elements, MPI_BYTE,
                    file.comm) != MPI_SUCCESS) {
    return -1;
  }
  std::int64_t begin = 0;
  if (rank == 0) {
    begin = add_to_shared(file, std::accumulate(all.begin(), all.end(), std::int64_t{0}));
  }
  if (MPI_Bcast(&begin, sizeof begin, MPI_BYTE, 0, file.comm) != MPI_SUCCESS) return -1;
  return begin < 0 ? -1 : std::accumulate(all.begin(), all.begin() + rank, begin);
}

std::int64_t begin_of(FileObject& file, const Access& access, std::int64_t elements) {
  switch (access.pointer) {
    case Pointer::none:
      return access.offset;
    case Pointer::own:
      return file.position;
    case Pointer::shared:
      return add_to_shared(file, elements);
    case Pointer::ordered:
      return begin_in_order(file, elements);
  }
  return -1;
}

/// Reads or writes bytes of the view's stream. −1: an error of the system.
std::int64_t access_bytes(const FileObject& file, const Access& access, std::span<std::byte> memory,
                          std::uint64_t begin) {
  if (access.who == Who::all) return access_together(file, access.direction, memory, begin);
  return access_view(file, access.direction, memory, begin);
}

int run(const Call& call, FileObject& file, const Access& access, Status& status) {
  const Datatype* type = nullptr;
  std::uint64_t bytes = 0;
  if (const int error = check(call, file, access, type, bytes); error != MPI_SUCCESS) {
    if (access.pointer == Pointer::ordered) (void)begin_in_order(file, 0);
    if (access.who == Who::all) miss_together(file, access.direction);
    return error;
  }
  const auto count = static_cast<std::uint64_t>(access.count);
  const auto elements = static_cast<std::int64_t>(bytes / file.view.element_bytes);
  const std::int64_t begin = begin_of(file, access, elements);
  if (begin < 0) return file.fail_errno(call, "its shared pointer cannot be used");
  const bool writes = access.direction == Direction::write;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(access.address));
  const Representation* const representation = file.view.representation;
  const FileElements converted{call, access.type, *type, count};
  const bool is_straight = type->is_contiguous() && representation == nullptr;
  std::vector<std::byte> packed(is_straight ? 0 : bytes);
  if (writes && representation != nullptr) {
    const int error = representation->write(converted, address, packed);
    if (error != MPI_SUCCESS) return file.fail_conversion(call, error);
  } else if (writes && !packed.empty()) {
    type->pack(address, count, packed.data());
  }
  const std::span<std::byte> memory = is_straight ? std::span(address, bytes) : std::span(packed);
  std::int64_t done = 0;
  {
    const FileLock lock(file.descriptor, writes, file.is_atomic);
    done = access_bytes(file, access, memory,
                        static_cast<std::uint64_t>(begin) * file.view.element_bytes);
  }
  if (done < 0) return file.fail_errno(call, writes ? "it cannot be written" : "it cannot be read");
  status = empty_status();
  status.bytes = static_cast<std::uint64_t>(done);
  const auto read = std::span(packed).first(is_straight ? 0 : status.bytes);
  if (writes) {
    if (representation != nullptr && status.bytes == bytes) status.bytes = count * type->size();
  } else if (representation != nullptr) {
    const int error = representation->read(converted, read, address, status.bytes);
    if (error != MPI_SUCCESS) return file.fail_conversion(call, error);
  } else if (!packed.empty()) {
    type->unpack(read, address);
  }
  if (access.pointer == Pointer::own) {
    file.position = begin + done / static_cast<std::int64_t>(file.view.element_bytes);
  }
  return MPI_SUCCESS;
}

int block(const Access& access, MPI_Status* status) {
  const FileCall call(access.function, access.handle);
  if (!call) return call.error;
  Status result;
  const int error = run(call, *call, access, result);
  if (error == MPI_SUCCESS) write_status(status, result);
  return error;
}

int start(const Access& access, MPI_Request* handle) {
  const FileCall call(access.function, access.handle);
  if (!call) return call.error;
  auto request = std::make_unique<Request>();
  const int error = run(call, *call, access, request->status);
  if (error != MPI_SUCCESS) return error;
  request->done = true;
  *handle = keep_request(std::move(request));
  return MPI_SUCCESS;
}

int begin(const Access& access) {
  const FileCall call(access.function, access.handle);
  if (!call) return call.error;
  if (call->begun) {
    return call.fail(MPI_ERR_OTHER, "an access of this file was begun and not ended");
  }
  Status result;
  const int error = run(call, *call, access, result);
  if (error == MPI_SUCCESS) call->begun = result;
  return error;
}

int end(const char* function, MPI_File handle, MPI_Status* status) {
  const FileCall call(function, handle);
  if (!call) return call.error;
  if (!call->begun) return call.fail(MPI_ERR_OTHER, "no access of this file was begun");
  write_status(status, *call->begun);
  call->begun.reset();
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

// Functions whose counts have 32 bits, and those whose counts have 64 bits.
#define WEFT_MPI_ACCESS_OF(NAME, direction, pointer, who, place)                              \
  {                                                                                           \
    "MPI_File_" #NAME, file, Direction::direction, Pointer::pointer, Who::who, place, buffer, \
        count, type                                                                           \
  }
#define WEFT_MPI_ACCESS(NAME, direction, pointer, who) \
  WEFT_MPI_ACCESS_OF(NAME, direction, pointer, who, 0)
#define WEFT_MPI_ACCESS_AT(NAME, direction, who) \
  WEFT_MPI_ACCESS_OF(NAME, direction, none, who, offset)
#define WEFT_MPI_BLOCKING_OF(NAME, Count, Buffer, direction, pointer, who)          \
  int MPI_File_##NAME(MPI_File file, Buffer buffer, Count count, MPI_Datatype type, \
                      MPI_Status* status) {                                         \
    return block(WEFT_MPI_ACCESS(NAME, direction, pointer, who), status);           \
  }
#define WEFT_MPI_STARTING_OF(NAME, Count, Buffer, direction, pointer)               \
  int MPI_File_##NAME(MPI_File file, Buffer buffer, Count count, MPI_Datatype type, \
                      MPI_Request* request) {                                       \
    return start(WEFT_MPI_ACCESS(NAME, direction, pointer, each), request);         \
  }
#define WEFT_MPI_BEGINNING_OF(NAME, Count, Buffer, direction, pointer)                \
  int MPI_File_##NAME(MPI_File file, Buffer buffer, Count count, MPI_Datatype type) { \
    return begin(WEFT_MPI_ACCESS(NAME, direction, pointer, all));                     \
  }
#define WEFT_MPI_BLOCKING_AT_OF(NAME, Count, Buffer, direction, who)                \
  int MPI_File_##NAME(MPI_File file, MPI_Offset offset, Buffer buffer, Count count, \
                      MPI_Datatype type, MPI_Status* status) {                      \
    return block(WEFT_MPI_ACCESS_AT(NAME, direction, who), status);                 \
  }
#define WEFT_MPI_STARTING_AT_OF(NAME, Count, Buffer, direction)                     \
  int MPI_File_##NAME(MPI_File file, MPI_Offset offset, Buffer buffer, Count count, \
                      MPI_Datatype type, MPI_Request* request) {                    \
    return start(WEFT_MPI_ACCESS_AT(NAME, direction, each), request);               \
  }
#define WEFT_MPI_BEGINNING_AT_OF(NAME, Count, Buffer, direction)                    \
  int MPI_File_##NAME(MPI_File file, MPI_Offset offset, Buffer buffer, Count count, \
                      MPI_Datatype type) {                                          \
    return begin(WEFT_MPI_ACCESS_AT(NAME, direction, all));                         \
  }
#define WEFT_MPI_ENDING(NAME, Buffer)                              \
  int MPI_File_##NAME(MPI_File file, Buffer, MPI_Status* status) { \
    return end("MPI_File_" #NAME, file, status);                   \
  }
#define WEFT_MPI_TWICE(FORM, NAME, ...)        \
  WEFT_MPI_##FORM##_OF(NAME, int, __VA_ARGS__) \
      WEFT_MPI_##FORM##_OF(NAME##_c, MPI_Count, __VA_ARGS__)

WEFT_MPI_TWICE(BLOCKING, read, void*, read, own, each)
WEFT_MPI_TWICE(BLOCKING, read_all, void*, read, own, all)
WEFT_MPI_TWICE(BLOCKING, read_shared, void*, read, shared, each)
WEFT_MPI_TWICE(BLOCKING, read_ordered, void*, read, ordered, all)
WEFT_MPI_TWICE(BLOCKING, write, const void*, write, own, each)
WEFT_MPI_TWICE(BLOCKING, write_all, const void*, write, own, all)
WEFT_MPI_TWICE(BLOCKING, write_shared, const void*, write, shared, each)
WEFT_MPI_TWICE(BLOCKING, write_ordered, const void*, write, ordered, all)
WEFT_MPI_TWICE(BLOCKING_AT, read_at, void*, read, each)
WEFT_MPI_TWICE(BLOCKING_AT, read_at_all, void*, read, all)
WEFT_MPI_TWICE(BLOCKING_AT, write_at, const void*, write, each)
WEFT_MPI_TWICE(BLOCKING_AT, write_at_all, const void*, write, all)
WEFT_MPI_TWICE(STARTING, iread, void*, read, own)
WEFT_MPI_TWICE(STARTING, iread_all, void*, read, own)
WEFT_MPI_TWICE(STARTING, iread_shared, void*, read, shared)
WEFT_MPI_TWICE(STARTING, iwrite, const void*, write, own)
WEFT_MPI_TWICE(STARTING, iwrite_all, const void*, write, own)
WEFT_MPI_TWICE(STARTING, iwrite_shared, const void*, write, shared)
WEFT_MPI_TWICE(STARTING_AT, iread_at, void*, read)
WEFT_MPI_TWICE(STARTING_AT, iread_at_all, void*, read)
WEFT_MPI_TWICE(STARTING_AT, iwrite_at, const void*, write)
WEFT_MPI_TWICE(STARTING_AT, iwrite_at_all, const void*, write)
WEFT_MPI_TWICE(BEGINNING, read_all_begin, void*, read, own)
WEFT_MPI_TWICE(BEGINNING, read_ordered_begin, void*, read, ordered)
WEFT_MPI_TWICE(BEGINNING, write_all_begin, const void*, write, own)
WEFT_MPI_TWICE(BEGINNING, write_ordered_begin, const void*, write, ordered)
WEFT_MPI_TWICE(BEGINNING_AT, read_at_all_begin, void*, read)
WEFT_MPI_TWICE(BEGINNING_AT, write_at_all_begin, const void*, write)
WEFT_MPI_ENDING(read_all_end, void*)
WEFT_MPI_ENDING(read_ordered_end, void*)
WEFT_MPI_ENDING(read_at_all_end, void*)
WEFT_MPI_ENDING(write_all_end, const void*)
WEFT_MPI_ENDING(write_ordered_end, const void*)
WEFT_MPI_ENDING(write_at_all_end, const void*)
