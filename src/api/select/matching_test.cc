#include "api/select/matching.h"

#include <gtest/gtest.h>

namespace flyball {
namespace {

TEST(MatchingTest, LabelSelectors) {
  const Labels labels = {{"app", "web"}, {"tier", "front"}};
  LabelSelector selector;
  EXPECT_TRUE(SelectsEverything(selector));
  EXPECT_TRUE(Matches(selector, labels));
  EXPECT_FALSE(Matches(api::Optional<LabelSelector>(), labels));
  selector.match_labels = {{"app", "web"}};
  selector.match_expressions.push_back({"tier", "NotIn", {"back"}});
  EXPECT_TRUE(Matches(selector, labels));
  selector.match_expressions.push_back({"other", "Exists", {}});
  EXPECT_FALSE(Matches(selector, labels));
  selector.match_expressions.back().operator_ = "Unheard";
  EXPECT_FALSE(Matches(selector, labels));
}

TEST(MatchingTest, NodesByLabelNumberAndName) {
  Node node;
  node.metadata.name = "n1";
  node.metadata.labels = {{"cores", "8"}};
  NodeSelectorTerm term;
  EXPECT_FALSE(Matches(term, node)) << "without requirements it means no node";
  term.match_expressions.push_back({"cores", "Gt", {"4"}});
  EXPECT_TRUE(Matches(term, node));
  term.match_fields.push_back({"metadata.name", "In", {"n2"}});
  EXPECT_FALSE(Matches(term, node));
  PodSpec spec;
  EXPECT_TRUE(MatchesRequiredNodeAffinity(spec, node));
  spec.node_selector = {{"cores", "4"}};
  EXPECT_FALSE(MatchesRequiredNodeAffinity(spec, node));
}

TEST(MatchingTest, Tolerations) {
  Taint taint;
  taint.key = "own";
  taint.value = "x";
  taint.effect = "NoExecute";
  Toleration toleration;
  toleration.operator_ = "Exists";
  EXPECT_TRUE(Tolerates(toleration, taint)) << "no key: everything";
  toleration.effect = "NoSchedule";
  EXPECT_FALSE(Tolerates(toleration, taint));
  toleration = {};
  toleration.key = "own";
  EXPECT_FALSE(Tolerates(toleration, taint));
  toleration.value = "x";
  EXPECT_TRUE(Tolerates(toleration, taint)) << "Equal is meant if nothing is said";
  Node node;
  node.spec.taints = {taint};
  PodSpec spec;
  EXPECT_FALSE(ToleratesAll(spec, node, "NoExecute"));
  EXPECT_TRUE(ToleratesAll(spec, node, "NoSchedule"));
  spec.tolerations = {toleration};
  EXPECT_TRUE(ToleratesAll(spec, node, "NoExecute"));
}

}  // namespace
}  // namespace flyball
