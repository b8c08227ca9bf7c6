#include "io/svmlight_tokens.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "io/svmlight.hpp"

namespace multimargin::svmlight {

std::string excerpt(Token token) {
  constexpr std::size_t kShown = 30;
  constexpr char kHex[] = "0123456789abcdef";
  std::string shown = "'";
  for (const char* p = token.begin; p != token.begin + std::min(token.size(), kShown); ++p) {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte >= 0x20 && byte < 0x7f) {
      shown += *p;
    } else {
      shown += "\\x";
      shown += kHex[byte >> 4];
      shown += kHex[byte & 15];
    }
  }
  return shown + (token.size() > kShown ? "...'" : "'");
}

bool decode_utf8(const char*& p, const char* end, std::uint32_t& code) {
  const auto lead = static_cast<unsigned char>(*p++);
  if (lead < 0x80) {
    code = lead;
    return true;
  }
  int n_more = 0;
  std::uint32_t lowest = 0;
  if (lead >= 0xc0 && lead < 0xe0) {
    n_more = 1, lowest = 0x80, code = lead & 0x1fu;
  } else if (lead >= 0xe0 && lead < 0xf0) {
    n_more = 2, lowest = 0x800, code = lead & 0x0fu;
  } else if (lead >= 0xf0 && lead < 0xf8) {
    n_more = 3, lowest = 0x10000, code = lead & 0x07u;
  } else {
    return false;
  }
  for (; n_more > 0; --n_more) {
    if (p == end || (static_cast<unsigned char>(*p) & 0xc0u) != 0x80u) return false;
    code = code << 6 | (static_cast<unsigned char>(*p++) & 0x3fu);
  }
  return code >= lowest && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

bool split_decimal(Token token, std::string& digits, std::int64_t& exponent) {
  const char* p = token.begin;
  if (p != token.end && (*p == '+' || *p == '-')) ++p;
  digits.clear();
  exponent = 0;
  for (; p != token.end && is_digit(*p); ++p) digits += *p;
  if (p != token.end && *p == '.') {
    for (++p; p != token.end && is_digit(*p); ++p, --exponent) digits += *p;
  }
  if (digits.empty()) return false;
  if (p != token.end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool negative = p != token.end && *p == '-';
    if (p != token.end && (*p == '+' || *p == '-')) ++p;
    if (p == token.end) return false;
    std::int64_t power = 0;
    // Saturates: beyond this the sign alone matters.
    for (; p != token.end && is_digit(*p); ++p) {
      power = std::min<std::int64_t>(power * 10 + (*p - '0'), 1'000'000'000'000);
    }
    exponent += negative ? -power : power;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  return p == token.end;
}

bool integral_label(Token token, std::int64_t& value) {
  const char* begin = token.begin;
  if (token.size() > 1 && *begin == '+' && begin[1] != '-') ++begin;
  const auto plain = std::from_chars(begin, token.end, value);
  if (plain.ec == std::errc() && plain.ptr == token.end) return true;
  std::string digits;
  std::int64_t exponent = 0;
  if (!split_decimal(token, digits, exponent)) return false;
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) {
    value = 0;
    return true;
  }
  if (exponent < 0 || exponent > 19) return false;
  digits.append(static_cast<std::size_t>(exponent), '0');
  if (*token.begin == '-') digits.insert(0, 1, '-');
  const char* last = digits.data() + digits.size();
  const auto whole = std::from_chars(digits.data(), last, value);
  return whole.ec == std::errc() && whole.ptr == last;
}

bool is_feature(Token token) {
  const char* p = token.begin;
  while (p != token.end && is_digit(*p)) ++p;
  const bool numbered = p != token.begin && p != token.end && *p == ':';
  return numbered || (token.size() >= 4 && std::memcmp(token.begin, "qid:", 4) == 0);
}

const char* label_problem(Token token) {
  if (token.size() > kMaxLabelBytes) return "the label is longer than 1024 bytes:";
  if (is_feature(token)) {
    return "the line has no label; a line starts with its label, but this one starts with";
  }
  for (const char* p = token.begin; p != token.end;) {
    if (*p == ',')
      return "the line has several labels; multilabel=True (--label-separator comma) reads them:";
    if (*p == '#') return "'#' inside a label; put a space before the comment:";
    std::uint32_t code = 0;
    if (!decode_utf8(p, token.end, code)) return "the label is not valid UTF-8:";
    if (code < 0x20 || code == 0x7f) {
      return "the label has a control character (is this a text file?):";
    }
  }
  return nullptr;
}

}  // namespace multimargin::svmlight
