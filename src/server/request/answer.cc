#include "server/request/answer.h"

#include <algorithm>

#include "api/wire/status.h"
#include "json/json.h"

namespace flyball::server {
namespace {

// Of a body that is made while it is sent.
constexpr std::size_t kPiece = 128u << 10;

// RFC 7234 quoted text; control characters cannot stand in a header.
std::string WarningHeader(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

void FinishHeaders(Answer& answer, const std::vector<std::string>& warnings) {
  answer.headers.Set("content-type", std::move(answer.content_type));
  if (!answer.headers.Has("cache-control")) answer.headers.Set("cache-control", "no-cache, private");
  std::vector<std::string_view> sent;
  for (const auto& warning : warnings) {
    if (std::find(sent.begin(), sent.end(), warning) != sent.end()) continue;
    sent.push_back(warning);
    answer.headers.Add("warning", WarningHeader(warning));
  }
}

}  // namespace

Answer ErrorAnswer(const Error& error) {
  Answer answer{error.code(), "application/json", json::Write(api::StatusFromError(error))};
  if (const int seconds = error.details().retry_after_seconds; seconds > 0)
    answer.headers.Set("retry-after", std::to_string(seconds));
  return answer;
}

Answer TextAnswer(int code, std::string text) {
  return {code, "text/plain; charset=utf-8", std::move(text)};
}

Task<void> Drain(net::ResponseStream& stream) {
  auto start = [&stream](UniqueFunction<void(bool)> done) {
    stream.OnDrained(kLowWater, [done = std::move(done)] { done(true); });
  };
  auto drained = Callback<bool>(stream.executor(), std::move(start));
  co_await drained;
}

void AddScopeHeaders(const RequestScope& scope, net::Headers& headers) {
  if (!scope.audit_id.empty()) headers.Set("audit-id", scope.audit_id);
  if (!scope.flow_schema_uid.empty()) headers.Set("x-kubernetes-pf-flowschema-uid", scope.flow_schema_uid);
  if (!scope.priority_level_uid.empty())
    headers.Set("x-kubernetes-pf-prioritylevel-uid", scope.priority_level_uid);
}

void SendAnswer(net::ResponseStream& stream, Answer answer, const std::vector<std::string>& warnings) {
  FinishHeaders(answer, warnings);
  stream.Send(answer.code, std::move(answer.headers), std::move(answer.body));
}

Task<void> StreamAnswer(net::ResponseStream& stream, Answer answer,
                        const std::vector<std::string>& warnings) {
  FinishHeaders(answer, warnings);
  stream.BeginCompressible(answer.code, std::move(answer.headers));
  for (bool more = true; more;) {
    std::string piece;
    piece.reserve(kPiece + kPiece / 8);
    more = answer.source->Next(kPiece, piece);
    if (!stream.Write(MakeBytes(std::move(piece)))) co_return;
    if (IsFull(stream)) co_await Drain(stream);
  }
  stream.End();
}

}  // namespace flyball::server
