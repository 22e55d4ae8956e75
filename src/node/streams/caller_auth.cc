#include "node/streams/caller_auth.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/run/mutex.h"
#include "json/json.h"
#include "net/tls/pki.h"
#include "node/streams/node_request.h"

namespace flyball::node {
namespace {

// Kubelet's defaults.
constexpr Duration kTokenKept = std::chrono::minutes(2);
constexpr Duration kAllowedKept = std::chrono::minutes(5);
constexpr Duration kDeniedKept = std::chrono::seconds(30);

const KindRef kTokenReview{"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false};
const KindRef kAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews",
                            false};

// Values that are good for a while. Thread-safe; holds so many at most.
template <typename T>
class Remembered {
 public:
  std::optional<T> Find(const std::string& key, SteadyTime now) {
    MutexLock lock(mu_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.until <= now) return std::nullopt;
    return found->second.value;
  }
  void Keep(const std::string& key, T value, SteadyTime until, SteadyTime now) {
    MutexLock lock(mu_);
    if (entries_.size() >= kMost)
      std::erase_if(entries_, [&](const auto& e) { return e.second.until <= now; });
    // Callers beyond that are asked about each time.
    if (entries_.size() < kMost) entries_.insert_or_assign(key, Entry{std::move(value), until});
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Entry {
    T value;
    SteadyTime until;
  };
  Mutex mu_;
  std::map<std::string, Entry> entries_ FLYBALL_GUARDED_BY(mu_);
};

// As SubjectAccessReview's spec has it: user, uid, groups, extra.
using Caller = json::Value;

std::string BearerOf(const net::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view header = request.headers.Get("authorization");
  if (header.size() <= kScheme.size()) return {};
  const bool bearer = std::equal(kScheme.begin(), kScheme.end(), header.begin(), [](char a, char b) {
    return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
  });
  return bearer ? std::string(header.substr(kScheme.size())) : std::string();
}

std::string_view ApiVerb(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "GET") return "get";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return {};
}

// The subresources of the node any of which allows a path that begins so, the finer first.
std::vector<std::string> SubresourcesOf(std::string_view first_segment) {
  struct Row {
    std::string_view segment, subresource;
    bool or_proxy;
  };
  constexpr std::array kRows = {Row{"stats", "stats", false},    Row{"metrics", "metrics", false},
                                Row{"logs", "log", false},       Row{"checkpoint", "checkpoint", false},
                                Row{"pods", "pods", true},       Row{"runningpods", "pods", true},
                                Row{"healthz", "healthz", true}, Row{"configz", "configz", true}};
  for (const Row& row : kRows) {
    if (row.segment != first_segment) continue;
    std::vector<std::string> subresources{std::string(row.subresource)};
    if (row.or_proxy) subresources.emplace_back("proxy");
    return subresources;
  }
  return {"proxy"};
}

struct Question {
  Caller caller;
  std::string verb, node;
  std::vector<std::string> subresources;
  std::function<void(const CallerVerdict&)> done;
};

CallerVerdict Forbidden(const Question& question) {
  std::string list;
  for (const auto& subresource : question.subresources) list += (list.empty() ? "" : " ") + subresource;
  return {403, "Forbidden (user=" + std::string(question.caller["user"].string_or("")) +
                   ", verb=" + question.verb + ", resource=nodes, subresource(s)=[" + list + "])"};
}

class DelegatedAuth final : public CallerAuth, public std::enable_shared_from_this<DelegatedAuth> {
 public:
  explicit DelegatedAuth(Client client) : client_(std::move(client)) {}

  void Check(const net::Request& request, const std::string& node_name,
             std::function<void(const CallerVerdict&)> done) override {
    Question question{nullptr, std::string(ApiVerb(request.method)), node_name,
                      SubresourcesOf(NodeRequest(request).what()), std::move(done)};
    if (request.peer.verified) {
      question.caller = json::Object{
          {"user", request.peer.common_name},
          {"groups", json::Array(request.peer.organizations.begin(), request.peer.organizations.end())}};
      return Authorize(std::move(question));
    }
    const std::string token = BearerOf(request);
    if (token.empty()) return question.done({401, "Unauthorized"});
    const std::string key = net::Sha256(token);
    if (auto known = tokens_.Find(key, Now())) {
      question.caller = std::move(*known);
      return Authorize(std::move(question));
    }
    Review(token, key, std::move(question));
  }

 private:
  SteadyTime Now() const { return client_.runtime().clock().Steady(); }

  void Review(const std::string& token, const std::string& key, Question question) {
    const json::Value review = json::Object{{"spec", json::Object{{"token", token}}}};
    client_.Dynamic(kTokenReview)
        .CreateAsync(review, {},
                     [self = shared_from_this(), key,
                      question = std::move(question)](const Result<json::Value>& answer) mutable {
                       if (!answer) return question.done({500, "Internal Error"});
                       const json::Value& status = (*answer)["status"];
                       if (!status["authenticated"].bool_or(false))
                         return question.done({401, "Unauthorized"});
                       const json::Value& user = status["user"];
                       question.caller = json::Object{{"user", user["username"]},
                                                      {"uid", user["uid"].string_or("")},
                                                      {"groups", user["groups"]},
                                                      {"extra", user["extra"]}};
                       self->tokens_.Keep(key, question.caller, self->Now() + kTokenKept, self->Now());
                       self->Authorize(std::move(question));
                     });
  }

  void Authorize(Question question) {
    if (question.caller["user"].string_or("").empty()) return question.done({401, "Unauthorized"});
    AskFor(0, std::move(question));
  }

  // One subresource after the other, until one is allowed.
  void AskFor(std::size_t index, Question question) {
    if (index == question.subresources.size() || question.verb.empty())
      return question.done(Forbidden(question));
    json::Value spec = question.caller;
    spec["resourceAttributes"] = json::Object{{"verb", question.verb},
                                              {"version", "v1"},
                                              {"resource", "nodes"},
                                              {"subresource", question.subresources[index]},
                                              {"name", question.node}};
    const std::string key = json::Write(spec);
    if (const auto known = rights_.Find(key, Now()))
      return *known ? question.done({}) : AskFor(index + 1, std::move(question));
    const json::Value review = json::Object{{"spec", std::move(spec)}};
    client_.Dynamic(kAccessReview)
        .CreateAsync(review, {},
                     [self = shared_from_this(), key, index,
                      question = std::move(question)](const Result<json::Value>& answer) mutable {
                       if (!answer) return question.done({500, "Internal Error"});
                       const bool allowed = (*answer)["status"]["allowed"].bool_or(false);
                       const SteadyTime now = self->Now();
                       self->rights_.Keep(key, allowed, now + (allowed ? kAllowedKept : kDeniedKept), now);
                       if (allowed) return question.done({});
                       self->AskFor(index + 1, std::move(question));
                     });
  }

  const Client client_;
  Remembered<Caller> tokens_;
  Remembered<bool> rights_;
};

}  // namespace

std::shared_ptr<CallerAuth> NewDelegatedAuth(Client client) {
  return std::make_shared<DelegatedAuth>(std::move(client));
}

}  // namespace flyball::node
