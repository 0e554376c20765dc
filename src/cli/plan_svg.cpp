#include "cli/plan_view.hpp"
namespace vyre::cli {
std::string plan_svg(const PlanView&) { return ""; }
std::string plan_html(const PlanView&) { return ""; }
}
