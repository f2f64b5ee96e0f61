// SPDX-License-Identifier: Apache-2.0
// Runs of the program `weft` by tests: its output, its end, and leftover processes and files.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weft::e2e {

/// The most by which sanitizers multiply a program's memory; 1 without them.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr long memory_factor = 8;
#else
inline constexpr long memory_factor = 1;
#endif

/// How a run ended.
struct Ended {
  int code = -1;            ///< exit code; 128 + signal when a signal ended it
  bool hung = false;        ///< did not end in time and was killed
  std::string output;       ///< standard output
  std::string errors;       ///< standard error
  std::string command;      ///< as one would type it
  long largest_kib = 0;     ///< resident memory of its largest process, at its highest
  std::size_t orphans = 0;  ///< processes that it left behind (and that were killed)

  /// Standard output as one JSON value; discarded() when it is something else.
  nlohmann::json json() const;
  /// All that is known, for messages of failed assertions.
  std::string describe() const;
};

/// One process of `weft`, in a process group of its own. Destroying it kills the group.
class WeftProcess {
 public:
  /// `arguments` follow the program's name. WEFT_PROGRAM in the environment is taken for the
  /// program instead of the one that was built. The program inherits `largest_file` bytes as the
  /// limit of the files that it writes; 0: none.
  explicit WeftProcess(std::vector<std::string> arguments, std::uint64_t largest_file = 0);
  ~WeftProcess();
  WeftProcess(const WeftProcess&) = delete;

  /// Reads its output until standard error contains `text`; false when it ended or `seconds` went
  /// by without.
  bool says(std::string_view text, int seconds = 30);
  /// Waits for the end; after `seconds` it is killed and `hung`.
  Ended wait(int seconds = 60);
  void signal(int number) const;
  pid_t pid() const { return pid_; }

 private:
  /// Takes in the output; false when both pipes are closed or `milliseconds` went by.
  bool read_more(int milliseconds);

  pid_t pid_ = -1;
  int pipes_[2] = {-1, -1};
  Ended ended_;
};

/// The path of the program under test.
std::string program();

/// The arguments with those of a schedule; dfs has intervals, the others have no use for them.
std::vector<std::string> by_schedule(std::vector<std::string> arguments,
                                     const std::string& schedule, int timeslices_per_interval);
/// Runs it to its end.
Ended run_weft(std::vector<std::string> arguments, int seconds = 60);

/// A directory that is gone with this object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A whole file's bytes; empty when it cannot be read.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);
/// The output of `sha256sum` for a file.
std::string sha256_of(const std::string& path);

}  // namespace weft::e2e
