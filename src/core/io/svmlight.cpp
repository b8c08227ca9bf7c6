// LIBSVM / SVMlight text parser.
#include "io/svmlight.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

namespace multimargin::svmlight {
namespace {

constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();

bool is_separator(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Token {
  const char* begin;
  const char* end;
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// The token at or after p; empty (at `end`) when only separators are left.
Token next_token(const char* p, const char* end) {
  while (p != end && is_separator(*p)) ++p;
  const char* q = p;
  while (q != end && !is_separator(*q)) ++q;
  return {p, q};
}

// The token in quotes, cut and with everything but printable ASCII escaped, so
// that a message about a binary file is still one readable line.
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

// ---- Labels ------------------------------------------------------------------

// Decodes one strict UTF-8 code point and advances p; returns false, with p
// unspecified, for malformed bytes (overlong forms and surrogates included).
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

// Splits [+-]digits[.digits][(e|E)[+-]digits] into its significant digits and
// a power of ten; false when the token is not such a number.
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

// Whether a label has an integral value that fits in 64 bits. Decided on the
// decimal digits, never through a double: two labels that differ must not
// become one class by rounding.
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

// Why a token cannot be a label; nullptr when it can.
const char* label_problem(Token token) {
  if (token.size() > kMaxLabelBytes) return "the label is longer than 1024 bytes:";
  const char* p = token.begin;
  while (p != token.end && is_digit(*p)) ++p;
  const bool numbered = p != token.begin && p != token.end && *p == ':';
  if (numbered || (token.size() >= 4 && std::memcmp(token.begin, "qid:", 4) == 0)) {
    return "the line has no label; a line starts with its label, but this one starts with";
  }
  for (p = token.begin; p != token.end;) {
    if (*p == ',') return "multilabel data is not supported; expected one label, found";
    if (*p == '#') return "'#' inside a label; put a space before the comment:";
    std::uint32_t code = 0;
    if (!decode_utf8(p, token.end, code)) return "the label is not valid UTF-8:";
    if (code < 0x20 || code == 0x7f) {
      return "the label has a control character (is this a text file?):";
    }
  }
  return nullptr;
}

// ---- One block of lines --------------------------------------------------------

template <typename Real>
struct Block {
  std::vector<Real> data;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> row_ends;
  std::vector<std::int64_t> integer_labels;  // meaningless once !all_integral
  std::vector<Token> labels;
  bool all_integral = true;
  std::int64_t n_columns = 0;
  std::int64_t n_lines = 0;
  std::size_t text_width = 0;
};

template <typename Real>
class BlockParser {
 public:
  BlockParser(const Options& options, Block<Real>& out) : options_(options), out_(out) {}

  // Throws ParseError with a line number relative to the block.
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
    parse_label(label);
    // Only now: a '#' glued to the label is an error, not a comment.
    const auto left = static_cast<std::size_t>(end - label.end);
    const auto* comment = static_cast<const char*>(std::memchr(label.end, '#', left));
    if (comment != nullptr) end = comment;
    const std::size_t row_begin = out_.indices.size();
    bool increasing = true;
    std::int32_t previous = -1;
    p = label.end;
    while (true) {
      while (p != end && is_separator(*p)) ++p;
      if (p == end) break;
      std::int32_t column = 0;
      if (!parse_feature(p, end, column)) continue;
      increasing = increasing && column > previous;
      previous = column;
    }
    if (!increasing) sort_row(row_begin, label.end, end);
    if (out_.indices.size() > row_begin) {
      out_.n_columns = std::max(out_.n_columns, std::int64_t{out_.indices.back()} + 1);
    }
    out_.row_ends.push_back(static_cast<std::int64_t>(out_.indices.size()));
  }

  void parse_label(Token label) {
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
  Block<Real>& out_;
  const char* line_ = nullptr;
  std::vector<std::pair<std::int32_t, Real>> row_;
};

// ---- All blocks ----------------------------------------------------------------

// Calls task(0) .. task(n_tasks - 1) on up to n_threads threads, this one
// included. Tasks start in order and none starts after one has thrown; the
// exception of the earliest throwing task is rethrown. As every earlier task
// has then run to its end, that choice does not depend on timing.
void run_tasks(int n_threads, std::size_t n_tasks, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> errors(n_tasks);
  const auto work = [&] {
    while (!failed.load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= n_tasks) return;
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
        failed.store(true);
      }
    }
  };
  std::vector<std::thread> threads;
  const auto n_helpers = std::min(static_cast<std::size_t>(std::max(n_threads, 1)), n_tasks);
  threads.reserve(n_helpers);
  try {
    for (std::size_t t = 1; t < n_helpers; ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that run finish the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Where blocks begin, each at a line start; the last entry is the end.
std::vector<const char*> cut_at_lines(const char* p, const char* end, std::size_t block_bytes) {
  std::vector<const char*> cuts{p};
  while (p != end) {
    const auto left = static_cast<std::size_t>(end - p);
    const std::size_t ahead = std::min(left, std::max<std::size_t>(block_bytes, 1)) - 1;
    const auto* newline = static_cast<const char*>(std::memchr(p + ahead, '\n', left - ahead));
    p = newline == nullptr ? end : newline + 1;
    cuts.push_back(p);
  }
  return cuts;
}

// Where a block goes in the joined arrays.
struct Place {
  std::int64_t row;
  std::int64_t entry;
};

template <typename Real>
void join_block(const Block<Real>& block, Place place, Dataset<Real>& out) {
  std::copy(block.data.begin(), block.data.end(), out.data.get() + place.entry);
  std::copy(block.indices.begin(), block.indices.end(), out.indices.get() + place.entry);
  for (std::size_t i = 0; i < block.labels.size(); ++i) {
    const auto row = static_cast<std::size_t>(place.row) + i;
    out.indptr[row + 1] = place.entry + block.row_ends[i];
    if (out.labels_are_integers) {
      out.integer_labels[row] = block.integer_labels[i];
    } else {
      std::uint32_t* code = out.text_labels.get() + row * out.text_width;
      std::uint32_t* const stop = code + out.text_width;
      const Token label = block.labels[i];
      for (const char* p = label.begin; p != label.end; ++code) decode_utf8(p, label.end, *code);
      std::fill(code, stop, 0u);
    }
  }
}

template <typename Real>
Dataset<Real> join(std::vector<Block<Real>>& blocks, int n_threads) {
  Dataset<Real> out;
  std::vector<Place> places;
  for (const Block<Real>& block : blocks) {
    places.push_back({out.n_rows, out.nnz});
    out.n_rows += static_cast<std::int64_t>(block.labels.size());
    out.nnz += static_cast<std::int64_t>(block.data.size());
    out.n_columns = std::max(out.n_columns, block.n_columns);
    out.text_width = std::max(out.text_width, block.text_width);
    out.labels_are_integers = out.labels_are_integers && block.all_integral;
  }
  const auto n_rows = static_cast<std::size_t>(out.n_rows);
  const auto nnz = static_cast<std::size_t>(out.nnz);
  out.data.reset(new Real[nnz]);
  out.indices.reset(new std::int32_t[nnz]);
  out.indptr.reset(new std::int64_t[n_rows + 1]);
  out.indptr[0] = 0;
  if (out.labels_are_integers) {
    out.integer_labels.reset(new std::int64_t[n_rows]);
  } else {
    out.text_labels.reset(new std::uint32_t[n_rows * out.text_width]);
  }
  run_tasks(n_threads, blocks.size(), [&](std::size_t b) {
    join_block(blocks[b], places[b], out);
    blocks[b] = Block<Real>();  // gives its memory back early: halves the peak
  });
  return out;
}

}  // namespace

template <typename Real>
Dataset<Real> parse(const char* text, std::size_t size, const Options& options) {
  const char* const end = text + size;
  const std::vector<const char*> cuts = cut_at_lines(text, end, options.block_bytes);
  std::vector<Block<Real>> blocks(cuts.size() - 1);
  run_tasks(options.n_threads, blocks.size(), [&](std::size_t b) {
    const char* begin = cuts[b];
    // A byte order mark, as some editors write, would make the first label text.
    if (b == 0 && size >= 3 && std::memcmp(begin, "\xef\xbb\xbf", 3) == 0) begin += 3;
    try {
      BlockParser<Real>(options, blocks[b]).parse(begin, cuts[b + 1]);
    } catch (const ParseError& error) {
      // Earlier blocks may still be running, so their lines are counted here,
      // on this rare path.
      const auto lines_before = std::count(text, cuts[b], '\n');
      throw ParseError(error.line + lines_before, error.column, error.what());
    }
  });
  return join(blocks, options.n_threads);
}

template Dataset<float> parse<float>(const char*, std::size_t, const Options&);
template Dataset<double> parse<double>(const char*, std::size_t, const Options&);

}  // namespace multimargin::svmlight
