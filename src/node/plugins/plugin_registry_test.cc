#include "node/plugins/plugin_registry.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/temporary_folder.h"
#include "base/values/protobuf_fields.h"
#include "net/grpc/grpc_server.h"

namespace flyball::node {
namespace {

// Keeps what it is told.
class RecordingHandler final : public PluginHandler {
 public:
  Status Validate(const PluginInfo& plugin) override {
    if (plugin.name == "bad") return Unexpected(BadRequest("no such thing"));
    return {};
  }
  Status Register(const PluginInfo& plugin) override {
    Say("+" + plugin.name + " " + plugin.versions.at(0));
    return {};
  }
  void Deregister(const PluginInfo& plugin) override { Say("-" + plugin.name); }

  void Say(const std::string& what) {
    MutexLock lock(mu_);
    said_.push_back(what);
    changed_.NotifyAll();
  }
  void WaitFor(const std::string& what) {
    MutexLock lock(mu_);
    while (std::find(said_.begin(), said_.end(), what) == said_.end()) changed_.Wait(mu_);
    said_.clear();
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<std::string> said_ FLYBALL_GUARDED_BY(mu_);
};

class PluginRegistryTest : public ::testing::Test {
 protected:
  PluginRegistryTest() {
    registry_->Handle("CSIPlugin", handler_);
    EXPECT_TRUE(registry_->Start());
  }
  ~PluginRegistryTest() override { registry_->Stop(); }

  // A plugin of the name, which keeps what it is told about its registration.
  std::unique_ptr<net::GrpcServer> Serve(const std::string& path, const std::string& name) {
    const auto info = [name](std::string_view) -> Result<std::string> {
      std::string out;
      WireWriter writer(out);
      PutText(writer, 1, "CSIPlugin");
      PutText(writer, 2, name);
      PutTexts(writer, 4, {"1.0.0"});
      return out;
    };
    const auto told = [this](std::string_view bytes) -> Result<std::string> {
      bool registered = false;
      std::string error;
      FLYBALL_TRY(ReadFields(bytes, "status", [&](WireReader& field) {
        return TakeBool(field, 1, registered) || TakeText(field, 2, error);
      }));
      handler_->Say(registered ? "registered" : error);
      return std::string();
    };
    return *net::GrpcServer::Start(path, {{kGetPluginInfoMethod, info}, {kNotifyRegistrationMethod, told}},
                                   pool_);
  }

  const TemporaryFolder folder_ = *TemporaryFolder::Make();
  const std::string registered_ = folder_.path().string() + "/plugins_registry";
  ThreadPool pool_{"plugins", 2};
  const std::shared_ptr<RecordingHandler> handler_ = std::make_shared<RecordingHandler>();
  const std::shared_ptr<PluginRegistry> registry_ = std::make_shared<PluginRegistry>(registered_, pool_);
};

TEST_F(PluginRegistryTest, APluginComesAndGoesWithItsSocket) {
  const std::string socket = registered_ + "/one.sock";
  auto server = Serve(socket, "one");
  handler_->WaitFor("+one 1.0.0");
  handler_->WaitFor("registered");
  std::filesystem::remove(socket);
  handler_->WaitFor("-one");
  server = Serve(socket, "again");
  handler_->WaitFor("+again 1.0.0");
}

TEST_F(PluginRegistryTest, SocketsInFoldersCount) {
  std::filesystem::create_directories(registered_ + "/of.driver");
  const auto server = Serve(registered_ + "/of.driver/reg.sock", "deep");
  handler_->WaitFor("+deep 1.0.0");
}

TEST_F(PluginRegistryTest, ARefusalIsToldToThePlugin) {
  const auto server = Serve(registered_ + "/bad.sock", "bad");
  handler_->WaitFor("RegisterPlugin error -- plugin validation failed with err: no such thing");
}

}  // namespace
}  // namespace flyball::node
