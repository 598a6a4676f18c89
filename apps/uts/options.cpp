#include "uts/options.hpp"

#include <CLI/CLI.hpp>

#include <sstream>

namespace weft_uts {

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  tree_options& tree = out.search.tree;
  unsigned type = static_cast<unsigned>(tree.type);
  unsigned shape = static_cast<unsigned>(tree.shape);
  bool quiet = false;
  CLI::App app{"Counts the nodes of an unbalanced tree, with all processes and threads that it is given.", "weft-uts"};
  app.add_option("-t", type, "0 binomial, 1 geometric, 2 hybrid: first geometric, then binomial")
      ->check(CLI::Range(0, 2))
      ->capture_default_str();
  app.add_option("-a", shape, "of a geometric tree: 0 linear, 1 exponential, 2 cyclic, 3 fixed")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  app.add_option("-b", tree.root_children, "children of the root, b0")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("-r", tree.seed, "seed of the root")->check(CLI::Range(0, 0x7fffffff))->capture_default_str();
  app.add_option("-d", tree.depth, "depth of a geometric tree, about")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("-q", tree.branching, "of a binomial tree: how likely a node has children")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("-m", tree.children, "of a binomial tree: how many it has then")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("-f", tree.shift, "of a hybrid tree: the part of its depth where it turns binomial")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--workers", out.search.workers, "threads of each process that run fibers")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--fibers", out.search.fibers, "fibers of each worker that walk")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--chunk", out.search.chunk, "nodes that are stolen at a time, at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--sequential", out.sequential, "a plain traversal by one thread, to compare with");
  app.add_flag("--verify", out.verify, "fail unless this is a known tree, and the counts are the known ones");
  app.add_flag("--json", out.json, "one JSON object instead of text");
  app.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream text;
    out.exit_code = app.exit(e, text, text) == 0 ? 0 : 2;
    out.text = text.str();
  }
  tree.type = static_cast<tree_type>(type);
  tree.shape = static_cast<tree_shape>(shape);
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_uts
