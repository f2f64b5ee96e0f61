! SPDX-License-Identifier: Apache-2.0
! Functions that few programs in Fortran call, as numbers that depend on every process.
program corners
  use iso_c_binding
  use mpi
  implicit none
  interface
    function map(address, bytes, protection, flags, file, offset) bind(c, name='mmap')
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int), value :: protection, flags, file
      integer(c_long), value :: offset
      type(c_ptr) :: map
    end function
  end interface
  integer :: rank, processes, error, i, length, message, type, grid, info, request, kinds(4), window
  integer :: values(8), results(8)
  integer, pointer :: unread(:)
  integer, allocatable :: counts(:), offsets(:), types(:), sent(:), got(:)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, position, address
  logical :: found
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: value
  character(len=64) :: packed

  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, processes, error)

  allocate(counts(processes), offsets(processes), types(processes), sent(processes), got(processes))
  counts = 1
  offsets = [(4 * i, i = 0, processes - 1)]
  types = MPI_INTEGER
  sent = [(100 * rank + i, i = 1, processes)]
  got = 0
  call mpi_alltoallw(sent, counts, offsets, types, got, counts, offsets, types, MPI_COMM_WORLD, error)
  call tell('alltoallw', dot_product(got, [(i, i = 1, processes)]))
  got = 0
  call mpi_ialltoallw(sent, counts, offsets, types, got, counts, offsets, types, MPI_COMM_WORLD, request, error)
  call mpi_wait(request, MPI_STATUS_IGNORE, error)
  call tell('ialltoallw', got(1))

  ! In place no datatypes of what is sent are read: this array is in memory that nobody may read.
  call c_f_pointer(map(c_null_ptr, 4096_c_size_t, 0, 34, -1, 0_c_long), unread, [processes])
  got = sent
  call mpi_alltoallw(MPI_IN_PLACE, [0], [0], unread, got, counts, offsets, types, MPI_COMM_WORLD, error)
  call tell('alltoallw in place', dot_product(got, [(i, i = 1, processes)]))
  got = sent
  call mpi_ialltoallw(MPI_IN_PLACE, [0], [0], unread, got, counts, offsets, types, MPI_COMM_WORLD, request, error)
  call mpi_wait(request, MPI_STATUS_IGNORE, error)
  call tell('ialltoallw in place', dot_product(got, [(i, i = 1, processes)]))

  call mpi_cart_create(MPI_COMM_WORLD, 1, [processes], [.true.], .false., grid, error)
  values = rank
  results = 0
  call mpi_neighbor_alltoall(values, 1, MPI_INTEGER, results, 1, MPI_INTEGER, grid, error)
  call tell('neighbours', results(1) * 100 + results(2))
  call mpi_comm_free(grid, error)

  call mpi_isend(rank, 1, MPI_INTEGER, mod(rank + 1, processes), 5, MPI_COMM_WORLD, request, error)
  call mpi_mprobe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, error)
  call mpi_mrecv(results, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, error)
  call mpi_wait(request, MPI_STATUS_IGNORE, error)
  call tell('matched', results(1) + merge(1000, 0, message == MPI_MESSAGE_NULL))

  call mpi_info_create(info, error)
  call mpi_info_set(info, ' key ', ' some text ', error)
  call mpi_info_get(info, 'key', 20, value, found, error)
  call tell('info', len_trim(value) + merge(100, 0, found .and. value == 'some text'))
  call mpi_info_get_nkeys(info, length, error)
  call tell('keys', length)
  call mpi_info_free(info, error)

  call mpi_type_create_f90_real(15, 300, type, error)
  call mpi_type_get_envelope(type, kinds(1), kinds(2), kinds(3), kinds(4), error)
  call tell('envelope', kinds(1) * 100 + kinds(2) * 10 + kinds(3))
  call mpi_type_contiguous(3, MPI_INTEGER, type, error)
  call mpi_type_set_name(type, 'three', error)
  call mpi_type_get_name(type, name, length, error)
  call tell('name', merge(length, -1, name == 'three'))
  call mpi_type_free(type, error)

  values = [(i, i = 1, 8)]
  results = 0
  position = 0
  bytes = 64
  call mpi_pack_external('external32', values, 8, MPI_INTEGER, packed, bytes, position, error)
  call tell('packed', int(position))
  call tell('first', ichar(packed(4:4)))
  position = 0
  call mpi_unpack_external('external32', packed, bytes, position, results, 8, MPI_INTEGER, error)
  call tell('unpacked', sum(results))

  bytes = 400
  call mpi_alloc_mem(bytes, MPI_INFO_NULL, address, error)
  call tell('memory', merge(1, 0, mpi_aint_diff(mpi_aint_add(address, bytes), address) == bytes))
  call mpi_win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call mpi_win_set_name(window, 'board', error)
  call mpi_win_get_name(window, name, length, error)
  call tell('window', merge(length, -1, name == 'board'))
  call mpi_win_free(window, error)
  call blanks_around_texts()
  call mpi_finalize(error)

contains
  ! Blanks before a text do not count either.
  subroutine blanks_around_texts()
    integer :: problem, comm, file, length, class, code
    character(len=MPI_MAX_ERROR_STRING) :: text
    logical :: is_there
    call mpi_comm_dup(MPI_COMM_SELF, comm, problem)
    call mpi_comm_set_name(comm, '  two words  ', problem)
    call mpi_comm_get_name(comm, text, length, problem)
    call tell('name of a communicator', merge(length, -1, text == 'two words'))
    call mpi_comm_set_name(comm, '   ', problem)
    call mpi_comm_get_name(comm, text, length, problem)
    call tell('blank name', length)
    call mpi_add_error_class(class, problem)
    call mpi_add_error_code(class, code, problem)
    call mpi_add_error_string(code, '  a reason ', problem)
    call mpi_error_string(code, text, length, problem)
    call tell('reason', merge(length, -1, text == 'a reason'))
    ! The same file by its name and with blanks before it.
    write (text, '(a, i0)') '/tmp/weft-corners-', getpid()
    call mpi_file_open(comm, '  ' // text, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, problem)
    call tell('opened', merge(1, 0, problem == MPI_SUCCESS))
    call mpi_file_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, ' external32', MPI_INFO_NULL, problem)
    call tell('seen', merge(1, 0, problem == MPI_SUCCESS))
    call mpi_file_close(file, problem)
    inquire (file=trim(text), exist=is_there)
    call tell('there', merge(1, 0, is_there))
    call mpi_file_delete(' ' // text, MPI_INFO_NULL, problem)
    inquire (file=trim(text), exist=is_there)
    call tell('gone', merge(0, 1, is_there))
    call mpi_comm_free(comm, problem)
  end subroutine

  ! The first process prints what all have.
  subroutine tell(what, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: number
    integer :: all(processes), problem
    call mpi_gather(number, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, problem)
    if (rank == 0) print '(a, 99i8)', what, all
  end subroutine
end program
