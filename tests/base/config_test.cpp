// SPDX-License-Identifier: BSD-3-Clause
// stages: release asan
#include "base/config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.hpp"
#include "weft/runtime_options.hpp"

namespace {

using namespace weft::base;

settings parse(std::vector<const char*> entries) {
  entries.push_back(nullptr);
  return parse_settings(entries.data());
}

std::string refusal(std::vector<const char*> entries) {
  try {
    (void)parse(std::move(entries));
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), weft::errc::configuration);
    return e.what();
  }
  return "accepted";
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' not in: " << text;
}

TEST(config, an_empty_environment_gives_the_defaults) {
  const settings s = parse({});
  EXPECT_EQ(s.boot, boot_method::automatic);
  EXPECT_EQ(s.packet_count, 4096U);
  EXPECT_EQ(s.packet_bytes, 8192U);
  EXPECT_EQ(s.unexpected_bytes_max, std::size_t{64} << 20);
  EXPECT_FALSE(s.rank.has_value());
  EXPECT_FALSE(s.test_ranks.has_value());
}

TEST(config, variables_of_others_are_none_of_our_business) {
  EXPECT_EQ(parse({"PATH=/bin", "WEFTY=1", "XWEFT_LOG=no", "WEFT=3"}).packet_count, 4096U);
}

TEST(config, values_reach_their_fields) {
  const settings s = parse({"WEFT_BOOT=file", "WEFT_BOOT_DIR=/a=b", "WEFT_BOOT_KEY=7 8", "WEFT_RANK=3",
                            "WEFT_LOG=debug", "WEFT_SHM_CMA=off", "WEFT_RING_CELLS=1024", "WEFT_TEST_RANKS=2"});
  EXPECT_EQ(s.boot, boot_method::file);
  EXPECT_EQ(s.boot_dir, "/a=b");
  EXPECT_EQ(s.boot_key, "7 8");
  EXPECT_EQ(s.rank, 3U);
  EXPECT_EQ(s.log, log_level::debug);
  EXPECT_EQ(s.shm_cma, cma_mode::off);
  EXPECT_EQ(s.ring_cells, 1024U);
  EXPECT_EQ(s.test_ranks, 2U);
}

TEST(config, times_may_be_parts_of_a_second) {
  EXPECT_EQ(parse({}).stuck_after_s, 0);
  EXPECT_EQ(parse({"WEFT_STUCK_AFTER=10"}).stuck_after_s, 10);
  EXPECT_EQ(parse({"WEFT_STUCK_AFTER=0.25"}).stuck_after_s, 0.25);
  for (const char* wrong : {"WEFT_STUCK_AFTER=soon", "WEFT_STUCK_AFTER=1s", "WEFT_STUCK_AFTER= 1"}) {
    expect_words(refusal({wrong}), {"WEFT_STUCK_AFTER=", "is not a number", "seconds from 0 to 86400"});
  }
  for (const char* wrong : {"WEFT_STUCK_AFTER=-1", "WEFT_STUCK_AFTER=nan", "WEFT_STUCK_AFTER=inf",
                            "WEFT_STUCK_AFTER=1e9", "WEFT_STUCK_AFTER=1e999"}) {
    expect_words(refusal({wrong}), {"is out of range"});
  }
}

TEST(config, sizes_may_carry_a_unit) {
  EXPECT_EQ(parse({"WEFT_PACKET_BYTES=16384"}).packet_bytes, 16384U);
  EXPECT_EQ(parse({"WEFT_PACKET_BYTES=16384B"}).packet_bytes, 16384U);
  EXPECT_EQ(parse({"WEFT_PACKET_BYTES=16KiB"}).packet_bytes, 16384U);
  EXPECT_EQ(parse({"WEFT_UNEXPECTED_BYTES_MAX=1MiB"}).unexpected_bytes_max, 1U << 20);
  EXPECT_EQ(parse({"WEFT_UNEXPECTED_BYTES_MAX=2GiB"}).unexpected_bytes_max, std::size_t{2} << 30);
}

