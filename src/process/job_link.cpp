// SPDX-License-Identifier: Apache-2.0
#include "process/job_link.hpp"

#include <fmt/format.h>

#include <sstream>

#include "base/descriptor_limit.hpp"
#include "base/json_members.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "net/job_levels.hpp"

namespace weft {
namespace {

/// How often the launcher hears that a peer is missed: it forgets reports that come too early. Each
/// peer has a time of its own. The launcher ignores a peer that runs, and the one that it can
/// restart may be another.
constexpr Duration miss_every = Duration::milliseconds(50);

/// `v` is a JsonWriter or a JsonReader.
constexpr auto job_members = [](auto&& v, auto& job) {
  v.member("self", job.self);
  v.member("nodes", job.nodes);
  v.member("first", job.first);
  v.member("parents", job.parents);
  v.member("appnum", job.appnum);
  v.member("room", job.room);
  v.member("nodes_here", job.nodes_here);
  v.member("incarnation", job.incarnation);
  v.member("fabric", job.fabric);
  v.member("link", job.link);
  v.member("network", job.network);
  v.member("job_id", job.job_id);
  v.bytes("secret", job.secret);
  v.member("retain", job.retain);
  v.member("restarts_all", job.restarts_all);
  v.member("has_kept", job.has_kept);
  v.member("attempt", job.attempt);
  v.member("run", job.run);
  v.member("peer_timeout_ns", job.peer_timeout);
  v.member("heartbeat_ns", job.heartbeat);
  v.member("timeout_ns", job.timeout);
  v.member("inbox", job.inbox);
  v.member("outbox", job.outbox);
  v.member("outbox_fails", job.outbox_fails);
  v.member("spill", job.spill);
  v.member("eager", job.eager);
  v.member("connections", job.connections);
  v.member("tells_progress", job.tells_progress);
  v.member("file", job.file);
  v.member("faults", job.faults);
  v.member("most_restarts", job.most_restarts);
  v.member("seed", job.seed);
};

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
  return corrupt("'{}' is no progress of a process", text);
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
  return corrupt("'{}' are no levels of {} processes; use the same version of weft everywhere",
                 text, processes);
}

std::string to_text(const JobDescription& job) {
  return JsonWriter::of(job, job_members).dump();
}

Result<JobDescription> read_job_description(const std::string& text) {
  JobDescription job;
  try {
    const auto json = JsonReader::Json::parse(text);
    job_members(JsonReader(json), job);
  } catch (const nlohmann::json::exception& e) {
    return corrupt(
        "the launcher's description of the job cannot be read ({}); use the same "
        "version of weft everywhere",
        e.what());
  }
  if (job.self.value() < job.first.value() || job.self.value() - job.first.value() >= job.nodes) {
    return corrupt("the launcher says rank {} of {}", job.self.value(), job.nodes);
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
  if (message->kind != launch_message::job) {
    return Error{
        ErrorCode::unavailable,
        "another program of this rank has joined the job; start each program by a weft run "
        "of its own"};
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
    if (message->kind == launch_message::keep_nothing) keep_nothing(message->text);
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

void JobLink::keep_nothing(const std::string& text) {
  std::istringstream words(text);
  std::map<NodeId, Incarnation> later_lives;
  for (std::uint32_t rank = 0, life = 0; words >> rank >> life;) {
    later_lives.emplace(rank, life);
  }
  if (on_keep_nothing_) on_keep_nothing_(later_lives);
}

void JobLink::miss(Instant now, NodeId peer) {
  const auto [told, is_first] = miss_again_.try_emplace(peer, now);
  if (!is_first && now < told->second) return;
  told->second = now + miss_every;
  channel_.post(launch_message::needs, std::to_string(peer.value()));
}

Result<void> JobLink::add_peers(Fabric& fabric, const std::string& text) {
  std::istringstream lines(text);
  std::uint32_t node = 0, incarnation = 0;
  std::string address;
  while (lines >> node >> incarnation >> address) {
    // The job may have grown, and its launcher may be one of another host, with other limits.
    raise_descriptor_limit(descriptors_of_rank(node + 1));
    if (auto added = fabric.add_peer(NodeId(node), Incarnation(incarnation), address); !added) {
      return added;
    }
  }
  return {};
}

}  // namespace weft
