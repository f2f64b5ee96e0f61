// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sink_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/existing_file.hpp"
#include "stream/sinks/archive_files.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/recover.hpp"

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

Existing existing_of(const SinkPlace& place) {
  return place.replaces_files ? Existing::replace : Existing::refuse;
}

Result<std::optional<EarlyEnd>> complete_archives(const Uri& uri, const SinkPlace& place) {
  const ArchiveFiles files(uri, place);
  const std::string path = files.name(files.skip_finished(0));
  if (!files.find_unfinished(path)) return std::optional<EarlyEnd>();
  auto timeslices = files.complete(path, existing_of(place));
  if (!timeslices) return std::move(timeslices).error();
  if (*timeslices == 0) return std::optional<EarlyEnd>();
  return std::optional(EarlyEnd{.path = path, .timeslices = *timeslices});
}

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// The writer in the name of an unfinished file of the pattern, in which "%s" is a number.
std::optional<std::string> writer_of(std::string_view name, const std::string& pattern) {
  const std::size_t at = pattern.find("%s");
  const std::string_view begin = std::string_view(pattern).substr(0, at);
  if (!name.starts_with(begin)) return std::nullopt;
  name.remove_prefix(begin.size());
  std::string end(wire::FileOutput::unfinished_infix);
  if (at != std::string::npos) {
    name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
    end = pattern.substr(at + 2) + end;
  }
  if (!name.starts_with(end)) return std::nullopt;
  return std::string(name.substr(end.size()));
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
    auto named = wire::give_name(unfinished, path, existing_of(place));
    if (!named && first) first = std::move(named);
  };
  for_each_file(sinks, place, archive, file);
  if (!first) return std::move(first).error();
  return ends;
}

std::vector<LeftBehind> find_left_behind(std::span<const std::string> sinks,
                                         const SinkPlace& place) {
  std::vector<LeftBehind> found;
  for (const std::string& text : sinks) {
    const auto uri = Uri::parse(text);
    if (!uri || uri->scheme() != "tsa") continue;
    const std::filesystem::path path(ArchiveFiles(*uri, place).pattern());
    std::error_code error;
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      const auto writer = writer_of(name, path.filename());
      const bool is_own = !place.run.empty() && writer &&
                          (*writer == place.run ||
                           *writer == place.run + std::string(ArchiveFiles::earlier_suffix));
      const std::string file = path.parent_path() / name;
      if (!writer || is_own || wire::is_being_written(file)) continue;
      const std::filesystem::path finished(
          file.substr(0, file.size() - writer->size() - wire::FileOutput::unfinished_infix.size()));
      const std::string free_name =
          fmt::format("{}-{}{}", finished.stem().string(), *writer, finished.extension().string());
      found.push_back(
          {.path = file, .writer = *writer, .free_name = finished.parent_path() / free_name});
    }
  }
  return found;
}

}  // namespace weft
