// SPDX-License-Identifier: Apache-2.0
// Graphs of which each process knows its own neighbours.
#include <algorithm>
#include <numeric>

#include "mpi/api/object_call.hpp"
#include "mpi/api/topology.hpp"

namespace weft::mpi {
namespace {

bool has_weights(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

/// Of as many edges as were found. Empty, with `error` set, as Call::integers.
std::vector<int> weights_of(const Call& call, const int* weights, std::size_t count, int& error) {
  if (!has_weights(weights)) return std::vector<int>(count, 1);
  return call.integers(weights, static_cast<int>(count), error);
}

int make(const Call& call, MPI_Comm comm, Topology graph, MPI_Comm* made) {
  int error = call.check_results(made);
  if (error != MPI_SUCCESS) return error;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  Group group = parent->group;
  group.generation = child_generation(parent->group, ++parent->children, group.members);
  *made = add_communicator(*parent, std::move(group));
  call.communicator(*made, error)->topology = std::make_shared<const Topology>(std::move(graph));
  return error;
}

struct Edge {
  int from = 0;
  int to = 0;
  int weight = 0;
};

/// The arguments of a process that names edges of any processes.
struct NamedEdges {
  int nodes;
  const int* from;
  const int* degrees;
  const int* to;
  const int* weights;
};

int own_edges(const Call& call, const NamedEdges& named, std::vector<Edge>& own) {
  int error = MPI_SUCCESS;
  const std::vector<int> from = call.integers(named.from, named.nodes, error);
  const std::vector<int> degrees = call.integers(named.degrees, named.nodes, error);
  int edges = 0;
  for (const int degree : degrees) edges += std::max(degree, 0);
  const std::vector<int> to = call.integers(named.to, edges, error);
  const std::vector<int> weights = weights_of(call, named.weights, to.size(), error);
  if (error != MPI_SUCCESS) return error;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (int k = 0; k < degrees[i]; ++k) {
      const auto n = own.size();
      own.push_back({from[i], to[n], weights[n]});
    }
  }
  return MPI_SUCCESS;
}

/// The edges that any process names, in the order of the processes.
int all_edges(Collective& c, const std::vector<Edge>& own, std::vector<Edge>& all) {
  const std::size_t members = c.group().size();
  int count = static_cast<int>(own.size() * sizeof(Edge));
  std::vector<int> counts(members), places(members);
  int error = allgather(c, &count, 1, MPI_INT, counts.data(), 1, MPI_INT);
  if (error != MPI_SUCCESS) return error;
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  all.resize(static_cast<std::size_t>(places.back() + counts.back()) / sizeof(Edge));
  return allgatherv(c, own.data(), count, MPI_BYTE, all.data(), counts.data(), places.data(),
                    MPI_BYTE);
}

void copy_edges(const std::vector<int>& ranks, const std::vector<int>& weights, bool is_weighted,
                int room, int* to, int* to_weights) {
  const std::size_t n = std::min(ranks.size(), static_cast<std::size_t>(std::max(room, 0)));
  std::copy_n(ranks.begin(), n, to);
  if (is_weighted && has_weights(to_weights)) std::copy_n(weights.begin(), n, to_weights);
}

const Topology* find(const Call& call, MPI_Comm comm, int& error) {
  const Communicator* const found = call.communicator(comm, error);
  if (found == nullptr) return nullptr;
  if (found->topology != nullptr && found->topology->kind == MPI_DIST_GRAPH) {
    return found->topology.get();
  }
  error = call.fail(found, MPI_ERR_TOPOLOGY, "the communicator has no distributed graph");
  return nullptr;
}
using GraphCall = CallOn<const Topology, MPI_Comm, find>;

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int sources, const int* from,
                                   const int* from_weights, int destinations, const int* to,
                                   const int* to_weights, MPI_Info, int, MPI_Comm* made) {
  const Call call{"MPI_Dist_graph_create_adjacent"};
  int error = MPI_SUCCESS;
  Topology graph{.kind = MPI_DIST_GRAPH, .is_weighted = from_weights != MPI_UNWEIGHTED};
  graph.sources = call.integers(from, sources, error);
  graph.source_weights = weights_of(call, from_weights, graph.sources.size(), error);
  graph.destinations = call.integers(to, destinations, error);
  graph.destination_weights = weights_of(call, to_weights, graph.destinations.size(), error);
  if (error != MPI_SUCCESS) return error;
  return make(call, comm, std::move(graph), made);
}

int MPI_Dist_graph_create(MPI_Comm comm, int nodes, const int* from, const int* degrees,
                          const int* to, const int* weights, MPI_Info, int, MPI_Comm* made) {
  Collective c("MPI_Dist_graph_create", comm);
  if (!c.ok()) return c.error;
  std::vector<Edge> own, all;
  int error = own_edges(c.call, {nodes, from, degrees, to, weights}, own);
  if (error != MPI_SUCCESS) return error;
  if (error = all_edges(c, own, all); error != MPI_SUCCESS) return error;
  const int rank = static_cast<int>(c.group().rank);
  Topology graph{.kind = MPI_DIST_GRAPH, .is_weighted = weights != MPI_UNWEIGHTED};
  for (const Edge& edge : all) {
    if (edge.to == rank) {
      graph.sources.push_back(edge.from);
      graph.source_weights.push_back(edge.weight);
    }
    if (edge.from == rank) {
      graph.destinations.push_back(edge.to);
      graph.destination_weights.push_back(edge.weight);
    }
  }
  return make(c.call, comm, std::move(graph), made);
}

int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int* sources, int* destinations, int* weighted) {
  const GraphCall call("MPI_Dist_graph_neighbors_count", comm, sources, destinations, weighted);
  if (!call) return call.error;
  *sources = static_cast<int>(call->sources.size());
  *destinations = static_cast<int>(call->destinations.size());
  *weighted = call->is_weighted ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Dist_graph_neighbors(MPI_Comm comm, int source_room, int* sources, int* source_weights,
                             int destination_room, int* destinations, int* destination_weights) {
  const GraphCall call("MPI_Dist_graph_neighbors", comm);
  if (!call) return call.error;
  if (const int error = call.check_arrays(source_room, nullptr, sources)) return error;
  if (const int error = call.check_arrays(destination_room, nullptr, destinations)) return error;
  copy_edges(call->sources, call->source_weights, call->is_weighted, source_room, sources,
             source_weights);
  copy_edges(call->destinations, call->destination_weights, call->is_weighted, destination_room,
             destinations, destination_weights);
  return MPI_SUCCESS;
}
