# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/plot.py
"""tools/plot.py: how a panel is drawn. Needs no matplotlib: what is called is looked at."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import MagicMock

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
specification = importlib.util.spec_from_file_location("plot", SOURCE / "tools/plot.py")
plot = importlib.util.module_from_spec(specification)
specification.loader.exec_module(plot)


def summary(median):
    return {"median": median, "q1": median - 1, "q3": median + 2}


def figure(threads, median, peers=(), limit=None):
    return {"threads": threads, "weft": summary(median), "peers": {name: summary(value) for name, value in peers},
            "limit": limit}


def drawn(figures):
    axes = MagicMock()
    plot.panel(axes, figures, "title", "threads", "M msg/s", 0.5)
    return axes


class Panels(unittest.TestCase):
    def test_one_point_is_a_bar_for_each_side(self):
        axes = drawn([figure(4, 10, [("MPICH", 6), ("UCX", 8)], limit=20)])
        axes.errorbar.assert_not_called()
        self.assertEqual([each.args[0] for each in axes.bar.call_args_list], [0, 1, 2])
        self.assertEqual([each.args[1] for each in axes.bar.call_args_list], [5, 3, 4])
        self.assertEqual([each.kwargs["yerr"] for each in axes.bar.call_args_list], [[[0.5], [1]]] * 3)
        self.assertEqual(axes.set_xticks.call_args.args, ([0, 1, 2], ["Weft", "MPICH", "UCX"]))
        self.assertEqual(axes.axhline.call_args.args, (10,))
        axes.set_ylim.assert_called_with(bottom=0)
        axes.set_xscale.assert_not_called()
        self.assertIn("threads: 4", axes.set.call_args.kwargs["xlabel"])

    def test_several_points_are_a_line_for_each_side(self):
        axes = drawn([figure(4, 10, [("MPICH", 6)], limit=20), figure(8, 12, [("MPICH", 6)])])
        axes.bar.assert_not_called()
        self.assertEqual([each.kwargs["label"] for each in axes.errorbar.call_args_list], ["Weft", "MPICH"])
        self.assertEqual([each.args[0] for each in axes.errorbar.call_args_list], [[4, 8], [4, 8]])

    def test_each_of_many_lines_looks_different_and_alike_in_all_panels(self):
        names = [f"peer {i:02}" for i in range(25)]
        axes = drawn([figure(threads, 10, [(name, 6) for name in names]) for threads in (4, 8)])
        looks = [tuple(each.kwargs[key] for key in ("color", "linestyle")) for each in axes.errorbar.call_args_list]
        self.assertEqual(len(set(looks)), len(names) + 1)
        both = plot.styles([figure(4, 1, [("UCX", 1), ("MPICH", 1)]), figure(8, 1, [("UCX", 1)])])
        self.assertEqual(set(both), {"Weft", "MPICH", "UCX"})

    def test_the_legend_stands_beside_the_panel(self):
        for figures in ([figure(4, 10, limit=20)], [figure(4, 10), figure(8, 12)]):
            where = drawn(figures).legend.call_args.kwargs
            self.assertEqual(where["loc"], "upper left")
            self.assertGreater(where["bbox_to_anchor"][0], 1)

    def test_plain_latency_is_drawn_and_shared_devices_apart_from_dedicated_ones(self):
        lines = [{**figure(threads, 10), "claim": claim, "mode": mode, "what": what}
                 for claim, mode, what in (("plain_latency", "threads-dedicated", "sendrecv"),
                                           ("mt_latency", "threads-dedicated", ""), ("mt_latency", "threads-shared", "shared"))
                 for threads in (1, 16)]
        titles = {title: len(group) for title, group, *_ in plot.latencies(lines)}
        self.assertEqual(titles, {"plain_latency sendrecv, one way": 2, "mt_latency, threads-dedicated, one way": 2,
                                  "mt_latency, threads-shared, one way": 2})

    def test_without_matplotlib_the_systems_python_is_started_if_that_has_it(self):
        with tempfile.TemporaryDirectory() as folder:
            other = Path(folder, "python3")
            other.write_text("#!/bin/sh\n[ \"$1\" = -c ] || echo started \"$@\"\n")
            other.chmod(0o755)
            code = ("import importlib.util as u, sys; s = u.spec_from_file_location('plot', sys.argv[1]); "
                    "p = u.module_from_spec(s); s.loader.exec_module(p); sys.modules['matplotlib'] = None; "
                    "p.SYSTEM_PYTHON = sys.argv[2]; sys.argv = ['plot.py', 'lines']; p.need_matplotlib()")
            start = [sys.executable, "-B", "-c", code, SOURCE / "tools/plot.py"]
            result = subprocess.run([*start, other], capture_output=True, text=True, timeout=600)
            self.assertEqual((result.returncode, result.stdout), (0, "started plot.py lines\n"), result.stderr)
            result = subprocess.run([*start, Path(folder, "nowhere")], capture_output=True, text=True, timeout=600)
            self.assertEqual(result.returncode, 1)
            self.assertIn("scripts/setup --peers", result.stderr)

    def test_fibers_are_drawn_beside_the_figures_of_the_paper(self):
        lines = [{"claim": "fibers", "what": what, "fibers": 8, "weft": summary(5), "peers": {}} for what in ("yield", "signal")]
        panels = {title: group for title, group, *_ in plot.fibers([*lines, {**figure(1, 1), "claim": "rate"}])}
        self.assertEqual(set(panels), {"yield", "signal"})
        self.assertEqual(panels["yield"][0]["peers"]["dang2016, Table 1"]["median"], 20)

    def test_messages_of_fibers_are_drawn_over_what_varies_in_the_paper(self):
        lines = [{"claim": "fibers", "what": what, "fibers": count, "bytes": size, "writes": writes, "workers": workers,
                  "progress_thread": 0, "weft": summary(5), "peers": {}}
                 for what, count, size, writes, workers in
                 (("message", 1, 8, 0, 1), ("message", 64, 8, 0, 1), ("message", 64, 8, 0, 2), ("message", 1, 4096, 0, 1),
                  ("message", 1, 8, 16, 1), ("message", 1, 8, 2048, 1), ("message, compared", 4, 8, 0, 1))]
        panels = {title: (horizontal, len(group)) for title, group, horizontal, *_ in plot.fibers(lines)}
        self.assertEqual(panels, {"message": ("fibers", 3), "message, compared": ("fibers", 1),
                                  "message of one fiber": ("bytes", 2),
                                  "message of one fiber, less its random writes": ("writes", 2)})
        self.assertEqual({plot.workers_of(each) for each in lines}, {"Weft, 1 worker", "Weft, 2 workers"})


if __name__ == "__main__":
    unittest.main()
