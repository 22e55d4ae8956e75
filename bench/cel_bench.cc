// CEL: evaluating a typical rule on a stored object, and compiling many.
#include <benchmark/benchmark.h>

#include "cel/expression.h"
#include "cel/rules/validator.h"
#include "json/json.h"

namespace flyball::cel {
namespace {

const json::Value& BenchSchema() {
  static const json::Value schema = *json::Parse(R"({"type":"object","properties":{
    "minReplicas":{"type":"integer"},"maxReplicas":{"type":"integer"},
    "list":{"type":"array","maxItems":100,"items":{"type":"string","maxLength":100}}}})");
  return schema;
}

const json::Value& BenchObject() {
  static const json::Value object =
      *json::Parse(R"({"minReplicas":1,"maxReplicas":5,"list":["a","bb","ccc","dddd","eeeee"]})");
  return object;
}

constexpr std::string_view kRule = "self.minReplicas <= self.maxReplicas && self.list.all(x, x.size() < 10)";

void BM_EvaluateRule(benchmark::State& state) {
  const SchemaTree tree(BenchSchema());
  const auto declarations = DeclTypes::Build(tree.root(), true, "selfType");
  const auto compiled = Compile(kRule, {.environment = &Environment::Stored(),
                                        .variables = {{"self", declarations->root()->type}},
                                        .root = declarations->root()});
  if (!compiled.expression) return state.SkipWithError(compiled.error.c_str());
  for (auto _ : state) {
    Arena arena;
    FixedActivation activation;
    activation.Set(0, FromJson(arena, BenchObject(), tree.root().with_meta));
    const Evaluation result = compiled.expression->program().Evaluate(activation, arena);
    if (!result.value.IsTrue()) return state.SkipWithError("the rule must hold");
    benchmark::DoNotOptimize(result.cost);
  }
}
BENCHMARK(BM_EvaluateRule);

void BM_CompileThousandRules(benchmark::State& state) {
  const SchemaTree tree(BenchSchema());
  const auto declarations = DeclTypes::Build(tree.root(), true, "selfType");
  for (auto _ : state)
    for (int i = 0; i < 1000; ++i) {
      const auto compiled = Compile(kRule, {.environment = &Environment::Stored(),
                                            .variables = {{"self", declarations->root()->type}},
                                            .root = declarations->root()});
      benchmark::DoNotOptimize(compiled.expression.get());
    }
}
BENCHMARK(BM_CompileThousandRules)->Unit(benchmark::kMillisecond);

void BM_ValidateTwentyRules(benchmark::State& state) {
  json::Value schema = BenchSchema();
  json::Array rules;
  for (int i = 0; i < 20; ++i) rules.push_back(json::Object{{"rule", kRule}});
  schema["x-kubernetes-validations"] = std::move(rules);
  const auto validator = Validator::Build(schema);
  for (auto _ : state) {
    const auto outcome = validator->Validate(BenchObject(), nullptr);
    if (!outcome.problems.empty()) return state.SkipWithError("the rules must hold");
  }
}
BENCHMARK(BM_ValidateTwentyRules);

}  // namespace
}  // namespace flyball::cel
