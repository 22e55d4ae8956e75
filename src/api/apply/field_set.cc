#include "api/apply/field_set.h"

#include <algorithm>
#include <utility>

namespace flyball::api {
namespace {

using Nodes = std::vector<FieldSet::Node>;

bool Before(const FieldSet::Node& a, const FieldSet::Node& b) {
  return a.element < b.element;
}

// Walks two sorted levels together: both(a, b) for elements in both, else only_a or only_b.
template <typename OnlyA, typename OnlyB, typename Both>
void Zip(const Nodes& a, const Nodes& b, OnlyA only_a, OnlyB only_b, Both both) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    const auto order = i->element <=> j->element;
    if (order < 0) {
      only_a(*i++);
    } else if (order > 0) {
      only_b(*j++);
    } else {
      both(*i++, *j++);
    }
  }
  for (; i != a.end(); ++i) only_a(*i);
  for (; j != b.end(); ++j) only_b(*j);
}

constexpr auto kIgnore = [](const FieldSet::Node&) {};

Nodes::const_iterator FindNode(const Nodes& nodes, const PathElement& element) {
  const auto found = std::lower_bound(nodes.begin(), nodes.end(), element,
                                      [](const auto& node, const auto& e) { return node.element < e; });
  return found != nodes.end() && found->element == element ? found : nodes.end();
}

void Visit(const FieldSet& set, std::vector<PathElement>& path,
           const std::function<void(std::span<const PathElement>)>& visit) {
  for (const auto& node : set.nodes()) {
    if (!node.member) continue;
    path.push_back(node.element);
    visit(path);
    path.pop_back();
  }
  for (const auto& node : set.nodes()) {
    if (node.below.empty()) continue;
    path.push_back(node.element);
    Visit(node.below, path, visit);
    path.pop_back();
  }
}

json::Object EncodeLevel(const FieldSet& set, bool self) {
  json::Object out;
  out.Reserve(set.nodes().size() + (self ? 1 : 0));
  if (self) out.Append(".", json::Object());
  for (const auto& node : set.nodes()) {
    std::string name;
    name.reserve(node.element.text().size() + 2);
    node.element.AppendEncoded(name);
    out.Append(std::move(name), EncodeLevel(node.below, node.member && !node.below.empty()));
  }
  return out;
}

// Reads one document. An error stays with it: results handed through every level would cost more than the
// reading.
class FieldSetDecoder {
 public:
  // Adds what lies below to an empty set; true if the place itself is a member.
  bool DecodeLevel(const json::Value& fields, FieldSet& out) {
    if (fields.is_null()) return true;
    if (!fields.is_object()) return Fail("fieldsV1 must consist of objects");
    if (depth_ > FieldSet::kMaxDepth) return Fail("fieldsV1 is nested too deeply");
    ++depth_;
    bool self = fields.empty();
    out.Reserve(fields.size());
    for (const auto& [name, value] : fields.as_object()) {
      if (name == ".") {
        self = true;
      } else {
        DecodeElement(name, value, out);
      }
      if (failed_) return false;
    }
    --depth_;
    out.Finish();
    return self;
  }

  bool failed() const { return failed_; }
  const std::string& message() const { return message_; }

 private:
  bool Fail(std::string_view message) {
    failed_ = true;
    message_ = message;
    return false;
  }

  void DecodeElement(std::string_view name, const json::Value& value, FieldSet& out) {
    auto element = PathElement::Decode(name);
    if (!element) {
      Fail(element.error().message());
    } else if (*element) {
      auto& node = out.BeginAppend(std::move(**element));
      const bool self = DecodeLevel(value, node.below);
      node.member = self || node.below.empty();
      out.EndAppend();
    } else {
      FieldSet skipped;
      DecodeLevel(value, skipped);
    }
  }

  int depth_ = 0;
  bool failed_ = false;
  std::string message_;
};

}  // namespace

FieldSet::FieldSet() noexcept = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;
FieldSet::~FieldSet() = default;

FieldSet::FieldSet(std::initializer_list<std::initializer_list<std::string_view>> field_paths) {
  for (const auto& names : field_paths) {
    std::vector<PathElement> path;
    for (const std::string_view name : names) path.push_back(PathElement::Field(name));
    Insert(path);
  }
}

std::size_t FieldSet::size() const {
  std::size_t n = 0;
  for (const Node& node : nodes_) n += node.below.size() + (node.member ? 1 : 0);
  return n;
}

void FieldSet::Insert(std::span<const PathElement> path) {
  const auto place = std::lower_bound(nodes_.begin(), nodes_.end(), path.front(),
                                      [](const Node& node, const auto& e) { return node.element < e; });
  auto node = place;
  if (node == nodes_.end() || node->element != path.front()) {
    node = nodes_.insert(place, Node(path.front()));
  }
  if (path.size() == 1) {
    node->member = true;
  } else {
    node->below.Insert(path.subspan(1));
  }
}

