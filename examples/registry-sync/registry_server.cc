// A small service registry: JSON records by path, in memory, over HTTP.
//
//   GET    /v1/records       everything: {"services/shop/web": {...}, ...}
//   GET    /v1/<path>        one record, 404 if there is none
//   PUT    /v1/<path>        creates or replaces it
//   DELETE /v1/<path>        removes it; 204 also if there was none
#include <flyball/http.h>
#include <flyball/sdk.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

// Thread-safe.
class Records {
 public:
  net::Response Handle(const net::Request& request) {
    constexpr std::string_view kPrefix = "/v1/";
    if (!request.target.starts_with(kPrefix)) return {404, {}, "not found\n"};
    const std::string path = request.target.substr(kPrefix.size());
    const std::lock_guard lock(mu_);
    if (request.method == "GET") return path == "records" ? All() : One(path);
    if (request.method == "PUT") return Store(path, request.body);
    if (request.method != "DELETE") return {405, {}, "method not allowed\n"};
    records_.erase(path);
    return {204, {}, ""};
  }

 private:
  static net::Response Json(const json::Value& value) {
    return {200, {{"content-type", "application/json"}}, json::Write(value)};
  }
  net::Response All() const {
    json::Object all;
    for (const auto& [path, record] : records_) all.Set(path, record);
    return Json(json::Value(std::move(all)));
  }
  net::Response One(const std::string& path) const {
    const auto it = records_.find(path);
    return it == records_.end() ? net::Response{404, {}, "not found\n"} : Json(it->second);
  }
  net::Response Store(const std::string& path, const std::string& body) {
    auto record = json::Parse(body);
    if (!record) return {400, {}, record.error().message() + "\n"};
    records_[path] = std::move(*record);
    return Json(records_[path]);
  }

  std::mutex mu_;
  std::map<std::string, json::Value> records_;
};

int main(int argc, char** argv) {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int s : {SIGINT, SIGTERM}) sigaddset(&stop, s);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  Records records;
  const auto handle = [&records](std::shared_ptr<net::Request> request,
                                 std::shared_ptr<net::ResponseStream> stream) -> Task<void> {
    net::Response answer = records.Handle(*request);
    stream->Send(answer.status, std::move(answer.headers), std::move(answer.body));
    co_return;
  };
  const auto server = net::HttpServer::Start({.port = argc > 1 ? std::atoi(argv[1]) : 8500}, handle);
  if (!server) {
    std::fprintf(stderr, "error: %s\n", server.error().message().c_str());
    return 1;
  }
  std::printf("registry at http://127.0.0.1:%d\n", (*server)->port());
  std::fflush(stdout);
  int received = 0;
  sigwait(&stop, &received);
}
