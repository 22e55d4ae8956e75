// CEL: no expression and no object may crash or hang the parser, the checker or the evaluator. The input is
// an expression, and after a zero byte a JSON value for self and oldSelf.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cel/expression.h"
#include "json/json.h"

namespace {

const flyball::json::Value& FuzzSchema() {
  static const flyball::json::Value schema = *flyball::json::Parse(R"({"type":"object","properties":{
    "i":{"type":"integer"},"s":{"type":"string"},"d":{"type":"string","format":"duration"},
    "l":{"type":"array","items":{"type":"string"}},"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
    "m":{"type":"object","additionalProperties":{"type":"integer"}},"p":{"x-kubernetes-int-or-string":true},
    "k":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["n"],"items":{"type":"object",
      "properties":{"n":{"type":"string"},"v":{"type":"number"}}}}}})");
  return schema;
}

void Evaluate(std::string_view text, const flyball::json::Value& value, const flyball::cel::Schema* schema,
              const flyball::cel::DeclType* root) {
  using namespace flyball::cel;
  const Type* type = root ? root->type : &types::kDyn;
  const auto compiled = Compile(text, {.environment = &Environment::Stored(),
                                       .variables = {{"self", type}, {"oldSelf", type}},
                                       .root = root});
  if (!compiled.expression) return;
  Arena arena;
  FixedActivation activation;
  activation.Set(0, FromJson(arena, value, schema));
  activation.Set(1, FromJson(arena, value, schema));
  // A low limit keeps runs short; the limit itself is what is tested.
  const auto result = compiled.expression->program().Evaluate(activation, arena, 20000);
  DisplayText(arena, result.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = input.find('\0');
  const std::string_view text = input.substr(0, zero);
  flyball::json::Value value;
  if (zero != std::string_view::npos)
    if (auto parsed = flyball::json::Parse(input.substr(zero + 1), {.max_depth = 100}))
      value = std::move(*parsed);
  static const flyball::cel::SchemaTree tree(FuzzSchema());
  static const auto declarations = flyball::cel::DeclTypes::Build(tree.root(), true, "selfType");
  Evaluate(text, value, nullptr, nullptr);
  Evaluate(text, value, tree.root().with_meta, declarations->root());
  return 0;
}
