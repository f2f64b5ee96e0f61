// SPDX-License-Identifier: Apache-2.0
/* A partitioned receive has room for more than is sent, which MPICH does not allow with one
   process. Prints how many checks failed. */
#include <mpi.h>
#include <stdio.h>

static int receive(int parts, int numbers) {
  int in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[16] = {0}, count = -1, failures = 0;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Precv_init(out, parts, numbers, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
  MPI_Psend_init(in, 4, 2, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    failures += count != 8;
    for (int i = 0; i < 16; ++i) failures += out[i] != (i < 8 ? in[i] : 0);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  return failures;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  printf("%d failures\n", receive(1, 16) + receive(2, 8) + receive(4, 3) + receive(16, 1));
  MPI_Finalize();
  return 0;
}
