// SPDX-License-Identifier: Apache-2.0
// The chapter on I/O: opening and closing files, their sizes, information and error handlers.
#include "mpi/api/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/crc32c.hpp"
#include "mpi/api/file_changes.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/info.hpp"
#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi {
namespace {

Objects<FileObject>& files() {
  static auto* const all = new Objects<FileObject>;
  return *all;
}

int access_of(int mode) {
  return mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
}

/// Empty: the modes go together.
std::string wrong_mode(int mode) {
  const int access = access_of(mode);
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR) {
    return "the mode has to have one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR";
  }
  if (access == MPI_MODE_RDONLY && (mode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) {
    return "MPI_MODE_RDONLY does not go with MPI_MODE_CREATE or MPI_MODE_EXCL";
  }
  if (access == MPI_MODE_RDWR && (mode & MPI_MODE_SEQUENTIAL) != 0) {
    return "MPI_MODE_RDWR does not go with MPI_MODE_SEQUENTIAL";
  }
  return {};
}

int system_flags(int mode, bool is_first) {
  const int access = access_of(mode);
  int flags = access == MPI_MODE_RDONLY ? O_RDONLY : access == MPI_MODE_WRONLY ? O_WRONLY : O_RDWR;
  if (is_first && (mode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
  if (is_first && (mode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
  return flags | O_CLOEXEC;
}

/// The path in a file's name. MPICH removes the name of a file system before it, as in "ufs:data".
/// Programs write one to choose how MPICH accesses the file, and mean the same file as others do.
const char* path_in(const char* name) {
  if (!abi::has_path_prefixes) return name;
  for (const std::string_view prefix : {"ufs:", "nfs:", "xfs:", "panfs:", "gpfs:", "lustre:",
                                        "daos:", "pvfs2:", "testfs:", "ime:", "quobyte:"}) {
    if (::strncasecmp(name, prefix.data(), prefix.size()) == 0) return name + prefix.size();
  }
  return name;
}

/// Beside the file, hidden, different for each time that a job opens it.
std::string shared_path_of(const std::string& path, Generation generation) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.weft-{:016x}", path.substr(0, name), path.substr(name),
                     generation.value());
}

bool open_by(FileObject& file, int flags) {
  file.descriptor = ::open(file.path.c_str(), flags, 0666);
  return file.descriptor >= 0;
}

/// Creates a file that must not be there. One that this job made before it began from nothing may.
bool create_new(FileObject& file, int flags, const Intention& intention) {
  if (!intention.was_there) note_change(FileChange::creation, file.path);
  if (open_by(file, flags)) return true;
  if (errno != EEXIST) return false;
  if (!intention.was_there && intention.may_be_made) return open_by(file, flags & ~O_EXCL);
  if (open_by(file, flags & ~(O_CREAT | O_EXCL)) && is_of_earlier(file.descriptor)) return true;
  if (file.descriptor >= 0) ::close(file.descriptor);
  file.descriptor = -1;
  errno = EEXIST;
  return false;
}

bool is_written(const FileObject& file) {
  return access_of(file.mode) != MPI_MODE_RDONLY;
}

int open_own(FileObject& file, bool is_first) {
  const int flags = system_flags(file.mode, is_first);
  std::optional<Intention> intention;
  if ((flags & O_EXCL) != 0) intention.emplace(file.path);
  const std::int64_t opened = once([&]() -> std::int64_t {
    if (is_first) ::unlink(file.shared.path().c_str());  // of a job that did not close it
    const bool is_open = intention ? create_new(file, flags, *intention) : open_by(file, flags);
    if (!is_open) return -class_of(errno);
    return identity_of(file.descriptor, false);
  });
  if (opened < 0) return static_cast<int>(-opened);
  if (file.descriptor >= 0) return MPI_SUCCESS;
  // An earlier life has opened it.
  if (open_by(file, flags & ~(O_CREAT | O_EXCL)) &&
      is_same_file(identity_of(file.descriptor, false), opened)) {
    return MPI_SUCCESS;
  }
  if (file.descriptor >= 0) ::close(file.descriptor);  // another file, with this name
  // The file is gone: no process can read what this one writes now, and it cannot read again.
  file.is_gone = access_of(file.mode) != MPI_MODE_WRONLY;
  file.descriptor = ::memfd_create("deleted", MFD_CLOEXEC);
  return MPI_SUCCESS;
}

int open_first(const Call& call, FileObject& file) {
  int error = open_own(file, true);
  if (error == MPI_ERR_FILE_EXISTS) {
    // What this process has opened itself would be there without an earlier attempt, too.
    if (is_opened_before(file.path.c_str())) return error;
    error = std::max(error, refuse_if_changed(call, FileChange::creation, file.path));
  } else if (error == MPI_ERR_NO_SUCH_FILE) {
    error = std::max(error, refuse_if_changed(call, FileChange::deletion, file.path));
  } else if (error == MPI_SUCCESS && is_written(file)) {
    file.origin = find_origin(file);
  }
  return error;
}

/// The first process creates the file; then the others open it. The largest error of all.
int open_everywhere(const Call& call, FileObject& file, std::uint32_t rank) {
  // Then no earlier life writes any more to what the first process makes empty.
  const bool begins_again = library().process->job().attempt > 0;
  int error = begins_again ? MPI_Barrier(file.comm) : MPI_SUCCESS;
  if (error != MPI_SUCCESS) return error;
  std::array<int, 3> first{0, file.mode, 0};
  if (rank == 0) first[0] = open_first(call, file);
  first[2] = static_cast<int>(file.origin);
  error = MPI_Bcast(first.data(), 3, MPI_INT, 0, file.comm);
  if (error != MPI_SUCCESS) return error;
  if (first[0] != MPI_SUCCESS) return first[0];
  file.origin = static_cast<Origin>(first[2]);
  int own = first[1] != file.mode ? MPI_ERR_NOT_SAME
            : rank != 0           ? open_own(file, false)
                                  : MPI_SUCCESS;
  int worst = MPI_SUCCESS;
  error = MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MAX, file.comm);
  return error != MPI_SUCCESS ? error : worst;
}

void release(FileObject& file) {
  if (file.descriptor >= 0) ::close(file.descriptor);
  file.descriptor = -1;
  file.shared.close();
  file.view.drop_types();
  if (file.comm != MPI_COMM_NULL) (void)MPI_Comm_free(&file.comm);
  if (file.info != MPI_INFO_NULL) (void)MPI_Info_free(&file.info);
}

std::int64_t size_of(const FileObject& file) {
  struct stat about {};
  return ::fstat(file.descriptor, &about) == 0 ? about.st_size : -1;
}

int rank_in(const FileObject& file) {
  int rank = 0;
  (void)MPI_Comm_rank(file.comm, &rank);
  return rank;
}

/// One process changes the file for a size when all have made the call, which may access it before,
/// and all learn whether it could.
int change_once(const FileCall& call, MPI_Offset size, const char* what,
                bool (*change)(const FileObject&, MPI_Offset)) {
  if (!call) return call.error;
  if (size < 0) return call.fail(MPI_ERR_ARG, "the size is {}", size);
  if (const int error = MPI_Barrier(call->comm); error != MPI_SUCCESS) return error;
  note_update(*call);
  int failed = MPI_SUCCESS;
  if (rank_in(*call) == 0) {
    failed =
        static_cast<int>(once([&] { return change(*call, size) ? MPI_SUCCESS : class_of(errno); }));
  }
  const int error = MPI_Bcast(&failed, 1, MPI_INT, 0, call->comm);
  if (error == MPI_SUCCESS && failed != MPI_SUCCESS) {
    return call.fail(failed, "{}: {}", call->path, what);
  }
  return error;
}

/// Reserves the first bytes of a file, which grows to hold them. It never shrinks, also when others
/// write behind its end at the same time.
bool reserve(const FileObject& file, MPI_Offset size) {
  if (size == 0) return true;
  int failed = 0;
  do {
    failed = ::fallocate(file.descriptor, 0, 0, size);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return failed == 0;
  // The file system cannot reserve, and posix_fallocate would write into what others write. One
  // byte makes the file grow: unlike ftruncate, it cuts nothing off.
  return size_of(file) >= size || ::pwrite(file.descriptor, "", 1, size - 1) == 1;
}

}  // namespace

FileObject::~FileObject() {
  if (descriptor >= 0) ::close(descriptor);
}

int FileObject::fail(const Call& call, int error, const std::string& what) const {
  if (handler != nullptr && handler->file != nullptr) {
    MPI_File own = handle;
    int code = error;
    handler->file(&own, &code);
    call.is_forgiven = code == MPI_SUCCESS;
    return call.is_forgiven ? error : code;  // nothing wrong goes on
  }
  return predefined == MPI_ERRORS_RETURN ? error : call.fail(nullptr, error, what);
}

int FileObject::fail_conversion(const Call& call, int error) const {
  return fail(call, error,
              fmt::format("{}: the functions of the representation '{}' refuse these elements",
                          path, view.name));
}

int FileObject::fail_errno(const Call& call, const std::string& what) const {
  const int system_error = errno;
  return fail(call, class_of(system_error), "{}: {}: {}", path, what, std::strerror(system_error));
}

FileObject& no_file() {
  static auto* const none = new FileObject;
  return *none;
}

FileObject* find_file(const Call& call, MPI_File handle, int& error) {
  FileObject* const found =
      is_of(abi::made_file, handle) ? files().find(number_of(handle)) : nullptr;
  if (found == nullptr) error = no_file().fail(call, MPI_ERR_FILE, "the handle is of no open file");
  // Others that still have it open would not see what this process does now.
  if (found != nullptr && found->is_gone && !library().questions->replays()) {
    error = give_up_gone(call, *found);
  }
  return error == MPI_SUCCESS ? found : nullptr;
}

int give_up_gone(const Call& call, const FileObject& file) {
  library().questions->give_up(fmt::format(
      "{} was deleted or replaced after an earlier life of this process used it, so that it "
      "cannot be read again; delete it after the job, or leave out --restart",
      file.path));
  return call.settle(nullptr);
}

int class_of(int system_error) {
  switch (system_error) {
    case ENOENT:
      return MPI_ERR_NO_SUCH_FILE;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
      return MPI_ERR_BAD_FILE;
    case ENOSPC:
    case EFBIG:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    default:
      return MPI_ERR_IO;
  }
}

bool is_read_as_before(std::span<const std::byte> bytes) {
  Questions* const questions = library().questions.get();
  if (questions == nullptr || !questions->is_recorded()) return true;
  const std::uint64_t size = bytes.size();
  const auto checksum = crc32c({reinterpret_cast<const std::byte*>(&size), sizeof size});
  return questions->is_as_before(crc32c(bytes, checksum));
}

std::int64_t told_size(const FileObject& file) {
  return once([&] { return size_of(file); });
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle) {
  const Call call{"MPI_File_open"};
  int error = MPI_SUCCESS;
  const Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  const auto refuse = [&](int code, const std::string& what) {
    return call.result(no_file().fail(call, code, what));
  };
  if (is_inter(*parent)) return refuse(MPI_ERR_COMM, "it has two groups");
  if (name == nullptr) return refuse(MPI_ERR_ARG, "the path is a null pointer");
  const char* const path = path_in(name);
  if (const std::string wrong = wrong_mode(mode); !wrong.empty()) {
    return refuse(MPI_ERR_AMODE, wrong);
  }
  auto file = std::make_unique<FileObject>();
  file->path = path;
  file->mode = mode;
  file->handler = no_file().handler;
  file->predefined = no_file().predefined;
  file->info = copy_info(call, info, error);
  if (error == MPI_SUCCESS) error = MPI_Comm_dup(comm, &file->comm);
  if (error != MPI_SUCCESS) return error;
  const Group& group = call.communicator(file->comm, error)->group;
  file->shared.set_path(shared_path_of(file->path, group.generation));
  if ((error = open_everywhere(call, *file, group.rank)) != MPI_SUCCESS) {
    release(*file);
    return refuse(error, fmt::format("{} cannot be opened", path));
  }
  if ((error = agree_on_hints(call, *file)) != MPI_SUCCESS) return error;
  if ((mode & MPI_MODE_APPEND) != 0) {
    file->position = told_size(*file);
    if ((error = note_knowledge(call, *file, true)) != MPI_SUCCESS) return error;
    if (group.rank == 0) (void)set_shared(*file, file->position);
    if ((error = MPI_Barrier(file->comm)) != MPI_SUCCESS) return error;
  }
  FileObject& kept = *file;
  kept.handle = *handle = handle_of(abi::made_file, files().add(std::move(file)));
  return MPI_SUCCESS;
}

int MPI_File_close(MPI_File* handle) {
  const FileCall call("MPI_File_close", *handle);
  if (!call) return call.error;
  if (const int error = MPI_Barrier(call->comm); error != MPI_SUCCESS) return error;
  // The next life of each process learns that no access follows, should the file be gone by then.
  (void)once([&] {
    if (rank_in(*call) != 0) return 0;
    ::unlink(call->shared.path().c_str());
    if ((call->mode & MPI_MODE_DELETE_ON_CLOSE) == 0) return 0;
    // Of a file that is open for reading only the origin is not known.
    if (call->origin == Origin::unknown && !is_made_by_job(call->path.c_str())) {
      note_change(FileChange::deletion, call->path);
    }
    ::unlink(call->path.c_str());
    return 0;
  });
  release(*call);
  (void)files().remove(number_of(*handle));
  *handle = MPI_FILE_NULL;
  return MPI_SUCCESS;
}

int MPI_File_delete(const char* name, MPI_Info) {
  const Call call{"MPI_File_delete"};
  if (name == nullptr) return no_file().fail(call, MPI_ERR_ARG, "the path is a null pointer");
  const char* const path = path_in(name);
  const Intention intention(path);
  const auto failed = once([&] {
    if (intention.was_there && !is_made_by_job(path)) note_change(FileChange::deletion, path);
    if (::unlink(path) == 0) return 0;
    return errno == ENOENT && intention.may_be_made && intention.was_there ? 0 : errno;
  });
  if (failed == 0) return MPI_SUCCESS;
  if (failed == ENOENT) {
    const int error = refuse_if_changed(call, FileChange::deletion, path);
    if (error != MPI_SUCCESS) return error;
  }
  errno = static_cast<int>(failed);
  return no_file().fail_errno(call, fmt::format("{} cannot be deleted", path));
}

int MPI_File_set_size(MPI_File handle, MPI_Offset size) {
  const FileCall call("MPI_File_set_size", handle);
  const int error = change_once(call, size, "its size cannot be set",
                                [](const FileObject& file, MPI_Offset bytes) {
                                  return ::ftruncate(file.descriptor, bytes) == 0;
                                });
  if (call && error == MPI_SUCCESS && size == 0) {
    call->origin = Origin::emptied;
    call->is_known = false;
  }
  return error;
}

int MPI_File_preallocate(MPI_File handle, MPI_Offset size) {
  return change_once({"MPI_File_preallocate", handle}, size, "memory for it cannot be allocated",
                     reserve);
}

int MPI_File_get_size(MPI_File handle, MPI_Offset* size) {
  const FileCall call("MPI_File_get_size", handle);
  if (!call) return call.error;
  *size = told_size(*call);
  if (const int error = note_knowledge(call, *call, true); error != MPI_SUCCESS) return error;
  return *size >= 0 ? MPI_SUCCESS : call.fail_errno("its size cannot be read");
}

int MPI_File_sync(MPI_File handle) {
  const FileCall call("MPI_File_sync", handle);
  if (!call) return call.error;
  if (::fsync(call->descriptor) == 0) return MPI_SUCCESS;
  return call.fail_errno("it cannot be written to its device");
}

int MPI_File_get_amode(MPI_File handle, int* mode) {
  const FileCall call("MPI_File_get_amode", handle);
  if (call) *mode = call->mode;
  return call.error;
}

int MPI_File_get_group(MPI_File handle, MPI_Group* group) {
  const FileCall call("MPI_File_get_group", handle);
  return call ? MPI_Comm_group(call->comm, group) : call.error;
}

int MPI_File_set_info(MPI_File handle, MPI_Info info) {
  const FileCall call("MPI_File_set_info", handle);
  if (!call) return call.error;
  if (const int error = add_hints(call, *call, info); error != MPI_SUCCESS) return error;
  return agree_on_hints(call, *call);
}

int MPI_File_get_info(MPI_File handle, MPI_Info* info) {
  const FileCall call("MPI_File_get_info", handle);
  return call ? MPI_Info_dup(call->info, info) : call.error;
}

int MPI_File_set_atomicity(MPI_File handle, int flag) {
  const FileCall call("MPI_File_set_atomicity", handle);
  if (call) call->is_atomic = flag != 0;
  return call.error;
}

int MPI_File_get_atomicity(MPI_File handle, int* flag) {
  const FileCall call("MPI_File_get_atomicity", handle);
  if (call) *flag = call->is_atomic ? 1 : 0;
  return call.error;
}

namespace {

/// MPI_FILE_NULL stands for files that are not open.
FileObject* file_or_none(const Call& call, MPI_File handle, int& error) {
  return handle == MPI_FILE_NULL ? &no_file() : find_file(call, handle, error);
}
using HandlerCall = CallOn<FileObject, MPI_File, file_or_none>;

}  // namespace

int MPI_File_create_errhandler(MPI_File_errhandler_function* function, MPI_Errhandler* handler) {
  return keep_handler({"MPI_File_create_errhandler"}, {.file = function}, handler);
}

int MPI_File_set_errhandler(MPI_File handle, MPI_Errhandler handler) {
  const HandlerCall call("MPI_File_set_errhandler", handle);
  return call ? set_handler(call, *call, handler, &ErrorHandler::file) : call.error;
}

int MPI_File_get_errhandler(MPI_File handle, MPI_Errhandler* handler) {
  const HandlerCall call("MPI_File_get_errhandler", handle);
  return call ? get_handler(call, *call, handler) : call.error;
}

int MPI_File_call_errhandler(MPI_File handle, int code) {
  const HandlerCall call("MPI_File_call_errhandler", handle);
  if (!call) return call.error;
  (void)call.fail(code, "the program calls for error {}", code);
  return MPI_SUCCESS;
}
