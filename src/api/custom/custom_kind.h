// CustomKind: one served version of a CustomResourceDefinition as the server knows kinds: a KindInfo whose
// strings and tables it owns, its CustomSchema, and what its subresources need.
//
// Immutable after Build: thread-safe. Held by shared_ptr; info() and schema() live as long as it does.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom/custom_schema.h"
#include "api/schema/schema.h"
#include "api/select/json_path.h"
#include "base/values/result.h"
#include "json/value.h"

namespace flyball::api {

class CustomKind {
 public:
  // Where the scale subresource reads and writes, as dotted paths from the root ("spec.replicas").
  struct ScalePaths {
    std::string spec_replicas, status_replicas, label_selector;  // label_selector may be empty
  };

  // Of a definition that passed validation and defaulting. NotFound if it has no such version; served or not
  // is the caller's business.
  static Result<std::shared_ptr<const CustomKind>> Build(const json::Value& definition,
                                                         std::string_view version);
  // All served versions, in the definition's order.
  static Result<std::vector<std::shared_ptr<const CustomKind>>> BuildServed(const json::Value& definition);

  CustomKind(const CustomKind&) = delete;
  CustomKind& operator=(const CustomKind&) = delete;

  const KindInfo& info() const { return info_; }
  const CustomSchema& schema() const { return *schema_; }
  const std::string& list_kind() const { return list_kind_; }
  bool has_status() const { return has_status_; }
  bool storage() const { return storage_; }
  const std::optional<ScalePaths>& scale() const { return scale_; }
  // What goes into a Warning header with every answer about this version; empty if it is not deprecated.
  const std::string& deprecation_warning() const { return deprecation_warning_; }

 private:
  CustomKind() = default;
  void SetNames(const json::Value& spec);
  void SetColumns(const json::Value& version);
  void SetSubresources(const json::Value& version);
  std::string_view Keep(std::string_view text) { return texts_.emplace_back(text); }

  std::deque<std::string> texts_;
  std::vector<std::string_view> short_names_, categories_, selectable_fields_;
  std::vector<ColumnInfo> columns_;
  std::vector<SubresourceInfo> subresources_;
  std::shared_ptr<const CustomSchema> schema_;
  KindInfo info_;
  std::string list_kind_, deprecation_warning_;
  std::optional<ScalePaths> scale_;
  bool has_status_ = false, storage_ = false;
};

}  // namespace flyball::api
