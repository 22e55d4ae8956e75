// Passing a request on to another server: its answer as it comes, or the connection itself after an upgrade.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/http/http.h"

namespace flyball::server {

// Upstream: GenericHttpResponseChecker reads as much.
inline constexpr std::size_t kMaxRefusal = 50'000;

// How an answer is changed on its way. Members left empty change nothing.
struct RelayRules {
  // The headers that go to the client; without it only the content type does.
  std::function<net::Headers(const net::Headers& from)> headers;
  // What the client is told instead of an answer other than 200 to 206, from its status and its text (of
  // which kMaxRefusal bytes are read). Without it such an answer is passed on.
  std::function<Error(int status, const std::string& text)> refused;
  // What the client is told if there is no answer.
  std::function<Error(const Error& error)> unreachable;
};

// Answers `stream` with what `request` is answered. The client is read from no faster than it reads, and its
// leaving cancels the request.
void RelayAnswer(const std::shared_ptr<net::Transport>& to, net::Request request,
                 const std::shared_ptr<net::ResponseStream>& stream, RelayRules rules);

// Asks for the upgrade that `original` asks for, at `target` with the further `headers`, and joins the two
// connections. A refusal is passed on.
void RelayUpgrade(const std::shared_ptr<net::Transport>& to, const net::Request& original, std::string target,
                  net::Headers headers, const std::shared_ptr<net::ResponseStream>& stream);

// True if the request asks to leave HTTP.
bool IsUpgrade(const net::Request& request);

}  // namespace flyball::server
