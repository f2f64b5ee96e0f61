// SPDX-License-Identifier: Apache-2.0
// Parts of arrays, drawn at random: their bounds, and the order of their elements.
#include "digest.h"

enum { most_dimensions = 4, most_bytes = 1 << 17 };

static unsigned long state;
static int draw(int below) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)below);
}

/* Elements with and without gaps. */
static MPI_Datatype element(int kind) {
  const int sizes[2] = {3, 4}, parts[2] = {2, 4}, starts[2] = {1, 0};
  MPI_Datatype type, inner;
  switch (kind) {
    case 0:
      MPI_Type_vector(2, 1, 3, MPI_SHORT, &type);
      return type;
    case 1:
      MPI_Type_create_resized(MPI_INT, 0, 7, &type);
      return type;
    case 2:
      MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type);
      return type;
    case 3:
      MPI_Type_vector(2, 1, 2, MPI_SHORT, &inner);
      MPI_Type_create_resized(inner, 0, 8, &type);
      MPI_Type_free(&inner);
      return type;
    default:
      MPI_Type_contiguous(kind - 3, MPI_INT, &type);
      return type;
  }
}

static MPI_Datatype subarray(int dimensions, int order, MPI_Datatype inner) {
  int sizes[most_dimensions], parts[most_dimensions], starts[most_dimensions];
  MPI_Datatype type;
  for (int d = 0; d < dimensions; ++d) {
    sizes[d] = 1 + draw(5);
    parts[d] = draw(3) == 0 ? sizes[d] : 1 + draw(sizes[d]);
    starts[d] = draw(sizes[d] - parts[d] + 1);
  }
  MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, inner, &type);
  return type;
}

static MPI_Datatype distributed(int dimensions, int order, MPI_Datatype inner) {
  int sizes[most_dimensions], kinds[most_dimensions], arguments[most_dimensions],
      grid[most_dimensions], processes = 1;
  MPI_Datatype type;
  for (int d = 0; d < dimensions; ++d) {
    const int kind = draw(3);
    sizes[d] = 1 + draw(7);
    grid[d] = kind == 0 ? 1 : 1 + draw(3);
    processes *= grid[d];
    kinds[d] = kind == 0   ? MPI_DISTRIBUTE_NONE
               : kind == 1 ? MPI_DISTRIBUTE_BLOCK
                           : MPI_DISTRIBUTE_CYCLIC;
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 1 && draw(2)) arguments[d] = (sizes[d] + grid[d] - 1) / grid[d] + draw(2);
    if (kind == 2 && draw(2)) arguments[d] = 1 + draw(3);
  }
  MPI_Type_create_darray(processes, draw(processes), dimensions, sizes, kinds, arguments, grid,
                         order, inner, &type);
  return type;
}

static unsigned long seen;
static void see(const void* data, int bytes) {
  for (int i = 0; i < bytes; ++i) seen = (seen ^ ((const unsigned char*)data)[i]) * 1099511628211ul;
}

/* Its bounds, and which bytes of memory two elements of it take, in their order. */
static void look(MPI_Datatype type) {
  static short memory[most_bytes / sizeof(short)];
  static char packed[most_bytes];
  MPI_Aint bounds[4];
  int bytes, position = 0;
  for (int i = 0; i < most_bytes / (int)sizeof(short); ++i) memory[i] = (short)i;
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &bounds[0], &bounds[1]);
  MPI_Type_size(type, &bytes);
  MPI_Type_get_true_extent(type, &bounds[2], &bounds[3]);
#ifndef OPEN_MPI /* In MPICH the bounds of dealt out dimensions count among the true ones. */
  bounds[2] = bounds[3] = 0;
#endif
  if (bytes == 0) bounds[2] = bounds[3] = 0; /* whose true bounds are any */
  see(bounds, sizeof bounds);
  if (2 * bounds[1] <= most_bytes) {
    MPI_Pack(memory, 2, type, packed, most_bytes, &position, MPI_COMM_SELF);
    see(packed, position);
  }
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int round = 0; round < 400; ++round) {
    state = 1000003ul * (unsigned long)round + 7;
    for (int i = 0; i < 4; ++i) draw(2);
    const int dimensions = 1 + draw(most_dimensions);
    const int order = draw(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    MPI_Datatype inner = element(draw(6));
    look(draw(2) ? subarray(dimensions, order, inner) : distributed(dimensions, order, inner));
    MPI_Type_free(&inner);
    if (round % 10 == 9) say("parts", &seen, sizeof seen);
  }
  MPI_Finalize();
  return 0;
}
