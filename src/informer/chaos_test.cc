// Whatever happens to the server and the connections, in the end every cache equals a fresh list, and every
// handler has received exactly the notifications that lead to it. Runs on virtual time; a failure replays
// from its seed.
#include <gtest/gtest.h>

#include "api/types/core.h"
#include "base/observe/log.h"
#include "base/run/sim_executor.h"
#include "client/testing/fake_api_server.h"
#include "informer/informer_factory.h"

namespace flyball {
namespace {

constexpr char kChaosPath[] = "/api/v1/configmaps";

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : random_(seed),
        executor_(seed),
        server_(std::make_shared<testing::FakeApiServer>(executor_, random_)),
        runtime_{.executor = executor_, .random = random_, .metrics = metrics_, .may_block = false},
        client_(std::make_shared<RestClient>(server_, runtime_)) {
    server_->set_streaming_lists(!random_.OneIn(3));
    factories_.push_back(
        std::make_unique<InformerFactory>(client_, FactoryOptions{.streaming_lists = false}));
    factories_.push_back(std::make_unique<InformerFactory>(client_, FactoryOptions{.streaming_lists = true}));
  }

  void Run() {
    for (int i = 0; i < 20; ++i) Write();
    for (auto& factory : factories_) {
      Follow(factory->For<ConfigMap>());
      Follow(factory->For<ConfigMap>({.ns = "ns-1"}));
      factory->Start();
    }
    for (int i = 0; i < 60; ++i) {
      Disturb();
      for (std::uint64_t n = random_.Below(20); n > 0; --n) Write();
      executor_.RunFor(std::chrono::milliseconds(random_.Below(5000)));
    }
    server_->SetFaults({});
    server_->SetDown(false);
    Write();
    // The longest back-off is 60 s with jitter.
    executor_.RunFor(std::chrono::minutes(3));
    for (auto& informer : informers_) Check(informer);
  }

 private:
  using Told = std::map<std::string, std::string>;
  struct Followed {
    SharedInformer<ConfigMap> informer;
    std::shared_ptr<Told> told;
  };

  void Follow(SharedInformer<ConfigMap> informer) {
    auto told = std::make_shared<Told>();
    const auto key = [](const ConfigMap& o) { return o.metadata.namespace_ + "/" + o.metadata.name; };
    EventHandler<ConfigMap> handler;
    handler.on_add = [told, key](const std::shared_ptr<const ConfigMap>& o, bool) {
      EXPECT_FALSE(told->contains(key(*o))) << "added twice";
      (*told)[key(*o)] = o->metadata.resource_version;
    };
    handler.on_update = [told, key](const std::shared_ptr<const ConfigMap>& old,
                                    const std::shared_ptr<const ConfigMap>& o) {
      EXPECT_EQ((*told)[key(*o)], old->metadata.resource_version) << "an update was missed";
      (*told)[key(*o)] = o->metadata.resource_version;
    };
    handler.on_delete = [told, key](const std::shared_ptr<const ConfigMap>& o, bool) {
      EXPECT_TRUE(told->erase(key(*o))) << "deleted twice";
    };
    informer.AddHandler(std::move(handler));
    informers_.push_back({informer, told});
  }

  void Write() {
    const std::string ns = "ns-" + std::to_string(random_.Below(3));
    const std::string name = "c-" + std::to_string(random_.Below(30));
    if (random_.OneIn(4)) return server_->Remove(kChaosPath, ns, name);
    json::Value old =
        server_->Find(kChaosPath, ns, name)
            .value_or(json::Object{{"apiVersion", "v1"},
                                   {"kind", "ConfigMap"},
                                   {"metadata", json::Object{{"name", name}, {"namespace", ns}}}});
    old["data"]["n"] = std::to_string(random_.Next());
    server_->Put(kChaosPath, std::move(old));
  }

  void Disturb() {
    switch (random_.Below(8)) {
      case 0:
        return server_->SetDown(true);
      case 1:
        return server_->SetDown(false);
      case 2:
        return server_->CutWatches();
      case 3:
        return server_->Compact();
      case 4:
        return server_->ExpireWatches();
      case 5:
        return server_->SendBookmarks();
      case 6:
        return server_->SetFaults({.refuse = 0.2 * random_.Unit(),
                                   .overload = 0.1 * random_.Unit(),
                                   .unavailable = 0.1 * random_.Unit(),
                                   .cut_list = 0.3 * random_.Unit(),
                                   .cut_watch = 0.1 * random_.Unit(),
                                   .split = random_.Unit(),
                                   .slow = 0.05 * random_.Unit(),
                                   .shuffle_lists = 1,
                                   .duplicate_items = 0.1 * random_.Unit()});
      default:
        return;
    }
  }

  void Check(const Followed& followed) {
    const std::string& ns = followed.informer.core().ns();
    Told want;
    for (const auto& [key, version] : server_->Versions(kChaosPath))
      if (ns.empty() || key.starts_with(ns + "/")) want[key] = version;
    Told have;
    for (const auto& object : followed.informer.lister().List())
      have[object->metadata.namespace_ + "/" + object->metadata.name] = object->metadata.resource_version;
    EXPECT_TRUE(followed.informer.HasSynced());
    EXPECT_EQ(have, want);
    EXPECT_EQ(*followed.told, want);
    for (const auto& value : followed.informer.indexer().IndexValues(kNamespaceIndex))
      EXPECT_FALSE(followed.informer.indexer().ListNamespace(value).empty());
  }

  Random random_;
  SimExecutor executor_;
  Metrics metrics_;
  std::shared_ptr<testing::FakeApiServer> server_;
  const Runtime runtime_;
  Client client_;
  std::vector<std::unique_ptr<InformerFactory>> factories_;
  std::vector<Followed> informers_;
};

TEST(ChaosTest, CachesEqualAFreshListAfterEverySeed) {
  log::SetLevel(log::Level::kNone);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chaos(seed).Run();
    if (::testing::Test::HasFailure()) break;
  }
  log::SetLevel(log::Level::kInfo);
}

}  // namespace
}  // namespace flyball
