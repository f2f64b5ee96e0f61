// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/file_changes.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <bit>
#include <map>
#include <string_view>
#include <utility>

#include "base/crc32c.hpp"
#include "base/descriptor.hpp"

namespace weft::mpi {
namespace {

std::uint32_t hash_of(std::uint64_t number) {
  return crc32c({reinterpret_cast<const std::byte*>(&number), sizeof number});
}

/// Null: nothing is remembered.
determinant::KeptNumbers* kept_numbers() {
  return library().process != nullptr ? library().process->kept_numbers() : nullptr;
}

/// Not the identity of any file.
std::uint64_t number_of_change(FileChange change, const std::string& path) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325 ^ static_cast<std::uint64_t>(change);
  for (const char letter : path) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100'0000'01b3;
  }
  return hash | std::uint64_t{1} << 63;
}

/// 0: another file could have the same.
std::uint64_t certain_identity_of(int descriptor) {
  const std::int64_t identity = identity_of(descriptor, true);
  return identity >> 32 != 0 ? static_cast<std::uint64_t>(identity) : 0;
}

std::uint64_t certain_identity_of(const char* path) {
  const Descriptor file(::open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  return file.open() ? certain_identity_of(file.get()) : 0;
}

/// By identity, of the files that this process has opened for writing: what it found the first time
/// in this attempt of the job.
std::map<std::uint64_t, Origin>& first_origins() {
  static auto* const all = new std::map<std::uint64_t, Origin>;
  return *all;
}

/// `is_of_all`: all processes have opened it together.
Origin find_first_origin(int descriptor, std::uint64_t identity, bool is_of_all) {
  auto* const numbers = kept_numbers();
  bool is_empty = is_of_all && numbers->is_of_earlier(identity) && ::ftruncate(descriptor, 0) == 0;
  struct stat about {};
  is_empty = is_empty || (::fstat(descriptor, &about) == 0 && about.st_size == 0);
  if (is_empty) numbers->keep(identity);
  if (is_empty && is_of_all) return Origin::emptied;
  return numbers->has(identity) ? Origin::job : Origin::unknown;
}

std::string_view told(FileChange change) {
  switch (change) {
    case FileChange::creation:
      return "was created by this job with MPI_MODE_EXCL; delete it";
    case FileChange::deletion:
      return "was deleted by this job; restore it";
    case FileChange::update:
      break;
  }
  return "was changed by this job after it had read it or asked for its size; restore what it was "
         "before the job";
}

}  // namespace

std::int64_t identity_of(int descriptor, bool is_written) {
  constexpr std::uint32_t known = 1u << 30;
  struct statx about {};
  struct statfs system {};
  (void)::statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &about);
  std::uint64_t upper = 0;
  // A file of an overlay's lower layer is made anew when somebody writes to it, with its number.
  const bool may_be_below =
      !is_written && ::fstatfs(descriptor, &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
  if (!may_be_below && (about.stx_mask & STATX_BTIME) != 0) {
    int generation = 0;
    (void)::ioctl(descriptor, FS_IOC_GETVERSION, &generation);
    const std::uint64_t made = static_cast<std::uint64_t>(about.stx_btime.tv_sec) * 1'000'000'000 +
                               about.stx_btime.tv_nsec;
    upper = known | (hash_of(made ^ std::rotl(static_cast<std::uint64_t>(generation), 32)) % known);
  }
  return static_cast<std::int64_t>(upper << 32 | hash_of(about.stx_ino));
}

bool is_same_file(std::int64_t one, std::int64_t other) {
  if (static_cast<std::uint32_t>(one) != static_cast<std::uint32_t>(other)) return false;
  return one >> 32 == 0 || other >> 32 == 0 || one >> 32 == other >> 32;
}

Intention::Intention(const std::string& path) {
  Questions* const questions = library().questions.get();
  may_be_made = questions != nullptr && questions->replays();
  struct stat about {};
  was_there = once([&] { return ::lstat(path.c_str(), &about) == 0 ? 1 : 0; }) == 1;
}

void note_change(FileChange change, const std::string& path) {
  if (auto* const numbers = kept_numbers()) numbers->keep(number_of_change(change, path));
}

int refuse_if_changed(const Call& call, FileChange change, const std::string& path) {
  const auto* const numbers = kept_numbers();
  if (numbers == nullptr || !numbers->may_be_of_earlier(number_of_change(change, path))) {
    return MPI_SUCCESS;
  }
  library().questions->give_up(fmt::format(
      "the job has begun from nothing, and {} {}, and start the job again", path, told(change)));
  return call.settle(nullptr);
}

bool is_of_earlier(int descriptor) {
  const auto* const numbers = kept_numbers();
  const std::uint64_t identity = certain_identity_of(descriptor);
  return numbers != nullptr && identity != 0 && numbers->is_of_earlier(identity) &&
         !first_origins().contains(identity);
}

bool is_opened_before(const char* path) {
  const std::uint64_t identity = certain_identity_of(path);
  return identity != 0 && first_origins().contains(identity);
}

bool is_made_by_job(const char* path) {
  const auto* const numbers = kept_numbers();
  if (numbers == nullptr) return false;
  const std::uint64_t identity = certain_identity_of(path);
  return identity != 0 && numbers->has(identity);
}

// What processes outside of the communicator wrote in this attempt must stay, and they may have
// opened it before: only the first time counts.
Origin find_origin(const FileObject& file) {
  const std::uint64_t identity = certain_identity_of(file.descriptor);
  int size = 1;
  (void)MPI_Comm_size(file.comm, &size);
  const bool is_of_all = static_cast<std::uint32_t>(size) == library().process->size();
  const auto found = static_cast<Origin>(once([&] {
    Origin origin = Origin::unknown;
    if (const auto first = first_origins().find(identity); first != first_origins().end()) {
      origin = first->second;
    } else if (identity != 0 && kept_numbers() != nullptr) {
      origin = find_first_origin(file.descriptor, identity, is_of_all);
    }
    return static_cast<int>(origin);
  }));
  if (identity != 0) first_origins().try_emplace(identity, found);
  return found == Origin::emptied && !is_of_all ? Origin::job : found;
}

int note_knowledge(const Call& call, FileObject& file, bool is_size) {
  if ((file.mode & MPI_MODE_RDONLY) != 0 || file.origin == Origin::emptied) return MPI_SUCCESS;
  if (file.origin == Origin::job && !is_size) return MPI_SUCCESS;
  if (std::exchange(file.is_known, true)) return MPI_SUCCESS;
  return refuse_if_changed(call, FileChange::update, file.path);
}

void note_update(FileObject& file) {
  if (!file.is_known || std::exchange(file.is_noted, true)) return;
  note_change(FileChange::update, file.path);
}

}  // namespace weft::mpi
