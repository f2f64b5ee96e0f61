// SPDX-License-Identifier: Apache-2.0
#include "trace/record/mpi_session.hpp"

#include <pthread.h>

#include <numeric>

namespace weft::trace {
namespace {

pthread_t own_thread;

}  // namespace

MpiSession& MpiSession::get() {
  static MpiSession session;
  return session;
}

void MpiSession::choose_clock() {
  // The variable is gone once MPI has begun.
  if (std::getenv("WEFT_SIMULATION") != nullptr) clock_ = &ns_of_mpi;
}

std::uint64_t MpiSession::ns_of_mpi() {
  return static_cast<std::uint64_t>(MPI_Wtime() * 1e9);
}

bool MpiSession::is_own_thread() const {
  return pthread_equal(own_thread, pthread_self()) != 0;
}

void MpiSession::report(Incomplete why) {
  const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(why);
  if ((reported_ & bit) != 0) return;
  reported_ |= bit;
  recorder_.add({.time_ns = now_ns(),
                 .operation = static_cast<std::uint16_t>(why),
                 .kind = Record::Kind::incomplete});
}

void MpiSession::begin(Call call, std::uint64_t entered_ns) {
  const char* directory = std::getenv(recordings_variable);
  if (directory == nullptr || takes_part_) return;
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return;  // its ranks are those of another world
  own_thread = pthread_self();
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rank_ = static_cast<std::uint32_t>(rank);
  recorder_.open(directory, rank_, static_cast<std::uint32_t>(ranks));
  takes_part_ = true;
  if (clock_ == &ns_of_mpi) entered_ns = now_ns();  // it did not run before
  ++depth_;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval_, nullptr);
  MPI_Comm_group(MPI_COMM_WORLD, &world_);
  add_definition(MPI_COMM_WORLD, 0);
  add_definition(MPI_COMM_SELF, std::uint64_t{1} << 63 | rank_);
  recorder_.add({.time_ns = entered_ns,
                 .operation = static_cast<std::uint16_t>(call),
                 .kind = Record::Kind::enter});
  synchronise();
  recorder_.add({.time_ns = now_ns(),
                 .operation = static_cast<std::uint16_t>(call),
                 .kind = Record::Kind::leave});
  --depth_;
}

void MpiSession::end() {
  if (!takes_part_) return;
  ++depth_;
  const auto call = static_cast<std::uint16_t>(Call::MPI_Finalize);
  recorder_.add({.time_ns = now_ns(), .operation = call, .kind = Record::Kind::enter});
  synchronise();
  MPI_Group_free(&world_);
  MPI_Comm_free_keyval(&keyval_);
  recorder_.add({.time_ns = now_ns(), .operation = call, .kind = Record::Kind::leave});
  recorder_.finish(now_ns());
  takes_part_ = false;
}

