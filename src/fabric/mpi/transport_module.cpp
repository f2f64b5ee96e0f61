// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>

#include <deque>
#include <vector>

#include "fabric/mpi/transport.hpp"

namespace weft::mpi {
namespace {

std::vector<MPI_Request> requests;  // of sends and receives under way
std::vector<std::uint64_t> cookies;
std::vector<std::uint64_t> ended;
std::vector<int> places;
std::deque<MPI_Request> rooms;  // that were given to `listen`, in that order

const char* start(World* world) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    return "MPI does not start";
  }
  int rank = 0, size = 0, here = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &here);
  MPI_Comm_free(&machine);
  *world = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size),
            static_cast<std::uint32_t>(here)};
  return nullptr;
}

MPI_Request& new_request(std::uint64_t cookie) {
  cookies.push_back(cookie);
  return requests.emplace_back();
}

void send(const void* data, std::uint64_t bytes, std::uint32_t to, int tag, std::uint64_t cookie) {
  MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), tag, MPI_COMM_WORLD,
            &new_request(cookie));
}

void receive(void* data, std::uint64_t bytes, std::uint32_t from, int tag, std::uint64_t cookie) {
  MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(from), tag, MPI_COMM_WORLD,
            &new_request(cookie));
}

void listen(void* data, std::uint64_t bytes, int tag) {
  MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
            &rooms.emplace_back());
}

int heard(std::uint32_t* from, std::uint64_t* bytes) {
  if (rooms.empty()) return 0;
  int done = 0, count = 0;
  MPI_Status status;
  MPI_Test(&rooms.front(), &done, &status);
  if (done == 0) return 0;
  rooms.pop_front();
  MPI_Get_count(&status, MPI_BYTE, &count);
  *from = static_cast<std::uint32_t>(status.MPI_SOURCE);
  *bytes = static_cast<std::uint64_t>(count);
  return 1;
}

const std::uint64_t* finished(std::uint32_t* count) {
  ended.clear();
  *count = 0;
  if (requests.empty()) return ended.data();
  places.resize(requests.size());
  int done = 0;
  MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done, places.data(),
               MPI_STATUSES_IGNORE);
  if (done <= 0) return ended.data();
  for (int i = 0; i < done; ++i) ended.push_back(cookies[static_cast<std::size_t>(places[i])]);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    requests[kept] = requests[i];
    cookies[kept++] = cookies[i];
  }
  requests.resize(kept);
  cookies.resize(kept);
  *count = static_cast<std::uint32_t>(ended.size());
  return ended.data();
}

void finish() {
  for (MPI_Request& room : rooms) {
    MPI_Cancel(&room);
    MPI_Wait(&room, MPI_STATUS_IGNORE);
  }
  rooms.clear();
  MPI_Finalize();
}

}  // namespace
}  // namespace weft::mpi

__attribute__((visibility("default"))) const weft::mpi::TransportCalls* weft_mpi_transport() {
  static constexpr weft::mpi::TransportCalls calls{
      weft::mpi::transport_version, weft::mpi::start,  weft::mpi::send,
      weft::mpi::receive,           weft::mpi::listen, weft::mpi::heard,
      weft::mpi::finished,          weft::mpi::finish};
  return &calls;
}
