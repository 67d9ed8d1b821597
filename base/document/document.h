#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardsim {

// A table for people: headers carry the unit, cells are finished text.
struct Sheet {
  struct Column {
    std::string header;
    bool number = true;  // right-aligned
    bool name = false;   // which a reader has to type: never cut while a line of its own holds it; the first column
    bool minor = false;  // a line without room for all columns does without it, the last one first
  };
  struct Row {
    std::vector<std::string> cells;  // one per column, or a single one: the heading of the rows below
    bool quiet = false;              // of less weight, e.g. a fitted figure beside predicted ones
    bool is_heading(const Sheet& sheet) const { return cells.size() == 1 && sheet.columns.size() > 1; }
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
  bool spelt_out = false;  // on a terminal, what a cell had no room for stands below
  bool in_time = false;    // its rows follow each other in time: where few are shown, they are from all over
};

// Named rows for a chart. A column's unit is in its name (iteration_ms, memory_gib).
struct DataSet {
  using Cell = std::variant<double, std::string>;
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;  // one cell per column
};

// The same rows for reading: what has a unit stands without exponent, down to a billionth of it.
Sheet sheet_of(const DataSet& set);

// One chart: a specification of plots/ and the data it draws. Only pages show it.
struct Chart {
  std::string id;    // unique in the page
  std::string plot;  // plots/PLOT.vg.json
  std::string title;
  std::string caption;
  bool folded = false;  // shown on demand
  std::vector<DataSet> data;
  std::vector<std::string> logarithmic = {};  // scales of the specification whose data span more than a decade
};

struct Paragraph {
  enum class Role {
    plain,
    caption,  // what the table or chart beside it shows
    summary,  // the answer in a few sentences
    notice,   // a warning
    origin    // where all of it comes from
  };
  std::string text;
  Role role = Role::plain;
  int indent = 0;         // blanks before each of its lines on a terminal
  bool unbroken = false;  // one line however long it is: a command that somebody copies
};

struct NoteList {
  struct Note {
    std::string text;
    std::string about;  // what it is about, e.g. names of cases; may be empty
  };
  std::vector<Note> notes;
  bool numbered = false;
  std::string lead;  // before each note on a terminal, e.g. "Note: "
};

// A heading with the blocks under it. On a terminal a blank line precedes it.
struct Section {
  using Block = std::variant<Paragraph, NoteList, Sheet, Chart, Section>;
  enum class Heading {
    capitals,  // on a terminal in capitals
    as_it_is,  // a name, e.g. of a case
    page_only  // a terminal does without: the blank line is enough
  };
  std::string heading;  // may be empty
  std::vector<Block> blocks;
  std::string remark = {};  // after the heading and a comma, as it is: "fastest first"
  Heading style = Heading::capitals;
  bool folded = false;        // a page shows it on demand
  bool side_by_side = false;  // its charts are small and share lines
};

// The medium that a document is made for. A terminal gets tables without charts, and what of them is not worth its
// columns is left out; a page gets everything. `screen`: what a terminal shows at first, of which first_screen.h shows
// the rows that there is room for.
enum class Medium { terminal, page, screen };

// A text for people, for any medium. The renderer escapes its text.
struct Document {
  std::string title;   // may be empty on a terminal
  std::string origin;  // below the title of a page: files, seed, version
  std::vector<Section::Block> blocks;

  // Adds a section, or nothing when it has no blocks.
  void add(Section section);
};

// A section with a table, and below it a legend, for whoever has seen the numbers and wants to know what the columns
// mean; without blocks when the table has no rows.
Section table_section(std::string heading, std::string legend, Sheet sheet);

// For a terminal: lines of at most `width` columns, at least 40, each ending in a line feed. `colour`: headings bold,
// quiet rows faint; meaning never rests on colour alone. Charts are left out.
std::string document_text(const Document& document, int width, bool colour);
inline constexpr int kNoTerminal = 0;  // as `width`: what is piped has whole tables, whose lines nobody folds

// For a Markdown file: headings begin with `level` times "#". Charts are left out.
std::string document_markdown(const Document& document, int level);

// Makes the element that a chart is drawn in; none where charts cannot be drawn.
using ChartDrawer = std::function<std::string(const Chart&)>;

// The content of a page's body: header and main. Every chart is also there as a table, on demand.
std::string document_html(const Document& document, const ChartDrawer& draw);

// A Sheet by itself, as in a document. Text columns give way first when a line is too long: "~" stands for what a
// cell leaves out, its middle as a rule, and cells of a column that differ are shown differing. A name gives way last,
// and one that is longer than its column leads its row on a line of its own. Control characters are printed as "?".
std::string sheet_text(const Sheet& sheet, int width, bool colour);
std::string sheet_html(const Sheet& sheet);

// Text as element content or as a quoted attribute value.
std::string escape_html(std::string_view text);

}  // namespace shardsim
