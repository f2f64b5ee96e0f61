// SPDX-License-Identifier: Apache-2.0
// The common part of calls of collective communication. Each operation is written once: it runs to
// its end, or goes on as a request, or is kept to be started again and again. Data travel packed:
// contiguous data are sent from, and received at, their place in the caller's memory.
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

namespace weft::mpi {

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

/// A block of the caller's for each member, each with a place of its own.
struct BlockList {
  struct One {
    std::int64_t offset = 0;  ///< from the base, in bytes
    std::uint64_t count = 0;
    const Datatype* type = nullptr;
  };
  void* base = nullptr;
  std::vector<One> blocks;

  std::uint64_t bytes() const;
};

/// Such blocks, as they travel: where they lie, or one behind the other in a copy.
class PackedBlocks {
 public:
  PackedBlocks() = default;
  PackedBlocks(BlockList list, bool reads, bool always_copies = false);
  std::byte* data() { return is_copy_ ? copy_.data() : static_cast<std::byte*>(list_.base); }
  std::uint64_t bytes(std::size_t i) const { return bytes_[i]; }
  std::byte* at(std::size_t i) { return data() + offsets_[i]; }
  collective::Blocks blocks() const { return collective::Blocks::listed(bytes_, offsets_); }
  void write_back();

 private:
  BlockList list_;
  bool is_copy_ = false;
  std::vector<std::byte> copy_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> offsets_;
};

/// All that one member's part of an operation works on.
struct CollectiveJob {
  collective::Request request;
  std::optional<collective::Plan> plan;  ///< in place of the request's
  Packed in, out;
  PackedBlocks in_blocks, out_blocks;
  std::vector<std::byte> extra;
  std::vector<std::uint64_t> sizes, offsets;  ///< of blocks
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  FoldBytes fold;
  std::function<void()> at_end;  ///< once the plan is done; may be empty

  void finish() {
    out.write_back();
    out_blocks.write_back();
    if (at_end) at_end();
  }
};

/// A reduction's operation.
struct Folding {
  FoldBytes fold;
  std::uint64_t element_bytes = 1;
  bool may_regroup = true;
};

/// One collective call: its communicator and its arguments, checked.
struct Collective {
  Call call;
  Communicator* communicator = nullptr;
  Request* request = nullptr;  ///< null: the call returns when the operation is done
  /// Of a persistent operation. Null: it takes its turn with others.
  CollectiveFlows* own_flows = nullptr;
  int error = MPI_SUCCESS;

  Collective(const char* function, MPI_Comm comm, Request* request = nullptr)
      : call{function}, request(request) {
    communicator = call.communicator(comm, error);
  }
  bool ok() const { return error == MPI_SUCCESS; }
  const Group& group() const { return communicator->group; }
  bool is_root(int root) const { return group().rank == static_cast<std::uint32_t>(root); }
  /// The types of the blocks of all members are one.
  BlockList list(const void* base, Integers counts, Integers displacements, MPI_Datatype type);
  /// Displacements are in bytes.
  BlockList list(const void* base, Integers counts, Integers displacements,
                 const MPI_Datatype* types, std::size_t blocks);

  Packed pack(const void* address, std::int64_t count, MPI_Datatype type, bool reads,
              std::uint64_t times = 1);
  void check_root(int root);
  bool check_count(std::int64_t count);
  /// Runs it to its end, with bytes that lie where they are to be. The call's result.
  int run_now(const collective::Request& what, const std::byte* input, std::byte* output,
              const FoldBytes& fold);
  /// The call's result.
  int run(std::unique_ptr<CollectiveJob> job);

 private:
  CollectiveFlows& next_flows();
};

/// A predefined operation.
std::optional<Fold> fold_of(MPI_Op op);
/// Of an operation on elements of a datatype, both checked.
Folding folding(Collective& c, MPI_Op op, MPI_Datatype type);

/// The operation goes on as a request.
using StartCollective = std::function<int(Collective&)>;
int start_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                     const StartCollective& start);
/// Nothing happens before MPI_Start.
int prepare_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                       StartCollective start);

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
