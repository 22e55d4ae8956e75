#include "api/rules/field_error.h"

#include <gtest/gtest.h>

namespace flyball::api {
namespace {

std::string Only(const FieldErrors& errors) {
  EXPECT_EQ(errors.causes().size(), 1u);
  return errors.causes().empty() ? "" : errors.causes()[0].message;
}

TEST(FieldPathTest, IsWrittenAsUpstreamWritesIt) {
  const FieldPath path = FieldPath("spec").Child("containers").Index(3).Child("env").Key("a/b");
  EXPECT_EQ(path.text(), "spec.containers[3].env[a/b]");
  EXPECT_EQ(FieldPath().Child("spec").text(), "spec");
}

TEST(FieldErrorsTest, MessagesAreUpstreams) {
  const FieldPath path("spec.x");
  FieldErrors e;
  e.Required(path);
  e.Required(path, "say something");
  e.Invalid(path, "a\"b", "bad");
  e.Invalid(path, -1, "must be positive");
  e.Invalid(path, json::Object{{"app", "a"}}, "no match");
  e.Invalid(path, nullptr, "no");
  e.NotSupported(path, "x", {"A", "B"});
  e.Duplicate(path, "x");
  e.NotFound(path, "x");
  e.Forbidden(path, "not now");
  e.TooLong(path, 10);
  e.TooMany(path, 5, 3);
  e.Internal(path, "broken");
  const std::vector<std::string> want = {
      "Required value",
      "Required value: say something",
      "Invalid value: \"a\\\"b\": bad",
      "Invalid value: -1: must be positive",
      "Invalid value: {\"app\":\"a\"}: no match",
      "Invalid value: null: no",
      "Unsupported value: \"x\": supported values: \"A\", \"B\"",
      "Duplicate value: \"x\"",
      "Not found: \"x\"",
      "Forbidden: not now",
      "Too long: may not be more than 10 bytes",
      "Too many: 5: must have at most 3 items",
      "Internal error: broken",
  };
  ASSERT_EQ(e.causes().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(e.causes()[i].message, want[i]);
}

TEST(FieldErrorsTest, ReasonsAreUpstreams) {
  FieldErrors e;
  e.TypeInvalid(FieldPath("a"), "x", "must be a number");
  EXPECT_EQ(Only(e), "Invalid value: \"x\": must be a number");
  EXPECT_EQ(e.causes()[0].reason, "FieldValueTypeInvalid");
}

TEST(FieldErrorsTest, OneErrorIsNotBracketed) {
  FieldErrors e;
  e.Required(FieldPath("metadata.name"), "name or generateName is required");
  const Error error = e.ToError("", "ConfigMap", "");
  EXPECT_EQ(error.message(),
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(error.code(), 422);
  EXPECT_TRUE(error.Is(Reason::kInvalid));
  EXPECT_EQ(error.details().kind, "ConfigMap");
}

TEST(FieldErrorsTest, RepeatedErrorsAreSaidOnce) {
  FieldErrors e;
  e.Required(FieldPath("a"));
  e.Required(FieldPath("a"));
  e.Required(FieldPath("b"));
  const Error error = e.ToError("apps", "Deployment", "x");
  EXPECT_EQ(error.message(), "Deployment.apps \"x\" is invalid: [a: Required value, b: Required value]");
  EXPECT_EQ(error.details().causes.size(), 2u);
  EXPECT_EQ(error.details().group, "apps");
}

TEST(FieldErrorsTest, VeryManyErrorsAreCountedNotListed) {
  FieldErrors errors;
  for (int i = 0; i < 50'000; ++i) errors.Invalid(FieldPath("metadata.labels"), std::to_string(i), "bad");
  const Error error = errors.ToError("", "ConfigMap", "x");
  EXPECT_EQ(error.details().causes.size(), 100u);
  EXPECT_TRUE(error.message().ends_with(", and 49900 more]")) << error.message().substr(0, 200);
  EXPECT_LT(error.message().size(), 10'000u);
}

TEST(FieldErrorsTest, VeryLongErrorsAreCountedNotListed) {
  FieldErrors errors, others;
  const std::string text(100'000, 'x');
  for (int i = 0; i < 50; ++i) errors.Invalid(FieldPath("a"), text, std::to_string(i));
  others.Append(errors);
  EXPECT_EQ(others.causes().size(), 3u);
  EXPECT_TRUE(others.ToError("", "ConfigMap", "x").message().ends_with(", and 47 more]"));
}

TEST(FieldErrorsTest, DeclarativeErrorsFollowTheOthers) {
  FieldErrors e;
  e.declarative().Required(FieldPath("a"));
  EXPECT_FALSE(e.empty());
  FieldErrors more;
  more.declarative().Required(FieldPath("b"));
  more.Required(FieldPath("c"));
  e.Append(std::move(more));
  EXPECT_EQ(e.ToError("", "Pod", "x").message(),
            "Pod \"x\" is invalid: [c: Required value, a: Required value, b: Required value]");
}

}  // namespace
}  // namespace flyball::api
