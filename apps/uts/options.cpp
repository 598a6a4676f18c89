#include "uts/options.hpp"

#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "number_option.hpp"
#include "program_version.hpp"

namespace weft_uts {

namespace {

// Refuses a tree that can't be counted: one that has no expected end (a seed may end it, as it does for T3L, but only
// counting shows that), or one with more nodes than all machines together count in years.
void check_end(const tree_options& tree) {
  constexpr double nodes_max = 1e16;
  const double nodes = expected_nodes(tree);
  if (nodes <= nodes_max || find_known(tree) != nullptr) return;
  const std::string advice = ": give --nodes-max, after which the search gives up";
  const bool is_binomial = tree.type != tree_type::geometric && tree.branching * tree.children >= 1;
  if (is_binomial) {
    throw CLI::ValidationError{"-q",
                               "a node has -q times -m children, and from 1 on the tree has no expected end" + advice};
  }
  const bool rises =
      tree.type == tree_type::geometric && tree.shape == tree_shape::exponential && tree.root_children <= 1;
  throw CLI::ValidationError{rises ? "-b" : "-d",
                             rises ? "an exponential tree with -b up to 1 has no expected end" + advice
                                   : "the tree has more than 10^16 nodes" + advice};
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  tree_options& tree = out.search.tree;
  unsigned type = static_cast<unsigned>(tree.type);
  unsigned shape = static_cast<unsigned>(tree.shape);
  bool quiet = false;
  CLI::App app{"Counts the nodes of an unbalanced tree, with all processes and threads that it is given.", "weft-uts"};
  app.add_option("-t", type, "0 binomial, 1 geometric, 2 hybrid: first geometric, then binomial")
      ->transform(weft::number_from(0, 2))
      ->capture_default_str();
  app.add_option("-a", shape, "of a geometric tree: 0 linear, 1 exponential, 2 cyclic, 3 fixed")
      ->transform(weft::number_from(0, 3))
      ->capture_default_str();
  app.add_option("-b", tree.root_children, "children of the root, b0")
      ->transform(weft::number_from(0.0, 1e6))
      ->capture_default_str();
  app.add_option("-r", tree.seed, "seed of the root")
      ->transform(weft::number_from(0, 0x7fffffff))
      ->capture_default_str();
  app.add_option("-d", tree.depth, "depth of a geometric tree, about")
      ->transform(weft::number_from(1, 1 << 20))
      ->capture_default_str();
  app.add_option("-q", tree.branching, "of a binomial tree: how likely a node has children")
      ->transform(weft::number_from(0.0, 1.0))
      ->capture_default_str();
  app.add_option("-m", tree.children, "of a binomial tree: how many it has then")
      ->transform(weft::number_from(0, 1000))
      ->capture_default_str();
  app.add_option("-f", tree.shift, "of a hybrid tree: the part of its depth where it turns binomial")
      ->transform(weft::number_from(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--workers", out.search.workers, "threads of each process that run fibers")
      ->transform(weft::number_from(1, 1024))
      ->capture_default_str();
  app.add_option("--fibers", out.search.fibers, "fibers of each worker that walk")
      ->transform(weft::number_from(1, 100000))
      ->capture_default_str();
  app.add_option("--chunk", out.search.chunk, "nodes that are stolen at a time, at most")
      ->transform(weft::number_from(1, 64))
      ->capture_default_str();
  CLI::Option* const bound = app.add_option("--nodes-max", out.search.nodes_max, "give up a tree that has more nodes")
                                 ->transform(weft::number_from<std::uint64_t>(1, ~std::uint64_t{0} - 1));
  app.add_flag("--sequential", out.sequential, "a plain traversal by one thread, to compare with");
  app.add_flag("--verify", out.verify, "fail unless this is a known tree, and the counts are the known ones");
  app.add_flag("--json", out.json, "one JSON object instead of text");
  app.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  app.set_version_flag("--version", weft::version_of("weft-uts"));
  try {
    app.parse(argc, argv);
    tree.type = static_cast<tree_type>(type);
    tree.shape = static_cast<tree_shape>(shape);
    if (bound->count() == 0) check_end(tree);
  } catch (const CLI::ParseError& e) {
    out.exit_code = weft::answer_to(app, e, out.text);
  }
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_uts
