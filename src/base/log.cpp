// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace weft {

void set_up_log(std::string_view level, std::string_view who) {
  auto logger = std::make_shared<spdlog::logger>(
      "weft", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern(who.empty() ? std::string("%^%l:%$ %v")
                                  : fmt::format("%^%l:%$ [{}] %v", who));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(std::move(logger));
}

void set_up_log_of_program(std::string_view who) {
  const char* given = std::getenv("WEFT_LOG");
  const std::string level = given != nullptr ? given : "error";
  const bool is_known = level == "off" || spdlog::level::from_str(level) != spdlog::level::off;
  set_up_log(is_known ? level : "error", who);
  if (!is_known) {
    spdlog::error("WEFT_LOG: '{}' is none of off, error, warning, info, debug, trace", level);
  }
}

}  // namespace weft
