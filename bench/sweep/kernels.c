// SPDX-License-Identifier: Apache-2.0
// Question: does weft sweep tell programs apart that wait for latency, need bandwidth, or compute?
// Three kernels of two MPI ranks (docs/reproducing-the-papers.md, paper 3):
//   updates WINDOW UPDATES    random updates of 8 bytes of the other rank's table, as RandomAccess:
//                             WINDOW of them outstanding before all are waited for
//   exchange BYTES TIMES      both ranks send each other BYTES, needs bandwidth
//   compute MILLIONS TIMES    MILLIONS of operations between two sums of 8 bytes, needs neither
// Prints how long it took. Limit: without a launcher's pinning, ranks may share a core.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { table_words = 1 << 16 };

static void updates(int peer, long window, long count) {
  static uint64_t table[table_words];
  uint64_t* const out = calloc((size_t)window, sizeof *out);
  uint64_t* const in = calloc((size_t)window, sizeof *in);
  MPI_Request* const requests = malloc(2 * (size_t)window * sizeof *requests);
  uint64_t random = 88172645463325252ULL;
  for (long done = 0; done < count; done += window) {
    for (long i = 0; i < window; ++i) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      out[i] = random;
      MPI_Irecv(&in[i], 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Isend(&out[i], 8, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall((int)(2 * window), requests, MPI_STATUSES_IGNORE);
    for (long i = 0; i < window; ++i) table[in[i] % table_words] ^= in[i];
  }
  uint64_t sum = 0;
  for (long i = 0; i < table_words; ++i) sum ^= table[i];
  free(out), free(in), free(requests);
  if (sum == 1) printf("unlikely\n");
}

static void exchange(int peer, long bytes, long times) {
  char* const out = malloc((size_t)bytes);
  char* const in = malloc((size_t)bytes);
  memset(out, 1, (size_t)bytes), memset(in, 2, (size_t)bytes);
  for (long i = 0; i < times; ++i) {
    MPI_Sendrecv(out, (int)bytes, MPI_BYTE, peer, 0, in, (int)bytes, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(out), free(in);
}

static void compute(long millions, long times) {
  double x = 1, sum = 0;
  for (long i = 0; i < times; ++i) {
    for (long k = 0; k < millions * 500000; ++k) x = x * 0.999999 + 1e-6;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (sum < 0) printf("unlikely\n");
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long a = argc == 4 ? atol(argv[2]) : 0;
  const long b = argc == 4 ? atol(argv[3]) : 0;
  if (ranks != 2 || a < 1 || b < 1) {
    fprintf(stderr, "kernels: usage: mpirun -n 2 kernels updates|exchange|compute A B\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  if (strcmp(argv[1], "updates") == 0) updates(1 - rank, a, b);
  if (strcmp(argv[1], "exchange") == 0) exchange(1 - rank, a, b);
  if (strcmp(argv[1], "compute") == 0) compute(a, b);
  const double taken = MPI_Wtime() - begun;
  if (rank == 0) printf("%s took %.6f s, %.6f M/s\n", argv[1], taken, (double)b / taken / 1e6);
  MPI_Finalize();
  return 0;
}
