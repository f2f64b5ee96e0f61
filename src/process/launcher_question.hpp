// SPDX-License-Identifier: Apache-2.0
// Questions of a process to its launcher while the job runs, and their answers: for more processes,
// for names that processes give each other, and for ports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft {

/// A program that a process has started while the job runs.
struct SpawnedProgram {
  std::vector<std::string> command;
  std::uint32_t processes = 1;
};

struct LauncherQuestion {
  enum class Kind : std::uint8_t {
    spawn,      ///< `programs`, for `parents`
    publish,    ///< `value` by `name`
    unpublish,  ///< `name`
    lookup,     ///< the value of `name`
    open_port,  ///< `name`, of the process that asks
    close_port,
    find_port,  ///< whether it is open
  };
  Kind kind = Kind::spawn;
  std::vector<SpawnedProgram> programs;
  std::vector<std::uint32_t> parents;  ///< nodes
  std::string name;
  std::string value;
};

struct LauncherAnswer {
  std::string refusal;      ///< why not; empty: it was done
  std::uint32_t first = 0;  ///< node of the first new process; the others follow
  std::uint32_t processes = 0;
  std::string value;  ///< of the name
};

std::string to_text(const LauncherQuestion& question);
std::string to_text(const LauncherAnswer& answer);
/// Errors: corrupt.
Result<LauncherQuestion> read_launcher_question(const std::string& text);
Result<LauncherAnswer> read_launcher_answer(const std::string& text);

}  // namespace weft
