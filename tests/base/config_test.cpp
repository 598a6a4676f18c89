// stages: release asan
#include "base/config.hpp"

#include <gtest/gtest.h>

#include <set>

#include "weft/error.hpp"

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

TEST(config, buckets_follow_receives_unless_they_are_set) {
  const auto buckets = [](std::vector<const char*> entries) {
    return matching_bucket_count(parse(std::move(entries)));
  };
  EXPECT_EQ(buckets({}), 4096U);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=1"}), 4096U);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=8192"}), 4096U);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=8194"}), 8192U);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=1000000"}), 1U << 19);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=1048576"}), 1U << 19);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=16777216"}), 1U << 20);
  EXPECT_EQ(buckets({"WEFT_RECEIVES_MAX=16777216", "WEFT_MATCHING_BUCKETS=16"}), 16U);
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

}  // namespace
