// Storage for the big arrays: not initialised on allocation and backed by huge
// pages where the system offers them (weights are read at random, so with 4 KiB
// pages every access would also miss the translation cache).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace multimargin {

template <class U>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  // Makes room for `count` elements; what was in the buffer is lost. Gigabytes are given back as
  // soon as a quarter of them is not needed, less is kept for the next time.
  void reset(std::size_t count) {
    const bool large = capacity_ * sizeof(U) > kLarge;
    if (count <= capacity_ && count * 4 >= capacity_ * (large ? 3 : 1)) {
      size_ = count;
      return;
    }
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
    constexpr std::size_t huge = std::size_t{2} << 20;
    const std::size_t align = count * sizeof(U) >= huge ? huge : 64;
    const std::size_t bytes = (count * sizeof(U) + align - 1) / align * align;
    if (bytes == 0) return;
    void* p = std::aligned_alloc(align, bytes);
    if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == huge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    data_ = static_cast<U*>(p);
    size_ = count;
    capacity_ = bytes / sizeof(U);
  }

  U* data() { return data_; }
  const U* data() const { return data_; }
  std::size_t size() const { return size_; }
  U& operator[](std::size_t i) { return data_[i]; }
  const U& operator[](std::size_t i) const { return data_[i]; }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::size_t kLarge = std::size_t{1} << 30;

  U* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace multimargin
