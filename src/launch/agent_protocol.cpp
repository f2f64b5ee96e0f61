// SPDX-License-Identifier: Apache-2.0
#include "launch/agent_protocol.hpp"

#include "base/json_members.hpp"
#include "base/make_error.hpp"

namespace weft {

namespace {

/// `v` is a JsonWriter or a JsonReader.
constexpr auto program_members = [](auto&& v, auto& program) {
  v.member("ranks", program.ranks);
  v.member("command", program.command);
  v.member("directory", program.directory);
  v.member("environment", program.environment);
  v.member("lease_ns", program.lease);
  v.member("guard", program.guard);
};

}  // namespace

std::string to_text(const ProgramDescription& program) {
  // Names that are not UTF-8 do not get through.
  return JsonWriter::of(program, program_members)
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ProgramDescription> read_program_description(const std::string& text) {
  ProgramDescription program;
  try {
    const auto json = JsonReader::Json::parse(text);
    program_members(JsonReader(json), program);
  } catch (const nlohmann::json::exception& e) {
    return corrupt(
        "the launcher's description of the program cannot be read ({}); use the same "
        "version of weft everywhere",
        e.what());
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
    return corrupt("the launcher's command cannot be read ({})", e.what());
  }
  if (command.empty()) return Error{ErrorCode::corrupt, "the launcher gives an empty command"};
  return command;
}

}  // namespace weft
