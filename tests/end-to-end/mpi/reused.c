// SPDX-License-Identifier: Apache-2.0
// Persistent collectives that each process frees in an order of its own: those made later compute
// what they should, and need no more memory. Argument: how many are made.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "resident.h"

enum { live = 8, parts = 8 };
static int rank, size, failures;
static unsigned long state;

static int draw(int below) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)below);
}

struct Sum {
  MPI_Request request;
  int made; /* its number, the same in all processes; 0: none */
  int in, out;
};

static void make(struct Sum* sum, int made) {
  sum->made = made;
  MPI_Allreduce_init(&sum->in, &sum->out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &sum->request);
}

/* Starts all, each process in another order. */
static void run(struct Sum* sums) {
  const int first = draw(live), step = 1 + 2 * draw(live / 2);
  for (int i = 0; i < live; ++i) {
    struct Sum* const sum = &sums[(first + i * step) % live];
    sum->in = sum->made * 100 + rank;
    MPI_Start(&sum->request);
  }
  for (int i = 0; i < live; ++i) MPI_Wait(&sums[i].request, MPI_STATUS_IGNORE);
  for (int i = 0; i < live; ++i)
    failures += sums[i].out != size * sums[i].made * 100 + size * (size - 1) / 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = (unsigned long)rank * 77 + 5;
  const int all = argc > 1 ? atoi(argv[1]) : 8000;
  struct Sum sums[live] = {{MPI_REQUEST_NULL}}, kept[live] = {{MPI_REQUEST_NULL}};
  long resident[parts] = {0};
  int made = 0;
  for (int i = 0; i < live; ++i) make(&kept[i], ++made);
  for (int i = 0; i < live; ++i) make(&sums[i], ++made);
  while (made < all) {
    const int part = parts * (long)made / all;
    if (resident[part] == 0) resident[part] = resident_kib();
    if (made % 16 == 0) run(sums), run(kept);
    /* Some free theirs before they make the next ones, others afterwards. */
    struct Sum old[live];
    const int is_late = draw(2);
    for (int i = 0; i < live; ++i) old[i] = sums[i];
    for (int i = 0; i < live && !is_late; ++i) MPI_Request_free(&old[i].request);
    for (int i = 0; i < live; ++i) make(&sums[i], ++made);
    const int first = draw(live);
    for (int i = 0; i < live && is_late; ++i) MPI_Request_free(&old[(first + i) % live].request);
  }
  run(sums);
  run(kept);
  /* Beside other programs messages wait longer for each other, which may take memory at any time,
     but not each time. What is left of each collective does: of 64 bytes 256 KiB in each part. */
  long least = resident_kib() - resident[parts - 1];
  for (int part = 2; part < parts; ++part) {
    const long more = resident[part] - resident[part - 1];
    if (more < least) least = more;
  }
  if (least > 128) {
    printf("%d: %ld KiB more in each part\n", rank, least);
    ++failures;
  }
  int sum = 0;
  MPI_Reduce(&failures, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, sum);
  MPI_Finalize();
  return 0;
}
