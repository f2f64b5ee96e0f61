// SPDX-License-Identifier: Apache-2.0
// The chapter on I/O: views of files, positions in them, and the pointer that processes share.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "mpi/api/counted.hpp"
#include "mpi/api/datatypes.hpp"
#include "mpi/api/file_changes.hpp"

namespace weft::mpi {

std::int64_t FileView::place_of(std::uint64_t byte) const {
  if (layout.size() == 0) return displacement;
  const auto tile_number = static_cast<std::int64_t>(byte / layout.size());
  std::uint64_t rest = byte % layout.size();
  std::int64_t place = displacement + tile_number * layout.extent();
  for (const Run& run : layout.runs()) {
    if (rest < run.bytes) return place + run.offset + static_cast<std::int64_t>(rest);
    rest -= run.bytes;
  }
  return place;
}

std::uint64_t FileView::bytes_before(std::int64_t place) const {
  const std::int64_t end_of_tile = layout.true_lower() + layout.true_extent();
  std::int64_t rest = place - displacement;  // from the tile's origin
  std::int64_t tile_number = 0;
  // The tile's bounds say nothing about where its bytes lie: only tiles without a byte at `place`
  // or behind it are skipped.
  if (rest >= end_of_tile) {
    if (layout.size() == 0 || layout.extent() <= 0) return 0;
    tile_number = (rest - end_of_tile) / layout.extent() + 1;
    rest -= tile_number * layout.extent();
  }
  std::uint64_t bytes = static_cast<std::uint64_t>(tile_number) * layout.size();
  for (const Run& run : layout.runs()) {
    const auto end = run.offset + static_cast<std::int64_t>(run.bytes);
    if (rest < end) {
      return bytes + static_cast<std::uint64_t>(std::max<std::int64_t>(rest - run.offset, 0));
    }
    bytes += run.bytes;
  }
  return bytes;
}

void FileView::drop_types() {
  for (MPI_Datatype* const type : {&element, &tile}) {
    if (predefined_name(*type)[0] == '\0') (void)MPI_Type_free(type);
    *type = MPI_BYTE;
  }
}

namespace {

/// A handle of its own, without attributes; a predefined one as it is.
int keep_type(const Call& call, MPI_Datatype type, MPI_Datatype& kept) {
  kept = type;
  if (predefined_name(type)[0] != '\0') return MPI_SUCCESS;
  TypeMaker maker(call.function, MPI_COMBINER_DUP);
  const Datatype* const old = maker.old(type);
  return old != nullptr ? maker.make_duplicate(*old, &kept) : maker.error;
}

/// The position in elements that a seek leads to; −1 and less: there is none.
std::int64_t target_of(const FileObject& file, std::int64_t current, MPI_Offset offset,
                       int whence) {
  if (whence == MPI_SEEK_SET) return offset;
  if (whence == MPI_SEEK_CUR) return current + offset;
  if (whence != MPI_SEEK_END) return -1;
  const std::int64_t size = told_size(file);
  if (size < 0) return -1;
  // Behind an element that the file has in part, as in ROMIO.
  const std::uint64_t element = file.view.element_bytes;
  const std::uint64_t elements = (file.view.bytes_before(size) + element - 1) / element;
  return static_cast<std::int64_t>(elements) + offset;
}

int note_end(const Call& call, FileObject& file, int whence) {
  return whence == MPI_SEEK_END ? note_knowledge(call, file, true) : MPI_SUCCESS;
}

/// Sets a displacement of MPI_DISPLACEMENT_CURRENT to where the shared pointer is. Of a file that
/// is accessed by this pointer alone all processes give that displacement, and each calls this: one
/// reads the pointer when no other can move it any more.
int agree_on_current(const Call& call, FileObject& file, MPI_Offset& displacement) {
  if ((file.mode & MPI_MODE_SEQUENTIAL) == 0) return MPI_SUCCESS;
  int rank = 0;
  (void)MPI_Comm_rank(file.comm, &rank);
  if (const int error = MPI_Barrier(file.comm); error != MPI_SUCCESS) return error;
  std::int64_t now = rank == 0 ? get_shared(file) : 0;
  const int error = MPI_Bcast(&now, sizeof now, MPI_BYTE, 0, file.comm);
  if (error != MPI_SUCCESS || displacement != MPI_DISPLACEMENT_CURRENT) return error;
  if (now < 0) return file.fail(call, MPI_ERR_IO, "its shared pointer cannot be read");
  displacement = file.view.place_of(static_cast<std::uint64_t>(now) * file.view.element_bytes);
  return MPI_SUCCESS;
}

/// Returns the reason why a file cannot be seen through a layout; empty when it can.
std::string_view objection_to(const Datatype& layout, bool is_written) {
  std::int64_t begin = 0, end = 0;  // of the run before
  for (const Run& run : layout.runs()) {
    if (run.offset < 0) return "displacements of a view's datatypes are not negative";
    if (run.offset < begin) return "displacements of a view's datatypes never decrease";
    if (is_written && run.offset < end) {
      return "in a file that is open for writing, parts of a view's datatypes do not overlap";
    }
    begin = run.offset;
    end = run.offset + static_cast<std::int64_t>(run.bytes);
  }
  return {};
}

int set_view(const Call& call, FileObject& file, MPI_Offset displacement, MPI_Datatype element,
             MPI_Datatype tile, const char* representation) {
  int error = MPI_SUCCESS;
  const Datatype* const element_in_memory = call.communicated(element, error);
  if (element_in_memory == nullptr) return error;
  const Datatype* const tile_in_memory = call.communicated(tile, error);
  if (tile_in_memory == nullptr) return error;
  FileView view{.name = representation};
  if (!find_representation(view.name, view.representation)) {
    return file.fail(call, MPI_ERR_UNSUPPORTED_DATAREP,
                     "'{}' is no representation; use native or external32, or register it",
                     view.name);
  }
  // A tile of no elements is that of a process that has no part of the file.
  Datatype one(*element_in_memory), layout(*tile_in_memory);
  if (view.representation != nullptr) {
    error = make_file_type(call, *view.representation, element, one);
    if (error == MPI_SUCCESS) error = make_file_type(call, *view.representation, tile, layout);
    if (error != MPI_SUCCESS) return file.fail_conversion(call, error);
  }
  if (displacement < 0 || one.size() == 0 || layout.size() % one.size() != 0) {
    return file.fail(call, MPI_ERR_ARG,
                     "the displacement is negative, or the tile is not made of whole elements");
  }
  for (const Datatype* const type : {&one, &layout}) {
    const auto objection = objection_to(*type, (file.mode & MPI_MODE_RDONLY) == 0);
    if (!objection.empty()) return file.fail(call, MPI_ERR_IO, std::string(objection));
  }
  view.displacement = displacement;
  view.element_bytes = one.size();
  view.layout = std::move(layout);
  if ((error = keep_type(call, element, view.element)) != MPI_SUCCESS) return error;
  if ((error = keep_type(call, tile, view.tile)) != MPI_SUCCESS) return error;
  std::swap(file.view, view);
  view.drop_types();
  file.position = 0;
  return MPI_SUCCESS;
}

template <class Extent>
int type_extent(const char* function, MPI_File handle, MPI_Datatype type, Extent* extent) {
  const FileCall call(function, handle);
  if (!call) return call.error;
  int error = call.check_results(extent);
  if (error != MPI_SUCCESS) return error;
  const Datatype* const in_memory = call.type(type, error);
  if (in_memory == nullptr) return error;
  Datatype in_file(*in_memory);
  if (call->view.representation != nullptr) {
    error = make_file_type(call, *call->view.representation, type, in_file);
    if (error != MPI_SUCCESS) return call->fail_conversion(call, error);
  }
  *extent = in_file.extent();
  return MPI_SUCCESS;
}

// The lock ends after the outcome is recorded: letting a waiting process go on may cost this one
// its processor. A process that is killed between the change and the record makes the same move in
// its next life, which then learns what it gave.
template <class Act>
std::int64_t move_shared(FileObject& file, Act&& act) {
  std::optional<FileLock> lock;
  const bool may_repeat = library().questions != nullptr && library().questions->is_recorded();
  int rank = 0;
  (void)MPI_Comm_rank(file.comm, &rank);
  const SharedPointer::Move move{static_cast<std::uint32_t>(rank),
                                 may_repeat ? ++file.shared_moves : 0};
  return once([&] { return act(file.shared, move, lock); });
}

}  // namespace

std::int64_t add_to_shared(FileObject& file, std::int64_t elements) {
  return move_shared(file, [&](SharedPointer& pointer, const auto& move, auto& lock) {
    return pointer.add(elements, move, lock);
  });
}

std::int64_t get_shared(FileObject& file) {
  std::optional<FileLock> lock;
  return once([&] { return file.shared.get(lock); });
}

bool set_shared(FileObject& file, std::int64_t element) {
  return move_shared(file, [&](SharedPointer& pointer, const auto& move, auto& lock) {
           return pointer.set(element, move, lock);
         }) >= 0;
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_File_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype element,
                      MPI_Datatype tile, const char* representation, MPI_Info info) {
  const FileCall call("MPI_File_set_view", handle);
  if (!call) return call.error;
  int failed = agree_on_current(call, *call, displacement);
  if (failed == MPI_SUCCESS) {
    failed = set_view(call, *call, displacement, element, tile, representation);
  }
  if (const int error = add_hints(call, *call, info); error != MPI_SUCCESS) return error;
  if (const int error = agree_on_hints(call, *call); error != MPI_SUCCESS) return error;
  // The barrier separates earlier uses of the shared pointer, and later ones, from its reset.
  if (const int error = MPI_Barrier(call->comm); error != MPI_SUCCESS) return error;
  int rank = 0;
  (void)MPI_Comm_rank(call->comm, &rank);
  const auto is_used = [&] { return ::access(call->shared.path().c_str(), F_OK); };
  if (rank == 0 && once(is_used) == 0) (void)set_shared(*call, 0);
  if (const int error = MPI_Barrier(call->comm); error != MPI_SUCCESS) return error;
  return failed;
}

int MPI_File_get_view(MPI_File handle, MPI_Offset* displacement, MPI_Datatype* element,
                      MPI_Datatype* tile, char* representation) {
  const FileCall call("MPI_File_get_view", handle);
  if (!call) return call.error;
  *displacement = call->view.displacement;
  std::memcpy(representation, call->view.name.c_str(), call->view.name.size() + 1);
  const int error = keep_type(call, call->view.element, *element);
  if (error != MPI_SUCCESS) return error;
  return keep_type(call, call->view.tile, *tile);
}

WEFT_MPI_COUNTED(MPI_File_get_type_extent, (MPI_File file, MPI_Datatype type, Extent* extent),
                 type_extent, (file, type, extent))

int MPI_File_get_byte_offset(MPI_File handle, MPI_Offset offset, MPI_Offset* place) {
  const FileCall call("MPI_File_get_byte_offset", handle);
  if (!call) return call.error;
  if (offset < 0) return call.fail(MPI_ERR_ARG, "the offset is {}", offset);
  *place = call->view.place_of(static_cast<std::uint64_t>(offset) * call->view.element_bytes);
  return MPI_SUCCESS;
}

int MPI_File_seek(MPI_File handle, MPI_Offset offset, int whence) {
  const FileCall call("MPI_File_seek", handle);
  if (!call) return call.error;
  const std::int64_t target = target_of(*call, call->position, offset, whence);
  if (const int error = note_end(call, *call, whence); error != MPI_SUCCESS) return error;
  if (target < 0) {
    return call.fail(MPI_ERR_ARG, "offset {} leads before the view", offset);
  }
  call->position = target;
  return MPI_SUCCESS;
}

int MPI_File_get_position(MPI_File handle, MPI_Offset* offset) {
  const FileCall call("MPI_File_get_position", handle);
  if (call) *offset = call->position;
  return call.error;
}

int MPI_File_seek_shared(MPI_File handle, MPI_Offset offset, int whence) {
  const FileCall call("MPI_File_seek_shared", handle);
  if (!call) return call.error;
  int rank = 0;
  (void)MPI_Comm_rank(call->comm, &rank);
  // Others may use the pointer until they make this call.
  if (const int error = MPI_Barrier(call->comm); error != MPI_SUCCESS) return error;
  std::int64_t target = 0;
  if (rank == 0) {
    const std::int64_t now = get_shared(*call);
    target = now < 0 ? -1 : target_of(*call, now, offset, whence);
    if (target >= 0 && !set_shared(*call, target)) target = -1;
  }
  int error = MPI_Bcast(&target, sizeof target, MPI_BYTE, 0, call->comm);
  if (error == MPI_SUCCESS) error = note_end(call, *call, whence);
  if (error != MPI_SUCCESS) return error;
  if (target >= 0) return MPI_SUCCESS;
  return call.fail(MPI_ERR_ARG, "offset {} leads before the view, or {} cannot be written", offset,
                   call->shared.path());
}

int MPI_File_get_position_shared(MPI_File handle, MPI_Offset* offset) {
  const FileCall call("MPI_File_get_position_shared", handle);
  if (!call) return call.error;
  *offset = get_shared(*call);
  return *offset >= 0 ? MPI_SUCCESS : call.fail_errno("its shared pointer cannot be read");
}
