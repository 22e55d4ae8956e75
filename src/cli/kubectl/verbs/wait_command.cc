#include <algorithm>
#include <memory>

#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/path_template.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/session/object_wait.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {
namespace {

struct WaitFlags {
  std::vector<std::string> args;
  ManifestFlags files;
  Selection selection;
  PrintFlags print;
  std::vector<std::string> what;
  std::string timeout = "30s";
  bool local = false;
};

using Condition = std::function<Result<bool>(const json::Value* object)>;

bool HasCondition(const json::Value& object, std::string_view type, std::string_view status) {
  const json::Value& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) return false;
  for (const json::Value& condition : conditions.as_array()) {
    if (LowerCase(condition["type"].string_or("")) != LowerCase(type)) continue;
    // A condition for an older spec does not count yet.
    const std::int64_t observed =
        condition["observedGeneration"].int_or(object["status"]["observedGeneration"].int_or(0));
    if (observed != 0 && observed < object["metadata"]["generation"].int_or(0)) return false;
    return LowerCase(condition["status"].string_or("")) == LowerCase(status);
  }
  return false;
}

// At single equals signs; "==" belongs to an expression.
std::vector<std::string> SplitAtEquals(const std::string& text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "==") == 0) {
      parts.back() += "==";
      ++i;
    } else if (text[i] == '=') {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// {.path}=value, or {.path} alone, which requires any value.
Result<Condition> PathCondition(const std::string& text) {
  const auto parts = SplitAtEquals(text);
  if (parts.size() > 2)
    return Unexpected(
        LocalError("jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or "
                   "--for=jsonpath='{.status.readyReplicas}'"));
  const bool has_value = parts.size() == 2;
  const std::string value(has_value ? Trimmed(parts[1], "'\"") : "");
  if (has_value && value.empty())
    return Unexpected(
        LocalError("jsonpath wait has to have a value after equal sign, like "
                   "--for=jsonpath='{.status.readyReplicas}'=3"));
  auto path = api::JsonPath::Parse(parts[0]);
  if (!path) return Unexpected(LocalError("error parsing jsonpath " + text + ", " + path.error().message()));
  return Condition([path = *path, value, has_value](const json::Value* object) -> Result<bool> {
    if (!object) return false;
    const json::Value* found = path.First(*object);
    return found && !found->is_null() && (!has_value || PathText(*found) == value);
  });
}

// One --for: an object that is there, one that is gone, or a condition of one.
struct Wanted {
  enum class Kind { kCreated, kDeleted, kCondition };
  Kind kind = Kind::kCondition;
  Condition condition{};
};

Result<Wanted> ParseWanted(const std::string& what) {
  if (LowerCase(what) == "delete") return Wanted{Wanted::Kind::kDeleted};
  if (LowerCase(what) == "create") return Wanted{Wanted::Kind::kCreated};
  if (what.starts_with("jsonpath=")) {
    FLYBALL_ASSIGN(Condition condition, PathCondition(what.substr(9)));
    return Wanted{Wanted::Kind::kCondition, std::move(condition)};
  }
  if (!what.starts_with("condition="))
    return Unexpected(LocalError("unrecognized condition: \"" + what + "\""));
  const std::string text = what.substr(10);
  const std::size_t equals = text.find('=');
  const std::string status = equals == std::string::npos ? "true" : text.substr(equals + 1);
  return Wanted{Wanted::Kind::kCondition,
                [type = text.substr(0, equals), status](const json::Value* object) -> Result<bool> {
                  return object && HasCondition(*object, type, status);
                }};
}

// The run of the command: all objects share its time.
class WaitRun {
 public:
  WaitRun(Session& session, const WaitFlags& flags, Duration timeout)
      : session_(session),
        flags_(flags),
        once_(timeout == Duration::zero()),
        deadline_(session.clock().Steady() + timeout) {}

  Status Run() {
    FLYBALL_ASSIGN(printer_, NewObjectPrinter(flags_.print));
    if (flags_.what.empty()) return Unexpected(LocalError("unrecognized condition: []"));
    for (const std::string& what : flags_.what) {
      FLYBALL_ASSIGN(Wanted wanted, ParseWanted(what));
      wanted_.push_back(std::move(wanted));
    }
    if (Wants(Wanted::Kind::kCreated)) FLYBALL_TRY(WaitUntilCreated());
    FLYBALL_ASSIGN(const auto objects, Objects());
    if (objects.empty() && !session_.failed() && !Wants(Wanted::Kind::kDeleted))
      return Unexpected(LocalError("no matching resources found"));
    for (const ObjectRef& object : objects)
      if (const Status done = WaitFor(object); !done) session_.Report(done.error());
    return {};
  }

 private:
  bool Wants(Wanted::Kind kind) const {
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const Wanted& one) { return one.kind == kind; });
  }
  Result<std::vector<ObjectRef>> Objects() {
    return NamedObjects(session_, flags_.files, flags_.args, flags_.selection);
  }
  bool Late() const { return session_.clock().Steady() >= deadline_; }

  // Asked for again and again: what is not there cannot be watched by name and selector alike.
  Status WaitUntilCreated() {
    constexpr Duration kInterval = std::chrono::milliseconds(500);  // kubectl's
    for (;;) {
      FLYBALL_ASSIGN(const auto objects, Objects());
      bool there = !objects.empty();
      for (const ObjectRef& object : objects) {
        const auto got = session_.Get(object.kind, object.ns, object.name);
        if (!got && !got.error().Is(Reason::kNotFound)) return Unexpected(got.error());
        there = there && got;
      }
      if (there) return {};
      if (Late()) return Unexpected(LocalError("timed out waiting for the condition"));
      session_.Pause(kInterval);
    }
  }

  Status WaitFor(const ObjectRef& object) {
    const auto first = session_.Get(object.kind, object.ns, object.name);
    // What is waited for to go and is not there is not worth a word.
    if (!first && first.error().Is(Reason::kNotFound) && Wants(Wanted::Kind::kDeleted)) return {};
    if (!first) return Unexpected(first.error());
    json::Value last = *first;
    for (const Wanted& wanted : wanted_) {
      FLYBALL_TRY(WaitForOne(wanted, object, &last));
      FLYBALL_TRY(Say(object, last));
    }
    return {};
  }

  // `last` becomes the object as it was seen last.
  Status WaitForOne(const Wanted& wanted, const ObjectRef& object, json::Value* last) {
    if (wanted.kind == Wanted::Kind::kCreated) return {};
    const json::Value uid = std::as_const(*last)["metadata"]["uid"];
    const auto done = [&](const json::Value* now) -> Result<bool> {
      if (wanted.kind == Wanted::Kind::kDeleted) return !now || !((*now)["metadata"]["uid"] == uid);
      FLYBALL_ASSIGN(const bool met, wanted.condition(now));
      if (met) *last = *now;
      return met;
    };
    FLYBALL_ASSIGN(const bool met, done(last));
    if (met) return {};
    if (once_)
      return Unexpected(LocalError("condition not met for " + object.kind.plural + "/" + object.name));
    constexpr Duration kShortest = std::chrono::milliseconds(1);  // zero would be for ever
    return WaitForObject(session_, object,
                         std::max<Duration>(kShortest, deadline_ - session_.clock().Steady()), done);
  }

  Status Say(const ObjectRef& object, json::Value& last) {
    SetTypeMeta(last, object.kind);
    if (printer_) return PrintTo(session_.out(), *printer_, last);
    session_.out() << DisplayName(object.kind, object.name) << " condition met\n" << std::flush;
    return {};
  }

  Session& session_;
  const WaitFlags& flags_;
  const bool once_;  // --timeout=0
  const SteadyTime deadline_;
  std::vector<Wanted> wanted_;
  std::unique_ptr<ObjectPrinter> printer_;
};

