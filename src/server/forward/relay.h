// Passing a request on to another server: its answer as it comes, or the connection itself after an upgrade.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/http/http.h"
#include "server/request/answer.h"

namespace flyball::server {

// Upstream: GenericHttpResponseChecker reads as much.
inline constexpr std::size_t kMaxRefusal = 50'000;

// How an answer is changed on its way. Members left empty change nothing.
struct RelayRules {
  // Asked once, before anything is sent to the client: false if somebody else has answered meanwhile.
  std::function<bool()> may_answer;
  // The headers that go to the client; without it only the content type does.
  std::function<net::Headers(const net::Headers& from)> headers;
  // What the client is told instead of an answer with such a head; nullopt: the answer is passed on.
  std::function<std::optional<Answer>(int status, const net::Headers& from)> instead;
  // What the client is told instead of an answer other than 200 to 206, from its status and its text (of
  // which kMaxRefusal bytes are read). Without it such an answer is passed on.
  std::function<Error(int status, const std::string& text)> refused;
  // What the client is told if there is no answer.
  std::function<Answer(const Error& error)> unreachable;
  // Called once at the end, with the status the client was sent.
  std::function<void(int status)> done;
};

// Answers `stream` with what `request` is answered. The other server is read from no faster than the client
// reads. The client's leaving cancels the request, as does the caller by what is returned. If the answer
// breaks off, so does the client's.
std::shared_ptr<net::Call> RelayAnswer(const std::shared_ptr<net::Transport>& to, net::Request request,
                                       const std::shared_ptr<net::ResponseStream>& stream, RelayRules rules);

// What becomes of an upgrade. Members left empty change nothing.
struct UpgradeRules {
  // What the client is told if the other server cannot be asked.
  std::function<Answer(const Error& error)> unreachable;
  // Called once when the connections are joined or the client has its refusal, with the status it was sent.
  std::function<void(int status)> done;
};

// Asks for the upgrade that `original` asks for, at `target` with the further `headers`, and joins the two
// connections. A refusal is passed on.
void RelayUpgrade(const std::shared_ptr<net::Transport>& to, const net::Request& original, std::string target,
                  net::Headers headers, const std::shared_ptr<net::ResponseStream>& stream,
                  UpgradeRules rules = {});

// True if the request asks to leave HTTP.
bool IsUpgrade(const net::Request& request);

}  // namespace flyball::server
