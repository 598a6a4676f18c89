// Servers that end when all clients are done. Every second rank is a server. It waits for a message of each client, and
// answers requests meanwhile, as a wait makes progress. A client says that it is done once it has all its answers: then
// no request of it is under way.
#include <cstdint>
#include <cstdio>
#include <span>

#include <weft/weft.hpp>

constexpr std::uint32_t requests_id = 1, answers_id = 2, done_id = 3, requests = 100;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  std::uint32_t served = 0;  // one thread makes progress here: it alone runs the handler
  weft::handler serve{rt, [&](weft::completion_record&& request, weft::device& poller) {
                        if (!poller.can_reply()) return weft::completion::answer::full;  // the request comes again
                        ++served;
                        const std::uint64_t square = request.tag() * request.tag();
                        poller.reply(request, {answers_id}, {&square, sizeof square});
                        return weft::completion::answer::taken;
                      }};
  weft::counter answers{rt}, done{rt}, sent{rt};
  const auto to_serve = rt.register_completion(serve, {.id = requests_id});
  const auto to_answers = rt.register_completion(answers, {.id = answers_id});
  const auto to_done = rt.register_completion(done, {.id = done_id});

  const std::uint32_t servers = (rt.size() + 1) / 2, clients = rt.size() - servers;
  if (rt.rank() % 2 == 0) {
    dev.wait(done, clients);
    std::printf("rank %u: has served %u requests\n", rt.rank(), served);
  } else {
    for (std::uint32_t i = 0; i < requests; ++i) {
      const std::uint32_t server = (rt.rank() - 1 + 2 * i) % (2 * servers);
      dev.until_accepted([&] { return dev.post_am(server, {requests_id}, {}, sent, {.tag = i}); });
    }
    dev.wait(answers, requests);
    for (std::uint32_t server = 0; server < rt.size(); server += 2)
      dev.until_accepted([&] { return dev.post_am(server, {done_id}, {}, sent); });
    std::printf("rank %u: has %u answers\n", rt.rank(), static_cast<unsigned>(answers.value()));
  }
  dev.wait_all(sent);
  rt.barrier();  // makes progress, so that answers that were kept are sent
}
