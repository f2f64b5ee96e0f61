// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/make_error.hpp"
#include "base/nearest.hpp"
#include "base/parse_toml.hpp"
#include "sim/topology/builders.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

constexpr std::string_view of_topology[] = {"hosts", "switches", "cables"};
constexpr std::string_view of_cable[] = {"from", "to", "count", "kind"};
constexpr std::uint64_t most_file_cables = 1u << 20;  // a line may ask for many

/// An error, on its way out of this file.
struct Refusal {
  Error error;
};

class TomlTopology {
 public:
  TomlTopology(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  Topology read() {
    check_keys();
    const auto hosts = names("hosts");
    const auto switches = names("switches");
    auto made =
        Topology::make(fmt::format("file:{}", file_), static_cast<std::uint32_t>(hosts.size()),
                       static_cast<std::uint32_t>(switches.size()));
    if (!made) throw Refusal{std::move(made).error()};
    Topology& net = *made;
    std::uint32_t vertex = 0;
    for (const auto* list : {&hosts, &switches}) {
      for (const std::string& name : *list) net.set_label(Vertex(vertex++), name);
    }
    for (const toml::node& cable : list_at("cables")) connect(net, cable);
    if (auto finished = net.finish(); !finished) throw Refusal{std::move(finished).error()};
    return std::move(net);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(const toml::node& where, fmt::format_string<Args...> format,
                           Args&&... args) const {
    throw Refusal{{ErrorCode::invalid_argument,
                   fmt::format("{}:{}: {}", file_, where.source().begin.line,
                               fmt::format(format, std::forward<Args>(args)...))}};
  }

  void check_keys() const {
    for (const auto& [key, node] : root_) {
      if (std::ranges::find(of_topology, key.str()) == std::end(of_topology)) {
        refuse(node, "{}", unknown_key(key.str(), "a topology", of_topology));
      }
    }
  }

  const toml::array& list_at(std::string_view key) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) refuse(root_, "'{}' is missing; add a list", key);
    const toml::array* list = node->as_array();
    if (list == nullptr) refuse(*node, "'{}' is not a list", key);
    return *list;
  }

  /// The names of a list; they are entered into the directory on the way.
  std::vector<std::string> names(std::string_view key) {
    std::vector<std::string> all;
    for (const toml::node& node : list_at(key)) {
      const auto* name = node.as_string();
      if (name == nullptr) refuse(node, "'{}' lists something that is not text", key);
      const Vertex vertex(static_cast<std::uint32_t>(vertices_.size()));
      if (!vertices_.emplace(name->get(), vertex).second) {
        refuse(node, "the name '{}' is there twice; make names unique", name->get());
      }
      all.push_back(name->get());
      if (all.size() > most_hosts) refuse(node, "'{}' has more than {} names", key, most_hosts);
    }
    return all;
  }

  Vertex vertex(const toml::node& cable, const toml::node* end) const {
    const auto* name = end == nullptr ? nullptr : end->as_string();
    if (name == nullptr) {
      refuse(cable, "a cable is a pair of names or a table with from and to");
    }
    const auto found = vertices_.find(name->get());
    if (found == vertices_.end()) {
      refuse(*end, "'{}' is neither in hosts nor in switches", name->get());
    }
    return found->second;
  }

  CableKind kind(const Topology& net, const toml::node& cable, Vertex a, Vertex b,
                 const toml::node* given) const {
    if (a == b) refuse(cable, "a cable from '{}' to itself; remove it", net.label(a));
    if (net.is_host(a) && net.is_host(b)) {
      refuse(cable, "a cable between the hosts '{}' and '{}'; put a switch between them",
             net.label(a), net.label(b));
    }
    if (given != nullptr) {
      const auto text = given->value<std::string_view>().value_or("");
      if (text != "local" && text != "global") refuse(*given, "kind is \"local\" or \"global\"");
      if (text == "global") return CableKind::global;
    }
    return net.is_host(a) || net.is_host(b) ? CableKind::host : CableKind::local;
  }

  std::int64_t count(const toml::node* given) const {
    if (given == nullptr) return 1;
    const auto value = given->value<std::int64_t>().value_or(0);
    if (!given->is_integer() || value < 1 || value > 65'535) {
      refuse(*given, "count is a number from 1 to 65535");
    }
    return value;
  }

  void connect(Topology& net, const toml::node& cable) const {
    const toml::node *from = nullptr, *to = nullptr, *many = nullptr, *kind_node = nullptr;
    if (const auto* pair = cable.as_array(); pair != nullptr && pair->size() == 2) {
      from = pair->get(0);
      to = pair->get(1);
    } else if (const auto* table = cable.as_table()) {
      for (const auto& [key, node] : *table) {
        const std::string_view name = key.str();
        if (name == "from") from = &node;
        if (name == "to") to = &node;
        if (name == "count") many = &node;
        if (name == "kind") kind_node = &node;
        if (std::ranges::find(of_cable, name) == std::end(of_cable)) {
          refuse(node, "{}", unknown_key(name, "a cable", of_cable));
        }
      }
    }
    const Vertex a = vertex(cable, from);
    const Vertex b = vertex(cable, to);
    const CableKind what = kind(net, cable, a, b, kind_node);
    const std::int64_t cables = count(many);
    if (net.cables().size() + static_cast<std::uint64_t>(cables) > most_file_cables) {
      refuse(cable, "more than {} cables in all; use lower counts", most_file_cables);
    }
    for (std::int64_t i = 0; i < cables; ++i) net.connect(a, b, what);
  }

  const toml::table& root_;
  const std::string& file_;
  std::unordered_map<std::string, Vertex> vertices_;
};

}  // namespace

Result<Topology> parse_toml_topology(std::string_view text, const std::string& file) {
  try {
    const toml::table root = parse_toml(text, file);
    return TomlTopology(root, file).read();
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    return invalid("{}:{}: {}; correct that line, or name another topology", file,
                   error.source().begin.line, what);
  } catch (Refusal& refusal) {
    return std::move(refusal.error);
  }
}

}  // namespace weft::sim
