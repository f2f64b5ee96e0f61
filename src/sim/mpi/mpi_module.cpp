// SPDX-License-Identifier: Apache-2.0
#include "sim/mpi/mpi_module.hpp"

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <vector>

namespace weft::sim {
namespace {

// A batch is as many messages as it takes, of which only the last is shorter than the others.
constexpr int batch_tag = 1;

std::uint64_t most_bytes = std::uint64_t{1} << 30;
std::vector<MPI_Request> requests;

void check_size(std::uint64_t bytes) {
  if (bytes > 0 && bytes <= INT_MAX) most_bytes = bytes;
}

const char* start(std::uint64_t bytes, std::uint32_t* rank, std::uint32_t* size) {
  check_size(bytes);
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return "MPI does not start";
  }
  int own = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  *rank = static_cast<std::uint32_t>(own);
  *size = static_cast<std::uint32_t>(all);
  return nullptr;
}

void send(const MpiBatch& batch, int to) {
  const auto* data = static_cast<const std::byte*>(batch.data);
  std::uint64_t left = batch.bytes;
  for (;;) {
    const std::uint64_t bytes = left < most_bytes ? left : most_bytes;
    requests.emplace_back();
    MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, batch_tag, MPI_COMM_WORLD,
              &requests.back());
    if (bytes < most_bytes) return;
    data += bytes;
    left -= bytes;
  }
}

void receive(const MpiTurn& turn, std::uint32_t place) {
  const int from = static_cast<int>(turn.neighbours[place]);
  for (;;) {
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(from, batch_tag, MPI_COMM_WORLD, &message, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const auto more = static_cast<std::uint64_t>(bytes);
    void* to = turn.more(turn.context, place, more);
    MPI_Mrecv(to, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    if (more < most_bytes) return;
  }
}

std::int64_t turn(const MpiTurn* turn) {
  requests.clear();
  std::int64_t least = turn->least, result = 0;
  requests.emplace_back();
  MPI_Iallreduce(&least, &result, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, &requests.back());
  for (std::uint32_t i = 0; i < turn->count; ++i) {
    send(turn->outgoing[i], static_cast<int>(turn->neighbours[i]));
  }
  for (std::uint32_t i = 0; i < turn->count; ++i) receive(*turn, i);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return result;
}

void sum(std::uint64_t* values, std::uint64_t count) {
  MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_UINT64_T, MPI_SUM,
                MPI_COMM_WORLD);
}

void finish() {
  MPI_Finalize();
}

void abort_all(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace
}  // namespace weft::sim

__attribute__((visibility("default"))) const weft::sim::MpiCalls* weft_mpi_calls() {
  static constexpr weft::sim::MpiCalls calls{weft::sim::mpi_calls_version,
                                             weft::sim::start,
                                             weft::sim::turn,
                                             weft::sim::sum,
                                             weft::sim::finish,
                                             weft::sim::abort_all};
  return &calls;
}
