// SPDX-License-Identifier: Apache-2.0
// Grids and graphs, and the collective operations of neighbours.
#include "digest.h"

static void grids(void) {
  int sizes[2] = {0, 0}, periods[2] = {0, 1}, at[2], got[2], peers[4], n, sub_rank,
      remains[2] = {0, 1};
  MPI_Comm grid, row;
  MPI_Dims_create(size, 2, sizes);
  say("dims", sizes, sizeof sizes);
  static const int processes[] = {1, 6, 8, 12, 16, 24, 30, 36, 60, 64, 100, 97};
  for (int i = 0; i < 12; ++i) {
    int three[3] = {0, 0, 0}, fixed[3] = {0, 1, 0};
    MPI_Dims_create(processes[i], 3, three);
    MPI_Dims_create(processes[i], 3, fixed);
    say("dims of three", three, sizeof three);
    say("one fixed", fixed, sizeof fixed);
  }
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
  MPI_Topo_test(grid, &n);
  say_int("cart", n == MPI_CART);
  MPI_Cart_coords(grid, rank, 2, at);
  MPI_Cart_rank(grid, at, &n);
  say_int("rank", n);
  MPI_Cart_get(grid, 2, sizes, periods, got);
  say("coordinates", got, sizeof got);
  MPI_Cart_shift(grid, 0, 1, &peers[0], &peers[1]);
  MPI_Cart_shift(grid, 1, -1, &peers[2], &peers[3]);
  for (int i = 0; i < 4; ++i) peers[i] = peers[i] == MPI_PROC_NULL ? 1000 : peers[i];
  say("shift", peers, sizeof peers);
  MPI_Cart_sub(grid, remains, &row);
  MPI_Comm_rank(row, &sub_rank);
  MPI_Cartdim_get(row, &n);
  say_int("sub", sub_rank * 10 + n);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
  // One ring of all, not periodic.
  int zero = 0, *in = numbers(2), *out = blank(4);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &zero, 0, &grid);
  MPI_Neighbor_allgather(in, 2, MPI_INT, out, 2, MPI_INT, grid);
  say("neighbor_allgather", out, 4 * sizeof *out);
  free(in), free(out);
  MPI_Comm_free(&grid);
}

static void graphs(void) {
  // A star around rank 0.
  int ends[16], edges[32], n = 0, count, around[16];
  for (int i = 1; i < size; ++i) edges[n++] = i;
  ends[0] = n;
  for (int i = 1; i < size; ++i) edges[n++] = 0, ends[i] = n;
  MPI_Comm star;
  MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &star);
  MPI_Graph_neighbors_count(star, rank, &count);
  MPI_Graph_neighbors(star, rank, count, around);
  say("star", around, count * sizeof *around);
  int *in = numbers(16), *out = blank(16);
  MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, star);
  say("neighbor_alltoall", out, 16 * sizeof *out);
  MPI_Graphdims_get(star, &n, &count);
  say_int("graphdims", n * 100 + count);
  MPI_Comm_free(&star);
  // A ring with weights: from the left, to the right.
  int left = (rank + size - 1) % size, right = (rank + 1) % size, weight = rank + 1, from, to,
      weighted;
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, &weight, 1, &right, &weight,
                                 MPI_INFO_NULL, 0, &ring);
  MPI_Dist_graph_neighbors_count(ring, &from, &to, &weighted);
  say_int("adjacent", from * 100 + to * 10 + weighted);
  int sources[1], source_weights[1], destinations[1], destination_weights[1];
  MPI_Dist_graph_neighbors(ring, 1, sources, source_weights, 1, destinations, destination_weights);
  say_int("ring", sources[0] * 1000 + source_weights[0] * 100 + destinations[0]);
  int counts[1] = {3}, places[1] = {1};
  MPI_Aint bytes[1] = {4};
  MPI_Datatype types[1] = {MPI_INT};
  MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring);
  say("neighbor_alltoallv", out, 16 * sizeof *out);
  MPI_Request request;
  in[3] = 77 + rank;
  MPI_Ineighbor_alltoallw(in, counts, bytes, types, out, counts, bytes, types, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("ineighbor_alltoallw", out, 16 * sizeof *out);
  MPI_Comm dup;
  MPI_Comm_dup(ring, &dup);
  MPI_Neighbor_allgatherv(in, 2, MPI_INT, out, (int[]){2}, (int[]){5}, MPI_INT, dup);
  say("neighbor_allgatherv", out, 16 * sizeof *out);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&ring);
  // The same ring, described by other processes.
  int who = right, degree = 1, next = (right + 1) % size;
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &who, &degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &ring);
  MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring);
  say("dist_graph_create", out, 16 * sizeof *out);
  MPI_Comm_free(&ring);
  free(in), free(out);
}

/* In a ring of two, or of one, the same process is the neighbour on both sides. */
static void small_rings(void) {
  int sizes[2] = {size, 1}, periods[2] = {1, 1};
  if (size == 4) sizes[0] = sizes[1] = 2;
  int *in = numbers(4), *out = blank(4);
  MPI_Comm torus;
  // With both dimensions of size 1 MPICH exchanges blocks between dimensions.
  MPI_Cart_create(MPI_COMM_WORLD, size == 1 ? 1 : 2, sizes, periods, 0, &torus);
  MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, torus);
  say("torus", out, 4 * sizeof *out);
  MPI_Comm_free(&torus);
  free(in), free(out);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  grids();
  graphs();
  small_rings();
  MPI_Finalize();
  return 0;
}
