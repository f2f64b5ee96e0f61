// SPDX-License-Identifier: Apache-2.0
// Partitioned communication, with parts that both sides divide in different ways; and counts of 64
// bits. Its lines are compared with those of another MPI.
#include "digest.h"

#ifdef MPI_ABI_VERSION /* which has functions with counts of 64 bits of its own */
#define MPI_Psend_init MPI_Psend_init_c
#define MPI_Precv_init MPI_Precv_init_c
#endif

static void partitioned(int there, int here, int count, MPI_Datatype type, const char* name) {
  enum { most = 4096 };
  static int in[most], out[most];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Psend_init(out, there, count / there, type, to, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[0]);
  MPI_Precv_init(in, here, count / here, type, from, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &requests[1]);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < most; ++i) out[i] = rank * 5000 + round * 70000 + i, in[i] = -1;
    MPI_Startall(2, requests);
    MPI_Pready(there - 1, requests[0]);
    if (there > 2) MPI_Pready_range(1, there - 2, requests[0]);
    if (there > 1) MPI_Pready(0, requests[0]);
    for (int part = 0; part < here; ++part) {
      int arrived = 0;
      while (!arrived) MPI_Parrived(requests[1], part, &arrived);
    }
    MPI_Waitall(2, requests, statuses);
    say(name, in, sizeof in);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void forgive(MPI_Comm* comm, int* code, ...) {
  *code = MPI_SUCCESS;
}

static void forgiven_error(void) {
  int number = 1;
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(forgive, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  say_int("forgiven", MPI_Send_c(&number, 1, MPI_INT, 1 << 24, 0, comm));
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

static void large_counts(void) {
  int in[600], out[600];
  MPI_Request request;
  MPI_Status status;
  MPI_Count count = 0;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  for (int i = 0; i < 600; ++i) out[i] = rank * 1000 + i, in[i] = -1;
  MPI_Irecv_c(in, 600, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
  MPI_Send_c(out, 500, MPI_INT, to, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, &status);
  MPI_Get_count_c(&status, MPI_INT, &count);
  say_int("count", (int)count);
  say("received", in, sizeof in);
  MPI_Sendrecv_c(out, 20, MPI_INT, to, 2, in, 30, MPI_INT, from, 2, MPI_COMM_WORLD, &status);
  say("sendrecv", in, sizeof in);
  MPI_Sendrecv_replace_c(out, 30, MPI_INT, to, 3, from, 3, MPI_COMM_WORLD, &status);
  say("replaced", out, sizeof out);
  MPI_Win win;
  int* memory;
  MPI_Win_allocate_c(600 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 600; ++i) memory[i] = 0;
  MPI_Win_fence(0, win);
  MPI_Put_c(out, 300, MPI_INT, to, 10, 300, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate_c(out, 100, MPI_INT, to, 0, 100, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  say("window", memory, 600 * sizeof(int));
  MPI_Get_c(in, 600, MPI_INT, from, 0, 600, MPI_INT, win);
  MPI_Win_fence(0, win);
  say("got", in, sizeof in);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Datatype gaps;
  begin(&argc, &argv);
  large_counts();
  forgiven_error();
  partitioned(1, 1, 12, MPI_INT, "one part");
  partitioned(4, 4, 2400, MPI_INT, "as many parts");
  partitioned(6, 4, 2400, MPI_INT, "more parts there");
  partitioned(2, 8, 2400, MPI_INT, "fewer parts there");
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  partitioned(4, 4, 200, gaps, "with gaps");
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return 0;
}
