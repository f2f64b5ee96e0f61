// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients on a grid whose rows are divided among the ranks: borders by requests that
// are taken as they come, sums by allreduce. Rank 0 prints the residual now and then.
//   gradient [ITERATIONS [ROWS_PER_RANK]]
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { columns = 64 };

static int rank, size, rows;

static double dot(const double* a, const double* b) {
  double own = 0, all = 0;
  for (int i = columns; i < (rows + 1) * columns; ++i) own += a[i] * b[i];
  MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

// out = A in. The rows 0 and rows + 1 are the neighbours'.
static void apply(double* in, double* out) {
  MPI_Request requests[4];
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Irecv(in, columns, MPI_DOUBLE, up, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in + (rows + 1) * columns, columns, MPI_DOUBLE, down, MPI_ANY_TAG, MPI_COMM_WORLD,
            &requests[1]);
  MPI_Isend(in + columns, columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(in + rows * columns, columns, MPI_DOUBLE, down, 2, MPI_COMM_WORLD, &requests[3]);
  for (int done = 0; done < 4; ++done) {
    int which;
    MPI_Waitany(4, requests, &which, MPI_STATUS_IGNORE);
  }
  for (int r = 1; r <= rows; ++r) {
    for (int c = 0; c < columns; ++c) {
      const double* at = in + r * columns + c;
      out[r * columns + c] = 4.01 * at[0] - at[-columns] - at[columns] - (c > 0 ? at[-1] : 0) -
                             (c + 1 < columns ? at[1] : 0);
    }
  }
}

// A number goes around by a buffered send. A larger one has no room in the buffer, ever.
static void send_around(MPI_Comm comm, int number) {
  enum { bytes = 64 + MPI_BSEND_OVERHEAD };
  char large[2 * bytes] = {0}, room[bytes];
  void* address;
  int other = -1, flag = 0, length;
  MPI_Request request;
  MPI_Buffer_attach(room, bytes);
  MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request);
  MPI_Bsend(&number, 1, MPI_INT, (rank + 1) % size, 3, comm);
  if (MPI_Bsend(large, sizeof large, MPI_CHAR, rank, 4, comm) == MPI_SUCCESS) MPI_Abort(comm, 1);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  if (other != number) MPI_Abort(comm, 2);
  MPI_Buffer_detach(&address, &length);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int iterations = argc > 1 ? atoi(argv[1]) : 200;
  rows = argc > 2 ? atoi(argv[2]) : 64;
  const int all = (rows + 2) * columns;
  double *x = calloc(all, sizeof *x), *r = calloc(all, sizeof *r), *p = calloc(all, sizeof *p),
         *q = calloc(all, sizeof *q);
  for (int i = columns; i < (rows + 1) * columns; ++i) {
    p[i] = r[i] = sin(1.0 + rank * rows * columns + i);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  double rho = dot(r, r);
  for (int n = 1; n <= iterations; ++n) {
    apply(p, q);
    const double alpha = rho / dot(p, q);
    for (int i = columns; i < (rows + 1) * columns; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    const double before = rho;
    rho = dot(r, r);
    for (int i = columns; i < (rows + 1) * columns; ++i) p[i] = r[i] + rho / before * p[i];
    if (n % 10 == 0) send_around(comm, n);
    if (rank == 0 && n % 50 == 0) printf("iteration %d: residual %.10e\n", n, sqrt(rho));
    if (rank == 0 && n % 50 == 0) fflush(stdout);
  }
  const double norm = sqrt(dot(x, x));
  if (rank == 0) printf("%d processes: norm %.12e\n", size, norm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
