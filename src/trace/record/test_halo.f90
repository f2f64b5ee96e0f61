! SPDX-License-Identifier: Apache-2.0
! A Fortran program: a ring by non-blocking messages, in place and with wildcards, and a sum.
program halo
  use mpi
  implicit none
  integer :: rank, ranks, code, step, total, request(2)
  integer :: status(MPI_STATUS_SIZE)
  double precision :: mine(1000), theirs(1000)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  mine = rank
  do step = 1, 3
    call MPI_Irecv(theirs, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, step, MPI_COMM_WORLD, &
                   request(1), code)
    call MPI_Isend(mine, 1000, MPI_DOUBLE_PRECISION, modulo(rank + 1, ranks), step, &
                   MPI_COMM_WORLD, request(2), code)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, code)
  end do
  if (rank == 0) call MPI_Send(mine, 10, MPI_DOUBLE_PRECISION, 1, 9, MPI_COMM_WORLD, code)
  if (rank == 1) call MPI_Recv(theirs, 10, MPI_DOUBLE_PRECISION, 0, 9, MPI_COMM_WORLD, status, code)
  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,i0)', 'sum ', total
  call MPI_Finalize(code)
end program
