// SPDX-License-Identifier: Apache-2.0
#include "process/job_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>

#include <cstdlib>

#include "base/descriptor_limit.hpp"
#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/standard_streams.hpp"
#include "base/units.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "fabric/loopback/loopback.hpp"
#include "process/job_options.hpp"
#include "process/proxy_wire.hpp"
#include "runtime/membership/host_names.hpp"
#include "runtime/sleeper.hpp"

namespace weft {
namespace {

/// Names the fabric of processes that mpirun or srun started; `weft run` sends the name to its own.
constexpr const char* fabric_variable = "WEFT_FABRIC";

/// A controller's periods are hundreds of times as long.
constexpr Duration progress_every = Duration::milliseconds(1);

/// A process that is alone has nobody to talk to but itself.
Result<std::unique_ptr<Fabric>> open_alone() {
  LoopbackHub hub;
  return hub.open(NodeId(0), Incarnation(1));
}

/// The description under a launcher that knows nothing of weft, with a secret from rank 0.
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

JobDescription describe_by(const MpiFabric& fabric) {
  return {.self = fabric.self(),
          .nodes = fabric.size(),
          .nodes_here = fabric.size_here(),
          .incarnation = Incarnation(1)};
}

/// A rank that somebody chose for this process.
Result<std::optional<std::uint32_t>> rank_of_environment() {
  const char* text = std::getenv(rank_variable);
  if (text == nullptr) return std::optional<std::uint32_t>();
  if (const auto rank = parse_number<std::uint32_t>(text)) return rank;
  return invalid(
      "{}='{}' is no rank; give a number from 0, or unset it to take the first address that is "
      "free",
      rank_variable, text);
}

/// The description that the file gives by itself.
Result<JobDescription> describe_by(const JobFileWatch& watch) {
  const JobFile& file = watch.file();
  auto secret = secret_of(file);
  if (!secret) return std::move(secret).error();
  JobDescription job;
  job.nodes = static_cast<std::uint32_t>(file.ranks.size());
  job.nodes_here = watch.ranks_here();
  if (!file.fabric.empty()) job.fabric = file.fabric;
  if (const char* fabric = std::getenv(fabric_variable)) {
    auto chosen = parse_file_fabric(fabric);
    if (!chosen) {
      return Error{chosen.error().code,
                   fmt::format("{}: {}", fabric_variable, chosen.error().message)};
    }
    job.fabric = std::move(chosen).value();
  }
  job.job_id = secret->job_id;
  job.secret = secret->secret;
  job.retain = file.retain.value_or(job.retain);
  const Duration timeout = file.timeout.value_or(job.timeout);
  job.peer_timeout = peer_timeout_of(file.peer_timeout.value_or(Duration{}), timeout);
  job.heartbeat = file.heartbeat.value_or(Duration{});
  const auto good =
      check_heartbeat(file.path + ": heartbeat", job.heartbeat, job.peer_timeout, job.fabric);
  if (!good) return good.error();
  job.timeout = !file.timeout && job.retain ? Duration::max() : timeout;
  job.inbox = file.inbox.value_or(job.inbox);
  job.outbox = file.outbox.value_or(job.outbox);
  job.outbox_fails = file.outbox_fails.value_or(job.outbox_fails);
  job.spill = file.spill;
  job.connections = file.connections.value_or(0);
  job.file = file.path;
  return job;
}

/// Returns the address to listen on with TCP: a loopback address if all processes are on one
/// machine, so that no stranger can connect.
Result<std::string> listening_address(const JobDescription& job) {
  if (!job.network.empty()) {
    auto host = address_in_network(job.network, local_addresses());
    if (!host) return host;
    return join_host_port(*host, std::uint16_t{0});
  }
  return std::string(job.nodes_here >= job.nodes ? "" : "0.0.0.0:0");
}

/// By the job's file, with or without a launcher.
Result<void> take_file(JobInvitation& invitation, const std::string& path,
                       std::optional<std::uint32_t> rank) {
  auto file = JobFileWatch::open(path, rank);
  if (!file) return std::move(file).error();
  invitation.file = std::move(file).value();
  if (invitation.link != nullptr) return {};
  auto job = describe_by(*invitation.file);
  if (!job) return std::move(job).error();
  invitation.job = std::move(job).value();
  return {};
}

/// From the simulation that has this process's rank.
Result<void> take_proxy(JobInvitation& invitation, int socket) {
  // Not for this process's children.
  if (socket <= 2 || ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
    return invalid("{}='{}' is no open descriptor; start the program by `weft run`",
                   proxy::variable, socket);
  }
  ::unsetenv(proxy::variable);
  auto fabric = ProxyFabric::open(Channel(socket));
  if (!fabric) return std::move(fabric).error();
  auto job = read_job_description((*fabric)->job());
  if (!job) return std::move(job).error();
  invitation.job = std::move(job).value();
  invitation.proxy = std::move(fabric).value();
  return {};
}

Result<void> check_variable(const std::string& fabric) {
  if (check_fabric(fabric)) return {};
  return invalid("{}: '{}' is none of {}, mpi, mpi:openmpi, mpi:mpich", fabric_variable, fabric,
                 fmt::join(fabric_names().first(fabric_names().size() - 1), ", "));
}

/// Lines of the log say whose they are.
void log_as(NodeId self) {
  set_up_log_of_program(fmt::format("rank {}", self.value()));
}

}  // namespace

Result<JobInvitation> JobInvitation::take(bool is_of_mpi) {
  occupy_closed_streams();
  JobInvitation invitation;
  const char* fabric = std::getenv(fabric_variable);
  if (const char* descriptor = std::getenv(proxy::variable)) {
    const int socket = std::atoi(descriptor);
    if (auto taken = take_proxy(invitation, socket); !taken) return std::move(taken).error();
  } else if (const char* descriptor = std::getenv(channel_variable)) {
    const int socket = std::atoi(descriptor);
    // Not for this process's children.
    if (socket <= 2 || ::fcntl(socket, F_SETFD, FD_CLOEXEC) != 0) {
      return invalid("{}='{}' is no open descriptor; start the program by `weft run`",
                     channel_variable, descriptor);
    }
    ::unsetenv(channel_variable);
    invitation.link = std::make_unique<JobLink>(Channel(socket));
    auto job = invitation.link->receive_job();
    if (!job) return std::move(job).error();
    invitation.job = std::move(job).value();
    auto outcomes = OutcomeMemory::take();
    if (!outcomes) return std::move(outcomes).error();
    if (invitation.job.retain) invitation.outcomes = std::move(outcomes).value();
    if (const std::string path = invitation.job.file; !path.empty()) {
      auto taken = take_file(invitation, path, invitation.job.self.value());
      if (!taken) return std::move(taken).error();
    }
  } else if (const char* path = std::getenv(file_variable)) {
    auto rank = rank_of_environment();
    if (!rank) return std::move(rank).error();
    if (auto taken = take_file(invitation, path, *rank); !taken) return std::move(taken).error();
  } else if (fabric != nullptr && is_mpi(fabric)) {
    if (is_of_mpi) return refuse_program_of_mpi(fabric_variable, fabric);
    // MPI is the launcher's client itself; there is no place for another.
    auto mpi = open_mpi(fabric);
    if (!mpi) return std::move(mpi).error();
    invitation.job = describe_by(**mpi);
    invitation.mpi = std::move(mpi).value();
  } else if (ManagerSession::offered()) {
    auto session = ManagerSession::open();
    if (!session) return std::move(session).error();
    invitation.manager = std::move(session).value();
    auto job = describe_by(*invitation.manager);
    if (!job) return std::move(job).error();
    invitation.job = std::move(job).value();
    if (fabric != nullptr) {
      if (auto known = check_variable(fabric); !known) return std::move(known).error();
      invitation.job.fabric = fabric;
    }
  } else {
    if (fabric != nullptr) {
      if (auto known = check_variable(fabric); !known) return std::move(known).error();
    }
    invitation.job.incarnation = Incarnation(1);
  }
  return invitation;
}

JobProcess::JobProcess(JobInvitation invitation)
    : job_(std::move(invitation.job)),
      link_(std::move(invitation.link)),
      manager_(std::move(invitation.manager)),
      file_(std::move(invitation.file)),
      fabric_(std::move(invitation.mpi)),
      outcomes_(std::move(invitation.outcomes)) {}

JobProcess::~JobProcess() = default;

Result<std::unique_ptr<JobProcess>> JobProcess::join(JobInvitation invitation) {
  if (!invitation.may_grow) {
    if (invitation.job.first != NodeId(0)) {
      return Error{ErrorCode::invalid_argument,
                   "MPI_Comm_spawn starts programs of MPI, and this is one of weft's own"};
    }
    invitation.job.room = 0;
  }
  // Before its address: the launcher knows by then what joins.
  if (invitation.may_grow && invitation.link != nullptr) {
    invitation.link->tell(launch_message::needs_all, "");
  }
  auto proxy = std::move(invitation.proxy);
  std::unique_ptr<JobProcess> process(new JobProcess(std::move(invitation)));
  if (proxy != nullptr) {
    proxy->name_waits(invitation.waits_in);
    process->waiter_ = &proxy->waiter();
    process->fabric_ = std::move(proxy);
  }
  if (auto opened = process->open(); !opened) {
    process->fail(opened.error().message);
    return std::move(opened).error();
  }
  return process;
}

Result<void> JobProcess::open() {
  log_as(job_.self);
  // Sleeps of microseconds need timers that are not rounded to 50.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  if (auto opened = open_fabric_for_job(); !opened) return opened;
  auto spill = open_spill(job_);
  if (!spill) return std::move(spill).error();
  spill_ = std::move(spill).value();
  std::vector<NewsSource*> sources;
  if (link_ != nullptr) sources.push_back(link_.get());
  if (file_ != nullptr) sources.push_back(file_.get());
  if (waiter_ == nullptr) {
    const auto place =
        job_.nodes_here >= job_.nodes ? std::optional(job_.self.value()) : std::nullopt;
    real_waiter_ = std::make_unique<RealWaiter>(job_.nodes_here, place, *fabric_, sources);
    waiter_ = real_waiter_.get();
  }
  messenger_ = std::make_unique<Messenger>(*fabric_, *waiter_, message_options(job_),
                                           outbox_room(job_, *spill_));
  if (link_ != nullptr) {
    link_->on_levels(job_.nodes, [this](const ProcessLevels& levels) {
      messenger_->machine().set_levels(levels);
    });
  }
  world_ = ProcessGroup::world(*messenger_, job_.nodes, job_.first);
  begun_ = now();
  return {};
}

Result<void> JobProcess::open_fabric_for_job() {
  if (waiter_ != nullptr) return {};  // its peers are known
  if (fabric_ != nullptr) return meet();
  if (link_ == nullptr && manager_ == nullptr && file_ == nullptr) {
    auto fabric = open_alone();
    if (!fabric) return std::move(fabric).error();
    fabric_ = std::move(fabric).value();
    return {};
  }
  // Its launcher may be none of weft's, or one of another host. As far as it goes: not all fabrics
  // need so many.
  raise_descriptor_limit(descriptors_of_rank(job_.nodes));
  FabricChoice choice{.name = job_.fabric,
                      .peer_timeout = job_.peer_timeout,
                      .heartbeat = job_.heartbeat,
                      .processes_here = job_.nodes_here,
                      .shares_cores = share_cores(job_.nodes_here)};
  if (job_.connections != 0) choice.max_connections = job_.connections;
  if (!job_.link.empty()) {
    auto shape = parse_shape("--link", job_.link);
    if (!shape) return std::move(shape).error();
    choice.shape = std::move(shape).value();
  }
  JobSecret secret{.job_id = job_.job_id, .secret = job_.secret};
  if (file_ != nullptr) {
    // Processes with another fabric must not join: they could not talk to this one.
    secret.job_id += " over " + job_.fabric;
    auto place = file_->take_place(choice, secret);
    if (!place) return std::move(place).error();
    job_.self = place->self;
    log_as(job_.self);
    life_ = place->life;
    job_.incarnation = life_->incarnation;
    fabric_ = std::move(place->opened.fabric);
    return {};
  }
  auto listen = listening_address(job_);
  if (!listen) return std::move(listen).error();
  auto opened = open_fabric(
      choice, {.self = job_.self, .incarnation = job_.incarnation, .listen = *listen}, secret);
  if (!opened) return std::move(opened).error();
  fabric_ = std::move(opened->fabric);
  return meet();
}

/// Tells the others this process's address, and hears theirs: at once, or as they come.
Result<void> JobProcess::meet() {
  if (link_ != nullptr) {
    link_->tell(launch_message::address, fabric_->address());
    return {};
  }
  std::vector<std::string> addresses;
  if (manager_ != nullptr) {
    auto exchanged = manager_->exchange("weft-address", fabric_->address());
    if (!exchanged) return std::move(exchanged).error();
    addresses = std::move(exchanged).value();
  } else {
    for (std::uint32_t i = 0; i < job_.nodes; ++i) addresses.push_back(mpi_address(NodeId(i)));
  }
  for (std::uint32_t i = 0; i < job_.nodes; ++i) {
    if (NodeId(i) == job_.self) continue;
    auto added = fabric_->add_peer(NodeId(i), Incarnation(1), addresses[i]);
    if (!added) return added;
  }
  return {};
}

/// The launcher hears of it soon, but not of every iteration of a short loop.
void JobProcess::mark_progress() {
  ++iterations_;
  if (!job_.tells_progress) return;
  const Instant now = monotonic_now();
  if (now >= tell_progress_again_) tell_progress(now);
}

void JobProcess::tell_progress(Instant now) {
  tell_progress_again_ = now + progress_every;
  link_->post(launch_message::progress, to_text(JobProgress{.iterations = iterations_,
                                                            .waited = real_waiter_->waited(),
                                                            .elapsed = now - begun_}));
}

/// A launcher of all ranks starts no process that would come too late.
Result<bool> JobProcess::may_begin() {
  if (file_ == nullptr || !job_.retain) return true;
  return messenger_->ask_to_begin();
}

bool JobProcess::ask(const LauncherQuestion& question) {
  if (link_ == nullptr) return false;
  link_->post(launch_message::question, to_text(question));
  return true;
}

std::optional<Result<LauncherAnswer>> JobProcess::take_answer() {
  const auto text = link_->take_answer();
  if (!text) return std::nullopt;
  return read_launcher_answer(*text);
}

Result<void> JobProcess::leave(bool is_alone, const std::function<void()>& serve) {
  if (link_ != nullptr) {
    link_->tell(launch_message::returned, is_alone ? returned_alone : "");
    // Its launcher knows of all ranks, and tells when all have returned.
    if (file_ == nullptr) return messenger_->serve_until_over(serve);
  }
  const auto on_over = [&] {
    // With a file, every machine may have a launcher of its own.
    if (link_ != nullptr) link_->tell(launch_message::over, "");
  };
  return messenger_->leave(on_over, serve);
}

void JobProcess::fail(const std::string& why) {
  if (link_ == nullptr) return;
  if (!has_diverged()) return link_->tell(launch_message::failed, why);
  link_->tell(launch_message::diverged, messenger_->end()->message);
}

bool JobProcess::has_diverged() const {
  return messenger_ != nullptr && messenger_->end() &&
         messenger_->machine().divergence().has_value();
}

bool JobProcess::fail_for_good(const std::string& why, bool has_diverged) {
  if (link_ == nullptr) return false;
  link_->tell(has_diverged ? launch_message::diverged : launch_message::hopeless, why);
  return true;
}

Result<determinant::OutcomeLog*> JobProcess::repeat_outcomes() {
  if (!outcomes_.is_there()) return nullptr;
  if (auto mapped = outcomes_.map(); !mapped) {
    return Error{mapped.error().code,
                 fmt::format("rank {}: {}", job_.self.value(), mapped.error().message)};
  }
  link_->tell(launch_message::repeats, "");
  kept_numbers_ = std::make_unique<determinant::KeptNumbers>(outcomes_.kept_numbers());
  if (job_.attempt > 0) {
    if (has_lost_lives()) {
      kept_numbers_->begin_again_without();
    } else {
      kept_numbers_->begin_again();
    }
    determinant::OutcomeLog::clear(outcomes_.log());
  }
  outcome_log_ = std::make_unique<determinant::OutcomeLog>(outcomes_.log());
  watch_keeping();
  switch (outcome_log_->trouble()) {
    case determinant::Trouble::none:
      if (job_.has_kept) copy_while_it_repeats();
      return outcome_log_.get();
    case determinant::Trouble::incomplete:
      return make_error(ErrorCode::exhausted,
                        "rank {} cannot repeat an earlier life, whose log of outcomes reached its "
                        "limit of {} ({} sets it)",
                        job_.self.value(), to_text(ByteCount(outcomes_.log().size())),
                        outcomes_limit_variable);
    case determinant::Trouble::unordered:
      return make_error(ErrorCode::corrupt,
                        "a second thread of an earlier life of rank {} called MPI, and weft does "
                        "not record what several threads meet",
                        job_.self.value());
    default:
      return make_error(
          ErrorCode::corrupt,
          "rank {} cannot be started anew: its log of outcomes is damaged; start the job again",
          job_.self.value());
  }
}

/// All ranks can be started anew in place of one, since their lives repeat themselves.
void JobProcess::watch_keeping() {
  const auto limits = keeping_limits(job_);
  if (!limits) return;
  keeping_ = std::make_unique<KeepingWatch>(
      *limits, begun_, [this](KeepingWatch::Kind kind, const std::string& why) {
        link_->post(launch_message::cannot_keep, static_cast<char>(kind) + why);
      });
  messenger_->watch_keeping(*keeping_);
  link_->on_keep_nothing([this](const std::map<NodeId, Incarnation>& later_lives) {
    messenger_->stop_keeping([&](NodeId peer) {
      const auto life = later_lives.find(peer);
      return life != later_lives.end() ? life->second : Incarnation(1);
    });
    copy_while_it_repeats();
  });
}

void JobProcess::copy_while_it_repeats() {
  messenger_->copy_while([this] { return outcome_log_->replays(); });
}

// The lives of a job's file are counted by its processes, whoever starts them.
bool JobProcess::has_lost_lives() const {
  return outcomes_.is_there() && job_.file.empty() && outcomes_.lives() < job_.incarnation.value();
}

}  // namespace weft
