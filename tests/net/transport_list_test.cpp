// SPDX-License-Identifier: BSD-3-Clause
// WEFT_TRANSPORT: what may be written, what it means, and which transports a job opens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/config.hpp"
#include "net/transport_list.hpp"
#include "net/transports.hpp"
#include "weft/error.hpp"

namespace weft::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_view_literals;

constexpr std::array known{"self"sv, "shm"sv, "tin"sv};

auto read(std::string_view text, bool standard = false) { return parse_transport_list(text, known, standard); }

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(read(text));
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::configuration);
    return thrown.what();
  }
  return {};
}

TEST(transport_list, is_kept_in_its_order_and_a_ranks_way_to_itself_comes_first) {
  EXPECT_THAT(read("shm"), ElementsAre(listed_transport{"self"}, listed_transport{"shm"}));
  EXPECT_THAT(read("tin,shm"), ElementsAre(listed_transport{"self"}, listed_transport{"tin"}, listed_transport{"shm"}));
  EXPECT_THAT(read("tin,self"), ElementsAre(listed_transport{"self"}, listed_transport{"tin"}));
}

TEST(transport_list, wraps_what_has_sim_before_it) {
  EXPECT_THAT(read("sim:shm,sim:self"), ElementsAre(listed_transport{"self", true}, listed_transport{"shm", true}));
  EXPECT_THAT(read("shm,sim:tin"),
              ElementsAre(listed_transport{"self"}, listed_transport{"shm"}, listed_transport{"tin", true}));
}

TEST(transport_list, refuses_what_is_not_there_and_says_what_is) {
  EXPECT_THAT(refusal("shm,ofy"), HasSubstr("WEFT_TRANSPORT='shm,ofy' names 'ofy', which this Weft does not have"));
  EXPECT_THAT(refusal("sim:ofy"), HasSubstr("allowed: names separated by commas, each once, of self, shm, tin"));
  EXPECT_THAT(refusal("sim"), HasSubstr("names 'sim'"));
  EXPECT_THAT(refusal(" shm"), HasSubstr("names ' shm'"));
}

TEST(transport_list, refuses_what_is_empty_twice_or_wrapped_twice) {
  for (const std::string_view text : {"", ",", "shm,", ",shm", "shm,,tin", "sim:", "shm,sim:"}) {
    EXPECT_THAT(refusal(text), HasSubstr("has an empty name")) << text;
  }
  EXPECT_THAT(refusal("shm,shm"), HasSubstr("names 'shm' twice"));
  EXPECT_THAT(refusal("shm,sim:shm"), HasSubstr("names 'shm' twice"));
  EXPECT_THAT(refusal("self,shm,sim:self"), HasSubstr("names 'self' twice"));
  EXPECT_THAT(refusal("sim:sim:shm"), HasSubstr("wraps a transport twice"));
}

TEST(transport_list, leaves_out_what_is_not_there_where_the_user_did_not_write_it) {
  EXPECT_THAT(read("shm,ofi", true), ElementsAre(listed_transport{"self"}, listed_transport{"shm"}));
}

// The names of the transports that rank 0 of a job of threads opens.
std::vector<std::string> opened(std::uint32_t ranks, const std::string& list) {
  base::settings settings;
  settings.transport = list;
  const auto boots = boot::make_local_job(ranks);
  std::vector<std::vector<std::unique_ptr<transport>>> made(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { made[rank] = make_transports({*boots[rank], settings, "opened"}); });
  }
  for (std::thread& each : threads) each.join();
  std::vector<std::string> out;
  for (const auto& each : made[0]) out.emplace_back(each->name());
  return out;
}

TEST(transport_list, opens_no_transport_that_nobody_needs) {
  const std::string standard = base::settings{}.transport;
  EXPECT_THAT(opened(1, standard), ElementsAre("self"));
  EXPECT_THAT(opened(2, standard), ElementsAre("self", "shm"));  // one machine: no other is asked for
  EXPECT_THAT(opened(3, "self"), ElementsAre("self"));
}

}  // namespace
}  // namespace weft::net
