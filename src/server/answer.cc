#include "server/answer.h"

#include <algorithm>

#include "api/status.h"
#include "json/json.h"

namespace flyball::server {
namespace {

// RFC 7234 quoted text; control characters cannot stand in a header.
std::string WarningHeader(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
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

void SendAnswer(net::ResponseStream& stream, Answer answer, const std::vector<std::string>& warnings) {
  answer.headers.Set("content-type", std::move(answer.content_type));
  answer.headers.Set("cache-control", "no-cache, private");
  std::vector<std::string_view> sent;
  for (const auto& warning : warnings) {
    if (std::find(sent.begin(), sent.end(), warning) != sent.end()) continue;
    sent.push_back(warning);
    answer.headers.Add("warning", WarningHeader(warning));
  }
  stream.Send(answer.code, std::move(answer.headers), std::move(answer.body));
}

}  // namespace flyball::server
