#include "server/handlers/endpoint.h"

namespace flyball::server {

Endpoint* EndpointTable::Find(const ServedResource& resource, std::string_view subresource) const {
  std::string key = resource.kind->GroupResource();
  if (!subresource.empty()) key += "/" + std::string(subresource);
  auto it = endpoints_.find(key);
  if (it == endpoints_.end() && !subresource.empty()) it = endpoints_.find("*/" + std::string(subresource));
  return it == endpoints_.end() ? nullptr : it->second.get();
}

}  // namespace flyball::server
