// SPDX-License-Identifier: Apache-2.0
#include "process/job_link.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/number_text.hpp"
#include "net/job_levels.hpp"

namespace weft {
namespace {

/// How often the launcher hears that a peer is missed: it forgets reports that come too early.
constexpr Duration miss_every = Duration::milliseconds(50);

}  // namespace

std::string to_text(const JobProgress& progress) {
  return fmt::format("{} {} {}", progress.iterations, progress.waited.ticks(),
                     progress.elapsed.ticks());
}

Result<JobProgress> read_job_progress(const std::string& text) {
  std::istringstream words(text);
  std::uint64_t iterations = 0;
  std::int64_t waited = 0, elapsed = 0;
  if (words >> iterations >> waited >> elapsed && words.eof() && waited >= 0 && elapsed >= 0) {
    return JobProgress{
        .iterations = iterations, .waited = Duration(waited), .elapsed = Duration(elapsed)};
  }
  return Error{ErrorCode::corrupt, fmt::format("'{}' is no progress of a process", text)};
}

std::string to_text(const ProcessLevels& levels) {
  std::string text;
  for (const auto& level : levels) text += level ? fmt::format("{} ", *level) : "- ";
  return text;
}

Result<ProcessLevels> read_process_levels(const std::string& text, std::uint32_t processes) {
  std::istringstream words(text);
  ProcessLevels levels;
  for (std::string word; words >> word;) {
    const auto level = parse_number<std::uint8_t>(word);
    if (word != "-" && (!level || *level >= net::service_levels)) break;
    levels.push_back(level);
  }
  if (levels.size() == processes) return levels;
  return Error{ErrorCode::corrupt,
               fmt::format("'{}' are no levels of {} processes; use the same version of weft "
                           "everywhere",
                           text, processes)};
}

std::string to_text(const JobDescription& job) {
  nlohmann::json json = {
      {"self", job.self.value()},
      {"nodes", job.nodes},
      {"first", job.first.value()},
      {"parents", job.parents},
      {"appnum", job.appnum},
      {"room", job.room},
      {"nodes_here", job.nodes_here},
      {"incarnation", job.incarnation.value()},
      {"fabric", job.fabric},
      {"link", job.link},
      {"network", job.network},
      {"job_id", job.job_id},
      {"secret", std::vector<std::uint8_t>(job.secret.begin(), job.secret.end())},
      {"retain", job.retain},
      {"run", job.run},
      {"peer_timeout_ns", job.peer_timeout.ticks()},
      {"heartbeat_ns", job.heartbeat.ticks()},
      {"timeout_ns", job.timeout.ticks()},
      {"inbox", job.inbox.value()},
      {"outbox", job.outbox.value()},
      {"outbox_fails", job.outbox_fails},
      {"spill", job.spill},
      {"eager", job.eager},
      {"connections", job.connections},
      {"tells_progress", job.tells_progress},
      {"file", job.file},
      {"faults", job.faults},
      {"most_restarts", job.most_restarts}};
  if (job.seed) json["seed"] = *job.seed;
  return json.dump();
}

Result<JobDescription> read_job_description(const std::string& text) {
  JobDescription job;
  try {
    const auto json = nlohmann::json::parse(text);
    job.self = NodeId(json.at("self").get<std::uint32_t>());
    job.nodes = json.at("nodes").get<std::uint32_t>();
    job.first = NodeId(json.at("first").get<std::uint32_t>());
    job.parents = json.at("parents").get<std::vector<std::uint32_t>>();
    job.appnum = json.at("appnum").get<std::uint32_t>();
    job.room = json.at("room").get<std::uint32_t>();
    job.nodes_here = json.at("nodes_here").get<std::uint32_t>();
    job.incarnation = Incarnation(json.at("incarnation").get<std::uint32_t>());
    job.fabric = json.at("fabric").get<std::string>();
    job.link = json.at("link").get<std::string>();
    job.network = json.at("network").get<std::string>();
    job.job_id = json.at("job_id").get<std::string>();
    for (const auto byte : json.at("secret").get<std::vector<std::uint8_t>>()) {
      job.secret.push_back(static_cast<char>(byte));
    }
    job.retain = json.at("retain").get<bool>();
    job.run = json.at("run").get<std::string>();
    job.peer_timeout = Duration(json.at("peer_timeout_ns").get<std::int64_t>());
    job.heartbeat = Duration(json.at("heartbeat_ns").get<std::int64_t>());
    job.timeout = Duration(json.at("timeout_ns").get<std::int64_t>());
    job.inbox = ByteCount(json.at("inbox").get<std::uint64_t>());
    job.outbox = ByteCount(json.at("outbox").get<std::uint64_t>());
    job.outbox_fails = json.at("outbox_fails").get<bool>();
    job.spill = json.at("spill").get<std::string>();
    job.eager = json.at("eager").get<std::size_t>();
    job.connections = json.at("connections").get<std::uint32_t>();
    job.tells_progress = json.at("tells_progress").get<bool>();
    job.file = json.at("file").get<std::string>();
    job.faults = json.at("faults").get<bool>();
    job.most_restarts = json.at("most_restarts").get<std::uint32_t>();
    if (json.contains("seed")) job.seed = json.at("seed").get<std::uint64_t>();
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::corrupt,
                 fmt::format("the launcher's description of the job cannot be read ({}); use the "
                             "same version of weft everywhere",
                             e.what())};
  }
  if (job.self.value() < job.first.value() || job.self.value() - job.first.value() >= job.nodes) {
    return Error{ErrorCode::corrupt,
                 fmt::format("the launcher says rank {} of {}", job.self.value(), job.nodes)};
  }
  return job;
}

Result<JobDescription> JobLink::receive_job() {
  tell(launch_message::takes, "");
  auto message = channel_.wait();
  if (!message) {
    return Error{ErrorCode::unavailable, "the launcher is gone before it described the job"};
  }
  if (message->kind == launch_message::abort) {
    return Error{ErrorCode::cancelled, message->text};
  }
  return read_job_description(message->text);
}

Result<void> JobLink::take_news(Fabric& fabric) {
  channel_.flush();
  while (const auto message = channel_.receive()) {
    if (message->kind == launch_message::abort) {
      return Error{ErrorCode::cancelled, message->text};
    }
    if (message->kind == launch_message::over) over_ = true;
    if (message->kind == launch_message::answer) answer_ = message->text;
    if (message->kind == launch_message::levels) {
      if (auto taken = take_levels(message->text); !taken) return taken;
    }
    if (message->kind != launch_message::peers) continue;
    if (auto added = add_peers(fabric, message->text); !added) return added;
  }
  if (!channel_.open() && !over_) return Error{ErrorCode::unavailable, "the launcher is gone"};
  return {};
}

Result<void> JobLink::take_levels(const std::string& text) {
  auto levels = read_process_levels(text, processes_);
  if (!levels) return std::move(levels).error();
  if (on_levels_) on_levels_(*levels);
  return {};
}

void JobLink::miss(Instant now, NodeId peer) {
  if (now < miss_again_) return;
  miss_again_ = now + miss_every;
  channel_.post(launch_message::needs, std::to_string(peer.value()));
}

Result<void> JobLink::add_peers(Fabric& fabric, const std::string& text) {
  std::istringstream lines(text);
  std::uint32_t node = 0, incarnation = 0;
  std::string address;
  while (lines >> node >> incarnation >> address) {
    if (auto added = fabric.add_peer(NodeId(node), Incarnation(incarnation), address); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace weft
