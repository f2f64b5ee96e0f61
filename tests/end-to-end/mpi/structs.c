// SPDX-License-Identifier: Apache-2.0
// Bounds of structs whose members have bounds that the program set.
#include "digest.h"

static void show(const char* name, MPI_Datatype type) {
  MPI_Aint bounds[4];
  MPI_Type_get_extent(type, &bounds[0], &bounds[1]);
  MPI_Type_get_true_extent(type, &bounds[2], &bounds[3]);
  say(name, bounds, sizeof bounds);
}

static MPI_Datatype two(const char* name, MPI_Datatype first, MPI_Datatype second, MPI_Aint at) {
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, at};
  const MPI_Datatype members[2] = {first, second};
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, places, members, &type);
  show(name, type);
  return type;
}

static void forget(MPI_Datatype type) {
  MPI_Type_free(&type);
}

/* It contains an integer by as many ways as it has elements. */
static void many_ways(void) {
  MPI_Datatype type = MPI_INT;
  MPI_Status status;
  int elements = -1;
  for (int level = 0; level < 26; ++level) {
    const int lengths[2] = {1, 1};
    MPI_Aint lower, places[2] = {0, 0};
    MPI_Type_get_extent(type, &lower, &places[1]);
    const MPI_Datatype members[2] = {type, type};
    MPI_Datatype twice;
    MPI_Type_create_struct(2, lengths, places, members, &twice);
    if (level > 0) MPI_Type_free(&type);
    type = twice;
  }
  MPI_Type_commit(&type);
  show("many ways to one number", type);
  memset(&status, 0, sizeof status);
  MPI_Status_set_elements(&status, MPI_INT, 3 << 20);
  MPI_Get_elements(&status, type, &elements);
  say_int("elements of some of them", elements);
  forget(type);
}

#ifdef OPEN_MPI /* MPICH pads nothing but structs. */
static void padded(void) {
  const MPI_Aint up[2] = {0, 12}, down[3] = {12, 1, -3}, from[1] = {3};
  const int lengths[3] = {1, 2, 1}, twice[1] = {2};
  MPI_Datatype type, inner;
  MPI_Type_create_hindexed_block(2, 1, up, MPI_DOUBLE, &type), show("blocks upwards", type);
  MPI_Type_create_resized(type, 0, 13, &inner), forget(type);
  MPI_Type_contiguous(3, inner, &type), show("of bounds that were set", type), forget(type);
  forget(inner);
  MPI_Type_create_hindexed_block(3, 1, down, MPI_DOUBLE, &type), show("blocks downwards", type);
  MPI_Type_vector(2, 2, -3, type, &inner), show("a vector of them", inner), forget(inner);
  forget(type);
  MPI_Type_create_hindexed(3, lengths, down, MPI_INT, &type), show("hindexed", type);
  forget(type);
  MPI_Type_create_hindexed(1, twice, from, MPI_SHORT, &type), show("one block", type);
  forget(two("blocks and a byte", type, MPI_CHAR, 9));
  forget(type);
  for (int stride = -13; stride < 14; stride += 2) {
    if (stride == -1) continue; /* which Open MPI takes for no stride */
    MPI_Type_create_hvector(2, 1, stride, MPI_DOUBLE, &type), show("hvector", type);
    forget(type);
  }
}
#endif

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Datatype plain = two("a padded struct", MPI_INT, MPI_CHAR, 4), packed, pair, same, wide;
  MPI_Type_create_resized(plain, 0, 5, &packed);
  forget(two("two without padding", packed, packed, 5));
  MPI_Type_contiguous(2, packed, &pair);
  forget(two("twice two without padding", pair, pair, 11));
  forget(two("different ones without padding", pair, MPI_CHAR, 10));
  forget(two("before an integer", packed, MPI_INT, 5));
  MPI_Type_create_resized(MPI_INT, 0, 4, &same);
  forget(two("before a number", same, MPI_DOUBLE, 8));
  forget(two("after a number", MPI_DOUBLE, same, 8));
  MPI_Type_create_resized(MPI_INT, -3, 7, &wide);
  forget(two("before and after", wide, wide, 9));
  forget(two("beside a longer one", wide, MPI_CHAR, 9));
#ifdef OPEN_MPI /* MPICH pads a struct whose members have different handles. */
  forget(two("different datatypes", packed, wide, 6));
#endif
  const int sizes[1] = {3}, parts[1] = {1}, starts[1] = {1};
  MPI_Datatype part;
  MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &part);
  forget(two("parts of arrays", part, part, 13));
#ifdef OPEN_MPI /* In MPICH the place of what has no elements counts among the true bounds. */
  const int nothing = 0;
  MPI_Datatype none;
  MPI_Type_indexed(0, &nothing, &nothing, packed, &none);
  forget(two("nothing, whose element has bounds", none, MPI_INT, 4));
  forget(none);
  MPI_Type_contiguous(0, part, &none);
  forget(two("none of a part", none, MPI_INT, 4));
  forget(none);
#endif
  forget(part);
  forget(wide);
  forget(same);
  forget(pair);
  forget(packed);
  forget(plain);
  many_ways();
#ifdef OPEN_MPI
  padded();
#endif
  MPI_Finalize();
  return 0;
}
