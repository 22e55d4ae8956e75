#include <gtest/gtest.h>

#include "server/admission/granted_rules.h"

namespace flyball::server {
namespace {

std::vector<std::string> Numbered(const std::string& prefix, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(prefix + std::to_string(i));
  return out;
}

TEST(MissingRightsTest, WhatIsHeldCoversWhatIsWanted) {
  const std::vector<GrantedRule> held = {{{"get", "list"}, {"apps"}, {"deployments"}, {}, {}},
                                         {{"*"}, {""}, {"*/status"}, {}, {}},
                                         {{"get"}, {""}, {"secrets"}, {"mine"}, {}},
                                         {{"get"}, {}, {}, {}, {"/healthz", "/logs/*"}}};
  const auto missing = [&](const GrantedRule& wanted) {
    std::string text;
    for (const auto& rule : MissingRights(held, {wanted})) text += rule.ToString();
    return text;
  };
  EXPECT_EQ(missing({{"get", "list"}, {"apps"}, {"deployments"}, {}, {}}), "");
  EXPECT_EQ(missing({{"get"}, {"apps"}, {"deployments"}, {"x"}, {}}), "");
  EXPECT_EQ(missing({{"delete"}, {""}, {"pods/status"}, {}, {}}), "");
  EXPECT_EQ(missing({{"get"}, {""}, {"secrets"}, {"mine"}, {}}), "");
  EXPECT_EQ(missing({{"get"}, {}, {}, {}, {"/healthz", "/logs/a"}}), "");
  EXPECT_EQ(missing({{"get", "delete"}, {"apps"}, {"deployments", "daemonsets"}, {}, {}}),
            R"({APIGroups:["apps"], Resources:["deployments"], Verbs:["delete"]})"
            R"({APIGroups:["apps"], Resources:["daemonsets"], Verbs:["get" "delete"]})");
  EXPECT_NE(missing({{"get"}, {""}, {"secrets"}, {}, {}}), "");
  EXPECT_NE(missing({{"get"}, {}, {}, {}, {"/metrics"}}), "");
  EXPECT_NE(missing({{"*"}, {"apps"}, {"deployments"}, {}, {}}), "");
}

// Each rule was compared with each other: 20,000 with 20,000 took a minute.
TEST(MissingRightsTest, VeryManyRulesAreCompared) {
  std::vector<GrantedRule> rules;
  for (const auto& group : Numbered("g", 20'000)) rules.push_back({{"get", "list"}, {group}, {"r"}, {}, {}});
  EXPECT_TRUE(MissingRights(rules, rules).empty());
}

// A rule of a few kilobytes can mean billions of things: nobody holds so many.
TEST(MissingRightsTest, ARuleOfVeryManyPartsIsNotHeld) {
  const GrantedRule vast{Numbered("v", 3000), Numbered("g", 3000), Numbered("r", 3000), {}, {}};
  EXPECT_FALSE(MissingRights({}, {vast}).empty());
}

}  // namespace
}  // namespace flyball::server
