#include "cel/expression.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace flyball::cel {
namespace {

CompileResult CompilePlain(std::string_view text) {
  return Compile(text, {.environment = &Environment::Stored(),
                        .variables = {{"self", &types::kDyn}, {"oldSelf", &types::kDyn}}});
}

Evaluation EvaluatePlain(const CompileResult& compiled, Arena& arena, std::uint64_t limit = kPerCallLimit) {
  FixedActivation activation;
  return compiled.expression->program().Evaluate(activation, arena, limit);
}

std::string Repeated(std::string_view part, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out;
}

TEST(ExpressionTest, EvaluatesAndChargesLikeUpstream) {
  const CompileResult compiled = CompilePlain("[1, 2, 3].all(x, x > 0)");
  ASSERT_TRUE(compiled.expression) << compiled.error;
  EXPECT_EQ(compiled.type_text, "bool");
  Arena arena;
  const Evaluation result = EvaluatePlain(compiled, arena);
  EXPECT_TRUE(result.value.IsTrue());
  EXPECT_EQ(result.cost, 16u);
}

TEST(ExpressionTest, ErrorsPointAtThePlace) {
  EXPECT_EQ(CompilePlain("self.a +\n  nope").error,
            "ERROR: <input>:2:3: undeclared reference to 'nope' (in container '')\n |   nope\n | ..^");
}

// The first lines of the messages, without what points at the place. Recorded from cel-go.
std::vector<std::string> SyntaxErrors(std::string_view text) {
  std::vector<std::string> lines;
  const std::string error = CompilePlain(text).error;
  for (std::size_t at = error.find("<input>:"); at != std::string::npos; at = error.find("<input>:", at + 1))
    lines.push_back(error.substr(at + 8, error.find('\n', at) - at - 8));
  return lines;
}

TEST(ExpressionTest, SyntaxErrorsSayWhatIsExpected) {
  using Lines = std::vector<std::string>;
  const std::string start =
      "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
  EXPECT_EQ(SyntaxErrors("A{"),
            (Lines{"1:3: Syntax error: mismatched input '<EOF>' expecting {'}', ',', '?', "
                   "IDENTIFIER, ESC_IDENTIFIER}"}));
  EXPECT_EQ(SyntaxErrors("A{a:1"),
            (Lines{"1:6: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"}));
  EXPECT_EQ(SyntaxErrors("A{a 1"),
            (Lines{"1:5: Syntax error: missing ':' at '1'",
                   "1:6: Syntax error: mismatched input '<EOF>' expecting {'}', ','}"}));
  EXPECT_EQ(SyntaxErrors("f(1"), (Lines{"1:4: Syntax error: missing ')' at '<EOF>'"}));
  EXPECT_EQ(SyntaxErrors("((1"), (Lines{"1:4: Syntax error: mismatched input '<EOF>' expecting ')'"}));
  EXPECT_EQ(SyntaxErrors("1 2"), (Lines{"1:3: Syntax error: extraneous input '2' expecting <EOF>"}));
  EXPECT_EQ(SyntaxErrors("1 + * 2"),
            (Lines{"1:5: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', " + start}));
  EXPECT_EQ(SyntaxErrors("1 ? : 2"),
            (Lines{"1:5: Syntax error: extraneous input ':' expecting {'[', '{', '(', '.', " + start,
                   "1:8: Syntax error: mismatched input '<EOF>' expecting ':'"}));
  EXPECT_EQ(SyntaxErrors("-"),
            (Lines{"1:2: Syntax error: no viable alternative at input '-'",
                   "1:2: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', " + start}));
  EXPECT_EQ(SyntaxErrors("self..b"), (Lines{"1:6: Syntax error: no viable alternative at input '..'"}));
  EXPECT_EQ(SyntaxErrors("has(self."), (Lines{"1:5: invalid argument to has() macro",
                                              "1:10: Syntax error: no viable alternative at input '.'"}));
}

TEST(ExpressionTest, NestingIsBounded) {
  EXPECT_FALSE(CompilePlain(Repeated("(", 100000) + "1").expression);
  EXPECT_FALSE(CompilePlain(Repeated("-", 99991) + "'a'").expression);
  EXPECT_FALSE(CompilePlain("self" + Repeated("[0]", 20000)).expression);
  EXPECT_FALSE(CompilePlain("[" + Repeated("[", 400) + Repeated("]", 400) + "]").expression);
  EXPECT_FALSE(CompilePlain(Repeated("a", 100001)).expression);
  // Each optMap copies its target.
  EXPECT_FALSE(CompilePlain("optional.of(1)" + Repeated(".optMap(x, x)", 200)).expression);
}

TEST(ExpressionTest, CostEndsLoopsAndMemoryEndsGrowth) {
  Arena arena;
  const CompileResult loop = CompilePlain("lists.range(1000).all(x, lists.range(1000).all(y, y >= 0))");
  ASSERT_TRUE(loop.expression) << loop.error;
  const Evaluation result = EvaluatePlain(loop, arena);
  EXPECT_TRUE(result.cancelled);
  EXPECT_GT(result.cost, kPerCallLimit);
  // A hundred characters, each replaced by all of them, four times over: 10^10 characters at a low price.
  const std::string text = "'" + Repeated("a", 300) + "'";
  const std::string replaced = text + Repeated(".replace('a', " + text + ")", 4);
  Arena memory;
  const CompileResult growth = CompilePlain(replaced + ".size() > 0");
  ASSERT_TRUE(growth.expression) << growth.error;
  EXPECT_TRUE(EvaluatePlain(growth, memory, UINT64_MAX).cancelled);
}

TEST(ExpressionTest, CompatibilityVersionsHideNewerFunctions) {
  const auto compiles = [](std::string_view text, int minor) {
    return Compile(text, {.environment = &Environment::ForVersion(minor)}).expression != nullptr;
  };
  EXPECT_FALSE(compiles("[1].includes(1)", 36));
  EXPECT_TRUE(compiles("[1].includes(1)", 37));
  EXPECT_FALSE(compiles("isSemver('1.0.0')", 32));
  EXPECT_TRUE(compiles("isSemver('1.0.0')", 33));
  EXPECT_FALSE(compiles("1 < 2.0", 27));
  EXPECT_TRUE(compiles("1 < 2.0", 28));
}

}  // namespace
}  // namespace flyball::cel
