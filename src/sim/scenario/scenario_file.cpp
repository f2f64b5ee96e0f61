// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.hpp"
#include "sim/topology/options.hpp"

namespace weft::sim {
namespace {

constexpr std::uintmax_t largest_file = 1u << 20;
constexpr std::size_t most_traffics = 64;
constexpr std::size_t most_faults = 10'000;
constexpr std::string_view set_option = "--set ";

/// What is wrong with a file, on its way out of the functions that read it.
struct TomlRefusal {
  Error error;
};

/// "--set KEY=VALUE" of a node that does not come from the file; else empty.
std::string setting_of(const toml::node& node) {
  const auto& path = node.source().path;
  return path && path->starts_with(set_option) ? *path : std::string();
}

/// Where a node stands, for messages.
std::string place_of(const toml::node& node, const std::string& file) {
  std::string setting = setting_of(node);
  if (!setting.empty()) return setting;
  return fmt::format("{}:{}", file, node.source().begin.line);
}

/// One table of a file, key by key. What is not asked for is unknown and refused.
class TomlSection {
 public:
  /// `path` is the section's name for messages: "network", or empty for the whole file. All are
  /// referred to.
  TomlSection(const std::string& file, const toml::table& table, std::string path)
      : file_(file), table_(table), path_(std::move(path)) {}

  template <class... Args>
  [[noreturn]] void refuse(const toml::node& where, fmt::format_string<Args...> format,
                           Args&&... args) const {
    throw TomlRefusal{{ErrorCode::invalid_argument,
                       fmt::format("{}: {}", place_of(where, file_),
                                   fmt::format(format, std::forward<Args>(args)...))}};
  }

  /// The value of a key, which is known from now on; null when it is not there.
  const toml::node* get(std::string_view key) {
    known_.push_back(key);
    return table_.get(key);
  }
  std::string full(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  void text(std::string_view key, std::string& target) {
    if (const toml::node* node = get(key)) target = text_of(*node, key);
  }
  void flag(std::string_view key, bool& target) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    if (!node->is_boolean()) refuse(*node, "{} is neither true nor false", full(key));
    target = node->as_boolean()->get();
  }
  template <class T>
  void integer(std::string_view key, T& target, std::int64_t least, std::int64_t most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < least || number->get() > most) {
      refuse(*node, "{} is no whole number from {} to {}", full(key), least, most);
    }
    target = static_cast<T>(number->get());
  }
  void number(std::string_view key, double& target, double least, double most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    const double value = node->value<double>().value_or(least - 1);
    if (!node->is_number() || !(value >= least && value <= most)) {
      refuse(*node, "{} is no number from {} to {}", full(key), least, most);
    }
    target = value;
  }
  void duration(std::string_view key, Duration& target) {
    parsed(key, target, parse_duration, "\"20us\"");
  }
  void duration(std::string_view key, PicoDuration& target) {
    Duration ns = to_nano(target);
    if (const toml::node* node = table_.get(key); node != nullptr) {
      duration(key, ns);
      if (ns > Duration::seconds(86'400)) refuse(*node, "{} is more than a day", full(key));
      target = to_pico(ns);
    } else {
      get(key);
    }
  }
  void rate(std::string_view key, Bandwidth& target) {
    parsed(key, target, parse_bandwidth, "\"100Gbit\"");
  }
  /// At most `most` bytes.
  template <class T>
  void bytes(std::string_view key, T& target, std::uint64_t most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    std::string text;
    if (const auto* number = node->as_integer()) {
      text = fmt::format("{}", number->get());
    } else {
      text = text_of(*node, key);
    }
    const auto value = parse_byte_count(text);
    if (!value) refuse(*node, "{}: {}", full(key), value.error().message);
    if (value->value() > most) {
      refuse(*node, "{} is {}: use at most {}", full(key), text, to_text(ByteCount(most)));
    }
    target = static_cast<T>(value->value());
  }

  /// A section within this one, or null.
  const toml::table* section(std::string_view key) {
    const toml::node* node = get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) refuse(*node, "{} is no section; write [{}]", full(key), full(key));
    return node->as_table();
  }
  /// The sections of a list, at most so many.
  std::vector<const toml::table*> sections(std::string_view key, std::size_t most) {
    std::vector<const toml::table*> all;
    const toml::node* node = get(key);
    if (node == nullptr) return all;
    if (!node->is_array()) refuse(*node, "{} is no list; write [[{}]]", full(key), full(key));
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_table()) refuse(item, "{} lists something that is no section", full(key));
      if (all.size() == most) refuse(item, "there are more than {} of {}", most, full(key));
      all.push_back(item.as_table());
    }
    return all;
  }

