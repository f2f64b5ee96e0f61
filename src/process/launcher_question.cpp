// SPDX-License-Identifier: Apache-2.0
#include "process/launcher_question.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

// Arguments of programs may be any bytes, which are no text of JSON's.
std::vector<std::uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}
std::string text_of(const nlohmann::json& bytes) {
  const auto values = bytes.get<std::vector<std::uint8_t>>();
  return {values.begin(), values.end()};
}

Error unreadable(const char* what) {
  return {ErrorCode::corrupt,
          fmt::format("a message between the launcher and a process cannot be read ({}); use the "
                      "same version of weft everywhere",
                      what)};
}

}  // namespace

std::string to_text(const LauncherQuestion& question) {
  nlohmann::json programs = nlohmann::json::array();
  for (const SpawnedProgram& program : question.programs) {
    nlohmann::json command = nlohmann::json::array();
    for (const std::string& word : program.command) command.push_back(bytes_of(word));
    programs.push_back({{"command", command}, {"processes", program.processes}});
  }
  return nlohmann::json({{"kind", static_cast<int>(question.kind)},
                         {"programs", programs},
                         {"parents", question.parents},
                         {"name", bytes_of(question.name)},
                         {"value", bytes_of(question.value)}})
      .dump();
}

std::string to_text(const LauncherAnswer& answer) {
  return nlohmann::json({{"refusal", bytes_of(answer.refusal)},
                         {"first", answer.first},
                         {"processes", answer.processes},
                         {"value", bytes_of(answer.value)}})
      .dump();
}

Result<LauncherQuestion> read_launcher_question(const std::string& text) {
  LauncherQuestion question;
  try {
    const auto json = nlohmann::json::parse(text);
    const int kind = json.at("kind").get<int>();
    if (kind < 0 || kind > static_cast<int>(LauncherQuestion::Kind::find_port)) {
      return unreadable("an unknown kind");
    }
    question.kind = static_cast<LauncherQuestion::Kind>(kind);
    for (const auto& each : json.at("programs")) {
      SpawnedProgram program{.command = {}, .processes = each.at("processes")};
      for (const auto& word : each.at("command")) program.command.push_back(text_of(word));
      if (program.command.empty() || program.processes == 0) return unreadable("no program");
      question.programs.push_back(std::move(program));
    }
    question.parents = json.at("parents").get<std::vector<std::uint32_t>>();
    question.name = text_of(json.at("name"));
    question.value = text_of(json.at("value"));
  } catch (const nlohmann::json::exception& e) {
    return unreadable(e.what());
  }
  return question;
}

Result<LauncherAnswer> read_launcher_answer(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return LauncherAnswer{.refusal = text_of(json.at("refusal")),
                          .first = json.at("first"),
                          .processes = json.at("processes"),
                          .value = text_of(json.at("value"))};
  } catch (const nlohmann::json::exception& e) {
    return unreadable(e.what());
  }
}

}  // namespace weft
