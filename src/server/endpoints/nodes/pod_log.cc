#include "server/endpoints/nodes/pod_log.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/rules/field_error.h"
#include "api/rules/format.h"
#include "api/values/time.h"
#include "server/auth/bearer_token.h"
#include "server/endpoints/nodes/node_location.h"
#include "server/forward/message_stream.h"
#include "server/forward/relay.h"
#include "server/request/api_errors.h"

namespace flyball::server {
namespace {

Result<std::optional<std::int64_t>> LogNumber(const Query& query, std::string_view name) {
  const std::string_view text = query.Get(name);
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec == std::errc() && end == text.data() + text.size()) return value;
  return Unexpected(BadRequest("strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax"));
}

// How the node is asked: upstream's PodLogOptions, checked as upstream checks them.
Result<std::string> LogQuery(const RequestScope& scope) {
  const Query& query = scope.info.query;
  FLYBALL_ASSIGN(const auto tail, LogNumber(query, "tailLines"));
  FLYBALL_ASSIGN(const auto bytes, LogNumber(query, "limitBytes"));
  FLYBALL_ASSIGN(auto seconds, LogNumber(query, "sinceSeconds"));
  std::optional<api::Time> time;
  if (const auto since = query.Get("sinceTime"); !since.empty()) {
    FLYBALL_ASSIGN(time, api::ParseTime(since));
  }
  api::FieldErrors errors;
  if (tail && *tail < 0) errors.Invalid(api::FieldPath("tailLines"), *tail, api::kNotNegativeText);
  if (bytes && *bytes < 1) errors.Invalid(api::FieldPath("limitBytes"), *bytes, "must be greater than 0");
  if (seconds && time) {
    errors.Forbidden(api::FieldPath(), "at most one of `sinceTime` or `sinceSeconds` may be specified");
  } else if (seconds && *seconds < 1) {
    errors.Invalid(api::FieldPath("sinceSeconds"), *seconds, "must be greater than 0");
  }
  if (!errors.empty()) return Unexpected(errors.ToError("", "PodLogOptions", scope.info.name));
  if (time) seconds = std::max<std::int64_t>(1, api::Time::From(scope.now).seconds - time->seconds + 1);
  std::string out;
  const auto add = [&out](std::string_view name, const std::string& value) {
    out += (out.empty() ? "?" : "&") + std::string(name) + "=" + value;
  };
  for (const std::string_view name : {"follow", "previous", "timestamps"})
    if (query.Bool(name)) add(name, "true");
  if (tail) add("tailLines", std::to_string(*tail));
  if (bytes) add("limitBytes", std::to_string(*bytes));
  if (seconds) add("sinceSeconds", std::to_string(*seconds));
  return out;
}

// What the client is told of a node's refusal (upstream: GenericHttpResponseChecker).
Error NodeRefused(int status, const std::string& text, const std::string& pod) {
  if (status == 400) return BadRequest(text);
  if (status == 404)
    return Error(Reason::kNotFound, 404,
                 "the server could not find the requested resource ( pods " + pod + ")",
                 {.name = pod, .kind = "pods"});
  return Error(Reason::kInternalError, 500, "Internal error occurred: " + text, {.causes = {{"", text, ""}}});
}

class PodLogEndpoint final : public Endpoint {
 public:
  explicit PodLogEndpoint(std::shared_ptr<TransportCache> nodes) : nodes_(std::move(nodes)) {}

  Task<Result<std::optional<Answer>>> Handle(ServerState& state, RequestScope& scope,
                                             const net::Request& request,
                                             std::shared_ptr<net::ResponseStream> stream) override {
    FLYBALL_CO_ASSIGN(const std::string query, LogQuery(scope));
    if (IsWebSocketUpgrade(request)) {
      FLYBALL_CO_TRY(CheckWebSocketOrigin(request, OtherOrigins::kNone));
      stream = std::make_shared<MessageStream>(std::move(stream), request);
    }
    const auto object =
        scope.resource->cache->Get(ServedResource::CacheKey(scope.info.namespace_name, scope.info.name));
    if (!object) co_return Unexpected(NotFound(*scope.resource->kind, scope.info.name));
    const json::Value pod = object->ToValue();
    FLYBALL_CO_ASSIGN(const std::string container, ContainerOf(pod, scope.info.query.Get("container")));
    const std::string node_name(pod["spec"]["nodeName"].string_or(""));
    if (node_name.empty()) co_return std::optional(TextAnswer(200, ""));  // nothing has run yet
    FLYBALL_CO_ASSIGN(const NodeAddress address, AddressOf(state, node_name));
    FLYBALL_CO_ASSIGN(const auto transport, nodes_->To(address.url()));
    net::Request ask;
    ask.target =
        "/containerLogs/" + scope.info.namespace_name + "/" + scope.info.name + "/" + container + query;
    RelayRules rules;
    rules.refused = [pod_name = scope.info.name](int status, const std::string& text) {
      return NodeRefused(status, text, pod_name);
    };
    rules.unreachable = [](const Error& error) {
      return ErrorAnswer(Error(Reason::kUnknown, 500, "the node does not answer: " + error.message()));
    };
    RelayAnswer(transport, std::move(ask), stream, std::move(rules));
    co_return std::optional<Answer>();
  }

 private:
  const std::shared_ptr<TransportCache> nodes_;
};

}  // namespace

void AddPodLogEndpoint(EndpointTable& table, std::shared_ptr<TransportCache> nodes) {
  table.Add("pods/log", std::make_unique<PodLogEndpoint>(std::move(nodes)));
}

}  // namespace flyball::server
