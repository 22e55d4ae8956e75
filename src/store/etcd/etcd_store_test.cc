#include "store/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "base/run/thread.h"
#include "net/tls/pki.h"
#include "store/etcd/etcd_messages.h"
#include "store/etcd/etcd_version.h"
#include "store/testing/etcd_server.h"

namespace flyball::store {
namespace {

using namespace std::chrono_literals;

TEST(EtcdVersionTest, OnlyReliableProgressWillDo) {
  for (const char* good : {"3.4.31", "3.4.40", "3.5.13", "3.5.21", "3.6.0", "3.6.5", "3.10.1", "4.0.0"})
    EXPECT_TRUE(etcd::CheckVersion(good)) << good;
  for (const char* old : {"3.3.27", "3.4.23", "3.4.30", "3.5.0", "3.5.12", "2.3.8"})
    EXPECT_FALSE(etcd::CheckVersion(old)) << old;
  EXPECT_FALSE(etcd::CheckVersion("banana"));
}

TEST(EtcdMessagesTest, WhatIsMalformedIsRefused) {
  EXPECT_FALSE(etcd::RangeResponse::Decode("\x12\x7f"));
  EXPECT_FALSE(etcd::TxnResponse::Decode("\x1a\x05\x12\x03\x12\x7f"));
  EXPECT_FALSE(etcd::WatchResponse::Decode("\x5a\x02\x12\x7f"));
}

class EtcdStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!EtcdServer::Available()) GTEST_SKIP() << "there is no etcd here";
    server_ = std::make_unique<EtcdServer>(folder_);
  }
  std::unique_ptr<Store> Open(EtcdOptions options = {}) {
    options.endpoints.push_back(server_->url());
    auto store = OpenEtcdStore(options, executor_);
    EXPECT_TRUE(store) << store.error().ToString();
    return store ? std::move(*store) : nullptr;
  }
  static Status CatchUpNow(Store& store) {
    const auto told = std::make_shared<Notification<Status>>();
    store.CatchUp([told](Status status) { told->Set(status); });
    return told->Wait();
  }

  TempFolder folder_;
  std::unique_ptr<EtcdServer> server_;
  ThreadPool executor_{"test", 2};
};

TEST_F(EtcdStoreTest, KeysWithATimeToLiveGo) {
  auto store = Open();
  RecordingSink sink;
  auto watch = store->WatchPrefix("", 0, &sink);
  ASSERT_TRUE(PutNow(*store, "a", "1", {}, 1s));
  ASSERT_TRUE(PutNow(*store, "b", "1", {}, 1s));
  ASSERT_TRUE(PutNow(*store, "c", "1", {}, 1h));
  sink.WaitForEvents(5);
  EXPECT_EQ(sink.events().back().type, Event::Type::kDelete);
  EXPECT_FALSE(*store->Get("a"));
  EXPECT_TRUE(*store->Get("c"));
}

// Two stores on one etcd are two API servers.
TEST_F(EtcdStoreTest, AWatchFollowsWhatOthersWrite) {
  auto one = Open(), other = Open();
  RecordingSink sink;
  auto watch = one->WatchPrefix("/registry/", 0, &sink);
  for (int i = 0; i < 50; ++i) {
    const auto outcome = PutNow(*other, "/registry/k" + std::to_string(i % 7), std::to_string(i));
    ASSERT_TRUE(outcome && outcome->committed);
    // Something outside of what is watched: only progress tells of it.
    const std::string outside = "elsewhere" + std::to_string(i % 10);
    ASSERT_TRUE(PutNow(*other, outside, std::to_string(i)));
    ASSERT_TRUE(CatchUpNow(*one));
    ASSERT_EQ(sink.events().size(), static_cast<std::size_t>(i + 1));
    ASSERT_GE(one->CurrentRevision(), outcome->revision);
  }
}

