// SPDX-License-Identifier: Apache-2.0
// Files, as the processes of a communicator have them open.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/api/errors.hpp"
#include "mpi/api/file_hints.hpp"
#include "mpi/api/object_call.hpp"
#include "mpi/api/representations.hpp"
#include "mpi/object/shared_pointer.hpp"

namespace weft::mpi {

/// The part of a file that a process sees, as one stream of bytes: tiles of `layout` from
/// `displacement` on.
struct FileView {
  std::int64_t displacement = 0;
  std::uint64_t element_bytes = 1;  ///< of offsets and positions, in the file
  Datatype layout{Basic::bytes};    ///< of the file
  MPI_Datatype element = MPI_BYTE;  ///< handles of this file's own, or predefined ones
  MPI_Datatype tile = MPI_BYTE;
  std::string name = "native";                     ///< of the representation
  const Representation* representation = nullptr;  ///< null: as in memory

  /// Returns where a byte of the stream is in the file.
  std::int64_t place_of(std::uint64_t byte) const;
  /// Returns how many bytes the stream has before its first one at that place of the file or
  /// behind it. 0: the stream never comes so far.
  std::uint64_t bytes_before(std::int64_t place) const;
  /// Gives back the handles of the datatypes.
  void drop_types();
};

/// Who made the content of a file, as far as a job is concerned that begins from nothing.
enum class Origin : std::uint8_t {
  unknown,  ///< others, before the job, or at least not certainly the job
  job,      ///< when it begins from nothing, it finds what it made before
  emptied,  ///< the same, and the file is made empty then, or was in this life
};

struct FileObject {
  std::string path;
  int descriptor = -1;
  int mode = 0;
  MPI_Comm comm = MPI_COMM_NULL;  ///< a duplicate, for this file alone
  MPI_File handle = MPI_FILE_NULL;
  FileView view;
  std::int64_t position = 0;  ///< this process's, in elements of the view
  bool is_atomic = false;
  /// Deleted or replaced after an earlier life opened it: only its writes can be repeated.
  bool is_gone = false;
  Origin origin = Origin::unknown;
  /// This process has learned of the content or size that the file had from elsewhere, and has
  /// noted that it has changed the file since.
  bool is_known = false, is_noted = false;
  MPI_Info info = MPI_INFO_NULL;          ///< this file's own
  FileHints hints;                        ///< of it, as all processes agreed on them
  std::optional<Status> begun;            ///< of a split collective access
  std::shared_ptr<ErrorHandler> handler;  ///< null: `predefined`
  MPI_Errhandler predefined = MPI_ERRORS_RETURN;
  SharedPointer shared;            ///< the content of a small file beside the file
  std::uint64_t shared_moves = 0;  ///< by this process, where it may have other lives

  ~FileObject();
  int fail(const Call& call, int error, const std::string& what) const;
  template <class Arg, class... Args>
  int fail(const Call& call, int error, fmt::format_string<Arg, Args...> format, Arg&& arg,
           Args&&... args) const {
    return fail(call, error,
                fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
  }
  /// Reports that elements cannot be converted to the view's representation, or from it.
  int fail_conversion(const Call& call, int error) const;
  /// Reports the error of a system call that just failed.
  int fail_errno(const Call& call, const std::string& what) const;
};

/// Null, with `error` set: there is no such file.
FileObject* find_file(const Call& call, MPI_File handle, int& error);
using FileCall = CallOn<FileObject, MPI_File, find_file>;
/// The error handler of calls without a file, and of those that are opened from now on.
FileObject& no_file();
/// The class of an error of the system.
int class_of(int system_error);
/// As of `Questions`: a process that is started anew does not change files again where others have
/// gone on, and is told what its earlier life was told.
template <class Act>
std::int64_t once(Act&& act) {
  Questions* const questions = library().questions.get();  // none: outside of a job
  return questions != nullptr ? questions->once(std::forward<Act>(act)) : act();
}
/// Writes so many bytes, as `write` does, which returns −1 with `errno`, or the bytes it has
/// written. A process that is started anew does not write again what its earlier life has written:
/// others may have written there since. The write that an earlier life did not come back from is
/// made again: nobody knows that it has ended.
template <class Write>
std::int64_t write_once(std::uint64_t bytes, Write&& write) {
  Questions* const questions = library().questions.get();
  if (questions == nullptr || !questions->is_recorded()) return write();
  const auto wrote =
      questions->once_mostly(static_cast<std::int64_t>(bytes), [&]() -> std::int64_t {
        const std::int64_t done = write();
        return done < 0 ? -errno : done;
      });
  if (wrote < 0) errno = static_cast<int>(-wrote);
  return wrote < 0 ? -1 : wrote;
}
/// Whether these bytes, all that was read, are what an earlier life read.
bool is_read_as_before(std::span<const std::byte> bytes);
/// Ends the job, since the file is gone. Returns the error until then.
int give_up_gone(const Call& call, const FileObject& file);
/// Its size when it was asked first; −1: an error of the system.
std::int64_t told_size(const FileObject& file);

/// Adds elements to the shared pointer and returns its value before that; −1: an error of the
/// system.
std::int64_t add_to_shared(FileObject& file, std::int64_t elements);
/// Returns its value, likewise.
std::int64_t get_shared(FileObject& file);
/// Sets it. False: an error of the system.
bool set_shared(FileObject& file, std::int64_t element);

}  // namespace weft::mpi
