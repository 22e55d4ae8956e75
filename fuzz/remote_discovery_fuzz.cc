// Answers of API servers behind this one: any text is read or refused; what was read from aggregated
// discovery says the same when it is read again, and OpenAPI documents of any shape are filtered, merged and
// converted.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "api/openapi/merge.h"
#include "json/json.h"
#include "server/aggregation/remote_discovery.h"

namespace {

using flyball::json::Value;

// The list that a server with these versions would send.
std::string ListOf(const flyball::server::DiscoveredVersions& versions) {
  flyball::json::Array items;
  for (const auto& [key, resources] : versions)
    items.push_back(flyball::json::Object{
        {"metadata", flyball::json::Object{{"name", key.first}}},
        {"versions",
         flyball::json::Array{flyball::json::Object{{"version", key.second}, {"resources", resources}}}}});
  return flyball::json::Write(
      flyball::json::Object{{"kind", "APIGroupDiscoveryList"}, {"items", std::move(items)}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  flyball::server::IsAggregatedDiscovery(text);
  (void)flyball::server::ReadResourceList(text);
  if (const auto read = flyball::server::ReadAggregatedDiscovery(text)) {
    const auto again = flyball::server::ReadAggregatedDiscovery(ListOf(*read));
    if (!again || *again != *read) std::abort();
  }
  if (auto document = flyball::json::Parse(text, {.max_depth = 200})) {
    flyball::api::FilterOpenApiV2(*document, "/apis/g/v/");
    Value whole =
        flyball::json::Object{{"paths", flyball::json::Object()}, {"definitions", flyball::json::Object()}};
    flyball::api::MergeOpenApiV2(whole, *document);
    flyball::api::ConvertOpenApiV2ToV3(*document);
  }
  return 0;
}
