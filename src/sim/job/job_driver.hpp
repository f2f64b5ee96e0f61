// SPDX-License-Identifier: Apache-2.0
// JobDriver: runs jobs of any kind beside each other in one world until all of them are over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/run/world.hpp"

namespace weft::sim {

/// The user's wish to end a simulation.
enum class EndWish : std::uint8_t {
  none,
  in_order,  ///< its jobs end in agreement between their processes
  at_once,   ///< their results so far are final
};

/// World, jobs and exchange outlive it. Every part of a divided simulation has one, and all of them
/// make the same calls. Endless jobs end when all others are over.
class JobDriver {
 public:
  /// The driver calls `wish`, which may be empty, every few simulated microseconds, once per
  /// process.
  JobDriver(World& world, Exchange& exchange, std::function<EndWish()> wish);

  /// Jobs have begun, or wait for their time, when `run` is called.
  void add(Job& job) { jobs_.push_back({.job = &job}); }
  /// Drives the simulation until every job is concluded. Errors: those of a job, with its name in
  /// front when there are several.
  Result<void> run();
  /// Jobs were ended at once: packets are left in the network.
  bool cut_off() const { return cut_off_; }

 private:
  struct Entry {
    Job* job = nullptr;
    bool concluded = false;
  };

  PicoInstant now() const { return world_.engine().now(); }
  std::size_t count_left() const;
  Result<void> advance(PicoDuration slice);
  Result<void> hear_of_each_other();
  Result<void> look_around();
  Result<void> conclude(Entry& entry);
  Result<void> end_rest();
  Error first_failure() const;
  void tell_progress();
  Error named(const Entry& entry, Error error) const;

  World& world_;
  Exchange& exchange_;
  std::function<EndWish()> ask_;
  std::vector<Entry> jobs_;
  std::uint64_t wants_progress_ = 0;  // the same in all parts
  bool is_news_ = false;
  bool interrupted_ = false;
  bool cut_off_ = false;
};

}  // namespace weft::sim
