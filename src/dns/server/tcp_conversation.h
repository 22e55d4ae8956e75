// TcpConversation: the questions and answers on one TCP connection (RFC 7766).
#pragma once

#include <memory>
#include <string>

#include "base/run/executor.h"
#include "dns/server/responder.h"
#include "net/http/http.h"

namespace flyball::dns {

// Questions may be pipelined, and are answered as the answers come. Bounds: kMaxUnderWay questions under way
// and kMaxUnsent bytes owed, beyond which the connection is not read; it is closed when no whole question has
// come for kIdle and none is under way. Confined to the loop; the connection keeps it alive.
class TcpConversation final : public std::enable_shared_from_this<TcpConversation> {
 public:
  static constexpr std::size_t kMaxUnderWay = 100;
  static constexpr std::size_t kMaxUnsent = 256u << 10;
  static constexpr Duration kIdle = std::chrono::seconds(10);

  TcpConversation(std::shared_ptr<Responder> responder, Executor& executor,
                  std::shared_ptr<net::Duplex> connection, const Asker& asker);
  void Start();

 private:
  void OnBytes(std::string_view data);
  void TakeQuestions();
  void OnAnswered();
  void OnEnd();
  void EndIfOver();
  void SendAnswer(const std::string& packet);
  void CheckIdle();
  bool Busy() const;

  const std::shared_ptr<Responder> responder_;
  Executor& executor_;
  const std::shared_ptr<net::Duplex> connection_;
  const Asker asker_;
  std::string input_;
  std::size_t under_way_ = 0;
  SteadyTime active_{};
  bool ended_ = false, closed_ = false, paused_ = false;
};

}  // namespace flyball::dns
