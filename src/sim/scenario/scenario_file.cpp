// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/parse_toml.hpp"
#include "base/system_error.hpp"
#include "sim/scenario/toml_section.hpp"
#include "sim/topology/options.hpp"
#include "wire/capture/infiniband.hpp"

namespace weft::sim {
namespace {

constexpr const char* what_it_is = "a TOML file like those in examples/scenarios";
constexpr std::size_t largest_file = 1u << 20;
constexpr std::size_t most_traffics = 64;
constexpr std::size_t most_faults = 10'000;
constexpr std::size_t most_jobs = 64;
constexpr std::size_t most_level_changes = 10'000;
constexpr std::size_t most_lossy = 10'000;
constexpr std::size_t longest_job_name = 64;
/// 67 ms, or the adapter's floor: all retries together outlast page faults.
constexpr std::uint8_t usual_ack_timeout = 14;

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
    read_programs(top);
    read_jobs(top);
    read_qos(top);
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
    if (const toml::node* node = s.get("router"); node != nullptr && scenario_.router.empty()) {
      s.refuse_value(*node, "router", "it names none; leave the key out for the topology's own");
    }
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
    s.bytes("reserve", o.reserve_bytes, 1 << 30);
    s.duration("switch-delay", o.switch_delay);
    s.flag("cut-through", o.cut_through);
    s.flag("output-queues", o.output_queues);
    s.duration("host-overhead", o.host_overhead);
    s.duration("injection-gap", o.injection_gap);
    s.duration("retransmit-after", o.retransmit_after);
    s.number("second-turn-probability", o.second_turn_probability, 0, 0.9);
    s.integer("interleaved-messages", o.interleaved_messages, 1, 1 << 20);
    read_lossy(s);
    s.finish();
  }

  /// True for all links, or a list of names.
  void read_lossy(TomlSection& network) {
    const toml::node* node = network.get("lossy");
    if (node == nullptr) return;
    if (node->is_boolean()) {
      scenario_.all_lossy = node->as_boolean()->get();
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr || list->size() > most_lossy) {
      network.refuse_value(*node, "lossy",
                           "it is neither true nor a list of at most {} links; write it like "
                           "[\"host3\", \"switch0--switch4\"]",
                           most_lossy);
    }
    for (const toml::node& name : *list) {
      scenario_.lossy.push_back(network.text_of(name, "lossy"));
    }
  }

  void read_link(TomlSection& network, std::string_view key, LinkOptions& link) {
    const toml::table* table = network.section(key);
    if (table == nullptr) return;
    TomlSection s(file_, *table, network.full(key));
    s.rate("rate", link.rate);
    if (const toml::node* rate = table->get("rate"); rate != nullptr && link.rate == Bandwidth{}) {
      s.refuse_value(*rate, "rate", "a link needs a rate; give one such as \"100Gbit\"");
    }
    s.duration("latency", link.latency);
    if (const toml::node* latency = table->get("latency");
        latency != nullptr && link.latency.ticks() <= 0) {
      s.refuse_value(*latency, "latency", "cables have some; use 1ns or more");
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
      read_level_changes(s, static_cast<std::uint8_t>(scenario_.network.levels.size()));
      s.finish();
      scenario_.network.levels.push_back(level);
    }
    std::stable_sort(scenario_.level_changes.begin(), scenario_.level_changes.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
  }

  void read_level_changes(TomlSection& level, std::uint8_t number) {
    std::size_t i = 0;
    for (const toml::table* table : level.sections("changes", most_level_changes)) {
      TomlSection s(file_, *table, fmt::format("levels[{}].changes[{}]", number, i++));
      LevelChange change{.at = {}, .level = number, .priority = {}, .weight = {}};
      s.duration("at", change.at);
      const toml::node* at = table->get("at");
      if (at == nullptr) s.refuse(*table, "{} is missing; write at = \"5ms\"", s.full("at"));
      if (change.at > Duration::seconds(86'400)) {
        s.refuse_value(*at, "at", "it is more than a day; use less");
      }
      const auto take = [&](std::string_view key, std::optional<std::uint8_t>& value,
                            std::int64_t least) {
        std::uint8_t number_of = 0;
        s.integer(key, number_of, least, 255);
        if (table->contains(key)) value = number_of;
      };
      take("priority", change.priority, 0);
      take("weight", change.weight, 1);
      if (!change.priority && !change.weight) {
        s.refuse_value(*at, "at", "nothing changes then; give a weight or a priority too");
      }
      s.finish();
      scenario_.level_changes.push_back(change);
    }
  }

  void read_placement(TomlSection& top) {
    const toml::table* table = top.section("placement");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "placement");
    std::string word = "contiguous";
    s.text("kind", word);
    scenario_.placement = placement_of(word, "placement.kind");
    s.finish();
  }

  PlacementOptions placement_of(const std::string& word, std::string_view key) const {
    auto placement = parse_placement(word);
    if (!placement) refuse(key, placement.error());
    if (!placement->path.empty()) placement->path = anchored(placement->path);
    return std::move(placement).value();
  }

  void read_fabric(TomlSection& top) {
    const toml::table* table = top.section("fabric");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "fabric");
    s.bytes("copied-bytes", scenario_.fabric.copied_bytes, std::uint64_t{1} << 40);
    s.bytes("header", scenario_.fabric.header_bytes, 4096);
    s.duration("acknowledgement", scenario_.fabric.acknowledgement);
    s.duration("death-notice", scenario_.fabric.death_notice);
    s.duration("notice-spread", scenario_.fabric.notice_spread);
    std::string transport = "messages";
    s.text("transport", transport);
    if (transport != "messages" && transport != "rc") {
      s.refuse_value(*table->get("transport"), "transport",
                     "it is neither messages nor rc; write one of them");
    }
    if (transport == "rc") read_reliable(s, *table);
    s.finish();
  }

