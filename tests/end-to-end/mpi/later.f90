! SPDX-License-Identifier: Apache-2.0
! Attributes of windows, distributed graphs, ranges of groups, and processes that are started later. With an
! argument, `names`: groups that meet at a port by its name.
module window_keys
  implicit none
  integer :: deleted = 0
contains
  subroutine drop(window, key, value, state, ierror)
    use mpi
    integer :: window, key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    deleted = int(value + state)
    ierror = MPI_SUCCESS
  end subroutine
end module

program later
  use mpi
  use window_keys
  implicit none
  integer :: rank, ranks, ierror, parent
  character(len=40) :: argument
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Comm_get_parent(parent, ierror)
  argument = ''
  if (command_argument_count() > 0) call get_command_argument(1, argument)
  if (parent /= MPI_COMM_NULL) then
    call be_child()
  else if (argument == 'names') then
    call meet()
  else
    call windows()
    call graphs()
    call groups()
    call types()
    call have_children()
  end if
  call MPI_Finalize(ierror)
contains
  subroutine windows()
    integer :: window, key, own(4), shape
    integer(kind=MPI_ADDRESS_KIND) :: bytes, value, state
    logical :: flag, flags(4)
    bytes = 16
    call MPI_Win_create(own, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierror)
    call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flags(1), ierror)
    bytes = value
    call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, flags(2), ierror)
    call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, state, flags(3), ierror)
    shape = int(state)
    call MPI_Win_get_attr(window, MPI_WIN_BASE, state, flags(4), ierror)
    call MPI_Get_address(own, bytes, ierror)
    if (rank == 0) print *, 'window', int(value), shape == MPI_WIN_FLAVOR_CREATE, state == bytes, flags
    state = 7
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, drop, key, state, ierror)
    call MPI_Win_get_attr(window, key, value, flag, ierror)
    value = 35
    call MPI_Win_set_attr(window, key, value, ierror)
    value = 0
    call MPI_Win_get_attr(window, key, value, flags(1), ierror)
    call MPI_Win_delete_attr(window, key, ierror)
    call MPI_Win_free_keyval(key, ierror)
    if (rank == 0) print *, 'own key', flag, int(value), flags(1), deleted, key == MPI_KEYVAL_INVALID
    call MPI_Win_free(window, ierror)
  end subroutine

  subroutine graphs()
    integer :: graph, before(1), after(1), weight(1), in, out, got(2), in_weight(1), out_weight(1)
    logical :: weighted
    before = mod(rank + ranks - 1, ranks)
    after = mod(rank + 1, ranks)
    weight = 5 + rank
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, before, weight, 1, after, weight, MPI_INFO_NULL, &
                                        .false., graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierror)
    in_weight = 0
    call MPI_Dist_graph_neighbors(graph, 1, before, in_weight, 1, after, out_weight, ierror)
    got = -1
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, graph, ierror)
    if (rank == 0) print *, 'graph', in, out, weighted, before, in_weight, after, out_weight, got(1)
    call MPI_Comm_free(graph, ierror)
    before = rank
    in = 1
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, before, [in], after, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
                               graph, ierror)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierror)
    call MPI_Dist_graph_neighbors(graph, 1, before, MPI_UNWEIGHTED, 1, after, MPI_UNWEIGHTED, ierror)
    if (rank == 0) print *, 'without weights', in, out, weighted, before, after
    call MPI_Comm_free(graph, ierror)
  end subroutine

  subroutine groups()
    integer :: all, some, others, count, other_count, ranges(3, 1)
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierror)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(all, 1, ranges, some, ierror)
    call MPI_Group_range_excl(all, 1, ranges, others, ierror)
    call MPI_Group_size(some, count, ierror)
    call MPI_Group_size(others, other_count, ierror)
    if (rank == 0) print *, 'ranges', count, other_count
    call MPI_Group_free(some, ierror)
    call MPI_Group_free(others, ierror)
    call MPI_Group_free(all, ierror)
  end subroutine

  subroutine types()
    integer :: row, integers(3), kinds(1), status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: addresses(1)
    integer(kind=MPI_COUNT_KIND) :: size, lower, extent, elements
    call MPI_Type_vector(4, 2, 3, MPI_REAL, row, ierror)
    call MPI_Type_commit(row, ierror)
    call MPI_Type_size_x(row, size, ierror)
    call MPI_Type_get_extent_x(row, lower, extent, ierror)
    call MPI_Type_get_contents(row, 3, 0, 1, integers, addresses, kinds, ierror)
    elements = 8
    call MPI_Status_set_elements_x(status, row, elements, ierror)
    call MPI_Get_elements_x(status, row, elements, ierror)
    if (rank == 0) print *, 'type', size, lower, extent, integers, kinds(1) == MPI_REAL, elements
    call MPI_Type_free(row, ierror)
  end subroutine

  subroutine have_children()
    integer :: children, sum, codes(2), count
    character(len=200) :: path
    character(len=10) :: arguments(3)
    call get_command_argument(0, path)
    arguments = ['one two', ' three ', '       ']  ! blanks at the ends do not count
    codes = 77
    call MPI_Comm_spawn('  ' // path, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, ierror)
    call MPI_Comm_remote_size(children, count, ierror)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, children, ierror)
    if (rank == 0) print *, 'children', count, codes == MPI_SUCCESS, sum
    call MPI_Comm_disconnect(children, ierror)
    call MPI_Comm_spawn(path, MPI_ARGV_NULL, 1, MPI_INFO_NULL, ranks - 1, MPI_COMM_WORLD, children, &
                        MPI_ERRCODES_IGNORE, ierror)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, children, ierror)
    if (rank == 0) print *, 'a child', sum
    call MPI_Comm_disconnect(children, ierror)
  end subroutine

  ! Each sends what it was given: its arguments' lengths.
  subroutine be_child()
    integer :: sum, own, length, i
    own = 1000 * command_argument_count()
    do i = 1, command_argument_count()
      call get_command_argument(i, argument, length)
      own = own + length
    end do
    call MPI_Allreduce(own, sum, 1, MPI_INTEGER, MPI_SUM, parent, ierror)
    call MPI_Comm_disconnect(parent, ierror)
  end subroutine

  ! Rank 0 accepts, rank 1 connects.
  subroutine meet()
    character(len=MPI_MAX_PORT_NAME) :: port
    integer :: other, value
    value = rank
    if (rank == 0) then
      call MPI_Open_port(MPI_INFO_NULL, port, ierror)
      call MPI_Publish_name('a place', MPI_INFO_NULL, port, ierror)
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
      call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, ierror)
    else
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
      call MPI_Lookup_name('a place', MPI_INFO_NULL, port, ierror)
      call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, other, ierror)
    end if
    call MPI_Bcast(value, 1, MPI_INTEGER, merge(MPI_ROOT, 0, rank == 1), other, ierror)
    call MPI_Comm_disconnect(other, ierror)
    if (rank == 0) then
      call MPI_Unpublish_name('a place', MPI_INFO_NULL, port, ierror)
      call MPI_Close_port(port, ierror)
      print '(a,i0)', 'met ', value
    end if
  end subroutine
end program
