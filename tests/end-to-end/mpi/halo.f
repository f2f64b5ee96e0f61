C     SPDX-License-Identifier: Apache-2.0
C     A ring in the oldest form of Fortran, with mpif.h, and a function that weft does not have.
      program halo
      implicit none
      include 'mpif.h'
      integer rank, ranks, before, error, status(MPI_STATUS_SIZE)
      integer(kind=MPI_ADDRESS_KIND) bytes
      external own
      call MPI_INIT(error)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 0,
     &  before, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &  MPI_COMM_WORLD, status, error)
      if (before .ne. mod(rank + ranks - 1, ranks)) stop 3
      if (status(MPI_SOURCE) .ne. before) stop 4
      call MPI_BARRIER(MPI_COMM_WORLD, error)
      bytes = 0
      call MPI_REGISTER_DATAREP('own', own, own, own, bytes, error)
      call MPI_FINALIZE(error)
      end
      subroutine own()
      end
