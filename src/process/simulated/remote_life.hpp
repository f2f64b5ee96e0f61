// SPDX-License-Identifier: Apache-2.0
// RemoteLife: a life of a rank whose program is a real process of its own. The fiber stands for it:
// it does what the process asks of its fabric (process/proxy_fabric), and while the process
// computes, the whole simulation waits. So one process runs at a time, and what happens does not
// depend on the machine, unless computing is measured.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process/proxy_wire.hpp"
#include "process/simulated/hosted_life.hpp"
#include "runtime/channel.hpp"
#include "weft/result.hpp"

namespace weft {

/// Starts a process whose end of the channel is given. Returns its number.
using ProcessStarter = std::function<Result<pid_t>(NodeId rank, Channel& its_end)>;

class RemoteLife final : public HostedLife {
 public:
  /// The caller keeps rank and starter alive. Throws std::bad_alloc when there is no memory for a
  /// stack.
  RemoteLife(SimulatedRank& rank, const ProcessStarter& start) : HostedLife(rank), start_(start) {}
  /// Kills the process, if it still runs.
  ~RemoteLife() override;
  std::string waits_in() const override { return waits_in_; }

 private:
  /// An operation under way. A write's bytes stay here until it is over.
  struct Underway {
    std::uint64_t context = 0;
    std::vector<std::byte> bytes;
  };
  struct Exposed {
    std::vector<std::byte> memory;
    Region region;
  };

  int live() override;
  std::int64_t take_computed_ns() override { return std::exchange(computed_ns_, 0); }
  int end_of_process();
  /// Returns false if the question makes no sense.
  bool answer(char kind, proxy::Taken& taken, std::string& text);
  bool post(proxy::Taken& taken, std::string& text);
  void poll(std::uint64_t most, std::string& text);
  void retract(const RemoteRegion& region, std::string& text);

  const ProcessStarter& start_;
  Channel channel_;
  pid_t pid_ = -1;
  std::string waits_in_;  // the call of the last wait
  bool has_joined_ = false;
  bool has_left_ = false;
  std::int64_t computed_ns_ = 0;
  std::uint64_t next_operation_ = 0;
  std::unordered_map<std::uint64_t, Underway> underway_;
  std::unordered_map<std::uint64_t, Exposed> exposed_;  // by key
};

/// Makes lives of ranks, each with a process of its own that `start` starts.
LifeMaker remote_lives(ProcessStarter start);

}  // namespace weft
