// SPDX-License-Identifier: Apache-2.0
// The chapter on I/O: reading and writing. Every process accesses the file itself but in collective
// calls that block. Calls that do not block have done all when they return.
#include <numeric>
#include <span>
#include <vector>

#include "mpi/api/collective_io.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/file_changes.hpp"

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
    return file.fail(call, MPI_ERR_COUNT, "the count is {}", access.count);
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
    return file.fail(call, MPI_ERR_ARG, "the offset is {}", access.offset);
  }
  if (bytes > 0 && file.view.layout.size() == 0) {
    return file.fail(call, MPI_ERR_ARG, "the view has no place for {} bytes", bytes);
  }
  if (bytes % file.view.element_bytes != 0) {
    return file.fail(call, MPI_ERR_ARG, "{} bytes are no whole elements of the view, which have {}",
                     bytes, file.view.element_bytes);
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

/// Whether lives of the job that are to come, or were, allow the access.
int look_back(const Call& call, FileObject& file, bool writes, std::uint64_t bytes) {
  if (file.is_gone && !writes) return give_up_gone(call, file);
  if (bytes > 0 && !writes) return note_knowledge(call, file, false);
  if (bytes > 0) note_update(file);
  return MPI_SUCCESS;
}

int compare(const Call& call, const FileObject& file, std::span<const std::byte> read) {
  if (is_read_as_before(read)) return MPI_SUCCESS;
  library().questions->cannot_repeat(fmt::format(
      "{} has other content than when an earlier life of this process read it", file.path));
  return call.settle(nullptr);
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
  if (const int error = look_back(call, file, writes, bytes); error != MPI_SUCCESS) return error;
  auto* const address = static_cast<std::byte*>(const_cast<void*>(access.address));
  const Representation* const representation = file.view.representation;
  const FileElements converted{call, access.type, *type, count};
  const bool is_straight = type->is_contiguous() && representation == nullptr;
  std::vector<std::byte> packed(is_straight ? 0 : bytes);
  if (writes && representation != nullptr) {
    const int error = representation->write(converted, address, packed);
    if (error != MPI_SUCCESS) {
      if (access.who == Who::all) miss_together(file, access.direction);
      return file.fail_conversion(call, error);
    }
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
  if (const int error = writes ? MPI_SUCCESS : compare(call, file, memory.first(done));
      error != MPI_SUCCESS)
    return error;
  status = empty_status();
  status.bytes = static_cast<std::uint64_t>(done);
  auto read = std::span(packed).first(is_straight ? 0 : status.bytes);
  if (writes) {
    if (representation != nullptr && status.bytes == bytes) status.bytes = count * type->size();
  } else if (representation != nullptr) {
    const int error = representation->read(converted, read, address, status.bytes);
    if (error != MPI_SUCCESS) return file.fail_conversion(call, error);
    done = static_cast<std::int64_t>(read.size());
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
  if (handle == nullptr) return call.fail(MPI_ERR_REQUEST, "a pointer to requests is null");
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

// The same as the functions of MPI have their arguments.

int block(const char* function, Direction direction, Pointer pointer, Who who, MPI_File file,
          const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Status* status) {
  return block({function, file, direction, pointer, who, 0, buffer, count, type}, status);
}
int block_at(const char* function, Direction direction, Who who, MPI_File file, MPI_Offset offset,
             const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Status* status) {
  return block({function, file, direction, Pointer::none, who, offset, buffer, count, type},
               status);
}
int start(const char* function, Direction direction, Pointer pointer, MPI_File file,
          const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Request* request) {
  return start({function, file, direction, pointer, Who::each, 0, buffer, count, type}, request);
}
int start_at(const char* function, Direction direction, MPI_File file, MPI_Offset offset,
             const void* buffer, std::int64_t count, MPI_Datatype type, MPI_Request* request) {
  return start({function, file, direction, Pointer::none, Who::each, offset, buffer, count, type},
               request);
}
int begin(const char* function, Direction direction, Pointer pointer, MPI_File file,
          const void* buffer, std::int64_t count, MPI_Datatype type) {
  return begin({function, file, direction, pointer, Who::all, 0, buffer, count, type});
}
int begin_at(const char* function, Direction direction, MPI_File file, MPI_Offset offset,
             const void* buffer, std::int64_t count, MPI_Datatype type) {
  return begin({function, file, direction, Pointer::none, Who::all, offset, buffer, count, type});
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_BOTH(MPI_File_read, block, Direction::read, Pointer::own, Who::each)
WEFT_MPI_BOTH(MPI_File_read_all, block, Direction::read, Pointer::own, Who::all)
WEFT_MPI_BOTH(MPI_File_read_shared, block, Direction::read, Pointer::shared, Who::each)
WEFT_MPI_BOTH(MPI_File_read_ordered, block, Direction::read, Pointer::ordered, Who::all)
WEFT_MPI_BOTH(MPI_File_write, block, Direction::write, Pointer::own, Who::each)
WEFT_MPI_BOTH(MPI_File_write_all, block, Direction::write, Pointer::own, Who::all)
WEFT_MPI_BOTH(MPI_File_write_shared, block, Direction::write, Pointer::shared, Who::each)
WEFT_MPI_BOTH(MPI_File_write_ordered, block, Direction::write, Pointer::ordered, Who::all)
WEFT_MPI_BOTH(MPI_File_read_at, block_at, Direction::read, Who::each)
WEFT_MPI_BOTH(MPI_File_read_at_all, block_at, Direction::read, Who::all)
WEFT_MPI_BOTH(MPI_File_write_at, block_at, Direction::write, Who::each)
WEFT_MPI_BOTH(MPI_File_write_at_all, block_at, Direction::write, Who::all)
WEFT_MPI_BOTH(MPI_File_iread, start, Direction::read, Pointer::own)
WEFT_MPI_BOTH(MPI_File_iread_all, start, Direction::read, Pointer::own)
WEFT_MPI_BOTH(MPI_File_iread_shared, start, Direction::read, Pointer::shared)
WEFT_MPI_BOTH(MPI_File_iwrite, start, Direction::write, Pointer::own)
WEFT_MPI_BOTH(MPI_File_iwrite_all, start, Direction::write, Pointer::own)
WEFT_MPI_BOTH(MPI_File_iwrite_shared, start, Direction::write, Pointer::shared)
WEFT_MPI_BOTH(MPI_File_iread_at, start_at, Direction::read)
WEFT_MPI_BOTH(MPI_File_iread_at_all, start_at, Direction::read)
WEFT_MPI_BOTH(MPI_File_iwrite_at, start_at, Direction::write)
WEFT_MPI_BOTH(MPI_File_iwrite_at_all, start_at, Direction::write)
WEFT_MPI_BOTH(MPI_File_read_all_begin, begin, Direction::read, Pointer::own)
WEFT_MPI_BOTH(MPI_File_read_ordered_begin, begin, Direction::read, Pointer::ordered)
WEFT_MPI_BOTH(MPI_File_write_all_begin, begin, Direction::write, Pointer::own)
WEFT_MPI_BOTH(MPI_File_write_ordered_begin, begin, Direction::write, Pointer::ordered)
WEFT_MPI_BOTH(MPI_File_read_at_all_begin, begin_at, Direction::read)
WEFT_MPI_BOTH(MPI_File_write_at_all_begin, begin_at, Direction::write)

using namespace weft::mpi;

#define WEFT_MPI_ENDING(NAME, Buffer)                              \
  int MPI_File_##NAME(MPI_File file, Buffer, MPI_Status* status) { \
    return end("MPI_File_" #NAME, file, status);                   \
  }

WEFT_MPI_ENDING(read_all_end, void*)
WEFT_MPI_ENDING(read_ordered_end, void*)
WEFT_MPI_ENDING(read_at_all_end, void*)
WEFT_MPI_ENDING(write_all_end, const void*)
WEFT_MPI_ENDING(write_ordered_end, const void*)
WEFT_MPI_ENDING(write_at_all_end, const void*)
