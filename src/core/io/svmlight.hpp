// Reader of LIBSVM / SVMlight text held in memory:
//
//   label index:value index:value ... # comment
//
// The text is cut into chunks at line ends; threads parse the chunks
// independently and the pieces are joined in order, so the result (and the
// error, if any) is the same for every number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace multimargin::svmlight {

// A label is stored at a fixed width per row once labels are text, so its
// length has to be bounded: one absurd token must not multiply the memory of
// every other row.
constexpr std::size_t kMaxLabelBytes = 1024;

struct Options {
  bool zero_based = false;             // feature indices start at 0 instead of 1
  std::int64_t n_features = -1;        // number of columns; -1: from the data
  bool ignore_extra_features = false;  // drop columns >= n_features, else refuse them
  bool multilabel = false;             // lines have any number of labels, 'label,label'
  int n_threads = 1;
  std::size_t chunk_bytes = std::size_t{1} << 20;
};

// The first malformed place of the text. Line and column are 1-based; the
// column counts bytes.
class ParseError : public std::runtime_error {
 public:
  ParseError(std::int64_t line, std::int64_t column, const std::string& message)
      : std::runtime_error(message), line(line), column(column) {}
  std::int64_t line;
  std::int64_t column;
};

// Rows in compressed sparse row form, with column indices sorted in each row.
template <typename Real>
struct Dataset {
  std::int64_t n_rows = 0;
  std::int64_t nnz = 0;
  std::int64_t n_labels = 0;   // n_rows, unless lines have any number
  std::int64_t n_columns = 0;  // highest column seen + 1
  // Plain arrays, not vectors: they are filled in parallel and need no zeroing.
  std::unique_ptr<Real[]> data;
  std::unique_ptr<std::int32_t[]> indices;
  std::unique_ptr<std::int64_t[]> indptr;
  // [n_rows + 1] where the labels of each row begin, if lines have any number; else empty.
  std::unique_ptr<std::int64_t[]> label_begin;
  // Exactly one of the two label forms is filled: integers when every label
  // has an integral value, otherwise the text of all labels as rows of
  // text_width code points padded with zeros.
  bool labels_are_integers = true;
  std::unique_ptr<std::int64_t[]> integer_labels;
  std::unique_ptr<std::uint32_t[]> text_labels;
  std::size_t text_width = 0;
};

// Parse `size` bytes at `text`; Real is float or double. Throws ParseError for
// malformed text and std::bad_alloc when memory runs out. Text without any
// example gives n_rows == 0.
template <typename Real>
Dataset<Real> parse(const char* text, std::size_t size, const Options& options);

// Row pointers of 32 bits; nullptr where they do not suffice.
template <typename Real>
std::unique_ptr<std::int32_t[]> narrow_indptr(const Dataset<Real>& parsed);

extern template Dataset<float> parse<float>(const char*, std::size_t, const Options&);
extern template Dataset<double> parse<double>(const char*, std::size_t, const Options&);

}  // namespace multimargin::svmlight
