// SPDX-License-Identifier: Apache-2.0
// A program between two passes as text, for people: `vyre plan --dump-after` shows it, and tests
// hold it against what it should be.
#pragma once

#include <functional>
#include <string>

#include "plan/lower.hpp"

namespace vyre::plan {

// The planner does not know the text form: the caller gives text::print().
using PrintProgram = std::function<std::string(const ir::Program&)>;

// Statements of a program without its declarations, as if they stood at the start of a line.
std::string dump_statements(const ir::Program& p, const StmtList& items, const PrintProgram& print);
// The tree with its segments: their statements, whether a phase ends, what is live at their
// boundaries.
std::string dump_tree(const Draft& d, const Tree& tree, const PrintProgram& print);
// What is kept between segments, and where.
std::string dump_storage(const Draft& d, const Storage& storage);
// The steps, hidden memory, and every segment with what the host does at its boundaries.
std::string dump_plan(const Plan& plan, const ir::Program& source, const PrintProgram& print);

// What the pass has made.
std::string dump(const AfterPass& after, const PrintProgram& print);

}  // namespace vyre::plan
