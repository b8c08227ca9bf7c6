// One chunk of lines of LIBSVM text, parsed by one thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

#include "io/svmlight.hpp"
#include "io/svmlight_tokens.hpp"

namespace multimargin::svmlight {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

template <typename Real>
struct Chunk {
  std::vector<Real> data;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> row_ends;
  std::vector<std::int64_t> integer_labels;  // meaningless once !all_integral
  std::vector<Token> labels;
  std::vector<std::int64_t> label_ends;  // of each row, where rows have any number of labels
  bool all_integral = true;
  std::int64_t n_columns = 0;
  std::int64_t n_lines = 0;
  std::size_t text_width = 0;
};

template <typename Real>
class ChunkParser {
 public:
  ChunkParser(const Options& options, Chunk<Real>& out) : options_(options), out_(out) {}

  // Throws ParseError with a line number relative to the chunk.
  void parse(const char* p, const char* end) {
    // About one stored value per eight bytes is typical; a wrong guess costs
    // little, growing from nothing costs several copies.
    out_.data.reserve(static_cast<std::size_t>(end - p) / 8);
    out_.indices.reserve(out_.data.capacity());
    while (p != end) {
      const auto left = static_cast<std::size_t>(end - p);
      const auto* newline = static_cast<const char*>(std::memchr(p, '\n', left));
      const char* stop = newline == nullptr ? end : newline;
      ++out_.n_lines;
      line_ = p;
      parse_line(p, stop);
      p = newline == nullptr ? end : newline + 1;
    }
  }

 private:
  [[noreturn]] void fail(const char* at, const std::string& message) const {
    throw ParseError(out_.n_lines, at - line_ + 1, message);
  }

  void parse_line(const char* p, const char* end) {
    while (end != p && end[-1] == '\r') --end;
    const Token label = next_token(p, end);
    if (label.size() == 0 || *label.begin == '#') return;
    p = options_.multilabel ? parse_labels(label, end) : parse_label(label);
    const char* const features = p;
    // Only now: a '#' glued to the label is an error, not a comment.
    const auto left = static_cast<std::size_t>(end - p);
    const auto* comment = static_cast<const char*>(std::memchr(p, '#', left));
    if (comment != nullptr) end = comment;
    const std::size_t row_begin = out_.indices.size();
    bool increasing = true;
    std::int32_t previous = -1;
    while (true) {
      while (p != end && is_separator(*p)) ++p;
      if (p == end) break;
      std::int32_t column = 0;
      if (!parse_feature(p, end, column)) continue;
      increasing = increasing && column > previous;
      previous = column;
    }
    if (!increasing) sort_row(row_begin, features, end);
    if (out_.indices.size() > row_begin) {
      out_.n_columns = std::max(out_.n_columns, std::int64_t{out_.indices.back()} + 1);
    }
    out_.row_ends.push_back(static_cast<std::int64_t>(out_.indices.size()));
  }

  // Reads labels with commas between them, and perhaps spaces after these; returns their end. A
  // line that begins with a feature has none.
  const char* parse_labels(Token token, const char* end) {
    const char* p = token.begin;
    if (!is_feature(token)) {
      while (true) {
        const char* const comma = std::find(p, token.end, ',');
        if (p == comma) fail(p, "a label is missing next to a comma: " + excerpt(token));
        p = parse_label({p, comma});
        if (comma == token.end) break;
        if (++p != token.end) continue;
        token = next_token(p, end);
        p = token.begin;
        if (is_feature(token)) fail(p, "a label is missing after a comma: " + excerpt(token));
      }
    }
    out_.label_ends.push_back(static_cast<std::int64_t>(out_.labels.size()));
    return p;
  }

  const char* parse_label(Token label) {
    std::int64_t value = 0;
    if (label.size() <= kMaxLabelBytes && integral_label(label, value)) {
      out_.text_width = std::max(out_.text_width, label.size());
    } else {
      const char* problem = label_problem(label);
      if (problem != nullptr) fail(label.begin, problem + (" " + excerpt(label)));
      out_.all_integral = false;
      std::size_t width = 0;
      std::uint32_t code = 0;
      for (const char* p = label.begin; p != label.end; ++width) decode_utf8(p, label.end, code);
      out_.text_width = std::max(out_.text_width, width);
    }
    out_.labels.push_back(label);
    if (out_.all_integral) out_.integer_labels.push_back(value);
    return label.end;
  }

