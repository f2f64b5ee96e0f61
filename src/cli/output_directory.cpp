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

/// A file of a directory, and texts that its first bytes all have if weft wrote it. Several, since
/// other programs' files may have one of these words.
struct OwnFile {
  std::string_view name;
  std::array<std::string_view, 3> marks;
};
constexpr std::array<std::string_view, 3> marks_of_page{"content=\"weft report\""};
constexpr std::array own_files{
    OwnFile{"run.json", {"\"schedule\"", "\"fabric\"", "\"computes\""}},
    OwnFile{"compare.json", {"\"runs\"", "\"schedule\"", "\"computes\""}},
    OwnFile{"network.json", {"\"version\"", "\"command\"", "\"parameters\""}},
    OwnFile{"simulation.json", {"\"scenario\"", "\"topology\"", "\"router\""}},
    OwnFile{"qos.json", {"\"scenario\"", "\"controller\"", "\"placements\""}},
    OwnFile{"qos.html", marks_of_page},
    OwnFile{"sweep.json", {"\"sweep\""}},
    OwnFile{"sweep.html", marks_of_page},
    OwnFile{"odp.json", {"\"rnr_naks\""}},
    OwnFile{"odp.html", marks_of_page},
    OwnFile{"report.html", marks_of_page},
    OwnFile{"network.html", marks_of_page},
};
constexpr std::size_t first_bytes = 64 << 10;
/// What `weft report` reads.
constexpr std::array<std::string_view, 4> records{"run.json", "compare.json", "network.json",
                                                  "qos.json"};

bool is_own(const fs::path& path, const OwnFile& known) {
  std::ifstream file(path, std::ios::binary);
  std::string text(first_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return std::ranges::all_of(
      known.marks, [&](std::string_view mark) { return text.find(mark) != std::string::npos; });
}

}  // namespace

void add_force_option(CLI::App& command, bool& force, const char* group) {
  command.add_flag("--force", force, "overwrite existing files that are not weft's")->group(group);
}

bool is_record_in(const std::string& directory, const std::string& path) {
  if (directory.empty()) return false;
  const fs::path entry = entry_of(path);
  return std::ranges::find(own_files, entry.filename(), &OwnFile::name) != own_files.end() &&
         entry.parent_path() == canonical(directory);
}

std::filesystem::path canonical(const std::string& directory) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(directory, error), error);
  return whole.has_filename() ? whole : whole.parent_path();
}

std::filesystem::path entry_of(const std::string& path) {
  const fs::path named(path);
  const std::string parent = named.parent_path().string();
  return canonical(parent.empty() ? "." : parent) / named.filename();
}

void forget_record(const std::string& directory, const char* name, bool force) {
  const auto known = std::ranges::find(own_files, std::string_view(name), &OwnFile::name);
  const fs::path path = fs::path(directory) / name;
  std::error_code error;
  if (!force && (known == own_files.end() || !is_own(path, *known))) return;
  fs::remove(path, error);
}

Error of_option(std::string_view option, const Error& error) {
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
    if (force || is_own(path, file)) continue;
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
