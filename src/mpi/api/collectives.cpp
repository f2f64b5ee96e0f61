// SPDX-License-Identifier: Apache-2.0
// The chapter on collective communication: the operations, and calls that block.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "mpi/api/collective_call.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi {
using collective::Blocks;
using collective::Operation;

int barrier(Collective& c) {
  if (is_inter(c)) return inter::barrier(c);
  if (!c.ok()) return c.error;
  if (c.request == nullptr) return c.run_now({.operation = Operation::barrier}, {}, {}, {});
  auto job = std::make_unique<CollectiveJob>();
  job->request = {.operation = Operation::barrier};
  return c.run(std::move(job));
}

int bcast(Collective& c, void* buffer, std::int64_t count, MPI_Datatype type, int root) {
  if (is_inter(c)) return inter::bcast(c, buffer, count, type, root);
  if (const auto bytes = c.bytes_in_one_piece(buffer, count, type)) {
    c.check_root(root);
    if (!c.ok()) return c.error;
    return c.run_now({.operation = Operation::broadcast,
                      .root = static_cast<std::uint32_t>(root),
                      .bytes = bytes->size()},
                     nullptr, bytes->data(), {});
  }
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  const bool gives = c.ok() && c.is_root(root);
  Packed data = c.pack(buffer, count, type, gives);
  if (!c.ok()) return c.error;
  (gives ? job->in : job->out) = std::move(data);
  job->output = (gives ? job->in : job->out).data();
  job->request = {.operation = Operation::broadcast,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = (gives ? job->in : job->out).bytes()};
  return c.run(std::move(job));
}

namespace {

/// `out`: the root's room for the first block.
int gather_in_one_piece(Collective& c, std::span<std::byte> in, std::span<std::byte> out,
                        std::uint64_t block, int root) {
  if (out.data() != nullptr) {
    c.check_apart(in.data(), out.data() + c.group().rank * block, block);
    if (!c.ok()) return c.error;
  }
  return c.run_now({.operation = Operation::gather,
                    .root = static_cast<std::uint32_t>(root),
                    .bytes = block,
                    .blocks = Blocks::uniform(block)},
                   in.data(), out.data(), {});
}

}  // namespace

int gather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
           std::int64_t output_count, MPI_Datatype output_type, int root) {
  if (is_inter(c)) {
    BlockList list;
    if (root == MPI_ROOT) list = inter::blocks(c, output, output_count, output_count, output_type);
    return inter::gather(c, input, count, type, std::move(list), root);
  }
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool gets = c.is_root(root);
  const bool in_place = input == abi::in_place;
  const auto in = in_place ? std::nullopt : c.bytes_in_one_piece(input, count, type);
  if (in && !gets) return gather_in_one_piece(c, *in, {}, in->size(), root);
  if (in) {
    const auto out = c.bytes_in_one_piece(output, output_count, output_type);
    if (out) return gather_in_one_piece(c, *in, *out, out->size(), root);
  }
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  if (gets) job->out = c.pack(output, output_count, output_type, in_place, c.group().size());
  if (!in_place) job->in = c.pack(input, count, type, true);
  if (!c.ok()) return c.error;
  const std::uint64_t block = gets ? job->out.bytes() / c.group().size() : job->in.bytes();
  if (gets) c.check_apart(job->in.data(), job->out.data() + c.group().rank * block, block);
  if (!c.ok()) return c.error;
  job->request = {.operation = Operation::gather,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = block,
                  .blocks = Blocks::uniform(block),
                  .in_place = in_place};
  job->input = job->in.data();
  job->output = job->out.data();
  return c.run(std::move(job));
}

int gatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
            Integers counts, Integers displacements, MPI_Datatype output_type, int root) {
  if (is_inter(c)) {
    BlockList list;
    if (root == MPI_ROOT) list = c.list(output, counts, displacements, output_type);
    return inter::gather(c, input, count, type, std::move(list), root);
  }
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool in_place = input == abi::in_place;
  if (!in_place) job->in = c.pack(input, count, type, true);
  if (c.ok() && c.is_root(root)) {
    job->out_blocks = {c.list(output, counts, displacements, output_type), in_place};
  }
  if (c.ok() && c.is_root(root))
    c.check_apart(job->in.data(), job->out_blocks.at(c.group().rank), job->in.bytes());
  if (!c.ok()) return c.error;
  job->request = {.operation = Operation::gather,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = job->in.bytes(),
                  .blocks = job->out_blocks.blocks(),
                  .in_place = in_place};
  job->input = job->in.data();
  job->output = job->out_blocks.data();
  return c.run(std::move(job));
}

int scatter(Collective& c, const void* input, std::int64_t input_count, MPI_Datatype input_type,
            void* output, std::int64_t count, MPI_Datatype type, int root) {
  if (is_inter(c)) {
    BlockList list;
    if (root == MPI_ROOT) list = inter::blocks(c, input, input_count, input_count, input_type);
    return inter::scatter(c, std::move(list), output, count, type, root);
  }
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool in_place = output == abi::in_place;
  const bool gives = c.is_root(root);
  const auto out = in_place ? std::nullopt : c.bytes_in_one_piece(output, count, type);
  const auto in = out && gives ? c.bytes_in_one_piece(input, input_count, input_type) : out;
  if (in && out) {
    const std::uint64_t block = out->size();
    if (gives) c.check_apart(in->data() + c.group().rank * block, out->data(), block);
    if (!c.ok()) return c.error;
    return c.run_now({.operation = Operation::scatter,
                      .root = static_cast<std::uint32_t>(root),
                      .bytes = block,
                      .blocks = Blocks::uniform(block)},
                     gives ? in->data() : nullptr, out->data(), {});
  }
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  if (c.is_root(root)) job->in = c.pack(input, input_count, input_type, true, c.group().size());
  if (!in_place) job->out = c.pack(output, count, type, false);
  if (!c.ok()) return c.error;
  const std::uint64_t block = in_place ? job->in.bytes() / c.group().size() : job->out.bytes();
  if (c.is_root(root)) {
    c.check_apart(job->in.data() + c.group().rank * block, job->out.data(), block);
    if (!c.ok()) return c.error;
  }
  // The root's own block may stay where it is: the plan's copy of it goes nowhere.
  if (in_place) job->extra.resize(block);
  job->request = {.operation = Operation::scatter,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = block,
                  .blocks = Blocks::uniform(block)};
  job->input = job->in.data();
  job->output = in_place ? job->extra.data() : job->out.data();
  return c.run(std::move(job));
}

int scatterv(Collective& c, const void* input, Integers counts, Integers displacements,
             MPI_Datatype input_type, void* output, std::int64_t count, MPI_Datatype type,
             int root) {
  if (is_inter(c)) {
    BlockList list;
    if (root == MPI_ROOT) list = c.list(input, counts, displacements, input_type);
    return inter::scatter(c, std::move(list), output, count, type, root);
  }
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool in_place = output == abi::in_place;
  if (c.is_root(root)) job->in_blocks = {c.list(input, counts, displacements, input_type), true};
  if (c.ok() && !in_place) job->out = c.pack(output, count, type, false);
  if (!c.ok()) return c.error;
  if (c.is_root(root)) {
    c.check_apart(job->in_blocks.at(c.group().rank), job->out.data(), job->out.bytes());
    if (!c.ok()) return c.error;
  }
  if (in_place) job->extra.resize(job->in_blocks.bytes(c.group().rank));
  job->request = {.operation = Operation::scatter,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = in_place ? job->extra.size() : job->out.bytes(),
                  .blocks = job->in_blocks.blocks()};
  job->input = job->in_blocks.data();
  job->output = in_place ? job->extra.data() : job->out.data();
  return c.run(std::move(job));
}

