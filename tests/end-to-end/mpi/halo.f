C     SPDX-License-Identifier: Apache-2.0
C     A ring in the oldest form of Fortran, with mpif.h, and a file of
C     a representation that converts nothing.
      program halo
      implicit none
      include 'mpif.h'
      integer rank, ranks, before, error, status(MPI_STATUS_SIZE), file
      integer(kind=MPI_ADDRESS_KIND) state
      integer(kind=MPI_OFFSET_KIND) start
      character*64 name
      external extent
      call MPI_INIT(error)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
      call MPI_SENDRECV(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 0,
     &  before, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &  MPI_COMM_WORLD, status, error)
      if (before .ne. mod(rank + ranks - 1, ranks)) stop 3
      if (status(MPI_SOURCE) .ne. before) stop 4
      call MPI_BARRIER(MPI_COMM_WORLD, error)
      state = 4
      start = 0
      call MPI_REGISTER_DATAREP('as it is', MPI_CONVERSION_FN_NULL,
     &  MPI_CONVERSION_FN_NULL, extent, state, error)
      if (error .ne. MPI_SUCCESS) stop 5
      write (name, '(a,i0)') '/tmp/weft_halo_', getpid()
      call MPI_FILE_OPEN(MPI_COMM_SELF, name, MPI_MODE_RDWR +
     &  MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
     &  file, error)
      call MPI_FILE_SET_VIEW(file, start, MPI_INTEGER, MPI_INTEGER,
     &  'as it is', MPI_INFO_NULL, error)
      call MPI_FILE_WRITE_AT(file, start, rank, 1, MPI_INTEGER,
     &  status, error)
      call MPI_FILE_READ_AT(file, start, before, 1, MPI_INTEGER,
     &  status, error)
      if (error .ne. MPI_SUCCESS .or. before .ne. rank) stop 6
      call MPI_FILE_CLOSE(file, error)
      call MPI_FINALIZE(error)
      end
      subroutine extent(datatype, bytes, state, error)
      include 'mpif.h'
      integer datatype, error
      integer(kind=MPI_ADDRESS_KIND) bytes, state
      bytes = state
      error = MPI_SUCCESS
      end
