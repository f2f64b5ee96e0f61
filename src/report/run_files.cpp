// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "base/whole_file.hpp"
#include "report/files.hpp"
#include "report/run_record.hpp"

namespace weft::report {
namespace {

/// A record of the largest run is a few megabytes; beyond this it is some other file.
constexpr std::uint64_t largest_file = std::uint64_t{256} << 20;

}  // namespace

std::string in_directory(const std::string& dir, const char* name) {
  return (std::filesystem::path(dir) / name).string();
}

Result<std::string> read_file(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return system_error("read", path, errno);
  if (!S_ISREG(about.st_mode)) {
    return invalid("{}: not an ordinary file; name another directory", path);
  }
  if (static_cast<std::uint64_t>(about.st_size) > largest_file) {
    return corrupt("{}: {} bytes is too large for a record of a run (at most {})", path,
                   about.st_size, largest_file);
  }
  return read_text_file(path);
}

Result<void> make_directory(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return system_error("make the directory", dir, error.value());
  return {};
}

Result<void> write_file_whole(const std::string& path, std::string_view text) {
  Result<WholeFile> file = WholeFile::create(path);
  if (!file) return std::move(file).error();
  if (Result<void> written = file->write(text); !written) return written;
  return file->commit();
}

Result<void> write_run(const std::string& dir, const RunRecord& record) {
  if (Result<void> made = make_directory(dir); !made) return made;
  return write_file_whole(in_directory(dir, "run.json"), to_json(record, RecordForm::full) + "\n");
}

Result<void> write_comparison(const std::string& dir, std::span<const RunRecord> runs) {
  if (Result<void> made = make_directory(dir); !made) return made;
  std::string text = "{\"runs\":[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += to_json(runs[i], RecordForm::full);
  }
  text += "\n]}\n";
  return write_file_whole(in_directory(dir, "compare.json"), text);
}

Result<std::vector<RunRecord>> read_runs(const std::string& dir) {
  const std::string compare_path = in_directory(dir, "compare.json");
  const std::string run_path = in_directory(dir, "run.json");
  std::vector<RunRecord> runs;

  Result<std::string> compare = read_file(compare_path);
  if (!compare && compare.error().code != ErrorCode::not_found) return compare.error();
  if (compare) {
    Result<std::vector<RunRecord>> read = runs_from_json(*compare, compare_path);
    if (!read) return read.error();
    runs = std::move(read).value();
  }
  Result<std::string> run = read_file(run_path);
  if (!run && run.error().code != ErrorCode::not_found) return run.error();
  if (run) {
    Result<RunRecord> read = from_json(*run, run_path);
    if (!read) return read.error();
    runs.push_back(std::move(read).value());
  }
  std::error_code error;
  if (runs.empty() && std::filesystem::is_directory(in_directory(dir, "windows"), error)) {
    return make_error(ErrorCode::not_found,
                      "'{}' has an unfinished experiment of weft qos; repeat its command, which "
                      "finishes it and makes the page",
                      dir);
  }
  if (runs.empty()) {
    return make_error(
        ErrorCode::not_found,
        "'{}' has no record that a report is made of; make such a directory with weft stream local "
        "--out DIR, or with --out of weft simulate or weft qos",
        dir);
  }
  return runs;
}

}  // namespace weft::report
