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

std::vector<int> weights_of(const int* weights, int count) {
  if (!has_weights(weights)) return std::vector<int>(static_cast<std::size_t>(count), 1);
  return {weights, weights + count};
}

int make(const Call& call, MPI_Comm comm, Topology graph, MPI_Comm* made) {
  int error = MPI_SUCCESS;
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
  Topology graph{.kind = MPI_DIST_GRAPH,
                 .sources = {from, from + sources},
                 .source_weights = weights_of(from_weights, sources),
                 .destinations = {to, to + destinations},
                 .destination_weights = weights_of(to_weights, destinations),
                 .is_weighted = from_weights != MPI_UNWEIGHTED};
  return make({"MPI_Dist_graph_create_adjacent"}, comm, std::move(graph), made);
}

int MPI_Dist_graph_create(MPI_Comm comm, int nodes, const int* from, const int* degrees,
                          const int* to, const int* weights, MPI_Info, int, MPI_Comm* made) {
  Collective c("MPI_Dist_graph_create", comm);
  if (!c.ok()) return c.error;
  std::vector<Edge> own, all;
  for (int i = 0; i < nodes; ++i) {
    for (int k = 0; k < degrees[i]; ++k) {
      const auto n = own.size();
      own.push_back({from[i], to[n], has_weights(weights) ? weights[n] : 1});
    }
  }
  if (const int error = all_edges(c, own, all); error != MPI_SUCCESS) return error;
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
  const GraphCall call("MPI_Dist_graph_neighbors_count", comm);
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
  copy_edges(call->sources, call->source_weights, call->is_weighted, source_room, sources,
             source_weights);
  copy_edges(call->destinations, call->destination_weights, call->is_weighted, destination_room,
             destinations, destination_weights);
  return MPI_SUCCESS;
}