TEST(config, buckets_are_as_many_as_are_needed_unless_they_are_set) {
  EXPECT_EQ(matching_bucket_count(parse({})), 1U << 24);
  EXPECT_EQ(matching_bucket_count(parse({"WEFT_RECEIVES_MAX=1"})), 1U << 24);
  EXPECT_EQ(matching_bucket_count(parse({"WEFT_RECEIVES_MAX=16777216", "WEFT_MATCHING_BUCKETS=16"})), 16U);
}

TEST(config, an_unknown_variable_is_named_with_the_nearest_one) {
  expect_words(refusal({"WEFT_PAKET_COUNT=5"}), {"WEFT_PAKET_COUNT", "did you mean WEFT_PACKET_COUNT?"});
}

TEST(config, a_name_that_is_nearly_a_settings_is_refused) {
  for (const auto& [slip, meant] : std::initializer_list<std::pair<const char*, const char*>>{
           {"WEFT_BOOTS=x", "WEFT_BOOT?"},
           {"WEFT_LOGG=x", "WEFT_LOG?"},
           {"WEFT_packet_count=5", "WEFT_PACKET_COUNT?"},
           {"WEFT_MAX_RECEIVES=5", "WEFT_RECEIVES_MAX?"},
           {"WEFT_RECEIVE_MAX", "WEFT_RECEIVES_MAX?"},
           {"WEFT_TRANSPROT=shm", "WEFT_TRANSPORT?"},
           {"WEFT_UNEXPECTED_BYTE_MAX=5", "WEFT_UNEXPECTED_BYTES_MAX?"},
           {"WEFT_BOOT_TIMEOUT=5", "WEFT_BOOT_TIMEOUT_S?"}}) {
    expect_words(refusal({slip}), {"did you mean", meant});
  }
}

TEST(config, a_name_that_is_no_settings_is_told_and_stops_nothing) {
  const settings s = parse({"WEFT_COLOUR=red", "WEFT_PACKET_SIZE=5", "WEFT_=1", "WEFT_X", "WEFT_RING_CELLS=1024"});
  EXPECT_EQ(s.ring_cells, 1024U);
  ASSERT_EQ(s.foreign_variables.size(), 4U);
  expect_words(s.foreign_variables[0], {"WEFT_COLOUR is no setting", "has no effect (docs/configuration.md"});
  expect_words(s.foreign_variables[1], {"WEFT_PACKET_SIZE", "did you mean WEFT_PACKET_BYTES?"});
}

TEST(config, where_something_is_installed_is_not_even_told) {
  const settings s = parse({"WEFT_ROOT=/opt/weft", "WEFT_HOME=/opt/weft", "WEFT_DIR=/opt/weft", "WEFT_VERSION=1.0",
                            "WEFT_PREFIX=", "WEFT_BIN=/opt/weft/bin", "WEFT_LIB=/opt/weft/lib", "WEFT_INCLUDE_DIR=x"});
  EXPECT_TRUE(s.foreign_variables.empty()) << s.foreign_variables.front();
}

TEST(config, an_ill_formed_value_is_refused_with_name_value_and_what_is_allowed) {
  expect_words(refusal({"WEFT_PACKET_COUNT=many"}), {"WEFT_PACKET_COUNT='many'", "not a number", "from 64 to"});
  expect_words(refusal({"WEFT_PACKET_COUNT=-1"}), {"'-1'", "not a number"});
  expect_words(refusal({"WEFT_PACKET_COUNT="}), {"is empty"});
  expect_words(refusal({"WEFT_PACKET_COUNT"}), {"is empty"});
  expect_words(refusal({"WEFT_PACKET_COUNT=1KiB"}), {"not a whole number"});
  expect_words(refusal({"WEFT_PACKET_COUNT= 100"}), {"not a number"});
  expect_words(refusal({"WEFT_PACKET_BYTES=8kb"}), {"unknown unit", "8KiB"});
  expect_words(refusal({"WEFT_LOG=loud"}), {"WEFT_LOG='loud'", "error, warn, info, debug"});
}

