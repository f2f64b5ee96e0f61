// SPDX-License-Identifier: Apache-2.0
#include "qos/live/live_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/process_end.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "process/job_process.hpp"
#include "qos/live/played_rank.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::qos {
namespace {

/// Addresses of a testbed's hosts.
constexpr const char* testbed_network = "10.77.0.0/24";

JobDescription describe(const jobs::WorkloadJob& job) {
  const JobSecret secret = make_job_secret();
  return {.nodes = job.pattern.ranks,
          .nodes_here = job.pattern.ranks,
          .incarnation = Incarnation(1),
          .fabric = "tcp",
          .network = testbed_network,
          .job_id = secret.job_id,
          .secret = secret.secret,
          .eager = job.eager_bytes,
          .tells_progress = true};
}

}  // namespace

LiveJob::LiveJob(const jobs::WorkloadJob& job, std::vector<std::uint32_t> hosts,
                 const testbed::Testbed& testbed)
    : job_(job),
      hosts_(std::move(hosts)),
      testbed_(testbed),
      program_(std::move(sim::make_pattern(job.pattern)).value()),
      description_(describe(job)),
      processes_(job.pattern.ranks),
      directory_(job.pattern.ranks),
      progress_(job.pattern.ranks) {}

Result<void> LiveJob::start() {
  for (std::uint32_t r = 0; r < hosts_.size(); ++r) {
    (void)directory_.begin(r);
    auto started = processes_.start(
        r, [this, r](Channel channel) { return run_process(r, std::move(channel)); });
    if (!started) return started;
  }
  return {};
}

/// In the forked process.
int LiveJob::run_process(std::uint32_t rank, Channel channel) const {
  StopSignals::ignore();
  JobInvitation invitation;
  invitation.job = description_;
  invitation.job.self = NodeId(rank);
  invitation.link = std::make_unique<JobLink>(std::move(channel));
  if (auto entered = testbed_.enter_host(hosts_[rank]); !entered) {
    invitation.link->tell(launch_message::failed, entered.error().message);
    return 1;
  }
  auto process = JobProcess::join(std::move(invitation));
  if (!process) return 1;  // it has said why
  const PlayOptions options{
      .compute_noise = job_.compute_noise, .seed = job_.pattern.seed, .compute = sleep_for};
  const auto played = play(**process, *program_, options);
  if (!played) (*process)->fail(played.error().message);
  return played ? 0 : 1;
}

void LiveJob::take(std::uint32_t rank, const Channel::Message& message) {
  switch (message.kind) {
    case launch_message::address:
      directory_.set_address(rank, message.text);
      directory_.introduce(rank, [&](std::uint32_t to, const std::string& lines) {
        processes_.channel(to).post(launch_message::peers, lines);
      });
      break;
    case launch_message::progress:
      if (const auto progress = read_job_progress(message.text)) progress_[rank] = *progress;
      break;
    case launch_message::failed:
      if (failure_.empty()) failure_ = fmt::format("process {}: {}", rank, message.text);
      break;
    default:
      break;
  }
}

Result<void> LiveJob::hear() {
  processes_.flush();
  for (std::uint32_t r = 0; r < progress_.size(); ++r) {
    processes_.hear(r, [&](const Channel::Message& message) { take(r, message); });
  }
  for (const auto& end : processes_.reap()) {
    processes_.hear(end.place, [&](const Channel::Message& message) { take(end.place, message); });
    if (failure_.empty()) {
      failure_ = fmt::format("process {} {}", end.place, describe_end(end.status));
    }
  }
  if (failure_.empty()) return {};
  return Error{ErrorCode::unavailable, fmt::format("job {}: {}", job_.name, failure_)};
}

bool LiveJob::is_under_way() const {
  return std::ranges::all_of(progress_, [](const JobProgress& p) { return p.iterations > 0; });
}

void LiveJob::set_levels(const ProcessLevels& levels) {
  const std::string text = to_text(levels);
  for (std::uint32_t r = 0; r < progress_.size(); ++r) {
    processes_.channel(r).post(launch_message::levels, text);
  }
}

}  // namespace weft::qos
