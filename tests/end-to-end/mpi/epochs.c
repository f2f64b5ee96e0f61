// SPDX-License-Identifier: Apache-2.0
/* Rank 0 polls for the end of epochs, and tells rank 1 how often: another life has to poll as
   often. It kills itself once if the file that the argument names is there. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { rounds = 100, death = 60 };

int main(int argc, char** argv) {
  int rank, *part, peer, polls = 0, message = 0, found = 0;
  MPI_Win window;
  MPI_Group world, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof *part, sizeof *part, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &window);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  peer = 1 - rank;
  MPI_Group_incl(world, 1, &peer, &other);
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) {
      int done = 0;
      MPI_Win_post(other, 0, window);
      for (polls = 0; !done; ++polls) {
        MPI_Win_test(window, &done);
        MPI_Iprobe(1, 7, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        if (found) MPI_Recv(&message, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      MPI_Send(&polls, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
      if (round == death && argc > 1 && unlink(argv[1]) == 0) kill(getpid(), SIGKILL);
    } else if (rank == 1) {
      MPI_Win_start(other, 0, window);
      MPI_Put(&round, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      if (round % 3 == 0) MPI_Send(&round, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
      MPI_Win_complete(window);
      MPI_Recv(&polls, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (rank == 0) printf("the last epoch wrote %d\n", *part);
  MPI_Group_free(&world);
  MPI_Group_free(&other);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