TEST(config, algorithms_of_collectives_have_to_be_ones_that_there_are) {
  EXPECT_EQ(parse({"WEFT_COLL=allreduce:ring,broadcast:k-nomial"}).coll, "allreduce:ring,broadcast:k-nomial");
  const auto expect_refused = [](const char* entry, const char* why) {
    expect_words(refusal({entry}),
                 {entry + sizeof "WEFT_COLL", why, "allowed: operation:algorithm, separated by commas",
                  "allreduce: linear, recursive-doubling, rabenseifner, ring, two-level"});
  };
  expect_refused("WEFT_COLL=allreduce:rign", "names 'rign', which is no algorithm of allreduce");
  expect_refused("WEFT_COLL=allreduce:", "names '', which is no algorithm of allreduce");
  expect_refused("WEFT_COLL=broadcast:ring", "names 'ring', which is no algorithm of broadcast");
  expect_refused("WEFT_COLL=bcast:binomial", "names 'bcast', which is no operation");
  expect_refused("WEFT_COLL=allreduce:ring,allreduce:ring", "names allreduce twice");
  expect_refused("WEFT_COLL=ring", "has 'ring', where an operation, a colon and an algorithm have to be");
  expect_refused("WEFT_COLL=allreduce:ring,", "has an empty entry");
  expect_refused("WEFT_COLL=,", "has an empty entry");
  expect_refused("WEFT_COLL=,allreduce:ring", "has '', where");
  expect_refused("WEFT_COLL=allreduce:ring, barrier:tree", "names ' barrier', which is no operation");
}

TEST(config, a_value_out_of_range_is_refused) {
  expect_words(refusal({"WEFT_PACKET_COUNT=1"}), {"out of range"});
  expect_words(refusal({"WEFT_PACKET_COUNT=99999999999999999999999"}), {"out of range"});
  expect_words(refusal({"WEFT_UNEXPECTED_BYTES_MAX=18446744073709551615GiB"}), {"out of range"});
  expect_words(refusal({"WEFT_RING_CELLS=100"}), {"not a power of two"});
  expect_words(refusal({"WEFT_PACKET_BYTES=1000"}), {"not such a multiple", "a multiple of 64"});
  expect_words(refusal({"WEFT_SIZE=0"}), {"out of range"});
}

TEST(config, every_row_is_complete_and_takes_its_own_default) {
  std::set<std::string_view> names;
  for (const setting& row : setting_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
    EXPECT_TRUE(row.name.starts_with("WEFT_"));
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_FALSE(allowed_values(row).empty()) << row.name;
    const std::string shown = row.show(row, settings{});
    if (shown.empty()) continue;  // unset by default
    const std::string entry = std::string{row.name} + "=" + shown;
    const settings again = parse({entry.c_str()});
    EXPECT_EQ(row.show(row, again), shown) << row.name;
  }
}

// Each setting of a runtime: a member, the value that it gives, and how the table shows that.
struct member_case {
  const char* name;
  weft::runtime_options given;
  const char* shown;
};

