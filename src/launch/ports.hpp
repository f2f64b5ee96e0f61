// SPDX-License-Identifier: Apache-2.0
// Ports: those at which processes of a job may meet. Without I/O.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "process/launcher_question.hpp"

namespace weft {

class Ports {
 public:
  static bool is_about_port(const LauncherQuestion& question) {
    return question.kind >= LauncherQuestion::Kind::open_port;
  }
  LauncherAnswer answer(const LauncherQuestion& question, std::uint32_t asked_by);
  /// Closes all ports of that process.
  void close_all_of(std::uint32_t rank);

 private:
  std::map<std::string, std::uint32_t> open_;  // name to rank
};

}  // namespace weft