  /// After the last key: refuses all that was not asked for.
  void finish() const {
    for (const auto& [key, node] : table_) {
      const std::string_view name = key.str();
      bool is_known = false;
      for (const std::string_view known : known_) is_known = is_known || known == name;
      if (is_known) continue;
      refuse(node, "unknown key '{}'; {} has {}", name, path_.empty() ? "a scenario" : path_,
             fmt::join(known_, ", "));
    }
  }

  const std::string& text_of(const toml::node& node, std::string_view key) const {
    const auto* text = node.as_string();
    if (text == nullptr) refuse(node, "{} is not text in quotes", full(key));
    return text->get();
  }

 private:
  template <class T, class Parse>
  void parsed(std::string_view key, T& target, Parse parse, std::string_view example) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    if (!node->is_string())
      refuse(*node, "{} is not text with a unit, like {}", full(key), example);
    const auto value = parse(text_of(*node, key));
    if (!value) refuse(*node, "{}: {}", full(key), value.error().message);
    target = *value;
  }

  const std::string& file_;
  const toml::table& table_;
  std::string path_;
  std::vector<std::string_view> known_;
};

/// A scalar as the command line would have it.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  return std::nullopt;
}

/// Everything there is below a node, with its line.
void list_entries(const toml::node& node, const std::string& key,
                  std::vector<ScenarioEntry>& entries) {
  const auto line = static_cast<std::uint32_t>(node.source().begin.line);
  if (const auto* table = node.as_table()) {
    if (!key.empty()) entries.push_back({key, "", line, setting_of(node)});
    for (const auto& [name, value] : *table) {
      list_entries(value,
                   key.empty() ? std::string(name.str()) : fmt::format("{}.{}", key, name.str()),
                   entries);
    }
  } else if (const auto* array = node.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      list_entries(*array->get(i), fmt::format("{}[{}]", key, i), entries);
    }
  } else {
    entries.push_back({key, scalar_text(node).value_or(""), line, setting_of(node)});
  }
}

class ScenarioFile {
 public:
  ScenarioFile(const toml::table& root, const std::string& file) : root_(root), file_(file) {
    scenario_.name = file;
  }

  Scenario read() {
    list_entries(root_, "", scenario_.entries);
    TomlSection top(file_, root_, "");
    read_network(top);
    read_levels(top);
    read_placement(top);
    read_fabric(top);
    read_disturbances(top);
    read_traffic(top);
    read_faults(top);
    read_job(top);
    top.integer("seed", scenario_.seed, 0, std::numeric_limits<std::int64_t>::max());
    top.duration("duration", scenario_.duration);
    top.finish();
    if (auto good = check_network(scenario_.network); !good) refuse("network", good.error());
    if (auto good = check_scenario(scenario_); !good) refuse("", good.error());
    return std::move(scenario_);
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const Error& error) const {
    throw TomlRefusal{scenario_.located(key, error)};
  }

  /// A file that is named in a file is looked for from there.
  std::string anchored(const std::string& name) const {
    return (std::filesystem::path(file_).parent_path() / name).string();
  }

  void read_network(TomlSection& top) {
    const toml::table* table = top.section("network");
    if (table == nullptr) top.refuse(root_, "there is no [network]; give it a topology at least");
    TomlSection s(file_, *table, "network");
    const toml::node* topology = s.get("topology");
    if (topology == nullptr)
      s.refuse(*table, "[network] has no topology; write one like \"star:16\"");
    auto parsed = parse_topology(s.text_of(*topology, "topology"));
    if (!parsed) refuse("network.topology", parsed.error());
    scenario_.topology = s.text_of(*topology, "topology");
    if (const auto* from_file = std::get_if<TopologyFileOptions>(&*parsed)) {
      scenario_.topology = "file:" + anchored(from_file->path);
    }
    s.text("router", scenario_.router);
    NetworkOptions& o = scenario_.network;
    std::string preset;
    s.text("preset", preset);
    if (!preset.empty()) {
      auto network = network_preset(preset);
      if (!network) refuse("network.preset", network.error());
      o = std::move(network).value();
    }
    read_link(s, "host-link", o.host_link);
    read_link(s, "local-link", o.local_link);
    read_link(s, "global-link", o.global_link);
    s.bytes("mtu", o.mtu, 1 << 20);
    s.bytes("packet-overhead", o.packet_overhead, 1 << 16);
    s.bytes("buffer", o.buffer_bytes, 1 << 30);
    s.duration("switch-delay", o.switch_delay);
    s.flag("cut-through", o.cut_through);
    s.duration("host-overhead", o.host_overhead);
    s.duration("injection-gap", o.injection_gap);
    s.duration("retransmit-after", o.retransmit_after);
    s.integer("interleaved-messages", o.interleaved_messages, 1, 1 << 20);
    s.finish();
  }

