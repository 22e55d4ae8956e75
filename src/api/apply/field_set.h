// FieldSet: which parts of an object someone means: a tree of path elements in which some are members
// (upstream: structured-merge-diff fieldpath.Set). It is what a manager owns, and what managedFields writes
// as fieldsV1.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/apply/field_path_element.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

// A value; copying copies the tree. Each level is a sorted vector. Thread-compatible.
//
// A path may be a member whether or not paths below it are: owning a list item is not owning its fields.
class FieldSet {
 public:
  struct Node;

  FieldSet() noexcept;
  // One path of member names each: FieldSet({{"status"}, {"metadata", "labels"}}).
  FieldSet(std::initializer_list<std::initializer_list<std::string_view>> field_paths);
  FieldSet(const FieldSet&);
  FieldSet(FieldSet&&) noexcept;
  FieldSet& operator=(const FieldSet&);
  FieldSet& operator=(FieldSet&&) noexcept;
  ~FieldSet();

  bool empty() const { return nodes_.empty(); }
  // Number of members.
  std::size_t size() const;

  // Requires: path is not empty.
  void Insert(std::span<const PathElement> path);
  bool Has(std::span<const PathElement> path) const;
  bool HasField(std::initializer_list<std::string_view> names) const;
  // What lies below the element; null if nothing does.
  const FieldSet* Below(const PathElement& element) const;
  // True if the element itself is a member.
  bool HasElement(const PathElement& element) const;

  FieldSet Union(const FieldSet& other) const;
  FieldSet Intersection(const FieldSet& other) const;
  // The members of this that are not members of other.
  FieldSet Difference(const FieldSet& other) const;
  // Difference, and without everything below a member of other.
  FieldSet RecursiveDifference(const FieldSet& other) const;
  // The members with no path below them.
  FieldSet Leaves() const;
  bool Intersects(const FieldSet& other) const;
  // True if every member of other is a member of this.
  bool Contains(const FieldSet& other) const { return other.Difference(*this).empty(); }

  // Calls visit with each member's path; on each level members come before what lies below.
  void ForEach(const std::function<void(std::span<const PathElement>)>& visit) const;

  // The fieldsV1 document: sorted, "." for a member that has members below it.
  json::Value ToFieldsV1() const;
  // Members with tags that are not known are left out. BadRequest if the document is malformed or deeper than
  // kMaxDepth.
  static Result<FieldSet> FromFieldsV1(const json::Value& fields);

  // For whoever makes a set level by level: adds at the end, out of order; Finish() sorts the level and makes
  // one node of equal ones. Other methods require a finished set. What is neither member nor has members
  // below is left out.
  void Append(PathElement element, bool member, FieldSet below);
  // The same in two steps: fill in the node's `below` and `member`, then say so. The node is valid until
  // then.
  Node& BeginAppend(PathElement element);
  void EndAppend();
  void Reserve(std::size_t n);
  void Finish();

  const std::vector<Node>& nodes() const { return nodes_; }

  bool operator==(const FieldSet& other) const;

  // Deeper values are one leaf to apply, deeper documents are refused: trees this deep are attacks on the
  // stack.
  static constexpr int kMaxDepth = 500;

 private:
  std::vector<Node> nodes_;
};

struct FieldSet::Node {
  explicit Node(PathElement e) : element(std::move(e)) {}
  Node(PathElement e, FieldSet b, bool m) : element(std::move(e)), below(std::move(b)), member(m) {}

  PathElement element;
  FieldSet below;
  bool member = false;

  bool operator==(const Node&) const = default;
};

}  // namespace flyball::api
