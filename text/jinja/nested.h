#ifndef SHORTLIST_TEXT_JINJA_NESTED_H_
#define SHORTLIST_TEXT_JINJA_NESTED_H_

namespace shortlist::jinja {

/// Counts a level of nesting for as long as the object lives.
class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) { ++depth_; }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& depth_;
};

}  // namespace shortlist::jinja

#endif  // SHORTLIST_TEXT_JINJA_NESTED_H_
