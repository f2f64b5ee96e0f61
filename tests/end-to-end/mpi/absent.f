C     SPDX-License-Identifier: Apache-2.0
C     A function that weft does not have for Fortran.
      program absent
      implicit none
      include 'mpif.h'
      integer error
      call MPI_INIT(error)
      call MPI_COMM_FLUSH_BUFFER(MPI_COMM_WORLD, error)
      call MPI_FINALIZE(error)
      end
