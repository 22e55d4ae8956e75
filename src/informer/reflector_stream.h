// ReflectorStream: passes the bytes of one response from the network to the reflector's strand. The network
// appends and never waits; beyond kMaxPending bytes it is told to pause until the strand has caught up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/run/mutex.h"
#include "client/rest_client.h"
#include "net/http/http.h"

namespace flyball {

// Thread-safe.
class ReflectorStream final : public net::ResponseSink {
 public:
  static constexpr std::size_t kMaxPending = 4u << 20;

  // `wake` is called, from any thread, when there is data to take and none has been announced since the last
  // Take. It must not block or call back at once.
  explicit ReflectorStream(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Start(RestClient& client, RestRequest request, const std::shared_ptr<ReflectorStream>& self);
  // No wake after this; cancels the call.
  void Cancel();

  // What has arrived since the last Take.
  struct Taken {
    int status = 0;  // 0: no response head yet
    net::Headers headers;
    std::string data;
    bool ended = false;          // no more data follows
    std::optional<Error> error;  // ... because of this error
  };
  Taken Take();

  void OnHead(int status, const net::Headers& headers) override;
  void OnData(std::string_view data) override;
  void OnEnd() override;
  void OnError(const Error& error) override;

 private:
  void Wake(bool announce);

  const std::function<void()> wake_;
  Mutex mu_;
  std::shared_ptr<net::Call> call_ FLYBALL_GUARDED_BY(mu_);
  int status_ FLYBALL_GUARDED_BY(mu_) = 0;
  net::Headers headers_ FLYBALL_GUARDED_BY(mu_);
  std::string data_ FLYBALL_GUARDED_BY(mu_);
  bool ended_ FLYBALL_GUARDED_BY(mu_) = false;
  bool cancelled_ FLYBALL_GUARDED_BY(mu_) = false;
  bool announced_ FLYBALL_GUARDED_BY(mu_) = false;
  bool paused_ FLYBALL_GUARDED_BY(mu_) = false;
  std::optional<Error> error_ FLYBALL_GUARDED_BY(mu_);
};

}  // namespace flyball