// Readers share questions, and each still sees what was acknowledged before it asked.
TEST_F(EtcdStoreTest, ManyWhoCatchUpAtOnceSeeWhatWasCommittedBefore) {
  auto one = Open(), other = Open();
  RecordingSink sink;
  auto watch = one->WatchPrefix("/registry/", 0, &sink);
  std::atomic<Revision> acknowledged{1};
  std::atomic<int> stale{0}, failed{0}, running{0};
  std::vector<Thread> readers;
  for (int i = 0; i < 8; ++i) {
    ++running;
    readers.emplace_back("reader", [&] {
      for (int round = 0; round < 200; ++round) {
        const Revision before = acknowledged;
        if (!CatchUpNow(*one)) ++failed;
        if (one->CurrentRevision() < before) ++stale;
      }
      --running;
    });
  }
  for (int i = 0; running > 0; ++i) {
    const auto outcome = PutNow(*other, "/registry/k" + std::to_string(i % 7), std::to_string(i));
    if (outcome) acknowledged = outcome->revision;
  }
  readers.clear();
  EXPECT_EQ(stale, 0);
  EXPECT_EQ(failed, 0);
}

TEST_F(EtcdStoreTest, AConflictIsToldWhenTheWatchHasSeenItsCause) {
  auto one = Open(), other = Open();
  RecordingSink sink;
  auto watch = one->WatchPrefix("", 0, &sink);
  for (int i = 0; i < 20; ++i) {
    const Revision theirs = PutNow(*other, "a", std::to_string(i))->revision;
    auto outcome = PutNow(*one, "a", "mine", Precondition::Absent());
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(outcome->committed);
    ASSERT_EQ(outcome->current->mod_revision, theirs);
    ASSERT_EQ(sink.events().back().kv.mod_revision, theirs);
    ASSERT_TRUE(DeleteNow(*other, "a"));
    outcome = PutNow(*one, "a", "mine", Precondition::Present());
    ASSERT_TRUE(outcome);
    ASSERT_FALSE(outcome->committed);
    ASSERT_EQ(sink.events().back().type, Event::Type::kDelete);
  }
}

TEST_F(EtcdStoreTest, AWatchIsResumedWhenEtcdComesBack) {
  auto store = Open();
  RecordingSink sink;
  auto watch = store->WatchPrefix("", 0, &sink);
  Revision last = 1;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      const auto outcome = PutNow(*store, "k" + std::to_string(i), std::to_string(round));
      ASSERT_TRUE(outcome) << outcome.error().ToString();
      last = outcome->revision;
    }
    server_->Stop(SIGTERM);
    server_->Start();
    while (!store->Get("k0")) {
    }
  }
  ASSERT_TRUE(CatchUpNow(*store));
  const auto events = sink.events();
  ASSERT_EQ(events.size(), 30u);
  EXPECT_EQ(events.back().kv.mod_revision, last);
  for (std::size_t i = 1; i < events.size(); ++i)
    EXPECT_EQ(events[i].kv.mod_revision, events[i - 1].kv.mod_revision + 1);
}

TEST_F(EtcdStoreTest, AnotherPrefixIsAnotherSetOfKeys) {
  auto store = Open({.prefix = "/elsewhere/"}), plain = Open();
  RecordingSink sink;
  auto watch = store->WatchPrefix("/registry/", 0, &sink);
  ASSERT_TRUE(PutNow(*store, "/registry/pods/a/b", "1"));
  EXPECT_EQ(sink.events().at(0).kv.key, "/registry/pods/a/b");
  EXPECT_EQ((*store->Get("/registry/pods/a/b"))->key, "/registry/pods/a/b");
  EXPECT_FALSE(*plain->Get("/registry/pods/a/b"));
  EXPECT_EQ(*(*plain->Get("/elsewhere/pods/a/b"))->value, "1");
  EXPECT_EQ(store->Range("/registry/pods/")->items.at(0).key, "/registry/pods/a/b");
}

TEST_F(EtcdStoreTest, OneServerCompactsForAll) {
  auto one = Open({.compaction_interval = 300ms}), other = Open({.compaction_interval = 300ms});
  const Revision first = PutNow(*one, "a", "0")->revision;
  const SteadyTime deadline = RealClock().Steady() + 20s;
  int written = 0;
  while (std::min(one->CompactedRevision(), other->CompactedRevision()) <= first &&
         RealClock().Steady() < deadline) {
    ASSERT_TRUE(PutNow(*one, "a", std::to_string(++written)));
    SleepFor(20ms);
  }
  EXPECT_GT(one->CompactedRevision(), first);
  EXPECT_GT(other->CompactedRevision(), first);
  EXPECT_TRUE(one->Range("", {.revision = first}).error().Is(Reason::kExpired));
  RecordingSink sink;
  auto watch = other->WatchPrefix("", first, &sink);
  EXPECT_TRUE(sink.WaitForError()->Is(Reason::kExpired));
}

