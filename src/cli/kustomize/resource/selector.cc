#include "cli/kustomize/resource/selector.h"

#include <re2/re2.h>

#include "api/select/selector.h"
#include "cli/kustomize/resource/failure.h"

namespace flyball::cli::kustomize {
namespace {

// A regular expression for a whole text; the empty one accepts everything.
class WholeText {
 public:
  explicit WholeText(const std::string& pattern)
      : any_(pattern.empty()), expression_("^(?:" + pattern + ")$", RE2::Quiet) {}
  bool Accepts(const std::string& text) const { return any_ || RE2::PartialMatch(text, expression_); }
  Status Check() const {
    if (expression_.ok()) return {};
    return Fail("error parsing regexp: " + expression_.error());
  }

 private:
  bool any_;
  RE2 expression_;
};

Result<api::LabelSelector> ParseSelector(const std::string& text) {
  auto selector = api::LabelSelector::Parse(text);
  if (!selector) return Fail(selector.error().message());
  return selector;
}

}  // namespace

struct ResourceMatcher::Parts {
  explicit Parts(const Selector& selector)
      : group(selector.id.gvk.group),
        version(selector.id.gvk.version),
        kind(selector.id.gvk.kind),
        name(selector.id.name),
        ns(selector.id.ns) {}
  WholeText group, version, kind, name, ns;
  api::LabelSelector labels, annotations;
};

Result<ResourceMatcher> ResourceMatcher::Create(const Selector& selector) {
  auto parts = std::make_shared<Parts>(selector);
  for (const WholeText* part : {&parts->group, &parts->version, &parts->kind, &parts->name, &parts->ns})
    FLYBALL_TRY(part->Check());
  FLYBALL_ASSIGN(parts->labels, ParseSelector(selector.label_selector));
  FLYBALL_ASSIGN(parts->annotations, ParseSelector(selector.annotation_selector));
  ResourceMatcher matcher;
  matcher.parts_ = std::move(parts);
  return matcher;
}

bool ResourceMatcher::MatchesGvk(const Gvk& gvk) const {
  return parts_->group.Accepts(gvk.group) && parts_->version.Accepts(gvk.version) &&
         parts_->kind.Accepts(gvk.kind);
}
bool ResourceMatcher::MatchesName(const std::string& name) const {
  return parts_->name.Accepts(name);
}
bool ResourceMatcher::MatchesNamespace(const std::string& ns) const {
  return parts_->ns.Accepts(ns);
}
bool ResourceMatcher::MatchesMetadata(const Resource& resource) const {
  const json::Value& metadata = resource.object["metadata"];
  return parts_->labels.Matches(metadata["labels"]) && parts_->annotations.Matches(metadata["annotations"]);
}

}  // namespace flyball::cli::kustomize