  void read_link(TomlSection& network, std::string_view key, LinkOptions& link) {
    const toml::table* table = network.section(key);
    if (table == nullptr) return;
    TomlSection s(file_, *table, network.full(key));
    s.rate("rate", link.rate);
    if (const toml::node* rate = table->get("rate"); rate != nullptr && link.rate == Bandwidth{}) {
      s.refuse(*rate, "{} is 0: give one such as \"100Gbit\"", s.full("rate"));
    }
    s.duration("latency", link.latency);
    if (const toml::node* latency = table->get("latency");
        latency != nullptr && link.latency.ticks() <= 0) {
      s.refuse(*latency, "{} is 0: cables have some; use 1ns or more", s.full("latency"));
    }
    s.finish();
  }

  void read_levels(TomlSection& top) {
    const auto tables = top.sections("levels", 16);
    if (tables.empty()) return;
    scenario_.network.levels.clear();
    for (const toml::table* table : tables) {
      TomlSection s(file_, *table, fmt::format("levels[{}]", scenario_.network.levels.size()));
      LevelOptions level;
      s.integer("priority", level.priority, 0, 255);
      s.integer("weight", level.weight, 1, 255);
      s.finish();
      scenario_.network.levels.push_back(level);
    }
  }

  void read_placement(TomlSection& top) {
    const toml::table* table = top.section("placement");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "placement");
    std::string word = "contiguous";
    s.text("kind", word);
    auto placement = parse_placement(word);
    if (!placement) refuse("placement.kind", placement.error());
    scenario_.placement = std::move(placement).value();
    if (!scenario_.placement.path.empty()) {
      scenario_.placement.path = anchored(scenario_.placement.path);
    }
    s.finish();
  }

  void read_fabric(TomlSection& top) {
    const toml::table* table = top.section("fabric");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "fabric");
    s.bytes("copied-bytes", scenario_.fabric.copied_bytes, std::uint64_t{1} << 40);
    s.bytes("header", scenario_.fabric.header_bytes, 4096);
    s.duration("acknowledgement", scenario_.fabric.acknowledgement);
    s.duration("death-notice", scenario_.fabric.death_notice);
    s.finish();
  }

  /// What makes nodes differ from each other and from themselves.
  void read_disturbances(TomlSection& top) {
    if (const toml::table* table = top.section("clocks")) {
      TomlSection s(file_, *table, "clocks");
      s.duration("offset", scenario_.clocks.offset);
      s.number("drift-ppm", scenario_.clocks.drift_per_million, 0, 1000);
      s.finish();
    }
    if (const toml::table* table = top.section("noise")) {
      TomlSection s(file_, *table, "noise");
      s.duration("every", scenario_.noise.every);
      s.duration("mean", scenario_.noise.mean);
      s.finish();
    }
  }

  void read_traffic(TomlSection& top) {
    for (const toml::table* table : top.sections("traffic", most_traffics)) {
      const std::string name = fmt::format("traffic[{}]", scenario_.traffic.size());
      TomlSection s(file_, *table, name);
      TrafficOptions traffic;
      std::string pattern = "uniform";
      s.text("pattern", pattern);
      auto parsed = parse_pattern(pattern);
      if (!parsed) refuse(name + ".pattern", parsed.error());
      traffic.pattern = *parsed;
      s.number("load", traffic.load, 0, 100);
      s.bytes("message", traffic.message_bytes, std::uint64_t{1} << 40);
      s.integer("level", traffic.level, 0, 15);
      PicoDuration start{}, end{};
      s.duration("start", start);
      s.duration("end", end);
      traffic.start = PicoInstant() + start;
      if (table->contains("end")) traffic.end = PicoInstant() + end;
      s.finish();
      if (traffic.end <= traffic.start) {
        s.refuse(*table, "{}: it ends before it starts; make end larger than start", name);
      }
      if (auto good = Traffic::check(traffic, 2); !good) refuse(name, good.error());
      scenario_.traffic.push_back(traffic);
    }
  }

  void read_faults(TomlSection& top) {
    if (const toml::node* node = top.get("faults")) {
      const toml::array* list = node->as_array();
      if (list == nullptr) top.refuse(*node, "faults is no list of texts");
      if (list->size() > most_faults)
        top.refuse(*node, "there are more than {} faults", most_faults);
      for (const toml::node& fault : *list) {
        scenario_.faults.push_back(top.text_of(fault, "faults"));
      }
    }
    const toml::table* table = top.section("random-faults");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "random-faults");
    RandomFaults& r = scenario_.random_faults;
    s.number("links-down-per-s", r.links_down_per_s, 0, 1e6);
    s.number("links-slow-per-s", r.links_slow_per_s, 0, 1e6);
    s.number("pauses-per-s", r.pauses_per_s, 0, 1e6);
    s.number("crashes-per-s", r.crashes_per_s, 0, 1e6);
    s.duration("mean-length", r.mean_length);
    s.duration("until", r.until);
    s.finish();
  }

  void read_job(TomlSection& top) {
    const toml::table* table = top.section("job");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "job");
    for (const auto& [key, node] : *table) {
      JobOption option{.name = std::string(key.str()),
                       .values = {},
                       .line = static_cast<std::uint32_t>(node.source().begin.line),
                       .setting = setting_of(node)};
      const auto take = [&](const toml::node& value) {
        auto text = scalar_text(value);
        if (!text) {
          s.refuse(value, "job.{} is neither text, a number, true, false nor a list of such",
                   option.name);
        }
        option.values.push_back(*std::move(text));
      };
      if (const auto* list = node.as_array()) {
        for (const toml::node& value : *list) take(value);
      } else {
        take(node);
      }
      scenario_.job.push_back(std::move(option));
    }
    if (scenario_.job.empty()) {
      s.refuse(*table, "[job] is empty; say how many inputs and computes it has");
    }
  }

  const toml::table& root_;
  const std::string& file_;
  Scenario scenario_;
};

