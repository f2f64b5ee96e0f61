// SPDX-License-Identifier: Apache-2.0
// The common part of MPI's collective calls. Each operation is written once and serves the
// blocking, the nonblocking and the persistent function. Data travel packed: the library sends
// contiguous data from the caller's buffer and receives them into it, and copies other layouts.
// Counts are in elements, sizes in bytes. The lock of the library admits one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mpi/api/integers.hpp"
#include "mpi/api/library.hpp"
#include "mpi/object/collectives.hpp"
#include "mpi/object/fold.hpp"
#include "mpi/object/transfer_board.hpp"

namespace weft::mpi {

/// One buffer of the caller as consecutive bytes: the buffer itself when its layout is contiguous,
/// else a copy. The datatype and the buffer must outlive the object.
class Packed {
 public:
  Packed() = default;
  /// Packs the elements into the copy when `reads` is true and the layout needs one.
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
  /// Unpacks the received bytes into the caller's buffer, unless they were received in place.
  void write_back() {
    if (!copy_.empty()) type_->unpack(copy_, address_);
  }

 private:
  void* address_ = nullptr;
  std::uint64_t count_ = 0;
  const Datatype* type_ = nullptr;
  std::vector<std::byte> copy_;
};

/// One block of the caller's buffer for each member: offset, count and datatype.
struct BlockList {
  struct One {
    std::int64_t offset = 0;  ///< from the base, in bytes
    std::uint64_t count = 0;
    const Datatype* type = nullptr;
  };
  void* base = nullptr;
  std::vector<One> blocks;

  /// Returns the sum of the blocks' sizes.
  std::uint64_t bytes() const;
};

/// The blocks of a BlockList as bytes: in the caller's buffer when all blocks are contiguous, else
/// consecutively in a copy.
class PackedBlocks {
 public:
  PackedBlocks() = default;
  /// Packs the blocks into the copy when `reads` is true and there is a copy.
  PackedBlocks(BlockList list, bool reads, bool always_copies = false);
  std::byte* data() { return is_copy_ ? copy_.data() : static_cast<std::byte*>(list_.base); }
  std::uint64_t bytes(std::size_t i) const { return bytes_[i]; }
  std::byte* at(std::size_t i) { return data() + offsets_[i]; }
  collective::Blocks blocks() const { return collective::Blocks::listed(bytes_, offsets_); }
  /// Unpacks the copy, if there is one, into the caller's buffer.
  void write_back();

 private:
  BlockList list_;
  bool is_copy_ = false;
  std::vector<std::byte> copy_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> offsets_;
};

/// The plan, the buffers and the fold of one member's part of a collective operation.
struct CollectiveJob {
  collective::Request request;
  bool is_among_neighbors = false;
  /// Replaces the plan of `request`, of which only operation and root count then.
  std::optional<collective::Plan> plan;
  Packed in, out;
  PackedBlocks in_blocks, out_blocks;
  std::vector<std::byte> extra;               ///< memory that the operation needs besides
  std::vector<std::uint64_t> sizes, offsets;  ///< of the blocks, in bytes
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  FoldBytes fold;
  std::function<void()> at_end;  ///< called after the plan's last step; may be empty

  /// Moves the results to the caller's buffers after the plan's last step.
  void finish() {
    out.write_back();
    out_blocks.write_back();
    if (at_end) at_end();
  }
};

/// The operation of a reduction, applied to bytes.
struct Folding {
  FoldBytes fold;
  std::uint64_t element_bytes = 1;
  bool may_regroup = true;  ///< as in collective::Request
};

/// One collective call: its communicator and its checked arguments. A member that finds an invalid
/// argument sets `error` and returns an empty object.
struct Collective {
  Call call;
  Communicator* communicator = nullptr;
  Request* request = nullptr;  ///< null: the call returns when the operation is done
  /// The flows of a persistent operation; null: the operation takes the communicator's next flows.
  CollectiveFlows* own_flows = nullptr;
  int error = MPI_SUCCESS;

  Collective(const char* function, MPI_Comm comm, Request* request = nullptr)
      : call{function}, request(request) {
    communicator = call.communicator(comm, error);
  }
  /// The same on a communicator whose handle the program may have freed.
  Collective(const char* function, Communicator& communicator, Request* request)
      : call{function}, communicator(&communicator), request(request) {}
  bool ok() const { return error == MPI_SUCCESS; }
  const Group& group() const { return communicator->group; }
  bool is_root(int root) const { return group().rank == static_cast<std::uint32_t>(root); }
  /// Makes the list of blocks that have one datatype; displacements count in its extent.
  BlockList list(const void* base, Integers counts, Integers displacements, MPI_Datatype type,
                 std::size_t blocks);
  /// The same with a block for each member.
  BlockList list(const void* base, Integers counts, Integers displacements, MPI_Datatype type) {
    return ok() ? list(base, counts, displacements, type, group().size()) : BlockList();
  }
  /// Makes the list of blocks with a datatype each; displacements are in bytes.
  BlockList list(const void* base, Integers counts, Integers displacements,
                 const MPI_Datatype* types, std::size_t blocks);

