#include "json/patch.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::json {
namespace {

// The patched document as text, or the error message.
std::string Patched(std::string_view document, std::string_view patch) {
  auto result = ApplyJsonPatch(*Parse(document), *Parse(patch));
  return result ? Write(*result) : result.error().message();
}

std::string Merged(std::string_view document, std::string_view patch) {
  return Write(ApplyMergePatch(*Parse(document), *Parse(patch)));
}

TEST(JsonPatchTest, Operations) {
  EXPECT_EQ(
      Patched(R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]},{"op":"add","path":"/b/-","value":2}])"),
      R"({"a":1,"b":[1,2]})");
  EXPECT_EQ(Patched(R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])"), R"({"a":[1,2,3]})");
  EXPECT_EQ(Patched(R"({"a":[1,2]})", R"([{"op":"add","path":"/a/2","value":3}])"), R"({"a":[1,2,3]})");
  EXPECT_EQ(Patched(R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])"), R"({"b":2})");
  EXPECT_EQ(Patched(R"({"a":[1,2,3]})", R"([{"op":"remove","path":"/a/1"}])"), R"({"a":[1,3]})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"replace","path":"/a","value":{"x":null}}])"),
            R"({"a":{"x":null}})");
  EXPECT_EQ(Patched(R"({"a":{"x":1},"b":{}})", R"([{"op":"move","from":"/a/x","path":"/b/y"}])"),
            R"({"a":{},"b":{"y":1}})");
  EXPECT_EQ(Patched(R"({"a":{"x":1}})", R"([{"op":"copy","from":"/a","path":"/b"}])"),
            R"({"a":{"x":1},"b":{"x":1}})");
  EXPECT_EQ(Patched(R"({"a":{"x":1,"y":[2]}})", R"([{"op":"test","path":"/a","value":{"y":[2],"x":1}}])"),
            R"({"a":{"x":1,"y":[2]}})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"replace","path":"","value":{"b":2}}])"), R"({"b":2})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"test","path":"","value":{"a":1}}])"), R"({"a":1})");
  EXPECT_EQ(Patched(R"([1,2])", R"([{"op":"remove","path":"/0"}])"), "[2]");
  EXPECT_EQ(Patched(R"({"a":1})", "[]"), R"({"a":1})");
  EXPECT_EQ(Patched(R"({"a":1})", "null"), R"({"a":1})");
}

TEST(JsonPatchTest, PointersAreUnescaped) {
  EXPECT_EQ(Patched(R"({"e.com/y":1,"~":2,"~1":3,"":4})", R"([{"op":"replace","path":"/e.com~1y","value":"a"},
      {"op":"replace","path":"/~0","value":"b"},{"op":"replace","path":"/~01","value":"c"},
      {"op":"replace","path":"/","value":"d"}])"),
            R"({"e.com/y":"a","~":"b","~1":"c","":"d"})");
}

TEST(JsonPatchTest, Peculiarities) {
  // "replace" and "copy" do not check whether a member of an object exists; "test" treats an absent one as
  // null.
  EXPECT_EQ(Patched("{}", R"([{"op":"replace","path":"/a","value":1}])"), R"({"a":1})");
  EXPECT_EQ(Patched("{}", R"([{"op":"copy","from":"/a","path":"/b"}])"), R"({"b":null})");
  EXPECT_EQ(Patched("{}", R"([{"op":"test","path":"/a","value":null}])"), "{}");
  EXPECT_EQ(Patched("{}", R"([{"op":"test","path":"/a"}])"), "{}");
  EXPECT_EQ(Patched("{}", R"([{"op":"add","path":"/a"}])"), R"({"a":null})");
  EXPECT_EQ(Patched(R"({"a":[1,2,3]})", R"([{"op":"replace","path":"/a/-1","value":9}])"),
            R"({"a":[1,2,9]})");
  EXPECT_EQ(Patched(R"({"a":[1,2]})", R"([{"op":"add","path":"/a/-1","value":9}])"), R"({"a":[1,2,9]})");
  EXPECT_EQ(Patched(R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-2"}])"), R"({"a":[2]})");
  EXPECT_EQ(Patched(R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/+01"}])"), R"({"a":[1]})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"remove","path":"ignored/a"}])"), "{}");
}

