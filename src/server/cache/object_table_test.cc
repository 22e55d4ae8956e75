#include "server/cache/object_table.h"

#include <gtest/gtest.h>

#include <map>

#include "base/run/random.h"
#include "base/run/sim_executor.h"
#include "json/json.h"
#include "server/cache/watch_cache.h"
#include "store/memory/memory_store.h"

namespace flyball::server {
namespace {

constexpr const char* kPodsPrefix = "/registry/pods/";

std::shared_ptr<const api::KindInfo> PodKind() {
  return {std::shared_ptr<void>(), api::FindBuiltinKind("", "v1", "Pod")};
}

std::string PodText(const std::string& space, const std::string& name, const std::string& node,
                    const std::string& app) {
  std::string text = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"(","namespace":")" +
                     space + R"(","uid":"u-)" + name + "\"";
  if (!app.empty()) text += R"(,"labels":{"app":")" + app + "\"}";
  text += "}";
  if (!node.empty()) text += R"(,"spec":{"nodeName":")" + node + "\"}";
  return text + "}";
}

ObjectPtr Pod(const std::string& space, const std::string& name, const std::string& node,
              const std::string& app, store::Revision revision = 1) {
  return *StoredObject::Build(MakeBytes(PodText(space, name, node, app)), revision, *PodKind());
}

ObjectFilter Filter(const std::string& space, const std::string& fields, const std::string& labels) {
  ObjectFilter filter{.namespace_name = space};
  filter.fields = *api::FieldSelector::Parse(fields, *PodKind());
  filter.labels = *api::LabelSelector::Parse(labels);
  return filter;
}

std::vector<std::string> Names(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> names;
  for (const auto& object : objects) names.push_back(object->namespace_name() + "/" + object->name());
  return names;
}

TEST(ObjectKey, ComparesAsTheBytesOfTheKeyDo) {
  const std::vector<std::string> spaces = {"a", "a-b", "a.b", "a0", "ab", "b", "a-"};
  for (const auto& x : spaces)
    for (const auto& y : spaces)
      for (const std::string n : {"p", "q"})
        for (const std::string m : {"p", "q"})
          EXPECT_EQ((ObjectKey{x, n} < ObjectKey{y, m}), x + "/" + n < y + "/" + m) << x << " " << y;
}

// Random changes and selections: an index must say what looking at every object says.
TEST(ObjectTable, IndexesAgreeWithALookAtEveryObject) {
  Random random(7);
  ObjectTable table(true);
  std::map<std::string, ObjectPtr> model;
  const auto number = [&](const char* what, std::uint64_t below) {
    return what + std::to_string(random.Below(below));
  };
  for (int step = 0; step < 6000; ++step) {
    const std::string space = number("ns", 3), name = number("pod", 400), key = space + "/" + name;
    if (random.OneIn(5)) {
      EXPECT_EQ(table.Erase(key) != nullptr, model.erase(key) == 1);
    } else {
      const auto pod =
          Pod(space, name, random.OneIn(3) ? "" : number("node", 5), random.OneIn(3) ? "" : number("app", 4));
      table.Put(pod);
      model[key] = pod;
    }
    if (!random.OneIn(10)) continue;
    const auto filter =
        Filter(random.OneIn(2) ? "" : number("ns", 3),
               random.OneIn(2) ? "" : "spec.nodeName=" + (random.OneIn(4) ? "" : number("node", 6)),
               random.OneIn(2) ? "" : "app=" + number("app", 5));
    std::vector<ObjectPtr> found, expected;
    table.Select(filter).ForEach([&](const ObjectPtr& object) {
      if (filter.Accepts(*object)) found.push_back(object);
    });
    for (const auto& [k, object] : model)
      if (filter.Accepts(*object)) expected.push_back(object);
    ASSERT_EQ(Names(found), Names(expected)) << "step " << step;
  }
  EXPECT_EQ(table.indexes(), 2u);  // spec.nodeName and app
}

