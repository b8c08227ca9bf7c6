// Tokens of LIBSVM text: separators, labels and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace multimargin::svmlight {

inline bool is_separator(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Token {
  const char* begin;
  const char* end;
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// The token at or after p; empty (at `end`) when only separators are left.
inline Token next_token(const char* p, const char* end) {
  while (p != end && is_separator(*p)) ++p;
  const char* q = p;
  while (q != end && !is_separator(*q)) ++q;
  return {p, q};
}

// The token in quotes, cut and with everything but printable ASCII escaped, so
// that a message about a binary file is still one readable line.
std::string excerpt(Token token);

// Decodes one strict UTF-8 code point and advances p; returns false, with p
// unspecified, for malformed bytes (overlong forms and surrogates included).
bool decode_utf8(const char*& p, const char* end, std::uint32_t& code);

// Splits [+-]digits[.digits][(e|E)[+-]digits] into its significant digits and
// a power of ten; false when the token is not such a number.
bool split_decimal(Token token, std::string& digits, std::int64_t& exponent);

// Whether a label has an integral value that fits in 64 bits. Decided on the
// decimal digits, never through a double: two labels that differ must not
// become one class by rounding.
bool integral_label(Token token, std::int64_t& value);

// Whether a token begins as features and query ids do: number:value, qid:value.
bool is_feature(Token token);

// Why a token cannot be a label; nullptr when it can.
const char* label_problem(Token token);

}  // namespace multimargin::svmlight
