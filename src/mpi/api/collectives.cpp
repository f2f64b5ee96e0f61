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
namespace {

using collective::Blocks;
using collective::Operation;

bool is_inter(const Collective& c) {
  return c.ok() && is_inter(*c.communicator);
}

/// Elements in memory of their own, laid out as their datatype says.
class Spread {
 public:
  Spread(const Datatype& type, std::uint64_t elements, std::span<const std::byte> packed) {
    std::int64_t low = 0, high = 0;
    for (const Run& run : type.runs()) {
      low = std::min(low, run.offset);
      high = std::max(high, run.offset + static_cast<std::int64_t>(run.bytes));
    }
    const std::int64_t last = static_cast<std::int64_t>(elements - 1) * type.extent();
    low += std::min<std::int64_t>(0, last);
    high += std::max<std::int64_t>(0, last);
    memory_.resize(static_cast<std::size_t>(high - low));
    begin_ = -low;
    type.unpack(packed, address());
  }
  void* address() const { return const_cast<std::byte*>(memory_.data()) + begin_; }

 private:
  std::vector<std::byte> memory_;
  std::int64_t begin_ = 0;
};

/// A program folds the same again and again.
struct RecentFolding {
  MPI_Op op;
  const Datatype* type = nullptr;
  Folding folding;
};
RecentFolding recent_folding;

Folding predefined_folding(Collective& c, Fold operation, const Datatype& type) {
  const Basic basic = type.basic();
  const std::uint64_t size = shape_of(basic).value_bytes;
  if (!fold(operation, basic, nullptr, nullptr, 0)) {
    c.error = c.call.fail(c.communicator, MPI_ERR_OP,
                          "the operation is not defined for elements of that datatype");
    return {};
  }
  const bool is_exact = basic != Basic::float32 && basic != Basic::float64 &&
                        basic != Basic::float_long && basic != Basic::complex32 &&
                        basic != Basic::complex64 && basic != Basic::complex_long &&
                        basic != Basic::float_quad && basic != Basic::complex_quad;
  return {.fold =
              [operation, basic, size](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                (void)fold(operation, basic, in, inout, bytes / size);
              },
          .element_bytes = size,
          // Rounding may differ from one number of processes to another, as with every MPI, but
          // not from run to run: a plan depends on nothing else.
          .may_regroup = is_exact || operation == Fold::sum || operation == Fold::product ||
                         operation == Fold::max || operation == Fold::min};
}

/// The program's operation gets elements as they lie in its own memory.
Folding folding_with_gaps(const UserOperation& own, MPI_Datatype type, const Datatype& datatype) {
  return {.fold =
              [own, type, &datatype](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                if (bytes == 0) return;
                const std::uint64_t elements = bytes / datatype.size();
                const Spread left(datatype, elements, {in, bytes});
                const Spread right(datatype, elements, {inout, bytes});
                own.fold(left.address(), right.address(), elements, type);
                datatype.pack(right.address(), elements, inout);
              },
          .element_bytes = std::max<std::uint64_t>(datatype.size(), 1),
          .may_regroup = true};
}

}  // namespace

std::optional<Fold> fold_of(MPI_Op op) {
  const std::pair<MPI_Op, Fold> all[] = {
      {MPI_MAX, Fold::max},        {MPI_MIN, Fold::min},          {MPI_SUM, Fold::sum},
      {MPI_PROD, Fold::product},   {MPI_LAND, Fold::logical_and}, {MPI_BAND, Fold::bit_and},
      {MPI_LOR, Fold::logical_or}, {MPI_BOR, Fold::bit_or},       {MPI_LXOR, Fold::logical_xor},
      {MPI_BXOR, Fold::bit_xor},   {MPI_MINLOC, Fold::min_place}, {MPI_MAXLOC, Fold::max_place}};
  for (const auto& [handle, fold] : all) {
    if (handle == op) return fold;
  }
  return std::nullopt;
}

