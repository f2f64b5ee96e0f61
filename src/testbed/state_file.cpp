// SPDX-License-Identifier: Apache-2.0
#include "testbed/state_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "testbed/keeper.hpp"

namespace weft::testbed {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kLongestName = 40;
constexpr std::string_view kSuffix = ".json";

std::filesystem::path wanted_directory() {
  if (const char* given = std::getenv("WEFT_TESTBED_STATE")) return given;
  if (::geteuid() == 0) return "/run/weft";
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR")) {
    return std::filesystem::path(runtime) / "weft";
  }
  return fmt::format("/tmp/weft-{}", ::geteuid());
}

Result<std::filesystem::path> path_of(std::string_view name) {
  if (auto checked = check_name(name); !checked.ok()) return std::move(checked).error();
  auto directory = state_directory();
  if (!directory.ok()) return directory;
  return *directory / fmt::format("{}{}", name, kSuffix);
}

json to_json(const Record& record) {
  const auto& options = record.options;
  json levels = json::array();
  for (const LevelClass& level : options.levels) {
    levels.push_back({{"dscp", level.dscp}, {"weight", level.weight}});
  }
  return {{"version", kVersion},
          {"keeper", record.keeper},
          {"keeper_start", record.keeper_start},
          {"congestion_control", record.congestion_control},
          {"hosts", options.hosts},
          {"link_bytes_per_second", options.link.bytes_per_second()},
          {"uplink_bytes_per_second", options.uplink.bytes_per_second()},
          {"levels", std::move(levels)},
          {"queue_bytes", options.queue.value()},
          {"delay_ns", options.delay.ticks()},
          {"mtu", options.mtu}};
}

// Throws json::exception.
Record from_json(const json& object) {
  Record record;
  record.keeper = object.at("keeper").get<pid_t>();
  record.keeper_start = object.at("keeper_start").get<std::uint64_t>();
  record.congestion_control = object.at("congestion_control").get<std::string>();
  auto& options = record.options;
  options.hosts = object.at("hosts").get<std::uint32_t>();
  options.link =
      Bandwidth::bytes_per_second(object.at("link_bytes_per_second").get<std::uint64_t>());
  options.uplink =
      Bandwidth::bytes_per_second(object.value("uplink_bytes_per_second", std::uint64_t{0}));
  for (const json& level : object.value("levels", json::array())) {
    options.levels.push_back({.dscp = level.at("dscp").get<std::uint8_t>(),
                              .weight = level.at("weight").get<std::uint8_t>()});
  }
  options.queue = ByteCount(object.at("queue_bytes").get<std::uint64_t>());
  options.delay = Duration(object.at("delay_ns").get<std::int64_t>());
  options.mtu = object.at("mtu").get<std::uint32_t>();
  return record;
}

}  // namespace

Result<void> check_name(std::string_view name) {
  const bool plain = std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  if (plain && !name.empty() && name.size() <= kLongestName) return {};
  return invalid("--name '{}': use up to {} letters, digits, '-' and '_'", name, kLongestName);
}

Result<std::filesystem::path> state_directory() {
  auto directory = wanted_directory();
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return make_error(ErrorCode::io, "testbed: make {}: {}", directory.string(),
                      std::strerror(errno));
  }
  struct stat found {};
  if (::lstat(directory.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
      found.st_uid != ::geteuid()) {
    return make_error(
        ErrorCode::unauthorised,
        "testbed: {} is not a directory of yours; set WEFT_TESTBED_STATE to one that is",
        directory.string());
  }
  return directory;
}

Result<void> write_record(std::string_view name, const Record& record) {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  const Descriptor file(::open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = to_json(record).dump(1) + "\n";
  if (!file.open() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int error = errno;
    if (file.open()) ::unlink(path->c_str());
    return make_error(ErrorCode::io, "testbed: write {}: {}", path->string(), std::strerror(error));
  }
  return {};
}

Result<Record> read_record(std::string_view name) {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  std::ifstream file(*path);
  if (!file) {
    return make_error(ErrorCode::not_found,
                      "testbed '{}' is not up; `weft testbed up --name {}` starts one", name, name);
  }
  try {
    Record record = from_json(json::parse(file));
    if (auto checked = check(record.options); checked.ok()) return record;
  } catch (const json::exception&) {
    // Reported below: the details of damage to a file of ours help nobody.
  }
  return corrupt("{} is damaged; remove it", path->string());
}

Result<void> remove_record(std::string_view name) {
  const auto path = path_of(name);
  if (!path.ok()) return path.error();
  if (::unlink(path->c_str()) == 0 || errno == ENOENT) return {};
  return make_error(ErrorCode::io, "testbed: remove {}: {}", path->string(), std::strerror(errno));
}

std::vector<std::string> record_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(wanted_directory(), error)) {
    const auto& path = entry.path();
    if (path.extension() == kSuffix && check_name(path.stem().string()).ok()) {
      names.push_back(path.stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

bool is_alive(const Record& record) {
  const auto start = start_time_of(record.keeper);
  return start.ok() && *start == record.keeper_start;
}

}  // namespace weft::testbed
