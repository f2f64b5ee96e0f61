// SPDX-License-Identifier: Apache-2.0
// Team: the workers on one command. This process alone, threads of it, or processes that mpirun has
// started, of which the first prints for all.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "sim/mpi/mpi_exchange.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

class Team {
 public:
  enum class Start : std::uint8_t {
    now,
    later,  ///< `start` is called when this process has no more children to make
  };
  /// `threads`: as --parts has it; 0: not given. Makes all processes but the first silent. Errors:
  /// the library that processes need is missing, which all but the first process of a machine
  /// return after 5 s; --parts among several processes, which the first one has then reported.
  static Result<std::unique_ptr<Team>> assemble(std::uint32_t threads, Outcome& outcome,
                                                Start start = Start::now);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  /// Processes wait for each other, unless an exception ends this one: that ends the others too.
  ~Team();

  Result<void> start();

  /// The rank of this process, and the number of processes.
  std::uint32_t rank() const { return rank_; }
  std::uint32_t processes() const { return processes_; }
  /// Returns the number of parts of a divided simulation.
  std::uint32_t parts() const { return processes_ > 1 ? processes_ : threads_; }
  /// Returns whether this process prints, and writes files.
  bool leads() const { return rank_ == 0; }

  /// Checks whether all processes are `good` and were started alike: the same error in all of them
  /// otherwise. `read`: the text that they have read, which must be the same too.
  Result<void> agree(const Result<void>& good, std::string_view read = {});
  /// Calls `body` in every part. Returns the result of this process's first part; parts that add up
  /// their figures yield the same.
  template <class T>
  Result<T> run(const std::function<Result<T>(sim::Exchange&)>& body) {
    std::optional<Result<T>> first;
    each([&](sim::Exchange& exchange) {
      auto result = body(exchange);
      if (exchange.first_of_process()) first.emplace(std::move(result));
    });
    return *std::move(first);
  }
  /// Processes only, started: collects the bytes of each for the first one; empty for others.
  std::vector<sim::Batch> gather(sim::Batch said);

 private:
  explicit Team(Outcome& outcome) : outcome_(outcome) {}
  void each(const std::function<void(sim::Exchange&)>& body);

  Outcome& outcome_;
  std::uint32_t rank_ = 0;
  std::uint32_t processes_ = 1;
  std::uint32_t threads_ = 1;
  const sim::MpiCalls* calls_ = nullptr;
  std::unique_ptr<sim::MpiExchange> exchange_;
  int exceptions_ = std::uncaught_exceptions();
};

/// --parts. Zero when it is not given.
void add_parts_option(CLI::App& command, std::uint32_t& threads);

}  // namespace weft::cli
