// SPDX-License-Identifier: Apache-2.0
// The chapter on collective communication, between two groups.
#include <numeric>

#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi::inter {
namespace {

using collective::Operation;
using collective::Piece;
using collective::PlanBuilder;

constexpr Piece input_of(std::uint64_t bytes) {
  return {collective::Buffer::input, 0, bytes};
}
constexpr Piece output_of(std::uint64_t bytes) {
  return {collective::Buffer::output, 0, bytes};
}

/// True: the root is in the other group.
bool is_rank(int root) {
  return root >= 0;
}

void check_root(Collective& c, int root) {
  if (root != MPI_ROOT && root != MPI_PROC_NULL) c.check_root(root);
}

void refuse_in_place(Collective& c, const void* address) {
  if (!c.ok() || address != abi::in_place) return;
  c.error =
      c.call.fail(c.communicator, MPI_ERR_BUFFER, "MPI_IN_PLACE is not for intercommunicators");
}

/// Receives a vector of each process of the other group, and folds them in the order of ranks.
/// `keeps` is the part of the result that goes to the output.
void receive_and_fold(PlanBuilder& plan, std::uint32_t senders, std::uint64_t bytes,
                      std::uint64_t skip, std::uint64_t keeps) {
  if (senders == 0) return;
  std::vector<Piece> vectors;
  std::vector<collective::StepIndex> received;
  for (std::uint32_t rank = 0; rank < senders; ++rank) {
    vectors.push_back(plan.scratch(bytes));
    received.push_back(plan.receive(rank, vectors.back()));
  }
  collective::StepIndex last = received[0];
  for (std::uint32_t rank = 1; rank < senders; ++rank) {
    last = plan.fold_right(vectors[rank].part(skip, keeps), vectors[0].part(skip, keeps), last,
                           received[rank]);
  }
  plan.copy(vectors[0].part(skip, keeps), output_of(keeps), last);
}

void send_to_all(PlanBuilder& plan, std::uint32_t receivers, Piece what) {
  for (std::uint32_t rank = 0; rank < receivers; ++rank) plan.send(rank, what);
}

int run(Collective& c, Operation operation, std::unique_ptr<CollectiveJob> job, PlanBuilder& plan) {
  job->request.operation = operation;
  job->request.root = CallName::no_root;
  job->plan = plan.take();
  return c.run(std::move(job));
}

/// The part of a process of the root's group that is not the root: nothing, but one operation more
/// that was begun, and a request that becomes done.
int run_nothing(Collective& c, Operation operation) {
  PlanBuilder plan;
  return run(c, operation, std::make_unique<CollectiveJob>(), plan);
}

}  // namespace

int barrier(Collective& c) {
  if (!c.ok()) return c.error;
  PlanBuilder plan;
  for (std::uint32_t rank = 0; rank < c.group().size(); ++rank) {
    plan.receive(rank, output_of(0));
    plan.send(rank, input_of(0));
  }
  return run(c, Operation::barrier, std::make_unique<CollectiveJob>(), plan);
}

int bcast(Collective& c, void* buffer, std::int64_t count, MPI_Datatype type, int root) {
  check_root(c, root);
  if (!c.ok()) return c.error;
  if (root == MPI_PROC_NULL) return run_nothing(c, Operation::broadcast);
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  job->in = c.pack(buffer, count, type, root == MPI_ROOT);
  if (!c.ok()) return c.error;
  if (is_rank(root)) {
    job->out = std::move(job->in);
    job->output = job->out.data();
    plan.receive(static_cast<std::uint32_t>(root), output_of(job->out.bytes()));
  } else {
    job->input = job->in.data();
    send_to_all(plan, c.group().size(), input_of(job->in.bytes()));
  }
  return run(c, Operation::broadcast, std::move(job), plan);
}

int reduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op, int root) {
  check_root(c, root);
  if (!c.ok()) return c.error;
  if (root == MPI_PROC_NULL) return run_nothing(c, Operation::reduce);
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  Folding with = folding(c, op, type);
  if (is_rank(root)) {
    refuse_in_place(c, input);
    job->in = c.pack(input, count, type, true);
    if (!c.ok()) return c.error;
    job->input = job->in.data();
    plan.send(static_cast<std::uint32_t>(root), input_of(job->in.bytes()));
  } else {
    job->out = c.pack(output, count, type, false);
    if (!c.ok()) return c.error;
    job->output = job->out.data();
    job->fold = std::move(with.fold);
    receive_and_fold(plan, c.group().size(), job->out.bytes(), 0, job->out.bytes());
  }
  return run(c, Operation::reduce, std::move(job), plan);
}

int allreduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
              MPI_Op op) {
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  Folding with = folding(c, op, type);
  refuse_in_place(c, input);
  job->in = c.pack(input, count, type, true);
  job->out = c.pack(output, count, type, false);
  if (!c.ok()) return c.error;
  job->input = job->in.data();
  job->output = job->out.data();
  job->fold = std::move(with.fold);
  send_to_all(plan, c.group().size(), input_of(job->in.bytes()));
  receive_and_fold(plan, c.group().size(), job->out.bytes(), 0, job->out.bytes());
  return run(c, Operation::allreduce, std::move(job), plan);
}

int reduce_scatter(Collective& c, const void* input, void* output,
                   const std::vector<std::int64_t>& counts, MPI_Datatype type, MPI_Op op) {
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  Folding with = folding(c, op, type);
  for (const std::int64_t count : counts) {
    if (c.ok()) c.check_count(count);
  }
  refuse_in_place(c, input);
  if (!c.ok()) return c.error;
  const auto own = counts.begin() + c.group().rank;
  job->in =
      c.pack(input, std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), type, true);
  job->out = c.pack(output, *own, type, false);
  if (!c.ok()) return c.error;
  const std::uint64_t size = c.call.type(type, c.error)->size();
  const auto before =
      static_cast<std::uint64_t>(std::accumulate(counts.begin(), own, std::int64_t{0}));
  job->input = job->in.data();
  job->output = job->out.data();
  job->fold = std::move(with.fold);
  send_to_all(plan, c.group().size(), input_of(job->in.bytes()));
  receive_and_fold(plan, c.group().size(), job->in.bytes(), before * size, job->out.bytes());
  return run(c, Operation::reduce_scatter, std::move(job), plan);
}

BlockList blocks(Collective& c, const void* base, std::int64_t count, std::int64_t stride,
                 MPI_Datatype type) {
  if (!c.ok()) return {};
  refuse_in_place(c, base);
  const Datatype* const datatype = c.ok() ? c.call.communicated(type, c.error) : nullptr;
  if (datatype == nullptr || !c.check_count(count)) return {};
  BlockList made{const_cast<void*>(base), {}};
  for (std::uint32_t i = 0; i < c.group().size(); ++i) {
    made.blocks.push_back({std::int64_t{i} * stride * datatype->extent(),
                           static_cast<std::uint64_t>(count), datatype});
  }
  return made;
}

int exchange(Collective& c, Operation operation, BlockList input, BlockList output) {
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  job->in_blocks = {std::move(input), true, true};
  job->out_blocks = {std::move(output), false, true};
  const collective::Blocks in = job->in_blocks.blocks();
  const collective::Blocks out = job->out_blocks.blocks();
  job->input = job->in_blocks.data();
  job->output = job->out_blocks.data();
  for (std::uint32_t rank = 0; rank < c.group().size(); ++rank) {
    plan.receive(rank, out.at(collective::Buffer::output, rank));
    plan.send(rank, in.at(collective::Buffer::input, rank));
  }
  return run(c, operation, std::move(job), plan);
}

int gather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
           BlockList output, int root) {
  check_root(c, root);
  if (!c.ok()) return c.error;
  if (root == MPI_PROC_NULL) return run_nothing(c, Operation::gather);
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  if (is_rank(root)) {
    refuse_in_place(c, input);
    job->in = c.pack(input, count, type, true);
    if (!c.ok()) return c.error;
    job->input = job->in.data();
    plan.send(static_cast<std::uint32_t>(root), input_of(job->in.bytes()));
    return run(c, Operation::gather, std::move(job), plan);
  }
  job->out_blocks = {std::move(output), false, true};
  job->output = job->out_blocks.data();
  const collective::Blocks out = job->out_blocks.blocks();
  for (std::uint32_t rank = 0; rank < c.group().size(); ++rank) {
    plan.receive(rank, out.at(collective::Buffer::output, rank));
  }
  return run(c, Operation::gather, std::move(job), plan);
}

int scatter(Collective& c, BlockList input, void* output, std::int64_t count, MPI_Datatype type,
            int root) {
  check_root(c, root);
  if (!c.ok()) return c.error;
  if (root == MPI_PROC_NULL) return run_nothing(c, Operation::scatter);
  auto job = std::make_unique<CollectiveJob>();
  PlanBuilder plan;
  if (is_rank(root)) {
    refuse_in_place(c, output);
    job->out = c.pack(output, count, type, false);
    if (!c.ok()) return c.error;
    job->output = job->out.data();
    plan.receive(static_cast<std::uint32_t>(root), output_of(job->out.bytes()));
    return run(c, Operation::scatter, std::move(job), plan);
  }
  job->in_blocks = {std::move(input), true, true};
  job->input = job->in_blocks.data();
  const collective::Blocks in = job->in_blocks.blocks();
  for (std::uint32_t rank = 0; rank < c.group().size(); ++rank) {
    plan.send(rank, in.at(collective::Buffer::input, rank));
  }
  return run(c, Operation::scatter, std::move(job), plan);
}

}  // namespace weft::mpi::inter
