// Remote procedure calls (yan2025-lci, 4.2.1): four threads of each rank add to a counter of every rank. A handler runs
// once for each call: it asks for the room of its answer before it acts.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint32_t threads = 4, calls = 500, window = 8, serve_id = 1, first_client_id = 10;

// One thread: calls the ranks in turn. The message's bytes say which id the answer goes to; the tag numbers the call.
bool work(weft::device& dev, weft::completion_queue& answers, weft::counter& sent, std::uint32_t id) {
  weft::runtime& rt = dev.runtime();
  std::vector<bool> is_answered(calls);
  for (std::uint32_t posted = 0, got = 0; got < calls;) {
    if (posted < calls && posted - got < window &&
        dev.post_am(posted % rt.size(), {serve_id}, {&id, sizeof id}, sent, {.tag = posted}).is_done()) {
      ++posted;
    }
    if (!dev.progress()) std::this_thread::yield();
    while (const auto answer = answers.pop()) {
      if (is_answered[answer->tag()]) return false;
      is_answered[answer->tag()] = true;
      ++got;
    }
  }
  return true;
}

int main() {
  using answer = weft::completion::answer;
  weft::runtime rt;
  weft::counter sent{rt};
  std::atomic<std::uint64_t> count{0};
  weft::handler serve{rt, [&](weft::completion_record&& request, weft::device& dev) {
                        if (!dev.can_reply()) return answer::full;  // nothing has happened: the call comes again
                        const std::uint64_t before = count.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
                        const auto to = *reinterpret_cast<const std::uint32_t*>(request.data().data());
                        dev.reply(request, {to}, {&before, sizeof before});  // has the tag of the call; is not refused
                        return answer::taken;
                      }};
  const auto requests = rt.register_completion(serve, {.id = serve_id});
  std::atomic<bool> is_right{true};
  std::vector<std::thread> clients;
  for (std::uint32_t id = first_client_id; id < first_client_id + threads; ++id) {
    clients.emplace_back([&, id] {
      weft::completion_queue answers{rt};
      const auto mine = rt.register_completion(answers, {.id = id});
      if (!work(rt.default_device(), answers, sent, id)) is_right = false;
    });
  }
  for (std::thread& each : clients) each.join();
  rt.barrier();  // answers the other ranks until their calls are done
  std::printf("rank %u: %u calls were answered, %u came here\n", rt.rank(), threads * calls, unsigned(count));
  const std::uint32_t of_each_thread = (calls - rt.rank() + rt.size() - 1) / rt.size();
  return is_right && count == of_each_thread * threads * rt.size() ? 0 : 1;
}