/// Measures how far rank 0's clock is ahead, rank by rank: of several answers the one that came
/// soonest says it best.
void MpiSession::synchronise() {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) {
    recorder_.add({.time_ns = now_ns(), .kind = Record::Kind::clock});
    for (int other = 1; other < ranks; ++other) measure_clock(other, ranks);
  } else {
    measure_clock(rank, ranks);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void MpiSession::measure_clock(int rank, int) {
  constexpr int rounds = 16;
  constexpr int tag = 7'713;
  if (rank_ == 0) {
    for (int i = 0; i < rounds; ++i) {
      std::uint64_t now = 0;
      MPI_Recv(&now, 1, MPI_UINT64_T, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      now = now_ns();
      MPI_Send(&now, 1, MPI_UINT64_T, rank, tag, MPI_COMM_WORLD);
    }
    return;
  }
  std::uint64_t best = ~std::uint64_t{0};
  Record clock{.kind = Record::Kind::clock};
  for (int i = 0; i < rounds; ++i) {
    const std::uint64_t asked = now_ns();
    std::uint64_t theirs = asked;
    MPI_Send(&theirs, 1, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD);
    MPI_Recv(&theirs, 1, MPI_UINT64_T, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const std::uint64_t answered = now_ns();
    if (answered - asked >= best) continue;
    best = answered - asked;
    clock.time_ns = answered;
    clock.more = theirs - (asked + best / 2);
  }
  recorder_.add(clock);
}

void MpiSession::add_definition(MPI_Comm communicator, std::uint64_t identity) {
  auto* info = new CommunicatorInfo;  // as long as the program
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  *info = {communicators_++, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
  std::vector<int> within(static_cast<std::size_t>(size));
  std::vector<int> of_world(within.size());
  std::iota(within.begin(), within.end(), 0);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(communicator, &group);
  MPI_Group_translate_ranks(group, size, within.data(), world_, of_world.data());
  MPI_Group_free(&group);
  recorder_.define(now_ns(), info->number, identity, {of_world.begin(), of_world.end()});
  MPI_Comm_set_attr(communicator, keyval_, info);
}

void MpiSession::define(MPI_Comm communicator) {
  if (communicator == MPI_COMM_NULL) return;
  int between = 0;
  MPI_Comm_test_inter(communicator, &between);
  if (between != 0) return report(Incomplete::between_groups);
  // Its first member names it for all.
  std::uint64_t identity = std::uint64_t{rank_ + 1} << 32 | communicators_;
  MPI_Bcast(&identity, 1, MPI_UINT64_T, 0, communicator);
  add_definition(communicator, identity);
}

void MpiSession::forget(MPI_Comm communicator) {
  if (communicator == last_) last_ = MPI_COMM_NULL;
}

const CommunicatorInfo* MpiSession::info(MPI_Comm communicator) {
  if (communicator == last_) return last_info_;
  void* found = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(communicator, keyval_, &found, &is_there);
  if (is_there == 0) {
    report(Incomplete::between_groups);
    return nullptr;
  }
  last_ = communicator;
  return last_info_ = static_cast<const CommunicatorInfo*>(found);
}

std::uint64_t MpiSession::bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

std::uint64_t MpiSession::bytes_of(const MPI_Status& status) {
  MPI_Count count = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &count);
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

void MpiSession::send(std::uint64_t at_ns, MPI_Comm c, int peer, int tag, std::uint64_t bytes) {
  const CommunicatorInfo* of = peer == MPI_PROC_NULL ? nullptr : info(c);
  if (of == nullptr) return;
  recorder_.add({.time_ns = at_ns,
                 .bytes = bytes,
                 .peer = static_cast<std::uint32_t>(peer),
                 .tag = tag,
                 .communicator = of->number,
                 .kind = Record::Kind::send});
}

void MpiSession::receive(std::uint64_t at_ns, MPI_Comm c, const MPI_Status& status) {
  const CommunicatorInfo* of = status.MPI_SOURCE == MPI_PROC_NULL ? nullptr : info(c);
  if (of == nullptr) return;
  recorder_.add({.time_ns = at_ns,
                 .bytes = bytes_of(status),
                 .peer = static_cast<std::uint32_t>(status.MPI_SOURCE),
                 .tag = status.MPI_TAG,
                 .communicator = of->number,
                 .kind = Record::Kind::receive});
}

void MpiSession::begin_send(std::uint64_t at_ns, MPI_Comm c, int peer, int tag, std::uint64_t bytes,
                            MPI_Request request) {
  const CommunicatorInfo* of = peer == MPI_PROC_NULL ? nullptr : info(c);
  if (of == nullptr) return;
  const std::uint64_t number = ++requests_begun_;
  recorder_.add({.time_ns = at_ns,
                 .bytes = bytes,
                 .more = number,
                 .peer = static_cast<std::uint32_t>(peer),
                 .tag = tag,
                 .communicator = of->number,
                 .kind = Record::Kind::send_started});
  requests_.emplace(key(request), OpenRequest{OpenRequest::Kind::send, number, of->number, {}});
}

void MpiSession::begin_receive(std::uint64_t at_ns, MPI_Comm c, int peer, MPI_Request request) {
  const CommunicatorInfo* of = peer == MPI_PROC_NULL ? nullptr : info(c);
  if (of == nullptr) return;
  const std::uint64_t number = ++requests_begun_;
  recorder_.add({.time_ns = at_ns, .more = number, .kind = Record::Kind::receive_started});
  requests_.emplace(key(request), OpenRequest{OpenRequest::Kind::receive, number, of->number, {}});
}

void MpiSession::begin_collective(const Record& record, MPI_Request request) {
  requests_.emplace(key(request),
                    OpenRequest{OpenRequest::Kind::collective, 0, record.communicator, record});
}

void MpiSession::complete(std::uint64_t at_ns, MPI_Request handle, const MPI_Status& status) {
  if (handle == MPI_REQUEST_NULL) return;
  const auto found = requests_.find(key(handle));
  if (found == requests_.end()) {
    // A request without a partner was never recorded; of a persistent one that is known.
    return;
  }
  const OpenRequest request = found->second;
  requests_.erase(found);
  Record record{.time_ns = at_ns, .more = request.number, .communicator = request.communicator};
  int cancelled = 0;
  switch (request.kind) {
    case OpenRequest::Kind::send:
      record.kind = Record::Kind::send_done;
      break;
    case OpenRequest::Kind::receive:
      MPI_Test_cancelled(&status, &cancelled);
      record.kind = cancelled != 0 ? Record::Kind::cancelled : Record::Kind::receive_done;
      if (cancelled != 0) break;
      record.bytes = bytes_of(status);
      record.peer = static_cast<std::uint32_t>(status.MPI_SOURCE);
      record.tag = status.MPI_TAG;
      break;
    case OpenRequest::Kind::collective:
      record = request.collective;
      record.time_ns = at_ns;
      break;
  }
  recorder_.add(record);
}

void MpiSession::complete_freed(std::uint64_t at_ns, MPI_Request handle) {
  persistent_.erase(key(handle));
  const auto found = requests_.find(key(handle));
  if (found == requests_.end()) return;
  // Nobody learns which message a freed receive gets.
  if (found->second.kind != OpenRequest::Kind::send) report(Incomplete::unknown_request);
  recorder_.add({.time_ns = at_ns, .more = found->second.number, .kind = Record::Kind::send_done});
  requests_.erase(found);
}

void MpiSession::keep_persistent(MPI_Request request, const PersistentRequest& what) {
  persistent_[key(request)] = what;
}

void MpiSession::start_persistent(std::uint64_t at_ns, MPI_Request request) {
  const auto found = persistent_.find(key(request));
  if (found == persistent_.end()) return report(Incomplete::unknown_request);
  const PersistentRequest& p = found->second;
  if (p.is_send) {
    begin_send(at_ns, p.communicator, p.peer, p.tag, p.bytes, request);
  } else {
    begin_receive(at_ns, p.communicator, p.peer, request);
  }
}

Record MpiSession::collective(std::uint64_t at_ns, Collective operation, MPI_Comm c, int root,
                              std::uint64_t bytes) {
  Record record{.time_ns = at_ns,
                .tag = root,
                .operation = static_cast<std::uint16_t>(operation),
                .kind = Record::Kind::collective};
  const CommunicatorInfo* of = info(c);
  if (of == nullptr) return record;
  const CollectiveSizes sizes = recorded_sizes(
      operation, bytes, of->rank, of->size, root < 0 ? of->size : static_cast<std::uint32_t>(root));
  record.bytes = sizes.sent;
  record.more = sizes.received;
  record.communicator = of->number;
  return record;
}

}  // namespace weft::trace
