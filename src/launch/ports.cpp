// SPDX-License-Identifier: Apache-2.0
#include "launch/ports.hpp"

#include <fmt/format.h>

namespace weft {

LauncherAnswer Ports::answer(const LauncherQuestion& question, std::uint32_t asked_by) {
  if (question.kind == LauncherQuestion::Kind::open_port) {
    open_.insert_or_assign(question.name, asked_by);
    return {};
  }
  const auto found = open_.find(question.name);
  if (found == open_.end()) {
    return {.refusal = fmt::format("the port '{}' is closed, or was never opened", question.name)};
  }
  if (question.kind == LauncherQuestion::Kind::close_port) open_.erase(found);
  return {};
}

void Ports::close_all_of(std::uint32_t rank) {
  std::erase_if(open_, [&](const auto& port) { return port.second == rank; });
}

}  // namespace weft
