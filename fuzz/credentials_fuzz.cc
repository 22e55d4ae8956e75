// The headers that are read before anybody has said who he is: any text is a token or none, no token is
// passed on to who is behind this server, and any Accept header is negotiated or refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/auth/bearer_token.h"
#include "server/request/negotiation.h"

namespace {

using namespace flyball::server;  // NOLINT(google-build-using-namespace)

// Lines: the first is the Authorization header, the second Accept, the third Origin, and the others are lists
// of subprotocols.
flyball::net::Request RequestOf(std::string_view text) {
  flyball::net::Request request;
  const char* const names[] = {"authorization", "accept", "origin", "sec-websocket-protocol"};
  for (std::size_t line = 0; !text.empty(); ++line) {
    const auto end = text.find('\n');
    request.headers.Add(names[line < 3 ? line : 3], std::string(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return request;
}

void CheckAccept(std::string_view accept) {
  for (const bool tables : {false, true}) {
    const auto form = NegotiateObject(accept, tables);
    if (form && !tables && form->form == AnswerForm::kTable) std::abort();
    const auto text = NegotiateText(accept, tables);
    if (text && text->protobuf && text->form == AnswerForm::kObject) std::abort();
  }
  (void)NegotiateDiscovery(accept);
}

void CheckSubprotocols(std::string_view offered) {
  const std::string left = WithoutTokens(offered);
  if (WithoutTokens(left) != left) std::abort();
  flyball::net::Request behind;
  behind.headers.Add("upgrade", "websocket");
  behind.headers.Add("sec-websocket-protocol", left);
  if (BearerToken(behind)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto request = RequestOf({reinterpret_cast<const char*>(data), size});
  const auto in_header = BearerToken(request);
  request.headers.Add("upgrade", "WebSocket");
  const auto token = BearerToken(request);
  if (in_header && token != in_header) std::abort();  // the header wins
  if (token && !CheckWebSocketOrigin(request, OtherOrigins::kNone)) std::abort();
  (void)CheckWebSocketOrigin(request, OtherOrigins::kLoopback);
  CheckAccept(request.headers.Get("accept"));
  for (const auto offered : request.headers.GetAll("sec-websocket-protocol")) CheckSubprotocols(offered);
  return 0;
}
