#include "server/testing/server_fixture.h"

namespace flyball::server {
namespace {

// A store in which the first name given to a Job is always taken.
class TakenNameStore final : public store::Store {
 public:
  explicit TakenNameStore(store::Store& store) : store_(store) {}

  store::Revision CurrentRevision() const override { return store_.CurrentRevision(); }
  Result<std::optional<store::KeyValue>> Get(std::string_view key) const override { return store_.Get(key); }
  Result<store::RangeResult> Range(std::string_view prefix,
                                   const store::RangeOptions& options) const override {
    return store_.Range(prefix, options);
  }
  Result<std::size_t> Count(std::string_view prefix) const override { return store_.Count(prefix); }
  void Commit(store::Transaction transaction,
              UniqueFunction<void(Result<store::CommitOutcome>)> done) override {
    const std::string& key = transaction.front().key;
    if (taken.empty() && key.starts_with("/registry/jobs/")) {
      taken = key.substr(key.rfind('/') + 1);
      return done(store::CommitOutcome{});
    }
    store_.Commit(std::move(transaction), std::move(done));
  }
  std::unique_ptr<store::Watch> WatchPrefix(std::string prefix, store::Revision after,
                                            store::WatchSink* sink) override {
    return store_.WatchPrefix(std::move(prefix), after, sink);
  }
  Status Compact(store::Revision revision) override { return store_.Compact(revision); }
  store::Revision CompactedRevision() const override { return store_.CompactedRevision(); }
  Status Health() const override { return store_.Health(); }
  store::StoreStats Stats() const override { return store_.Stats(); }

  std::string taken;

 private:
  store::Store& store_;
};

class GeneratedNameTest : public ServerFixture {};

TEST_F(GeneratedNameTest, AJobWhoseFirstNameIsTakenCarriesOnlyItsOwn) {
  TakenNameStore taken(*store_);
  auto server = std::move(*ApiServer::Make({}, taken, sim_, random_, metrics_));
  auto admin = server->InProcess({"admin", "", {std::string(kMastersGroup)}, {}});
  const auto reply = Start(*admin, "POST", "/apis/batch/v1/namespaces/default/jobs",
                           R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"generateName":"run-"},"spec":
      {"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(reply->status, 201) << reply->body;
  ASSERT_TRUE(taken.taken.starts_with("run-"));
  const json::Value job = reply->value();
  const std::string name(job["metadata"]["name"].string_or(""));
  EXPECT_NE(name, taken.taken);
  EXPECT_EQ(job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"].string_or(""),
            name);
  EXPECT_EQ(reply->body.find(taken.taken), std::string::npos) << reply->body;
}

}  // namespace
}  // namespace flyball::server
