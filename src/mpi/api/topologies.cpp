// SPDX-License-Identifier: Apache-2.0
// The chapter on topologies: grids and graphs.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "mpi/api/topology.hpp"

namespace weft::mpi {

std::vector<int> Topology::coordinates_of(int rank) const {
  std::vector<int> coordinates(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0;) {
    coordinates[d] = rank % sizes[d];
    rank /= sizes[d];
  }
  return coordinates;
}

int Topology::rank_at(std::vector<int> coordinates) const {
  int rank = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    int at = coordinates[d];
    if (at < 0 || at >= sizes[d]) {
      if (periods[d] == 0) return MPI_PROC_NULL;
      at = (at % sizes[d] + sizes[d]) % sizes[d];
    }
    rank = rank * sizes[d] + at;
  }
  return rank;
}

std::vector<int> Topology::receives_from(int rank) const {
  if (kind == MPI_DIST_GRAPH) return sources;
  if (kind == MPI_GRAPH) {
    const int begin = rank > 0 ? ends[static_cast<std::size_t>(rank - 1)] : 0;
    return {edges.begin() + begin, edges.begin() + ends[static_cast<std::size_t>(rank)]};
  }
  std::vector<int> neighbors;
  const std::vector<int> own = coordinates_of(rank);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    for (const int step : {-1, 1}) {
      std::vector<int> other = own;
      other[d] += step;
      neighbors.push_back(rank_at(other));
    }
  }
  return neighbors;
}

std::vector<int> Topology::sends_to(int rank) const {
  return kind == MPI_DIST_GRAPH ? destinations : receives_from(rank);
}

namespace {

/// Null, with `error` set: the communicator has no such topology.
const Topology* find(const Call& call, MPI_Comm comm, int kind, int& error,
                     Communicator** communicator = nullptr) {
  Communicator* const found = call.communicator(comm, error);
  if (found == nullptr) return nullptr;
  if (communicator != nullptr) *communicator = found;
  if (found->topology != nullptr && found->topology->kind == kind) return found->topology.get();
  error = call.fail(found, MPI_ERR_TOPOLOGY, "the communicator has no topology of that kind");
  return nullptr;
}

/// The first processes of the parent, as many as the topology has.
int make(const Call& call, MPI_Comm comm, std::size_t processes, Topology topology,
         MPI_Comm* made) {
  int error = MPI_SUCCESS;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  if (processes > parent->group.size()) {
    return call.fail(parent, MPI_ERR_TOPOLOGY,
                     fmt::format("a topology of {} processes needs more than the communicator's {}",
                                 processes, parent->group.size()));
  }
  const auto& all = parent->group.members;
  Group group{.members = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(processes)},
              .rank = parent->group.rank};
  group.generation = child_generation(parent->group, ++parent->children, group.members);
  *made = MPI_COMM_NULL;
  if (group.rank >= processes) return MPI_SUCCESS;
  *made = add_communicator(*parent, std::move(group));
  call.communicator(*made, error)->topology = std::make_shared<const Topology>(std::move(topology));
  return MPI_SUCCESS;
}

std::size_t product(const std::vector<int>& values) {
  std::size_t all = 1;
  for (const int value : values) all *= static_cast<std::size_t>(std::max(value, 0));
  return all;
}

/// The flattest way to write `rest` as so many factors, none greater than the one before: what
/// comes first by alphabet. `divisors` of the whole, the least first. False: there is none.
bool factor(int rest, std::size_t factors, int most, const std::vector<int>& divisors,
            std::vector<int>& found) {
  if (factors == 0) return rest == 1;
  for (const int first : divisors) {
    if (first > most) break;
    if (rest % first != 0) continue;
    double largest = 1;  // of what the others can make
    for (std::size_t i = 0; i < factors; ++i) largest *= first;
    if (largest < rest) continue;
    found.push_back(first);
    if (factor(rest / first, factors - 1, first, divisors, found)) return true;
    found.pop_back();
  }
  return false;
}

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int i = 1; std::int64_t{i} * i <= number; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i != number / i) divisors.push_back(number / i);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

