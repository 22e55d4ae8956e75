#include "cli/programs/cel_command.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cel/expression.h"
#include "cel/table/case_table.h"
#include "cel/table/tagged_value.h"
#include "json/json.h"
#include "json/yaml/yaml.h"

namespace flyball::cli {
namespace {

struct CelFlags {
  std::vector<std::string> expressions;
  std::string self, old_self, schema, table;
  bool optional_old_self = false;
};

// A file's only document, JSON or YAML; "-" is the standard input.
Result<json::Value> ReadDocument(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Unexpected(BadRequest("cannot read " + path));
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto value = text.starts_with('{') || text.starts_with('[') ? json::Parse(text) : json::ParseYaml(text);
  if (!value) return Unexpected(value.error().Annotate(path));
  return value;
}

Result<std::optional<json::Value>> ReadOptional(const std::string& path) {
  if (path.empty()) return std::optional<json::Value>();
  FLYBALL_ASSIGN(auto value, ReadDocument(path));
  return std::optional<json::Value>(std::move(value));
}

// What an expression is evaluated on, and the schema that types it.
struct CelInput {
  std::optional<json::Value> self, old_self, schema;
  std::unique_ptr<const cel::SchemaTree> tree;
  std::unique_ptr<const cel::DeclTypes> declarations;
  cel::TypeStore types;

  const cel::Schema* value_schema() const { return tree ? tree->root().with_meta : nullptr; }
};

Status ReadInput(const CelFlags& flags, CelInput& input) {
  FLYBALL_ASSIGN(input.self, ReadOptional(flags.self));
  FLYBALL_ASSIGN(input.old_self, ReadOptional(flags.old_self));
  FLYBALL_ASSIGN(input.schema, ReadOptional(flags.schema));
  if (!input.schema) return {};
  input.tree = std::make_unique<cel::SchemaTree>(*input.schema);
  input.declarations = cel::DeclTypes::Build(input.tree->root(), true, "selfType");
  if (!input.declarations->root()) return Unexpected(BadRequest(flags.schema + ": the schema has no type"));
  return {};
}

cel::CompileOptions OptionsFor(CelInput& input, bool optional_old_self) {
  const cel::Type* self = input.declarations ? input.declarations->root()->type : &cel::types::kDyn;
  const cel::Type* old_self = optional_old_self ? input.types.Optional(self) : self;
  return {.environment = &cel::Environment::Stored(),
          .variables = {{"self", self}, {"oldSelf", old_self}},
          .root = input.declarations ? input.declarations->root() : nullptr};
}

std::string CostText(const cel::CostEstimate& cost) {
  const auto text = [](std::uint64_t n) {
    return n == UINT64_MAX ? std::string("unbounded") : std::to_string(n);
  };
  return cost.min == cost.max ? text(cost.min) : text(cost.min) + " to " + text(cost.max);
}

int EvaluateExpression(const CelFlags& flags) {
  CelInput input;
  if (const auto read = ReadInput(flags, input); !read) {
    std::cerr << "error: " << read.error().message() << "\n";
    return 1;
  }
  const auto compiled = cel::Compile(flags.expressions.front(), OptionsFor(input, flags.optional_old_self));
  if (!compiled.expression) {
    std::cerr << compiled.error << "\n";
    return 1;
  }
  cel::Arena arena;
  cel::FixedActivation activation;
  const cel::Schema* schema = input.value_schema();
  if (input.self) activation.Set(0, cel::FromJson(arena, *input.self, schema));
  if (flags.optional_old_self)
    activation.Set(1, input.old_self ? cel::Value::Some(arena, cel::FromJson(arena, *input.old_self, schema))
                                     : cel::Value::None());
  else if (input.old_self)
    activation.Set(1, cel::FromJson(arena, *input.old_self, schema));
  const auto result = compiled.expression->program().Evaluate(activation, arena);
  const bool failed = result.value.IsError();
  if (failed)
    std::cerr << "error: " << result.value.error() << "\n";
  else
    std::cout << "value: " << json::Write(cel::TaggedValue(arena, result.value)) << "\n";
  std::cout << "type: " << compiled.type_text << "\ncost: " << result.cost
            << "\nestimated cost: " << CostText(compiled.cost) << "\n";
  return failed ? 1 : 0;
}

int CheckTable(const CelFlags& flags) {
  const auto schema = ReadOptional(flags.schema);
  const auto table = ReadDocument(flags.table);
  if (!schema || !table) {
    std::cerr << "error: " << (!schema ? schema.error() : table.error()).message() << "\n";
    return 1;
  }
  if (!table->is_array()) {
    std::cerr << "error: " << flags.table << ": not a list of rows\n";
    return 1;
  }
  std::size_t failed = 0;
  for (const json::Value& row : table->as_array()) {
    const auto differences = cel::CheckCase(row, *schema ? &**schema : nullptr);
    if (differences.empty()) continue;
    ++failed;
    std::cout << row["id"].string_or("") << ": " << row["expr"].string_or("") << "\n";
    for (const std::string& difference : differences) std::cout << "  " << difference << "\n";
  }
  std::cout << table->size() - failed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}

int RunCel(const CelFlags& flags) {
  if (!flags.table.empty()) return CheckTable(flags);
  if (flags.expressions.size() != 1) {
    std::cerr << "error: give one expression, or a table with --table\n";
    return 2;
  }
  return EvaluateExpression(flags);
}

}  // namespace

void AddCelCommand(const Command& root) {
  auto flags = std::make_shared<CelFlags>();
  const Command command =
      root.Sub("cel", "Evaluate an expression of Kubernetes' CEL, or check a table of them",
               "flyball cel 'self.replicas <= 10' --self object.yaml\n"
               "flyball cel 'self.spec.size >= oldSelf.spec.size' --self new.yaml --old-self old.yaml "
               "--schema schema.yaml\n"
               "flyball cel --schema schema.json --table cases.json");
  command.Args("EXPRESSION", &flags->expressions, "the expression; its variables are self and oldSelf")
      .Option("--self", &flags->self, "file with the value of self, JSON or YAML (- is the standard input)")
      .Option("--old-self", &flags->old_self, "file with the value of oldSelf")
      .Option("--schema", &flags->schema,
              "file with the openAPIV3Schema that types both; without it they are dyn")
      .Flag("--optional-old-self", &flags->optional_old_self,
            "oldSelf is an optional, as with optionalOldSelf: true")
      .Option("--table", &flags->table, "file with rows of expressions and recorded results to check");
  command.RunLocal([flags] { return RunCel(*flags); });
}

}  // namespace flyball::cli
