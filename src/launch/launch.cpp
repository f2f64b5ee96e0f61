// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/number_text.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "launch/admission.hpp"
#include "launch/all_anew.hpp"
#include "launch/host.hpp"
#include "launch/host_choice.hpp"
#include "launch/launched_job.hpp"
#include "launch/local_host.hpp"
#include "launch/output_buffer.hpp"
#include "launch/ports.hpp"
#include "launch/program_exec.hpp"
#include "launch/rank_lives.hpp"
#include "launch/rank_output.hpp"
#include "launch/remote_host.hpp"
#include "launch/worlds.hpp"
#include "process/job_link.hpp"
#include "runtime/clock.hpp"
#include "runtime/directory.hpp"

namespace weft {
namespace {

/// Processes that were told to go have so long for it.
constexpr Duration grace = Duration::seconds(2);
/// Whether a host can be used again.
constexpr Duration look_again = Duration::milliseconds(50);
/// The exit code of a job whose host is gone, as ssh's own.
constexpr int code_of_lost_host = 255;

class Launcher final : private HostListener {
 public:
  Launcher(const LaunchOptions& options, const std::function<void(const std::string&)>& say)
      : options_(options),
        say_(say),
        directory_(options.processes),
        output_(STDOUT_FILENO),
        all_anew_(options.hosts.empty() ? STDIN_FILENO : -1) {}

