#include "cli/kubectl/session/request_log.h"

#include <chrono>

#include "base/values/ascii.h"
#include "cli/command/klog.h"
#include "net/http/http_date.h"

namespace flyball::cli {
namespace {

// client-go cuts longer bodies at this verbosity.
constexpr std::size_t kLongestBody = 1024;

bool IsSecret(std::string_view header) {
  return header == "authorization" || header == "proxy-authorization";
}

// "content-type" as Go's net/http writes it.
std::string GoHeaderName(std::string_view name) {
  std::string out(name);
  bool first = true;
  for (char& c : out) {
    if (first && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    first = c == '-';
  }
  return out;
}

std::string HeaderBlock(const net::Headers& headers) {
  std::string out = "headers=<\n";
  for (const auto& [name, value] : headers)
    out += "\t" + GoHeaderName(name) + ": " +
           (IsSecret(LowerCase(name)) ? "Bearer <masked>" : std::string(value)) + "\n";
  return out + " >";
}

struct LoggedRequest {
  std::string method, url;
  int verbosity = 0;
  SteadyTime started{};
  const Clock* clock = nullptr;
};

// Passes the response on and logs it.
class LoggedSink final : public net::ResponseSink {
 public:
  LoggedSink(std::shared_ptr<net::ResponseSink> sink, LoggedRequest request)
      : sink_(std::move(sink)), request_(std::move(request)) {}

  void OnHead(int status, const net::Headers& headers) override {
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(request_.clock->Steady() - request_.started);
    std::string line = "\"Response\"";
    if (request_.verbosity < kLogRequests)
      line += " verb=\"" + request_.method + "\" url=\"" + request_.url + "\"";
    line += " status=\"" + std::to_string(status) + " " + std::string(net::StatusText(status)) + "\"";
    if (request_.verbosity >= kLogResponseHeaders) line += " " + HeaderBlock(headers);
    LogLine(*request_.clock, "round_trippers.go:632", line + " milliseconds=" + std::to_string(took.count()));
    sink_->OnHead(status, headers);
  }
  void OnData(std::string_view data) override {
    if (request_.verbosity >= kLogResponseHeaders && body_.size() < kLongestBody)
      body_.append(data.substr(0, kLongestBody - body_.size()));
    seen_ += data.size();
    sink_->OnData(data);
  }
  void OnEnd() override {
    if (!body_.empty()) {
      const std::string rest =
          seen_ > body_.size() ? " [truncated " + std::to_string(seen_ - body_.size()) + " chars]" : "";
      LogLine(*request_.clock, "type.go:213", "\"Response Body\" body=<\n\t" + body_ + rest + "\n >");
    }
    sink_->OnEnd();
  }
  void OnError(const Error& error) override { sink_->OnError(error); }

 private:
  const std::shared_ptr<net::ResponseSink> sink_;
  const LoggedRequest request_;
  std::string body_;  // its beginning
  std::size_t seen_ = 0;
};

class LoggedTransport final : public net::Transport {
 public:
  LoggedTransport(std::shared_ptr<net::Transport> next, std::string url, int verbosity, const Clock& clock)
      : next_(std::move(next)), url_(std::move(url)), verbosity_(verbosity), clock_(clock) {}

  std::shared_ptr<net::Call> Start(net::Request request, std::shared_ptr<net::ResponseSink> sink) override {
    LogRequest(request);
    LoggedRequest logged{request.method, url_ + request.target, verbosity_, clock_.Steady(), &clock_};
    return next_->Start(std::move(request), std::make_shared<LoggedSink>(std::move(sink), std::move(logged)));
  }
  void OpenWebSocket(net::Request request, std::vector<std::string> subprotocols,
                     UniqueFunction<void(Result<std::shared_ptr<net::WebSocket>>)> done) override {
    LogRequest(request);
    next_->OpenWebSocket(std::move(request), std::move(subprotocols), std::move(done));
  }
  void OpenUpgrade(net::Request request, net::UpgradeDone done) override {
    LogRequest(request);
    next_->OpenUpgrade(std::move(request), std::move(done));
  }

 private:
  void LogRequest(const net::Request& request) const {
    if (verbosity_ < kLogRequests) return;
    if (verbosity_ >= kLogResponseHeaders && !request.body.empty())
      LogLine(clock_, "type.go:213",
              "\"Request Body\" body=<\n\t" + request.body.substr(0, kLongestBody) + "\n >");
    LogLine(clock_, "round_trippers.go:527",
            "\"Request\" verb=\"" + request.method + "\" url=\"" + url_ + request.target + "\" " +
                HeaderBlock(request.headers));
  }

  const std::shared_ptr<net::Transport> next_;
  const std::string url_;
  const int verbosity_;
  const Clock& clock_;
};

}  // namespace

std::shared_ptr<net::Transport> NewLoggedTransport(std::shared_ptr<net::Transport> transport, std::string url,
                                                   int verbosity, const Clock& clock) {
  return std::make_shared<LoggedTransport>(std::move(transport), std::move(url), verbosity, clock);
}

}  // namespace flyball::cli
