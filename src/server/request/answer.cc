#include "server/request/answer.h"

#include <algorithm>
#include <set>

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

// The first `runes` characters.
std::string_view Shortened(std::string_view text, std::size_t runes) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_rune = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
    if (begins_rune && runes-- == 0) return text.substr(0, i);
  }
  return text;
}

std::size_t RuneCount(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Each once. If all together are too long each is shortened, and those that still do not fit are left out
// (upstream: WithWarningRecorder).
std::vector<std::string_view> SentWarnings(const std::vector<std::string>& warnings) {
  constexpr std::size_t kMaxRunes = 4096, kMaxRunesOfOne = 256;
  std::vector<std::string_view> sent;
  if (warnings.empty()) return sent;
  std::set<std::string_view> seen;
  std::size_t total = 0;
  for (const auto& warning : warnings) {
    if (warning.empty() || !seen.insert(warning).second) continue;
    sent.push_back(warning);
    total += RuneCount(warning);
    if (total > kMaxRunes + kMaxRunes * kMaxRunesOfOne) break;  // enough, however much they are shortened
  }
  if (total <= kMaxRunes) return sent;
  std::size_t written = 0, kept = 0;
  while (kept < sent.size() && written < kMaxRunes) {
    sent[kept] = Shortened(sent[kept], kMaxRunesOfOne);
    written += RuneCount(sent[kept++]);
  }
  sent.resize(kept);
  return sent;
}

void FinishHeaders(Answer& answer, const std::vector<std::string>& warnings) {
  answer.headers.Set("content-type", std::move(answer.content_type));
  if (!answer.headers.Has("cache-control")) answer.headers.Set("cache-control", "no-cache, private");
  for (const auto& warning : SentWarnings(warnings)) answer.headers.Add("warning", WarningHeader(warning));
}

}  // namespace

Answer ErrorAnswer(const Error& error, const std::string& unlisted_reason) {
  json::Value status = api::StatusFromError(error);
  if (!unlisted_reason.empty() && error.Is(Reason::kUnknown)) status["reason"] = unlisted_reason;
  Answer answer{error.code(), "application/json", json::Write(status)};
  if (const int seconds = error.details().retry_after_seconds; seconds > 0)
    answer.headers.Set("retry-after", std::to_string(seconds));
  return answer;
}

Answer TextAnswer(int code, std::string text) {
  return {code, "text/plain; charset=utf-8", std::move(text)};
}

Task<void> Drain(net::ResponseStream& stream, Executor& executor) {
  auto start = [&stream](UniqueFunction<void(bool)> done) {
    stream.OnDrained(kLowWater, [done = std::move(done)] { done(true); });
  };
  auto drained = Callback<bool>(executor, std::move(start));
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

Task<void> StreamAnswer(net::ResponseStream& stream, Answer answer, const RequestScope& scope) {
  FinishHeaders(answer, scope.warnings);
  stream.BeginCompressible(answer.code, std::move(answer.headers));
  for (bool more = true; more;) {
    std::string piece;
    piece.reserve(kPiece + kPiece / 8);
    more = answer.source->Next(kPiece, piece);
    if (!stream.Write(MakeBytes(std::move(piece)))) co_return;
    if (IsFull(stream)) co_await Drain(stream, scope.executor);
    if (more && !scope.CheckAlive()) co_return;
  }
  stream.End();
}

}  // namespace flyball::server