  Result<LaunchOutcome> run() {
    if (auto opened = signals_.open(); !opened) return std::move(opened).error();
    if (auto prepared = prepare(); !prepared) return std::move(prepared).error();
    // With a job's file, other launchers may have started other ranks.
    lives_.emplace(static_cast<std::uint32_t>(ranks_.size()),
                   RankLives::Options{.restart = options_.restart,
                                      .restart_all = options_.restart_all,
                                      .most_restarts = options_.most_restarts,
                                      .decides = options_.file.empty()});
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].host == nullptr) continue;
      if (auto started = start(rank); !started) return std::move(started).error();
    }
    while ((lives_->running() > 0 || !waiting_.empty()) && !error_) turn();
    if (ending_ || error_) signal_all(SIGKILL);  // and what they have left behind
    for (const auto& host : hosts_) host->finish();
    for (bool is_cut_short = ending_; !error_ && !all_finished(); turn()) {
      if (ending_ && !std::exchange(is_cut_short, true)) signal_all(SIGKILL);
    }
    for (Rank& rank : ranks_) end_output(rank, false);
    while (!error_ && output_.size() > 0 && monotonic_now() < stop_writing_at_) turn();
    if (error_) return *error_;
    outcome_.restarts = lives_->restarts();
    return outcome_;
  }

 private:
  struct Rank {
    Host* host = nullptr;  // null: not of this launcher
    Incarnation incarnation{};
    Instant started{};
    RankOutput output;
  };

  // ---- before the start

  Result<void> prepare() {
    if (!options_.file.empty()) return prepare_file();
    secret_ = make_job_secret();
    ranks_.resize(options_.processes);
    // Lives that repeat themselves would start programs again.
    if (!options_.restart) worlds_.emplace(options_.processes);
    if (options_.hosts.empty()) {
      hosts_.push_back(std::make_unique<LocalHost>(options_.processes, options_.command, signals_,
                                                   options_.restart));
      for (Rank& rank : ranks_) rank.host = hosts_[0].get();
    } else {
      prepare_hosts();
    }
    return {};
  }

  Result<void> prepare_file() {
    auto places = places_of_file(options_);
    if (!places) return std::move(places).error();
    secret_ = std::move(places->secret);
    ranks_.resize(places->ranks);
    directory_ = Directory(places->ranks);
    hosts_.push_back(
        std::make_unique<LocalHost>(places->ranks, options_.command, signals_, options_.restart));
    for (std::uint32_t i = 0; i < options_.processes; ++i) {
      ranks_[places->here[i]].host = hosts_[0].get();
    }
    return {};
  }

  void prepare_hosts() {
    std::size_t next = 0;
    // Hosts without ranks are there for those of hosts that are lost.
    for (RemoteOptions& remote : remote_options(options_, secret_)) {
      const std::uint32_t slots = options_.hosts[hosts_.size()].slots;
      hosts_.push_back(std::make_unique<RemoteHost>(std::move(remote), signals_));
      for (std::uint32_t i = 0; i < slots && next < ranks_.size(); ++i) {
        ranks_[next++].host = hosts_.back().get();
      }
    }
  }

  std::uint32_t ranks_of(const Host* host) const {
    return static_cast<std::uint32_t>(std::ranges::count(ranks_, host, &Rank::host));
  }

  JobDescription description(std::uint32_t rank) const {
    JobDescription job = describe_job(options_, secret_);
    job.self = NodeId(rank);
    job.nodes = static_cast<std::uint32_t>(ranks_.size());
    job.nodes_here = ranks_of(ranks_[rank].host);
    job.incarnation = ranks_[rank].incarnation;
    job.restarts_all = lives_->restarts_all();
    job.has_kept = job.restarts_all && !options_.restart_all;
    job.attempt = all_anew_.attempt();
    if (worlds_) worlds_->describe(job, rank);
    return job;
  }

  // ---- processes

  Result<void> start(std::uint32_t index) {
    Rank& rank = ranks_[index];
    rank.incarnation = directory_.begin(index);
    const auto started = rank.host->start(index, to_text(description(index)));
    if (!started) return started;
    rank.started = monotonic_now();
    lives_->begin(index);
    rank.output.begin_life(repeats_);
    return {};
  }

  void turn() {
    wait();
    while (const int signal = signals_.next()) {
      if (signal != SIGCHLD) interrupt(signal);
    }
    const Instant now = monotonic_now();
    output_.flush();
    if (!error_) error_ = output_.error();
    for (const auto& host : hosts_) host->step(now, *this);
    for (const auto& [rank, text] : std::exchange(questions_, {})) answer(rank, text);
    keep_nothing_if_due();
    start_waiting(now);
    if (now < kill_at_) return;
    kill_at_ = Instant::never();
    signal_all(SIGKILL);
  }

  void wait() {
    std::vector<pollfd> files = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    Instant deadline = kill_at_;
    for (const auto& [rank, at] : waiting_) deadline = std::min(deadline, at);
    for (const auto& host : hosts_) {
      host->add_to(files);
      deadline = std::min(deadline, host->next_deadline());
    }
    if (output_.size() > 0) {
      files.push_back({.fd = output_.descriptor(), .events = POLLOUT, .revents = 0});
    }
    const std::int64_t left_ms = (deadline - monotonic_now()).ticks() / 1'000'000 + 1;
    constexpr std::int64_t longest_ms = std::numeric_limits<int>::max();
    (void)::poll(files.data(), files.size(),
                 static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, longest_ms)));
  }

  bool all_finished() const { return std::ranges::all_of(hosts_, &Host::is_finished); }

  void tell(std::uint32_t rank, char kind, std::string_view text) {
    if (lives_->runs(rank)) ranks_[rank].host->send(rank, kind, text);
  }
  void tell_all(char kind, std::string_view text) {
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) tell(i, kind, text);
  }

  // ---- events of hosts

  void on_message(std::uint32_t rank, Channel::Message message) override {
    if (rank >= ranks_.size() || !lives_->runs(rank)) return;
    switch (message.kind) {
      case launch_message::takes:
        if (!lives_->on_program(rank)) end_without(rank);
        break;
      case launch_message::address:
        directory_.set_address(rank, std::move(message.text));
        directory_.introduce(rank, [&](std::uint32_t to, const std::string& lines) {
          tell(to, launch_message::peers, lines);
        });
        lives_->on_joined(rank);
        if (const World* world = worlds_ ? worlds_->on_joined(rank) : nullptr) {
          tell_answer(world->asked_by, {.first = world->first, .processes = world->size});
        }
        if (const auto early = lives_->left_early()) end_without(*early);
        break;
      case launch_message::needs_all:
        lives_->on_needs_all();
        if (const auto lost = lives_->lost(); lost && !ending_) {
          end_all(fmt::format("rank {} was killed, and all of its job need it", *lost));
        }
        break;
      case launch_message::returned:
        lives_->on_returned(rank);
        ports_.close_all_of(rank);
        tell_if_over();
        if (message.text == returned_alone && worlds_) let_go(worlds_->on_alone(rank));
        break;
      case launch_message::exits:
        return lives_->on_exits(rank);
      case launch_message::over:
        lives_->on_over();
        tell_if_over();
        break;
      case launch_message::needs:
        return bring_back(message.text, rank);
      case launch_message::cannot_start:
        return cannot_start(rank, message.text);
      case launch_message::diverged:
        if (repeats_ && options_.file.empty() && !ending_) return begin_anew(rank, message.text);
        [[fallthrough]];
      case launch_message::hopeless:
        return on_failure(message.text);
      case launch_message::question:
        questions_.emplace_back(rank, std::move(message.text));
        break;
      case launch_message::stored:
        return lives_->on_stored(rank, parse_number<std::uint64_t>(message.text).value_or(0));
      case launch_message::repeats:
        repeats_ = true;
        break;
      case launch_message::cannot_keep:
        return all_anew_.cannot_keep(rank, message.text);
      default:  // one that failed has said so itself; its end follows
        break;
    }
  }

  void begin_anew(std::uint32_t rank, const std::string& why) {
    if (const auto line = all_anew_.begin_from_nothing(rank, *lives_, why)) say_(*line);
    ranks_[rank].host->kill(rank);
  }

  void keep_nothing_if_due() {
    const auto line = ending_ ? std::nullopt : all_anew_.go_over(*lives_);
    if (!line) return;
    say_(*line);
    tell_all(launch_message::keep_nothing, directory_.later_lives());
  }

  // ---- processes that are started while the job runs

  void tell_answer(std::uint32_t rank, const LauncherAnswer& answer) {
    tell(rank, launch_message::answer, to_text(answer));
  }

  void answer(std::uint32_t rank, const std::string& text) {
    const auto question = read_launcher_question(text);
    if (!question) return on_failure(question.error().message);
    if (Ports::is_about_port(*question)) return tell_answer(rank, ports_.answer(*question, rank));
    if (!worlds_) {
      return tell_answer(rank, {.refusal = "weft run cannot start processes, or keep names, with "
                                           "--restart or --config; leave that option out"});
    }
    if (question->kind != LauncherQuestion::Kind::spawn) {
      return tell_answer(rank, worlds_->answer_about_name(*question));
    }
    // Nobody would meet the children of a process that has died since it asked.
    if (ending_ || !lives_->runs(rank)) return;
    if (const std::string why = worlds_->refusal(*question); !why.empty()) {
      return tell_answer(rank, {.refusal = why});
    }
    spawn(*question, rank);
  }

  /// The process that asked is answered when they have joined.
  void spawn(const LauncherQuestion& question, std::uint32_t asked_by) {
    const World world = worlds_->add(question, asked_by);
    const std::uint32_t all = world.first + world.size;
    ranks_.resize(all);
    directory_.grow(all);
    lives_->grow(all);
    for (std::size_t i = 0; i < question.programs.size(); ++i) {
      for (const auto& host : hosts_) host->grow(world.ends[i], question.programs[i].command);
    }
    for (std::uint32_t rank = world.first; rank < all; ++rank) {
      ranks_[rank].host = &freest_host();
      auto started = allow_ranks(options_, lives_->running() + all - rank);
      if (started.ok()) started = start(rank);
      if (!started) {
        for (std::uint32_t i = rank; i < all; ++i) lives_->skip(i);
        return refuse(*worlds_->on_ended(rank), started.error().message);
      }
    }
  }

  /// With the most free slots.
  Host& freest_host() const {
    const auto free = [this](const std::unique_ptr<Host>& host) {
      const auto i = static_cast<std::size_t>(&host - hosts_.data());
      std::int64_t slots = i < options_.hosts.size() ? options_.hosts[i].slots : 0;
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        if (ranks_[rank].host == host.get() && lives_->runs(rank)) --slots;
      }
      return slots;
    };
    return **std::ranges::max_element(hosts_, {}, free);
  }

  /// The processes of a world that another one waits for in vain: nobody needs them.
  void refuse(const World& world, const std::string& why) {
    tell_answer(world.asked_by, {.refusal = why});
    for (std::uint32_t rank = world.first; rank < world.first + world.size; ++rank) {
      if (ranks_[rank].host != nullptr) ranks_[rank].host->kill(rank);
    }
  }

  /// Null: none of them yet.
  void let_go(const World* world) {
    for (std::uint32_t i = 0; world != nullptr && i < world->size; ++i) {
      tell(world->first + i, launch_message::over, "");
    }
  }

  /// Once, unless a rank is started anew since: then everybody leaves.
  void tell_if_over() {
    if (!lives_->over() || std::exchange(told_over_, true)) return;
    tell_all(launch_message::over, "");
  }

  /// The same for all ranks, most likely; one line is enough. Its end is advice.
  void cannot_start(std::uint32_t rank, const std::string& why) {
    if (ending_) return;
    if (const World* world = worlds_ ? worlds_->on_ended(rank) : nullptr) {
      return refuse(*world, why);
    }
    say_(where(rank).empty() ? why : fmt::format("host {}: {}", ranks_[rank].host->name(), why));
    if (outcome_.code == 0) outcome_.code = cannot_execute;
    interrupt(SIGTERM);
  }

  /// `text` names a rank that died after its program had returned: its messages are needed again.
  void bring_back(const std::string& text, std::uint32_t asked_by) {
    const auto needed = parse_number<std::uint32_t>(text);
    if (!needed || *needed >= ranks_.size() || ending_) return;
    const std::uint32_t rank = *needed;
    const RankLives::Next next = lives_->on_needed(rank);
    if (next == RankLives::Next::nothing) return;
    const std::string what = fmt::format("rank {} is needed by rank {}", rank, asked_by);
    if (next == RankLives::Next::start_anew) return start_anew(rank, what);
    say_(what + lives_->why_not_anew(rank));
    count(1);
    end_all(what);
  }

  void on_output(std::uint32_t index, std::string_view bytes) override {
    if (index >= ranks_.size()) return;
    ranks_[index].output.take(bytes, [this](std::string_view text) { output_.append(text); });
    check_output(index);
  }
  void check_output(std::uint32_t rank) {
    const RankOutput& printed = ranks_[rank].output;
    const char* const advice = all_anew_.advice(options_.restart_all);
    if (printed.has_diverged()) on_failure(printed.why_diverged(rank) + advice);
  }
  void end_output(Rank& rank, bool is_started_anew) {
    rank.output.end_life(is_started_anew && repeats_,
                         [this](std::string_view text) { output_.append(text); });
  }
  bool output_full() const override { return output_.full(); }

  void on_failure(const std::string& why) override {
    if (!error_) error_ = Error{ErrorCode::unavailable, why};
  }

  void on_end(std::uint32_t rank, int status) override {
    if (rank >= ranks_.size() || !lives_->runs(rank)) return;
    handle_end(rank, lives_->describe(rank, status), RankLives::End::of(status));
  }

  void on_lost(Host& host, const std::string& why, bool was_up) override {
    const std::string what = fmt::format("host {} is lost: {}", host.name(), why);
    if (!was_up) given_up_.insert(&host);
    if (!was_up && known_hosts_.count(&host) == 0 && !ending_) {
      // It was never there: somebody has to look at the list of hosts first.
      return on_failure(fmt::format("host {}: {}", host.name(), why));
    }
    say_(what);
    std::vector<std::uint32_t> lost;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].host == &host && lives_->runs(i)) lost.push_back(i);
    }
    for (const std::uint32_t rank : lost) {
      handle_end(rank, fmt::format("was lost with host {}", host.name()),
                 {.code = code_of_lost_host, .was_killed = true});
    }
  }

  void on_up(Host& host) override { known_hosts_.insert(&host); }

  // ---- consequences

  void handle_end(std::uint32_t rank, const std::string& how, RankLives::End end) {
    using Next = RankLives::Next;
    directory_.forget(rank);
    ports_.close_all_of(rank);
    const std::string what = fmt::format("rank {} {}", rank, how);
    if (const World* world = worlds_ ? worlds_->on_ended(rank) : nullptr) {
      const bool joined = lives_->has_joined(rank);
      refuse(
          *world,
          fmt::format("{} before {} had called MPI_Init{}", what, joined ? "all" : "it",
                      joined || end.was_killed ? "" : "; MPI_Comm_spawn starts programs of MPI"));
    }
    end.lived = monotonic_now() - ranks_[rank].started;
    end.is_refused = worlds_ && worlds_->of(rank).is_refused;
    const Next next = lives_->on_end(rank, end);
    if (end.code == 0 && !ending_ && next == Next::nothing) ranks_[rank].output.on_success();
    check_output(rank);
    end_output(ranks_[rank], lives_->is_to_start(rank));
    if (ending_ || error_) return count(end.code);
    switch (next) {
      case Next::nothing:
        break;
      case Next::start_anew:
        return start_anew(rank, what);
      case Next::start_too:
        return await_start(rank, what);
      case Next::rest:
        say_(what + " after its program had returned");
        break;
      case Next::left_early:
        return end_without(rank);
      case Next::fail:
        say_(what);
        count(end.code);
        break;
      case Next::end_job:
        say_(what + lives_->why_not_anew(rank));
        count(end.code != 0 ? end.code : 1);  // a script may have hidden the code
        return end_all(what);
    }
    tell_if_over();
  }

  /// The first code counts.
  void count(int code) {
    if (outcome_.code == 0) outcome_.code = code;
  }

  void start_anew(std::uint32_t rank, const std::string& why) {
    if (!all_anew_.on_start(rank, *lives_)) return on_failure(why + AllAnew::lost_input);
    const std::string& before = ranks_[rank].host->name();
    await_start(rank, why);
    if (waiting_.count(rank) == 0) return;
    const Duration left = waiting_[rank] - monotonic_now();
    const std::string when =
        left > Duration{} ? fmt::format(", when no life of it can be left on {}, in {:.1f} s",
                                        before, left.to_seconds())
                          : "";
    const std::string what = lives_->restarts_all() ? "all ranks anew" : "it anew" + where(rank);
    if (!all_anew_.was_said(rank)) say_(fmt::format("{}; starting {}{}", why, what, when));
    told_over_ = false;  // if the job was over, it is not any more
    for (std::uint32_t i = 0; lives_->restarts_all() && i < ranks_.size(); ++i) {
      if (lives_->runs(i)) ranks_[i].host->kill(i);
      if (lives_->is_to_start(i) && waiting_.count(i) == 0) await_start(i, why);
    }
  }

  void await_start(std::uint32_t rank, const std::string& why) {
    const Host& before = *ranks_[rank].host;
    if (!find_host(rank)) {
      say_(why + "; no host is left for it");
      count(code_of_lost_host);
      return end_all(why);
    }
    // The same host ends the remains of the life. Those on another one end by themselves.
    waiting_[rank] = ranks_[rank].host != &before ? before.clear_at() : Instant{};
  }

  void start_waiting(Instant now) {
    if (lives_->awaits_ends()) return;
    std::erase_if(waiting_, [&](const auto& waiting) {
      const auto [rank, at] = waiting;
      if (now < at && !ending_) return false;
      const auto started = ending_ || lives_->over() ? Result<void>() : start(rank);
      if (!started && started.error().code == ErrorCode::unavailable) {
        waiting_[rank] = now + look_again;  // its host is being given up, and that takes a moment
        return false;
      }
      if (!started) on_failure(started.error().message);
      return true;
    });
  }

  /// Others count on a program that has not failed: its process exited, or began another one.
  void end_without(std::uint32_t rank) {
    if (ending_) return;
    const std::string what = fmt::format("rank {} {}", rank, lives_->why_missed(rank));
    say_(what);
    count(1);
    end_all(what);
  }

  std::string where(std::uint32_t rank) const {
    return ranks_[rank].host->name().empty() ? "" : " on " + ranks_[rank].host->name();
  }

  /// For a rank's next life: its last host, or the one with the fewest ranks. False: none is left.
  bool find_host(std::uint32_t rank) {
    Host*& host = ranks_[rank].host;
    if (given_up_.count(host) == 0) return true;
    Host* const best =
        host_with_fewest(hosts_, given_up_, [this](const Host* other) { return ranks_of(other); });
    if (best != nullptr) host = best;
    return best != nullptr;
  }

  void signal_all(int signal) {
    for (const auto& host : hosts_) host->signal_all(signal);
  }
  void interrupt(int signal) {
    if (outcome_.code == 0) outcome_.code = 128 + signal;
    signal_all(signal);
    ending_ = true;
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
    stop_writing_at_ = std::min(stop_writing_at_, kill_at_);
  }

  void end_all(const std::string& why) {
    ending_ = true;
    tell_all(launch_message::abort, why);
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
  }

  const LaunchOptions& options_;
  const std::function<void(const std::string&)>& say_;
  JobSecret secret_;
  SignalFile signals_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Rank> ranks_;
  Directory directory_;
  OutputBuffer output_;
  std::set<const Host*> known_hosts_;  // were up
  std::set<const Host*> given_up_;     // could not be reached again
  std::optional<RankLives> lives_;
  AllAnew all_anew_;
  Ports ports_;
  std::optional<Worlds> worlds_;  // none: no process can be started while the job runs
  std::vector<std::pair<std::uint32_t, std::string>> questions_;  // of ranks
  std::map<std::uint32_t, Instant> waiting_;  // ranks that are to be started, and when
  LaunchOutcome outcome_;
  std::optional<Error> error_;
  Instant kill_at_ = Instant::never();
  Instant stop_writing_at_ = Instant::never();  // output that nobody may ever read
  bool repeats_ = false;                        // lives of this program repeat themselves
  bool told_over_ = false, ending_ = false;
};

}  // namespace

Result<LaunchOutcome> launch(const LaunchOptions& options,
                             const std::function<void(const std::string&)>& say) {
  if (auto admitted = admit(options); !admitted) return std::move(admitted).error();
  return Launcher(options, say).run();
}

}  // namespace weft
