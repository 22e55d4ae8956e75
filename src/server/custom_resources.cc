#include "server/custom_resources.h"
namespace flyball::server {
void ValidateCustom(const api::CustomKind&, const json::Value&, const json::Value*, api::FieldErrors&) {}
struct CustomResources::Follower {};
CustomResources::CustomResources(ServerState&, WatchCache&) {}
CustomResources::~CustomResources() = default;
Status CustomResources::Start() {
  return {};
}
}  // namespace flyball::server
