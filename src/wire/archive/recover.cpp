// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/recover.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/zstd_blocks.hpp"

namespace weft::wire {
namespace {

/// A file that is open, until the scope ends.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }
  bool failed() const { return descriptor_ < 0; }

 private:
  int descriptor_;
};

/// The whole items of an archive that may be cut off.
struct WholePart {
  std::vector<std::uint64_t> ends;  ///< behind each of them, in the (decompressed) data
  bool is_cut_off = false;          ///< something else follows them
  bool is_compressed = false;
  std::uint64_t header_bytes = 0;
};

Error damage(const Error& error, std::size_t items) {
  if (error.code != ErrorCode::corrupt) return error;
  return {error.code, fmt::format("{}; other items may follow, so that the file stays as it is: "
                                  "weft archive cut --count {} copies what is before",
                                  error.message, items)};
}

Result<WholePart> find_whole_part(const std::string& path) {
  WholePart part;
  // Items are passed over, so that no length costs memory: one beyond the file's end is cut off.
  auto reader =
      ArchiveReader::open(path, {.item_bytes = std::numeric_limits<std::uint64_t>::max()});
  // Its writer was killed before it had written the header.
  std::error_code none;
  const bool is_empty = std::filesystem::is_empty(path, none);
  if (!reader && (is_empty || reader.error().code == ErrorCode::corrupt)) return part;
  if (!reader) return std::move(reader).error();
  part.is_compressed = reader->format().compression != ArchiveCompression::none;
  part.header_bytes = reader->header_bytes();
  for (;;) {
    const auto more = reader->skip();
    part.is_cut_off = !more && reader->is_cut_off();
    if (!more && !part.is_cut_off) return damage(more.error(), part.ends.size());
    if (!more || !*more) return part;
    part.ends.push_back(reader->position());
  }
}

Result<void> cut(int descriptor, const std::string& path, std::uint64_t end) {
  if (::ftruncate(descriptor, static_cast<off_t>(end)) == 0) return {};
  return system_error("write", path, errno);
}

/// Why an archive stays as it is.
Error nothing_to_keep(const std::string& unfinished) {
  const auto part = find_whole_part(unfinished);
  const std::size_t readable = part ? part->ends.size() : 0;
  if (readable == 0) {
    return corrupt("'{}' has no whole item; nothing of it can be kept", unfinished);
  }
  return corrupt(
      "'{}' has no whole item that its writer flushed; weft archive cut --count {} "
      "copies those that can be read",
      unfinished, readable);
}

/// Whether recovery keeps anything: a zstd stream ends with an item that its writer flushed.
bool has_an_end(const std::string& unfinished) {
  const auto part = find_whole_part(unfinished);
  if (!part || !part->is_compressed) return true;
  const OpenFile file(unfinished, O_RDONLY | O_CLOEXEC);
  if (file.failed()) return true;
  return std::ranges::any_of(find_flushes(file.descriptor(), part->header_bytes),
                             [&](const ZstdFlush& flush) {
                               return std::ranges::binary_search(part->ends, flush.decompressed);
                             });
}

/// Returns the number of items left. A stream can be ended where its writer flushed it only.
Result<std::uint64_t> end_stream(int descriptor, const std::string& path, const WholePart& part) {
  const std::vector<ZstdFlush> flushes = find_flushes(descriptor, part.header_bytes);
  std::size_t left = part.ends.size();
  for (auto flush = flushes.rbegin(); flush != flushes.rend(); ++flush) {
    while (left > 0 && part.ends[left - 1] > flush->decompressed) --left;
    if (left == 0) return std::uint64_t{0};
    if (part.ends[left - 1] != flush->decompressed) continue;
    const auto ending = ending_of_stream(descriptor, part.header_bytes, *flush);
    const auto at = static_cast<off_t>(flush->in_file);
    const ssize_t written = ::pwrite(descriptor, ending.data(), ending.size(), at);
    if (written == static_cast<ssize_t>(ending.size())) {
      if (auto done = cut(descriptor, path, flush->in_file + ending.size()); !done) {
        return std::move(done).error();
      }
      return left;
    }
    // The bytes behind the item before have their place on the disk already.
    const bool may_fit = left > 1 && (written >= 0 || code_of_errno(errno) == ErrorCode::exhausted);
    if (!may_fit) return system_error("write", path, written >= 0 ? ENOSPC : errno);
    --left;
  }
  return std::uint64_t{0};
}

/// The name that the writer of PATH.part-WRITER would have given it; empty if it is none.
std::string name_of_unfinished(const std::string& unfinished) {
  const std::size_t at = unfinished.rfind(FileOutput::unfinished_infix);
  if (at == std::string::npos) return {};
  const std::string_view writer =
      std::string_view(unfinished).substr(at + FileOutput::unfinished_infix.size());
  // A process, and perhaps a number of its run.
  const bool is_writer = !writer.empty() && writer.front() != '-' &&
                         writer.find_first_not_of("0123456789-") == std::string_view::npos;
  return is_writer ? unfinished.substr(0, at) : std::string();
}

/// The unfinished archives that would get the name `path`, sorted.
Result<std::vector<std::string>> unfinished_of(const std::string& path) {
  const std::filesystem::path place(path);
  std::vector<std::string> found;
  std::error_code error;
  const auto folder = place.has_parent_path() ? place.parent_path() : std::filesystem::path(".");
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::error_code gone;
    if (name_of_unfinished(name) == place.filename() && entry->is_regular_file(gone)) {
      found.push_back(place.parent_path() / name);
    }
  }
  if (error) return system_error("list", folder.string(), error.value());
  std::ranges::sort(found);
  return found;
}

