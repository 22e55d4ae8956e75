#include "net/grpc/grpc_server.h"

#include <gtest/gtest.h>

#include "base/files/temporary_folder.h"
#include "net/grpc/grpc_channel.h"
#include "net/grpc/grpc_message.h"

namespace flyball::net {
namespace {

class GrpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto echo = [](std::string_view request) -> Result<std::string> {
      return "you said " + std::string(request);
    };
    const auto refuse = [](std::string_view) -> Result<std::string> {
      return Unexpected(GrpcError(GrpcCode::kResourceExhausted, "50% of\nnothing"));
    };
    const auto fail = [](std::string_view) -> Result<std::string> { return Unexpected(BadRequest("no")); };
    auto server = GrpcServer::Start(
        socket_, {{"/p.S/Echo", echo}, {"/p.S/Refuse", refuse}, {"/p.S/Fail", fail}}, pool_);
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    channel_ = *GrpcChannel::Make("unix://" + socket_);
  }
  std::string Call(const std::string& method, const std::string& message = "hello") {
    const auto answer = channel_->Call(method, message, {.timeout = std::chrono::seconds(20)});
    return answer ? *answer : "(" + answer.error().message() + ")";
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Make();
  const std::string socket_ = folder_.path().string() + "/s.sock";
  ThreadPool pool_{"grpc", 2};
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<GrpcChannel> channel_;
};

TEST_F(GrpcServerTest, AnswersWithMessagesAndErrors) {
  EXPECT_EQ(Call("/p.S/Echo"), "you said hello");
  EXPECT_EQ(Call("/p.S/Echo", ""), "you said ");
  EXPECT_EQ(Call("/p.S/Echo", std::string(1 << 20, 'x')).size(), (1u << 20) + 9);
  EXPECT_EQ(Call("/p.S/Refuse"), "(rpc error: code = ResourceExhausted desc = 50% of\nnothing)");
  EXPECT_EQ(Call("/p.S/Fail"), "(rpc error: code = Unknown desc = no)");
  EXPECT_EQ(Call("/p.S/Other"), "(rpc error: code = Unimplemented desc = unknown method /p.S/Other)");
}

TEST_F(GrpcServerTest, TakesTheSocketOfOneThatIsGone) {
  server_.reset();
  EXPECT_EQ(Call("/p.S/Echo").substr(0, 36), "(rpc error: code = Unavailable desc ");
  SetUp();
  EXPECT_EQ(Call("/p.S/Echo"), "you said hello");
}

}  // namespace
}  // namespace flyball::net
