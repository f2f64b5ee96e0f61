// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sink_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "stream/sinks/archive_files.hpp"
#include "stream/sinks/archive_sink.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/existing.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/system_error.hpp"

namespace weft {
namespace {

/// Files of one name that are looked at.
constexpr std::uint64_t most_numbers = 1'000'000;

std::optional<OlderFile> look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return OlderFile{.path = path,
                   .device = status.st_dev,
                   .inode = status.st_ino,
                   .modified_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

wire::Existing existing_of(const SinkPlace& place) {
  return place.replaces_files ? wire::Existing::replace : wire::Existing::refuse;
}

Result<void> give_name(const std::string& unfinished, const std::string& path,
                       wire::Existing existing) {
  const int number = wire::rename_file(unfinished, path, existing);
  if (number == 0) return {};
  const Error why =
      number == EEXIST ? wire::exists_error(path) : wire::system_error("write", path, number);
  return Error{why.code, fmt::format("{} ('{}' has the data)", why.message, unfinished)};
}

/// The whole timeslices of an archive that may be cut off.
struct WholePart {
  std::uint64_t timeslices = 0;
  std::uint64_t end = 0;  ///< the byte behind them
  bool is_compressed = false;
};

Result<WholePart> find_whole_part(const std::string& path) {
  WholePart part;
  auto reader = wire::ArchiveReader::open(path);
  // Its node was killed before it had written the header.
  if (!reader && reader.error().code == ErrorCode::corrupt) return part;
  if (!reader) return std::move(reader).error();
  part.is_compressed = reader->format().compression != wire::ArchiveCompression::none;
  for (;;) {
    part.timeslices = reader->items();
    part.end = reader->position();
    const auto more = reader->skip();
    if (!more && more.error().code != ErrorCode::corrupt) return more.error();
    if (!more || !*more) return part;
  }
}

/// Makes `path` of what lies in `unfinished`. A plain archive is cut where it lies: the disk may
/// have no room for a copy.
Result<void> complete_archive(const Uri& uri, const SinkPlace& place, const WholePart& part,
                              const std::string& unfinished, const std::string& path) {
  if (part.is_compressed) {
    SinkPlace next_life = place;
    next_life.restarted = true;
    auto sink = make_archive_sink(uri, next_life);
    auto done = sink ? (*sink)->finish() : Result<void>(sink.error());
    if (done) return done;
    return Error{done.error().code, fmt::format("{} ('{}-earlier' or '{}' has the data)",
                                                done.error().message, unfinished, unfinished)};
  }
  if (::truncate(unfinished.c_str(), static_cast<off_t>(part.end)) != 0) {
    return wire::system_error("write", unfinished, errno);
  }
  return give_name(unfinished, path, existing_of(place));
}

Result<std::optional<EarlyEnd>> complete_archives(const Uri& uri, const SinkPlace& place) {
  const ArchiveFiles files(uri, place);
  const std::string path = files.name(files.skip_finished(0));
  const auto unfinished = files.find_unfinished(path);
  if (!unfinished) return std::optional<EarlyEnd>();
  auto part = find_whole_part(*unfinished);
  if (!part) return std::move(part).error();
  if (part->timeslices > 0) {
    auto done = complete_archive(uri, place, *part, *unfinished, path);
    if (!done) return std::move(done).error();
  }
  files.forget_unfinished(path);
  if (part->timeslices == 0) return std::optional<EarlyEnd>();
  return std::optional(EarlyEnd{.path = path, .timeslices = part->timeslices});
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Calls `on_archive` or `on_file` for each sink, the latter with each of its files.
template <class OnArchive, class OnFile>
void for_each_file(std::span<const std::string> sinks, const SinkPlace& place,
                   OnArchive&& on_archive, OnFile&& on_file) {
  if (place.run.empty()) return;
  for (const std::string& text : sinks) {
    const auto uri = Uri::parse(text);
    if (!uri) continue;
    if (uri->scheme() == "tsa") on_archive(*uri);
    if (uri->scheme() != "file") continue;
    for (const std::string& path : sink_paths(*uri, place.inputs, place.computes)) on_file(path);
  }
}

}  // namespace

std::vector<std::string> sink_paths(const Uri& sink, std::uint32_t inputs, std::uint32_t computes) {
  std::vector<std::string> paths;
  const bool is_archive = sink.scheme() == "tsa";
  if (!is_archive && sink.scheme() != "file") return paths;
  const char letter = is_archive ? 'n' : 'i';
  const std::uint32_t nodes = is_archive ? computes : inputs;
  const std::uint32_t count = has_placeholder(sink.path(), letter) ? nodes : 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    paths.push_back(is_archive ? expand_placeholders(sink.path(), {{'n', number}, {'s', "%s"}})
                               : expand_placeholders(sink.path(), {{'i', number}}));
  }
  return paths;
}

std::vector<OlderFile> find_older_files(std::span<const std::string> sinks, std::uint32_t inputs,
                                        std::uint32_t computes) {
  std::vector<OlderFile> older;
  for (const std::string& text : sinks) {
    const auto uri = Uri::parse(text);
    if (!uri) continue;
    const bool is_numbered = uri->scheme() == "tsa" && has_placeholder(uri->path(), 's');
    for (const std::string& path : sink_paths(*uri, inputs, computes)) {
      for (std::uint64_t n = 0; n < most_numbers; ++n) {
        auto file = look_at(
            is_numbered ? expand_placeholders(path, {{'s', fmt::format("{:04}", n)}}) : path);
        if (!file) break;
        older.push_back(*std::move(file));
        if (!is_numbered) break;
      }
    }
  }
  return older;
}

bool is_of_run(const std::string& path, std::span<const OlderFile> older) {
  const auto file = look_at(path);
  return file && std::ranges::none_of(older, [&](const OlderFile& o) {
           return o.inode == file->inode && o.device == file->device &&
                  o.modified_ns == file->modified_ns && o.path == path;
         });
}

Result<std::vector<EarlyEnd>> complete_files(std::span<const std::string> sinks,
                                             const SinkPlace& place) {
  std::vector<EarlyEnd> ends;
  Result<void> first;
  const auto archive = [&](const Uri& uri) {
    auto end = complete_archives(uri, place);
    if (end && *end) ends.push_back(**std::move(end));
    if (!end && first) first = std::move(end).error();
  };
  const auto file = [&](const std::string& path) {
    const std::string unfinished = wire::FileOutput::unfinished(path, place.run);
    if (!is_there(unfinished)) return;
    auto named = give_name(unfinished, path, existing_of(place));
    if (!named && first) first = std::move(named);
  };
  for_each_file(sinks, place, archive, file);
  if (!first) return std::move(first).error();
  return ends;
}

std::vector<std::string> find_unfinished(std::span<const std::string> sinks,
                                         const SinkPlace& place) {
  std::vector<std::string> found;
  const auto archive = [&](const Uri& uri) {
    const ArchiveFiles files(uri, place);
    if (auto file = files.find_unfinished(files.name(files.skip_finished(0)))) {
      found.push_back(*std::move(file));
    }
  };
  const auto file = [&](const std::string& path) {
    std::string unfinished = wire::FileOutput::unfinished(path, place.run);
    if (is_there(unfinished)) found.push_back(std::move(unfinished));
  };
  for_each_file(sinks, place, archive, file);
  return found;
}

}  // namespace weft
