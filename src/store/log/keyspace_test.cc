#include "store/log/keyspace.h"

#include <gtest/gtest.h>

#include <map>

#include "base/run/random.h"

namespace flyball::store {
namespace {

using Model = std::map<std::string, LogId>;

std::vector<std::pair<std::string, LogId>> Items(const Keyspace::Slice& slice) {
  std::vector<std::pair<std::string, LogId>> items;
  slice.ForEach([&](const Entry& entry) { items.emplace_back(entry.key, entry.id); });
  return items;
}

std::vector<std::pair<std::string, LogId>> Items(const Model& model, const std::string& prefix,
                                                 const std::string& start, std::size_t limit) {
  std::vector<std::pair<std::string, LogId>> items;
  for (auto it = model.lower_bound(std::max(prefix, start));
       it != model.end() && it->first.starts_with(prefix); ++it)
    if (limit == 0 || items.size() < limit) items.emplace_back(*it);
  return items;
}

TEST(Keyspace, PrefixEnd) {
  EXPECT_EQ(PrefixEnd("a/"), "a0");
  EXPECT_EQ(PrefixEnd("a\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "");
  EXPECT_EQ(PrefixEnd(""), "");
}

TEST(Keyspace, EmptyOne) {
  Keyspace keyspace;
  EXPECT_EQ(keyspace.Find("a"), nullptr);
  EXPECT_FALSE(keyspace.Erase("a"));
  EXPECT_EQ(keyspace.Count(""), 0u);
  EXPECT_EQ(keyspace.Read("", "", 0).size(), 0u);
}

// Random changes against a std::map; slices taken on the way must not change afterwards.
TEST(Keyspace, AgreesWithAMap) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Keyspace keyspace;
    Model model;
    std::vector<std::pair<Keyspace::Slice, std::vector<std::pair<std::string, LogId>>>> kept;
    for (LogId id = 1; id <= 6000; ++id) {
      // Grows for a while, then shrinks.
      const bool erase = random.Below(100) < (id < 3000 ? 20u : 70u);
      const std::string key = std::to_string(random.Below(10)) + "/" + std::to_string(random.Below(400));
      if (erase) {
        ASSERT_EQ(keyspace.Erase(key), model.erase(key) == 1);
      } else {
        keyspace.Put({key, MakeBytes("v"), 1, id});
        model[key] = id;
      }
      ASSERT_EQ(keyspace.size(), model.size());
      if (!random.OneIn(20)) continue;
      const std::string prefix = random.OneIn(4) ? "" : std::to_string(random.Below(11)) + "/";
      const std::string start = random.OneIn(2) ? "" : prefix + std::to_string(random.Below(400));
      const std::size_t limit = random.OneIn(2) ? 0 : random.Below(100);
      auto slice = keyspace.Read(prefix, start, limit);
      auto expected = Items(model, prefix, start, limit);
      ASSERT_EQ(Items(slice), expected) << "seed " << seed;
      ASSERT_EQ(slice.size() + slice.remaining(), Items(model, prefix, start, 0).size());
      ASSERT_EQ(keyspace.Count(prefix), Items(model, prefix, "", 0).size());
      const Entry* entry = keyspace.Find(key);
      ASSERT_EQ(entry != nullptr, model.contains(key));
      if (random.OneIn(10)) kept.emplace_back(std::move(slice), std::move(expected));
    }
    for (const auto& [slice, expected] : kept) ASSERT_EQ(Items(slice), expected) << "seed " << seed;
  }
}

TEST(Keyspace, AscendingKeysFillTheirLeaves) {
  Keyspace keyspace;
  for (int i = 0; i < 10000; ++i) keyspace.Put({std::to_string(100000 + i), MakeBytes("v"), 1, i});
  EXPECT_EQ(keyspace.Count("10"), 10000u);
  EXPECT_EQ(keyspace.Read("", "", 10).remaining(), 9990u);
}

}  // namespace
}  // namespace flyball::store
