# SPDX-License-Identifier: BSD-3-Clause
"""Which file may include which: layers, rooms of core, transports, folders of programs."""

import re

from checks.finding import Finding

# From the ground up: a layer includes itself and those before it.
LAYERS = ["base", "boot", "net", "core", "blocking", "graph", "coro", "coll", "fiber", "mpi"]
# Layers over include/ alone, as a user's program is.
OUTSIDE = ["mpi"]
# The rooms of a layer, likewise.
ROOMS = {
    "core": ["memory", "message", "matching", "operation", "device", "wait", "runtime", "protocol", "progress", "fast", "api",
             "door"],
    "coll": ["args", "schedule", "algorithms", "choose", "levels", "group", "run", "termination"],
    "mpi": ["clock", "handle", "datatype", "error", "group", "info", "objects", "tool", "rank", "check", "message", "collective",
            "communicator", "topology", "type", "extensions", "environment", "api"],
}
# The sources of core that include headers of rooms above their own, and which. The list only shrinks.
UPWARD = {
    "src/core/device/device_state.cpp": ["runtime/runtime_state.hpp"],
    "src/core/fast/post_inline.cpp": ["api/checks.hpp", "api/post_send_recv.hpp"],
    "src/core/fast/post_receive.cpp": ["api/post_send_recv.hpp"],
    "src/core/protocol/arrive_send.cpp": ["fast/take_send.hpp"],
    "src/core/protocol/dispatch.cpp": ["fast/take_send.hpp"],
    "src/core/runtime/barrier.cpp": ["protocol/post_inline.hpp", "protocol/post_message.hpp"],
    "src/core/runtime/devices.cpp": ["protocol/end_backlog.hpp"],
    "src/core/runtime/ends_of_objects.cpp": ["protocol/receive.hpp"],
    "src/core/runtime/explain.cpp": ["api/checks.hpp"],
    "src/core/runtime/flush.cpp": ["api/checks.hpp"],
    "src/core/runtime/peer_ends.cpp": ["protocol/lost_message.hpp"],
    "src/core/runtime/replies.cpp": ["protocol/reply.hpp"],
    "src/core/runtime/runtime_witness.cpp": ["protocol/arrive_send.hpp"],
    "src/core/runtime/unwinding.cpp": ["protocol/cancel.hpp"],
    "src/core/wait/descriptor_state.cpp": ["runtime/runtime_state.hpp"],
    "src/core/wait/parking.cpp": ["runtime/runtime_state.hpp"],
}
# All that layers above core may include of it, and what that may not show them, however indirectly.
DOOR = "door"
BEHIND_THE_DOOR = ["core/runtime/runtime_state.hpp", "core/device/device_state.hpp"]
# The folders of programs that have any, likewise, sources as well; "" is the program's own folder.
PROGRAM_FOLDERS = {"weft-perf": ["report", "", "limits", "measure", "compare"]}
# The one file above a transport's own folder that may name transports.
TRANSPORT_TABLE = "src/net/transports.hpp"
# The folders of net/ that are no transports: all may use them, and they use none.
NET_SHARED = ["ring"]
# What stands beside the layers: support for tests, which may use everything.
FREE_FOLDERS = ["src/test", "include/weft/test"]
# What a user's compiler must not need.
PRIVATE_LIBRARIES = ["fmt/", "hwloc", "CLI/", "nlohmann/", "zlib.h", "htslib/", "xxhash.h", "boost/", "gtest/",
                     "gmock/"]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layering(file, text):
    """Each layer includes only those before it; no transport includes another; public headers include no private."""
    findings = []
    if any(file.startswith(folder + "/") for folder in FREE_FOLDERS):
        return findings
    parts = file.split("/")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        problem = None
        if target.startswith("../"):
            problem = "include from an include root, not through '../'"
        elif parts[0] == "include":
            if quote == '"' and not target.startswith("weft/"):
                problem = "a public header may include only \"weft/...\" and what the user's system has"
            elif any(target.startswith(library) for library in PRIVATE_LIBRARIES):
                problem = "a public header may not need a library that its user need not have"
            elif target.startswith("weft/test/"):
                problem = "only tests may use weft/test"
        elif parts[0] == "src" and len(parts) > 2:
            problem = _layer_problem(file, parts, target)
        elif parts[0] == "programs" and parts[1] in PROGRAM_FOLDERS:
            problem = _program_problem(parts, target)
        if problem:
            findings.append(Finding(file, number, f"includes {target}: {problem}"))
    return findings


