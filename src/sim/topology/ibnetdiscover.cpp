// SPDX-License-Identifier: Apache-2.0
// The format: blocks of one node each, `Switch 36 "S-0002c902400a1b2c" # "description" …` or
// `Ca 1 "H-…" # "description"`, then one line per connected port, `[1] "H-…"[1] # …`, where a
// channel adapter's port has its own identity after it, `[1](2c903000abcdf) "S-…"[1]`. Lines like
// `vendid=0x2c9` before a block are of no use here. Each cable stands there twice.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/topology/builders.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

/// A position in one line; each take_* moves on when it succeeds.
class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }
  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_word() {
    const auto word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::optional<std::uint16_t> take_number() {
    std::uint16_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  /// [7]
  std::optional<std::uint16_t> take_port() {
    if (!take('[')) return std::nullopt;
    const auto number = take_number();
    if (!number || !take(']')) return std::nullopt;
    return number;
  }
  /// What stands between two quotation marks.
  std::optional<std::string_view> take_quoted() {
    if (!take('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  void skip_to(char c) { rest_.remove_prefix(std::min(rest_.find(c), rest_.size())); }

 private:
  std::string_view rest_;
};

struct Node {
  std::string_view guid;
  std::string_view description;
  bool is_switch = false;
  std::uint16_t ports = 0;
};

struct PortLine {
  std::size_t node = 0;
  std::uint16_t port = 0;
  std::string_view other;
  std::uint16_t other_port = 0;
  std::size_t line = 0;
};

class Dump {
 public:
  explicit Dump(const std::string& file) : file_(file) {}

  Result<void> read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      if (auto read = read_line(text.substr(0, end), number); !read) return read;
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    return {};
  }

  Result<Topology> build() {
    if (auto found = find_cables(); !found) return std::move(found).error();
    number_vertices();
    auto made = Topology::make(fmt::format("file:{}", file_), hosts_, switches_);
    if (!made) return made;
    set_labels(*made);
    for (const auto& [a, b] : cables_) {
      const Vertex from = vertex(a);
      const Vertex to = vertex(b);
      const bool host = made->is_host(from) || made->is_host(to);
      made->connect(from, to, host ? CableKind::host : CableKind::local);
    }
    if (auto finished = made->finish(); !finished) return std::move(finished).error();
    return made;
  }

 private:
  using End = std::uint64_t;  // a port of a node
  static End end_of(std::size_t node, std::uint16_t port) { return End{node} << 16 | port; }

  template <class... Args>
  Error wrong(std::size_t line, fmt::format_string<Args...> format, Args&&... args) const {
    return {ErrorCode::corrupt, fmt::format("{}:{}: {}", file_, line,
                                            fmt::format(format, std::forward<Args>(args)...))};
  }

  Result<void> read_line(std::string_view line, std::size_t number) {
    LineCursor cursor(line);
    cursor.skip_space();
    if (cursor.at_end() || cursor.take('#')) return {};
    LineCursor ahead = cursor;
    if (ahead.take('[')) return read_port(cursor, number);
    const std::string_view word = cursor.take_word();
    if (word.find('=') != std::string_view::npos) return {};
    if (word == "Switch" || word == "Ca") return read_node(cursor, word == "Switch", number);
    if (word == "Rt") {
      return wrong(number, "InfiniBand routers are not simulated; remove this block");
    }
    return wrong(number, "'{}' begins no line of a dump; there are Switch, Ca and [port]", word);
  }

  Result<void> read_node(LineCursor& cursor, bool is_switch, std::size_t line) {
    cursor.skip_space();
    const auto ports = cursor.take_number();
    cursor.skip_space();
    const auto guid = cursor.take_quoted();
    if (!ports || *ports == 0 || !guid || guid->empty()) {
      return wrong(line, "a block begins like: {} 36 \"S-0002c902400a1b2c\"",
                   is_switch ? "Switch" : "Ca");
    }
    cursor.skip_to('#');
    cursor.skip_to('"');
    const auto description = cursor.take_quoted();
    if (!by_guid_.emplace(*guid, nodes_.size()).second) {
      return wrong(line, "\"{}\" has a block already; remove one", *guid);
    }
    nodes_.push_back({.guid = *guid,
                      .description = description.value_or(""),
                      .is_switch = is_switch,
                      .ports = *ports});
    if (nodes_.size() > most_hosts) return wrong(line, "more than {} nodes", most_hosts);
    return {};
  }

  Result<void> read_port(LineCursor& cursor, std::size_t line) {
    if (nodes_.empty()) return wrong(line, "a port before the first Switch or Ca block");
    const auto port = cursor.take_port();
    if (cursor.take('(')) {
      cursor.skip_to(')');
      cursor.take(')');
    }
    cursor.skip_space();
    const auto other = cursor.take_quoted();
    const auto other_port = cursor.take_port();
    if (!port || !other || !other_port) {
      return wrong(line, "a port's line is like: [1] \"H-0002c903000abcde\"[1]");
    }
    if (*port == 0 || *port > nodes_.back().ports) {
      return wrong(line, "port {} of a node with ports 1 to {}", *port, nodes_.back().ports);
    }
    lines_.push_back({.node = nodes_.size() - 1,
                      .port = *port,
                      .other = *other,
                      .other_port = *other_port,
                      .line = line});
    return {};
  }

  /// Each cable once, checked from both ends.
  Result<void> find_cables() {
    std::unordered_map<End, End> far_end;
    for (const PortLine& from : lines_) {
      const auto found = by_guid_.find(from.other);
      if (found == by_guid_.end()) {
        return wrong(from.line, "\"{}\" has no Switch or Ca block; add it", from.other);
      }
      const Node& to = nodes_[found->second];
      if (from.other_port == 0 || from.other_port > to.ports) {
        return wrong(from.line, "port {} of \"{}\", which has ports 1 to {}", from.other_port,
                     from.other, to.ports);
      }
      if (found->second == from.node) {
        return wrong(from.line, "a cable from \"{}\" to itself; remove it", from.other);
      }
      if (!to.is_switch && !nodes_[from.node].is_switch) {
        return wrong(from.line, "a cable between two channel adapters; put a switch between them");
      }
      const End here = end_of(from.node, from.port);
      const End there = end_of(found->second, from.other_port);
      const auto [mine, mine_new] = far_end.emplace(here, there);
      const auto [other, other_new] = far_end.emplace(there, here);
      if (mine->second != there || other->second != here) {
        return wrong(from.line, "port {} has two different cables; the two ends must agree",
                     mine->second != there ? from.port : from.other_port);
      }
      if (mine_new) cables_.emplace_back(here, there);
    }
    return {};
  }

  /// Hosts are the connected ports of channel adapters, in the order of the file.
  void number_vertices() {
    std::vector<std::vector<std::uint16_t>> connected(nodes_.size());
    for (const auto& [a, b] : cables_) {
      for (const End end : {a, b}) {
        if (!nodes_[end >> 16].is_switch) {
          connected[end >> 16].push_back(static_cast<std::uint16_t>(end & 0xffff));
        }
      }
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (const std::uint16_t port : connected[n]) host_of_.emplace(end_of(n, port), hosts_++);
      if (nodes_[n].is_switch) switch_of_.emplace(n, switches_++);
    }
  }

  Vertex vertex(End end) const {
    const auto host = host_of_.find(end);
    return Vertex(host != host_of_.end() ? host->second : hosts_ + switch_of_.at(end >> 16));
  }

  void set_labels(Topology& net) const {
    std::unordered_map<std::string_view, int> times;
    for (const Node& node : nodes_) ++times[node.description];
    const auto label = [&](const Node& node) {
      const bool clear = !node.description.empty() && times[node.description] == 1;
      return std::string(clear ? node.description : node.guid);
    };
    for (const auto& [end, host] : host_of_) {
      const Node& node = nodes_[end >> 16];
      net.set_label(net.host(host), node.ports == 1
                                        ? label(node)
                                        : fmt::format("{} port {}", label(node), end & 0xffff));
    }
    for (const auto& [node, index] : switch_of_) {
      net.set_label(net.switch_at(index), label(nodes_[node]));
    }
  }

  const std::string& file_;
  std::vector<Node> nodes_;
  std::vector<PortLine> lines_;
  std::unordered_map<std::string_view, std::size_t> by_guid_;
  std::vector<std::pair<End, End>> cables_;
  std::unordered_map<End, std::uint32_t> host_of_;
  std::unordered_map<std::size_t, std::uint32_t> switch_of_;
  std::uint32_t hosts_ = 0;
  std::uint32_t switches_ = 0;
};

}  // namespace

Result<Topology> parse_ibnetdiscover(std::string_view text, const std::string& file) {
  Dump dump(file);
  if (auto read = dump.read(text); !read) return std::move(read).error();
  return dump.build();
}

}  // namespace weft::sim
