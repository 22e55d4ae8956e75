#include "informer/object_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/types/core.h"
#include "base/run/random.h"
#include "base/run/thread.h"

namespace flyball {
namespace {

std::shared_ptr<const ConfigMap> Make(const std::string& ns, const std::string& name,
                                      std::map<std::string, std::string> labels = {}) {
  ConfigMap object;
  object.metadata.namespace_ = ns;
  object.metadata.name = name;
  object.metadata.labels = std::move(labels);
  return std::make_shared<const ConfigMap>(std::move(object));
}

std::vector<std::string> ByApp(const ConfigMap& object) {
  const auto it = object.metadata.labels.find("app");
  return it == object.metadata.labels.end() ? std::vector<std::string>{} : std::vector{it->second};
}

std::set<std::string> Names(const std::vector<std::shared_ptr<const ConfigMap>>& objects) {
  std::set<std::string> names;
  for (const auto& object : objects) names.insert(object->metadata.namespace_ + "/" + object->metadata.name);
  return names;
}

TEST(IndexerTest, ReadsShareTheObject) {
  Indexer<ConfigMap> indexer;
  const auto object = Make("a", "x");
  EXPECT_EQ(indexer.Put(object), nullptr);
  EXPECT_EQ(indexer.Get("a", "x"), object);
  EXPECT_EQ(indexer.GetByKey("a/x"), object);
  EXPECT_EQ(indexer.Get("b", "x"), nullptr);
  const auto newer = Make("a", "x");
  EXPECT_EQ(indexer.Put(newer), object);
  EXPECT_EQ(indexer.Get("a", "x"), newer);
  EXPECT_EQ(indexer.Remove(*newer), newer);
  EXPECT_EQ(indexer.size(), 0u);
}

TEST(IndexerTest, NamespaceAndUserIndexesFollowChanges) {
  Indexer<ConfigMap> indexer;
  indexer.Put(Make("a", "early", {{"app", "web"}}));
  ASSERT_TRUE(indexer.AddIndex("app", &ByApp));
  EXPECT_TRUE(indexer.AddIndex("app", &ByApp).error().Is(Reason::kAlreadyExists));
  indexer.Put(Make("a", "x", {{"app", "web"}}));
  indexer.Put(Make("b", "y", {{"app", "db"}}));
  EXPECT_EQ(Names(indexer.ByIndex("app", "web")), (std::set<std::string>{"a/early", "a/x"}));
  EXPECT_EQ(Names(indexer.ListNamespace("b")), (std::set<std::string>{"b/y"}));
  indexer.Put(Make("a", "x", {{"app", "db"}}));
  EXPECT_EQ(Names(indexer.ByIndex("app", "db")), (std::set<std::string>{"a/x", "b/y"}));
  indexer.Remove(*Make("b", "y"));
  EXPECT_EQ(indexer.IndexValues(kNamespaceIndex), std::vector<std::string>{"a"});
  EXPECT_TRUE(indexer.ByIndex("nothing", "x").empty());
}

TEST(IndexerTest, ReplaceSaysWhatWasThereAndWhatWent) {
  ObjectStore store(ObjectTypeOf<ConfigMap>());
  const auto kept = Make("a", "kept"), gone = Make("a", "gone"), fresh = Make("a", "fresh"),
             kept2 = Make("a", "kept");
  store.Put("a/kept", kept);
  store.Put("a/gone", gone);
  std::vector<ObjectStore::Item> items{{"a/fresh", fresh}, {"a/kept", kept2}};
  const auto replaced = store.Replace(items);
  ASSERT_EQ(replaced.previous.size(), 2u);
  EXPECT_EQ(replaced.previous[0], nullptr);
  EXPECT_EQ(replaced.previous[1], kept);
  ASSERT_EQ(replaced.removed.size(), 1u);
  EXPECT_EQ(replaced.removed[0].object, gone);
  EXPECT_EQ(store.size(), 2u);
}

// Against a model, with indexes of many values each.
TEST(IndexerTest, RandomOperationsAgreeWithAModel) {
  Random random(42);
  Indexer<ConfigMap> indexer;
  ASSERT_TRUE(indexer.AddIndex("labels", [](const ConfigMap& object) {
    std::vector<std::string> values;
    for (const auto& [key, value] : object.metadata.labels) values.push_back(value);
    return values;
  }));
  std::map<std::string, std::shared_ptr<const ConfigMap>> model;
  for (int i = 0; i < 20000; ++i) {
    const std::string ns = "n" + std::to_string(random.Below(4)),
                      name = "o" + std::to_string(random.Below(50));
    if (random.OneIn(3)) {
      const bool there = model.erase(ns + "/" + name) > 0;
      EXPECT_EQ(indexer.Remove(*Make(ns, name)) != nullptr, there);
      continue;
    }
    std::map<std::string, std::string> labels;
    for (std::uint64_t n = random.Below(4); n > 0; --n)
      labels["k" + std::to_string(n)] = "v" + std::to_string(random.Below(5));
    model[ns + "/" + name] = Make(ns, name, labels);
    indexer.Put(model[ns + "/" + name]);
  }
  EXPECT_EQ(indexer.size(), model.size());
  for (int v = 0; v < 5; ++v) {
    const std::string value = "v" + std::to_string(v);
    std::set<std::string> want;
    std::multiset<std::string> have;
    for (const auto& [key, object] : model)
      for (const auto& [k, l] : object->metadata.labels)
        if (l == value) want.insert(key);
    for (const auto& object : indexer.ByIndex("labels", value))
      have.insert(object->metadata.namespace_ + "/" + object->metadata.name);
    EXPECT_EQ(have, std::multiset<std::string>(want.begin(), want.end())) << value;
  }
}

TEST(IndexerTest, ReadersAndAWriterAtOnce) {
  Indexer<ConfigMap> indexer;
  std::atomic<bool> stop = false;
  std::vector<Thread> readers;
  for (int r = 0; r < 3; ++r)
    readers.emplace_back("reader", [&] {
      while (!stop) {
        for (const auto& object : indexer.ListNamespace("n1")) EXPECT_EQ(object->metadata.namespace_, "n1");
        const auto object = indexer.Get("n2", "o7");
        EXPECT_TRUE(!object || object->metadata.name == "o7");
      }
    });
  for (int i = 0; i < 20000; ++i) {
    const auto object = Make("n" + std::to_string(i % 3), "o" + std::to_string(i % 20));
    if (i % 5 == 0)
      indexer.Remove(*object);
    else
      indexer.Put(object);
  }
  stop = true;
}

// It used to spin for ever: the function ran under the store's own lock.
TEST(IndexerTest, AnIndexFunctionMayReadTheStoreItBelongsTo) {
  Indexer<ConfigMap> indexer;
  indexer.Put(Make("n1", "first"));
  const auto beside = [&](const ConfigMap& object) {
    std::vector<std::string> values;
    for (const auto& other : indexer.ListNamespace(object.metadata.namespace_))
      values.push_back(other->metadata.name);
    return values;
  };
  ASSERT_TRUE(indexer.AddIndex("beside", beside));
  EXPECT_EQ(indexer.ByIndex("beside", "first").size(), 1u);
  indexer.Put(Make("n1", "second"));
  EXPECT_EQ(indexer.ByIndex("beside", "first").size(), 2u);
  std::vector<ObjectStore::Item> items{{"n1/third", Make("n1", "third")}};
  indexer.store().Replace(items);
  EXPECT_EQ(indexer.ByIndex("beside", "second").size(), 1u);
}

// An index added while others write has every object, each once.
TEST(IndexerTest, IndexesAreAddedWhileAWriterWrites) {
  Indexer<ConfigMap> indexer;
  std::atomic<bool> stop = false;
  Thread writer("writer", [&] {
    for (int i = 0; !stop; ++i) indexer.Put(Make("n", "o" + std::to_string(i % 50)));
  });
  while (indexer.size() < 50) SleepFor(std::chrono::milliseconds(1));
  for (int i = 0; i < 10; ++i) {
    const std::string name = "index" + std::to_string(i);
    ASSERT_TRUE(indexer.AddIndex(name, [](const ConfigMap&) { return std::vector<std::string>{"all"}; }));
    EXPECT_EQ(indexer.ByIndex(name, "all").size(), 50u);
  }
  stop = true;
}

}  // namespace
}  // namespace flyball