Folding folding(Collective& c, MPI_Op op, MPI_Datatype type) {
  if (!c.ok()) return {};
  const Datatype* const datatype = c.call.communicated(type, c.error);
  if (datatype == nullptr) return {};
  if (const auto operation = fold_of(op)) {
    Folding made = predefined_folding(c, *operation, *datatype);
    // Types of the program's own come and go.
    if (c.ok() && !is_of(abi::made_type, type)) recent_folding = {op, datatype, made};
    return made;
  }
  const UserOperation* const own =
      is_of(abi::made_op, op) ? library().operations.find(number_of(op)) : nullptr;
  const bool is_persistent = c.own_flows != nullptr;
  if (own == nullptr || (own->is_freed && !is_persistent)) {
    c.error = c.call.fail(c.communicator, MPI_ERR_OP, "the handle is of no operation");
    return {};
  }
  if (!datatype->is_contiguous()) return folding_with_gaps(*own, type, *datatype);
  const std::uint64_t size = datatype->size();
  return {.fold =
              [own = *own, type, size](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                if (bytes == 0) return;  // elements may have no bytes
                own.fold(const_cast<std::byte*>(in), inout, bytes / size, type);
              },
          .element_bytes = std::max<std::uint64_t>(size, 1),
          .may_regroup = true};
}

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

/// Operations that fold whole vectors.
int fold_vectors(Collective& c, Operation operation, const void* input, void* output,
                 std::int64_t count, MPI_Datatype type, MPI_Op op, int root) {
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  Folding with = folding(c, op, type);
  const bool gets = operation != Operation::reduce || (c.ok() && c.is_root(root));
  const bool in_place = input == abi::in_place;
  // Member 0 of an exclusive scan keeps its output.
  const bool reads = in_place || operation == Operation::exclusive_scan;
  if (!in_place || !gets) job->in = c.pack(in_place ? output : input, count, type, true);
  if (gets) job->out = c.pack(output, count, type, reads);
  if (gets) c.check_apart(job->in.data(), job->out.data(), job->out.bytes());
  if (!c.ok()) return c.error;
  job->request = {.operation = operation,
                  .root = static_cast<std::uint32_t>(root),
                  .bytes = gets ? job->out.bytes() : job->in.bytes(),
                  .element_bytes = with.element_bytes,
                  .may_regroup = with.may_regroup,
                  .in_place = in_place && gets};
  job->input = in_place && gets ? job->out.data() : job->in.data();
  job->output = job->out.data();
  job->fold = std::move(with.fold);
  return c.run(std::move(job));
}

int refuse_inter(Collective& c) {
  return c.call.fail(c.communicator, MPI_ERR_COMM, "an intercommunicator has no scans");
}

}  // namespace

int reduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op, int root) {
  if (is_inter(c)) return inter::reduce(c, input, output, count, type, op, root);
  return fold_vectors(c, Operation::reduce, input, output, count, type, op, root);
}

int allreduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
              MPI_Op op) {
  if (is_inter(c)) return inter::allreduce(c, input, output, count, type, op);
  const Datatype* const datatype = c.ok() ? c.call.communicated(type, c.error) : nullptr;
  if (datatype != nullptr && c.request == nullptr && datatype->is_contiguous()) {
    Folding made;
    // Another thread may fold something else while this one waits.
    const bool is_known = !Held::has_threads().load(std::memory_order_relaxed) &&
                          recent_folding.type == datatype && recent_folding.op == op;
    if (!is_known) made = folding(c, op, type);
    c.check_apart(input, output, static_cast<std::uint64_t>(count) * datatype->size());
    const Folding& with = is_known ? recent_folding.folding : made;
    if (!c.ok() || !c.check_count(count)) return c.error;
    const bool in_place = input == abi::in_place;
    auto* const out = static_cast<std::byte*>(output);
    return c.run_on_board_now({.operation = Operation::allreduce,
                               .bytes = static_cast<std::uint64_t>(count) * datatype->size(),
                               .element_bytes = with.element_bytes,
                               .may_regroup = with.may_regroup,
                               .in_place = in_place},
                              in_place ? out : static_cast<const std::byte*>(input), out,
                              with.fold);
  }
  return fold_vectors(c, Operation::allreduce, input, output, count, type, op, 0);
}

