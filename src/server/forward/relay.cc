#include "server/forward/relay.h"

#include <utility>

#include "server/auth/bearer_token.h"

namespace flyball::server {
namespace {

int SendNow(net::ResponseStream& client, Answer answer) {
  const int status = answer.code;
  SendAnswer(client, std::move(answer), {});
  return status;
}

Answer RefusedUpgrade(const Error& error, const UpgradeRules& rules) {
  const bool answered = !error.Is(Reason::kConnection) && !error.Is(Reason::kTimeout);
  if (answered) return TextAnswer(error.code(), error.message());
  if (rules.unreachable) return rules.unreachable(error);
  return ErrorAnswer(Error(Reason::kUnknown, 500, "error dialing backend: " + error.message()));
}

}  // namespace

std::shared_ptr<net::Call> RelayAnswer(const std::shared_ptr<net::Transport>& to, net::Request request,
                                       const std::shared_ptr<net::ResponseStream>& stream, RelayRules rules) {
  net::RelayRules own;
  own.may_answer = std::move(rules.may_answer);
  own.headers = std::move(rules.headers);
  own.body = std::move(rules.body);
  own.done = std::move(rules.done);
  if (rules.instead)
    own.instead = [instead = std::move(rules.instead)](net::ResponseStream& client, int status,
                                                       const net::Headers& from) -> std::optional<int> {
      auto answer = instead(status, from);
      if (!answer) return std::nullopt;
      return SendNow(client, std::move(*answer));
    };
  if (rules.refused)
    own.refused = [refused = std::move(rules.refused)](net::ResponseStream& client, int status,
                                                       const std::string& text) {
      return SendNow(client, ErrorAnswer(refused(status, text)));
    };
  own.unreachable = [unreachable = std::move(rules.unreachable)](net::ResponseStream& client,
                                                                 const Error& error) {
    return SendNow(client, unreachable ? unreachable(error) : ErrorAnswer(error));
  };
  return net::RelayAnswer(to, std::move(request), stream, std::move(own));
}

void RelayUpgrade(const std::shared_ptr<net::Transport>& to, const net::Request& original, std::string target,
                  net::Headers headers, const std::shared_ptr<net::ResponseStream>& stream,
                  UpgradeRules rules) {
  net::UpgradeRules own;
  own.protocols = [](std::string_view offered) { return WithoutTokens(offered); };
  own.done = rules.done;
  own.cannot_join = [](net::ResponseStream& client, const Error& error) {
    return SendNow(client, ErrorAnswer(error));
  };
  own.refused = [rules = std::move(rules)](net::ResponseStream& client, const Error& error) {
    return SendNow(client, RefusedUpgrade(error, rules));
  };
  net::RelayUpgrade(to, original, std::move(target), std::move(headers), stream, std::move(own));
}

}  // namespace flyball::server
