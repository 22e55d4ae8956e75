// The options of list and watch requests, checked as upstream checks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/select/selector.h"
#include "base/values/result.h"
#include "server/cache/watch_cache.h"
#include "server/request/request_info.h"

namespace flyball::server {

struct ListOptions {
  api::LabelSelector labels;
  api::FieldSelector fields;
  std::int64_t limit = 0;
  std::string continue_token;
  std::optional<store::Revision> resource_version;  // nullopt: not given
  std::string version_match;                        // "", "Exact", "NotOlderThan"
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<std::int64_t> timeout_seconds;
};

Result<ListOptions> ParseListOptions(const RequestInfo& info, const api::KindInfo& kind, bool watch);

// The only option of GET: the version that the answer may not be older than; 0 if none was given.
Result<store::Revision> ParseGetVersion(const RequestInfo& info);

// The selectors and the request's namespace as a filter of the cache.
ObjectFilter FilterOf(const RequestInfo& info, const ListOptions& options);

// Where a paged list goes on: the version it is of, and the first key not yet sent: "ns/name" or "name" in
// the resource. In the token's text it is relative to the namespace that is listed.
struct ContinueToken {
  store::Revision revision = 0;  // -1: the newest (an inconsistent continuation)
  std::string start_key;
};
std::string EncodeContinue(const ContinueToken& token, std::string_view namespace_name);
Result<ContinueToken> DecodeContinue(std::string_view text, std::string_view namespace_name);

}  // namespace flyball::server
