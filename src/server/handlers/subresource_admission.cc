#include "server/handlers/subresource_admission.h"

#include <charconv>

namespace flyball::server {
namespace {

// "/x/y" of /api/v1/nodes/n/proxy/x/y.
std::string RestOfPath(const RequestInfo& info) {
  std::string path;
  for (const auto& part : info.rest) path += "/" + part;
  return path;
}

json::Value Ports(const Query& query) {
  json::Array ports;
  for (const auto text : query.GetAll("ports")) {
    std::int64_t port = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (ec == std::errc() && end == text.data() + text.size()) ports.push_back(port);
  }
  return ports;
}

// What Go writes of PodExecOptions and PodAttachOptions.
void AddStreamOptions(const Query& query, bool command, json::Object& options) {
  for (const char* stream : {"stdin", "stdout", "stderr", "tty"})
    if (query.Bool(stream)) options.Set(stream, true);
  if (const auto container = query.Get("container"); !container.empty())
    options.Set("container", std::string(container));
  if (!command) return;
  json::Array words;
  for (const auto word : query.GetAll("command")) words.push_back(std::string(word));
  options.Set("command", words.empty() ? json::Value() : json::Value(std::move(words)));
}

// The options of a connection as the object they are upstream.
json::Value ConnectOptions(const RequestScope& scope) {
  const auto& info = scope.info;
  json::Object options;
  if (const auto* kind = scope.resource->kind->FindSubresource(info.subresource)) {
    options.Set("kind", std::string(kind->kind));
    options.Set("apiVersion", std::string(kind->version));
  }
  if (info.subresource == "exec" || info.subresource == "attach")
    AddStreamOptions(info.query, info.subresource == "exec", options);
  if (info.subresource == "portforward")
    if (json::Value ports = Ports(info.query); !ports.empty()) options.Set("ports", std::move(ports));
  if (info.subresource == "proxy")
    if (std::string path = RestOfPath(info); !path.empty()) options.Set("path", std::move(path));
  return options;
}

}  // namespace

Task<Status> AdmitConnect(ServerState& state, RequestScope& scope) {
  json::Value options = ConnectOptions(scope);
  AdmissionRequest request{AdmissionRequest::Operation::kConnect,
                           scope,
                           *scope.resource,
                           scope.info.subresource,
                           scope.info.namespace_name,
                           scope.info.name,
                           &options};
  FLYBALL_CO_TRY(co_await state.admission.Admit(request));
  co_return co_await state.admission.Validate(request);
}

Task<Status> AdmitSubresource(ServerState& state, RequestScope& scope, json::Value& object) {
  AdmissionRequest request{AdmissionRequest::Operation::kCreate,
                           scope,
                           *scope.resource,
                           scope.info.subresource,
                           scope.info.namespace_name,
                           scope.info.name,
                           &object};
  FLYBALL_CO_TRY(co_await state.admission.Admit(request));
  co_return co_await state.admission.Validate(request);
}

}  // namespace flyball::server