std::vector<member_case> member_cases() {
  using weft::runtime_options;
  return {
      {"WEFT_BIND", runtime_options{.bind = true}, "auto"},
      {"WEFT_PRINT_COUNTERS", runtime_options{.print_counters = true}, "on"},
      {"WEFT_PACKET_COUNT", runtime_options{.packet_count = 64}, "64"},
      {"WEFT_PACKET_BYTES", runtime_options{.packet_bytes = 512}, "512"},
      {"WEFT_RING_CELLS", runtime_options{.ring_cells = 8}, "8"},
      {"WEFT_DEVICES_MAX", runtime_options{.devices_max = 3}, "3"},
      {"WEFT_PROGRESS_POLICY", runtime_options{.progress_policy = weft::progress_policy::all}, "all"},
      {"WEFT_SHARED_BYTES", runtime_options{.shared_bytes = std::size_t{4} << 20}, "4194304"},
      {"WEFT_REGIONS_MAX", runtime_options{.regions_max = 64}, "64"},
      {"WEFT_TRANSPORT", runtime_options{.transport = "self"}, "self"},
      {"WEFT_COLL", runtime_options{.coll = "barrier:tree"}, "barrier:tree"},
      {"WEFT_CHECK", runtime_options{.check = true}, "1"},
      {"WEFT_SIM_SEED", runtime_options{.sim_seed = ~std::size_t{0}}, "18446744073709551615"},
      {"WEFT_SIM_DELAY_PERCENT", runtime_options{.sim_delay_percent = 0}, "0"},
      {"WEFT_SIM_REFUSE_PERCENT", runtime_options{.sim_refuse_percent = 1}, "1"},
      {"WEFT_SIM_DENY_PERCENT", runtime_options{.sim_deny_percent = 100}, "100"},
      {"WEFT_SIM_FAIL", runtime_options{.sim_fail = "read:17"}, "read:17"},
      {"WEFT_SHM_CMA", runtime_options{.shm_cma = false}, "off"},
      {"WEFT_LONG_MESSAGES", runtime_options{.long_messages = weft::long_messages::one_side}, "one_side"},
      {"WEFT_COPY_PIECE_BYTES", runtime_options{.copy_piece_bytes = 65536}, "65536"},
      {"WEFT_OFI_PROVIDER", runtime_options{.ofi_provider = "tcp"}, "tcp"},
      {"WEFT_UNEXPECTED_BYTES_MAX", runtime_options{.unexpected_bytes_max = 0}, "0"},
      {"WEFT_STATE_BYTES_MAX", runtime_options{.state_bytes_max = 1U << 20}, "1048576"},
      {"WEFT_OPERATIONS_MAX", runtime_options{.operations_max = 1}, "1"},
      {"WEFT_RECEIVES_MAX", runtime_options{.receives_max = 2}, "2"},
      {"WEFT_UNEXPECTED_SENDS_MAX", runtime_options{.unexpected_sends_max = 3}, "3"},
      {"WEFT_UNEXPECTED_PACKETS_MAX", runtime_options{.unexpected_packets_max = 4}, "4"},
      {"WEFT_MATCHING_BUCKETS", runtime_options{.matching_buckets = 16}, "16"},
      {"WEFT_FOREIGN_PACKETS_MAX", runtime_options{.foreign_packets_max = 5}, "5"},
      {"WEFT_QUEUE_CAPACITY", runtime_options{.queue_capacity = 6}, "6"},
  };
}

const setting& row_of(std::string_view name) { return *std::ranges::find(setting_table(), name, &setting::name); }

std::string shown(std::string_view name, const settings& in) { return row_of(name).show(row_of(name), in); }

std::string member_refusal(const weft::runtime_options& options, std::vector<const char*> environment = {}) {
  try {
    (void)settings_of_runtime(parse(std::move(environment)), options);
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), weft::errc::configuration);
    return e.what();
  }
  return "accepted";
}

TEST(runtime_options, have_a_member_for_each_setting_of_a_runtime) {
  std::set<std::string_view> tried;
  for (const member_case& each : member_cases()) tried.insert(each.name);
  for (const setting& row : setting_table()) {
    const bool is_runtimes = row.scope != setting_scope::process;
    EXPECT_EQ(row.member != nullptr, is_runtimes) << row.name;
    EXPECT_EQ(tried.contains(row.name), is_runtimes) << row.name << ": member_cases() has the members";
  }
}

