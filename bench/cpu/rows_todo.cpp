#include "rows.hpp"
namespace vyre::bench {
void cold_rows(Bench&){} void corpus_rows(Bench&){}
}