  void read_reliable(TomlSection& s, const toml::table& table) {
    ReliableOptions& r = scenario_.fabric.reliable.emplace();
    std::string device = "connectx-6", memory = "pinned";
    s.text("device", device);
    auto profile = net::rc::device_profile(device);
    if (!profile) s.refuse_value(*table.get("device"), "device", "{}", profile.error().message);
    r.device = *profile;
    s.text("memory", memory);
    if (memory != "pinned" && memory != "paged") {
      s.refuse_value(*table.get("memory"), "memory",
                     "it is neither pinned nor paged; write one of them");
    }
    r.adapter.paged = memory == "paged";
    if (r.adapter.paged && !r.device.has_paging) {
      s.refuse_value(*table.get("memory"), "memory",
                     "{} has no on-demand paging; use pinned, or device = \"connectx-4\"", device);
    }
    std::string send_memory = "pinned";
    s.text("send-memory", send_memory);
    if (send_memory != "pinned" && (send_memory != "paged" || !r.adapter.paged)) {
      s.refuse_value(*table.get("send-memory"), "send-memory",
                     "use pinned, or paged together with memory = \"paged\"");
    }
    r.sends_paged = send_memory == "paged";
    s.flag("prefetch", r.prefetch);
    Duration rnr_delay = Duration::microseconds(1'280);
    s.duration("rnr-delay", rnr_delay);
    const auto code = rnr_delay.ticks() > 0 ? wire::rnr_code_of(rnr_delay.ticks()) : std::nullopt;
    if (!code) {
      s.refuse_value(*table.get("rnr-delay"), "rnr-delay",
                     "no RNR NAK asks for that; use 10us to 655.36ms");
    }
    r.adapter.rnr_timer = *code;
    r.adapter.ack_timeout = usual_ack_timeout;
    s.integer("ack-timeout", r.adapter.ack_timeout, 0, 31);
    s.integer("retries", r.adapter.retry_count, 0, 7);
    s.duration("dummy-after", r.dummy_after);
  }

  /// Reads the disturbances that make nodes differ, and vary over time.
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
      if (list == nullptr) {
        top.refuse_value(*node, "faults", "it is no list of texts; write it in brackets");
      }
      if (list->size() > most_faults)
        top.refuse(*node, "there are more than {} faults; leave some out", most_faults);
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

  void read_programs(TomlSection& top) {
    const toml::table* table = top.section("programs");
    if (table == nullptr) return;
    TomlSection s(file_, *table, "programs");
    ProgramOptions& p = scenario_.programs;
    std::uint64_t stack = p.stack.value();
    s.bytes("stack", stack, std::uint64_t{1} << 30);
    p.stack = ByteCount(stack);
    s.integer("per-host", p.per_host, 1, 4096);
    s.integer("level", p.level, 0, 15);
    std::string ranks = "block";
    s.text("ranks", ranks);
    if (ranks != "block" && ranks != "round-robin") {
      s.refuse_value(*table->get("ranks"), "ranks",
                     "it is neither block nor round-robin; write one of them");
    }
    p.in_turn = ranks == "round-robin";
    std::string compute = "none";
    s.text("compute", compute);
    if (compute != "none" && compute != "measured") {
      s.refuse_value(*table->get("compute"), "compute",
                     "it is neither none nor measured; write one of them");
    }
    p.measure_compute = compute == "measured";
    s.number("compute-scale", p.compute_scale, 0, 1e6);
    s.duration("restart-after", p.restart_after);
    s.integer("crashes", p.crashes, 0, 1000);
    s.duration("crash-within", p.crash_within);
    s.duration("limit", p.limit);
    s.finish();
  }

  void read_jobs(TomlSection& top) {
    if (const toml::table* table = top.section("job")) read_job(*table, ScenarioJob());
    std::size_t i = 0;
    for (const toml::table* table : top.sections("jobs", most_jobs)) {
      ScenarioJob job;
      job.key = fmt::format("jobs[{}]", i);
      job.name = fmt::format("job{}", i++);
      read_job(*table, std::move(job));
    }
  }

  void read_job(const toml::table& table, ScenarioJob job) {
    TomlSection s(file_, table, job.key);
    s.text("name", job.name);
    check_name(s, table, job.name);
    s.duration("start", job.start);
    s.integer("level", job.level, 0, 15);
    std::string word;
    s.text("placement", word);
    if (table.contains("placement")) job.placement = placement_of(word, s.full("placement"));
    for (const auto& [key, node] : table) {
      if (!s.knows(key.str())) job.options.push_back(job_option(s, std::string(key.str()), node));
    }
    if (job.options.empty()) {
      s.refuse(table, "[{}] is empty; say how many inputs and computes it has", job.key);
    }
    scenario_.jobs.push_back(std::move(job));
  }

  void read_qos(TomlSection& top) {
    const toml::table* table = top.section("qos");
    if (table == nullptr) return;
    const TomlSection s(file_, *table, "qos");
    for (const auto& [key, node] : *table) {
      scenario_.qos.push_back(job_option(s, std::string(key.str()), node));
    }
  }

  /// Names of jobs are names of directories and beginnings of words.
  void check_name(const TomlSection& s, const toml::table& table, const std::string& name) const {
    const toml::node* node = table.get("name");
    const toml::node& where = node != nullptr ? *node : table;
    const bool plain = !name.empty() && name.front() != '-' && name.size() <= longest_job_name &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_';
                       });
    if (!plain) {
      s.refuse_value(where, "name", "it is no name; use up to {} letters, digits, - and _",
                     longest_job_name);
    }
    for (const ScenarioJob& other : scenario_.jobs) {
      if (other.name != name) continue;
      s.refuse(where, "{} = {}: {} has that name; use another one", s.full("name"), name,
               other.key);
    }
  }

  JobOption job_option(const TomlSection& s, std::string name, const toml::node& node) const {
    JobOption option{.name = std::move(name),
                     .values = {},
                     .line = static_cast<std::uint32_t>(node.source().begin.line),
                     .setting = setting_of(node)};
    const auto take = [&](const toml::node& value) {
      auto text = scalar_text(value);
      if (!text) {
        s.refuse_value(value, option.name,
                       "it is neither text, a number, true, false nor a list of such; write one");
      }
      option.values.push_back(*std::move(text));
    };
    if (const auto* list = node.as_array()) {
      for (const toml::node& value : *list) take(value);
    } else {
      take(node);
    }
    return option;
  }

  const toml::table& root_;
  const std::string& file_;
  Scenario scenario_;
};

