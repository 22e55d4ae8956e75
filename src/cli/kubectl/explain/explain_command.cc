#include <memory>

#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/explain/field_schemas.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct ExplainFlags {
  std::vector<std::string> args;
  std::string api_version, output = "plaintext";
  int max_depth = 0;
  bool recursive = false;
};

Status CheckExplain(const ExplainFlags& flags) {
  if (flags.args.empty())
    return Unexpected(
        LocalError("You must specify the type of resource to explain. Use \"kubectl "
                   "api-resources\" for a complete list of supported resources."));
  if (flags.args.size() > 1) return Unexpected(LocalError("We accept only this format: explain RESOURCE"));
  if (flags.max_depth > 0 && !flags.recursive)
    return Unexpected(LocalError("--max-depth requires --recursive"));
  if (flags.max_depth < 0) return Unexpected(LocalError("--max-depth must be non-negative"));
  if (flags.output != "plaintext" && flags.output != "plaintext-openapiv2")
    return Unexpected(LocalError("unrecognized format: " + flags.output));
  return {};
}

Status RunExplain(Session& session, const ExplainFlags& flags) {
  FLYBALL_TRY(CheckExplain(flags));
  std::vector<std::string> path = SplitText(flags.args[0], '.');
  if (path.back().empty()) path.pop_back();
  const auto resources = ParseResourceArgs(session, {path.empty() ? "" : path[0]});
  if (!resources) return Unexpected(PlainError(resources.error().message()));
  Explanation what{.kind = (*resources)[0].kind,
                   .path = {path.begin() + 1, path.end()},
                   .recursive = flags.recursive,
                   .max_depth = flags.max_depth};
  if (!flags.api_version.empty()) {
    const auto [group, version] = SplitApiVersion(flags.api_version);
    FLYBALL_ASSIGN(what.kind, session.mapper().ForKind(group, version, what.kind.kind));
  }
  FLYBALL_ASSIGN(const FieldSchemas schemas, FieldSchemas::Load(session, what.kind));
  std::string text;
  const Status explained = flags.output == "plaintext" ? ExplainField(schemas, what, &text)
                                                       : ExplainFieldAsV2(schemas, what, &text);
  session.out() << text;
  return explained;
}

}  // namespace

void AddExplainCommand(const Command& root) {
  auto flags = std::make_shared<ExplainFlags>();
  const Command command = root.Sub("explain", "Say what the fields of a kind mean",
                                   "flyball explain deploy\n  flyball explain pod.spec.containers.env");
  command.Args("TYPE[.FIELD...]", &flags->args, "A kind, or a field of it");
  command.Option("--api-version", &flags->api_version, "Of which group and version: apps/v1");
  command.Option("-o,--output", &flags->output,
                 "plaintext, or plaintext-openapiv2: as kubectl showed it before OpenAPI v3");
  command.Flag("-R,--recursive", &flags->recursive, "All fields below, without their descriptions");
  command.Option("--max-depth", &flags->max_depth, "With --recursive: how many levels of fields; 0: all");
  RunVerb(command, [flags](Session& session) { return RunExplain(session, *flags); });
}

}  // namespace flyball::cli
