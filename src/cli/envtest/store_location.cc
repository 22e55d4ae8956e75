#include "cli/envtest/store_location.h"

#include "base/run/executor.h"
#include "base/values/ascii.h"
#include "json/json.h"
#include "net/client/http_client.h"

namespace flyball::cli {
namespace {

constexpr Duration kAskTimeout = std::chrono::seconds(5);

Error NotOurs(const std::string& url) {
  return BadRequest(
      "--etcd-servers: " + url +
      " is not the etcd that `flyball envtest` writes: this kube-apiserver keeps its store in that "
      "program's data folder and does not speak to a real etcd");
}

Result<StoreLocation> ParseStoreLocation(const std::string& url, const net::Response& response) {
  if (response.status != 200) return Unexpected(NotOurs(url));
  const auto value = json::Parse(response.body);
  const json::Value* folder = value && value->is_object() ? value->Find("dataDir") : nullptr;
  const json::Value* sync = folder ? value->Find("sync") : nullptr;
  if (!folder || !folder->is_string() || !sync || !sync->is_bool()) return Unexpected(NotOurs(url));
  return StoreLocation{std::string(folder->as_string()), sync->as_bool()};
}

Result<StoreLocation> AskOne(const std::string& url, Executor& executor) {
  net::ClientOptions options;
  options.url = url;
  options.http2 = false;
  options.connect_timeout = kAskTimeout;
  FLYBALL_ASSIGN(const auto transport, net::NewHttpClient(options));
  net::Request request;
  request.target = std::string(kStoreLocationPath);
  FLYBALL_ASSIGN(const net::Response response,
                 net::RoundTrip(*transport, std::move(request), executor, kAskTimeout));
  return ParseStoreLocation(url, response);
}

}  // namespace

std::string StoreLocationText(const StoreLocation& location) {
  return json::Write(json::Object{{"dataDir", location.data_dir}, {"sync", location.sync}});
}

Result<StoreLocation> AskStoreLocation(const std::string& urls) {
  ThreadPool timers("etcd", 1);
  Result<StoreLocation> answer = Unexpected(BadRequest("--etcd-servers must be specified"));
  for (const std::string& url : SplitWords(urls, ",")) {
    answer = AskOne(url, timers);
    if (answer) break;
  }
  timers.Stop();
  return answer;
}

std::string DataFolderOf(const StoreLocation& location, std::string_view prefix) {
  std::string name;
  for (const char c : Trimmed(prefix, "/")) name += IsAlphanumeric(c) || c == '-' || c == '_' ? c : '-';
  return location.data_dir + "/flyball/" + (name.empty() ? "root" : name);
}

}  // namespace flyball::cli