TEST_F(EtcdStoreTest, AnotherEndpointIsUsedWhenOneIsDead) {
  auto store = OpenEtcdStore({.endpoints = {"http://127.0.0.1:1", server_->url()}}, executor_);
  ASSERT_TRUE(store) << store.error().ToString();
  RecordingSink sink;
  auto watch = (*store)->WatchPrefix("", 0, &sink);
  ASSERT_TRUE(PutNow(**store, "a", "1"));
  EXPECT_EQ(sink.events().size(), 1u);
}

TEST_F(EtcdStoreTest, HealthSaysWhetherEtcdAnswers) {
  auto store = Open({.health_timeout = 300ms});
  EXPECT_TRUE(store->Health());
  server_->Signal(SIGSTOP);
  SleepFor(1100ms);  // the answer is kept for a second
  EXPECT_FALSE(store->Health());
  server_->Signal(SIGCONT);
}

TEST_F(EtcdStoreTest, ACommitEndsWhenEtcdIsSilent) {
  auto store = Open();
  server_->Signal(SIGSTOP);
  const auto outcome = PutNow(*store, "a", "1");
  server_->Signal(SIGCONT);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().Is(Reason::kServerTimeout)) << outcome.error().ToString();
}

TEST(EtcdTlsTest, BothSidesAreChecked) {
  if (!EtcdServer::Available()) GTEST_SKIP() << "there is no etcd here";
  const TimePoint now = RealClock().Now();
  const auto authority = net::MakeCertificateAuthority("etcd-ca", now, 24h);
  const auto stranger = net::MakeCertificateAuthority("stranger", now, 24h);
  const auto serving = net::IssueCertificate(
      *authority, {.common_name = "etcd", .ip_addresses = {"127.0.0.1"}, .server = true, .client = true}, now,
      24h);
  const auto client = net::IssueCertificate(*authority, {.common_name = "flyball", .client = true}, now, 24h);
  TempFolder folder;
  EtcdServer server(folder, {serving->certificate_pem, serving->private_key_pem, authority->certificate_pem});
  ThreadPool executor("test", 2);
  EtcdOptions options{.endpoints = {server.url()}};
  options.tls = {.ca_pem = authority->certificate_pem,
                 .certificate_pem = client->certificate_pem,
                 .private_key_pem = client->private_key_pem};
  {
    auto store = OpenEtcdStore(options, executor);
    ASSERT_TRUE(store) << store.error().ToString();
    RecordingSink sink;
    auto watch = (*store)->WatchPrefix("", 0, &sink);
    ASSERT_TRUE(PutNow(**store, "a", "1"));
    EXPECT_EQ(sink.events().size(), 1u);
  }
  options.tls.ca_pem = stranger->certificate_pem;
  const auto refused = OpenEtcdStore(options, executor);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("tls: failed to verify certificate"), std::string::npos)
      << refused.error().message();
  options.tls = {.ca_pem = authority->certificate_pem};
  options.open_timeout = 300ms;
  EXPECT_FALSE(OpenEtcdStore(options, executor));
}

TEST(EtcdOpenTest, SaysWhatIsWrong) {
  ThreadPool executor("test", 1);
  EXPECT_TRUE(OpenEtcdStore({}, executor).error().Is(Reason::kBadRequest));
  EXPECT_FALSE(OpenEtcdStore({.endpoints = {"banana"}}, executor));
  const auto nobody = OpenEtcdStore({.endpoints = {"http://127.0.0.1:1"}, .open_timeout = 3s}, executor);
  ASSERT_FALSE(nobody);
  EXPECT_NE(nobody.error().message().find("127.0.0.1:1"), std::string::npos) << nobody.error().message();
  EXPECT_NE(nobody.error().message().find("connection refused"), std::string::npos);
}

}  // namespace
}  // namespace flyball::store
