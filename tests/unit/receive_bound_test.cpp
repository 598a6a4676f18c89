// As many receives as the settings say can be posted, whatever devices keep at hand that nobody uses.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/config.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(receives, can_all_be_posted_beside_devices_that_keep_some_for_nothing) {
  test::local_job{1}.run([](runtime& rt) {
    counter received{rt};
    std::uint64_t word = 0;
    const auto post = [&](device& through) { return through.post_recv(0, std::span{&word, 1}, received); };
    std::deque<device> idle;
    while (idle.size() + 1 < rt.attributes().devices_max) {
      device& mine = idle.emplace_back(rt, device_options{.shared = false});
      const status posted = post(mine);
      ASSERT_TRUE(posted.is_posted());
      ASSERT_EQ(mine.cancel(posted.ticket()), cancel_result::cancelled);
    }
    std::vector<std::uint64_t> tickets;
    const std::uint32_t wanted = base::process_settings().receives_max;
    while (tickets.size() < wanted) {
      const status posted = post(rt.default_device());
      if (!posted.is_posted()) break;
      tickets.push_back(posted.ticket());
    }
    EXPECT_EQ(tickets.size(), wanted);
    for (const std::uint64_t each : tickets) EXPECT_EQ(rt.default_device().cancel(each), cancel_result::cancelled);
  });
}

}  // namespace
}  // namespace weft
