// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace weft {

void set_up_log(std::string_view level, std::string_view who) {
  auto logger = std::make_shared<spdlog::logger>(
      "weft", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(who.empty() ? std::string("%^%l:%$ %v")
                                  : fmt::format("%^%l:%$ [{}] %v", who));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace weft
