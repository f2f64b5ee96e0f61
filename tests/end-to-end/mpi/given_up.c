// SPDX-License-Identifier: Apache-2.0
// Receives that a process gave up are matched while it is in MPI_Finalize: their senders, which
// wait for that, go on. Two processes.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { tags = 4, most = 1 << 20 };
static const int lengths[tags] = {4, 1000, 100000, most};
static char in[tags][most], out[most];

int main(int argc, char** argv) {
  int rank, failures = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < most; ++i) out[i] = (char)(i % 101 + 1);
  for (int tag = 0; tag < tags && rank == 0; ++tag) {
    MPI_Request request;
    MPI_Irecv(in[tag], most, MPI_CHAR, tag % 2 ? 1 : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  if (rank == 1) {
    usleep(200000); /* the other one is in MPI_Finalize by then */
    for (int tag = 0; tag < tags; ++tag)
      MPI_Ssend(out, lengths[tag], MPI_CHAR, 0, tag, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  for (int tag = 0; tag < tags && rank == 0; ++tag)
    for (int i = 0; i < lengths[tag]; ++i) failures += in[tag][i] != out[i];
  if (rank == 0) printf("%d failures\n", failures);
  return 0;
}
