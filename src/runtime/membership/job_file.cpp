// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/job_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <unordered_map>
#include <vector>

#include "base/make_error.hpp"
#include "base/nearest.hpp"
#include "base/number_text.hpp"
#include "base/system_error.hpp"
#include "base/units.hpp"
#include "runtime/membership/life.hpp"

namespace weft {
namespace {

constexpr std::size_t largest_file = 16u << 20;
constexpr std::size_t most_ranks = 65536;
constexpr std::size_t longest_unix_name = 100;
constexpr std::uint32_t most_connections = 1u << 20;

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Values that only have a meaning together, collected while reading.
struct Attempts {
  std::optional<std::int64_t> send, receive;
  double send_delay = 0.1, receive_delay = 0.1;  // seconds
  std::uint32_t client_connections = 0, server_connections = 0;
};

class Parser;
/// Sets the member that a key stands for. Returns the form that a refused value should have had;
/// "": it is good.
using Setter = std::string (*)(Parser&, std::string_view value);
struct Key {
  std::string_view name;
  Setter set;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text) { file.path = path; }

  Result<JobFile> parse() {
    while (!text_.empty() && !error_) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      on_line(trim(text_.substr(0, end)));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (error_) return *std::move(error_);
    if (file.ranks.empty()) {
      return invalid(
          "{}: has no addresses; add [addresses] and a line for each rank, such as: 0 = localhost "
          "4444",
          file.path);
    }
    finish();
    return std::move(file);
  }

  std::uint32_t line() const { return line_; }
  std::string beside_the_file(std::string_view name) const {
    // An absolute name replaces all before it.
    return (std::filesystem::path(file.path).parent_path() / name).string();
  }

  JobFile file;
  Attempts attempts;

 private:
  enum class Group : std::uint8_t { none, general, addresses };

  void wrong(std::string_view what) { error_ = invalid("{}: {}", file.where(line_), what); }

  void on_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\t'; };
    if (std::any_of(line.begin(), line.end(), is_control)) {
      return wrong("has control characters; name a text file of the addresses of all ranks");
    }
    if (line.front() == '[') return on_group(line);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return wrong(
          fmt::format("'{}' is neither [GROUP], KEY = VALUE nor a # comment", line.substr(0, 80)));
    }
    const std::string_view key = trim(line.substr(0, equals));
    const std::string_view value = trim(line.substr(equals + 1));
    switch (group_) {
      case Group::none:
        return wrong(
            fmt::format("'{}' stands before any group; write [general] or [addresses] "
                        "above it",
                        key));
      case Group::general:
        return on_setting(key, value);
      case Group::addresses:
        return on_address(key, value);
    }
  }

  void on_group(std::string_view line) {
    if (line == "[general]") {
      group_ = Group::general;
    } else if (line == "[addresses]") {
      group_ = Group::addresses;
    } else {
      wrong(
          fmt::format("'{}' is none of the groups [general] and [addresses]", line.substr(0, 80)));
    }
  }

  bool is_new(std::string_view key) {
    const auto [before, is_new] = lines_.emplace(
        fmt::format("{} {}", group_ == Group::general ? "general" : "addresses", key), line_);
    if (!is_new) wrong(fmt::format("'{}' is there already, in line {}", key, before->second));
    return is_new;
  }

  void on_setting(std::string_view key, std::string_view value);

  // Ranks are counted by the order of the lines; a number in a key has to agree.
  void on_address(std::string_view key, std::string_view value) {
    if (!is_new(key)) return;
    const std::size_t rank = file.ranks.size();
    if (rank == most_ranks) return wrong(fmt::format("has more than {} addresses", most_ranks));
    const std::size_t last_other = key.find_last_not_of("0123456789");
    const std::size_t digits = last_other == std::string_view::npos ? 0 : last_other + 1;
    if (digits < key.size() && parse_number<std::uint64_t>(key.substr(digits)) != rank) {
      return wrong(
          fmt::format("'{0}' is the address of rank {1}, since ranks count the lines from "
                      "0; put the lines in order, or name it {2}{1}",
                      key, rank, key.substr(0, digits)));
    }
    auto place = parse_place(value);
    if (!place) {
      return wrong(
          fmt::format("'{}' is no address; write HOST PORT, with a port between 1 and "
                      "65535, or one word for an abstract Unix socket",
                      value.substr(0, 80)));
    }
    place->line = line_;
    file.ranks.push_back(*std::move(place));
  }

  static bool is_word(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
      return c > ' ' && c < 127 && c != '|';
    });
  }

  static std::optional<RankPlace> parse_place(std::string_view value) {
    const std::size_t gap = value.find_first_of(" \t");
    std::string_view host = value.substr(0, gap), port;
    if (gap != std::string_view::npos) {
      port = trim(value.substr(gap));
    } else if (const std::size_t colon = value.rfind(':'); colon != std::string_view::npos) {
      host = value.substr(0, colon);
      port = value.substr(colon + 1);
    } else if (is_word(value) && value.size() <= longest_unix_name) {
      return RankPlace{.host = {}, .port = 0, .unix_name = std::string(value), .line = 0};
    }
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    const auto n = parse_number<std::uint16_t>(port);
    if (!is_word(host) || host.size() > 255 || !n || *n == 0) return std::nullopt;
    return RankPlace{.host = std::string(host), .port = *n, .unix_name = {}, .line = 0};
  }

  // The paper limits attempts and their delay; weft, the time that both make.
  void finish() {
    const auto& [send, receive, send_delay, receive_delay, client, server] = attempts;
    if (!file.timeout && (send || receive)) {
      const bool for_ever = send.value_or(0) < 0 || receive.value_or(0) < 0;
      const double seconds = std::max(static_cast<double>(send.value_or(0)) * send_delay,
                                      static_cast<double>(receive.value_or(0)) * receive_delay);
      file.timeout = for_ever || seconds > 1e9 ? Duration::max() : Duration::from_seconds(seconds);
    }
    if (!file.connections && client + server > 0) file.connections = client + server;
  }

  std::string_view text_;
  std::uint32_t line_ = 0;
  Group group_ = Group::none;
  std::unordered_map<std::string, std::uint32_t> lines_;  // of keys
  std::optional<Error> error_;
};

