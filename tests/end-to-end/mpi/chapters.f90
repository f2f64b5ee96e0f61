! SPDX-License-Identifier: Apache-2.0
! One result of each chapter that Fortran has, as numbers that depend on every process.
program chapters
  use mpi
  implicit none
  integer :: rank, processes, error, grid, group, odd, window, request, i, length
  integer :: sizes(2), place(2), neighbours(2), position
  integer, volatile :: sum  ! written while a request is under way
  integer, allocatable :: counts(:), offsets(:), all(:), own(:)
  integer :: statuses(MPI_STATUS_SIZE, 2), requests(2)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, displacement
  integer, asynchronous :: board(64)
  logical :: periods(2), found
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=64) :: packed

  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, processes, error)

  ! Blocks of different lengths, blocking and as a request.
  allocate(counts(processes), offsets(processes), own(rank + 1))
  counts = [(i, i = 1, processes)]
  offsets = [((i - 1) * i / 2, i = 1, processes)]
  allocate(all(processes * (processes + 1) / 2))
  own = [(100 * rank + i, i = 1, rank + 1)]
  call mpi_allgatherv(own, rank + 1, MPI_INTEGER, all, counts, offsets, MPI_INTEGER, MPI_COMM_WORLD, error)
  call tell('allgatherv', dot_product(all, [(i, i = 1, size(all))]))
  all = 0
  call mpi_igatherv(own, rank + 1, MPI_INTEGER, all, counts, offsets, MPI_INTEGER, 0, MPI_COMM_WORLD, request, error)
  call mpi_wait(request, MPI_STATUS_IGNORE, error)
  call tell('igatherv', dot_product(all, [(i, i = 1, size(all))]))
  call mpi_scan(rank + 1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call tell('scan', sum)

  ! A ring as a grid, and persistent messages in it.
  sizes = [processes, 1]
  periods = [.true., .false.]
  call mpi_cart_create(MPI_COMM_WORLD, 2, sizes, periods, .false., grid, error)
  call mpi_cart_coords(grid, rank, 2, place, error)
  call mpi_cart_shift(grid, 0, 1, neighbours(1), neighbours(2), error)
  call tell('grid', place(1) + 10 * neighbours(1) + 100 * neighbours(2))
  call mpi_send_init(rank, 1, MPI_INTEGER, neighbours(2), 5, grid, requests(1), error)
  call mpi_recv_init(sum, 1, MPI_INTEGER, neighbours(1), 5, grid, requests(2), error)
  do i = 1, 3
    sum = -1
    call mpi_startall(2, requests, error)
    call mpi_waitall(2, requests, statuses, error)
    call tell('persistent', sum + 1000 * statuses(MPI_SOURCE, 2))
  end do
  call mpi_request_free(requests(1), error)
  call mpi_request_free(requests(2), error)
  call mpi_comm_set_name(grid, 'a ring  ', error)
  call mpi_comm_get_name(grid, name, length, error)
  call tell('name of '//trim(name), length)

  ! Groups.
  call mpi_comm_group(grid, group, error)
  call mpi_group_incl(group, (processes + 1) / 2, [(2 * i, i = 0, (processes - 1) / 2)], odd, error)
  call mpi_group_rank(odd, sum, error)
  call tell('group', merge(-7, sum, sum == MPI_UNDEFINED))
  call mpi_group_free(odd, error)

  ! A window.
  board = 0
  bytes = 256
  call mpi_win_create(board, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call mpi_win_fence(0, window, error)
  displacement = rank
  call mpi_put(rank + 11, 1, MPI_INTEGER, mod(rank + 1, processes), displacement, 1, MPI_INTEGER, window, error)
  displacement = 40
  call mpi_accumulate(rank + 1, 1, MPI_INTEGER, 0, displacement, 1, MPI_INTEGER, MPI_SUM, window, error)
  call mpi_win_fence(0, window, error)
  call tell('window', dot_product(board, [(i, i = 1, 64)]))
  call mpi_win_free(window, error)

  call mpi_comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, displacement, found, error)
  call tell('attribute', merge(1, 0, found .and. displacement >= 32767))

  position = 0
  call mpi_pack(own, 1, MPI_INTEGER, packed, 64, position, MPI_COMM_WORLD, error)
  call tell('pack', position)
  call mpi_finalize(error)

contains
  ! The first process prints what all have.
  subroutine tell(what, value)
    character(len=*), intent(in) :: what
    integer, intent(in) :: value
    integer :: values(processes), problem
    call mpi_gather(value, 1, MPI_INTEGER, values, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, problem)
    if (rank == 0) print '(a, 99i8)', what, values
  end subroutine
end program
