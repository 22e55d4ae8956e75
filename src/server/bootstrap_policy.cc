#include "server/rbac.h"
namespace flyball::server {
std::vector<json::Value> BootstrapPolicy() {
  return {};
}
}  // namespace flyball::server
