// SPDX-License-Identifier: Apache-2.0
#include "sim/mpi/mpi_exchange.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/module_loader.hpp"
#include "base/number_text.hpp"

namespace weft::sim {
namespace {

std::optional<std::uint32_t> first_of(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const auto number = environment_number(variable)) return number;
  }
  return std::nullopt;
}

/// The destination of a neighbour's batch.
struct Arrivals {
  std::span<const std::uint32_t> neighbours;
  std::span<Batch> incoming;
};

void* more(void* context, std::uint32_t place, std::uint64_t bytes) {
  const auto& arrivals = *static_cast<const Arrivals*>(context);
  Batch& batch = arrivals.incoming[arrivals.neighbours[place]];
  const std::size_t before = batch.size();
  batch.resize(before + bytes);
  return batch.data() + before;
}

}  // namespace

std::optional<LaunchedProcess> launched_process() {
  const auto by_mpirun = first_of({"OMPI_COMM_WORLD_RANK"});
  const auto rank = by_mpirun ? by_mpirun : first_of({"PMIX_RANK"});
  if (!rank) return std::nullopt;
  // mpirun itself may have been started by Slurm, whose number all processes then share.
  const auto local = first_of({by_mpirun ? "OMPI_COMM_WORLD_LOCAL_RANK" : "SLURM_LOCALID"});
  return LaunchedProcess{.rank = *rank,
                         .size = first_of({"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}),
                         .first_of_machine = local.value_or(*rank) == 0};
}

Result<const MpiCalls*> MpiExchange::load() {
  auto calls = load_module<MpiCalls>({mpi_library, mpi_calls_symbol, mpi_calls_version});
  if (calls) return calls;
  return Error{calls.error().code,
               fmt::format("several processes work on one simulation by MPI, but: {}; install {} "
                           "and libopenmpi3 on all machines, or start one process",
                           calls.error().message, mpi_library)};
}

Result<std::unique_ptr<MpiExchange>> MpiExchange::start(const MpiCalls& calls,
                                                        std::uint64_t most_bytes) {
  std::uint32_t rank = 0, size = 0;
  if (const char* wrong = calls.start(most_bytes, &rank, &size)) {
    return Error{ErrorCode::unavailable, wrong};
  }
  return std::unique_ptr<MpiExchange>(new MpiExchange(calls, rank, size));
}

MpiExchange::~MpiExchange() {
  if (!finished_) calls_.abort(EXIT_FAILURE);
}

void MpiExchange::finish() {
  finished_ = true;
  calls_.finish();
}

std::int64_t MpiExchange::turn(std::span<const std::uint32_t> neighbours,
                               std::span<const Batch> outgoing, std::span<Batch> incoming,
                               std::int64_t least) {
  for (Batch& batch : incoming) batch.clear();
  batches_.clear();
  for (const std::uint32_t r : neighbours) {
    batches_.push_back({outgoing[r].data(), outgoing[r].size()});
  }
  Arrivals arrivals{neighbours, incoming};
  const MpiTurn turn{.neighbours = neighbours.data(),
                     .count = static_cast<std::uint32_t>(neighbours.size()),
                     .outgoing = batches_.data(),
                     .more = more,
                     .context = &arrivals,
                     .least = least};
  return calls_.turn(&turn);
}

void MpiExchange::sum(std::span<std::uint64_t> values) {
  calls_.sum(values.data(), values.size());
}

}  // namespace weft::sim
