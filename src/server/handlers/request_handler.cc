#include "server/handlers/request_handler.h"

#include <charconv>

#include "api/custom/custom_kind.h"
#include "api/values/duration.h"
#include "api/wire/protobuf.h"
#include "base/observe/log.h"
#include "json/json.h"
#include "json/yaml/yaml.h"
#include "server/auth/impersonation.h"
#include "server/auth/request_authorization.h"
#include "server/handlers/read_handlers.h"
#include "server/handlers/write_handlers.h"
#include "server/registry/object_codec.h"
#include "server/request/api_errors.h"
#include "server/request/negotiation.h"

namespace flyball::server {
namespace {

using MaybeAnswer = Result<std::optional<Answer>>;

// The one built-in kind of the API that is on its way out.
constexpr std::string_view kEndpointsDeprecated =
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

MaybeAnswer Wrap(Result<Answer> answer) {
  if (!answer) return Unexpected(answer.error());
  return std::optional(std::move(*answer));
}

// Documents that are not negotiated (health, version, OpenAPI) stay as they are.
bool IsNegotiated(const RequestScope& scope, const Answer& answer) {
  const auto& path = scope.info.path;
  const bool api = scope.info.is_resource || path == "/api" || path.starts_with("/api/") || path == "/apis" ||
                   path.starts_with("/apis/");
  return answer.content_type == "application/json" && !answer.body.empty() && (api || answer.code >= 400);
}

// Whether the path is one of the resource's: authorisation was asked about info.namespace_name, so the
// objects that are acted on must be in it. Those outside namespaces have no path inside one. The Namespace
// object itself is authorised as if it were in the namespace it is (upstream: RequestInfo).
bool HasRoute(const RequestInfo& info, const ServedResource& resource) {
  const auto& kind = *resource.kind;
  if (info.in_namespace) return kind.namespaced;
  if (!kind.namespaced)
    return info.namespace_name.empty() || (kind.group.empty() && kind.plural == "namespaces");
  return info.name.empty();
}

// Browsers and command-line tools get text that people can read (upstream: isPrettyPrint).
bool IsForPeople(const RequestScope& scope) {
  if (scope.info.query.Has("pretty")) {
    const auto asked = scope.info.query.Get("pretty");
    return asked == "true" || asked == "1";
  }
  const auto& agent = scope.user_agent;
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

// Handlers answer in JSON; what the client prefers is made from it.
void EncodeAsAsked(const RequestScope& scope, const net::Request& request, Answer& answer) {
  if (answer.encoded || !IsNegotiated(scope, answer)) return;
  const auto format = NegotiateObject(request.headers.Get("accept"), true);
  const bool protobuf = format && format->protobuf, yaml = format && format->yaml;
  if (!protobuf && !yaml && !IsForPeople(scope)) return;
  const auto value = json::Parse(answer.body);
  if (!value) return;
  if (yaml) {
    answer.body = json::WriteYaml(*value);
    answer.content_type = "application/yaml";
    return;
  }
  if (!protobuf) {
    answer.body = json::WritePretty(*value, 2);
    return;
  }
  auto message = api::EncodeProtobufAnswer(*value);
  if (!message) return;
  answer.body = std::move(*message);
  answer.content_type = "application/vnd.kubernetes.protobuf";
}

// The client may give an id of its own, to find the request again.
std::string AuditId(const net::Request& request, Random& random) {
  constexpr std::size_t kMaxAuditId = 64;
  const auto given = request.headers.Get("audit-id");
  return given.empty() || given.size() > kMaxAuditId ? random.Uuid() : std::string(given);
}

// The time the client allows, in the query; zero if it says nothing (upstream: WithRequestDeadline).
Result<Duration> TimeoutAsked(const RequestInfo& info) {
  const auto text = info.query.Get("timeout");
  if (text.empty()) return Duration::zero();
  auto timeout = api::ParseDuration(text);
  if (!timeout)
    return Unexpected(
        BadRequest("invalid timeout specified in the request URL - " + timeout.error().message()));
  return *timeout;
}

// Documents that are made when they are asked for, and take a while; of a store that is elsewhere, its
// health.
bool IsLargeDocument(const RequestInfo& info, const ServerState& state) {
  const bool health = info.path.starts_with("/healthz") || info.path.starts_with("/livez") ||
                      info.path.starts_with("/readyz");
  return info.path.starts_with("/openapi/") || info.path == "/metrics" || (health && state.store.shared());
}

// The store whose newest changes, by other servers, must be in the cache before the request looks at it;
// null: none. A create only looks for its namespace, which is missing here if another server has just made
// it.
store::Store* StoreToCatchUpWith(const ServerState& state, const RequestScope& scope) {
  if (!state.store.shared()) return nullptr;
  const auto& info = scope.info;
  if (info.verb == "create") {
    if (!scope.resource->kind->namespaced) return nullptr;
    const auto namespaces = state.catalog.Find("", "v1", "namespaces");
    const bool unknown = namespaces && namespaces->cache && !namespaces->cache->Get(info.namespace_name);
    return unknown ? &state.store.PartOf(namespaces->prefix) : nullptr;
  }
  store::Store& part = state.store.PartOf(scope.resource->prefix);
  if (info.verb != "get" && info.verb != "list" && info.verb != "watch") return &part;
  const auto version = info.query.Get("resourceVersion");
  if (version.empty() || !scope.resource->cache) return &part;
  store::Revision wanted = 0;
  std::from_chars(version.data(), version.data() + version.size(), wanted);
  return wanted > scope.resource->cache->revision() ? &part : nullptr;
}

// What the request brought, for the audit log: an object as it was understood, with its defaults; a patch and
// options as they were sent. Null if it made no sense.
json::Value RequestObject(const RequestScope& scope, const net::Request& request) {
  if (request.body.empty()) return {};
  const auto& info = scope.info;
  const bool object = (info.verb == "create" || info.verb == "update") && scope.resource &&
                      (info.subresource.empty() || info.subresource == "status");
  if (object) {
    RequestScope own = scope;  // decoding notes warnings, which the request has already
    auto decoded = DecodeObject(own, *scope.resource, request.headers.Get("content-type"), request.body);
    return decoded ? std::move(*decoded) : json::Value();
  }
  auto parsed = json::ParseYaml(request.body);
  return parsed ? std::move(*parsed) : json::Value();
}

Error Panicked(std::string_view what) {
  return InternalError("panic: " + std::string(what));
}

}  // namespace

Task<Status> RequestHandler::Identify(const net::Request& request, RequestScope& scope,
                                      AuditTrail& trail) const {
  const SteadyTime began = state_.clock().Steady();
  auto user = co_await state_.authenticator.Authenticate(request, scope.executor);
  identity_metrics_.Authenticated(user ? &*user : nullptr, state_.clock().Steady() - began);
  if (!user) co_return Unexpected(user.error());
  scope.user = std::move(*user);
  if (audit_.enabled()) FLYBALL_CO_TRY(co_await trail.Received());
  FLYBALL_CO_ASSIGN(User target, co_await Impersonate(request, scope.user, state_.authorizer,
                                                      AttributesOf(scope), scope.executor));
  if (target == scope.user) co_return Status();
  scope.impersonator = std::exchange(scope.user, std::move(target));
  co_return Status();
}

Task<Status> RequestHandler::Authorize(RequestScope& scope) const {
  const auto attributes = AttributesOf(scope);
  const SteadyTime began = state_.clock().Steady();
  const auto verdict = co_await state_.authorizer.Authorize(attributes, scope.executor);
  identity_metrics_.Authorized(verdict, state_.clock().Steady() - began);
  const bool allowed = verdict.decision == Decision::kAllow;
  if (audit_.enabled()) {
    scope.audit_annotations["authorization.k8s.io/decision"] = allowed ? "allow" : "forbid";
    scope.audit_annotations["authorization.k8s.io/reason"] = verdict.reason;
  }
  if (allowed) co_return Status();
  if (verdict.error) co_return Unexpected(*verdict.error);
  co_return Unexpected(ForbiddenError(attributes, verdict.reason));
}

Task<void> RequestHandler::Handle(std::shared_ptr<net::Request> request,
                                  std::shared_ptr<net::ResponseStream> stream) {
  auto info = ParseRequestInfo(request->method, request->target);
  if (!info) {
    SendAnswer(*stream, ErrorAnswer(info.error()), {});
    co_return;
  }
  const auto user_agent = request->headers.Get("user-agent");
  std::optional<RequestDrain::Ticket> under_way;
  if (!RequestDrain::IsExempt(info->path, user_agent)) {
    under_way = drain_.Enter(!IsLongRunning(*info));
    if (!under_way) {
      SendAnswer(*stream, RequestDrain::Refusal(), {});
      co_return;
    }
  }
  RequestScope scope(std::move(*info), {}, stream->executor(), state_.clock().Now());
  scope.user_agent = user_agent;
  scope.audit_id = AuditId(*request, state_.random);
  scope.audited = audit_.enabled();
  AuditTrail trail(audit_, scope, *request, state_.clock());
  std::optional<Answer> answer;
  std::optional<Error> error;
  std::string panic;
  std::optional<RequestDeadlines::Running> running;
  try {
    const bool long_running = IsLongRunning(scope.info);
    const auto timeout = TimeoutAsked(scope.info);
    if (!long_running && timeout) {
      running.emplace(deadlines_->Start(std::make_shared<RequestLife>(stream, scope.audit_id), *timeout));
      scope.life = running->life();
    }
    if (!long_running && !timeout) {
      error = timeout.error();
    } else {
      auto routed = co_await Route(scope, *request, trail, stream);
      if (!routed) {
        error = routed.error();
      } else {
        answer = std::move(*routed);
      }
    }
  } catch (const std::exception& e) {
    panic = e.what();
  }
  if (!panic.empty()) {
    log::Error("a request handler failed", {{"path", scope.info.path}, {"error", panic}});
    error = Panicked(panic);
  }
  if (error) answer = ErrorAnswer(*error, scope.unlisted_reason);
  int code = scope.relayed_status.value_or(200);
  if (answer) trail.NoteResponse(*answer);
  if (answer) code = co_await SendFinal(scope, *request, *stream, *answer);
  const TimePoint finished = state_.clock().Now();
  request_metrics_.Record(scope, code, finished - scope.now);
  if (!audit_.enabled()) co_return;
  // No temporaries of classes inside the co_await: g++ 12 destroys them twice.
  json::Value object;
  if (trail.WantsRequest()) object = RequestObject(scope, *request);
  const Error* const failure = error ? &*error : nullptr;
  co_await trail.Finished(code, failure, panic, std::move(object));
}

Task<int> RequestHandler::SendFinal(RequestScope& scope, const net::Request& request,
                                    net::ResponseStream& stream, Answer& answer) {
  constexpr int kTimedOut = 504;
  EncodeAsAsked(scope, request, answer);
  if (scope.life && !scope.life->TakeAnswer()) co_return kTimedOut;
  const int code = answer.code;
  if (request.method == "HEAD") answer.body.clear();
  AddScopeHeaders(scope, answer.headers);
  if (answer.source) {
    co_await StreamAnswer(stream, std::move(answer), scope);
  } else {
    SendAnswer(stream, std::move(answer), scope.warnings);
  }
  co_return code;
}

Task<Status> RequestHandler::MoveToWorker(RequestScope& scope) const {
  co_await state_.ContinueOnWorker(scope);
  co_return scope.CheckAlive();
}

Task<MaybeAnswer> RequestHandler::Route(RequestScope& scope, const net::Request& request, AuditTrail& trail,
                                        std::shared_ptr<net::ResponseStream> stream) {
  FLYBALL_CO_TRY(co_await Identify(request, scope, trail));
  stream = trail.WatchStart(std::move(stream));
  if (scope.info.is_resource)
    scope.resource = state_.catalog.Find(scope.info.group, scope.info.version, scope.info.resource);
  if (scope.resource && scope.resource->disabled) scope.resource = nullptr;
  auto remote = aggregator_.Find(scope.info);
  if (remote) scope.resource = nullptr;
  const WorkSize work = EstimateWork(scope.info, request, scope.resource.get());
  FLYBALL_CO_ASSIGN(FlowControl::Ticket ticket, co_await flow_.Admit(scope, work));
  FLYBALL_CO_TRY(scope.CheckAlive());
  FLYBALL_CO_TRY(co_await Authorize(scope));
  if (remote) {
    ticket = FlowControl::Ticket();  // the other server's work is limited there
    auto served = aggregator_.Serve(std::move(remote), scope, request, std::move(stream));
    co_return co_await std::move(served);
  }
  if (!IsLongRunning(scope.info) && (work.IsLarge() || IsLargeDocument(scope.info, state_)))
    FLYBALL_CO_TRY(co_await MoveToWorker(scope));
  if (scope.info.is_resource) co_return co_await RouteResource(scope, request, std::move(stream));
  auto page = documents_.Get(scope, request);
  if (!page) co_return Unexpected(page.error());
  if (!*page) co_return std::optional(TextAnswer(404, "404 page not found\n"));
  const bool discovery =
      scope.info.path.starts_with("/api") && scope.info.path != "/apis" && (*page)->code < 400;
  if (request.method != "GET" && (request.method != "HEAD" || discovery))
    co_return Unexpected(MethodNotAllowed());
  co_return page;
}

Task<Status> RequestHandler::CatchUp(RequestScope& scope) const {
  store::Store* const part = StoreToCatchUpWith(state_, scope);
  if (!part) co_return Status();
  auto start = [part](UniqueFunction<void(Status)> done) { part->CatchUp(std::move(done)); };
  auto caught_up = Callback<Status>(scope.executor, std::move(start));
  co_return co_await caught_up;
}

Task<MaybeAnswer> RequestHandler::RouteResource(RequestScope& scope, const net::Request& request,
                                                std::shared_ptr<net::ResponseStream> stream) {
  const auto& info = scope.info;
  if (!scope.resource && !state_.catalog.snapshot()->HasGroup(info.group))
    co_return std::optional(TextAnswer(404, "404 page not found\n"));
  if (!scope.resource) co_return Unexpected(NoSuchResource());
  const auto& kind = *scope.resource->kind;
  if (!HasRoute(info, *scope.resource)) {
    if (scope.resource->custom) co_return std::optional(TextAnswer(404, "404 page not found\n"));
    co_return Unexpected(NoSuchResource());
  }

  if (scope.resource->custom) FLYBALL_CO_TRY(NegotiateText(request.headers.Get("accept"), true));
  if (scope.resource->custom && !scope.resource->custom->deprecation_warning().empty())
    scope.warnings.push_back(scope.resource->custom->deprecation_warning());
  if (!scope.resource->custom && kind.kind == "Endpoints" && kind.group.empty())
    scope.warnings.emplace_back(kEndpointsDeprecated);

  std::string_view verbs = kind.verbs;
  if (!info.subresource.empty()) {
    const auto* subresource = kind.FindSubresource(info.subresource);
    if (!subresource && scope.resource->custom) co_return Unexpected(NotFound(kind, info.name));
    if (!subresource) co_return Unexpected(NoSuchResource());
    verbs = subresource->verbs;
  }
  const bool proxy = info.subresource == "proxy";
  if (!info.rest.empty() && !proxy) co_return Unexpected(NoSuchResource());
  if (request.method == "HEAD" && !proxy) co_return Unexpected(MethodNotAllowed());
  // What is behind a proxy may know methods that no verb stands for.
  const bool relayed = proxy && request.method == "OPTIONS";
  if (!relayed && !HasVerb(verbs, info.verb)) co_return Unexpected(MethodNotAllowed());
  if (info.name.empty() && (info.verb == "update" || info.verb == "patch"))
    co_return Unexpected(MethodNotAllowed());
  // The object says its name; only what belongs to an object is created below it.
  if (info.verb == "create" && !info.name.empty() && info.subresource.empty())
    co_return Unexpected(MethodNotAllowed());
  // Creating and deleting collections happens inside one namespace.
  if (kind.namespaced && info.namespace_name.empty() &&
      (info.verb == "create" || info.verb == "deletecollection"))
    co_return Unexpected(MethodNotAllowed());

  if (info.verb == "create" && scope.resource->terminating)
    co_return Unexpected(DefinitionTerminating(kind, info.verb));

  FLYBALL_CO_TRY(co_await CatchUp(scope));
  if (scope.resource->cache) FLYBALL_CO_TRY(scope.resource->cache->readable());
  if (auto* endpoint = endpoints_.Find(*scope.resource, info.subresource))
    co_return co_await endpoint->Handle(state_, scope, request, std::move(stream));
  if (!scope.resource->cache || (!info.subresource.empty() && info.subresource != "status"))
    co_return Unexpected(
        Error(Reason::kUnknown, 501,
              "flyball does not implement " + std::string(kind.plural) + "/" + info.subresource + " yet"));
  if (info.verb == "watch") {
    FLYBALL_CO_TRY(co_await HandleWatch(state_, scope, request, std::move(stream)));
    co_return std::optional<Answer>();
  }
  if (info.verb == "get") co_return Wrap(co_await HandleGet(state_, scope, request));
  if (info.verb == "list") co_return Wrap(co_await HandleList(state_, scope, request));
  if (info.verb == "create") co_return Wrap(co_await HandleCreate(state_, scope, request));
  if (info.verb == "update") co_return Wrap(co_await HandleUpdate(state_, scope, request));
  if (info.verb == "patch") co_return Wrap(co_await HandlePatch(state_, scope, request));
  if (info.verb == "delete") co_return Wrap(co_await HandleDelete(state_, scope, request));
  co_return Wrap(co_await HandleDeleteCollection(state_, scope, request));
}

}  // namespace flyball::server
