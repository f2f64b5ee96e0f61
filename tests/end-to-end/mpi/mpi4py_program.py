# SPDX-License-Identifier: Apache-2.0
"""mpi4py on weft: checks of its chapters that need several functions of MPI each.

Each check prints its name, or its error, in process 0. The last line counts them.
"""
import array
import os
import sys
import tempfile

from mpi4py import MPI

WORLD = MPI.COMM_WORLD
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def objects_travel():
    other = (WORLD.rank + 1) % WORLD.size
    got = WORLD.sendrecv({"from": WORLD.rank}, other, source=MPI.ANY_SOURCE)
    assert got["from"] == (WORLD.rank - 1) % WORLD.size
    assert WORLD.allgather(WORLD.rank) == list(range(WORLD.size))
    assert WORLD.bcast("x" * 100000 if WORLD.rank == 0 else None) == "x" * 100000


@check
def buffers_are_reduced():
    data, total = array.array("d", [WORLD.rank] * 10), array.array("d", [0] * 10)
    WORLD.Allreduce(data, total)
    assert total[9] == sum(range(WORLD.size))
    WORLD.Ireduce(data, total, op=MPI.MAX).Wait()
    own = MPI.Op.Create(lambda a, b, t: None, commute=False)
    assert not own.Is_commutative()
    own.Free()


@check
def matched_messages_and_persistent_requests():
    request = MPI.COMM_SELF.isend("hello", 0, 3)
    message = MPI.COMM_SELF.mprobe(0, 3)
    assert message.recv() == "hello"
    request.wait()
    data, got = array.array("i", [7]), array.array("i", [0])
    receive, send = MPI.COMM_SELF.Recv_init(got, 0, 1), MPI.COMM_SELF.Send_init(data, 0, 1)
    for _ in range(3):
        MPI.Prequest.Startall([receive, send])
        MPI.Prequest.Waitall([receive, send])
    assert got[0] == 7
    receive.Free()
    send.Free()