TEST(ObjectTable, AnIndexIsReadInsteadOfTheWholeTable) {
  ObjectTable table(true);
  for (int i = 0; i < 5000; ++i)
    table.Put(Pod("ns", "pod" + std::to_string(i), "node" + std::to_string(i % 100), ""));
  const auto filter = Filter("", "spec.nodeName=node7", "");
  EXPECT_EQ(table.Select(filter).size(), 5000u);  // the first time nobody knows that it will be used again
  EXPECT_EQ(table.Select(filter).size(), 50u);
  EXPECT_EQ(table.Select(Filter("ns", "spec.nodeName=node8", "")).size(), 50u);
  EXPECT_EQ(table.Select(Filter("other", "spec.nodeName=node8", "")).size(), 0u);
}

TEST(ObjectTable, KeepsTheIndexesThatAreUsed) {
  ObjectTable table(true);
  for (int i = 0; i < 300; ++i) table.Put(Pod("ns", "pod" + std::to_string(i), "node1", ""));
  for (int label = 0; label < 40; ++label)
    for (int use = 0; use < 3; ++use) {
      table.Select(Filter("", "", "label" + std::to_string(label) + "=x"));
      table.Select(Filter("", "spec.nodeName=node2", ""));
    }
  EXPECT_EQ(table.indexes(), ObjectTable::kMaxIndexes);
  EXPECT_EQ(table.Select(Filter("", "spec.nodeName=node2", "")).size(), 0u);  // still from its index
}

TEST(SubscriberIndex, FindsOnlyThoseAChangeMayConcern) {
  SubscriberIndex index;
  std::vector<SubscriberPtr> nodes;
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(std::make_shared<Subscriber>(Filter("", "spec.nodeName=node" + std::to_string(i), "")));
    index.Add(nodes.back());
  }
  const auto everything = std::make_shared<Subscriber>(ObjectFilter{});
  const auto space = std::make_shared<Subscriber>(ObjectFilter{.namespace_name = "ns"});
  const auto other = std::make_shared<Subscriber>(ObjectFilter{.namespace_name = "other"});
  for (const auto& subscriber : {everything, space, other}) index.Add(subscriber);

  std::vector<SubscriberPtr> found;
  index.Find(Change(Pod("ns", "p", "node5", ""), Pod("ns", "p", "node3", ""), 2), found);
  EXPECT_EQ(found, (std::vector<SubscriberPtr>{everything, space, nodes[5], nodes[3]}));
  found.clear();
  index.Find(Change(Pod("ns", "p", "node5", ""), Pod("ns", "p", "node5", ""), 2), found);
  EXPECT_EQ(found, (std::vector<SubscriberPtr>{everything, space, nodes[5]}));

  for (const auto& subscriber : nodes) index.Remove(subscriber);
  index.Remove(space);
  EXPECT_EQ(index.All(), (std::vector<SubscriberPtr>{everything, other}));
}

class CachedPodsTest : public testing::Test {
 protected:
  void Commit(const std::string& space, const std::string& name, const std::string& text) {
    store::Transaction transaction(1);
    transaction[0].key = kPodsPrefix + space + "/" + name;
    if (!text.empty()) transaction[0].value = MakeBytes(text);
    store_->Commit(std::move(transaction), [](Result<store::CommitOutcome>) {});
    sim_.RunReady();
  }

  SimExecutor sim_{1};
  std::unique_ptr<store::Store> store_ = store::NewMemoryStore(sim_);
  WatchCache cache_{*store_, sim_};
  std::shared_ptr<ResourceCache> pods_ = *cache_.AddResource(kPodsPrefix, PodKind());
};

