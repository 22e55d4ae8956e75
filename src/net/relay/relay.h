// Passing a request on to another server: its answer as it comes, or the connection itself after an upgrade.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/http.h"

namespace flyball::net {

// Upstream: GenericHttpResponseChecker reads as much.
inline constexpr std::size_t kMaxRefusal = 50'000;

// Changes a body on its way: called with each piece, and at the end with none; returns what the client gets.
using BodyFilter = std::function<std::string(std::optional<std::string_view> piece)>;

// How an answer is changed on its way. Who answers instead sends to the client and returns the status it
// sent. Members left empty change nothing, but `unreachable` is needed.
struct RelayRules {
  // Asked once, before anything is sent to the client: false if somebody else has answered meanwhile.
  std::function<bool()> may_answer;
  // The headers that go to the client; without it only the content type does.
  std::function<Headers(const Headers& from)> headers;
  // Asked for each answer that is passed on; what is empty changes nothing. A filter that changes how long
  // the body is needs `headers` to drop the content length.
  std::function<BodyFilter(const Headers& from)> body;
  // Answers instead of passing on an answer with such a head; nullopt: it has not, and the answer is passed
  // on.
  std::function<std::optional<int>(ResponseStream& client, int status, const Headers& from)> instead;
  // Answers in place of an answer other than 200 to 206, of whose text kMaxRefusal bytes are read. Without it
  // such an answer is passed on.
  std::function<int(ResponseStream& client, int status, const std::string& text)> refused;
  // Answers if there is no answer.
  std::function<int(ResponseStream& client, const Error& error)> unreachable;
  // Called once at the end, with the status the client was sent.
  std::function<void(int status)> done;
};

// Answers `stream` with what `request` is answered. The other server is read from no faster than the client
// reads. The client's leaving cancels the request, as does the caller by what is returned. If the answer
// breaks off, so does the client's.
std::shared_ptr<Call> RelayAnswer(const std::shared_ptr<Transport>& to, Request request,
                                  const std::shared_ptr<ResponseStream>& stream, RelayRules rules);

// What becomes of an upgrade.
struct UpgradeRules {
  // What the other server is offered of a sec-websocket-protocol header; empty: no such header. Without it
  // all.
  std::function<std::string(std::string_view offered)> protocols;
  // Answers in the other server's place, and returns the status it sent: the error has the status and text of
  // its refusal, or is kConnection or kTimeout. Needed.
  std::function<int(ResponseStream& client, const Error& error)> refused;
  // Answers if the client's own connection cannot leave HTTP. Needed.
  std::function<int(ResponseStream& client, const Error& error)> cannot_join;
  // Called once when the connections are joined or the client has its refusal, with the status it was sent.
  std::function<void(int status)> done;
};

// Asks for the upgrade that `original` asks for, at `target` with the further `headers`, and joins the two
// connections.
void RelayUpgrade(const std::shared_ptr<Transport>& to, const Request& original, std::string target,
                  Headers headers, const std::shared_ptr<ResponseStream>& stream, UpgradeRules rules);

// True if the request asks to leave HTTP.
bool IsUpgrade(const Request& request);
// Whether a header is about one connection only, so that it is not passed on (RFC 9110, 7.6.1).
bool IsHopByHop(std::string_view name);

}  // namespace flyball::net
