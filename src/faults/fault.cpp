// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "faults/host_list.hpp"

namespace weft::faults {
namespace {

using Kind = Fault::Kind;

struct KindText {
  Kind kind;
  std::string_view name;
  bool has_length;
};
constexpr std::array<KindText, 9> kKinds{{{Kind::link_down, "link-down", true},
                                          {Kind::partition, "partition", true},
                                          {Kind::loss, "loss", true},
                                          {Kind::slow, "slow", true},
                                          {Kind::kill, "kill", false},
                                          {Kind::stop, "stop", true},
                                          {Kind::resume, "cont", false},
                                          {Kind::restart, "restart", false},
                                          {Kind::clock, "clock", false}}};
constexpr std::string_view kExample = "at=2s link-down host3 for=1s";
constexpr Duration kLatest = Duration::seconds(7 * 24 * 3600);

const KindText& text_of(Kind kind) {
  return *std::ranges::find(kKinds, kind, &KindText::kind);
}

// Reads one fault word by word.
class Parser {
 public:
  Parser(std::string_view text, std::uint32_t hosts, FaultPlaces places)
      : text_(text), hosts_(hosts), places_(places) {}

  Result<Fault> parse() {
    std::vector<std::string_view> words;
    for (const auto word : split(text_, ' ')) {
      if (word.empty()) continue;
      if (word.starts_with("at=") || word.starts_with("for=")) {
        if (auto read = time(word); !read.ok()) return std::move(read).error();
      } else {
        words.push_back(word);
      }
    }
    if (!at_) return refused("says no time: begin with at=TIME");
    if (words.empty()) return refused("says no kind");
    const auto kind = std::ranges::find(kKinds, words[0], &KindText::name);
    if (kind == kKinds.end()) {
      return refused(
          fmt::format("has the unknown kind '{}': one of link-down, partition, loss, "
                      "slow, kill, stop, cont, restart, clock",
                      words[0]));
    }
    if (lasts_ && !kind->has_length) return refused(fmt::format("{} has no for=", words[0]));
    fault_.kind = kind->kind;
    fault_.at = *at_;
    fault_.lasts = lasts_.value_or(Duration{});
    if (auto read = operands({words.begin() + 1, words.end()}); !read.ok()) {
      return std::move(read).error();
    }
    return fault_;
  }

 private:
  Error refused(const std::string& why) const {
    return invalid("--fault '{}': {}; an example: '{}'", text_, why, kExample);
  }

  Result<void> time(std::string_view word) {
    auto& time = word.starts_with("at=") ? at_ : lasts_;
    if (time) return refused(fmt::format("'{}' is the second of its kind", word));
    const auto read = parse_duration(word.substr(word.find('=') + 1));
    if (!read.ok()) return refused(read.error().message);
    if (*read > kLatest) return refused(fmt::format("'{}' is more than a week", word));
    if (&time == &lasts_ && *read == Duration{}) return refused("for=0 is no time at all");
    time = *read;
    return {};
  }

  Result<void> operands(const std::vector<std::string_view>& words) {
    const bool has_amount =
        fault_.kind == Kind::loss || fault_.kind == Kind::slow || fault_.kind == Kind::clock;
    const std::size_t wanted = has_amount ? 2 : 1;
    if (words.size() != wanted) {
      return refused(fmt::format("{} takes {} word{} besides the times, not {}",
                                 text_of(fault_.kind).name, wanted, wanted == 1 ? "" : "s",
                                 words.size()));
    }
    if (fault_.kind == Kind::partition) return groups(words[0]);
    if (auto read = place(words[0]); !read.ok()) return read;
    if (fault_.kind == Kind::loss) return loss(words[1]);
    if (fault_.kind == Kind::slow) return rate(words[1]);
    if (fault_.kind == Kind::clock) return jump(words[1]);
    return {};
  }

  Result<void> place(std::string_view word) {
    if (word.find("--") != std::string_view::npos) return cable(word);
    const auto host = parse_host(word, hosts_);
    if (!host.ok()) return refused(host.error().message);
    fault_.host = *host;
    return {};
  }

