! SPDX-License-Identifier: Apache-2.0
! Messages, collectives and texts by the module of Fortran 2008.
module own_operation
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine longest(in, inout, length, type)
    type(c_ptr), value :: in, inout
    integer :: length, i
    type(MPI_Datatype) :: type
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [length])
    call c_f_pointer(inout, b, [length])
    do i = 1, length
      if (abs(a(i)) > abs(b(i))) b(i) = a(i)
    end do
  end subroutine
  subroutine handle(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    print '(a,1x,l1)', 'an error of ranks', class == MPI_ERR_RANK
  end subroutine
end module

program f08
  use mpi_f08
  use own_operation
  implicit none
  integer :: rank, size, ierror, i, count, length, sums(3), values(4)
  real(8) :: column(5), matrix(3, 5)
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: half
  type(MPI_Datatype) :: row
  type(MPI_Op) :: op
  type(MPI_Info) :: info
  type(MPI_Errhandler) :: handler
  character(len=20) :: value
  character(len=MPI_MAX_PROCESSOR_NAME) :: text
  logical :: flag
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)

  values = [rank, rank + 1, rank + 2, rank + 3]
  call MPI_Isend(values, 4, MPI_INTEGER, mod(rank + 1, size), 5, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(sums, 3, MPI_INTEGER, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, requests(2))
  call MPI_Send(values, 3, MPI_INTEGER, mod(rank + 1, size), 6, MPI_COMM_WORLD)
  call MPI_Recv(values, 4, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (rank == 0) print *, 'received', values, sums, count, status%MPI_SOURCE, status%MPI_TAG

  sums = [rank, 1, -rank]
  call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Op_create(longest, .true., op)
  values = [rank, -rank, 3, -5]
  call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Op_free(op)
  if (rank == 0) print *, 'folded', sums, abs(values)

  ! A row of a matrix is strided.
  matrix = reshape([(i * 1d0 + rank, i = 1, 15)], [3, 5])
  call MPI_Type_vector(5, 1, 3, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)
  call MPI_Sendrecv(matrix(2, 1), 1, row, rank, 1, column, 5, MPI_DOUBLE_PRECISION, rank, 1, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE)
  call MPI_Type_free(row)
  if (rank == 0) print *, 'a row', column, row == MPI_DATATYPE_NULL

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  call MPI_Comm_size(half, i)
  call MPI_Bcast(matrix, 15, MPI_DOUBLE_PRECISION, 0, half)
  call MPI_Comm_free(half)
  if (rank == 0) print *, 'half', i, sum(matrix), half == MPI_COMM_NULL

  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'some value')
  call MPI_Info_get(info, 'key', 20, value, flag)
  if (rank == 0) print *, 'info ', trim(value), flag
  call MPI_Info_free(info)
  call MPI_Get_processor_name(text, length)
  if (rank == 0) print *, 'a name ', length == len_trim(text)

  call MPI_Comm_create_errhandler(handle, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler)
  if (rank == 0) call MPI_Send(values, 1, MPI_INTEGER, 77, 0, MPI_COMM_SELF, ierror)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Finalize()
end program
