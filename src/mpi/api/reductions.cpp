// SPDX-License-Identifier: Apache-2.0
// The chapter on collective communication: operations that fold, and calls of them that block.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "mpi/api/collective_call.hpp"
#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi {
namespace {

using collective::Blocks;
using collective::Operation;

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

namespace {

/// The arguments of an operation that folds whole vectors.
struct Vectors {
  Operation operation;
  const void* input;
  void* output;
  std::int64_t count;
  MPI_Datatype type;
  MPI_Op op;
  int root = 0;
};

/// Also where one buffer is both, which check_apart allows in Open MPI's ABI.
bool is_in_place(const Vectors& v, bool gets) {
  return v.input == abi::in_place || (gets && v.input == v.output);
}

/// In one piece with its caller, which mostly knows the operation.
[[gnu::always_inline]] inline int fold_in_one_piece(Collective& c, const Vectors& v,
                                                    const Datatype& datatype, bool gets) {
  Folding made;
  // Another thread may fold something else while this one waits.
  const bool is_known = !Held::has_threads().load(std::memory_order_relaxed) &&
                        recent_folding.type == &datatype && recent_folding.op == v.op;
  if (!is_known) made = folding(c, v.op, v.type);
  const Folding& with = is_known ? recent_folding.folding : made;
  const std::uint64_t bytes = static_cast<std::uint64_t>(v.count) * datatype.size();
  if (gets) c.check_apart(v.input, v.output, bytes);
  if (!c.ok() || !c.check_count(v.count)) return c.error;
  if (!c.check_buffer(v.input, v.count, datatype)) return c.error;
  if (gets && !c.check_buffer(v.output, v.count, datatype)) return c.error;
  const bool in_place = is_in_place(v, gets);
  auto* const out = static_cast<std::byte*>(gets ? v.output : nullptr);
  const collective::Request what{.operation = v.operation,
                                 .root = static_cast<std::uint32_t>(v.root),
                                 .bytes = bytes,
                                 .element_bytes = with.element_bytes,
                                 .may_regroup = with.may_regroup,
                                 .in_place = in_place};
  const auto* const in = in_place ? out : static_cast<const std::byte*>(v.input);
  return v.operation == Operation::allreduce ? c.run_on_board_now(what, in, out, with.fold)
                                             : c.run_now(what, in, out, with.fold);
}

int fold_vectors(Collective& c, const Vectors& v) {
  c.check_root(v.root);
  const bool gets = v.operation != Operation::reduce || (c.ok() && c.is_root(v.root));
  const bool in_place = is_in_place(v, gets);
  if (gets || !in_place) {
    const Datatype* const datatype = c.in_one_piece(v.count, v.type);
    if (datatype != nullptr) return fold_in_one_piece(c, v, *datatype, gets);
  }
  auto job = std::make_unique<CollectiveJob>();
  Folding with = folding(c, v.op, v.type);
  // Member 0 of an exclusive scan keeps its output.
  const bool reads = in_place || v.operation == Operation::exclusive_scan;
  if (!in_place || !gets) job->in = c.pack(in_place ? v.output : v.input, v.count, v.type, true);
  if (gets) job->out = c.pack(v.output, v.count, v.type, reads);
  if (gets) c.check_apart(v.input, v.output, job->out.bytes());
  if (!c.ok()) return c.error;
  job->request = {.operation = v.operation,
                  .root = static_cast<std::uint32_t>(v.root),
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
  return fold_vectors(c, {Operation::reduce, input, output, count, type, op, root});
}

int allreduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
              MPI_Op op) {
  if (is_inter(c)) return inter::allreduce(c, input, output, count, type, op);
  const Vectors v{Operation::allreduce, input, output, count, type, op};
  const Datatype* const datatype = c.in_one_piece(count, type);
  if (datatype != nullptr) return fold_in_one_piece(c, v, *datatype, true);
  return fold_vectors(c, v);
}

int scan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
         MPI_Op op) {
  if (is_inter(c)) return refuse_inter(c);
  return fold_vectors(c, {Operation::scan, input, output, count, type, op});
}

int exscan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op) {
  if (is_inter(c)) return refuse_inter(c);
  return fold_vectors(c, {Operation::exclusive_scan, input, output, count, type, op});
}

namespace {

/// Blocks of one size, in one piece: they need no job, and a short plan is kept.
int fold_even_blocks(Collective& c, const void* input, void* output, std::uint64_t bytes,
                     const Folding& with) {
  c.check_apart(input, output, bytes);
  if (!c.ok()) return c.error;
  return c.run_now({.operation = Operation::reduce_scatter,
                    .bytes = bytes,
                    .element_bytes = with.element_bytes,
                    .blocks = Blocks::uniform(bytes),
                    .may_regroup = with.may_regroup},
                   static_cast<const std::byte*>(input), static_cast<std::byte*>(output),
                   with.fold);
}

/// Block i of all inputs, folded, goes to member i. `counts` are of elements.
int fold_blocks(Collective& c, const void* input, void* output,
                const std::vector<std::int64_t>& counts, MPI_Datatype type, MPI_Op op) {
  Folding with = folding(c, op, type);
  if (!c.ok()) return c.error;
  for (const std::int64_t count : counts) {
    if (!c.check_count(count)) return c.error;
  }
  const bool in_place = input == abi::in_place;
  const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const bool is_even = std::ranges::adjacent_find(counts, std::not_equal_to()) == counts.end();
  const Datatype* const even = is_even && !in_place ? c.in_one_piece(all, type) : nullptr;
  if (even != nullptr) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(counts[0]) * even->size();
    return fold_even_blocks(c, input, output, bytes, with);
  }
  auto job = std::make_unique<CollectiveJob>();
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
  if (!c.check_arrays(all.size(), counts)) return c.error;
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

}  // namespace weft::mpi
