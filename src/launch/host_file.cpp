// SPDX-License-Identifier: Apache-2.0
#include "launch/host_file.hpp"

#include <algorithm>
#include <optional>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/system_error.hpp"

namespace weft {
namespace {

constexpr std::size_t largest_file = 1u << 20;
constexpr std::uint32_t most_slots = 4096;
constexpr std::string_view blanks = " \t\r";

std::string_view next_word(std::string_view& line) {
  const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
  const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

// Nothing that ssh would take for an option, or a shell for more than a word.
bool is_host(std::string_view word) {
  constexpr std::string_view others = "._-@:%[]";
  return !word.empty() && word.front() != '-' && word.size() <= 255 &&
         std::all_of(word.begin(), word.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  others.find(c) != std::string_view::npos;
         });
}

std::optional<std::uint32_t> parse_slots(std::string_view word) {
  constexpr std::string_view key = "slots=";
  if (word.starts_with(key)) word.remove_prefix(key.size());
  const auto slots = parse_number<std::uint32_t>(word);
  return slots && *slots > 0 && *slots <= most_slots ? slots : std::nullopt;
}

}  // namespace

Result<std::vector<HostSlots>> parse_host_file(std::string_view text, const std::string& path) {
  if (text.find('\0') != std::string_view::npos) {
    return invalid("{}: is not a text file; name one with a line for each host, such as: node1 4",
                   path);
  }
  std::vector<HostSlots> hosts;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const auto wrong = [&](std::string_view word, const char* what) {
      return invalid("{}:{}: '{}' is {}; write HOST, HOST 4 or HOST slots=4", path, number,
                     word.substr(0, 80), what);
    };
    const std::string_view host = next_word(line);
    if (host.empty()) continue;
    if (!is_host(host)) return wrong(host, "no name of a host");
    const std::string_view word = next_word(line);
    const auto slots = word.empty() ? std::optional(1u) : parse_slots(word);
    if (!slots) return wrong(word, "no number of slots");
    if (const auto more = next_word(line); !more.empty()) return wrong(more, "too much");
    const auto before = std::find_if(hosts.begin(), hosts.end(),
                                     [&](const HostSlots& h) { return h.host == host; });
    if (before != hosts.end()) {
      before->slots = std::min(before->slots + *slots, most_slots);
    } else {
      hosts.push_back({.host = std::string(host), .slots = *slots});
    }
  }
  if (!hosts.empty()) return hosts;
  return invalid("{}: names no host; write a line for each, such as: node1 4", path);
}

Result<std::vector<HostSlots>> read_host_file(const std::string& path) {
  const auto text = read_text_file(path, largest_file);
  if (!text) return Error{text.error().code, "--hosts: " + text.error().message};
  return parse_host_file(*text, path);
}

}  // namespace weft