int map_rank(const Call& call, MPI_Comm comm, std::size_t processes, int* rank) {
  int error = MPI_SUCCESS;
  const Communicator* const communicator = call.communicator(comm, error);
  if (communicator == nullptr) return error;
  const std::uint32_t own = communicator->group.rank;
  *rank = own < processes ? static_cast<int>(own) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Topo_test(MPI_Comm comm, int* kind) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Topo_test"};
  const Communicator* const communicator = call.communicator(comm, error);
  if (communicator == nullptr) return error;
  *kind = communicator->topology != nullptr ? communicator->topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Dims_create(int processes, int dimensions, int* sizes) {
  const Call call{"MPI_Dims_create"};
  int rest = processes;
  std::size_t open = 0;
  for (int d = 0; d < dimensions; ++d) {
    if (sizes[d] == 0) {
      ++open;
    } else if (sizes[d] < 0 || rest % sizes[d] != 0) {
      return call.fail(
          &library().world, MPI_ERR_DIMS,
          fmt::format("{} processes cannot have {} in dimension {}", processes, sizes[d], d));
    } else {
      rest /= sizes[d];
    }
  }
  if (open == 0) return MPI_SUCCESS;
  if (rest < 1) {
    return call.fail(&library().world, MPI_ERR_ARG, fmt::format("{} processes", processes));
  }
  std::vector<int> best;
  (void)factor(rest, open, rest, divisors_of(rest), best);
  auto next = best.begin();
  for (int d = 0; d < dimensions; ++d) {
    if (sizes[d] == 0) sizes[d] = *next++;
  }
  return MPI_SUCCESS;
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int,
                    MPI_Comm* made) {
  Topology grid{.kind = MPI_CART,
                .sizes = {sizes, sizes + dimensions},
                .periods = {periods, periods + dimensions}};
  const std::size_t processes = product(grid.sizes);
  return make({"MPI_Cart_create"}, comm, processes, std::move(grid), made);
}

int MPI_Cart_map(MPI_Comm comm, int dimensions, const int* sizes, const int*, int* rank) {
  return map_rank({"MPI_Cart_map"}, comm, product({sizes, sizes + dimensions}), rank);
}

int MPI_Cartdim_get(MPI_Comm comm, int* dimensions) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Cartdim_get"};
  const Topology* const grid = find(call, comm, MPI_CART, error);
  if (grid != nullptr) *dimensions = static_cast<int>(grid->sizes.size());
  return error;
}

int MPI_Cart_get(MPI_Comm comm, int room, int* sizes, int* periods, int* coordinates) {
  int error = MPI_SUCCESS;
  Communicator* communicator = nullptr;
  const Call call{"MPI_Cart_get"};
  const Topology* const grid = find(call, comm, MPI_CART, error, &communicator);
  if (grid == nullptr) return error;
  const auto own = grid->coordinates_of(static_cast<int>(communicator->group.rank));
  for (std::size_t d = 0; d < grid->sizes.size() && d < static_cast<std::size_t>(room); ++d) {
    sizes[d] = grid->sizes[d];
    periods[d] = grid->periods[d];
    coordinates[d] = own[d];
  }
  return MPI_SUCCESS;
}

