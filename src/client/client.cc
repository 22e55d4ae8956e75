#include "client/client.h"

#include <utility>

namespace flyball {

Client Client::WithObserver(std::shared_ptr<WriteObserver> observer) const {
  Client copy = *this;
  copy.observer_ = std::move(observer);
  return copy;
}

Client Client::WithCancel(std::stop_token cancelled) const {
  Client copy = *this;
  copy.cancelled_ = std::move(cancelled);
  return copy;
}

Status Client::Drop(const Result<json::Value>& value) {
  if (!value) return Unexpected(value.error());
  return {};
}

namespace {

RestRequest LogRequest(std::string_view ns, std::string_view pod, const LogParams& params) {
  const KindRef pods{"", "v1", "Pod", "pods", true};
  RestRequest request;
  request.path = pods.Path(ns, pod, "log");
  request.accept = "*/*";
  request.Query("container", params.container);
  if (params.follow) request.Query("follow", "true");
  if (params.previous) request.Query("previous", "true");
  if (params.timestamps) request.Query("timestamps", "true");
  if (params.tail_lines) request.Query("tailLines", std::to_string(*params.tail_lines));
  if (params.since_seconds) request.Query("sinceSeconds", std::to_string(*params.since_seconds));
  if (params.limit_bytes) request.Query("limitBytes", std::to_string(*params.limit_bytes));
  return request;
}

}  // namespace

Result<std::string> Client::Logs(std::string_view ns, std::string_view pod, const LogParams& params) const {
  RestRequest request = LogRequest(ns, pod, params);
  request.cancelled = cancelled_;
  auto response = rest_->Do(std::move(request));
  if (!response) return Unexpected(response.error());
  return std::move(response->body);
}

std::shared_ptr<net::Call> Client::StreamLogs(std::string_view ns, std::string_view pod,
                                              const LogParams& params,
                                              std::shared_ptr<net::ResponseSink> sink) const {
  return rest_->Stream(LogRequest(ns, pod, params), std::move(sink));
}

void SetTypeMeta(json::Value& object, const KindRef& kind) {
  object["apiVersion"] = kind.ApiVersion();
  object["kind"] = kind.kind;
}

}  // namespace flyball
