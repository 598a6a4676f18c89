# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: objects, NumPy arrays, and threads, each with values that the receiver knows."""

import threading

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
after, before = (rank + 1) % size, (rank - 1) % size

# Objects, pickled: a probe gives their size.
heard = world.sendrecv({"from": rank, "text": "x" * 5000}, dest=after, source=before)
assert heard == {"from": before, "text": "x" * 5000}
assert world.allgather(rank * rank) == [each * each for each in range(size)]
assert world.bcast(("a", rank), root=size - 1) == ("a", size - 1)

# Arrays, also those with gaps and of several dimensions.
mine = numpy.full(100_000, rank, dtype="d")
total = numpy.empty_like(mine)
world.Allreduce(mine, total)
assert (total == sum(range(size))).all()
grid = numpy.arange(600, dtype="i").reshape(20, 30) + rank
column = MPI.INT.Create_vector(20, 1, 30).Commit()
received = numpy.empty(20, dtype="i")
request = world.Irecv(received, source=before, tag=4)
world.Send([grid, 1, column], dest=after, tag=4)
request.Wait()
assert (received == numpy.arange(0, 600, 30) + before).all()
column.Free()

# Threads, each with a communicator.
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
communicators = [world.Dup() for _ in range(4)]
right = []


def exchange(communicator, number):
    for step in range(50):
        got = communicator.sendrecv((rank, number, step), dest=after, source=before)
        assert got == (before, number, step)
    right.append(number)


threads = [threading.Thread(target=exchange, args=(one, number)) for number, one in enumerate(communicators)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert sorted(right) == [0, 1, 2, 3]
for one in communicators:
    one.Free()
if rank == 0:
    print("right")
