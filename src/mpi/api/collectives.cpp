// SPDX-License-Identifier: Apache-2.0
// The chapter on collective communication. Data travel packed: contiguous data are sent from, and
// received at, their place in the caller's memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "mpi/api/library.hpp"
#include "mpi/object/collectives.hpp"

namespace weft::mpi {
namespace {

using collective::Blocks;
using collective::Operation;

/// Elements of the caller's, as consecutive bytes.
class Packed {
 public:
  Packed() = default;
  Packed(const void* address, std::uint64_t count, const Datatype& type, bool reads)
      : address_(const_cast<void*>(address)), count_(count), type_(&type) {
    if (type.is_contiguous()) return;
    copy_.resize(bytes());
    if (reads) type.pack(address, count, copy_.data());
  }
  std::uint64_t bytes() const { return type_ != nullptr ? count_ * type_->size() : 0; }
  std::byte* data() {
    return type_ == nullptr || type_->is_contiguous() ? static_cast<std::byte*>(address_)
                                                      : copy_.data();
  }
  /// Unpacks the received bytes into the caller's buffer.
  void write_back() {
    if (!copy_.empty()) type_->unpack(copy_, address_);
  }

 private:
  void* address_ = nullptr;
  std::uint64_t count_ = 0;
  const Datatype* type_ = nullptr;
  std::vector<std::byte> copy_;
};

/// One collective call: its communicator and its arguments, checked.
struct Collective {
  Call call;
  Communicator* communicator = nullptr;
  int error = MPI_SUCCESS;

  Collective(const char* function, MPI_Comm comm) : call{function} {
    communicator = call.communicator(comm, error);
  }
  bool ok() const { return error == MPI_SUCCESS; }
  const Group& group() const { return communicator->group; }
  bool is_root(int root) const { return group().rank == static_cast<std::uint32_t>(root); }

