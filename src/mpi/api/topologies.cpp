// SPDX-License-Identifier: Apache-2.0
// The chapter on topologies: grids and graphs.
#include <algorithm>
#include <limits>
#include <vector>

#include "mpi/api/object_call.hpp"
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

/// A call on a communicator's topology of one kind, to which `->` leads. False: there is none;
/// `error` says so.
struct TopologyCall : CommunicatorCall {
  const Topology* topology = nullptr;

  template <class... Results>
  TopologyCall(const char* function, MPI_Comm comm, int kind, const Results*... results)
      : CommunicatorCall(function, comm, results...) {
    if (object == nullptr) return;
    const Topology* const found = object->topology.get();
    if (found != nullptr && found->kind == kind) {
      topology = found;
    } else {
      error = fail(object, MPI_ERR_TOPOLOGY, "the communicator has no topology of that kind");
    }
  }
  explicit operator bool() const { return topology != nullptr; }
  const Topology* operator->() const { return topology; }
  int check_rank(int rank) const {
    if (rank >= 0 && static_cast<std::uint32_t>(rank) < object->group.size()) return MPI_SUCCESS;
    return fail(object, MPI_ERR_RANK, "{} is no rank of the topology", rank);
  }
};

/// The first processes of the parent, as many as the topology has.
int make(const Call& call, MPI_Comm comm, std::size_t processes, Topology topology,
         MPI_Comm* made) {
  int error = call.check_results(made);
  if (error != MPI_SUCCESS) return error;
  *made = MPI_COMM_NULL;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  if (processes > parent->group.size()) {
    return call.fail(parent, MPI_ERR_TOPOLOGY,
                     "a topology of {} processes needs more than the communicator's {}", processes,
                     parent->group.size());
  }
  const auto& all = parent->group.members;
  Group group{.members = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(processes)},
              .rank = parent->group.rank};
  group.generation = child_generation(parent->group, ++parent->children, group.members);
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

/// A number's factors, none greater than the one before, that are as close to each other as can be:
/// the greatest and the least differ by as little as can be, and of those the last ones are as
/// great as can be. So MPICH chooses.
class ClosestFactors {
 public:
  ClosestFactors(int number, std::size_t factors) : divisors_(divisors_of(number)), now_(factors) {
    search(number, 0, number);
  }
  const std::vector<int>& best() const { return best_; }

 private:
  static double power(double base, std::size_t exponent) {
    double all = 1;
    for (std::size_t i = 0; i < exponent; ++i) all *= std::max(base, 0.0);
    return all;
  }
  /// Factors from `place` on have the product `rest`, and none is greater than `most`.
  void search(int rest, std::size_t place, int most) {
    const std::size_t left = now_.size() - place;
    if (left == 1) return consider(rest, most);
    for (const int factor : divisors_) {
      if (factor > most) break;
      if (rest % factor != 0 || power(factor, left) < rest) continue;
      now_[place] = factor;
      // The least of the others is at most their mean: they differ by too much.
      const double least = now_[0] - spread_;
      if (power(least, left - 1) > rest / factor) {
        if (place == 0) break;
        continue;
      }
      search(rest / factor, place + 1, factor);
    }
  }
  void consider(int last, int most) {
    if (last > most) return;
    now_.back() = last;
    const int spread = now_.front() - last;
    if (spread > spread_) return;
    const bool is_flatter =
        std::lexicographical_compare(best_.rbegin(), best_.rend(), now_.rbegin(), now_.rend());
    if (spread == spread_ && !is_flatter) return;
    spread_ = spread;
    best_ = now_;
  }

  std::vector<int> divisors_;  // the least first
  std::vector<int> now_, best_;
  int spread_ = std::numeric_limits<int>::max();
};

