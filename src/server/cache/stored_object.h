// StoredObject: one object as the server holds it: its final JSON bytes, shared with the store, and the few
// facts that lists and watches filter by. Nothing is re-encoded to send it: the resourceVersion, which the
// stored bytes do not contain (the store's revision is its only source), is spliced in while copying to the
// wire. Objects of kinds that are many and seldom read (Events) are packed, and unpacked while copying.
//
// Immutable once shared: thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/schema/schema.h"
#include "base/values/bytes.h"
#include "base/values/result.h"
#include "json/value.h"
#include "store/store.h"

namespace flyball::server {

using LabelList = std::vector<std::pair<std::string, std::string>>;  // sorted by key

// Text inside an object, good as long as the object is. Becomes a string where one is wanted.
class ObjectText : public std::string_view {
 public:
  using std::string_view::string_view;
  ObjectText(std::string_view text) : std::string_view(text) {}
  operator std::string() const { return std::string(data(), size()); }
};
inline std::string operator+(const ObjectText& a, const char* b) {
  return std::string(a).append(b);
}
inline std::string operator+(const ObjectText& a, const std::string& b) {
  return std::string(a).append(b);
}
inline std::string operator+(std::string a, const ObjectText& b) {
  return std::move(a.append(b));
}

class StoredObject {
 public:
  // Brings what was stored to the form it has today (custom kinds: by their present schema). True if that
  // changed it.
  using ReadForm = std::function<bool(json::Value&)>;

  StoredObject() = default;
  ~StoredObject();
  StoredObject(const StoredObject&) = delete;
  StoredObject& operator=(const StoredObject&) = delete;

  // From the stored bytes of an object. InternalError if the bytes are no JSON object with metadata. Not
  // shared with anyone yet.
  static Result<std::shared_ptr<StoredObject>> Build(Bytes bytes, store::Revision revision,
                                                     const api::KindInfo& kind, const ReadForm& form = {});
  // The same, from a value that was just encoded to `bytes`. Not shared with anyone yet, so its revision may
  // still be set.
  static std::shared_ptr<StoredObject> FromValue(const json::Value& value, Bytes bytes,
                                                 store::Revision revision, const api::KindInfo& kind);

  ObjectText name() const { return Text(0); }
  ObjectText namespace_name() const { return Text(1); }
  std::string uid() const;
  store::Revision revision() const { return revision_; }
  // Before the object is shared.
  void set_revision(store::Revision revision) { revision_ = revision; }
  // The JSON. Made anew if the object is packed.
  Bytes bytes() const { return bytes_ ? bytes_ : MakeBytes(Unpacked()); }
  // How many bytes that has.
  std::size_t size() const { return size_; }
  // Before the object is shared: keeps the JSON in far less memory from now on, and lets go of `bytes`.
  void Pack();
  bool packed() const { return !bytes_; }
  // Whether objects of this kind are worth it.
  static bool IsWorthPacking(const api::KindInfo& kind);
  // Whether its bytes begin with this apiVersion, as those this server writes do.
  bool IsOf(std::string_view api_version) const;

  // The same object as another version of its kind, once somebody has converted it; null before. What is kept
  // lives as long as this object.
  std::shared_ptr<const StoredObject> FormOf(std::string_view api_version) const;
  void KeepForm(std::string_view api_version, std::shared_ptr<const StoredObject> form) const;
  // A copy; what filters uses the two below.
  LabelList labels() const;
  std::size_t label_count() const { return label_count_; }
  // Key and value; by number in the order of keys.
  std::pair<std::string_view, std::string_view> label(std::size_t i) const {
    return {Text(field_count_ + 2 * i), Text(field_count_ + 2 * i + 1)};
  }
  // As api::SelectableValues numbers them: name, namespace, then the kind's own. Absent ones are "".
  std::string_view field(std::size_t i) const { return i < field_count_ ? Text(i) : std::string_view(); }