@check
def groups_communicate():
    if WORLD.size == 1:
        return
    first = WORLD.rank < WORLD.size // 2
    half = WORLD.Split(0 if first else 1)
    inter = half.Create_intercomm(0, WORLD, WORLD.size // 2 if first else 0)
    assert inter.Is_inter() and inter.remote_size == WORLD.size - half.size
    there = inter.allgather(WORLD.rank)
    assert len(there) == inter.remote_size and WORLD.rank not in there
    merged = inter.Merge(high=not first)
    assert merged.size == WORLD.size
    assert merged.rank == WORLD.rank
    for comm in (merged, inter, half):
        comm.Free()


@check
def files_have_views_and_shared_pointers():
    path = WORLD.bcast(tempfile.mktemp() if WORLD.rank == 0 else None)
    file = MPI.File.Open(WORLD, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Write_at_all(WORLD.rank * 4, array.array("i", [WORLD.rank]))
    file.Sync()
    WORLD.Barrier()
    got = array.array("i", [-1] * WORLD.size)
    file.Read_at(0, got)
    assert list(got) == list(range(WORLD.size))
    tile = MPI.INT.Create_resized(0, 4 * WORLD.size).Commit()
    file.Set_view(4 * WORLD.rank, MPI.INT, tile)
    one = array.array("i", [-1])
    file.Read_all(one)
    assert one[0] == WORLD.rank
    file.Set_view(0, MPI.INT, MPI.INT)
    file.Write_ordered(array.array("i", [100 + WORLD.rank]))
    assert file.Get_position_shared() == WORLD.size
    file.Close()
    if WORLD.rank == 0:
        os.unlink(path)
    tile.Free()
    WORLD.Barrier()


@check
def errors_have_their_classes():
    expected = {
        MPI.ERR_NO_SUCH_FILE: lambda: MPI.File.Open(MPI.COMM_SELF, "/nowhere/at/all"),
        MPI.ERR_COMM: MPI.COMM_NULL.Get_size,
        MPI.ERR_RANK: lambda: WORLD.Send(b"", WORLD.size + 7),
        MPI.ERR_TYPE: MPI.DATATYPE_NULL.Get_size,
        MPI.ERR_REQUEST: MPI.REQUEST_NULL.Cancel,
        MPI.ERR_GROUP: MPI.GROUP_NULL.Get_size,
        MPI.ERR_WIN: MPI.WIN_NULL.Free,
    }
    for error_class, call in expected.items():
        try:
            call()
        except MPI.Exception as error:
            assert error.Get_error_class() == error_class, (error_class, error)
        else:
            raise AssertionError(error_class)


@check
def predefined_objects_are_not_freed():
    for handle in (MPI.INT, MPI.DOUBLE_INT, MPI.SUM, WORLD, MPI.REQUEST_NULL, MPI.INFO_NULL):
        try:
            handle.Free()
        except MPI.Exception:
            continue
        raise AssertionError(handle)


@check
def windows_are_written():
    memory = MPI.Alloc_mem(4 * WORLD.size)
    window = MPI.Win.Create(memory, 4, comm=WORLD)
    window.Fence()
    for rank in range(WORLD.size):
        window.Put([array.array("i", [WORLD.rank]), MPI.INT], rank, WORLD.rank)
    window.Fence()
    assert list(memoryview(memory).cast("i")) == list(range(WORLD.size))
    window.Free()


@check
def handles_go_to_fortran_and_back():
    for handle in (WORLD, MPI.INT, MPI.SUM, MPI.INFO_NULL, MPI.COMM_NULL, MPI.FILE_NULL):
        assert type(handle).f2py(handle.py2f()) == handle


@check
def generalized_requests():
    calls = []
    request = MPI.Grequest.Start(lambda status: calls.append("query"), lambda: calls.append("free"),
                                 lambda completed: calls.append(completed))
    assert not request.Test()
    request.Cancel()
    request.Complete()
    request.Wait()
    assert calls == [False, "query", "free"], calls


@check
def external_packing():
    data, got = array.array("i", range(10)), array.array("i", [0] * 10)
    size = MPI.INT.Pack_external_size("external32", 10)
    packed = bytearray(size)
    MPI.INT.Pack_external("external32", data, packed, 0)
    assert packed[4:8] == b"\0\0\0\1"
    MPI.INT.Unpack_external("external32", packed, 0, got)
    assert got == data
    assert MPI.Datatype.Create_f90_real(15, 300).size == 8
    assert MPI.Datatype.Create_f90_integer(9).size == 4


@check
def processes_are_started_and_told():
    for objects in ({"a": 1}, [2, 3]):
        children = WORLD.Spawn(sys.executable, args=[__file__, "child"], maxprocs=2)
        children.bcast(objects, root=(MPI.ROOT if WORLD.rank == 0 else MPI.PROC_NULL))
        answers = children.gather(None, root=(MPI.ROOT if WORLD.rank == 0 else MPI.PROC_NULL))
        if WORLD.rank == 0:
            assert answers == [(0, objects), (1, objects)], answers
        children.Disconnect()


def be_child(parent):
    objects = parent.bcast(None, root=0)
    parent.gather((WORLD.rank, objects), root=0)
    parent.Disconnect()


def main():
    parent = MPI.Comm.Get_parent()
    if parent != MPI.COMM_NULL:
        return be_child(parent)
    failed = 0
    for function in CHECKS:
        error = ""
        try:
            function()
        except Exception as caught:  # the others go on
            error = "%s: %s" % (type(caught).__name__, caught)
        errors = [e for e in WORLD.gather(error) or [] if e]
        if WORLD.rank == 0:
            failed += bool(errors)
            print(function.__name__, errors[0] if errors else "good")
    if WORLD.rank == 0:
        print("%d checks, %d failed" % (len(CHECKS), failed))


main()
