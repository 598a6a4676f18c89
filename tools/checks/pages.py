# SPDX-License-Identifier: BSD-3-Clause
"""The list of layers and rooms in docs/architecture.md is that of the build."""

import re

from checks.finding import Finding

PAGE = "docs/architecture.md"
HEADING = "## The layers"
LAYER = re.compile(r"src/(\w+)/(?:(\w+)/)?\s")
ROOM = re.compile(r" +(\w+)/\s")


def layers_of_page(text):
    """[(layer, [room that has a line], all of its lines)] of the first block behind the heading."""
    found = re.search(rf"^{HEADING}$.*?^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    out = []
    for line in found[1].splitlines() if found else []:
        layer, room = LAYER.match(line), ROOM.match(line)
        if layer:
            if not out or out[-1][0] != layer[1]:
                out.append((layer[1], [], []))
            room = layer[2]
        else:
            room = room[1] if room else None
        if out:
            if room:
                out[-1][1].append(room)
            out[-1][2].append(line)
    return [(layer, rooms, "\n".join(lines)) for layer, rooms, lines in out]


def rooms_of_build(root, layer):
    """(the layer's folders with sources, the names that the build has for its rooms in their order; none: no order)."""
    folder = root / "src" / layer
    folders = sorted(each.name for each in folder.iterdir() if each.is_dir() and any(each.glob("*.?pp")))
    build = folder / "CMakeLists.txt"
    ordered = re.search(r"\bROOMS((?:\s+[a-z_]+)+)", build.read_text()) if build.is_file() else None
    names = ordered[1].split() if ordered else []
    return folders, names if sorted(names) == folders else []


def layers_as_built(root):
    page, build = root / PAGE, root / "src/CMakeLists.txt"
    if not page.is_file() or not build.is_file():
        return []
    built = [name for name in re.findall(r"add_subdirectory\((\w+)\)", build.read_text()) if name != "test"]
    written = layers_of_page(page.read_text())
    names = [layer for layer, _, _ in written]
    if names != built:
        return [Finding(PAGE, 1, f"the layers of the page are {' '.join(names)}; the build makes {' '.join(built)}")]
    findings = []
    for layer, rooms, lines in written:
        folders, ordered = rooms_of_build(root, layer)
        if rooms and (rooms != ordered if ordered else sorted(rooms) != folders):
            findings.append(Finding(PAGE, 1, f"the rooms of {layer} on the page are {' '.join(rooms)}; the build has "
                                             f"{' '.join(ordered or folders)}"))
        missing = [each for each in folders if not re.search(rf"\b{each}\b", lines)]
        if not rooms and missing:
            findings.append(Finding(PAGE, 1, f"the page does not name the folders {' '.join(missing)} of {layer}"))
    return findings