/// The value as a table {value = …}, which remembers that it comes from `place`. A setting that
/// TOML does not read as one value is text.
toml::table value_of_setting(const std::string& value, const std::string& place) {
  const bool one_line = value.find_first_of("\r\n") == std::string::npos;
  try {
    if (one_line) return parse_toml("value = " + value, place);
  } catch (const toml::parse_error&) {
    // Words and lengths come without quotes: minimal, 20us.
  }
  std::string quoted;
  for (const char c : value) {
    const bool plain = c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
    quoted += plain ? std::string(1, c) : fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
  return parse_toml("value = \"" + quoted + "\"", place);
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
  if (static_cast<std::size_t>(std::ranges::count(key, '.')) >= most_key_parts) {
    refuse("the key has more than 64 parts; write one like network.router=minimal");
  }
  toml::table* table = &root;
  for (std::size_t dot; (dot = key.find('.')) != std::string_view::npos;
       key.remove_prefix(dot + 1)) {
    const std::string_view name = key.substr(0, dot);
    if (table->get(name) == nullptr) {
      toml::table fresh = parse_toml("value = {}", place);
      table->insert(name, std::move(*fresh.get_as<toml::table>("value")));
    }
    toml::node* inner = table->get(name);
    if (!inner->is_table())
      refuse(fmt::format("'{}' is {}; edit the file", name,
                         inner->is_array_of_tables() ? "a list, whose sections have no names"
                                                     : "no section with keys of its own"));
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
    toml::table root = parse_toml(text, file);
    for (const std::string& setting : settings) apply_scenario_setting(root, setting);
    return ScenarioFile(root, file).read();
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    const auto& path = error.source().path;
    if (path && path->starts_with(set_option)) {
      return invalid("{}: {}", *path, what);
    }
    return invalid("{}:{}: {}; correct that line, or name a scenario: {}", file,
                   error.source().begin.line, what, what_it_is);
  } catch (TomlRefusal& refusal) {
    return std::move(refusal.error);
  }
}

Result<Scenario> read_scenario(const std::string& path, std::span<const std::string> settings) {
  const auto text = read_text_file(path, largest_file);
  std::error_code error;
  if (!text && std::filesystem::exists(path, error)) {  // a directory, or a file without end
    return Error{text.error().code,
                 fmt::format("scenario: {}; a scenario is {}", text.error().message, what_it_is)};
  }
  if (!text) return Error{text.error().code, "scenario: " + text.error().message};
  return parse_scenario(*text, path, settings);
}

Result<Scenario> read_fabric_scenario(const std::string& path,
                                      std::span<const std::string> settings) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  // Reading one that is missing, or a directory, says so.
  if (std::filesystem::is_other(status)) {
    return invalid(
        "scenario: '{}' is no regular file, and a fabric's scenario is read more than once; write "
        "it to one, and name that",
        path);
  }
  return read_scenario(path, settings);
}

}  // namespace weft::sim