int map_rank(const CommunicatorCall& call, std::size_t processes, int* rank) {
  if (!call) return call.error;
  const std::uint32_t own = call->group.rank;
  *rank = own < processes ? static_cast<int>(own) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Topo_test(MPI_Comm comm, int* kind) {
  const CommunicatorCall call("MPI_Topo_test", comm, kind);
  if (!call) return call.error;
  *kind = call->topology != nullptr ? call->topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Dims_create(int processes, int dimensions, int* sizes) {
  const Call call{"MPI_Dims_create"};
  int rest = processes;
  std::size_t open = 0;
  if (const int error = call.check_arrays(dimensions, nullptr, sizes)) return error;
  for (int d = 0; d < dimensions; ++d) {
    if (sizes[d] == 0) {
      ++open;
    } else if (sizes[d] < 0 || rest % sizes[d] != 0) {
      return call.fail(&library().world, MPI_ERR_DIMS,
                       "{} processes cannot have {} in dimension {}", processes, sizes[d], d);
    } else {
      rest /= sizes[d];
    }
  }
  if (open == 0) return MPI_SUCCESS;
  if (rest < 1) {
    return call.fail(&library().world, MPI_ERR_ARG, "{} processes", processes);
  }
  const ClosestFactors factors(rest, open);
  auto next = factors.best().begin();
  for (int d = 0; d < dimensions; ++d) {
    if (sizes[d] == 0) sizes[d] = *next++;
  }
  return MPI_SUCCESS;
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int,
                    MPI_Comm* made) {
  const Call call{"MPI_Cart_create"};
  int error = MPI_SUCCESS;
  Topology grid{.kind = MPI_CART,
                .sizes = call.integers(sizes, dimensions, error),
                .periods = call.integers(periods, dimensions, error)};
  if (error != MPI_SUCCESS) return error;
  const std::size_t processes = product(grid.sizes);
  return make(call, comm, processes, std::move(grid), made);
}

int MPI_Cart_map(MPI_Comm comm, int dimensions, const int* sizes, const int*, int* rank) {
  const CommunicatorCall call("MPI_Cart_map", comm, rank);
  int error = call.error;
  const std::vector<int> all = call.integers(sizes, dimensions, error);
  return error != MPI_SUCCESS ? error : map_rank(call, product(all), rank);
}

int MPI_Cartdim_get(MPI_Comm comm, int* dimensions) {
  const TopologyCall call("MPI_Cartdim_get", comm, MPI_CART, dimensions);
  if (call) *dimensions = static_cast<int>(call->sizes.size());
  return call.error;
}

int MPI_Cart_get(MPI_Comm comm, int room, int* sizes, int* periods, int* coordinates) {
  const TopologyCall call("MPI_Cart_get", comm, MPI_CART);
  if (!call) return call.error;
  if (const int error = call.check_arrays(room, call.object, sizes, periods, coordinates)) {
    return error;
  }
  const auto own = call->coordinates_of(static_cast<int>(call.object->group.rank));
  for (std::size_t d = 0; d < call->sizes.size() && d < static_cast<std::size_t>(room); ++d) {
    sizes[d] = call->sizes[d];
    periods[d] = call->periods[d];
    coordinates[d] = own[d];
  }
  return MPI_SUCCESS;
}

int MPI_Cart_rank(MPI_Comm comm, const int* coordinates, int* rank) {
  const TopologyCall call("MPI_Cart_rank", comm, MPI_CART, rank);
  if (!call) return call.error;
  int error = MPI_SUCCESS;
  const int dimensions = static_cast<int>(call->sizes.size());
  std::vector<int> place = call.integers(coordinates, dimensions, error);
  if (error != MPI_SUCCESS) return error;
  const int found = call->rank_at(std::move(place));
  if (found == MPI_PROC_NULL) {
    return call.fail(call.object, MPI_ERR_ARG, "the coordinates are outside of the grid");
  }
  *rank = found;
  return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int room, int* coordinates) {
  const TopologyCall call("MPI_Cart_coords", comm, MPI_CART);
  if (!call) return call.error;
  if (const int error = call.check_rank(rank)) return error;
  if (const int error = call.check_arrays(room, call.object, coordinates)) return error;
  const auto found = call->coordinates_of(rank);
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(room)), coordinates);
  return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int dimension, int distance, int* source, int* destination) {
  const TopologyCall call("MPI_Cart_shift", comm, MPI_CART, source, destination);
  if (!call) return call.error;
  const auto d = static_cast<std::size_t>(dimension);
  if (dimension < 0 || d >= call->sizes.size()) {
    return call.fail(call.object, MPI_ERR_ARG, "{} is no dimension of a grid of {}", dimension,
                     call->sizes.size());
  }
  auto before = call->coordinates_of(static_cast<int>(call.object->group.rank));
  auto after = before;
  before[d] -= distance;
  after[d] += distance;
  *source = call->rank_at(before);
  *destination = call->rank_at(after);
  return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int* remains, MPI_Comm* made) {
  const TopologyCall call("MPI_Cart_sub", comm, MPI_CART, made);
  if (!call) return call.error;
  const auto dimensions = static_cast<std::int64_t>(call->sizes.size());
  if (const int none = call.check_arrays(dimensions, call.object, remains)) return none;
  const auto own = call->coordinates_of(static_cast<int>(call.object->group.rank));
  Topology part;
  int color = 0, key = 0;
  for (std::size_t d = 0; d < call->sizes.size(); ++d) {
    if (remains[d] == 0) {
      color = color * call->sizes[d] + own[d];
      continue;
    }
    key = key * call->sizes[d] + own[d];
    part.sizes.push_back(call->sizes[d]);
    part.periods.push_back(call->periods[d]);
  }
  int error = MPI_Comm_split(comm, color, key, made);
  if (error != MPI_SUCCESS) return error;
  call.communicator(*made, error)->topology = std::make_shared<const Topology>(std::move(part));
  return error;
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int* ends, const int* edges, int,
                     MPI_Comm* made) {
  const Call call{"MPI_Graph_create"};
  int error = MPI_SUCCESS;
  Topology graph{.kind = MPI_GRAPH, .ends = call.integers(ends, nodes, error)};
  graph.edges = call.integers(edges, graph.ends.empty() ? 0 : graph.ends.back(), error);
  if (error != MPI_SUCCESS) return error;
  return make(call, comm, static_cast<std::size_t>(nodes), std::move(graph), made);
}