TEST(JsonPatchTest, SaysWhatDoesNotApply) {
  const char* document = R"({"a":1,"list":[1,2],"null":null})";
  const std::pair<const char*, const char*> cases[] = {
      {R"([{"op":"test","path":"/a","value":2}])", "testing value /a failed: test failed"},
      {R"([{"op":"test","path":"/a","value":null}])", "testing value /a failed: test failed"},
      {R"([{"op":"test","path":"/x","value":2}])", "testing value /x failed: test failed"},
      {R"([{"op":"test","path":"/x/y","value":2}])",
       "test operation does not apply: is missing path: /x/y: missing value"},
      {R"([{"op":"test","path":"/list/7","value":2}])",
       "error in test for path: '/list/7': Unable to access invalid index: 7: invalid index referenced"},
      {R"([{"op":"remove","path":"/x"}])",
       "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"},
      {R"([{"op":"remove","path":""}])",
       "remove operation does not apply: doc is missing path: \"\": missing value"},
      {R"([{"op":"remove","path":"/x/y"}])",
       "remove operation does not apply: doc is missing path: \"/x/y\": missing value"},
      {R"([{"op":"remove","path":"/list/2"}])",
       "error in remove for path: '/list/2': Unable to access invalid index: 2: invalid index referenced"},
      {R"([{"op":"replace","path":"/x/y","value":1}])",
       "replace operation does not apply: doc is missing path: /x/y: missing value"},
      {R"([{"op":"replace","path":"/list/2","value":1}])",
       "replace operation does not apply: doc is missing key: /list/2: missing value"},
      {R"([{"op":"add","path":"/null/b","value":1}])",
       "add operation does not apply: doc is missing path: \"/null/b\": missing value"},
      {R"([{"op":"add","path":"/a/b","value":1}])",
       "add operation does not apply: doc is missing path: \"/a/b\": missing value"},
      {R"([{"op":"add","path":"/list/9","value":1}])",
       "error in add for path: '/list/9': Unable to access invalid index: 9: invalid index referenced"},
      {R"([{"op":"add","path":"/list/-4","value":1}])",
       "error in add for path: '/list/-4': Unable to access invalid index: -4: invalid index referenced"},
      {R"([{"op":"add","path":"/list/x","value":1}])",
       "error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing "
       "\"x\": "
       "invalid syntax"},
      {R"([{"op":"remove","path":"/list/99999999999999999999"}])",
       "error in remove for path: '/list/99999999999999999999': strconv.Atoi: parsing "
       "\"99999999999999999999\": value "
       "out of range"},
      {R"([{"op":"remove","path":"/list/-"}])",
       "error in remove for path: '/list/-': strconv.Atoi: parsing \"-\": invalid syntax"},
      {R"([{"op":"move","from":"/x","path":"/y"}])",
       "error in move for path: 'x': Unable to remove nonexistent key: x: missing value"},
      {R"([{"op":"move","from":"/list","path":"/list/0"}])",
       "move operation does not apply: doc is missing destination path: /list/0: missing value"},
      {R"([{"op":"copy","from":"/x/z","path":"/y"}])",
       "copy operation does not apply: doc is missing from path: /x/z: missing value"},
      {R"([{"op":"bogus","path":"/a"}])", "Unexpected kind: bogus"},
      {R"([{"path":"/a"}])", "Unexpected kind: unknown"},
      {R"([null])", "Unexpected kind: unknown"},
      {R"([{"op":"add"}])", "add operation failed to decode path: missing value"},
      {R"([{"op":"replace","path":"","value":1}])",
       "replace operation value must be object or array: %!w(<nil>)"},
  };
  for (const auto& [patch, message] : cases) {
    EXPECT_EQ(Patched(document, patch), message) << patch;
    EXPECT_EQ(ApplyJsonPatch(*Parse(document), *Parse(patch)).error().reason(), Reason::kInvalid) << patch;
  }
}

TEST(JsonPatchTest, ThePatchMustBeAListOfOperations) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"op":"add"})",
       "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {R"(["add"])",
       "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"},
      {R"([{"op":1}])",
       "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type "
       "string"},
      {R"([{"op":"add","path":[]}])",
       "error decoding patch: json: cannot unmarshal array into Go struct field jsonPatchOp.path of type "
       "string"},
  };
  for (const auto& [patch, message] : cases) {
    EXPECT_EQ(Patched("{}", patch), message);
    EXPECT_EQ(ApplyJsonPatch(Value(Object()), *Parse(patch)).error().reason(), Reason::kBadRequest);
  }
}

