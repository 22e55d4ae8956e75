#include "server/handlers/read_handlers.h"

#include <algorithm>

#include "api/schema/go_type_name.h"
#include "api/values/go_text.h"
#include "api/wire/status.h"
#include "json/json.h"
#include "server/catalog/served_forms.h"
#include "server/request/api_errors.h"
#include "server/request/list_options.h"
#include "server/request/presentation.h"
#include "server/request/work_size.h"

namespace flyball::server {
namespace {

// How long a read of a version that is not there yet waits for it (upstream: blockTimeout).
constexpr Duration kFutureVersionWait = std::chrono::seconds(3);
constexpr int kRetryFutureVersion = 1;

// What a table's rows hold beside their cells.
Status CheckIncludeObject(std::string_view include) {
  if (include.empty() || include == "Metadata" || include == "Object" || include == "None") return {};
  return Unexpected(BadRequest("Unable to convert to Table as requested: includeObject: Invalid value: " +
                               api::GoQuote(include) + ": must be 'Metadata', 'Object', 'None', or empty"));
}

// Metadata of one object and of a list are asked for by different names.
Status CheckMetadataForm(const ServedResource& resource, const AnswerFormat& format, bool list) {
  if (format.form != AnswerForm::kPartialMetadata || format.list == list) return {};
  const std::string asked = list ? "PartialObjectMetadata" : "PartialObjectMetadataList";
  const std::string type =
      resource.custom ? "unstructured.Unstructured"
                      : api::GoPackageOf(resource.kind->group) + "." + std::string(resource.kind->kind);
  return Unexpected(Error(Reason::kNotAcceptable, 406,
                          "you requested " + asked + ", but the requested object is " +
                              (list ? "a list (*" + type + "List)" : "not a list (*" + type + ")")));
}

Result<Presenter> PresenterFor(const RequestScope& scope, const net::Request& request) {
  const bool list = scope.info.verb == "list";
  FLYBALL_ASSIGN(const AnswerFormat format, NegotiateObject(request.headers.Get("accept"), true, list));
  if (list) FLYBALL_TRY(CheckMetadataForm(*scope.resource, format, list));
  const auto include = scope.info.query.Get("includeObject");
  if (format.form == AnswerForm::kTable) FLYBALL_TRY(CheckIncludeObject(include));
  return Presenter(scope.resource, PresentedFormat(scope, format), scope.now, include);
}

Task<Status> WaitForVersion(RequestScope& scope, store::Revision wanted) {
  const ResourceCache& cache = *scope.resource->cache;
  if (wanted <= cache.revision()) co_return Status();
  auto start = [&scope](UniqueFunction<void(bool)> done) {
    scope.executor.get().PostAfter(kFutureVersionWait, [done = std::move(done)] { done(true); });
  };
  auto pause = Callback<bool>(scope.executor, std::move(start));
  co_await pause;
  if (wanted <= cache.revision()) co_return Status();
  co_return Unexpected(TooLargeResourceVersion(wanted, cache.revision(), kRetryFutureVersion));
}

// A page of a state that is older than the cache remembers, from the store's history.
Result<ListSnapshot> ListFromStore(ServerState& state, const ServedResource& resource,
                                   const ObjectFilter& filter, const ListPage& page) {
  const std::string prefix =
      filter.namespace_name.empty() ? resource.prefix : resource.prefix + filter.namespace_name + "/";
  store::RangeOptions options{.revision = page.revision};
  if (!page.start.empty()) options.start = resource.prefix + page.start;
  if (!filter.selective()) options.limit = page.limit;
  FLYBALL_ASSIGN(auto range, state.store.Range(prefix, options));
  ListSnapshot snapshot{.revision = page.revision, .more = range.more, .remaining = range.remaining};
  for (auto& item : range.items) {
    if (page.go_on) FLYBALL_TRY(page.go_on());
    FLYBALL_ASSIGN(auto object, resource.cache->Build(item.value, item.mod_revision));
    if (!filter.Accepts(*object)) continue;
    snapshot.more |= page.limit > 0 && snapshot.objects.size() == page.limit;
    if (snapshot.more && snapshot.objects.size() == page.limit) break;
    snapshot.objects.push_back(std::move(object));
  }
  return snapshot;
}

Result<ListSnapshot> ListPageOf(ServerState& state, const ServedResource& resource,
                                const ObjectFilter& filter, const ListPage& page) {
  // The cache of a quiet kind remembers more than the store. What is compacted is gone for clients all the
  // same: pages that belong together end with the store's history, whatever the kind.
  const bool compacted =
      page.revision > 0 && page.revision < state.store.PartOf(resource.prefix).CompactedRevision();
  if (!compacted) {
    auto snapshot = resource.cache->List(filter, page);
    if (snapshot || !snapshot.error().Is(Reason::kExpired)) return snapshot;
  }
  return ListFromStore(state, resource, filter, page);
}

// The same where objects are selected in the version that is asked for. What other servers convert may take
// long: the request waits, and nobody else.
Task<Result<ListSnapshot>> ListServed(ServerState& state, RequestScope& scope, const ObjectFilter& filter,
                                      ListPage page) {
  const auto& resource = *scope.resource;
  if (!resource.selects_converted) co_return ListPageOf(state, resource, filter, page);
  const std::size_t limit = page.limit;
  const bool selects = filter.SelectsByContent();
  if (selects) page.limit = 0;
  FLYBALL_CO_ASSIGN(ListSnapshot snapshot, ListPageOf(state, resource, filter.ByName(), page));
  FLYBALL_CO_ASSIGN(snapshot.objects,
                    co_await ServedForms(resource, std::move(snapshot.objects), scope.executor));
  if (!selects) co_return snapshot;
  std::erase_if(snapshot.objects, [&](const ObjectPtr& object) { return !filter.Accepts(*object); });
  snapshot.more = limit > 0 && snapshot.objects.size() > limit;
  if (snapshot.more) snapshot.objects.resize(limit);
  co_return snapshot;
}

constexpr std::string_view kTooOldToContinue =
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list.";

std::string KeyOf(const StoredObject& object) {
  return ServedResource::CacheKey(object.namespace_name(), object.name());
}

ListMeta MetaOf(const ListSnapshot& snapshot, const ObjectFilter& filter, std::string_view namespace_name) {
  ListMeta meta{snapshot.revision};
  if (!snapshot.more || snapshot.objects.empty()) return meta;
  // Upstream's start key is the last one sent with a NUL behind it: the smallest key after it.
  meta.continue_token =
      EncodeContinue({snapshot.revision, KeyOf(*snapshot.objects.back()) + '\0'}, namespace_name);
  if (!filter.selective()) meta.remaining = static_cast<std::int64_t>(snapshot.remaining);
  return meta;
}

bool IsExact(const ListOptions& options) {
  const bool versioned = options.resource_version.value_or(0) != 0;
  return versioned &&
         (options.version_match == "Exact" || (options.limit > 0 && options.version_match.empty()));
}

// The page that is wanted. A version that has to be met exactly is not waited for.
Task<Result<ListPage>> PageOf(RequestScope& scope, const ListOptions& options) {
  const store::Revision version = options.resource_version.value_or(0);
  ContinueToken from;
  if (!options.continue_token.empty()) {
    FLYBALL_CO_ASSIGN(from, DecodeContinue(options.continue_token, scope.info.namespace_name));
  } else if (IsExact(options)) {
    from.revision = version;
  } else {
    FLYBALL_CO_TRY(co_await WaitForVersion(scope, version));
  }
  if (const auto newest = scope.resource->cache->revision(); from.revision > newest)
    co_return Unexpected(TooLargeResourceVersion(from.revision, newest, 0));
  ListPage page{from.start_key, static_cast<std::size_t>(options.limit),
                std::max<store::Revision>(from.revision, 0), [&scope] { return scope.CheckAlive(); }};
  // A list at version 0 takes what is cached, whole (upstream ignores the limit too).
  if (options.resource_version == 0) page.limit = 0;
  co_return page;
}

}  // namespace

Answer ExpiredContinue(const std::string& token) {
  json::Value status = api::StatusFromError(Expired(kTooOldToContinue));
  status["metadata"]["continue"] = token;
  return {410, "application/json", json::Write(status)};
}

Task<Result<RequestedList>> ListRequested(ServerState& state, RequestScope& scope) {
  const auto& resource = *scope.resource;
  FLYBALL_CO_ASSIGN(const ListOptions options, ParseListOptions(scope.info, *resource.kind, false));
  const ObjectFilter filter = FilterOf(scope.info, options);
  FLYBALL_CO_ASSIGN(const ListPage page, co_await PageOf(scope, options));
  // The past may have to be read from the store, which takes a while if that is elsewhere.
  if (page.revision > 0 && state.store.shared()) co_await state.ContinueOnWorker(scope);
  auto listing = ListServed(state, scope, filter, page);
  auto snapshot = co_await std::move(listing);
  RequestedList list;
  if (!snapshot && snapshot.error().Is(Reason::kExpired) && !page.start.empty()) {
    list.expired_token = EncodeContinue({-1, page.start}, scope.info.namespace_name);
    co_return list;
  }
  if (!snapshot && snapshot.error().Is(Reason::kExpired))
    co_return Unexpected(Expired("The resourceVersion for the provided list is too old."));
  if (!snapshot) co_return Unexpected(snapshot.error());
  list.meta = MetaOf(*snapshot, filter, scope.info.namespace_name);
  list.snapshot = std::move(*snapshot);
  co_return list;
}

Task<Result<Answer>> HandleGet(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_ASSIGN(const Presenter presenter, PresenterFor(scope, request));
  FLYBALL_CO_ASSIGN(const store::Revision version, ParseGetVersion(scope.info));
  FLYBALL_CO_TRY(co_await WaitForVersion(scope, version));
  const auto& info = scope.info;
  const auto stored = scope.resource->cache->Get(
      ServedResource::CacheKey(scope.resource->kind->namespaced ? info.namespace_name : "", info.name));
  if (!stored) co_return Unexpected(NotFound(*scope.resource->kind, info.name));
  FLYBALL_CO_TRY(CheckMetadataForm(*scope.resource, presenter.format(), false));
  FLYBALL_CO_ASSIGN(const ObjectPtr object, co_await ServedForm(*scope.resource, stored, scope.executor));
  if (WorkSize{1, object->size()}.IsLarge()) co_await state.ContinueOnWorker(scope);
  co_return presenter.Object(*object);
}

Task<Result<Answer>> HandleList(ServerState& state, RequestScope& scope, const net::Request& request) {
  FLYBALL_CO_ASSIGN(const Presenter presenter, PresenterFor(scope, request));
  FLYBALL_CO_ASSIGN(RequestedList list, co_await ListRequested(state, scope));
  if (!list.expired_token.empty()) co_return ExpiredContinue(list.expired_token);
  Answer answer;
  presenter.AnswerList(std::move(list.snapshot.objects), list.meta, answer);
  co_return answer;
}

}  // namespace flyball::server
