// SPDX-License-Identifier: Apache-2.0
#include "runtime/directory.hpp"

#include <fmt/format.h>

namespace weft {

std::string Directory::line(std::uint32_t node) const {
  return fmt::format("{} {} {}\n", node, lives_[node].incarnation, lives_[node].address);
}

std::string Directory::lines_of_others(std::uint32_t node) const {
  std::string lines;
  for (std::uint32_t i = 0; i < lives_.size(); ++i) {
    if (i != node && knows(i)) lines += line(i);
  }
  return lines;
}

std::string Directory::later_lives() const {
  std::string lives;
  for (std::uint32_t i = 0; i < lives_.size(); ++i) {
    if (lives_[i].incarnation > 1) lives += fmt::format("{} {} ", i, lives_[i].incarnation);
  }
  return lives;
}

}  // namespace weft