TEST(runtime_options, change_one_setting_each) {
  const settings process = parse({"WEFT_TRANSPORT=sim:shm,ofi", "WEFT_CHECK=0"});
  for (const member_case& each : member_cases()) {
    const settings changed = settings_of_runtime(process, each.given);
    EXPECT_EQ(shown(each.name, changed), each.shown);
    EXPECT_NE(shown(each.name, changed), shown(each.name, process)) << each.name << ": the test shows nothing";
    EXPECT_EQ(origin_of(changed, each.name), "runtime_options::" + member_name(row_of(each.name)));
    for (const setting& other : setting_table()) {
      if (other.name == each.name) continue;
      EXPECT_EQ(shown(other.name, changed), shown(other.name, process)) << other.name;
    }
  }
}

TEST(runtime_options, take_precedence_over_the_environment_and_that_over_the_default) {
  const settings process = parse({"WEFT_RECEIVES_MAX=100", "WEFT_OPERATIONS_MAX=200", "WEFT_BIND=auto"});
  const settings is = settings_of_runtime(process, {.receives_max = 7, .bind = false});
  EXPECT_EQ(is.receives_max, 7U);
  EXPECT_EQ(is.operations_max, 200U);
  EXPECT_EQ(is.bind, bind_kind::none);
  EXPECT_EQ(is.queue_capacity, settings{}.queue_capacity);
  EXPECT_EQ(origin_of(is, "WEFT_RECEIVES_MAX"), "runtime_options::receives_max");
  EXPECT_EQ(origin_of(is, "WEFT_OPERATIONS_MAX"), "environment variable WEFT_OPERATIONS_MAX");
}

TEST(runtime_options, out_of_range_are_refused_like_variables) {
  expect_words(member_refusal({.packet_count = 1}),
               {"runtime_options::packet_count='1' is out of range; allowed: a whole number from 64 to 16777216"});
  expect_words(member_refusal({.packet_count = (std::size_t{1} << 32) + 64}), {"'4294967360' is out of range"});
  expect_words(member_refusal({.packet_bytes = 1000}), {"runtime_options::packet_bytes='1000' is not such a multiple"});
  expect_words(member_refusal({.ring_cells = 100}), {"runtime_options::ring_cells='100' is not a power of two"});
  expect_words(member_refusal({.progress_policy = static_cast<weft::progress_policy>(9)}),
               {"runtime_options::progress_policy='9' is not one of the choices", "local, random, all, adaptive"});
  expect_words(member_refusal({.long_messages = static_cast<weft::long_messages>(4)}),
               {"runtime_options::long_messages='4' is not one of the choices", "auto, packets, one_side, both"});
  expect_words(member_refusal({.copy_piece_bytes = 5000}), {"runtime_options::copy_piece_bytes='5000'"});
  expect_words(member_refusal({.copy_piece_bytes = std::size_t{1} << 21}), {"copy_piece_bytes", "is out of range"});
  expect_words(member_refusal({.sim_refuse_percent = 101}), {"runtime_options::sim_refuse_percent='101'"});
  expect_words(member_refusal({.coll = "allreduce:tree"}), {"runtime_options::coll='allreduce:tree' names 'tree'"});
}

TEST(runtime_options, that_have_no_effect_with_the_transports_contradict_them) {
  expect_words(member_refusal({.transport = "self,shm", .sim_fail = "read:1"}),
               {"runtime_options::sim_fail=read:1 contradicts runtime_options::transport=self,shm: no transport is"});
  expect_words(member_refusal({.sim_fail = "read:1"}, {"WEFT_TRANSPORT=shm"}),
               {"contradicts environment variable WEFT_TRANSPORT=shm"});
  expect_words(member_refusal({.ofi_provider = "tcp"}, {"WEFT_TRANSPORT=shm"}),
               {"runtime_options::ofi_provider=tcp contradicts environment variable WEFT_TRANSPORT=shm"});
  // A variable may be meant for other programs.
  EXPECT_EQ(member_refusal({}, {"WEFT_TRANSPORT=shm", "WEFT_SIM_FAIL=read:1", "WEFT_OFI_PROVIDER=tcp"}), "accepted");
  EXPECT_EQ(member_refusal({.transport = "sim:shm,ofi", .ofi_provider = "tcp", .sim_fail = "read:1"}), "accepted");
}

}  // namespace
