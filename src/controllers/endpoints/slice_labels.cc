#include "controllers/endpoints/slice_labels.h"

namespace flyball::controllers {

std::vector<ObjectKey> ServiceOf(const EndpointSlice& slice, std::string_view manager) {
  const auto managed = slice.metadata.labels.find(kSliceManagedBy);
  if (managed == slice.metadata.labels.end() || managed->second != manager) return {};
  const auto service = slice.metadata.labels.find(kServiceName);
  if (service == slice.metadata.labels.end()) return {};
  return {ObjectKey{slice.metadata.namespace_, service->second}};
}

std::vector<std::string> ServiceIndexOf(const EndpointSlice& slice, std::string_view manager) {
  std::vector<std::string> values;
  for (const ObjectKey& key : ServiceOf(slice, manager)) values.push_back(key.ToString());
  return values;
}

}  // namespace flyball::controllers
