#include "server/request/request_scope.h"

namespace flyball::server {

std::string RequestScope::Manager() const {
  if (!field_manager.empty()) return field_manager;
  // Upstream: the user agent's program name, cut to 128 bytes.
  constexpr std::size_t kMaxManager = 128;
  return user_agent.substr(0, std::min(user_agent.find('/'), kMaxManager));
}

}  // namespace flyball::server