/// The value as a table {value = …}, which remembers that it comes from `place`. What TOML does not
/// read as one value is text.
toml::table value_of_setting(const std::string& value, const std::string& place) {
  const bool one_line = value.find_first_of("\r\n") == std::string::npos;
  try {
    if (one_line) return toml::parse("value = " + value, place);
  } catch (const toml::parse_error&) {
    // Words and lengths come without quotes: minimal, 20us.
  }
  std::string quoted;
  for (const char c : value) {
    const bool plain = c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
    quoted += plain ? std::string(1, c) : fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
  return toml::parse("value = \"" + quoted + "\"", place);
}

/// Puts "SECTION.KEY=VALUE" into the file's tables.
void apply_scenario_setting(toml::table& root, const std::string& setting) {
  const std::string place = std::string(set_option) + setting;
  const auto refuse = [&](std::string_view what) {
    throw TomlRefusal{{ErrorCode::invalid_argument, fmt::format("{}: {}", place, what)}};
  };
  const std::size_t sign = setting.find('=');
  if (sign == 0 || sign == std::string::npos) {
    refuse("this is no setting; write one like network.router=minimal");
  }
  std::string_view key = std::string_view(setting).substr(0, sign);
  toml::table* table = &root;
  for (std::size_t dot; (dot = key.find('.')) != std::string_view::npos;
       key.remove_prefix(dot + 1)) {
    const std::string_view name = key.substr(0, dot);
    if (table->get(name) == nullptr) {
      toml::table fresh = toml::parse("value = {}", place);
      table->insert(name, std::move(*fresh.get_as<toml::table>("value")));
    }
    toml::node* inner = table->get(name);
    if (!inner->is_table()) refuse(fmt::format("'{}' is no section with keys of its own", name));
    table = inner->as_table();
  }
  if (key.empty()) refuse("the key ends in a dot; write one like network.router=minimal");
  toml::table value = value_of_setting(setting.substr(sign + 1), place);
  value.get("value")->visit([&](auto&& v) { table->insert_or_assign(key, std::move(v)); });
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& file,
                                std::span<const std::string> settings) {
  try {
    toml::table root = toml::parse(text, file);
    for (const std::string& setting : settings) apply_scenario_setting(root, setting);
    return ScenarioFile(root, file).read();
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    const auto& path = error.source().path;
    if (path && path->starts_with(set_option)) {
      return Error{ErrorCode::invalid_argument, fmt::format("{}: {}", *path, what)};
    }
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}:{}: {}", file, error.source().begin.line, what)};
  } catch (TomlRefusal& refusal) {
    return std::move(refusal.error);
  }
}

Result<Scenario> read_scenario(const std::string& path, std::span<const std::string> settings) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::not_found, fmt::format("scenario '{}': {}; name a TOML file", path,
                                                   error ? error.message() : "that is not a file")};
  }
  if (const auto size = std::filesystem::file_size(path, error); error || size > largest_file) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("scenario '{}': {}", path,
                    error ? error.message() : "it has more than 1 MiB; use a smaller one")};
  }
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    return Error{ErrorCode::io,
                 fmt::format("scenario '{}': cannot be read: {}", path, std::strerror(errno))};
  }
  return parse_scenario(text, path, settings);
}

}  // namespace weft::sim