// ---- values

constexpr const char* good = "";

template <class Value, class Read>
std::string set(std::optional<Value>& target, std::string_view text, Read read) {
  auto value = read(text);
  if (!value) return value.error().message;
  target = *value;
  return good;
}

std::string set_count(std::uint32_t& target, std::string_view text) {
  const auto n = parse_number<std::uint32_t>(text);
  if (!n || *n == 0 || *n > most_connections) return "is no number of at least 1";
  target = *n;
  return good;
}

std::string set_seconds(double& target, std::string_view text) {
  const auto n = parse_number<double>(text);
  if (!n || !std::isfinite(*n) || *n < 0 || *n > 1e9) return "is no number of seconds";
  target = *n;
  return good;
}

std::string set_attempts(std::optional<std::int64_t>& target, std::string_view text) {
  const auto n = parse_number<std::int64_t>(text);
  if (!n || *n < -1 || *n > 1'000'000'000) return "is no number of attempts; -1 is for ever";
  target = *n;
  return good;
}

std::string set_text(std::string& target, std::string_view text) {
  if (text.empty()) return "is empty";
  target = text;
  return good;
}

// Settings of the paper's own implementation that have no counterpart here are still looked at.
std::string ignore_count(Parser&, std::string_view text) {
  std::uint32_t ignored = 0;
  return set_count(ignored, text);
}
std::string ignore_seconds(Parser&, std::string_view text) {
  double ignored = 0;
  return set_seconds(ignored, text);
}
std::string ignore_truth(Parser&, std::string_view text) {
  const bool is_truth = text == "true" || text == "false" || text == "1" || text == "0";
  return is_truth ? good : "is neither true nor false";
}

std::string set_inbox_size(Parser& p, std::string_view text) {
  const auto n = parse_number<std::uint64_t>(text);
  if (!n) return "is no number of bytes";
  p.file.inbox = ByteCount(*n);
  return good;
}

// Without a limit nothing is ever removed (paper 4, 4.5.7). A limited one blocks its senders there;
// here messages that nobody keeps need no room of their own.
std::string set_outbox_size(Parser& p, std::string_view text) {
  const auto n = parse_number<std::int64_t>(text);
  if (!n || *n < -1) return "is no number of bytes; -1 keeps everything";
  p.file.retain = *n == -1;
  return good;
}

std::string set_restart(Parser& p, std::string_view text) {
  if (text != "on-failure" && text != "never") return "is neither on-failure nor never";
  p.file.retain = text == "on-failure";
  return good;
}

std::string set_timeout(Parser& p, std::string_view text) {
  if (text == "never") {
    p.file.timeout = Duration::max();
    return good;
  }
  return set(p.file.timeout, text, parse_duration);
}

std::string set_connections(Parser& p, std::string_view text) {
  std::uint32_t n = 0;
  const std::string why = set_count(n, text);
  if (why.empty()) p.file.connections = n;
  return why;
}

std::string set_socket_timeout(Parser& p, std::string_view text) {
  double seconds = 0;
  const std::string why = set_seconds(seconds, text);
  if (why.empty()) p.file.peer_timeout = Duration::from_seconds(seconds);
  return why;
}

std::string set_fabric(Parser& p, std::string_view text) {
  auto fabric = parse_file_fabric(text);
  if (!fabric) return fabric.error().message;
  p.file.fabric = std::move(fabric).value();
  return good;
}

std::string set_secret_file(Parser& p, std::string_view text) {
  if (text.empty()) return "is empty";
  p.file.secret_file = p.beside_the_file(text);
  p.file.secret_line = p.line();
  return good;
}

std::string set_spill(Parser& p, std::string_view text) {
  if (text.empty()) return "is empty";
  p.file.spill = p.beside_the_file(text);
  return good;
}

std::string set_outbox_fails(Parser& p, std::string_view text) {
  if (text != "true" && text != "false") return "is neither true nor false";
  p.file.outbox_fails = text == "true";
  return good;
}

constexpr std::array keys{
    Key{"timeout", set_timeout},
    Key{"peer_timeout",
        [](Parser& p, std::string_view v) { return set(p.file.peer_timeout, v, parse_duration); }},
    Key{"heartbeat",
        [](Parser& p, std::string_view v) { return set(p.file.heartbeat, v, parse_heartbeat); }},
    Key{"fabric", set_fabric},
    Key{"inbox",
        [](Parser& p, std::string_view v) { return set(p.file.inbox, v, parse_byte_count); }},
    Key{"outbox",
        [](Parser& p, std::string_view v) { return set(p.file.outbox, v, parse_byte_count); }},
    Key{"outbox_fails", set_outbox_fails},
    Key{"spill", set_spill},
    Key{"restart", set_restart},
    Key{"connections", set_connections},
    Key{"job_id", [](Parser& p, std::string_view v) { return set_text(p.file.job_id, v); }},
    Key{"secret_file", set_secret_file},
    // The paper's own (its 9.3).
    Key{"backend_async_send", ignore_truth},
    Key{"backend_native_reduce", ignore_truth},
    Key{"backend_peer_reduce", ignore_truth},
    Key{"minimpi_async_split", ignore_truth},
    Key{"client_connections",
        [](Parser& p, std::string_view v) { return set_count(p.attempts.client_connections, v); }},
    Key{"server_connections",
        [](Parser& p, std::string_view v) { return set_count(p.attempts.server_connections, v); }},
    Key{"client_threads", ignore_count},
    Key{"server_threads", ignore_count},
    Key{"socket_backlog", ignore_count},
    Key{"socket_timeout", set_socket_timeout},
    Key{"inbox_size", set_inbox_size},
    Key{"outbox_size", set_outbox_size},
    Key{"send_attempts",
        [](Parser& p, std::string_view v) { return set_attempts(p.attempts.send, v); }},
    Key{"send_delay",
        [](Parser& p, std::string_view v) { return set_seconds(p.attempts.send_delay, v); }},
    Key{"receive_attempts",
        [](Parser& p, std::string_view v) { return set_attempts(p.attempts.receive, v); }},
    Key{"receive_delay",
        [](Parser& p, std::string_view v) { return set_seconds(p.attempts.receive_delay, v); }},
    Key{"receive_timeout", ignore_seconds},
};

void Parser::on_setting(std::string_view key, std::string_view value) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == key; });
  if (found == keys.end()) {
    std::vector<std::string> names;
    for (const Key& k : keys) names.emplace_back(k.name);
    return wrong(fmt::format("'{}' is no key of [general]{} docs/messages.md lists them",
                             key.substr(0, 80),
                             did_you_mean(nearest(key.substr(0, 80), names), ";")));
  }
  if (!is_new(key)) return;
  const std::string why = found->set(*this, value);
  if (!why.empty()) wrong(fmt::format("{} = {}: {}", key, value.substr(0, 80), why));
}

}  // namespace