int MPI_Cart_rank(MPI_Comm comm, const int* coordinates, int* rank) {
  const Call call{"MPI_Cart_rank"};
  int error = MPI_SUCCESS;
  Communicator* communicator = nullptr;
  const Topology* const grid = find(call, comm, MPI_CART, error, &communicator);
  if (grid == nullptr) return error;
  const int found = grid->rank_at({coordinates, coordinates + grid->sizes.size()});
  if (found == MPI_PROC_NULL) {
    return call.fail(communicator, MPI_ERR_ARG, "the coordinates are outside of the grid");
  }
  *rank = found;
  return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int room, int* coordinates) {
  const Call call{"MPI_Cart_coords"};
  int error = MPI_SUCCESS;
  Communicator* communicator = nullptr;
  const Topology* const grid = find(call, comm, MPI_CART, error, &communicator);
  if (grid == nullptr) return error;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= communicator->group.size()) {
    return call.fail(communicator, MPI_ERR_RANK, fmt::format("{} is no rank of the grid", rank));
  }
  const auto found = grid->coordinates_of(rank);
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(room)), coordinates);
  return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int dimension, int distance, int* source, int* destination) {
  const Call call{"MPI_Cart_shift"};
  int error = MPI_SUCCESS;
  Communicator* communicator = nullptr;
  const Topology* const grid = find(call, comm, MPI_CART, error, &communicator);
  if (grid == nullptr) return error;
  const auto d = static_cast<std::size_t>(dimension);
  if (dimension < 0 || d >= grid->sizes.size()) {
    return call.fail(
        communicator, MPI_ERR_ARG,
        fmt::format("{} is no dimension of a grid of {}", dimension, grid->sizes.size()));
  }
  auto before = grid->coordinates_of(static_cast<int>(communicator->group.rank));
  auto after = before;
  before[d] -= distance;
  after[d] += distance;
  *source = grid->rank_at(before);
  *destination = grid->rank_at(after);
  return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int* remains, MPI_Comm* made) {
  const Call call{"MPI_Cart_sub"};
  int error = MPI_SUCCESS;
  Communicator* communicator = nullptr;
  const Topology* const grid = find(call, comm, MPI_CART, error, &communicator);
  if (grid == nullptr) return error;
  const auto own = grid->coordinates_of(static_cast<int>(communicator->group.rank));
  Topology part;
  int color = 0, key = 0;
  for (std::size_t d = 0; d < grid->sizes.size(); ++d) {
    if (remains[d] == 0) {
      color = color * grid->sizes[d] + own[d];
      continue;
    }
    key = key * grid->sizes[d] + own[d];
    part.sizes.push_back(grid->sizes[d]);
    part.periods.push_back(grid->periods[d]);
  }
  error = MPI_Comm_split(comm, color, key, made);
  if (error != MPI_SUCCESS) return error;
  call.communicator(*made, error)->topology = std::make_shared<const Topology>(std::move(part));
  return error;
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int* ends, const int* edges, int,
                     MPI_Comm* made) {
  Topology graph{.kind = MPI_GRAPH, .ends = {ends, ends + nodes}};
  if (nodes > 0) graph.edges.assign(edges, edges + ends[nodes - 1]);
  return make({"MPI_Graph_create"}, comm, static_cast<std::size_t>(nodes), std::move(graph), made);
}

int MPI_Graph_map(MPI_Comm comm, int nodes, const int*, const int*, int* rank) {
  return map_rank({"MPI_Graph_map"}, comm, static_cast<std::size_t>(nodes), rank);
}

int MPI_Graphdims_get(MPI_Comm comm, int* nodes, int* edges) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Graphdims_get"};
  const Topology* const graph = find(call, comm, MPI_GRAPH, error);
  if (graph == nullptr) return error;
  *nodes = static_cast<int>(graph->ends.size());
  *edges = static_cast<int>(graph->edges.size());
  return MPI_SUCCESS;
}

int MPI_Graph_get(MPI_Comm comm, int nodes, int edge_room, int* ends, int* edges) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Graph_get"};
  const Topology* const graph = find(call, comm, MPI_GRAPH, error);
  if (graph == nullptr) return error;
  const auto copy = [](const std::vector<int>& from, int room, int* to) {
    std::copy_n(from.begin(), std::min(from.size(), static_cast<std::size_t>(room)), to);
  };
  copy(graph->ends, nodes, ends);
  copy(graph->edges, edge_room, edges);
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* count) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Graph_neighbors_count"};
  const Topology* const graph = find(call, comm, MPI_GRAPH, error);
  if (graph != nullptr) *count = static_cast<int>(graph->receives_from(rank).size());
  return error;
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int room, int* neighbors) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Graph_neighbors"};
  const Topology* const graph = find(call, comm, MPI_GRAPH, error);
  if (graph == nullptr) return error;
  const auto found = graph->receives_from(rank);
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(room)), neighbors);
  return MPI_SUCCESS;
}
