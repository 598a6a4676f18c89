// SPDX-License-Identifier: BSD-3-Clause
#include "model/planting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "base/sanitizer.hpp"

namespace weft::model {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::vector<bug> bugs_for(const site& where) {
  std::vector<bug> bugs;
  if (where.order == orders::seq_cst) bugs.push_back(bug::drop_total_order);
  if (where.kind != access::store && acquires(where.order)) bugs.push_back(bug::drop_acquire);
  if (where.kind != access::load && releases(where.order)) bugs.push_back(bug::drop_release);
  if (where.kind == access::compare && acquires(where.failure_order)) bugs.push_back(bug::drop_failure_acquire);
  if (where.kind == access::compare) bugs.push_back(bug::ignore_mismatch);
  if (where.kind == access::modify || where.kind == access::exchange) bugs.push_back(bug::tear);
  return bugs;
}

class planter {
 public:
  planter(const std::vector<program>& programs, const std::vector<harmless>& tolerated, planting_report& report)
      : programs_(programs), tolerated_(tolerated), used_(tolerated.size(), false), report_(report) {}

  /// The programs as they are: all must hold. Returns the sites that they reach.
  std::set<unsigned> reach() {
    std::set<unsigned> sites;
    for (const program& each : programs_) {
      search how = each.how;
      // There the search is not the point, and slow.
      if (base::under_address_sanitizer) how.executions_max /= 8, how.random_executions_max /= 8;
      const outcome result = explore(how, each.body);
      report_.executions += result.executions;
      report_.text += fmt::format("{}: {} executions, all with up to {} deviations{}\n", each.name, result.executions,
                                  result.deviations_done, result.complete ? ", complete" : "");
      if (result.failed)
        wrong(fmt::format("{} fails: {}\nreplay: \"{}\"\n{}", each.name, result.failure, result.replay, result.trace));
      sites.insert(result.sites.begin(), result.sites.end());
    }
    return sites;
  }

  void plant(const planted& bug) {
    ++report_.planted;
    const std::string& label = site_table::instance().at(bug.site).label;
    const std::string title = fmt::format("{} {}", name_of(bug.kind), label);
    const harmless* excuse = find_excuse(label, bug.kind);
    std::uint64_t executions = 0;
    // Most bugs are found quickly by one of the programs; none gets much of the budget before the others had a little.
    for (const unsigned part : {32u, 8u, 1u}) {
      for (const program& each : programs_) {
        search how = each.how;
        how.executions_max /= part;
        how.random_executions_max /= part;
        how.planting = bug;
        const outcome result = explore(how, each.body);
        executions += result.executions;
        if (!result.failed) continue;
        report_.executions += executions;
        report_.bugs += fmt::format("{}: found by {} in {}: {}\n", title, each.name, executions, result.failure);
        if (excuse != nullptr) wrong(title + " is called harmless but was found");
        return;
      }
    }
    report_.executions += executions;
    if (excuse == nullptr) {
      wrong(title + " was not found");
    } else {
      report_.bugs += fmt::format("{}: harmless: {}\n", title, excuse->why);
    }
  }

  void finish() {
    for (std::size_t i = 0; i < tolerated_.size(); ++i) {
      if (!used_[i]) wrong(fmt::format("no such bug: {} {}", name_of(tolerated_[i].kind), tolerated_[i].label));
    }
    report_.right = errors_.empty();
    if (!report_.right) report_.text = errors_ + report_.text;
  }

  void wrong(const std::string& description) { errors_ += "WRONG: " + description + "\n"; }

 private:
  const harmless* find_excuse(const std::string& label, bug kind) {
    for (std::size_t i = 0; i < tolerated_.size(); ++i) {
      if (tolerated_[i].label != label || tolerated_[i].kind != kind) continue;
      used_[i] = true;
      return &tolerated_[i];
    }
    return nullptr;
  }

  const std::vector<program>& programs_;
  const std::vector<harmless>& tolerated_;
  std::vector<bool> used_;
  planting_report& report_;
  std::string errors_;
};

}  // namespace

planting_report plant_bugs(const std::vector<program>& programs, const std::vector<std::string>& files,
                           const std::vector<harmless>& tolerated, const std::vector<dropped_check>& checks) {
  planting_report report;
  planter work(programs, tolerated, report);
  const std::set<unsigned> sites = work.reach();
  const site_table& table = site_table::instance();
  for (const unsigned number : sites) {
    const auto is_end = [&](const std::string& file) { return ends_with(table.at(number).file, file); };
    if (std::none_of(files.begin(), files.end(), is_end)) continue;
    for (const bug kind : bugs_for(table.at(number))) work.plant({kind, number, nullptr});
  }
  for (const dropped_check& each : checks) {
    const auto named = [&](unsigned number) { return table.at(number).label == each.label; };
    const auto number = std::find_if(sites.begin(), sites.end(), named);
    if (number == sites.end()) {
      work.wrong("no load is called " + each.label);
    } else {
      work.plant({bug::lie, *number, each.lie});
    }
  }
  work.finish();
  return report;
}

std::ostream& operator<<(std::ostream& out, const planting_report& report) {
  out << report.planted << " bugs planted, " << report.executions << " executions\n" << report.text;
  return report.right ? out : out << report.bugs;
}

const char* name_of(bug kind) {
  switch (kind) {
    case bug::none: return "none";
    case bug::drop_acquire: return "drop_acquire";
    case bug::drop_release: return "drop_release";
    case bug::drop_total_order: return "drop_total_order";
    case bug::drop_failure_acquire: return "drop_failure_acquire";
    case bug::tear: return "tear";
    case bug::ignore_mismatch: return "ignore_mismatch";
    case bug::lie: return "lie";
  }
  return "";
}

}  // namespace weft::model
