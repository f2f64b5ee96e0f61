! SPDX-License-Identifier: Apache-2.0
! Functions that MPI 4 added for Fortran, sessions, hints on windows, neighbours that have a datatype each, and
! attributes of C and Fortran; and representations of data in files. Open MPI 4.1 lacks some.
program newer
  use mpi
  implicit none
  integer :: rank, ranks, ierror, failures = 0, all, handled = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call strings()
  call parts()
  call everybody()
  if (ranks > 2) call neighbors()  ! the process before and the one after differ
  call requests()
  call attributes()
  call sessions()
  call wrong_sessions()
  call hints()
  call quads()
  call representations()
  call MPI_Reduce(failures, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0,a)', all, ' failures'
  call MPI_Finalize(ierror)
contains
  subroutine expect(what, is)
    character(len=*) :: what
    logical :: is
    if (is) return
    failures = failures + 1
    print *, rank, what
  end subroutine

  subroutine strings()
    integer :: info, length
    character(len=12) :: value
    logical :: flag
    call MPI_Info_create_env(info, ierror)
    call expect('environment', ierror == MPI_SUCCESS .and. info /= MPI_INFO_NULL)
    call MPI_Info_set(info, 'key', 'seventh', ierror)
    value = 'as before'
    length = 0
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call expect('length alone', flag .and. length == 7 .and. value == 'as before')
    length = 4
    call MPI_Info_get_string(info, ' key ', length, value, flag, ierror)
    call expect('a part', flag .and. length == 7 .and. value == 'seve')
    length = len(value)
    call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
    call expect('all', flag .and. length == 7 .and. value == 'seventh')
    call MPI_Info_get_string(info, 'none', length, value, flag, ierror)
    call expect('no key', .not. flag .and. value == 'seventh')
    call MPI_Info_free(info, ierror)
  end subroutine

  subroutine sessions()
    integer :: session, sets, length, info, group, comm, members, sum
    character(len=16) :: name
    logical :: flag
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, ierror)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets, ierror)
    length = 0
    name = 'as before'
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, ierror)
    call expect('length of a set', sets >= 2 .and. length == 11 .and. name == 'as before')
    length = len(name)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, ierror)
    call expect('name of a set', length == 11 .and. name == 'mpi://WORLD')
    call MPI_Session_get_pset_info(session, name, info, ierror)
    call MPI_Info_get(info, 'mpi_size', len(name), name, flag, ierror)
    read (name, *) members
    call expect('size of a set', flag .and. members == ranks)
    call MPI_Info_free(info, ierror)
    call MPI_Session_get_info(session, info, ierror)
    call MPI_Info_free(info, ierror)
    call MPI_Group_from_session_pset(session, 'mpi://world', group, ierror)
    call MPI_Comm_create_from_group(group, 'all ', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, comm, ierror)
    call expect('sum in a session', sum == ranks * (ranks - 1) / 2)
    call MPI_Comm_free(comm, ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Session_finalize(session, ierror)
    call expect('end of a session', ierror == MPI_SUCCESS)
  end subroutine

  subroutine hints()
    integer :: info, window, own(4)
    integer(kind=MPI_ADDRESS_KIND) :: bytes = 16
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'no_locks', 'true', ierror)
    call MPI_Info_set(info, 'same_size', 'maybe', ierror)
    call MPI_Info_set(info, 'unknown', 'true', ierror)
    call MPI_Win_create(own, bytes, 4, info, MPI_COMM_WORLD, window, ierror)
    call MPI_Info_free(info, ierror)
    call expect('a hint', hint(window, 'no_locks') == 'true')
    call expect('a value that is none', hint(window, 'same_size') == 'false')
    call expect('a key that is none', hint(window, 'unknown') == '')
    call expect('the default order', hint(window, 'accumulate_ordering') == 'rar,raw,war,waw')
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, 'accumulate_ordering', 'rar,waw', ierror)
    call MPI_Info_set(info, 'accumulate_ops', 'same_op', ierror)
    call MPI_Win_set_info(window, info, ierror)
    call expect('another order', hint(window, 'accumulate_ordering') == 'rar,waw')
    call expect('one operation', hint(window, 'accumulate_ops') == 'same_op')
    call expect('a hint that stays', hint(window, 'no_locks') == 'true')
    call MPI_Info_set(info, 'accumulate_ordering', 'rar,rar', ierror)
    call MPI_Win_set_info(window, info, ierror)
    call expect('an order twice', hint(window, 'accumulate_ordering') == 'rar,waw')
    call MPI_Info_free(info, ierror)
    call MPI_Win_free(window, ierror)
  end subroutine

  function hint(window, key) result(value)
    integer :: window, info
    character(len=*) :: key
    character(len=20) :: value
    logical :: flag
    value = ''
    call MPI_Win_get_info(window, info, ierror)
    call MPI_Info_get(info, key, len(value), value, flag, ierror)
    call MPI_Info_free(info, ierror)
  end function

  subroutine parts()
    integer :: in, out, own(6), status(MPI_STATUS_SIZE)
    integer, volatile :: other(6)
    integer(kind=MPI_COUNT_KIND) :: count
    own = [1, 2, 3, 4, 5, 6] + 10 * rank
    other = 0
    count = 2
    call MPI_Precv_init(other, 3, count, MPI_INTEGER, mod(rank + ranks - 1, ranks), 1, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, in, ierror)
    call MPI_Psend_init(own, 3, count, MPI_INTEGER, mod(rank + 1, ranks), 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        out, ierror)
    call MPI_Start(in, ierror)
    call MPI_Start(out, ierror)
    call MPI_Pready_list(2, [2, 0], out, ierror)
    call MPI_Pready(1, out, ierror)
    call MPI_Wait(out, status, ierror)
    call MPI_Wait(in, status, ierror)
    call expect('parts', all_of(other == [1, 2, 3, 4, 5, 6] + 10 * mod(rank + ranks - 1, ranks)))
    call MPI_Request_free(in, ierror)
    call MPI_Request_free(out, ierror)
  end subroutine

  logical function all_of(these)
    logical :: these(:)
    all_of = count(these) == size(these)
  end function

  subroutine everybody()
    integer :: request, own, i, status(MPI_STATUS_SIZE)
    integer :: of_all(ranks), places(ranks), apart(ranks), all_types(ranks)
    integer, volatile :: got(ranks)
    own = rank + 1
    of_all = 1
    places = 0
    apart = [(4 * i, i = 0, ranks - 1)]
    all_types = MPI_INTEGER
    call MPI_Alltoallw_init(own, of_all, places, all_types, got, of_all, apart, all_types, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, request, ierror)
    call MPI_Start(request, ierror)
    call MPI_Wait(request, status, ierror)
    call expect('everybody', all_of(got == [(i, i = 1, ranks)]))
    call MPI_Request_free(request, ierror)
  end subroutine

  subroutine neighbors()
    integer :: ring, before, after, request, own(4), counts(2), types(2), status(MPI_STATUS_SIZE)
    integer, volatile :: got(4)  ! MPI writes it in other calls than those that pass it
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
    call MPI_Cart_shift(ring, 0, 1, before, after, ierror)
    own = [1, 2, 3, 4] + 10 * rank
    counts = [1, 2]
    places = [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND]
    ! What goes to the process before is what comes from the one after.
    call MPI_Type_contiguous(2, MPI_INTEGER, types(1), ierror)
    call MPI_Type_commit(types(1), ierror)
    types(2) = MPI_INTEGER
    got = 0
    call MPI_Neighbor_alltoallw(own, counts, places, types, got, counts, places, types, ring, ierror)
    call expect('neighbours', all_of(got == of(before, after)))
    got = 0
    call MPI_Ineighbor_alltoallw(own, counts, places, types, got, counts, places, types, ring, request, ierror)
    call MPI_Wait(request, status, ierror)
    call expect('neighbours, not blocking', all_of(got == of(before, after)))
    call MPI_Neighbor_alltoallw_init(own, counts, places, types, got, counts, places, types, ring, MPI_INFO_NULL, &
                                     request, ierror)
    got = 0
    call MPI_Start(request, ierror)
    call MPI_Wait(request, status, ierror)
    call expect('neighbours, persistent', all_of(got == of(before, after)))
    call MPI_Request_free(request, ierror)
    call MPI_Type_free(types(1), ierror)
    call MPI_Comm_free(ring, ierror)
  end subroutine

  ! As in MPICH, functions of generalized requests get the program's own variable.
  subroutine requests()
    integer :: request, status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND), volatile :: state
    state = 1
    call MPI_Grequest_start(query, give_back, cancel, state, request, ierror)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call expect('state', state == 6)
  end subroutine

  ! What Fortran sets, C gets as a pointer to it; what C sets, Fortran gets as an address.
  subroutine attributes()
    use, intrinsic :: iso_c_binding
    interface
      integer(c_int) function get_in_c(comm, key, value, flag) bind(C, name='MPI_Comm_get_attr')
        import
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        type(c_ptr) :: value
        integer(c_int) :: flag
      end function
      integer(c_int) function set_in_c(comm, key, value) bind(C, name='MPI_Comm_set_attr')
        import
        integer(c_intptr_t), value :: comm
        integer(c_int), value :: key
        integer(c_int) :: value
      end function
    end interface
    integer(c_intptr_t) :: world
    integer(kind=MPI_ADDRESS_KIND) :: value, place
    integer, target :: number
    integer, pointer :: seen
    integer :: key, flag_in_c, other
    logical :: flag
    type(c_ptr) :: found
    world = MPI_COMM_WORLD  ! predefined handles have one number in both languages
    value = 0
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, value, ierror)
    value = 5555
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierror)
    ierror = get_in_c(world, key, found, flag_in_c)
    call c_f_pointer(found, seen)
    call expect('attribute in C', flag_in_c == 1 .and. seen == 5555)
    call MPI_Comm_dup(MPI_COMM_WORLD, other, ierror)
    call MPI_Attr_put(MPI_COMM_WORLD, key, -2, ierror)
    ierror = get_in_c(world, key, found, flag_in_c)
    call c_f_pointer(found, seen)
    call expect('old attribute in C', flag_in_c == 1 .and. seen == -2)
    call MPI_Comm_get_attr(other, key, value, flag, ierror)
    call expect('copied attribute', flag .and. value == 5555)
    call MPI_Comm_free(other, ierror)
    ierror = set_in_c(world, key, number)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
    call MPI_Get_address(number, place, ierror)
    call expect('attribute of C', flag .and. value == place)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
  end subroutine

  ! Other MPIs take such numbers for long doubles of C.
  subroutine quads()
    real(kind=16) :: mine(2), all_of(2)
    integer :: matched
    mine = [1.0_16 / 3, real(-rank, 16)]
    call MPI_Allreduce(mine, all_of, 2, MPI_REAL16, MPI_SUM, MPI_COMM_WORLD, ierror)
    call expect('sum', abs(all_of(1) - ranks / 3.0_16) < 1e-30_16 .and. &
      all_of(2) == -ranks * (ranks - 1) / 2)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 16, matched, ierror)
    call expect('datatype of 16 bytes', matched == MPI_REAL16)
  end subroutine

  ! Representations of data in files: numbers are larger there by the state.
  subroutine to_memory(memory, datatype, count, file, position, state, error)
    integer :: memory(*), datatype, count, file(*), error
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: state
    memory(position + 1:position + count) = file(1:count) - int(state)
    error = MPI_SUCCESS
  end subroutine
  subroutine to_file(memory, datatype, count, file, position, state, error)
    integer :: memory(*), datatype, count, file(*), error
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: state
    file(1:count) = memory(position + 1:position + count) + int(state)
    error = merge(MPI_SUCCESS, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine tell_extent(datatype, extent, state, error)
    integer :: datatype, error
    integer(kind=MPI_ADDRESS_KIND) :: extent, state
    extent = 4
    error = MPI_SUCCESS
  end subroutine

  subroutine representations()
    integer :: file, mine(3), got(3), status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer(kind=MPI_OFFSET_KIND) :: start
    character(len=64) :: name
    state = 1000
    start = 0
    call MPI_Register_datarep('shifted', to_memory, to_file, tell_extent, state, ierror)
    call expect('representation', ierror == MPI_SUCCESS)
    call MPI_Register_datarep('shifted  ', to_memory, to_file, tell_extent, state, ierror)
    call expect('twice', ierror /= MPI_SUCCESS)
    write (name, '(a,i0,a,i0)') '/tmp/weft_newer_', getpid(), '_', rank
    call MPI_File_open(MPI_COMM_SELF, trim(name), MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, &
      MPI_INFO_NULL, file, ierror)
    call MPI_File_set_view(file, start, MPI_INTEGER, MPI_INTEGER, 'shifted', MPI_INFO_NULL, ierror)
    mine = [1, 2, rank]
    call MPI_File_write_at(file, start, mine, 3, MPI_INTEGER, status, ierror)
    call MPI_File_read_at(file, start, got, 3, MPI_INTEGER, status, ierror)
    call expect('as written', ierror == MPI_SUCCESS .and. sum(abs(got - mine)) == 0)
    call MPI_File_set_view(file, start, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    call MPI_File_read_at(file, start, got, 3, MPI_INTEGER, status, ierror)
    call expect('shifted in the file', ierror == MPI_SUCCESS .and. sum(abs(got - mine - 1000)) == 0)
    call MPI_File_close(file, ierror)
  end subroutine

  ! Of Fortran, for errors of a session.
  subroutine handle_session(session, code)
    integer :: session, code
    handled = handled + 1
  end subroutine

  subroutine wrong_sessions()
    integer :: session, handler, found, length
    character(len=8) :: name
    call MPI_Session_create_errhandler(handle_session, handler, ierror)
    call MPI_Session_init(MPI_INFO_NULL, handler, session, ierror)
    length = 0
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 17, length, name, ierror)
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER, ierror)
    call expect('handler of a session', handled == 2)
    call MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN, ierror)
    call MPI_Session_get_errhandler(session, found, ierror)
    call expect('another handler', found == MPI_ERRORS_RETURN)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Session_finalize(session, ierror)
  end subroutine

  subroutine query(state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, 0, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine give_back(state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: ierror
    state = state + 5
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel(state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine

  function of(before, after)
    integer :: before, after, of(4)
    of = [[3, 4] + 10 * before, [1, 2] + 10 * after]
  end function
end program
