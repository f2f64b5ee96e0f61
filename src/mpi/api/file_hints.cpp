// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/file_hints.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/api/files.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/info.hpp"

namespace weft::mpi {
namespace {

constexpr std::int64_t least_buffer = 512;
constexpr std::int64_t most_buffer = std::int64_t{1} << 30;
constexpr std::array<const char*, 3> gathering_names{"automatic", "enable", "disable"};

// Where a system call per piece takes as long as messages between processes: measured on a file in
// the memory of its own host (docs/mpi.md).
constexpr std::int64_t short_write_here = 2048;
constexpr std::int64_t short_read_here = 512;
/// The same for calls that ask another host: not measured.
constexpr std::int64_t short_elsewhere = 64 * 1024;

/// NFS, SMB, Lustre, GPFS, Ceph, BeeGFS, OrangeFS, AFS, 9P, and what programs implement (FUSE).
bool is_on_network(int descriptor) {
  struct statfs about {};
  if (::fstatfs(descriptor, &about) != 0) return false;
  static constexpr std::array<std::uint32_t, 12> kinds{
      0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x0bd00bd0, 0x47504653,
      0x00c36400, 0x19830326, 0x20030528, 0x5346414f, 0x65735546, 0x01021997};
  return std::find(kinds.begin(), kinds.end(), static_cast<std::uint32_t>(about.f_type)) !=
         kinds.end();
}

/// As it is without a hint, or with one that makes no sense.
Gathering gathering_of(const Info& info, std::string_view key, Gathering without) {
  const std::string* const value = info.find(key);
  if (value == nullptr) return without;
  for (std::size_t i = 0; i < gathering_names.size(); ++i) {
    if (*value == gathering_names[i]) return static_cast<Gathering>(i);
  }
  return without;
}

std::int64_t count_hint(const Info& info, std::string_view key, std::int64_t without) {
  const std::string* const value = info.find(key);
  if (value == nullptr) return without;
  std::int64_t number = 0;
  const char* const end = value->data() + value->size();
  const auto [stop, error] = std::from_chars(value->data(), end, number);
  return error == std::errc{} && stop == end && number > 0 ? number : without;
}

/// What aggregators write is that of others: a process that is started anew would write it again
/// over what those have written since. So such a job has none that it does not ask for.
Gathering usual_gathering(const Info& info) {
  const std::string* const value = info.find("collective_buffering");
  if (value != nullptr && *value == "true") return Gathering::enable;
  if (value != nullptr && *value == "false") return Gathering::disable;
  return library().process->job().retain ? Gathering::disable : Gathering::automatic;
}

/// On which the file's processes are; 1 where processes may come back on others.
std::int64_t hosts_of(const FileObject& file, int size) {
  if (library().process->job().retain) return 1;
  const int own = host_color();
  std::vector<int> all(static_cast<std::size_t>(size), own);
  (void)MPI_Gather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, 0, file.comm);
  return static_cast<std::int64_t>(std::set<int>(all.begin(), all.end()).size());
}

}  // namespace

int add_hints(const Call& call, FileObject& file, MPI_Info info) {
  if (info == MPI_INFO_NULL) return MPI_SUCCESS;
  int error = MPI_SUCCESS;
  const Info* const from = find_info(call, info, error);
  Info* const to = from != nullptr ? find_info(call, file.info, error) : nullptr;
  if (to == nullptr) return error;
  for (const auto& [key, value] : from->entries) to->set(key, value);
  return MPI_SUCCESS;
}

int agree_on_hints(const Call& call, FileObject& file) {
  int error = MPI_SUCCESS, size = 1;
  Info* const info = find_info(call, file.info, error);
  if (info == nullptr) return error;
  (void)MPI_Comm_size(file.comm, &size);
  FileHints& hints = file.hints;
  const std::int64_t hosts = hosts_of(file, size);
  const Gathering usual = usual_gathering(*info);
  hints.write = gathering_of(*info, "romio_cb_write", usual);
  hints.read = gathering_of(*info, "romio_cb_read", usual);
  hints.nodes = std::clamp<std::int64_t>(count_hint(*info, "cb_nodes", hosts), 1, size);
  hints.buffer_bytes = std::clamp(count_hint(*info, "cb_buffer_size", FileHints{}.buffer_bytes),
                                  least_buffer, most_buffer);
  const bool asks_others = is_on_network(file.descriptor);
  hints.short_write = asks_others ? short_elsewhere : short_write_here;
  hints.short_read = asks_others ? short_elsewhere : short_read_here;
  error = MPI_Bcast(&hints, sizeof hints, MPI_BYTE, 0, file.comm);
  if (error != MPI_SUCCESS) return error;
  info->set("romio_cb_write", gathering_names[static_cast<std::size_t>(hints.write)]);
  info->set("romio_cb_read", gathering_names[static_cast<std::size_t>(hints.read)]);
  info->set("cb_nodes", std::to_string(hints.nodes));
  info->set("cb_buffer_size", std::to_string(hints.buffer_bytes));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
