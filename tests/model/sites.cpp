// SPDX-License-Identifier: BSD-3-Clause
#include "model/sites.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <map>

namespace weft::model {
namespace {

// The compiler may have been given a relative name, from a folder that is not the one where the test runs.
std::string in_source_tree(const std::string& file) {
#if defined(MODEL_SOURCE_DIR)
  const std::size_t beyond_dots = file.find_first_not_of("./");
  return std::string(MODEL_SOURCE_DIR "/") + (beyond_dots == std::string::npos ? "" : file.substr(beyond_dots));
#else
  return file;
#endif
}

const std::vector<std::string>& lines_of(const std::string& file) {
  static std::map<std::string, std::vector<std::string>> read;
  auto [found, fresh] = read.try_emplace(file);
  if (fresh) {
    std::ifstream in(file);
    if (!in) in.open(in_source_tree(file));
    for (std::string line; std::getline(in, line);) found->second.push_back(line);
  }
  return found->second;
}

std::string label_in(const std::string& line) {
  const std::size_t comment = line.find("// [");
  if (comment == std::string::npos) return {};
  const std::size_t end = line.find(']', comment);
  return end == std::string::npos ? std::string{} : line.substr(comment + 4, end - comment - 4);
}

// The comment that ends directly above the statement that `line` (counted from one) is part of.
std::string label_above(const std::string& file, unsigned line) {
  constexpr unsigned statement_lines_max = 4;
  const std::vector<std::string>& lines = lines_of(file);
  if (line > lines.size()) return {};
  unsigned above = line - 1;  // the index of the line itself
  for (unsigned i = 0; i < statement_lines_max && above > 0; ++i) {
    --above;
    if (lines[above].find("//") != std::string::npos) break;
  }
  for (; lines[above].find("//") != std::string::npos; --above) {
    const std::string label = label_in(lines[above]);
    if (!label.empty()) return label;
    if (above == 0) break;
  }
  return {};
}

}  // namespace

site_table& site_table::instance() {
  static site_table table;
  return table;
}

unsigned site_table::number_of(const char* file, unsigned line, access kind, std::memory_order order,
                               std::memory_order failure_order) {
  std::size_t i =
      ((reinterpret_cast<std::uintptr_t>(file) + line * 31) * 5 + static_cast<unsigned>(kind)) % cells_.size();
  for (; cells_[i].file != nullptr; i = (i + 1) % cells_.size()) {
    if (cells_[i].file == file && cells_[i].line == line && cells_[i].kind == kind) return cells_[i].number;
  }
  // One file may have several addresses, one for each translation unit.
  unsigned number = 0;
  while (number < sites_.size() &&
         !(sites_[number].line == line && sites_[number].kind == kind && std::strcmp(sites_[number].file, file) == 0)) {
    ++number;
  }
  cells_[i] = {file, line, kind, number};
  if (number < sites_.size()) return number;
  std::string label = label_above(file, line);
  if (label.empty()) {
    const char* slash = std::strrchr(file, '/');
    label = fmt::format("{}:{}", slash != nullptr ? slash + 1 : file, line);
  }
  unsigned same = 1;
  for (const site& other : sites_) {
    if (other.label == label || other.label.rfind(label + "#", 0) == 0) ++same;
  }
  if (same > 1) label += fmt::format("#{}", same);
  sites_.push_back({file, line, kind, order, failure_order, label});
  return number;
}

const char* name_of(access kind) {
  switch (kind) {
    case access::load: return "load";
    case access::store: return "store";
    case access::exchange: return "exchange";
    case access::modify: return "modify";
    case access::compare: return "compare";
  }
  return "";
}

const char* name_of(orders order) {
  switch (order) {
    case orders::relaxed: return "relaxed";
    case orders::consume: return "consume";
    case orders::acquire: return "acquire";
    case orders::release: return "release";
    case orders::acq_rel: return "acq_rel";
    case orders::seq_cst: return "seq_cst";
  }
  return "";
}

}  // namespace weft::model
