#include "net/transports.hpp"

#include "net/self/self_transport.hpp"
#include "net/shm/shm_transport.hpp"

namespace weft::net {
namespace {

template <class Transport>
std::unique_ptr<transport> make(const transport_context& context) {
  return std::make_unique<Transport>(context);
}

struct row {
  std::unique_ptr<transport> (*make)(const transport_context& context);
  std::uint32_t ranks_min;  // a job of fewer ranks has no use for it
};

// In the order of preference for a peer that several of them reach.
constexpr row table[] = {
    {&make<self_transport>, 1},
    {&make<shm::shm_transport>, 2},
};

}  // namespace

std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context) {
  std::vector<std::unique_ptr<transport>> out;
  for (const row& each : table) {
    if (context.boot.size() >= each.ranks_min) out.push_back(each.make(context));
  }
  return out;
}

}  // namespace weft::net
