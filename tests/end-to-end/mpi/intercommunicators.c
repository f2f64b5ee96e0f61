// SPDX-License-Identifier: Apache-2.0
// Two groups of processes: messages and all collectives between them, duplicates, splits and
// merges.
#include "digest.h"

enum { most = 8 };

static int mine, theirs, first_group;
static int notes[4096], noted;

static void note_ints(const int* values, int count) {
  memcpy(notes + noted, values, count * sizeof *values);
  noted += count;
}

/* All processes call it. */
static void tell(const char* name) {
  say(name, notes, noted * sizeof *notes);
  noted = 0;
}

static void collectives(MPI_Comm inter) {
  int in[most * 3], out[most * 3], counts[most], places[most], from[most], at[most];
  const int root = first_group ? (mine == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  for (int i = 0; i < most * 3; ++i) in[i] = 100 * rank + i;
  MPI_Barrier(inter);
  memset(out, 0, sizeof out);
  if (root == MPI_ROOT) memcpy(out, in, sizeof out);
  MPI_Bcast(out, 3, MPI_INT, root, inter);
  say("bcast", out, sizeof(int) * (3));
  memset(out, 0, sizeof out);
  MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, root, inter);
  say("reduce", out, sizeof(int) * (3));
  MPI_Allreduce(in, out, 3, MPI_INT, MPI_MAX, inter);
  say("allreduce", out, sizeof(int) * (3));
  memset(out, 0, sizeof out);
  MPI_Gather(in, 2, MPI_INT, out, 2, MPI_INT, root, inter);
  say("gather", out, sizeof(int) * (2 * most));
  memset(out, 0, sizeof out);
  MPI_Scatter(in, 2, MPI_INT, out, 2, MPI_INT, root, inter);
  say("scatter", out, sizeof(int) * (2));
  memset(out, 0, sizeof out);
  MPI_Allgather(in, 2, MPI_INT, out, 2, MPI_INT, inter);
  say("allgather", out, sizeof(int) * (2 * most));
  memset(out, 0, sizeof out);
  MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, inter);
  say("alltoall", out, sizeof(int) * (2 * most));
  for (int i = 0; i < theirs; ++i) {
    counts[i] = 1 + (mine + i) % 2;
    places[i] = 3 * i;
    from[i] = counts[i];
    at[i] = 3 * (theirs - 1 - i);
  }
  memset(out, 0, sizeof out);
  MPI_Alltoallv(in, counts, places, MPI_INT, out, from, at, MPI_INT, inter);
  say("alltoallv", out, sizeof(int) * (most * 3));
  for (int i = 0; i < theirs; ++i) counts[i] = 1 + i % 3;
  memset(out, 0, sizeof out);
  MPI_Allgatherv(in, 1 + mine % 3, MPI_INT, out, counts, places, MPI_INT, inter);
  say("allgatherv", out, sizeof(int) * (most * 3));
  memset(out, 0, sizeof out);
  MPI_Gatherv(in, 1 + mine % 3, MPI_INT, out, counts, places, MPI_INT, root, inter);
  say("gatherv", out, sizeof(int) * (most * 3));
  memset(out, 0, sizeof out);
  MPI_Scatterv(in, counts, places, MPI_INT, out, 1 + mine % 3, MPI_INT, root, inter);
  say("scatterv", out, sizeof(int) * (3));
  // Both groups have a vector of one length: a block of theirs for each of ours.
  memset(out, 0, sizeof out);
  MPI_Reduce_scatter_block(in, out, theirs, MPI_INT, MPI_SUM, inter);
  say("reduce_scatter_block", out, sizeof(int) * (theirs));
  MPI_Request requests[2];
  memset(out, 0, sizeof out);
  MPI_Iallreduce(in, out, 2, MPI_INT, MPI_SUM, inter, &requests[0]);
  MPI_Ibarrier(inter, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  say("iallreduce", out, sizeof(int) * (2));
}

static void messages(MPI_Comm inter) {
  int got = -1, tag = 7;
  MPI_Request sent;
  MPI_Status status;
  MPI_Isend(&rank, 1, MPI_INT, mine % theirs, tag, inter, &sent);
  int here = 0;
  MPI_Comm_size(inter, &here);
  for (int other = 0; other < theirs; ++other) {
    if (other % here != mine) continue;
    MPI_Recv(&got, 1, MPI_INT, other, tag, inter, &status);
    note_ints(&got, 1);
    note_ints(&status.MPI_SOURCE, 1);
  }
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void look(MPI_Comm comm) {
  int is_inter, values[4] = {-1, -1, -1, -1};
  MPI_Comm_test_inter(comm, &is_inter);
  MPI_Comm_rank(comm, &values[0]);
  MPI_Comm_size(comm, &values[1]);
  if (is_inter) {
    MPI_Group own, other;
    MPI_Comm_remote_size(comm, &values[2]);
    MPI_Comm_group(comm, &own);
    MPI_Comm_remote_group(comm, &other);
    MPI_Group_compare(own, other, &values[3]);
    values[3] -= MPI_IDENT;
    MPI_Group_free(&own);
    MPI_Group_free(&other);
  }
  note_ints(&is_inter, 1);
  note_ints(values, 4);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (size > 1) {
    // The first group has one process more, or as many.
    const int middle = (size + 1) / 2;
    MPI_Comm half, inter, twin, part, merged, made;
    first_group = rank < middle;
    MPI_Comm_split(MPI_COMM_WORLD, first_group, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first_group ? middle : 0, 3, &inter);
    MPI_Comm_rank(inter, &mine);
    MPI_Comm_remote_size(inter, &theirs);
    look(inter);
    messages(inter);
    tell("messages");
    collectives(inter);
    MPI_Comm_dup(inter, &twin);
    int same;
    MPI_Comm_compare(inter, twin, &same);
    same -= MPI_IDENT;
    note_ints(&same, 1);
    collectives(twin);
    for (int high = 0; high < 3; ++high) {
      MPI_Intercomm_merge(twin, high == 0 ? !first_group : high == 1 ? first_group : 0, &merged);
      look(merged);
      int sum = 0, turn = 0;
      MPI_Comm_rank(merged, &turn);
      turn *= 1 + rank;
      MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, merged);
      note_ints(&sum, 1);
      MPI_Comm_free(&merged);
    }
    MPI_Comm_split(inter, mine % 2, -mine, &part);
    if (part != MPI_COMM_NULL) {
      look(part);
      int sum = 0;
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
      note_ints(&sum, 1);
      MPI_Comm_free(&part);
    }
    MPI_Group group, one;
    const int zero = 0;
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, &zero, &one);
    MPI_Comm_create(inter, one, &made);
    const int is_null = made == MPI_COMM_NULL;
    note_ints(&is_null, 1);
    if (!is_null) {
      look(made);
      MPI_Comm_free(&made);
    }
    MPI_Group_free(&one);
    MPI_Group_free(&group);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  tell("shapes");
  MPI_Finalize();
  return 0;
}
