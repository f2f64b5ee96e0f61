// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, started together by mpirun or srun. weft itself knows nothing of MPI: a
// library beside it does, which is loaded when there are several processes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/mpi/mpi_module.hpp"
#include "sim/partition/exchange.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// A launcher's description of a process, in its environment.
struct LaunchedProcess {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> size;  ///< none: only MPI itself tells
  bool first_of_machine = true;       ///< no lower rank is on this machine
};

/// This process among those that mpirun, or srun with PMIx, has started; nothing when it was
/// started by itself.
std::optional<LaunchedProcess> launched_process();

class MpiExchange final : public Exchange {
 public:
  /// Loads the library (base/module_loader). Starts nothing yet. Errors: not_found, with the
  /// dynamic linker's message and the fix.
  static Result<const MpiCalls*> load();
  /// Waits until all have come so far. Once per process. `most_bytes` in one MPI message.
  static Result<std::unique_ptr<MpiExchange>> start(const MpiCalls& calls,
                                                    std::uint64_t most_bytes = std::uint64_t{1}
                                                                               << 30);

  /// Without `finish`: ends all other processes too, since they would wait for this one for ever.
  ~MpiExchange() override;
  /// The end, for all ranks.
  void finish();

  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  std::int64_t turn(std::span<const std::uint32_t> neighbours, std::span<const Batch> outgoing,
                    std::span<Batch> incoming, std::int64_t least) override;
  void sum(std::span<std::uint64_t> values) override;

 private:
  MpiExchange(const MpiCalls& calls, std::uint32_t rank, std::uint32_t size)
      : calls_(calls), rank_(rank), size_(size) {}

  const MpiCalls& calls_;
  std::uint32_t rank_;
  std::uint32_t size_;
  bool finished_ = false;
  std::vector<MpiBatch> batches_;
};

}  // namespace weft::sim