/// The unfinished archive that a user means by `name`.
Result<std::string> unfinished_by_name(const std::string& name) {
  if (!name_of_unfinished(name).empty()) return name;
  const auto found = unfinished_of(name);
  if (!found) return found.error();
  if (found->size() == 1) return found->front();
  if (found->empty()) {
    return invalid(
        "'{}' is no unfinished file, NAME.part-PID, and none is beside it; weft archive check "
        "tells what is wrong with another one",
        name);
  }
  return invalid("'{}' has several unfinished files: name one of {}", name,
                 fmt::join(*found, ", "));
}

/// Whether there is anything to recover. Opening a pipe would wait for its writer.
Result<void> check_unfinished(const std::string& unfinished) {
  std::error_code error;
  const auto status = std::filesystem::status(unfinished, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return invalid("'{}' is no regular file; name an unfinished archive", unfinished);
  }
  if (is_being_written(unfinished)) {
    return invalid("cannot recover '{}': a process is still writing it; wait for its end",
                   unfinished);
  }
  if (std::filesystem::is_empty(unfinished, error) && !error) {
    return corrupt("'{}' is empty; remove it", unfinished);
  }
  return {};
}

/// A file is renamed within a file system only.
bool is_elsewhere(const std::string& path, const std::string& unfinished) {
  const std::string directory = std::filesystem::path(path).parent_path();
  struct stat of_directory {};
  struct stat of_file {};
  return ::stat(directory.empty() ? "." : directory.c_str(), &of_directory) == 0 &&
         ::stat(unfinished.c_str(), &of_file) == 0 && of_directory.st_dev != of_file.st_dev;
}

/// Whether a file can get the name `path`. Asked before the file is changed.
Result<void> takes_a_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return system_error("write", path, EISDIR);
  const std::string directory = std::filesystem::path(path).parent_path();
  if (::access(directory.empty() ? "." : directory.c_str(), W_OK | X_OK) == 0) return {};
  return system_error("write", path, errno);
}

}  // namespace

Result<std::uint64_t> keep_whole_items(const std::string& path) {
  const auto part = find_whole_part(path);
  if (!part) return part.error();
  if (!part->is_cut_off || part->ends.empty()) return part->ends.size();
  const OpenFile file(path, O_RDWR | O_CLOEXEC);
  if (file.failed()) return system_error("write", path, errno);
  if (part->is_compressed) return end_stream(file.descriptor(), path, *part);
  if (auto done = cut(file.descriptor(), path, part->ends.back()); !done) {
    return std::move(done).error();
  }
  return part->ends.size();
}

Result<void> give_name(const std::string& unfinished, const std::string& path, Existing existing) {
  const int number = rename_file(unfinished, path, existing);
  if (number == 0) return {};
  const Error why = number == EEXIST ? exists_error(path) : system_error("write", path, number);
  return Error{why.code, fmt::format("{} ('{}' has the data)", why.message, unfinished)};
}

bool is_being_written(const std::string& unfinished) {
  const OpenFile file(unfinished, O_RDONLY | O_CLOEXEC);
  return !file.failed() && ::flock(file.descriptor(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

std::string hint_at_recovery(const std::string& path) {
  if (!name_of_unfinished(path).empty()) {
    if (!has_an_end(path)) return {};
    return fmt::format("; it is unfinished: weft archive recover {} completes it", path);
  }
  const auto found = unfinished_of(path);
  if (!found || found->empty()) return {};
  return fmt::format("; unfinished is {}, which weft archive recover completes",
                     fmt::join(*found, ", "));
}

Result<RecoveredArchive> recover_archive(const std::string& name, const std::string& out,
                                         Existing existing) {
  const auto found = unfinished_by_name(name);
  if (!found) return found.error();
  const std::string& unfinished = *found;
  if (auto good = check_unfinished(unfinished); !good) return std::move(good).error();
  RecoveredArchive archive{.path = name_of_unfinished(unfinished)};
  if (!out.empty()) archive.path = out;
  if (is_elsewhere(archive.path, unfinished)) {
    return invalid(
        "--out '{}' is on another file system than '{}'; choose a name beside it, and move that "
        "archive",
        archive.path, unfinished);
  }
  if (auto taken = takes_a_file(archive.path); !taken) return std::move(taken).error();
  if (auto free = refuse_existing(archive.path, existing); !free) return std::move(free).error();
  std::error_code error;
  const std::uint64_t before = std::filesystem::file_size(unfinished, error);
  auto items = keep_whole_items(unfinished);
  if (!items) return std::move(items).error();
  if (*items == 0) return nothing_to_keep(unfinished);
  archive.items = *items;
  archive.removed_bytes = before - std::min(before, std::filesystem::file_size(unfinished, error));
  auto named = give_name(unfinished, archive.path, existing);
  if (!named) return std::move(named).error();
  return archive;
}

}  // namespace weft::wire