  /// Packs `count` · `times` elements; `reads` as in Packed.
  Packed pack(const void* address, std::int64_t count, MPI_Datatype type, bool reads,
              std::uint64_t times = 1);
  /// The datatype of elements that a call that blocks sends from where they lie and receives there.
  /// Null: it needs a job, or is in error.
  const Datatype* in_one_piece(std::int64_t count, MPI_Datatype type) {
    const bool blocks = ok() && request == nullptr;
    const Datatype* const datatype = blocks ? call.communicated(type, count, error) : nullptr;
    return datatype != nullptr && datatype->is_contiguous() ? datatype : nullptr;
  }
  /// The bytes of `count` such elements. None: as above.
  std::optional<std::span<std::byte>> bytes_in_one_piece(const void* address, std::int64_t count,
                                                         MPI_Datatype type) {
    const Datatype* const datatype = in_one_piece(count, type);
    if (datatype == nullptr || !check_count(count) || !check_buffer(address, count, *datatype)) {
      return std::nullopt;
    }
    auto* const begin = static_cast<std::byte*>(const_cast<void*>(address));
    return std::span(begin, static_cast<std::uint64_t>(count) * datatype->size());
  }
  /// Sets `error` when `root` is no rank of the communicator.
  void check_root(int root);
  /// Sets `error` and returns false when the count is negative.
  bool check_count(std::int64_t count);
  /// The same when one of the arrays of so many elements is a null pointer.
  template <class... Arrays>
  bool check_arrays(std::size_t count, const Arrays&... arrays) {
    error = call.check_arrays(static_cast<std::int64_t>(count), communicator, arrays...);
    return ok();
  }
  /// Sets `error` and returns false when such elements have no memory.
  bool check_buffer(const void* address, std::int64_t count, const Datatype& type) {
    return address != nullptr || check_null(count, type);
  }
  /// Sets `error` when the same memory, of so many bytes, is input and output.
  void check_apart(const void* input, const void* output, std::uint64_t bytes) {
    if (input == output && input != nullptr && bytes > 0) refuse_alias();
  }
  /// Runs the operation to its end on packed bytes and returns MPI's error code.
  int run_now(const collective::Request& what, const std::byte* input, std::byte* output,
              const FoldBytes& fold);
  /// The same of one for which the group may have a board; in one piece with it (transfer_board).
  [[gnu::always_inline]] int run_on_board_now(const collective::Request& what,
                                              const std::byte* input, std::byte* output,
                                              const FoldBytes& fold) {
    Transfer& transfer = *library().transfer;
    transfer.begin_collective(group(), what.operation, what.root);
    if (!run_on_board(transfer, group(), what, input, output, fold)) {
      run_begun(what, input, output, fold);
    }
    return call.settle(communicator);
  }
  /// Runs the operation to its end, or starts it when `request` is set. Returns MPI's error code.
  int run(std::unique_ptr<CollectiveJob> job);

 private:
  void refuse_alias();
  bool check_null(std::int64_t count, const Datatype& type);
  void run_begun(const collective::Request& what, const std::byte* input, std::byte* output,
                 const FoldBytes& fold);
  CollectiveFlows& next_flows();
};

/// Returns the fold of a predefined operation; nothing for an operation of the program.
std::optional<Fold> fold_of(MPI_Op op);
/// Checks an operation and a datatype and returns the fold of such elements; sets `c.error` when
/// they do not fit.
Folding folding(Collective& c, MPI_Op op, MPI_Datatype type);

/// Calls one of the operations below with its arguments.
using StartCollective = std::function<int(Collective&)>;
/// Starts a nonblocking operation, stores its request in `*handle` and returns MPI's error code.
int start_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                     const StartCollective& start);
/// Makes a persistent operation, which MPI_Start starts, and stores its request in `*handle`.
/// Returns MPI's error code.
int prepare_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                       StartCollective start);

// Each function below checks the arguments of the MPI function of its name, runs the operation or
// starts it as `c.request` says, and returns MPI's error code.

int barrier(Collective& c);
int bcast(Collective& c, void* buffer, std::int64_t count, MPI_Datatype type, int root);
int reduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op, int root);
int allreduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
              MPI_Op op);
int gather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
           std::int64_t output_count, MPI_Datatype output_type, int root);
int gatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
            Integers counts, Integers displacements, MPI_Datatype output_type, int root);
int scatter(Collective& c, const void* input, std::int64_t input_count, MPI_Datatype input_type,
            void* output, std::int64_t count, MPI_Datatype type, int root);
int scatterv(Collective& c, const void* input, Integers counts, Integers displacements,
             MPI_Datatype input_type, void* output, std::int64_t count, MPI_Datatype type,
             int root);
int allgather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
              std::int64_t output_count, MPI_Datatype output_type);
int allgatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
               void* output, Integers counts, Integers displacements, MPI_Datatype output_type);
int alltoall(Collective& c, const void* input, std::int64_t count, MPI_Datatype type, void* output,
             std::int64_t output_count, MPI_Datatype output_type);
int alltoallv(Collective& c, const void* input, Integers counts, Integers displacements,
              MPI_Datatype type, void* output, Integers output_counts,
              Integers output_displacements, MPI_Datatype output_type);
int alltoallw(Collective& c, const void* input, Integers counts, Integers displacements,
              const MPI_Datatype* types, void* output, Integers output_counts,
              Integers output_displacements, const MPI_Datatype* output_types);
int reduce_scatter(Collective& c, const void* input, void* output, Integers counts,
                   MPI_Datatype type, MPI_Op op);
int reduce_scatter_block(Collective& c, const void* input, void* output, std::int64_t count,
                         MPI_Datatype type, MPI_Op op);
int scan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
         MPI_Op op);
int exscan(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op);

}  // namespace weft::mpi
