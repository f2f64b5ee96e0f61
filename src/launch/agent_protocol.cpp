// SPDX-License-Identifier: Apache-2.0
#include "launch/agent_protocol.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft {

std::string to_text(const ProgramDescription& program) {
  nlohmann::json json = {{"ranks", program.ranks},
                         {"command", program.command},
                         {"directory", program.directory},
                         {"environment", program.environment},
                         {"lease_ns", program.lease.ticks()},
                         {"guard", program.guard}};
  // Names that are not UTF-8 do not get through.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ProgramDescription> read_program_description(const std::string& text) {
  ProgramDescription program;
  try {
    const auto json = nlohmann::json::parse(text);
    program.ranks = json.at("ranks").get<std::uint32_t>();
    program.command = json.at("command").get<std::vector<std::string>>();
    program.directory = json.at("directory").get<std::string>();
    program.environment =
        json.at("environment").get<std::vector<std::pair<std::string, std::string>>>();
    program.lease = Duration(json.at("lease_ns").get<std::int64_t>());
    program.guard = json.at("guard").get<std::string>();
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::corrupt,
                 fmt::format("the launcher's description of the program cannot be read ({}); use "
                             "the same version of weft everywhere",
                             e.what())};
  }
  if (program.ranks == 0 || program.ranks > most_ranks || program.command.empty() ||
      program.lease <= Duration{}) {
    return Error{ErrorCode::corrupt, "the launcher describes no program"};
  }
  return program;
}

std::string command_to_text(const std::vector<std::string>& command) {
  return nlohmann::json(command).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<std::string>> read_command(const std::string& text) {
  std::vector<std::string> command;
  try {
    command = nlohmann::json::parse(text).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::corrupt,
                 fmt::format("the launcher's command cannot be read ({})", e.what())};
  }
  if (command.empty()) return Error{ErrorCode::corrupt, "the launcher gives an empty command"};
  return command;
}

}  // namespace weft