Status RunWait(Session& session, const WaitFlags& flags) {
  constexpr Duration kLongest = std::chrono::hours(168);  // of a negative --timeout
  auto timeout = api::ParseDuration(flags.timeout);
  if (!timeout)
    return Unexpected(LocalError("invalid argument \"" + flags.timeout +
                                 "\" for \"--timeout\" flag: " + timeout.error().message()));
  return WaitRun(session, flags, *timeout < Duration::zero() ? kLongest : *timeout).Run();
}

}  // namespace

void AddWaitCommand(const Command& root) {
  auto flags = std::make_shared<WaitFlags>();
  const Command command = root.Sub("wait", "Wait until objects are as they should be",
                                   "flyball wait --for=condition=Available deploy/web --timeout=60s");
  command.Args("TYPE/NAME", &flags->args, "Which objects");
  AddManifestFlags(command, &flags->files);
  command.Option("--for", &flags->what,
                 "condition=NAME[=value], jsonpath={.path}[=value], create or delete; may be repeated");
  command.Option("--timeout", &flags->timeout, "How long; 0 checks once, less than 0 waits for a week");
  AddPrintFlags(command, &flags->print);
  command.Option("-l,--selector", &flags->selection.label_selector, "Those with these labels");
  command.Option("--field-selector", &flags->selection.field_selector, "Those with these field values");
  command.Flag("--all", &flags->selection.all, "All of the kind in the namespace");
  command.Flag("--local", &flags->local, "Accepted: what -f names is waited for on the server all the same");
  command.Flag("-A,--all-namespaces", &flags->selection.all_namespaces, "In every namespace");
  RunVerb(command, [flags](Session& session) { return RunWait(session, *flags); });
}

}  // namespace flyball::cli
