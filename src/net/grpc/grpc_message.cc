#include "net/grpc/grpc_message.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace flyball::net {
namespace {

constexpr std::size_t kFramePrefix = 5;  // one byte "compressed", four bytes length
constexpr std::string_view kCodePrefix = "rpc error: code = ", kDescription = " desc = ";
constexpr std::array<std::string_view, 17> kCodeNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

std::string CodeName(int code) {
  const bool known = code >= 0 && code < static_cast<int>(kCodeNames.size());
  return known ? std::string(kCodeNames[static_cast<std::size_t>(code)])
               : "Code(" + std::to_string(code) + ")";
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// grpc-message is percent-encoded; what is not well-formed stays as it is.
std::string PercentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size();
    const int high = escape ? HexDigit(text[i + 1]) : -1, low = escape ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

}  // namespace

Error GrpcError(GrpcCode code, std::string_view description, Reason reason) {
  return Error(reason, std::string(kCodePrefix) + CodeName(static_cast<int>(code)) +
                           std::string(kDescription) + std::string(description));
}

Error GrpcError(GrpcCode code, std::string_view description) {
  return GrpcError(code, description,
                   code == GrpcCode::kUnavailable ? Reason::kConnection : Reason::kInternalError);
}

GrpcCode GrpcCodeOf(const Error& error) {
  std::string_view rest = error.message();
  if (rest.starts_with(kCodePrefix)) {
    rest.remove_prefix(kCodePrefix.size());
    const std::string_view name = rest.substr(0, rest.find(kDescription));
    const auto known = std::find(kCodeNames.begin(), kCodeNames.end(), name);
    if (known != kCodeNames.end()) return static_cast<GrpcCode>(known - kCodeNames.begin());
  }
  return GrpcCode::kUnknown;
}

std::string_view GrpcDescription(const Error& error) {
  const std::string_view message = error.message();
  const auto at = message.find(kDescription);
  return at == std::string_view::npos ? message : message.substr(at + kDescription.size());
}

std::string FramedMessage(std::string_view message) {
  std::string out;
  out.reserve(kFramePrefix + message.size());
  out += '\0';
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> shift & 0xff);
  return out.append(message);
}

Result<std::optional<std::string_view>> GrpcFrameReader::Next() {
  std::string_view rest = std::string_view(bytes_).substr(taken_);
  std::size_t size = 0;
  if (rest.size() >= kFramePrefix) {
    if (rest[0] != 0) return Unexpected(GrpcError(GrpcCode::kInternal, "the response is compressed"));
    for (std::size_t i = 1; i < kFramePrefix; ++i) size = size << 8 | static_cast<unsigned char>(rest[i]);
    if (size > max_message_)
      return Unexpected(GrpcError(GrpcCode::kResourceExhausted, "received message larger than max"));
  }
  if (rest.size() < kFramePrefix + size) {
    bytes_.erase(0, std::exchange(taken_, 0));
    if (bytes_.size() >= kFramePrefix) bytes_.reserve(kFramePrefix + size);
    return std::optional<std::string_view>();
  }
  taken_ += kFramePrefix + size;
  return std::optional(rest.substr(kFramePrefix, size));
}

void GrpcStatusReader::OnHead(int status, const Headers& headers) {
  http_status_ = status;
  content_type_ = headers.Get("content-type");
  OnTrailers(headers);  // a response without data has its status in the head
}

void GrpcStatusReader::OnTrailers(const Headers& trailers) {
  const std::string_view text = trailers.Get("grpc-status");
  if (text.empty()) return;
  constexpr int kUnreadable = static_cast<int>(GrpcCode::kUnknown);
  int code = kUnreadable;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  code_ = error == std::errc() && end == text.data() + text.size() ? code : kUnreadable;
  message_ = PercentDecoded(trailers.Get("grpc-message"));
}

Status GrpcStatusReader::Outcome() const {
  if (code_ && *code_ != 0) return Unexpected(GrpcError(static_cast<GrpcCode>(*code_), message_));
  if (http_status_ != 200 || !content_type_.starts_with("application/grpc")) {
    const bool gateway = http_status_ >= 502 && http_status_ <= 504;
    return Unexpected(
        GrpcError(gateway ? GrpcCode::kUnavailable : GrpcCode::kUnknown,
                  "unexpected HTTP status code received from server: " + std::to_string(http_status_)));
  }
  if (!code_)
    return Unexpected(GrpcError(GrpcCode::kInternal, "server closed the stream without sending trailers"));
  return {};
}

}  // namespace flyball::net