  // Appends the object with the given resourceVersion (0: none, it is not stored). kListItem leaves
  // apiVersion and kind out, as lists of built-in kinds do.
  enum class Form { kWhole, kListItem };
  void AppendJson(std::string& out, Form form, store::Revision resource_version) const;
  void AppendJson(std::string& out, Form form = Form::kWhole) const { AppendJson(out, form, revision_); }
  // Appends the metadata alone, an object of its own, with the given resourceVersion.
  void AppendMetadata(std::string& out, store::Revision resource_version) const;
  // The object as a value, metadata.resourceVersion included.
  json::Value ToValue() const { return ToValue(revision_); }
  json::Value ToValue(store::Revision resource_version) const;
  // The same, parsed once and kept as long as this object lives: for what requests about other objects ask
  // again and again, such as namespaces and service accounts. Thread-safe.
  const json::Value& Parsed() const;

 private:
  void Locate(std::string_view uid);
  // Appends [from, to) of `text`, which is the JSON; the place of the resourceVersion must be in it.
  void AppendWithVersion(std::string& out, std::string_view text, std::size_t from, std::size_t to,
                         store::Revision resource_version) const;
  void Extract(const json::Value& value, const api::KindInfo& kind);
  // The JSON, in `own` if it had to be unpacked.
  std::string_view Json(std::string& own) const;
  std::string Unpacked() const { return UnpackedStart(size_); }
  std::string UnpackedStart(std::size_t size) const;

  // A text: in the object's bytes, or behind the references, in the same allocation. Events have a dozen
  // selectable fields, and are many: as strings those would take half the memory of one. Small objects,
  // nearly all, have references of half the size.
  template <typename Number>
  struct TextRef {
    Number offset;
    Number size_and_place;  // twice the size, and one more if it is in the bytes

    std::size_t size() const { return size_and_place / 2; }
    bool in_bytes() const { return size_and_place % 2 == 1; }
  };
  using SmallRef = TextRef<std::uint16_t>;
  using LargeRef = TextRef<std::uint32_t>;
  class Packer;
  void SetTexts(const Packer& packer);
  std::size_t text_count() const { return field_count_ + 2 * std::size_t{label_count_}; }
  std::string_view Text(std::size_t i) const { return small_ ? TextAt<SmallRef>(i) : TextAt<LargeRef>(i); }
  template <typename Ref>
  std::string_view TextAt(std::size_t i) const {
    Ref ref;
    std::memcpy(&ref, texts_.get() + i * sizeof(Ref), sizeof(Ref));
    const char* from = ref.in_bytes() ? bytes_->data() : texts_.get() + text_count() * sizeof(Ref);
    return {from + ref.offset, ref.size()};
  }

  Bytes bytes_;                     // null if packed
  std::unique_ptr<char[]> packed_;  // null if not
  std::uint32_t packed_size_ = 0;
  std::uint32_t size_ = 0;  // of the JSON
  store::Revision revision_ = 0;
  std::uint32_t metadata_offset_ = 0;  // of `"metadata":`
  std::uint32_t version_offset_ = 0;   // where `,"resourceVersion":"N"` goes: after the uid; 0: there is none
  std::uint32_t uid_size_ = 0;
  std::uint32_t label_count_ = 0;
  std::uint16_t field_count_ = 0;  // name, namespace and the kind's own
  bool small_ = false;             // which references there are
  // References to the fields, then to keys and values of the labels; then texts that are not in the bytes.
  // The name is always here: the order of objects is found by it, and the bytes are further away.
  std::unique_ptr<char[]> texts_;
  struct ConvertedForm;
  ConvertedForm& Keep(std::unique_ptr<ConvertedForm> form) const;
  mutable std::atomic<ConvertedForm*> forms_{nullptr};  // a list that only grows
};

using ObjectPtr = std::shared_ptr<const StoredObject>;

}  // namespace flyball::server
