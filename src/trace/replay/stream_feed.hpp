// SPDX-License-Identifier: Apache-2.0
// A recorded program as actions of simulated ranks: calls in their order, computation as recorded
// times a factor, collective operations as their algorithms' messages. Holds open operations only,
// not past ones.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/collective/collective.hpp"
#include "sim/workload/program.hpp"
#include "trace/events/event.hpp"
#include "trace/events/pairing.hpp"

namespace weft::trace {

/// One thread. The stream outlives it; it has been examined and found complete.
class StreamFeed final : public sim::Feed {
 public:
  /// Every computation takes `compute_factor` times its recorded length; at least 0.
  StreamFeed(EventStream& stream, double compute_factor);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_.size()); }
  sim::Action next(std::uint32_t rank) override;
  void on_completed(std::uint32_t rank, std::uint32_t request) override;
  /// The stream's error of reading; the rank that it stopped has ended then.
  const std::optional<Error>& error() const { return error_; }

 private:
  /// A collective operation under way: its steps from `at` on are still to be taken.
  struct Running {
    collective::Plan plan;
    std::uint32_t communicator = 0;
    std::size_t at = 0;
    bool sizes_vary = false;
    std::vector<bool> open;  // by step
  };
  struct Rank {
    std::vector<bool> open;  // by request
    std::optional<Running> collective;
  };
  struct Side {
    std::uint64_t name = 0;
    std::uint32_t request = 0;
  };
  /// Steps of a collective have numbers of their own.
  static constexpr std::uint32_t first_step = std::uint32_t{1} << 31;
  /// Communicators likewise, as seen by the messages of collectives.
  static constexpr std::uint32_t of_collectives = std::uint32_t{1} << 31;

  std::optional<sim::Action> act_on(std::uint32_t rank, const Event& event);
  std::optional<sim::Action> begin_message(std::uint32_t rank, bool sends, const Event& event);
  void begin_collective(std::uint32_t rank, const Event& event);
  std::optional<sim::Action> continue_collective(std::uint32_t rank);
  std::optional<sim::Action> take_step(std::uint32_t rank, std::uint32_t index);
  void set_open(std::uint32_t rank, std::uint32_t request, bool open);
  bool is_open(std::uint32_t rank, std::uint32_t request) const;

  EventStream& stream_;
  double factor_;
  std::vector<Rank> ranks_;
  Pairing<Side> pairing_;
  std::uint64_t names_ = 0;
  std::optional<Error> error_;
};

}  // namespace weft::trace