def unreached(root, files):
    """Each public header for inlined code is one that a user's program reaches; what only src/ needs lies there."""
    includes = {}
    for file in files:
        if file.startswith("include/weft/") and file.endswith(".hpp"):
            lines = (root / file).read_text().splitlines()
            includes[file] = {"include/" + found.group(2) for found in map(INCLUDE.match, lines) if found}
    reached = [file for file in includes if file.count("/") == 2]
    for file in reached:
        reached += [to for to in includes.get(file, ()) if to in includes and to not in reached]
    return [Finding(file, 1, "no public header includes it: what only src/ needs lies in src/")
            for file in includes if file.startswith("include/weft/detail/") and file not in reached]


def _layer_problem(file, parts, target):
    layer = parts[1]
    if layer not in LAYERS:
        return f"unknown layer '{layer}': name it in LAYERS of tools/checks/layers.py"
    if target.startswith("weft/test/") or target.startswith("test/"):
        return "only tests may use the support for tests"
    to = target.split("/")
    if to[0] not in LAYERS or len(to) < 2:
        return None
    if layer in OUTSIDE and to[0] != layer:
        return f"layer '{layer}' uses the public headers alone"
    if LAYERS.index(to[0]) > LAYERS.index(layer):
        return f"layer '{layer}' stands below '{to[0]}'"
    if to[0] == "net" and len(to) > 2 and to[1] not in NET_SHARED and file != TRANSPORT_TABLE:
        if layer != "net":
            return f"nothing above net/ names a transport, and this is '{layer}'"
        if len(parts) == 3:
            return f"in net/ only {TRANSPORT_TABLE} names transports"
        if parts[2] != to[1]:
            return f"transport '{parts[2]}' may not use transport '{to[1]}'"
    if to[0] == "core" and to[1] != DOOR and LAYERS.index(layer) > LAYERS.index("core"):
        return "above core only core/door/ may be included"
    return _room_problem(file, parts, to) if layer in ROOMS else None


def through_the_door(root, files):
    """No header of the door shows the state of a runtime or a device to the layers above core."""
    text = {file: (root / file).read_text() for file in files if file.startswith("src/core/") and file.endswith(".hpp")}
    findings = []
    for door in (file for file in text if file.startswith(f"src/core/{DOOR}/")):
        reached = [door]
        for file in reached:
            lines = text.get(file, "").splitlines()
            included = ["src/" + found.group(2) for found in map(INCLUDE.match, lines) if found and found.group(1) == '"']
            reached += [to for to in included if to not in reached]
        findings += [Finding(door, 1, f"shows {hidden} to the layers above core")
                     for hidden in BEHIND_THE_DOOR if f"src/{hidden}" in reached]
    return findings


def as_built(root):
    """The build makes the layers, and their rooms, that the lists above name, in their order."""
    findings = []
    for file, call, known in (("src/CMakeLists.txt", r"add_subdirectory\((\w+)\)", LAYERS),
                              *((f"src/{layer}/CMakeLists.txt", r"\bROOMS((?:\s+[a-z]+)+)\b", rooms)
                                for layer, rooms in ROOMS.items())):
        path = root / file
        if not path.is_file():
            continue
        built = [name for names in re.findall(call, path.read_text()) for name in names.split() if name != "test"]
        expected = [name for name in known if (path.parent / name).is_dir()]
        if built != expected:
            findings.append(Finding(file, 1, f"makes {' '.join(built)}; tools/checks/layers.py has {' '.join(expected)}"))
    return findings


def _room_problem(file, parts, to):
    layer, room = parts[1], parts[2] if len(parts) > 3 else None
    rooms = ROOMS[layer]
    if room not in rooms:
        return f"unknown room '{room}' of {layer}: name it in ROOMS of tools/checks/layers.py"
    if to[0] != layer or to[1] not in rooms:
        return None
    if rooms.index(to[1]) > rooms.index(room) and "/".join(to[1:]) not in UPWARD.get(file, []):
        return f"room '{room}' of {layer} stands below '{to[1]}'"
    return None


def _program_problem(parts, target):
    program, *to = target.split("/")
    if program != parts[1]:
        return None
    folders = PROGRAM_FOLDERS[program]
    here, there = "/".join(parts[2:-1]), "/".join(to[:-1])
    for folder in (here, there):
        if folder not in folders:
            return f"unknown folder '{folder}' of {program}: name it in PROGRAM_FOLDERS of tools/checks/layers.py"
    if folders.index(there) > folders.index(here):
        return f"folder '{here}' of {program} stands below '{there}'"
    return None
