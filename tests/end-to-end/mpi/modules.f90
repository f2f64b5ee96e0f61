! SPDX-License-Identifier: Apache-2.0
! What MPICH's and Open MPI's modules give names of their own: memory at a C pointer, and sizes of variables.
program modules
  use mpi
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, ranks, ierror, window, unit, sizes(17)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place
  type(c_ptr) :: base
  double precision, pointer :: own(:), first(:)
  double precision :: value
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)

  bytes = 80
  call MPI_Alloc_mem(bytes, MPI_INFO_NULL, base, ierror)
  call c_f_pointer(base, own, [10])
  own = rank
  if (rank == 0) print *, 'allocated', sum(own)
  call MPI_Free_mem(own, ierror)

  call MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierror)
  call c_f_pointer(base, own, [10])
  own = 1
  call MPI_Win_fence(0, window, ierror)
  value = rank + 5
  place = 3
  call MPI_Put(value, 1, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), place, 1, MPI_DOUBLE_PRECISION, window, ierror)
  call MPI_Win_fence(0, window, ierror)
  if (rank == 0) print *, 'window', own(1), own(4), ranks
  call MPI_Win_free(window, ierror)

  call MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, window, ierror)
  call MPI_Win_shared_query(window, 0, place, unit, base, ierror)
  call c_f_pointer(base, first, [10])
  call MPI_Win_fence(0, window, ierror)
  if (rank == ranks - 1) first(2) = 7
  call MPI_Win_fence(0, window, ierror)
  if (rank == 0) print *, 'shared', first(2), place, unit
  call MPI_Win_free(window, ierror)

  call sizes_of()
  if (rank == 0) print *, 'sizes', sizes
  call MPI_Finalize(ierror)
contains
  subroutine sizes_of()
    character :: letter, letters(2)
    logical :: truth, truths(2)
    integer(kind=1) :: i1, i1s(2)
    integer(kind=2) :: i2, i2s(2)
    integer :: i, is(2)
    integer(kind=8) :: i8, i8s(2)
    real :: r, rs(2)
    double precision :: d, ds(2)
    complex :: c
    call MPI_Sizeof(letter, sizes(1), ierror)
    call MPI_Sizeof(letters, sizes(2), ierror)
    call MPI_Sizeof(truth, sizes(3), ierror)
    call MPI_Sizeof(truths, sizes(4), ierror)
    call MPI_Sizeof(i1, sizes(5), ierror)
    call MPI_Sizeof(i1s, sizes(6), ierror)
    call MPI_Sizeof(i2, sizes(7), ierror)
    call MPI_Sizeof(i2s, sizes(8), ierror)
    call MPI_Sizeof(i, sizes(9), ierror)
    call MPI_Sizeof(is, sizes(10), ierror)
    call MPI_Sizeof(i8, sizes(11), ierror)
    call MPI_Sizeof(i8s, sizes(12), ierror)
    call MPI_Sizeof(r, sizes(13), ierror)
    call MPI_Sizeof(rs, sizes(14), ierror)
    call MPI_Sizeof(d, sizes(15), ierror)
    call MPI_Sizeof(ds, sizes(16), ierror)
    call MPI_Sizeof(c, sizes(17), ierror)
  end subroutine
end program
