// net/relay/relay.h for the API server, whose own answers are Status objects.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/relay/relay.h"
#include "server/request/answer.h"

namespace flyball::server {

// How an answer is changed on its way. Members left empty change nothing.
struct RelayRules {
  // Asked once, before anything is sent to the client: false if somebody else has answered meanwhile.
  std::function<bool()> may_answer;
  // The headers that go to the client; without it only the content type does.
  std::function<net::Headers(const net::Headers& from)> headers;
  // As net::RelayRules::body.
  std::function<net::BodyFilter(const net::Headers& from)> body;
  // What the client is told instead of an answer with such a head; nullopt: the answer is passed on.
  std::function<std::optional<Answer>(int status, const net::Headers& from)> instead;
  // What the client is told instead of an answer other than 200 to 206, from its status and its text (of
  // which net::kMaxRefusal bytes are read). Without it such an answer is passed on.
  std::function<Error(int status, const std::string& text)> refused;
  // What the client is told if there is no answer.
  std::function<Answer(const Error& error)> unreachable;
  // Called once at the end, with the status the client was sent.
  std::function<void(int status)> done;
};

// As net::RelayAnswer.
std::shared_ptr<net::Call> RelayAnswer(const std::shared_ptr<net::Transport>& to, net::Request request,
                                       const std::shared_ptr<net::ResponseStream>& stream, RelayRules rules);

// What becomes of an upgrade. Members left empty change nothing.
struct UpgradeRules {
  // What the client is told if the other server cannot be asked.
  std::function<Answer(const Error& error)> unreachable;
  // Called once when the connections are joined or the client has its refusal, with the status it was sent.
  std::function<void(int status)> done;
};

// As net::RelayUpgrade. A refusal is passed on. The caller's token, which may be among the WebSocket's
// protocols, is for this server alone.
void RelayUpgrade(const std::shared_ptr<net::Transport>& to, const net::Request& original, std::string target,
                  net::Headers headers, const std::shared_ptr<net::ResponseStream>& stream,
                  UpgradeRules rules = {});

using net::IsUpgrade;

}  // namespace flyball::server
