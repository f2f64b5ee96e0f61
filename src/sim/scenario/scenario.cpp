// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/make_error.hpp"

namespace weft::sim {
namespace {

constexpr ByteCount smallest_stack = ByteCount::kib(64);

Error wrong(std::string_view key, std::string_view value, std::string_view fix) {
  return invalid("{} is {}: {}", key, value, fix);
}

Result<void> check_length(std::string_view key, Duration d) {
  if (d.ticks() >= 0 && d <= Duration::seconds(86'400)) return {};
  return wrong(key, fmt::format("{} ns", d.ticks()), "use 0 to a day");
}

/// Packets of reliable connections have headers of their own, and at least 256 bytes of payload.
Result<void> check_reliable(const Scenario& s) {
  constexpr std::uint32_t least_mtu = 256, most_mtu = 4096, most_header = 64;
  if (!s.fabric.reliable) return {};
  const NetworkOptions& n = s.network;
  if (n.mtu < least_mtu) {
    return wrong("network.mtu", fmt::format("{}", n.mtu), "transport = \"rc\" needs 256 or more");
  }
  const std::uint32_t packet = std::min(n.mtu, most_mtu) + most_header;
  if (n.buffer_bytes < packet) {
    return wrong("network.buffer", fmt::format("{}", n.buffer_bytes),
                 fmt::format("packets of transport = \"rc\" have up to {} bytes", packet));
  }
  if (s.fabric.reliable->dummy_after.ticks() < 0) {
    return wrong("fabric.dummy-after", "negative", "use 0, or 600us");
  }
  return {};
}

/// Checks whether the network has the levels that traffic, jobs and programs send on.
Result<void> check_levels(const Scenario& s) {
  const std::size_t levels = s.network.levels.size();
  const auto check = [levels](const std::string& key, std::uint8_t level) -> Result<void> {
    if (level < levels) return {};
    return wrong(key, fmt::format("{}", level),
                 fmt::format("there are {} levels, counted from 0; add [[levels]]", levels));
  };
  for (std::size_t i = 0; i < s.traffic.size(); ++i) {
    auto good = check(fmt::format("traffic[{}].level", i), s.traffic[i].level);
    if (!good) return good;
  }
  for (const ScenarioJob& job : s.jobs) {
    if (auto good = check_length(job.key + ".start", job.start); !good) return good;
    if (auto good = check(job.key + ".level", job.level); !good) return good;
  }
  return check("programs.level", s.programs.level);
}

const ScenarioEntry* find(const std::vector<ScenarioEntry>& entries, std::string_view key) {
  for (const ScenarioEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  }
  return text;
}

std::string shown(std::string_view value) {
  constexpr std::size_t longest = 80;
  if (value.empty()) return "\"\"";
  if (value.size() <= longest) return std::string(value);
  return std::string(value.substr(0, longest)) + "…";
}

Error Scenario::located(std::string_view key, Error error) const {
  // The key that the message begins with, maybe as an option: "load is …", "--inputs 0: …".
  std::string_view word = std::string_view(error.message).substr(0, error.message.find(' '));
  if (word.starts_with("--")) word.remove_prefix(2);
  if (word.ends_with(':')) word.remove_suffix(1);
  const ScenarioEntry* entry =
      find(entries, fmt::format("{}{}{}", key, key.empty() ? "" : ".", word));
  const bool is_word = entry != nullptr;
  if (entry == nullptr) entry = find(entries, key);
  if (entries.empty()) return error;
  // A missing key has no line of its own: the error names its section's, or none.
  for (; entry == nullptr && word.find('.') != word.npos; entry = find(entries, word)) {
    word = word.substr(0, word.rfind('.'));
  }
  if (entry == nullptr) {
    error.message = one_line(fmt::format("{}: {}", name, error.message));
    return error;
  }
  std::string message = error.message;
  if (is_word && message.starts_with(fmt::format("{} is ", word))) {
    const std::size_t end = message.find(": ");
    if (end != std::string::npos) message.erase(0, end + 2);
  }
  const std::string place =
      entry->setting.empty() ? fmt::format("{}:{}", name, entry->line) : entry->setting;
  // A setting says both already.
  const bool has_value = entry->setting.empty() && !entry->value.empty();
  const std::string value =
      has_value ? fmt::format("{} = {}: ", entry->key, shown(entry->value)) : "";
  error.message = one_line(fmt::format("{}: {}{}", place, value, message));
  return error;
}

Result<void> refuse_faults(const Scenario& s, std::string_view fix) {
  if (s.faults.empty() && !s.random_faults.happen()) return {};
  const bool only_drawn = s.faults.empty();
  return s.located(only_drawn ? "random-faults" : "faults[0]",
                   invalid("no faults happen here; take {} out, {}",
                           only_drawn ? "[random-faults]" : "faults", fix));
}

Result<void> check_scenario(const Scenario& s) {
  if (auto good = check_reliable(s); !good) return good;
  const std::pair<std::string_view, Duration> lengths[] = {
      {"clocks.offset", s.clocks.offset},
      {"noise.every", s.noise.every},
      {"noise.mean", s.noise.mean},
      {"fabric.acknowledgement", s.fabric.acknowledgement},
      {"fabric.death-notice", s.fabric.death_notice},
      {"fabric.notice-spread", s.fabric.notice_spread},
      {"random-faults.mean-length", s.random_faults.mean_length},
      {"random-faults.until", s.random_faults.until},
      {"programs.restart-after", s.programs.restart_after},
      {"programs.crash-within", s.programs.crash_within},
      {"programs.limit", s.programs.limit},
      {"duration", s.duration},
  };
  for (const auto& [key, value] : lengths) {
    if (auto good = check_length(key, value); !good) return good;
  }
  if (!(s.clocks.drift_per_million >= 0) || s.clocks.drift_per_million > 1000) {
    return wrong("clocks.drift-ppm", fmt::format("{}", s.clocks.drift_per_million),
                 "use 0 to 1000");
  }
  if (s.noise.every.ticks() > 0 && s.noise.mean.ticks() == 0) {
    return wrong("noise.mean", "0", "pauses that happen need a length");
  }
  const std::pair<std::string_view, double> rates[] = {
      {"random-faults.links-down-per-s", s.random_faults.links_down_per_s},
      {"random-faults.links-slow-per-s", s.random_faults.links_slow_per_s},
      {"random-faults.pauses-per-s", s.random_faults.pauses_per_s},
      {"random-faults.crashes-per-s", s.random_faults.crashes_per_s},
  };
  for (const auto& [key, value] : rates) {
    if (!(value >= 0) || value > 1e6) {
      return wrong(key, fmt::format("{}", value), "use 0 to 1000000");
    }
  }
  if (s.random_faults.happen() && s.random_faults.until.ticks() == 0) {
    return wrong("random-faults.until", "0",
                 "none would happen; write the time until which they do, such as until = \"50ms\"");
  }
  if (s.programs.stack < smallest_stack) {
    return wrong("programs.stack", fmt::format("{}", s.programs.stack.value()),
                 "a process needs some; use 64KiB or more");
  }
  if (s.duration.ticks() <= 0) {
    return wrong("duration", fmt::format("{} ns", s.duration.ticks()), "traffic needs a time");
  }
  return check_levels(s);
}

}  // namespace weft::sim
