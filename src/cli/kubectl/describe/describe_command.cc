#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/describe/describe_kinds.h"
#include "cli/kubectl/describe/describe_text.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct DescribeFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  std::optional<std::int64_t> chunk_size;
  std::string show_events;  // true, false; empty: if there is one object
};

Status AddNamed(Session& session, const ObjectRef& ref, std::vector<json::Value>& objects) {
  auto object = session.Get(ref.kind, ref.ns, ref.name);
  if (!object) return Unexpected(object.error());
  SetTypeMeta(*object, ref.kind);
  objects.push_back(std::move(*object));
  return {};
}

// The object with the name; if there is none, those whose names begin with it.
Status AddMatching(Session& session, const ObjectRef& ref, std::vector<json::Value>& objects) {
  const Status found = AddNamed(session, ref, objects);
  if (found || !found.error().Is(Reason::kNotFound)) return found;
  FLYBALL_ASSIGN(auto items, ListObjects(session, ref.kind, ref.ns));
  const std::size_t before = objects.size();
  for (json::Value& item : items)
    if (std::as_const(item)["metadata"]["name"].string_or("").starts_with(ref.name))
      objects.push_back(std::move(item));
  return objects.size() > before ? Status() : found;
}

Result<std::vector<json::Value>> ObjectsOf(Session& session, const DescribeFlags& flags) {
  std::vector<json::Value> objects;
  const auto add = [&](const Status& added) {
    if (!added) session.Report(added.error());
  };
  if (!flags.files.empty()) {
    FLYBALL_ASSIGN(const auto refs, NamedObjects(session, flags.files, {}, {}));
    for (const ObjectRef& ref : refs) add(AddNamed(session, ref, objects));
    return objects;
  }
  if (flags.args.empty())
    return Unexpected(LocalError(
        "You must specify the type of resource to describe. Use \"kubectl api-resources\" for a complete "
        "list of supported resources."));
  FLYBALL_ASSIGN(const auto resources, ParseResourceArgs(session, flags.args));
  for (const ResourceArg& resource : resources) {
    const std::string ns = flags.selection.all_namespaces ? "" : session.NamespaceFor(resource.kind);
    for (const std::string& name : resource.names)
      add(AddMatching(session, {resource.kind, ns, name}, objects));
    if (!resource.names.empty()) continue;
    FLYBALL_ASSIGN(auto items, ListObjects(session, resource.kind, ns, flags.selection.label_selector));
    for (json::Value& item : items) objects.push_back(std::move(item));
  }
  return objects;
}

Status RunDescribe(Session& session, const DescribeFlags& flags) {
  session.set_chunk_size(flags.chunk_size.value_or(session.chunk_size()));
  FLYBALL_ASSIGN(const auto objects, ObjectsOf(session, flags));
  if (objects.empty() && !session.failed())
    session.err() << "No resources found in " << session.ns() << " namespace.\n";
  const bool with_events = flags.show_events.empty() ? objects.size() <= 1 : flags.show_events != "false";
  bool first = true;
  for (const json::Value& object : objects) {
    if (!std::exchange(first, false)) session.out() << "\n\n";
    const Description description = Describe(session, object);
    TabWriter writer = DescriptionWriter();
    writer.Write(description.text);
    if (description.events && with_events) writer.Write(EventLines(session, object));
    session.out() << writer.Take();
  }
  return {};
}

}  // namespace

void AddDescribeCommand(const Command& root) {
  auto flags = std::make_shared<DescribeFlags>();
  const Command command =
      root.Sub("describe", "Show everything about objects, with their events", "flyball describe pod web-0");
  command.SuggestedFor({"inspect"});
  command.Args("TYPE[/NAME]", &flags->args, "Kinds and names");
  AddManifestFlags(command, &flags->files);
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  command.Flag("-A,--all-namespaces", &flags->selection.all_namespaces, "In every namespace");
  command.Option("--chunk-size", &flags->chunk_size,
                 "How many objects one request lists; 0 reads lists whole");
  command.Option("--show-events", &flags->show_events, "With their events; the default for a single object",
                 "true");
  RunVerb(command, [flags](Session& session) { return RunDescribe(session, *flags); });
}

}  // namespace flyball::cli
