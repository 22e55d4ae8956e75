#include "cli/data/unready_server.h"

#include <string_view>
#include <utility>

#include "api/wire/status.h"
#include "base/run/task.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct UnreadyPage {
  int status;
  std::string type, body;
};

// As the API server writes them: the reason is in the log alone, because anybody may ask.
UnreadyPage UnreadyHealthPage(std::string_view root, const std::string& name, const Status& status) {
  const std::string text = status ? "[+]" + name + " ok\n" : "[-]" + name + " failed: reason withheld\n";
  return {500, "text/plain; charset=utf-8", text + std::string(root.substr(1)) + " check failed\n"};
}

UnreadyPage AnswerWhileUnready(std::string_view target, const std::string& name, const Status& status) {
  const std::string_view path = target.substr(0, target.find('?'));
  for (const std::string_view root : {"/healthz", "/livez", "/readyz"})
    if (path == root || (path.starts_with(root) && path[root.size()] == '/'))
      return UnreadyHealthPage(root, name, status);
  const Error error(Reason::kServiceUnavailable, "the server is not ready: " + name + " failed");
  return {error.code(), "application/json", json::Write(api::StatusFromError(error))};
}

}  // namespace

net::Handler UnreadyHandler(std::string name, std::function<Status()> check) {
  return
      [name = std::move(name), check = std::move(check)](
          std::shared_ptr<net::Request> request, std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
        UnreadyPage page = AnswerWhileUnready(request->target, name, check());
        stream->Send(page.status, {{"content-type", page.type}}, std::move(page.body));
        co_return;
      };
}

}  // namespace flyball::cli
