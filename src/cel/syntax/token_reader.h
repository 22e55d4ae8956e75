// TokenReader: the tokens of an expression under a parser's hand, and what is said when one does not fit.
//
// The messages, and how the parse goes on after them, are those of upstream's generated parser
// (antlr.DefaultErrorStrategy): one wrong token is left out if the next one fits, one missing token is made
// up if the present one fits after it, and otherwise the rule ends and tokens are skipped until one that a
// rule under way may go on with. Until the next token fits, nothing more is reported. Confined to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/lexer.h"
#include "cel/syntax/token_set.h"

namespace flyball::cel {

// Ends the parse; the issue is reported already.
struct ParseStopped {};
// Ends a rule of the grammar; the issue is reported already.
struct RuleFailed {};

class TokenReader {
 public:
  // `issues` receives what is reported, and outlives the reader.
  TokenReader(std::string_view text, std::vector<Issue>& issues)
      : issues_(issues), text_(text), tokens_(Tokenize(text, issues)) {}

  const Token& Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  // Takes a token that fits.
  const Token& Next() {
    recovering_ = false;
    return Skip();
  }
  bool Accept(std::string_view op);

  // Before a choice: one of these must come. Throws RuleFailed.
  void Sync(TokenSet expected);
  // Takes the operator. `after`: what may come after it. Throws RuleFailed.
  void Expect(std::string_view op, TokenSet after);
  // "mismatched" or "extraneous" input.
  void Report(std::string_view what, TokenSet expected);
  [[noreturn]] void Unexpected(TokenSet expected);
  // True if the next token would fit in place of the present one.
  bool IsExtraneous(TokenSet expected) const { return expected.Has(Peek(1)); }
  // Nothing fits after the present token, which stays: it may be part of something else.
  [[noreturn]] void FailAfter();
  // Ends the parse with a message that points nowhere.
  [[noreturn]] void StopNowhere(std::string message);
  // After a rule failed: goes to where the rules under way may go on.
  void Recover(TokenSet follow);

 protected:
  std::vector<Issue>& issues_;

 private:
  const Token& Skip() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  void AddIssue(std::string message);
  void LeaveOut(TokenSet expected);
  void ReportNoViable(const Token& from);

  const std::string_view text_;
  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  bool recovering_ = false;
};

}  // namespace flyball::cel