  Result<void> cable(std::string_view word) {
    if (places_ == FaultPlaces::hosts) {
      return refused(fmt::format("'{}' is a cable of a simulated network; name a host", word));
    }
    const bool of_links =
        fault_.kind == Kind::link_down || fault_.kind == Kind::loss || fault_.kind == Kind::slow;
    if (!of_links) {
      return refused(
          fmt::format("{} happens to hosts; '{}' is a cable", text_of(fault_.kind).name, word));
    }
    fault_.cable = word;
    return {};
  }

  Result<void> loss(std::string_view word) {
    const bool is_percent = word.ends_with('%');
    const auto percent = parse_number<double>(word.substr(0, word.size() - (is_percent ? 1 : 0)));
    if (!is_percent || !percent || !(*percent > 0) || *percent > 100) {
      return refused(fmt::format("'{}' is not a share of packets: write 0.0001% to 100%", word));
    }
    fault_.parts_per_million = std::max(1u, static_cast<std::uint32_t>(*percent * 10'000 + 0.5));
    return {};
  }

  Result<void> rate(std::string_view word) {
    if (word.starts_with("rate=")) word.remove_prefix(5);
    const auto read = parse_bandwidth_from(Bandwidth::bits_per_second(64'000), word);
    if (!read.ok()) return refused(read.error().message);
    if (read->bits_per_second() < 64'000 || read->bits_per_second() > 100'000'000'000) {
      return refused(fmt::format("'{}' is not from 64kbit to 100Gbit", word));
    }
    fault_.rate = *read;
    return {};
  }

  Result<void> jump(std::string_view word) {
    const bool back = word.starts_with('-');
    if (!back && !word.starts_with('+')) {
      return refused(fmt::format("'{}' does not say which way: write +5ms or -5ms", word));
    }
    const auto read = parse_duration(word.substr(1));
    if (!read.ok()) return refused(read.error().message);
    if (*read == Duration{} || *read > Duration::seconds(60)) {
      return refused(fmt::format("'{}' is no jump of at most a minute", word));
    }
    fault_.jump = back ? -*read : *read;
    return {};
  }

  // "host0-3|host4,host5", or the same in braces.
  Result<void> groups(std::string_view word) {
    if (word.starts_with('{') && word.ends_with('}')) word = word.substr(1, word.size() - 2);
    std::vector<std::uint32_t> all;
    for (const auto group : split(word, '|')) {
      auto members = parse_hosts(group, hosts_);
      if (!members.ok()) return refused(members.error().message);
      for (const std::uint32_t host : *members) {
        if (std::ranges::find(all, host) != all.end()) {
          return refused(fmt::format("host{} is in two groups", host));
        }
        all.push_back(host);
      }
      fault_.groups.push_back(std::move(*members));
    }
    if (fault_.groups.size() < 2) return refused("a partition has two groups or more: a|b");
    return {};
  }

  std::string_view text_;
  std::uint32_t hosts_;
  FaultPlaces places_;
  Fault fault_;
  std::optional<Duration> at_;
  std::optional<Duration> lasts_;
};

Result<void> set_cable(const Fault& fault, FaultTarget& target, bool begins) {
  if (fault.kind == Kind::link_down) return target.set_cable_up(fault.cable, !begins);
  if (fault.kind == Kind::slow) {
    return target.set_cable_rate(fault.cable, begins ? fault.rate : Bandwidth{});
  }
  return target.set_cable_loss(fault.cable, begins ? fault.parts_per_million : 0);
}

Result<void> begin(const Fault& fault, FaultTarget& target) {
  if (!fault.cable.empty()) return set_cable(fault, target, true);
  switch (fault.kind) {
    case Kind::link_down:
      return target.set_link_up(fault.host, false);
    case Kind::partition:
      return target.set_partition(fault.groups);
    case Kind::loss:
      return target.set_loss(fault.host, fault.parts_per_million);
    case Kind::slow:
      return target.set_rate(fault.host, fault.rate);
    case Kind::kill:
      return target.kill(fault.host);
    case Kind::stop:
      return target.stop(fault.host);
    case Kind::resume:
      return target.resume(fault.host);
    case Kind::restart:
      return target.restart(fault.host);
    case Kind::clock:
      return target.jump_clock(fault.host, fault.jump);
  }
  return {};
}

Result<void> end(const Fault& fault, FaultTarget& target) {
  if (!fault.cable.empty()) return set_cable(fault, target, false);
  switch (fault.kind) {
    case Kind::link_down:
      return target.set_link_up(fault.host, true);
    case Kind::partition:
      return target.set_partition({});
    case Kind::loss:
      return target.set_loss(fault.host, 0);
    case Kind::slow:
      return target.set_rate(fault.host, Bandwidth{});
    case Kind::stop:
      return target.resume(fault.host);
    case Kind::kill:
    case Kind::resume:
    case Kind::restart:
    case Kind::clock:
      break;
  }
  return {};
}

}  // namespace

Result<Fault> parse_fault(std::string_view text, std::uint32_t hosts, FaultPlaces places) {
  return Parser(text, hosts, places).parse();
}

std::string to_text(const Fault& fault) {
  const auto name = text_of(fault.kind).name;
  const std::string where = fault.cable.empty() ? fmt::format("host{}", fault.host) : fault.cable;
  switch (fault.kind) {
    case Kind::partition: {
      std::string groups;
      for (const auto& group : fault.groups) {
        groups += groups.empty() ? "" : "|";
        for (std::size_t i = 0; i < group.size(); ++i) {
          groups += fmt::format("{}host{}", i == 0 ? "" : ",", group[i]);
        }
      }
      return fmt::format("{} {}", name, groups);
    }
    case Kind::loss:
      return fmt::format("{} {} {:g}%", name, where, fault.parts_per_million / 10'000.0);
    case Kind::slow:
      return fmt::format("{} {} {}", name, where, weft::to_text(fault.rate));
    case Kind::clock: {
      const bool back = fault.jump < Duration{};
      std::string length = weft::to_text(back ? -fault.jump : fault.jump);
      std::erase(length, ' ');
      return fmt::format("{} host{} {}{}", name, fault.host, back ? '-' : '+', length);
    }
    default:
      return fmt::format("{} {}", name, where);
  }
}

Error FaultTarget::impossible_here(std::string_view what) {
  return make_error(ErrorCode::unavailable, "{} is not possible here: run the command in a testbed",
                    what);
}

Error FaultTarget::only_simulated(std::string_view what) {
  return make_error(ErrorCode::unavailable, "{} is possible in simulations only", what);
}

FaultPlayer::FaultPlayer(std::vector<Fault> faults, Instant start)
    : faults_(std::move(faults)), start_(start) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const Fault& fault = faults_[i];
    actions_.push_back({fault.at, i, false});
    if (fault.lasts > Duration{}) actions_.push_back({fault.at + fault.lasts, i, true});
  }
  std::ranges::stable_sort(actions_, {}, &Action::at);
}

Instant FaultPlayer::next_deadline() const {
  return next_ < actions_.size() ? start_ + actions_[next_].at : Instant::never();
}

void FaultPlayer::play(Instant now, FaultTarget& target, std::vector<Played>& log) {
  while (next_deadline() <= now && next_ < actions_.size()) {
    const Action& action = actions_[next_++];
    const Fault& fault = faults_[action.fault];
    log.push_back({action.at, (action.end ? "end of " : "") + to_text(fault),
                   action.end ? end(fault, target) : begin(fault, target)});
  }
}

std::string FaultPlayer::missed(Instant end) const {
  std::vector<std::string> missed;
  for (std::size_t i = next_; i < actions_.size(); ++i) {
    if (!actions_[i].end) missed.push_back(to_text(faults_[actions_[i].fault]));
  }
  if (missed.empty()) return {};
  return fmt::format("--fault '{}' did not happen: all was over {} after the start",
                     fmt::join(missed, "' and '"), to_text(end - start_));
}

bool FaultPlayer::will_restart(std::uint32_t host) const {
  return std::any_of(actions_.begin() + static_cast<std::ptrdiff_t>(next_), actions_.end(),
                     [&](const Action& action) {
                       const Fault& fault = faults_[action.fault];
                       return fault.kind == Kind::restart && fault.host == host;
                     });
}

}  // namespace weft::faults
