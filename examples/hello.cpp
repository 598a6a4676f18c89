// Every rank greets the next one.
#include <cstdio>
#include <string>

#include <weft/weft.hpp>

int main() {
  weft::runtime rt;                  // who am I, how many are we: the launcher says; alone it is rank 0 of 1
  weft::completion_queue inbox{rt};  // what arrives here
  weft::counter sent{rt};            // counts posts that complete later
  const auto arrivals = rt.register_completion(inbox, {.id = 1});  // peers name the inbox by this id

  weft::device& dev = rt.default_device();
  const std::string text = "hello from rank " + std::to_string(rt.rank());
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  dev.until_accepted([&] { return dev.post_am(next, {.id = 1}, text, sent); });

  const auto message = dev.wait(inbox);
  const std::string heard(reinterpret_cast<const char*>(message->data().data()), message->bytes());
  std::printf("rank %u of %u: '%s'\n", rt.rank(), rt.size(), heard.c_str());
  dev.wait_all(sent);  // `text` is ours again: a long one is fetched by its receiver
  rt.barrier();        // no rank ends while another one still works
}
