// SPDX-License-Identifier: Apache-2.0
// Ranks: a job whose ranks run a Program on hosts of a simulated network, without processes, fibers
// or payload: a rank needs less than 1 KiB. Messages are matched as an MPI does: eager ones wait at
// the receiver until a receive matches, long ones are announced and fetched then. A message costs
// the sender's processor the host-overhead (LogGP's o) before it enters the network, and the
// receiver's after it has come; adapters announce and ask without processors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "net/job_levels.hpp"
#include "sim/engine/agent.hpp"
#include "sim/network/network.hpp"
#include "sim/workload/program.hpp"

namespace weft::sim {

struct RankOptions {
  std::uint64_t eager_bytes = 16 << 10;  ///< longer messages are announced and asked for
  std::uint32_t header_bytes = 32;       ///< of every message; announcing and asking take no more
  /// Every computation takes a random share up to so much more or less; in [0, 1).
  double compute_noise = 0;
  PicoInstant start{};
  std::uint64_t first_iteration = 0;  ///< of its program: it has run so many before
  std::uint8_t level = 0;             ///< of processes that have none of their own
  std::uint64_t seed = 1;
};

/// One thread. Program, network and agents outlive it; a network that is whole.
class Ranks final : public Agent, public NetworkUser {
 public:
  /// Rank r runs on host `hosts[r]`, alone: no two the same.
  Ranks(const Program& program, const RankOptions& options, std::vector<std::uint32_t> hosts,
        Network& network, Agents& agents);
  /// The same with actions from a feed, which outlives it.
  Ranks(Feed& feed, const RankOptions& options, std::vector<std::uint32_t> hosts, Network& network,
        Agents& agents);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void on_timer(std::uint16_t detail, std::uint64_t rank) override;
  void on_sent(const Message& message, PicoInstant departure) override;
  void on_arrived(const Message& message) override;

  /// The service level of a rank from now on; none: the job's (JobLevels).
  void set_level(std::uint32_t rank, std::optional<std::uint8_t> level) {
    levels_.set(rank, level);
  }
  /// Sets the service level of all ranks without a level of their own, from now on.
  void set_job_level(std::uint8_t level) { levels_.set_job(level); }

  /// From now on ranks post and compute nothing; messages in the network arrive unheard.
  void stop() { stopped_ = true; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  /// Calls of mark_progress so far.
  std::uint64_t iterations(std::uint32_t rank) const { return ranks_[rank].iterations; }
  /// The same with the share of the next one that is done, if that takes as long as those before.
  double progress(std::uint32_t rank) const;
  /// Time that the rank has spent waiting for messages, until now.
  PicoDuration waited(std::uint32_t rank) const;
  std::uint64_t bytes_sent(std::uint32_t rank) const { return ranks_[rank].bytes_sent; }
  std::uint64_t messages_sent() const { return messages_sent_; }
  /// All ranks have come to the end of their programs.
  bool ended() const { return ended_ == ranks_.size(); }
  bool ended(std::uint32_t rank) const { return ranks_[rank].ended; }
  /// Ranks wait for messages that nobody will send: none computes, except to pass the time until
  /// others go on, and none of their messages is under way. Looks at every rank.
  bool stuck() const;
  /// Returns when the last of those that have ended did.
  PicoInstant last_end() const { return last_end_; }
  /// Sends and receives that do not fit each other, the first of them; empty: none. The job stands
  /// still then.
  const std::string& error() const { return error_; }
  static std::size_t bytes_per_rank() { return sizeof(Rank); }

 private:
  /// Either a program or a feed, for so many ranks.
  Ranks(const Program* program, Feed* feed, std::uint32_t ranks, const RankOptions& options,
        std::vector<std::uint32_t> hosts, Network& network, Agents& agents);
  enum class Kind : std::uint8_t { eager, announce, ask, content };
  /// These do not wait behind contents, as adapters serve reads and writes of memory beside sends:
  /// otherwise the two ways of an exchange would follow each other.
  static bool is_control(Kind kind) { return kind == Kind::announce || kind == Kind::ask; }
  struct Open {
    std::uint32_t peer = 0;
    std::uint64_t match = 0;
    std::uint64_t bytes = 0;
    std::uint32_t request = 0;
    bool announced = false;  // unexpected: only its announcement has come
    /// A send whose last packet has begun to leave: when its last byte will have.
    PicoInstant departure = PicoInstant::never();
  };
  struct Rank {
    Cursor cursor;
    std::uint32_t open = 0;  // operations that have not completed
    bool waiting = false;
    bool ended = false;
    Action::Kind waits_for = Action::Kind::wait_all;
    std::uint32_t request = 0;      // that it waits for
    PicoInstant idle_from{};        // while it waits: when its processor has nothing to do any more
    PicoDuration overhead{};        // of messages received, not spent yet
    std::optional<Action> put_off;  // until its processor has spent overhead
    PicoDuration waited{};
    std::uint64_t iterations = 0;
    PicoInstant marked{};  // when the last one ended
    std::uint64_t bytes_sent = 0;
    std::vector<Open> receives;    // posted, in order
    std::vector<Open> unexpected;  // arrived, or announced
    std::vector<Open> sends;       // announced, until the content has left
    Rng noise;
  };
  static constexpr std::uint32_t no_rank = ~std::uint32_t{0};
  static constexpr int kind_shift = 62;

  enum Timer : std::uint16_t { goes_on, content_left };

  void run(std::uint32_t rank);
  bool spend_overhead_before(std::uint32_t rank, const Action& action);
  void go_on_at(std::uint32_t rank, PicoInstant at) { set_timer(rank, at, goes_on); }
  void set_timer(std::uint32_t rank, PicoInstant at, Timer timer);
  bool act(std::uint32_t rank, const Action& action);
  bool compute(std::uint32_t rank, PicoDuration time);
  /// Without headers, a message of no bytes has one on the network.
  std::uint64_t carried(std::uint64_t bytes) const {
    return bytes == 0 && options_.header_bytes == 0 ? 1 : bytes;
  }
  void send(std::uint32_t rank, const Action& action);
  void receive(std::uint32_t rank, const Action& action);
  bool wait(std::uint32_t rank, const Action& action);
  bool is_satisfied(const Rank& rank, const Action& wait) const;
  void complete(std::uint32_t rank, std::uint32_t request, PicoDuration overhead);
  void start();
  bool is_running() const { return error_.empty() && !stopped_; }
  void put(Kind kind, std::uint32_t from, std::uint32_t to, std::uint64_t match,
           std::uint64_t bytes);
  void on_offer(std::uint32_t rank, std::uint32_t from, std::uint64_t match, std::uint64_t bytes,
                bool announced);
  void on_content_left(std::uint32_t rank);
  void on_asked(std::uint32_t rank, std::uint32_t from, std::uint64_t match);
  void fail(std::uint32_t rank, std::uint32_t from, std::uint64_t expected, std::uint64_t bytes);

  const Program* program_ = nullptr;
  Feed* feed_ = nullptr;  // one of the two
  RankOptions options_;
  std::vector<std::uint32_t> hosts_;
  std::vector<std::uint32_t> rank_at_;  // by host
  std::vector<Rank> ranks_;
  net::JobLevels levels_;
  Network& network_;
  Agents& agents_;
  std::uint32_t agent_;
  std::uint16_t user_;
  std::uint64_t messages_sent_ = 0;
  std::uint64_t pending_ = 0;  // timers, and messages in the network
  std::size_t ended_ = 0;
  PicoInstant last_end_{};
  std::string error_;
  bool stopped_ = false;
};

}  // namespace weft::sim