// Pages of every past state in the window against what the list was then.
TEST_F(CachedPodsTest, ListsThePast) {
  Random random(3);
  std::map<store::Revision, std::vector<std::string>> states;
  for (int step = 0; step < 300; ++step) {
    const std::string name = "pod" + std::to_string(random.Below(40));
    Commit("ns", name,
           random.OneIn(3) ? "" : PodText("ns", name, "node" + std::to_string(random.Below(3)), ""));
    states[pods_->revision()] = Names(pods_->List({}).objects);
  }
  for (const auto& [revision, names] : states) {
    const auto whole = pods_->List({}, ListPage{.revision = revision});
    ASSERT_TRUE(whole.has_value());
    ASSERT_EQ(Names(whole->objects), names) << revision;
    std::vector<std::string> paged;
    ListPage page{.limit = 7, .revision = revision};
    for (bool more = true; more;) {
      const auto part = pods_->List({}, page);
      ASSERT_TRUE(part.has_value());
      for (auto& name : Names(part->objects)) paged.push_back(name);
      more = part->more;
      ASSERT_EQ(part->remaining, names.size() - paged.size()) << revision;
      if (more) page.start = paged.back() + '\0';
    }
    ASSERT_EQ(paged, names) << revision;
  }
}

TEST_F(CachedPodsTest, SelectsInThePast) {
  Commit("ns", "a", PodText("ns", "a", "node1", "web"));
  const auto then = pods_->revision();
  Commit("ns", "a", PodText("ns", "a", "node2", "db"));
  Commit("ns", "b", PodText("ns", "b", "node1", "web"));
  const auto filter = Filter("ns", "spec.nodeName=node1", "app=web");
  EXPECT_EQ(Names(pods_->List(filter, ListPage{.revision = then})->objects),
            std::vector<std::string>{"ns/a"});
  EXPECT_EQ(Names(pods_->List(filter).objects), std::vector<std::string>{"ns/b"});
}

TEST_F(CachedPodsTest, TakesAnExpectedObjectAsItIs) {
  const auto bytes = MakeBytes(PodText("ns", "a", "", ""));
  const auto object = StoredObject::FromValue(*json::Parse(*bytes), bytes, 0, *PodKind());
  const auto expectation = pods_->Expect(object);
  store::Transaction transaction(1);
  transaction[0].key = std::string(kPodsPrefix) + "ns/a";
  transaction[0].value = bytes;
  store_->Commit(std::move(transaction), [](Result<store::CommitOutcome>) {});
  EXPECT_EQ(pods_->Get("ns/a"), object);
  EXPECT_EQ(object->revision(), pods_->revision());
  EXPECT_EQ(object->uid(), "u-a");
}

// A write that is given up, by an exception too, leaves nothing behind.
TEST_F(CachedPodsTest, ForgetsAnObjectThatIsNoLongerExpected) {
  const auto bytes = MakeBytes(PodText("ns", "a", "", ""));
  auto object = StoredObject::FromValue(*json::Parse(*bytes), bytes, 0, *PodKind());
  const std::weak_ptr<StoredObject> weak = object;
  { const auto expectation = pods_->Expect(std::move(object)); }
  EXPECT_TRUE(weak.expired());
}

TEST_F(CachedPodsTest, AWatchThatSelectsSeesObjectsComeAndGo) {
  const auto watch = pods_->SubscribeNow(Filter("", "spec.nodeName=node1", ""));
  const auto& subscriber = watch.subscriber;
  Commit("ns", "a", PodText("ns", "a", "", ""));
  Commit("ns", "a", PodText("ns", "a", "node1", ""));
  Commit("ns", "a", PodText("ns", "a", "node1", "web"));
  Commit("ns", "a", PodText("ns", "a", "node2", "web"));
  std::vector<Subscriber::Item> items;
  ASSERT_TRUE(subscriber->Take(items, [] {}));
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].type, ChangeType::kAdded);
  EXPECT_EQ(items[1].type, ChangeType::kModified);
  EXPECT_EQ(items[2].type, ChangeType::kDeleted);
}

}  // namespace
}  // namespace flyball::server