  // Reads the token at p and advances p past it. False when nothing is stored:
  // a qid, or a feature that is to be ignored.
  bool parse_feature(const char*& p, const char* end, std::int32_t& column) {
    const char* begin = p;
    std::int64_t index = 0;
    while (p != end && is_digit(*p)) {
      index = std::min(index * 10 + (*p++ - '0'), kMaxIndex + 1);
    }
    if (p == begin || p == end || *p != ':') {
      p = skip_qid(begin, end);
      return false;
    }
    if (index > kMaxIndex) {
      fail(begin,
           "feature indices must be below 2147483648, found " + excerpt(next_token(begin, end)));
    }
    if (index == 0 && !options_.zero_based) {
      fail(begin,
           "feature index 0, but indices start at 1; pass zero_based=True if they "
           "start at 0 in this file: " +
               excerpt(next_token(begin, end)));
    }
    const Real value = parse_value(begin, ++p, end);
    const std::int64_t zero_based_index = options_.zero_based ? index : index - 1;
    if (options_.n_features >= 0 && zero_based_index >= options_.n_features) {
      if (options_.ignore_extra_features) return false;
      fail(begin, "feature " + std::to_string(index) +
                      " is beyond n_features=" + std::to_string(options_.n_features) +
                      "; pass a larger n_features, or ignore_extra_features=True to drop "
                      "such features: " +
                      excerpt(next_token(begin, end)));
    }
    column = static_cast<std::int32_t>(zero_based_index);
    out_.indices.push_back(column);
    out_.data.push_back(value);
    return true;
  }

  // The only other token allowed among the features is a query id.
  const char* skip_qid(const char* p, const char* end) const {
    const Token token = next_token(p, end);
    if (token.size() >= 4 && std::memcmp(p, "qid:", 4) == 0) return token.end;
    const char* colon = std::find(token.begin, token.end, ':');
    if (colon == token.end) fail(p, "expected index:value, found " + excerpt(token));
    fail(p, std::string("a feature index must be a whole number, ") +
                (options_.zero_based ? "0" : "1") + " or more; found " + excerpt(token));
  }

  // The value at p, which ends at a separator; `begin` is where its token began.
  Real parse_value(const char* begin, const char*& p, const char* end) const {
    const char* digits = p;
    // from_chars takes a '-' but no '+'; "+-1" stays an error.
    if (digits != end && *digits == '+' && digits + 1 != end && digits[1] != '-') ++digits;
    Real value = 0;
    const auto result = std::from_chars(digits, end, value);
    if (result.ec == std::errc::invalid_argument ||
        (result.ptr != end && !is_separator(*result.ptr))) {
      const Token token = next_token(begin, end);
      fail(begin, (token.end == p ? "the value is missing after the colon: "
                                  : "the value is not a number: ") +
                      excerpt(token));
    }
    if (result.ec == std::errc::result_out_of_range) {
      value = out_of_range_value(begin, {digits, result.ptr});
    } else if (!std::isfinite(value)) {
      fail(begin, "values must be finite, found " + excerpt(next_token(begin, end)));
    }
    p = result.ptr;
    return value;
  }

  // A number too small for Real is zero, as in any conversion; one too large
  // is an error.
  Real out_of_range_value(const char* begin, Token number) const {
    std::string digits;
    std::int64_t exponent = 0;
    split_decimal(number, digits, exponent);
    if (static_cast<std::int64_t>(digits.size()) + exponent > 0) {
      fail(begin, std::string("the value is too large for ") +
                      (sizeof(Real) == 4 ? "float32; pass dtype=numpy.float64: " : "float64: ") +
                      excerpt({begin, number.end}));
    }
    return *number.begin == '-' ? -Real{0} : Real{0};
  }

  void sort_row(std::size_t row_begin, const char* p, const char* end) {
    const std::size_t n = out_.indices.size() - row_begin;
    row_.resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      row_[k] = {out_.indices[row_begin + k], out_.data[row_begin + k]};
    }
    const auto by_index = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::sort(row_.begin(), row_.end(), by_index);
    for (std::size_t k = 0; k < n; ++k) {
      if (k > 0 && row_[k].first == row_[k - 1].first) fail_at_duplicate(p, end);
      out_.indices[row_begin + k] = row_[k].first;
      out_.data[row_begin + k] = row_[k].second;
    }
  }

  // Reads the features of the line again to name the first repeated one.
  [[noreturn]] void fail_at_duplicate(const char* p, const char* end) {
    std::unordered_set<std::int32_t> seen;
    while (true) {
      const Token token = next_token(p, end);
      std::int32_t column = 0;
      const char* at = token.begin;
      if (parse_feature(at, end, column) && !seen.insert(column).second) {
        fail(token.begin, "the feature occurs twice in one line: " + excerpt(token));
      }
      p = token.end;
    }
  }

  const Options& options_;
  Chunk<Real>& out_;
  const char* line_ = nullptr;
  std::vector<std::pair<std::int32_t, Real>> row_;
};

}  // namespace multimargin::svmlight