std::string JobFile::where(std::uint32_t line) const {
  return fmt::format("{}:{}", path, line);
}

Result<std::string> parse_file_fabric(std::string_view text) {
  if (text == "auto" || text == "tcp") return std::string(text);
  return invalid(
      "'{}': a configuration file has addresses of TCP; choose auto, with shared memory within a "
      "machine, or tcp",
      text);
}

Result<Duration> parse_heartbeat(std::string_view text) {
  auto heartbeat = parse_duration(text);
  if (!heartbeat || *heartbeat >= Duration::milliseconds(1)) return heartbeat;
  return invalid("heartbeat '{}': choose at least 1ms", text);
}

Result<JobFile> parse_job_file(std::string_view text, const std::string& path) {
  return Parser(text, path).parse();
}

Result<JobFile> read_job_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) {
    return make_error(ErrorCode::not_found, "{}: {}; name a file with the addresses of all ranks",
                      path, why);
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return cannot(std::strerror(errno));
  if (file < 0) return system_error("open", path, errno);
  struct stat status {};
  std::string text;
  const bool known = ::fstat(file, &status) == 0;
  const bool good_file = known && S_ISREG(status.st_mode);
  const bool small = static_cast<std::size_t>(status.st_size) <= largest_file;
  ssize_t n = 0;
  if (good_file && small) {
    std::array<char, 16 << 10> part;
    while (text.size() <= largest_file && (n = ::read(file, part.data(), part.size())) > 0) {
      text.append(part.data(), static_cast<std::size_t>(n));
    }
  }
  const int number = errno;
  ::close(file);
  if (!good_file) return cannot("is not a file");
  if (!small || text.size() > largest_file) return cannot("is larger than 16 MiB");
  if (n < 0) return system_error("read", path, number);
  auto parsed = parse_job_file(text, path);
  if (parsed) parsed->changed = incarnation_at(status.st_mtim);
  return parsed;
}

}  // namespace weft