TEST(JsonPatchTest, LimitsOfOperationsCopiesAndDepth) {
  Array many(10001, *Parse(R"({"op":"test","path":"/x"})"));
  auto refused = ApplyJsonPatch(Value(Object()), Value(many));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), 413);
  EXPECT_EQ(
      refused.error().message(),
      "Request entity is too large: The allowed maximum operations in a JSON patch is 10000, got 10001");
  many.pop_back();
  EXPECT_TRUE(ApplyJsonPatch(Value(Object()), Value(many)));

  // Each copy doubles the document.
  Array copies(40, *Parse(R"({"op":"copy","from":"/a","path":"/a/-"})"));
  auto bomb = ApplyJsonPatch(*Parse(R"({"a":["0123456789"]})"), Value(copies));
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().message().substr(0, 69),
            "Unable to complete the copy, the accumulated size increase of copy is");

  Array nest(14, *Parse(R"({"op":"copy","from":"/a","path":"/a/a"})"));
  EXPECT_TRUE(ApplyJsonPatch(*Parse(R"({"a":{}})"), Value(Array(nest.begin(), nest.begin() + 13))));
  Value deep = *Parse(std::string(6000, '[') + std::string(6000, ']'));
  Value twice(Array{Object{{"op", "add"}, {"path", "/a"}, {"value", deep}}});
  EXPECT_TRUE(ApplyJsonPatch(Value(Object()), twice));
  std::string path = "/a";
  for (int i = 0; i < 5999; ++i) path += "/0";
  twice.as_array().push_back(Object{{"op", "add"}, {"path", path + "/-"}, {"value", deep}});
  EXPECT_EQ(ApplyJsonPatch(Value(Object()), twice).error().message(), "exceeded max depth");
}

TEST(JsonPatchTest, TheDocumentIsNotTouchedOnFailure) {
  const Value document = *Parse(R"({"a":1})");
  EXPECT_FALSE(
      ApplyJsonPatch(document, *Parse(R"([{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}])")));
  EXPECT_EQ(Write(document), R"({"a":1})");
}

TEST(MergePatchTest, ExamplesOfTheRfc) {
  const char* cases[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", R"(null)", R"(null)"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [document, patch, result] : cases) EXPECT_EQ(Merged(document, patch), result) << patch;
}

TEST(MergePatchTest, NullsInsideListsThatAreAdded) {
  EXPECT_EQ(Merged("{}", R"({"a":[null,{"b":null,"c":1}]})"), R"({"a":[null,{"c":1}]})");
  // A list that replaces an object is taken unchanged.
  EXPECT_EQ(Merged(R"({"a":{}})", R"({"a":[{"b":null}]})"), R"({"a":[{"b":null}]})");
}

TEST(MergePatchTest, CreatedPatchesTurnOneIntoTheOther) {
  const char* cases[][3] = {
      {R"({"a":1})", R"({"a":1})", R"({})"},
      {R"({"a":1,"b":2})", R"({"a":1})", R"({"b":null})"},
      {R"({"a":{"b":1,"c":2,"d":{"e":1}}})", R"({"a":{"b":1,"c":3,"d":{}}})",
       R"({"a":{"c":3,"d":{"e":null}}})"},
      {R"({"a":[1,2]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"a":{"b":1}})", R"({"a":"x","z":{}})", R"({"a":"x","z":{}})"},
      {R"([1])", R"({"a":1})", R"({"a":1})"},
  };
  for (const auto& [from, to, patch] : cases) {
    EXPECT_EQ(Write(CreateMergePatch(*Parse(from), *Parse(to))), patch);
    EXPECT_EQ(*Parse(Merged(from, patch)), *Parse(to));
  }
}

TEST(MergePatchTest, DeepDocumentsNeedNoStack) {
  const auto nested = [](int depth, const char* inner) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{\"a\":";
    return *Parse(text + inner + std::string(static_cast<std::size_t>(depth), '}'));
  };
  const Value one = nested(9999, "1"), two = nested(9999, "{\"b\":2}");
  EXPECT_TRUE(CreateMergePatch(one, two) == two);
  EXPECT_TRUE(ApplyMergePatch(one, two) == two);
  EXPECT_TRUE(ApplyMergePatch(Value(), two) == two);
}

TEST(JsonPatchTest, MovingVeryManyElementsIsRefused) {
  Value document = Object{{"list", Array(200'000, Value(0))}};
  const auto patch = [](std::string_view operation, int count) {
    Array operations;
    for (int i = 0; i < count; ++i)
      operations.push_back(Object{{"op", operation}, {"path", "/list/0"}, {"value", 1}});
    return Value(std::move(operations));
  };
  for (const char* operation : {"add", "remove"}) {
    EXPECT_TRUE(ApplyJsonPatch(document, patch(operation, 10))) << operation;
    const auto refused = ApplyJsonPatch(document, patch(operation, 10'000));
    ASSERT_FALSE(refused) << operation;
    EXPECT_EQ(refused.error().code(), 413) << operation;
  }
}

// Erasing one by one was quadratic: this took minutes.
TEST(MergePatchTest, ErasesVeryManyMembers) {
  Object document, patch;
  for (int i = 0; i < 200'000; ++i) {
    document.Append("k" + std::to_string(i), i);
    patch.Append("k" + std::to_string(i), nullptr);
  }
  patch.Set("k7", 7);
  EXPECT_EQ(ApplyMergePatch(Value(std::move(document)), Value(std::move(patch))), Value(Object{{"k7", 7}}));
}

}  // namespace
}  // namespace flyball::json
