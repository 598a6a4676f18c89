# SPDX-License-Identifier: BSD-3-Clause
"""Lists the fibers of a process in gdb, and shows what one of them does.

gdb -p PID -x tools/weft_gdb.py            or, inside of gdb: source tools/weft_gdb.py
weft-fibers                                each fiber that is alive: its worker and slot, and what it waits for
weft-fiber WORKER SLOT                     its backtrace; the process has to be alive, and stopped

It reads memory by the layout that the library has written down (src/fiber/debugger.cpp), so that it needs no debug
information. Fibers that the debugger has stopped in the middle of a switch may be shown wrongly.
"""

import struct

import gdb

NUMBER = 1  # of the layout
NOBODY = 0xFFFFFFFF
# What a switch leaves on the stack that it leaves, from the stack pointer on, and how many words that are.
SAVED = {
    "i386:x86-64": (["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"], 7),
    "aarch64": ([f"x{n}" for n in range(19, 31)], 20),
}


def read(address, kind):
    data = gdb.selected_inferior().read_memory(address, struct.calcsize(kind)).tobytes()
    return struct.unpack(kind, data)[0]


def text(address):
    return gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string() if address else "something"


def address_of(symbol):
    try:
        return int(gdb.parse_and_eval(f"(unsigned long)&{symbol}"))
    except gdb.error:
        raise gdb.GdbError(f"there is no {symbol} here: the program has no fibers of Weft") from None


class Layout:
    def __init__(self):
        at = address_of("weft_fiber_layout")
        words = [read(at + 8 * i, "<Q") for i in range(10)]
        if words[0] != NUMBER:
            raise gdb.GdbError(f"the program has layout {words[0]} of fibers, this script knows {NUMBER}")
        (self.slots, self.used, self.base, self.running, self.pointer, self.location, self.call, self.peer,
         self.tag) = words[1:]


def workers():
    """The addresses of all, in the order in which they were made."""
    found = []
    entry = read(address_of("weft_fiber_workers"), "<Q")
    while entry:
        found.append(read(entry, "<Q"))
        entry = read(entry + 8, "<Q")
    return found[::-1]


def fibers(layout, worker):
    """Slot and address of each fiber that is alive."""
    slots, used, base = read(worker + layout.slots, "<Q"), read(worker + layout.used, "<I"), read(worker + layout.base, "<Q")
    for slot in range(used):
        state = read(slots + 8 * slot, "<Q")
        if state and read(state + layout.location, "<Q") == base | slot:
            yield slot, state


def words_for(layout, state):
    out = text(read(state + layout.call, "<Q"))
    peer, tag = read(state + layout.peer, "<I"), read(state + layout.tag, "<Q")
    return out if peer == NOBODY else f"{out} with rank {peer}, tag {tag}"


class WeftFibers(gdb.Command):
    """weft-fibers: each fiber that is alive, and what it waits for."""

    def __init__(self):
        super().__init__("weft-fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        layout = Layout()
        for index, worker in enumerate(workers()):
            running = read(worker + layout.running, "<Q")
            for slot, state in fibers(layout, worker):
                print(f"worker {index} slot {slot}: "
                      + ("runs" if state == running else "waits in " + words_for(layout, state)))


class WeftFiber(gdb.Command):
    """weft-fiber WORKER SLOT: the backtrace of a fiber that waits."""

    def __init__(self):
        super().__init__("weft-fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        try:
            index, wanted = (int(each) for each in argument.split())
            worker = workers()[index]
        except (ValueError, IndexError):
            raise gdb.GdbError("usage: weft-fiber WORKER SLOT, as weft-fibers names them") from None
        layout = Layout()
        state = dict(fibers(layout, worker)).get(wanted)
        if state is None:
            raise gdb.GdbError("there is no such fiber")
        if state == read(worker + layout.running, "<Q"):
            raise gdb.GdbError("it runs: see its worker's thread")
        show(read(state + layout.pointer, "<Q"))


def show(pointer):
    architecture = gdb.newest_frame().architecture().name()
    if architecture not in SAVED:
        raise gdb.GdbError(f"not written for {architecture}")
    names, words = SAVED[architecture]
    saved = dict(zip(names, (read(pointer + 8 * i, "<Q") for i in range(len(names)))))
    if architecture == "aarch64":
        saved["pc"] = saved["x30"]
    saved["sp"] = pointer + 8 * words
    gdb.newest_frame().select()
    if architecture != "aarch64":
        saved["orig_rax"] = -1  # written last, so that a call of the system that was interrupted is begun again
    before = {name: int(gdb.parse_and_eval(f"(unsigned long)${name}")) for name in saved}
    try:
        for name, value in saved.items():
            gdb.execute(f"set var ${name} = {value}", to_string=True)
        gdb.execute("backtrace")
    finally:
        for name, value in before.items():
            gdb.execute(f"set var ${name} = {value}", to_string=True)


WeftFibers()
WeftFiber()