  Packed pack(const void* address, int count, MPI_Datatype type, bool reads,
              std::uint64_t times = 1) {
    if (!ok()) return {};
    const Datatype* const datatype = call.type(type, error);
    if (datatype == nullptr) return {};
    if (count < 0) {
      error = call.fail(communicator, MPI_ERR_COUNT, fmt::format("the count is {}", count));
      return {};
    }
    return {address, static_cast<std::uint64_t>(count) * times, *datatype, reads};
  }
  void check_root(int root) {
    if (!ok() || (root >= 0 && static_cast<std::uint32_t>(root) < group().size())) return;
    error = call.fail(communicator, MPI_ERR_ROOT,
                      fmt::format("{} is no rank of a communicator of {}", root, group().size()));
  }
  int run(const collective::Request& request, const std::byte* input, std::byte* output,
          const FoldBytes& fold = {}) {
    run_collective(*library().transfer, group(), request, input, output, fold);
    return call.settle(communicator);
  }
};

/// A reduction's operation.
struct Folding {
  FoldBytes fold;
  std::uint64_t element_bytes = 1;
  bool may_regroup = true;
};

/// Nothing: it is none of the predefined operations.
std::optional<Fold> predefined_fold(MPI_Op op) {
  // In the order of Fold.
  static constexpr std::array operations{MPI_MAX,  MPI_MIN,  MPI_SUM,    MPI_PROD,
                                         MPI_LAND, MPI_BAND, MPI_LOR,    MPI_BOR,
                                         MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  const auto found = std::find(operations.begin(), operations.end(), op);
  if (found == operations.end()) return std::nullopt;
  return static_cast<Fold>(found - operations.begin());
}

Folding predefined_folding(Collective& c, Fold operation, const Datatype& type) {
  const Basic basic = type.basic();
  const std::uint64_t size = bytes_of(basic);
  if (!fold(operation, basic, nullptr, nullptr, 0)) {
    c.error = c.call.fail(c.communicator, MPI_ERR_OP,
                          "the operation is not defined for elements of that datatype");
    return {};
  }
  const bool is_exact = basic != Basic::float32 && basic != Basic::float64 &&
                        basic != Basic::float_long && basic != Basic::complex32 &&
                        basic != Basic::complex64;
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

Folding folding(Collective& c, MPI_Op op, MPI_Datatype type) {
  if (!c.ok()) return {};
  const Datatype* const datatype = c.call.type(type, c.error);
  if (datatype == nullptr) return {};
  if (const auto fold = predefined_fold(op)) return predefined_folding(c, *fold, *datatype);
  const UserOperation* const own =
      is_of(abi::made_op, op) ? library().operations.find(number_of(op)) : nullptr;
  if (own == nullptr) {
    c.error = c.call.fail(c.communicator, MPI_ERR_OP,
                          fmt::format("{:#x} is no operation", abi::shown(op)));
    return {};
  }
  if (!datatype->is_contiguous()) {
    c.error = c.call.fail(c.communicator, MPI_ERR_TYPE,
                          "weft folds no datatypes with gaps by a program's operation yet");
    return {};
  }
  const std::uint64_t size = datatype->size();
  return {.fold =
              [own, type, size](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                int count = static_cast<int>(bytes / size);
                MPI_Datatype handle = type;
                own->function(const_cast<std::byte*>(in), inout, &count, &handle);
              },
          .element_bytes = size,
          .may_regroup = true};
}

int reduce(Collective& c, Operation operation, const void* input, void* output, int count,
           MPI_Datatype type, MPI_Op op, int root) {
  c.check_root(root);
  const Folding with = folding(c, op, type);
  const bool gets = operation == Operation::allreduce || (c.ok() && c.is_root(root));
  const bool in_place = input == abi::in_place;
  Packed in = c.pack(in_place ? output : input, count, type, true);
  // Others than the root need no output.
  Packed out = c.pack(gets ? output : nullptr, gets ? count : 0, type, in_place);
  if (!c.ok()) return c.error;
  const int done = c.run({.operation = operation,
                          .root = static_cast<std::uint32_t>(root),
                          .bytes = in.bytes(),
                          .element_bytes = with.element_bytes,
                          .may_regroup = with.may_regroup,
                          .in_place = in_place},
                         in_place ? out.data() : in.data(), out.data(), with.fold);
  out.write_back();
  return done;
}

/// A block of elements, as a caller names it: of this member, or of each.
struct Block {
  const void* address = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Every member gets a block of every member: the same one (allgather), or one made for it
/// (alltoall).
int exchange(Collective& c, Operation operation, const Block& input, const Block& output) {
  if (!c.ok()) return c.error;
  const std::uint64_t members = c.group().size();
  const bool is_alltoall = operation == Operation::alltoall;
  const bool in_place = input.address == abi::in_place;
  Packed out = c.pack(output.address, output.count, output.type, in_place, members);
  Packed in;
  if (!in_place)
    in = c.pack(input.address, input.count, input.type, true, is_alltoall ? members : 1);
  if (!c.ok()) return c.error;
  // Blocks of others come to the place of blocks that are still to be sent.
  std::vector<std::byte> sent;
  if (in_place && is_alltoall) sent.assign(out.data(), out.data() + out.bytes());
  const std::uint64_t block = out.bytes() / members;
  const int done = c.run({.operation = operation,
                          .bytes = block,
                          .blocks = Blocks::uniform(block),
                          .input_blocks = is_alltoall ? Blocks::uniform(block) : Blocks(),
                          .in_place = in_place && !is_alltoall},
                         sent.empty() ? in.data() : sent.data(), out.data());
  out.write_back();
  return done;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Barrier(MPI_Comm comm) {
  Collective c("MPI_Barrier", comm);
  if (!c.ok()) return c.error;
  return c.run({.operation = Operation::barrier}, nullptr, nullptr);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Bcast", comm);
  c.check_root(root);
  Packed data = c.pack(buffer, count, type, c.ok() && c.is_root(root));
  if (!c.ok()) return c.error;
  const int done = c.run({.operation = Operation::broadcast,
                          .root = static_cast<std::uint32_t>(root),
                          .bytes = data.bytes()},
                         nullptr, data.data());
  if (!c.is_root(root)) data.write_back();
  return done;
}

int MPI_Reduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  Collective c("MPI_Reduce", comm);
  return reduce(c, Operation::reduce, input, output, count, type, op, root);
}

int MPI_Allreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  Collective c("MPI_Allreduce", comm);
  return reduce(c, Operation::allreduce, input, output, count, type, op, 0);
}

int MPI_Gather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
               MPI_Datatype output_type, int root, MPI_Comm comm) {
  Collective c("MPI_Gather", comm);
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool gets = c.is_root(root);
  const bool in_place = input == abi::in_place;
  Packed out;
  if (gets) out = c.pack(output, output_count, output_type, in_place, c.group().size());
  Packed in;
  if (!in_place) in = c.pack(input, count, type, true);
  if (!c.ok()) return c.error;
  const std::uint64_t block = gets ? out.bytes() / c.group().size() : in.bytes();
  const int done = c.run({.operation = Operation::gather,
                          .root = static_cast<std::uint32_t>(root),
                          .bytes = block,
                          .blocks = Blocks::uniform(block),
                          .in_place = in_place},
                         in.data(), out.data());
  out.write_back();
  return done;
}

int MPI_Scatter(const void* input, int input_count, MPI_Datatype input_type, void* output,
                int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Scatter", comm);
  c.check_root(root);
  if (!c.ok()) return c.error;
  const bool gives = c.is_root(root);
  Packed in;
  if (gives) in = c.pack(input, input_count, input_type, true, c.group().size());
  if (!c.ok()) return c.error;
  // The root's own block may stay where it is: the plan's copy of it goes nowhere.
  std::vector<std::byte> unused(output == abi::in_place ? in.bytes() / c.group().size() : 0);
  Packed out = output == abi::in_place
                   ? c.pack(unused.data(), static_cast<int>(unused.size()), MPI_BYTE, false)
                   : c.pack(output, count, type, false);
  if (!c.ok()) return c.error;
  const int done = c.run({.operation = Operation::scatter,
                          .root = static_cast<std::uint32_t>(root),
                          .bytes = out.bytes(),
                          .blocks = Blocks::uniform(out.bytes())},
                         in.data(), out.data());
  out.write_back();
  return done;
}

int MPI_Allgather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                  MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Allgather", comm);
  return exchange(c, Operation::allgather, {input, count, type},
                  {output, output_count, output_type});
}

int MPI_Alltoall(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                 MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Alltoall", comm);
  return exchange(c, Operation::alltoall, {input, count, type},
                  {output, output_count, output_type});
}
