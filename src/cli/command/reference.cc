#include "cli/command/reference.h"

namespace flyball::cli {
namespace {

json::Value ReferenceOfFlag(const FlagSpec& flag) {
  return json::Object{
      {"name", flag.name}, {"shorthand", flag.shorthand ? std::string(1, flag.shorthand) : std::string()},
      {"type", flag.type}, {"default", flag.default_text},
      {"help", flag.help}, {"required", flag.required}};
}

}  // namespace

json::Value ReferenceOf(const CommandNode& node) {
  json::Array aliases, flags, commands;
  for (const std::string& alias : node.aliases) aliases.emplace_back(alias);
  for (const FlagSpec& flag : node.flags.all()) flags.push_back(ReferenceOfFlag(flag));
  for (const auto& child : node.children)
    if (!child->hidden) commands.push_back(ReferenceOf(*child));
  json::Object all{{"name", node.name},
                   {"path", node.Path()},
                   {"section", node.section},
                   {"summary", node.summary},
                   {"example", node.example},
                   {"aliases", std::move(aliases)},
                   {"args", json::Object{{"name", node.args_name}, {"help", node.args_help}}},
                   {"flags", std::move(flags)},
                   {"commands", std::move(commands)}};
  json::Value value(std::move(all));
  if (!node.foreign_reference) return value;
  const json::Value own = node.foreign_reference();
  for (const auto& [key, described] : own.as_object()) value[key] = described;
  return value;
}

}  // namespace flyball::cli
