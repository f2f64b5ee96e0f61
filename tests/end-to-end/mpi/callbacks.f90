! SPDX-License-Identifier: Apache-2.0
! Functions of the program's own that MPI calls: for attributes, errors and generalized requests.
module own_functions
  use mpi
  implicit none
  integer :: copies = 0, removals = 0, errors = 0, queries = 0, frees = 0
contains
  subroutine copy(comm, key, state, from, to, flag, ierror)
    integer :: comm, key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: state, from, to
    logical :: flag
    copies = copies + 1
    to = from + state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine remove(comm, key, value, state, ierror)
    integer :: comm, key, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, state
    removals = removals + int(value)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine old_copy(comm, key, state, from, to, flag, ierror)
    integer :: comm, key, state, from, to, ierror
    logical :: flag
    to = from * state
    flag = from > 0
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle(comm, code)
    integer :: comm, code, class, ierror
    call MPI_Error_class(code, class, ierror)
    if (class == MPI_ERR_RANK) errors = errors + 1
  end subroutine
  subroutine query(state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: status(MPI_STATUS_SIZE), ierror
    queries = queries + int(state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = 7
    status(MPI_TAG) = 8
    ierror = MPI_SUCCESS
  end subroutine
  subroutine give_back(state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    integer :: ierror
    frees = frees + int(state)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use mpi
  use own_functions
  implicit none
  integer :: ierror, rank, key, dup_key, null_key, old_key, other, handler, request, count, old, type, made
  integer :: status(MPI_STATUS_SIZE), value
  integer(kind=MPI_ADDRESS_KIND) :: attribute, state
  logical :: flag
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)

  state = 10
  call MPI_Comm_create_keyval(copy, remove, key, state, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, dup_key, state, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, null_key, state, ierror)
  old = 3
  call MPI_Keyval_create(old_copy, MPI_NULL_DELETE_FN, old_key, old, ierror)
  attribute = 5
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, attribute, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, dup_key, attribute, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, null_key, attribute, ierror)
  call MPI_Attr_put(MPI_COMM_WORLD, old_key, -4, ierror)
  call MPI_Attr_get(MPI_COMM_WORLD, old_key, value, flag, ierror)
  call show('old attribute', value, flag)
  call MPI_Attr_put(MPI_COMM_WORLD, old_key, 4, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, other, ierror)
  call MPI_Comm_get_attr(other, key, attribute, flag, ierror)
  call show('copied attribute', int(attribute), flag)
  call MPI_Comm_get_attr(other, dup_key, attribute, flag, ierror)
  call show('duplicated attribute', int(attribute), flag)
  call MPI_Comm_get_attr(other, null_key, attribute, flag, ierror)
  call show('attribute that is not copied', 0, flag)
  call MPI_Attr_get(other, old_key, value, flag, ierror)
  call show('old attribute, copied', value, flag)
  call MPI_Comm_free(other, ierror)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
  call show('copies', copies, .true.)
  call show('removals', removals, .true.)
  call MPI_Comm_free_keyval(key, ierror)
  call show('a key that was freed', 0, key == MPI_KEYVAL_INVALID)

  call MPI_Type_create_keyval(copy, remove, key, state, ierror)
  call MPI_Type_contiguous(2, MPI_INTEGER, type, ierror)
  attribute = 30
  call MPI_Type_set_attr(type, key, attribute, ierror)
  call MPI_Type_dup(type, made, ierror)
  call MPI_Type_get_attr(made, key, attribute, flag, ierror)
  call show('attribute of a datatype', int(attribute), flag)
  call MPI_Type_free(made, ierror)
  call MPI_Type_free(type, ierror)
  call show('removals', removals, .true.)

  call MPI_Comm_create_errhandler(handle, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Comm_get_errhandler(MPI_COMM_WORLD, made, ierror)
  call show('the handler of the communicator', 0, made == handler)
  call MPI_Errhandler_free(made, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, handler, ierror)
  call MPI_Send(value, 1, MPI_INTEGER, 1000, 0, MPI_COMM_WORLD, ierror)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_Send(value, 1, MPI_INTEGER, 1000, 0, MPI_COMM_SELF, ierror)
  call MPI_Comm_get_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Comm_get_errhandler(MPI_COMM_SELF, made, ierror)
  call show('the handler, freed', 0, made == handler .and. made /= MPI_ERRHANDLER_NULL)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_Errhandler_free(made, ierror)
  call show('errors', errors, .true.)

  state = 1
  call MPI_Grequest_start(query, give_back, cancel, state, request, ierror)
  call MPI_Test(request, flag, status, ierror)
  call show('a request that is not complete', 0, flag)
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, count, ierror)
  call show('count', count, .true.)
  call show('source and tag', 10 * status(MPI_SOURCE) + status(MPI_TAG), .true.)
  call show('queries', queries, .true.)
  call show('frees', frees, request == MPI_REQUEST_NULL)
  call MPI_Finalize(ierror)

contains
  subroutine show(what, number, is)
    character(len=*) :: what
    integer :: number
    logical :: is
    if (rank == 0) print '(a,1x,i0,1x,l1)', what, number, is
  end subroutine
end program