int scan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
         MPI_Op op) {
  if (is_inter(c)) return refuse_inter(c);
  return fold_vectors(c, Operation::scan, input, output, count, type, op, 0);
}

int exscan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op) {
  if (is_inter(c)) return refuse_inter(c);
  return fold_vectors(c, Operation::exclusive_scan, input, output, count, type, op, 0);
}

namespace {

/// Block i of all inputs, folded, goes to member i. `counts` are of elements.
int fold_blocks(Collective& c, const void* input, void* output,
                const std::vector<std::int64_t>& counts, MPI_Datatype type, MPI_Op op) {
  auto job = std::make_unique<CollectiveJob>();
  Folding with = folding(c, op, type);
  if (!c.ok()) return c.error;
  for (const std::int64_t count : counts) {
    if (!c.check_count(count)) return c.error;
  }
  const bool in_place = input == abi::in_place;
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  job->in = c.pack(in_place ? output : input, all, type, true);
  job->out = c.pack(output, counts[c.group().rank], type, false);
  if (!in_place) c.check_apart(job->in.data(), job->out.data(), job->out.bytes());
  if (!c.ok()) return c.error;
  const std::uint64_t size = c.call.type(type, c.error)->size();
  std::uint64_t offset = 0;
  for (const std::int64_t count : counts) {
    job->sizes.push_back(static_cast<std::uint64_t>(count) * size);
    job->offsets.push_back(offset);
    offset += job->sizes.back();
  }
  job->input = job->in.data();
  if (in_place) {  // blocks are still to be sent when the output is written
    job->extra.assign(job->input, job->input + job->in.bytes());
    job->input = job->extra.data();
  }
  job->output = job->out.data();
  job->request = {.operation = Operation::reduce_scatter,
                  .bytes = job->out.bytes(),
                  .element_bytes = with.element_bytes,
                  .blocks = Blocks::listed(job->sizes, job->offsets),
                  .may_regroup = with.may_regroup};
  job->fold = std::move(with.fold);
  return c.run(std::move(job));
}

}  // namespace

int reduce_scatter(Collective& c, const void* input, void* output, Integers counts,
                   MPI_Datatype type, MPI_Op op) {
  if (!c.ok()) return c.error;
  std::vector<std::int64_t> all(local_group(c.call, *c.communicator).size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = counts[i];
  if (is_inter(c)) return inter::reduce_scatter(c, input, output, all, type, op);
  return fold_blocks(c, input, output, all, type, op);
}

int reduce_scatter_block(Collective& c, const void* input, void* output, std::int64_t count,
                         MPI_Datatype type, MPI_Op op) {
  if (!c.ok()) return c.error;
  const std::vector<std::int64_t> all(local_group(c.call, *c.communicator).size(), count);
  if (is_inter(c)) return inter::reduce_scatter(c, input, output, all, type, op);
  return fold_blocks(c, input, output, all, type, op);
}

int gather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
           std::int64_t output_count, MPI_Datatype output_type, int root) {
  if (is_inter(c)) {
    BlockList list;
    if (root == MPI_ROOT) list = inter::blocks(c, output, output_count, output_count, output_type);
    return inter::gather(c, input, count, type, std::move(list), root);
  }
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool gets = c.is_root(root);
  const bool in_place = input == abi::in_place;
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
  auto job = std::make_unique<CollectiveJob>();
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool in_place = output == abi::in_place;
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
  auto job = std::make_unique<CollectiveJob>();
  if (!c.ok()) return c.error;
  const std::uint64_t members = c.group().size();
  const bool is_alltoall = operation == Operation::alltoall;
  const bool in_place = input.address == abi::in_place;
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
