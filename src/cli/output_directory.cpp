// SPDX-License-Identifier: Apache-2.0
#include "cli/output_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

/// A file of a directory, and text within its first bytes that proves that weft wrote it.
struct OwnFile {
  const char* name;
  std::string_view mark;
};
constexpr std::array own_files{
    OwnFile{"run.json", "\"schedule\""},
    OwnFile{"compare.json", "\"runs\""},
    OwnFile{"network.json", "\"version\""},
    OwnFile{"simulation.json", "\"scenario\""},
    OwnFile{"qos.json", "\"controller\""},
    OwnFile{"qos.html", "content=\"weft report\""},
    OwnFile{"sweep.json", "\"sweep\""},
    OwnFile{"sweep.html", "content=\"weft report\""},
    OwnFile{"odp.json", "\"rnr_naks\""},
    OwnFile{"odp.html", "content=\"weft report\""},
    OwnFile{"report.html", "content=\"weft report\""},
    OwnFile{"network.html", "content=\"weft report\""},
};
constexpr std::size_t first_bytes = 2048;
/// What `weft report` reads.
constexpr std::array<std::string_view, 4> records{"run.json", "compare.json", "network.json",
                                                  "qos.json"};

bool is_own(const fs::path& path, std::string_view mark) {
  std::ifstream file(path, std::ios::binary);
  std::string text(first_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text.find(mark) != std::string::npos;
}

}  // namespace

void add_force_option(CLI::App& command, bool& force, const char* group) {
  command.add_flag("--force", force, "overwrite existing files that are not weft's")->group(group);
}

Error of_option(const char* option, const Error& error) {
  return {error.code, fmt::format("{}: {}", option, error.message)};
}

Result<std::optional<WholeFile>> create_record(const std::string& path, const char* option) {
  if (path.empty() || path == standard_output) return std::optional<WholeFile>();
  auto file = WholeFile::create(path);
  if (!file) return of_option(option, file.error());
  return std::optional<WholeFile>(std::move(*file));
}

Result<void> write_record(WholeFile& file, std::string_view text, const char* option) {
  auto written = file.write(text);
  if (written) written = file.commit();
  return written ? written : of_option(option, written.error());
}

Result<void> prepare_directory(const std::string& directory, bool force, std::string_view option) {
  if (directory.empty()) return {};
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    return invalid("{}: {} is a file; name a directory", option, directory);
  }
  fs::create_directories(directory, error);
  if (!error && ::access(directory.c_str(), W_OK | X_OK) != 0) {
    error.assign(errno, std::generic_category());
  }
  if (error) {
    const Error refused = system_error("write in", directory, error.value());
    return make_error(ErrorCode::io, "{}: {}", option, refused.message);
  }
  return refuse_foreign_files(directory, force, option);
}

Result<void> refuse_foreign_files(const std::string& directory, bool force, std::string_view option,
                                  bool reads_records) {
  std::error_code error;
  for (const OwnFile& file : own_files) {
    const fs::path path = fs::path(directory) / file.name;
    if (!fs::exists(path, error)) continue;
    if (!fs::is_regular_file(path, error)) {  // reading it might wait for ever
      return invalid("{}: {} is no ordinary file; name another directory, or remove it", option,
                     path.string());
    }
    if (force || is_own(path, file.mark)) continue;
    if (reads_records && std::ranges::find(records, file.name) != records.end()) {
      return invalid(
          "{}: {} is there, and weft did not write it; make such a directory with weft stream "
          "local --out DIR, or with --out of weft simulate or weft qos",
          option, path.string());
    }
    return invalid(
        "{}: {} is there, and weft did not write it; name another directory, or replace it with "
        "--force",
        option, path.string());
  }
  return {};
}

}  // namespace weft::cli
