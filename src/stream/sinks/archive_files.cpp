// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/archive_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/system_error.hpp"
#include "stream/sinks/sink_files.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/recover.hpp"

namespace weft {

ArchiveFiles::ArchiveFiles(const Uri& uri, const SinkPlace& place)
    : path_(expand_placeholders(uri.path(), {{'n', std::to_string(place.compute)}, {'s', "%s"}})),
      is_numbered_(has_placeholder(uri.path(), 's')),
      run_(place.run),
      older_(place.older_files.begin(), place.older_files.end()) {}

std::string ArchiveFiles::name(std::uint64_t number) const {
  return expand_placeholders(path_, {{'s', fmt::format("{:04}", number)}});
}

std::uint64_t ArchiveFiles::skip_finished(std::uint64_t number) const {
  while (is_numbered_ && is_of_run(name(number), older_)) ++number;
  return number;
}

std::string ArchiveFiles::unfinished(const std::string& name) const {
  return wire::FileOutput::unfinished(name, run_);
}

std::optional<std::string> ArchiveFiles::find_unfinished(const std::string& name) const {
  for (const std::string& file : {aside(name), unfinished(name)}) {
    if (::access(file.c_str(), F_OK) == 0) return file;
  }
  return std::nullopt;
}

Result<std::uint64_t> ArchiveFiles::complete(const std::string& name, Existing existing) const {
  const auto file = find_unfinished(name);
  if (!file) return std::uint64_t{0};
  const auto timeslices = wire::keep_whole_items(*file);
  if (!timeslices) return timeslices;
  if (*timeslices > 0) {
    auto named = wire::give_name(*file, name, existing);
    if (!named) return std::move(named).error();
  }
  forget_unfinished(name);
  return timeslices;
}

Result<std::string> ArchiveFiles::set_aside(const std::string& name) const {
  if (run_.empty()) return std::string();
  const std::string to = aside(name);
  const auto unfinished_file = find_unfinished(name);
  if (unfinished_file == to) return to;
  if (!unfinished_file && !is_of_run(name, older_)) return std::string();
  const std::string& from = unfinished_file ? *unfinished_file : name;
  if (std::rename(from.c_str(), to.c_str()) == 0) return to;
  return system_error("write", name, errno);
}

void ArchiveFiles::forget_unfinished(const std::string& name) const {
  ::unlink(aside(name).c_str());
  ::unlink(unfinished(name).c_str());
}

}  // namespace weft
