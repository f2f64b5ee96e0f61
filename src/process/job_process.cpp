// SPDX-License-Identifier: Apache-2.0
#include "process/job_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>

#include <cstdlib>

#include "base/log.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "fabric/loopback/loopback.hpp"
#include "process/job_options.hpp"

namespace weft {
namespace {

/// A process that is alone has nobody to talk to but itself.
Result<std::unique_ptr<Fabric>> open_alone() {
  LoopbackHub hub;
  return hub.open(NodeId(0), Incarnation(1));
}

/// What a launcher that knows nothing of weft leaves open: a secret, from rank 0.
Result<JobDescription> describe_by(ManagerSession& manager) {
  JobDescription job;
  job.self = NodeId(manager.rank());
  job.nodes = manager.size();
  job.nodes_here = manager.size_here() == 0 ? job.nodes : manager.size_here();
  job.incarnation = Incarnation(1);
  job.job_id = manager.job_id();
  const bool first = job.self == NodeId(0);
  auto secrets = manager.exchange("weft-secret", first ? make_job_secret().secret : "");
  if (!secrets) return std::move(secrets).error();
  job.secret = secrets->front();
  return job;
}

}  // namespace

Result<JobInvitation> JobInvitation::take() {
  JobInvitation invitation;
  if (const char* descriptor = std::getenv(channel_variable)) {
    const int socket = std::atoi(descriptor);
    // Not for this process's children.
    if (socket <= 2 || ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{}='{}' is no open descriptor; start the program by `weft run`",
                               channel_variable, descriptor)};
    }
    ::unsetenv(channel_variable);
    invitation.link = std::make_unique<JobLink>(Channel(socket));
    auto job = invitation.link->receive_job();
    if (!job) return std::move(job).error();
    invitation.job = std::move(job).value();
  } else if (ManagerSession::offered()) {
    auto session = ManagerSession::open();
    if (!session) return std::move(session).error();
    invitation.manager = std::move(session).value();
    auto job = describe_by(*invitation.manager);
    if (!job) return std::move(job).error();
    invitation.job = std::move(job).value();
  } else {
    invitation.job.incarnation = Incarnation(1);
  }
  return invitation;
}

JobProcess::JobProcess(JobInvitation invitation)
    : job_(std::move(invitation.job)),
      link_(std::move(invitation.link)),
      manager_(std::move(invitation.manager)) {}

JobProcess::~JobProcess() = default;

Result<std::unique_ptr<JobProcess>> JobProcess::join(JobInvitation invitation) {
  std::unique_ptr<JobProcess> process(new JobProcess(std::move(invitation)));
  if (auto opened = process->open(); !opened) {
    process->fail(opened.error().message);
    return std::move(opened).error();
  }
  return process;
}

Result<void> JobProcess::open() {
  const char* level = std::getenv("WEFT_LOG");
  set_up_log(level != nullptr ? level : "error", fmt::format("rank {}", job_.self.value()));
  // Sleeps of microseconds need timers that are not rounded to 50.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  FabricChoice choice{.name = job_.fabric, .peer_timeout = job_.peer_timeout};
  if (!job_.link.empty()) {
    auto shape = parse_shape("--link", job_.link);
    if (!shape) return std::move(shape).error();
    choice.shape = std::move(shape).value();
  }
  if (link_ == nullptr && manager_ == nullptr) {
    auto fabric = open_alone();
    if (!fabric) return std::move(fabric).error();
    fabric_ = std::move(fabric).value();
  } else {
    auto opened = open_fabric(choice,
                              {.self = job_.self,
                               .incarnation = job_.incarnation,
                               .listen = job_.nodes_here == job_.nodes ? "" : "0.0.0.0:0"},
                              {.job_id = job_.job_id, .secret = job_.secret});
    if (!opened) return std::move(opened).error();
    fabric_ = std::move(opened->fabric);
    if (auto met = meet(); !met) return met;
  }
  auto spill = open_spill(job_);
  if (!spill) return std::move(spill).error();
  spill_ = std::move(spill).value();
  waiter_ = std::make_unique<RealWaiter>(suitable_spin(job_.nodes_here), *fabric_, link_.get());
  messenger_ = std::make_unique<Messenger>(*fabric_, *waiter_, message_options(job_),
                                           outbox_room(job_, *spill_));
  world_ = Group::world(*messenger_, job_.nodes);
  begun_ = monotonic_now();
  return {};
}

/// Tells the others this process's address, and hears theirs: at once, or as they come.
Result<void> JobProcess::meet() {
  if (link_ != nullptr) {
    link_->tell(launch_message::address, fabric_->address());
    return {};
  }
  auto addresses = manager_->exchange("weft-address", fabric_->address());
  if (!addresses) return std::move(addresses).error();
  for (std::uint32_t i = 0; i < job_.nodes; ++i) {
    if (NodeId(i) == job_.self) continue;
    auto added = fabric_->add_peer(NodeId(i), Incarnation(1), (*addresses)[i]);
    if (!added) return added;
  }
  return {};
}

Result<void> JobProcess::leave() {
  const bool tells = link_ != nullptr && job_.self == NodeId(0);
  auto left = messenger_->leave([&] {
    if (tells) link_->tell(launch_message::over, "");
  });
  return left;
}

void JobProcess::fail(const std::string& why) {
  if (link_ != nullptr) link_->tell(launch_message::failed, why);
}

}  // namespace weft
