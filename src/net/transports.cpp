#include "net/transports.hpp"

namespace weft::net {

std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context) {
  std::vector<std::unique_ptr<transport>> out;
  const auto make_one = [&]<class Transport>(Transport*) {
    if (context.boot.size() >= Transport::ranks_min) out.push_back(std::make_unique<Transport>(context));
  };
  [&]<class... Transports>(std::tuple<Transports...>*) {
    (make_one(static_cast<Transports*>(nullptr)), ...);
  }(static_cast<transport_table*>(nullptr));
  return out;
}

}  // namespace weft::net
