// SPDX-License-Identifier: Apache-2.0
#include "process/launcher_question.hpp"

#include "base/json_members.hpp"
#include "base/make_error.hpp"

namespace weft {
namespace {

/// The members of each object. `v` is a JsonWriter or a JsonReader.
namespace members {

constexpr auto word = [](auto&& v, auto& text) { v.bytes("text", text); };

constexpr auto program = [](auto&& v, auto& p) {
  v.rows("command", p.command, word);
  v.member("processes", p.processes);
};

constexpr auto question = [](auto&& v, auto& q) {
  v.member("kind", q.kind);
  v.rows("programs", q.programs, program);
  v.member("parents", q.parents);
  v.bytes("name", q.name);
  v.bytes("value", q.value);
};

constexpr auto answer = [](auto&& v, auto& a) {
  v.bytes("refusal", a.refusal);
  v.member("first", a.first);
  v.member("processes", a.processes);
  v.bytes("value", a.value);
};

}  // namespace members

Error unreadable(const char* what) {
  return corrupt(
      "a message between the launcher and a process cannot be read ({}); use the "
      "same version of weft everywhere",
      what);
}

}  // namespace

std::string to_text(const LauncherQuestion& question) {
  return JsonWriter::of(question, members::question).dump();
}

std::string to_text(const LauncherAnswer& answer) {
  return JsonWriter::of(answer, members::answer).dump();
}

Result<LauncherQuestion> read_launcher_question(const std::string& text) {
  LauncherQuestion question;
  try {
    const auto json = JsonReader::Json::parse(text);
    members::question(JsonReader(json), question);
  } catch (const nlohmann::json::exception& e) {
    return unreadable(e.what());
  }
  if (question.kind > LauncherQuestion::Kind::find_port) return unreadable("an unknown kind");
  for (const SpawnedProgram& program : question.programs) {
    if (program.command.empty() || program.processes == 0) return unreadable("no program");
  }
  return question;
}

Result<LauncherAnswer> read_launcher_answer(const std::string& text) {
  LauncherAnswer answer;
  try {
    const auto json = JsonReader::Json::parse(text);
    members::answer(JsonReader(json), answer);
  } catch (const nlohmann::json::exception& e) {
    return unreadable(e.what());
  }
  return answer;
}

}  // namespace weft