namespace {

/// A block of elements, as a caller names it: of this member, or of each.
struct NamedBlock {
  const void* address = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Every member gets a block of every member: the same one (allgather), or one made for it
/// (alltoall).
int exchange_blocks(Collective& c, Operation operation, const NamedBlock& input,
                    const NamedBlock& output) {
  if (!c.ok()) return c.error;
  const std::uint64_t members = c.group().size();
  const bool is_alltoall = operation == Operation::alltoall;
  const bool in_place = input.address == abi::in_place;
  const auto in =
      in_place ? std::nullopt : c.bytes_in_one_piece(input.address, input.count, input.type);
  const auto out = in ? c.bytes_in_one_piece(output.address, output.count, output.type) : in;
  if (in && out) {
    const std::uint64_t block = out->size();
    const std::uint64_t own = is_alltoall ? 0 : c.group().rank * block;
    c.check_apart(in->data(), out->data() + own, block);
    if (!c.ok()) return c.error;
    return c.run_now({.operation = operation,
                      .bytes = block,
                      .blocks = Blocks::uniform(block),
                      .input_blocks = is_alltoall ? Blocks::uniform(block) : Blocks()},
                     in->data(), out->data(), {});
  }
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  job->out = c.pack(output.address, output.count, output.type, in_place, members);
  if (!in_place)
    job->in = c.pack(input.address, input.count, input.type, true, is_alltoall ? members : 1);
  const std::uint64_t block = job->out.bytes() / members;
  const std::uint64_t own = is_alltoall ? 0 : c.group().rank * block;
  c.check_apart(job->in.data(), job->out.data() + own, block);
  if (!c.ok()) return c.error;
  job->input = job->in.data();
  job->output = job->out.data();
  if (in_place && is_alltoall) {
    // Blocks of others come to the place of blocks that are still to be sent.
    job->extra.assign(job->output, job->output + job->out.bytes());
    job->input = job->extra.data();
  }
  job->request = {.operation = operation,
                  .bytes = block,
                  .blocks = Blocks::uniform(block),
                  .input_blocks = is_alltoall ? Blocks::uniform(block) : Blocks(),
                  .in_place = in_place && !is_alltoall};
  return c.run(std::move(job));
}

int exchange_lists(Collective& c, const BlockList& input, const BlockList& output, bool in_place) {
  if (is_inter(c)) {
    if (!in_place) return inter::exchange(c, Operation::alltoall, input, output);
    return c.call.fail(c.communicator, MPI_ERR_BUFFER,
                       "MPI_IN_PLACE is not for intercommunicators");
  }
  auto job = std::make_unique<CollectiveJob>();
  if (!c.ok()) return c.error;
  job->out_blocks = {output, in_place};
  job->in_blocks = in_place ? PackedBlocks(output, true, true) : PackedBlocks(input, true);
  for (std::uint32_t i = 0; i < c.group().size() && c.ok(); ++i) {
    // The place of a block of no bytes means nothing.
    c.check_apart(job->in_blocks.at(i), job->out_blocks.at(i),
                  std::min(job->in_blocks.bytes(i), job->out_blocks.bytes(i)));
  }
  if (!c.ok()) return c.error;
  job->request = {.operation = Operation::alltoall,
                  .blocks = job->out_blocks.blocks(),
                  .input_blocks = job->in_blocks.blocks()};
  job->input = job->in_blocks.data();
  job->output = job->out_blocks.data();
  return c.run(std::move(job));
}

}  // namespace

int allgather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
              std::int64_t output_count, MPI_Datatype output_type) {
  if (is_inter(c)) {
    return inter::exchange(c, Operation::allgather, inter::blocks(c, input, count, 0, type),
                           inter::blocks(c, output, output_count, output_count, output_type));
  }
  return exchange_blocks(c, Operation::allgather, {input, count, type},
                         {output, output_count, output_type});
}

int allgatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
               void* output, Integers counts, Integers displacements, MPI_Datatype output_type) {
  if (is_inter(c)) {
    return inter::exchange(c, Operation::allgather, inter::blocks(c, input, count, 0, type),
                           c.list(output, counts, displacements, output_type));
  }
  auto job = std::make_unique<CollectiveJob>();
  if (!c.ok()) return c.error;
  const bool in_place = input == abi::in_place;
  if (!in_place) job->in = c.pack(input, count, type, true);
  job->out_blocks = {c.list(output, counts, displacements, output_type), in_place};
  if (c.ok()) c.check_apart(job->in.data(), job->out_blocks.at(c.group().rank), job->in.bytes());
  if (!c.ok()) return c.error;
  job->request = {.operation = Operation::allgather,
                  .bytes = job->out_blocks.bytes(c.group().rank),
                  .blocks = job->out_blocks.blocks(),
                  .in_place = in_place};
  job->input = job->in.data();
  job->output = job->out_blocks.data();
  return c.run(std::move(job));
}

int alltoall(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
             std::int64_t output_count, MPI_Datatype output_type) {
  if (is_inter(c)) {
    return inter::exchange(c, Operation::alltoall, inter::blocks(c, input, count, count, type),
                           inter::blocks(c, output, output_count, output_count, output_type));
  }
  return exchange_blocks(c, Operation::alltoall, {input, count, type},
                         {output, output_count, output_type});
}

int alltoallv(Collective& c, const void* input, Integers counts, Integers displacements,
              MPI_Datatype type, void* output, Integers output_counts,
              Integers output_displacements, MPI_Datatype output_type) {
  const bool in_place = input == abi::in_place;
  BlockList in;
  if (!in_place) in = c.list(input, counts, displacements, type);
  return exchange_lists(c, in, c.list(output, output_counts, output_displacements, output_type),
                        in_place);
}

int alltoallw(Collective& c, const void* input, Integers counts, Integers displacements,
              const MPI_Datatype* types, void* output, Integers output_counts,
              Integers output_displacements, const MPI_Datatype* output_types) {
  if (!c.ok()) return c.error;
  const std::size_t members = c.group().size();
  const bool in_place = input == abi::in_place;
  BlockList in;
  if (!in_place) in = c.list(input, counts, displacements, types, members);
  return exchange_lists(
      c, in, c.list(output, output_counts, output_displacements, output_types, members), in_place);
}

}  // namespace weft::mpi

using namespace weft::mpi;

namespace {

int reduce_local(const char* function, const void* input, void* inout, std::int64_t count,
                 MPI_Datatype type, MPI_Op op) {
  Collective c(function, MPI_COMM_WORLD);
  if (c.ok() && (input == abi::in_place || inout == abi::in_place)) {
    return c.call.fail(&library().world, MPI_ERR_BUFFER, "MPI_IN_PLACE is not for it");
  }
  const Folding with = folding(c, op, type);
  Packed in = c.pack(input, count, type, true);
  Packed out = c.pack(inout, count, type, true);
  if (c.ok()) c.check_apart(in.data(), out.data(), out.bytes());
  if (!c.ok()) return c.error;
  with.fold(in.data(), out.data(), out.bytes());
  out.write_back();
  return MPI_SUCCESS;
}

}  // namespace

WEFT_MPI_BOTH(MPI_Reduce_local, reduce_local)

int MPI_Op_commutative(MPI_Op op, int* commutes) {
  const Call call{"MPI_Op_commutative"};
  const UserOperation* const own =
      is_of(abi::made_op, op) ? library().operations.find(number_of(op)) : nullptr;
  if (own == nullptr && op != MPI_REPLACE && op != MPI_NO_OP && !fold_of(op)) {
    return call.fail(&library().world, MPI_ERR_OP, "the handle is of no operation");
  }
  *commutes = own == nullptr || own->commutes ? 1 : 0;
  return MPI_SUCCESS;
}