int MPI_Graph_map(MPI_Comm comm, int nodes, const int*, const int*, int* rank) {
  return map_rank({"MPI_Graph_map", comm, rank}, static_cast<std::size_t>(nodes), rank);
}

int MPI_Graphdims_get(MPI_Comm comm, int* nodes, int* edges) {
  const TopologyCall call("MPI_Graphdims_get", comm, MPI_GRAPH, nodes, edges);
  if (!call) return call.error;
  *nodes = static_cast<int>(call->ends.size());
  *edges = static_cast<int>(call->edges.size());
  return MPI_SUCCESS;
}

int MPI_Graph_get(MPI_Comm comm, int nodes, int edge_room, int* ends, int* edges) {
  const TopologyCall call("MPI_Graph_get", comm, MPI_GRAPH);
  if (!call) return call.error;
  if (const int error = call.check_arrays(nodes, call.object, ends)) return error;
  if (const int error = call.check_arrays(edge_room, call.object, edges)) return error;
  const auto copy = [](const std::vector<int>& from, int room, int* to) {
    std::copy_n(from.begin(), std::min(from.size(), static_cast<std::size_t>(room)), to);
  };
  copy(call->ends, nodes, ends);
  copy(call->edges, edge_room, edges);
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* count) {
  const TopologyCall call("MPI_Graph_neighbors_count", comm, MPI_GRAPH, count);
  if (!call) return call.error;
  if (const int error = call.check_rank(rank)) return error;
  *count = static_cast<int>(call->receives_from(rank).size());
  return MPI_SUCCESS;
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int room, int* neighbors) {
  const TopologyCall call("MPI_Graph_neighbors", comm, MPI_GRAPH);
  if (!call) return call.error;
  if (const int error = call.check_rank(rank)) return error;
  if (const int error = call.check_arrays(room, call.object, neighbors)) return error;
  const auto found = call->receives_from(rank);
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(room)), neighbors);
  return MPI_SUCCESS;
}
