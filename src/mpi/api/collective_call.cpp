// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/collective_call.hpp"

#include <algorithm>
#include <utility>

namespace weft::mpi {
namespace {

/// A collective operation that goes on while the program does something else.
class CollectiveTask final : public Task {
 public:
  CollectiveTask(const Collective& c, std::unique_ptr<CollectiveJob> job, collective::Plan plan,
                 std::int32_t tag, std::shared_ptr<const bool> before, std::shared_ptr<bool> done)
      : job_(std::move(job)),
        run_(*library().transfer, c.group(), tag, std::move(plan), job_->input, job_->output,
             job_->fold),
        before_(std::move(before)),
        done_(std::move(done)),
        request_(*c.request) {}

  bool advance() override {
    if (before_ != nullptr && !*before_) return false;
    before_.reset();
    if (!run_.advance()) return false;
    job_->finish();
    *done_ = true;
    request_.done = true;
    return true;
  }

 private:
  std::unique_ptr<CollectiveJob> job_;
  PlanRun run_;
  std::shared_ptr<const bool> before_;  // the last one on the same flows
  std::shared_ptr<bool> done_;
  Request& request_;
};

}  // namespace

std::uint64_t BlockList::bytes() const {
  std::uint64_t sum = 0;
  for (const One& block : blocks) sum += block.count * block.type->size();
  return sum;
}

PackedBlocks::PackedBlocks(BlockList list, bool reads, bool always_copies)
    : list_(std::move(list)), is_copy_(always_copies) {
  for (const auto& block : list_.blocks) {
    if (!block.type->is_contiguous() || block.offset < 0) is_copy_ = true;
  }
  std::uint64_t end = 0;
  for (const auto& block : list_.blocks) {
    bytes_.push_back(block.count * block.type->size());
    offsets_.push_back(is_copy_ ? end : static_cast<std::uint64_t>(block.offset));
    end += bytes_.back();
  }
  if (!is_copy_) return;
  copy_.resize(end);
  if (!reads) return;
  for (std::size_t i = 0; i < list_.blocks.size(); ++i) {
    const auto& block = list_.blocks[i];
    block.type->pack(static_cast<const std::byte*>(list_.base) + block.offset, block.count, at(i));
  }
}

void PackedBlocks::write_back() {
  if (!is_copy_) return;
  for (std::size_t i = 0; i < list_.blocks.size(); ++i) {
    const auto& block = list_.blocks[i];
    if (bytes_[i] == 0) continue;
    block.type->unpack({at(i), bytes_[i]}, static_cast<std::byte*>(list_.base) + block.offset);
  }
}

bool Collective::check_count(std::int64_t count) {
  if (count >= 0) return true;
  error = call.fail(communicator, MPI_ERR_COUNT, "the count is {}", count);
  return false;
}

bool Collective::check_null(std::int64_t count, const Datatype& type) {
  if (!Buffer{nullptr, static_cast<std::uint64_t>(count), &type}.is_null()) return true;
  error = call.fail(communicator, MPI_ERR_BUFFER, no_buffer, count);
  return false;
}

void Collective::refuse_alias() {
  if (!abi::refuses_aliases || !ok()) return;
  error =
      call.fail(communicator, MPI_ERR_BUFFER,
                "the same memory is input and output; use another buffer, or MPI_IN_PLACE where "
                "the function takes it");
}

BlockList Collective::list(const void* base, Integers counts, Integers displacements,
                           MPI_Datatype type, std::size_t blocks) {
  if (!ok() || !check_arrays(blocks, counts, displacements)) return {};
  const Datatype* const datatype = call.communicated(type, error);
  if (datatype == nullptr) return {};
  BlockList made{const_cast<void*>(base), {}};
  for (std::size_t i = 0; i < blocks; ++i) {
    if (!check_count(counts[i])) return {};
    if (!check_buffer(base, counts[i], *datatype)) return {};
    made.blocks.push_back(
        {displacements[i] * datatype->extent(), static_cast<std::uint64_t>(counts[i]), datatype});
  }
  return made;
}

BlockList Collective::list(const void* base, Integers counts, Integers displacements,
                           const MPI_Datatype* types, std::size_t blocks) {
  if (!ok() || !check_arrays(blocks, counts, displacements, types)) return {};
  BlockList made{const_cast<void*>(base), {}};
  for (std::size_t i = 0; i < blocks; ++i) {
    if (!check_count(counts[i])) return {};
    // The datatype of no elements may be any.
    static const Datatype nothing{std::span<const Block>{}};
    const Datatype* const datatype = counts[i] == 0 ? &nothing : call.communicated(types[i], error);
    if (datatype == nullptr) return {};
    made.blocks.push_back({displacements[i], static_cast<std::uint64_t>(counts[i]), datatype});
  }
  return made;
}

Packed Collective::pack(const void* address, std::int64_t count, MPI_Datatype type, bool reads,
                        std::uint64_t times) {
  if (!ok()) return {};
  const Datatype* const datatype = call.communicated(type, count, error);
  if (datatype == nullptr || !check_count(count)) return {};
  if (!check_buffer(address, count, *datatype)) return {};
  return {address, static_cast<std::uint64_t>(count) * times, *datatype, reads};
}

void Collective::check_root(int root) {
  if (!ok() || (root >= 0 && static_cast<std::uint32_t>(root) < group().size())) return;
  error = call.fail(communicator, MPI_ERR_ROOT, "{} is no rank of a communicator of {}", root,
                    group().size());
}

int Collective::run_now(const collective::Request& what, const std::byte* input, std::byte* output,
                        const FoldBytes& fold) {
  library().transfer->begin_collective(group(), what.operation, what.root);
  run_begun(what, input, output, fold);
  return call.settle(communicator);
}

void Collective::run_begun(const collective::Request& what, const std::byte* input,
                           std::byte* output, const FoldBytes& fold) {
  Transfer& transfer = *library().transfer;
  if (!run_short(transfer, group(), what, input, output, fold)) {
    if (const collective::Plan* const plan = communicator->plans.find_or_make(group(), what)) {
      run_plan(transfer, group(), plan, input, output, fold);
    } else {
      run_plan(transfer, group(), plan_for(group(), what), input, output, fold);
    }
  }
}

/// Each operation under way has flows of its own. They are used again by a later one, which begins
/// when the earlier one is done here: so both ends of a flow take them in one order.
CollectiveFlows& Collective::next_flows() {
  auto& all = communicator->collective_flows;
  if (all.empty()) {
    for (std::int32_t tag = 1; tag <= most_at_once; ++tag) all.push_back({.tag = tag});
  }
  return all[communicator->collectives_begun++ % all.size()];
}

int Collective::run(std::unique_ptr<CollectiveJob> job) {
  if (request == nullptr && !job->plan) {
    const int result = run_now(job->request, job->input, job->output, job->fold);
    if (!library().transfer->failure()) job->finish();
    return result;
  }
  Transfer& transfer = *library().transfer;
  collective::Plan plan = job->plan ? std::move(*job->plan) : plan_for(group(), job->request);
  if (request == nullptr) {
    transfer.begin_collective(group(), job->request.operation, job->request.root,
                              job->is_among_neighbors);
    run_plan(transfer, group(), std::move(plan), job->input, job->output, job->fold);
    if (!transfer.failure()) job->finish();
    return call.settle(communicator);
  }
  CollectiveFlows& flows = own_flows != nullptr ? *own_flows : next_flows();
  transfer.begin_collective_on(group(), flows.tag,
                               own_flows != nullptr ? CallKind::persistent : CallKind::nonblocking,
                               job->request, job->is_among_neighbors);
  auto done = std::make_shared<bool>(false);
  const std::shared_ptr<const bool> before = std::exchange(flows.last_done, done);
  transfer.start(std::make_unique<CollectiveTask>(*this, std::move(job), std::move(plan), flows.tag,
                                                  before, done));
  return call.settle(communicator);
}

int start_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                     const StartCollective& start) {
  auto request = std::make_unique<Request>();
  Collective c(function, comm, request.get());
  if (!c.ok()) return c.error;
  if ((c.error = c.call.check_requests(1, handle, c.communicator)) != MPI_SUCCESS) return c.error;
  request->status = empty_status();
  const int error = start(c);
  if (error == MPI_SUCCESS) *handle = keep_request(std::move(request));
  return error;
}

namespace {

/// Processes of two groups do not ask each other which tags are free.
PreparedTag next_tag(Communicator& communicator) {
  if (communicator.local != MPI_COMM_NULL) return communicator.prepared.take_new();
  return communicator.prepared.take(*library().transfer, communicator.group);
}

}  // namespace

int prepare_collective(const char* function, MPI_Comm comm, MPI_Request* handle,
                       StartCollective start) {
  Collective checked(function, comm);
  if (!checked.ok()) return checked.error;
  const int failed = checked.call.check_requests(1, handle, checked.communicator);
  if (failed != MPI_SUCCESS) return failed;
  auto request = std::make_unique<Request>();
  // All processes make persistent operations in one order, and start them in any.
  PreparedTag tag = next_tag(*checked.communicator);
  if ((checked.error = checked.call.settle(checked.communicator)) != MPI_SUCCESS) {
    return checked.error;
  }
  CollectiveFlows flows{.tag = *tag};
  request->starts = [function, communicator = checked.communicator, start = std::move(start), flows,
                     tag = std::move(tag)](Request& self) mutable {
    Collective c(function, *communicator, &self);
    c.own_flows = &flows;
    self.status = empty_status();
    return start(c);
  };
  *handle = keep_prepared(std::move(request));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
