! SPDX-License-Identifier: Apache-2.0
! A conjugate gradient solver of Poisson's equation in the plane, rows divided among processes, in the
! manner of the NAS benchmarks: halos by isend, irecv and waitall, dot products by allreduce in
! place. It also calls the other kinds of functions once each. Rank 0 prints sums that depend on the
! number of processes, and in their last digits on the order of summation, which are not printed.
program solver
  use mpi
  implicit none
  integer, parameter :: n = 48
  integer :: ierr, rank, ranks, rows, iteration, made, length, i, op, column, halves, half
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), requests(4), index, count
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent
  real(8), allocatable :: x(:, :), r(:, :), p(:, :), q(:, :), all(:)
  real(8) :: rho, old, alpha, pair(2), box(4, 4)
  integer :: mine, others(64), worst(2), best(2)
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  logical :: flag
  complex(8) :: z
  external :: larger

  call MPI_Init_thread(MPI_THREAD_FUNNELED, made, ierr)
  call check(made >= MPI_THREAD_FUNNELED, 'init_thread')
  call MPI_Initialized(flag, ierr)
  call check(flag, 'initialized')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  rows = n / ranks
  if (rank < mod(n, ranks)) rows = rows + 1

  allocate (x(n, 0:rows + 1), r(n, 0:rows + 1), p(n, 0:rows + 1), q(n, 0:rows + 1))
  x = 0
  r = 0
  do i = 1, n
    r(i, 1:rows) = sin(0.1d0*i) + rank + 1
  end do
  p = r
  q = 0
  rho = dot(r, r)
  do iteration = 1, 60
    call halo(p)
    do i = 1, rows
      q(2:n - 1, i) = 4*p(2:n - 1, i) - p(1:n - 2, i) - p(3:n, i)
      q(1, i) = 4*p(1, i) - p(2, i)
      q(n, i) = 4*p(n, i) - p(n - 1, i)
      q(:, i) = q(:, i) - p(:, i - 1) - p(:, i + 1)
    end do
    alpha = rho/dot(p, q)
    x = x + alpha*p
    r = r - alpha*q
    old = rho
    rho = dot(r, r)
    p = r + rho/old*p
  end do

  ! The other kinds: logical reductions, places, complex numbers, operations of the program.
  call MPI_Allreduce(rank < ranks, flag, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call check(flag, 'a logical reduction')
  best = (/mod(rank*7, 5), rank/)
  call MPI_Allreduce(best, worst, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
  z = cmplx(rank, -rank, 8)
  call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Op_create(larger, .true., op, ierr)
  mine = mod(rank*3, 7)
  call MPI_Allreduce(mine, count, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call MPI_Op_free(op, ierr)
  call check(op == MPI_OP_NULL, 'op_free')
  ! A derived type: a row of a matrix, whose elements are far apart.
  box = rank
  call MPI_Type_vector(4, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
  call MPI_Type_commit(column, ierr)
  call MPI_Type_get_extent(column, lower, extent, ierr)
  call check(lower == 0 .and. extent == 13*8, 'an extent')
  call MPI_Sendrecv(box(2, 1), 1, column, mod(rank + 1, ranks), 9, box(3, 1), 1, column, &
                    mod(rank + ranks - 1, ranks), 9, MPI_COMM_WORLD, status, ierr)
  call check(all_equal(box(3, :), dble(mod(rank + ranks - 1, ranks))), 'a row')
  call check(status(MPI_SOURCE) == mod(rank + ranks - 1, ranks), 'a source')
  call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
  call check(count == 4, 'a count')
  call MPI_Type_free(column, ierr)
  call check(column == MPI_DATATYPE_NULL, 'type_free')
  ! Indices count from 1.
  requests(1) = MPI_REQUEST_NULL
  call MPI_Irecv(count, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, ierr)
  call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierr)
  call check(index == 2 .and. count == rank .and. requests(2) == MPI_REQUEST_NULL, 'waitany')
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, halves, ierr)
  call MPI_Comm_size(halves, half, ierr)
  call check(half == (ranks + 1 - mod(rank, 2))/2, 'split')
  call MPI_Comm_free(halves, ierr)
  call check(halves == MPI_COMM_NULL, 'comm_free')
  call MPI_Allgather(rank, 1, MPI_INTEGER, others, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
  do i = 1, ranks
    call check(others(i) == i - 1, 'allgather')
  end do
  ! Strings have no end but blanks.
  name = repeat('#', MPI_MAX_PROCESSOR_NAME)
  call MPI_Get_processor_name(name, length, ierr)
  call check(len_trim(name) == length .and. index_of('#') == 0, 'a name')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(rank, -1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, count, ierr)
  call check(count == MPI_ERR_COUNT, 'an error')
  call MPI_Error_string(MPI_ERR_COUNT, text, length, ierr)
  call check(length > 5 .and. len_trim(text) == length, 'a text')

  pair = (/sum(x(:, 1:rows)), sum(abs(r(:, 1:rows)))/)
  allocate (all(2*ranks))
  call MPI_Gather(pair, 2, MPI_DOUBLE_PRECISION, all, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    print '(I3, 2ES18.9, 2I4, 2F8.1)', ranks, sum(all(1::2)), rho, worst, real(z), aimag(z)
  end if
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  old = MPI_Wtime()
  call check(MPI_Wtime() >= old .and. MPI_Wtick() > 0, 'wtime')
  call MPI_Finalize(ierr)

contains

  integer function index_of(c)
    character, intent(in) :: c
    index_of = scan(name, c)
  end function

  logical function all_equal(values, value)
    real(8), intent(in) :: values(:), value
    all_equal = maxval(abs(values - value)) == 0
  end function

  real(8) function dot(a, b)
    real(8), intent(in) :: a(n, 0:rows + 1), b(n, 0:rows + 1)
    dot = sum(a(:, 1:rows)*b(:, 1:rows))
    call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end function

  ! The rows of both neighbours; there are none beyond the first and the last one.
  subroutine halo(a)
    real(8), intent(inout) :: a(n, 0:rows + 1)
    integer :: up, down
    up = rank - 1
    if (up < 0) up = MPI_PROC_NULL
    down = rank + 1
    if (down == ranks) down = MPI_PROC_NULL
    call MPI_Irecv(a(1, 0), n, MPI_REAL8, up, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Irecv(a(1, rows + 1), n, MPI_REAL8, down, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Isend(a(1, rows), n, MPI_REAL8, down, 1, MPI_COMM_WORLD, requests(3), ierr)
    call MPI_Isend(a(1, 1), n, MPI_REAL8, up, 2, MPI_COMM_WORLD, requests(4), ierr)
    if (mod(iteration, 2) == 0) then
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    else
      call MPI_Waitall(4, requests, statuses, ierr)
      if (up /= MPI_PROC_NULL) call check(statuses(MPI_TAG, 1) == 1, 'a tag')
    end if
  end subroutine

  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    print *, 'rank', rank, ': ', what, ' is wrong'
    call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end subroutine
end program

subroutine larger(in, inout, n, type)
  use mpi
  implicit none
  integer :: n, type, in(n), inout(n)
  if (type /= MPI_INTEGER) call MPI_Abort(MPI_COMM_WORLD, 4, n)
  inout = max(in, inout)
end subroutine