bool FieldSet::Has(std::span<const PathElement> path) const {
  const FieldSet* set = this;
  for (; path.size() > 1; path = path.subspan(1)) {
    set = set->Below(path.front());
    if (set == nullptr) return false;
  }
  return set->HasElement(path.front());
}

bool FieldSet::HasField(std::initializer_list<std::string_view> names) const {
  std::vector<PathElement> path;
  for (const std::string_view name : names) path.push_back(PathElement::Field(name));
  return Has(path);
}

const FieldSet* FieldSet::Below(const PathElement& element) const {
  const auto node = FindNode(nodes_, element);
  return node == nodes_.end() || node->below.empty() ? nullptr : &node->below;
}

bool FieldSet::HasElement(const PathElement& element) const {
  const auto node = FindNode(nodes_, element);
  return node != nodes_.end() && node->member;
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  if (other.empty()) return *this;
  if (empty()) return other;
  FieldSet out;
  out.Reserve(std::max(nodes_.size(), other.nodes_.size()));
  const auto take = [&](const Node& node) { out.nodes_.push_back(node); };
  Zip(nodes_, other.nodes_, take, take, [&](const Node& a, const Node& b) {
    out.nodes_.push_back(Node{a.element, a.below.Union(b.below), a.member || b.member});
  });
  return out;
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  Zip(nodes_, other.nodes_, kIgnore, kIgnore, [&](const Node& a, const Node& b) {
    out.Append(a.element, a.member && b.member, a.below.Intersection(b.below));
  });
  return out;
}

FieldSet FieldSet::Difference(const FieldSet& other) const {
  FieldSet out;
  const auto take = [&](const Node& node) { out.nodes_.push_back(node); };
  Zip(nodes_, other.nodes_, take, kIgnore, [&](const Node& a, const Node& b) {
    out.Append(a.element, a.member && !b.member, a.below.Difference(b.below));
  });
  return out;
}

FieldSet FieldSet::RecursiveDifference(const FieldSet& other) const {
  FieldSet out;
  const auto take = [&](const Node& node) { out.nodes_.push_back(node); };
  Zip(nodes_, other.nodes_, take, kIgnore, [&](const Node& a, const Node& b) {
    if (!b.member) out.Append(a.element, a.member, a.below.RecursiveDifference(b.below));
  });
  return out;
}

FieldSet FieldSet::Leaves() const {
  FieldSet out;
  for (const Node& node : nodes_) out.Append(node.element, node.below.empty(), node.below.Leaves());
  return out;
}

bool FieldSet::Intersects(const FieldSet& other) const {
  bool found = false;
  Zip(nodes_, other.nodes_, kIgnore, kIgnore, [&](const Node& a, const Node& b) {
    found = found || (a.member && b.member) || a.below.Intersects(b.below);
  });
  return found;
}

void FieldSet::ForEach(const std::function<void(std::span<const PathElement>)>& visit) const {
  std::vector<PathElement> path;
  Visit(*this, path, visit);
}

json::Value FieldSet::ToFieldsV1() const {
  return EncodeLevel(*this, false);
}

Result<FieldSet> FieldSet::FromFieldsV1(const json::Value& fields) {
  FieldSetDecoder decoder;
  FieldSet set;
  decoder.DecodeLevel(fields, set);
  if (decoder.failed()) return Unexpected(BadRequest(decoder.message()));
  return set;
}

void FieldSet::Append(PathElement element, bool member, FieldSet below) {
  if (!member && below.empty()) return;
  nodes_.push_back(Node{std::move(element), std::move(below), member});
}

FieldSet::Node& FieldSet::BeginAppend(PathElement element) {
  return nodes_.emplace_back(std::move(element));
}

void FieldSet::EndAppend() {
  if (!nodes_.back().member && nodes_.back().below.empty()) nodes_.pop_back();
}

void FieldSet::Reserve(std::size_t n) {
  nodes_.reserve(n);
}

void FieldSet::Finish() {
  if (!std::is_sorted(nodes_.begin(), nodes_.end(), Before)) {
    std::sort(nodes_.begin(), nodes_.end(), Before);
  }
  const auto same = [](const Node& a, const Node& b) { return a.element == b.element; };
  if (std::adjacent_find(nodes_.begin(), nodes_.end(), same) == nodes_.end()) return;
  std::vector<Node> merged;
  for (Node& node : nodes_) {
    if (merged.empty() || !same(merged.back(), node)) {
      merged.push_back(std::move(node));
    } else {
      merged.back().member = merged.back().member || node.member;
      merged.back().below = merged.back().below.Union(node.below);
    }
  }
  nodes_ = std::move(merged);
}

bool FieldSet::operator==(const FieldSet& other) const {
  return nodes_ == other.nodes_;
}

}  // namespace flyball::api
