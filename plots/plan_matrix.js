// Draws the plan of a case as a matrix of tables and GPUs, from the numbers that are embedded beside it; they also stand
// there as tables. A cell is chosen by the mouse or the arrow keys, and the line below the matrix says what it holds.
(function () {
  "use strict";
  var ROW = 18, RULER = 16, LEAST_COLUMN = 2, MOST_COLUMN = 28, FAINTEST = 0.14;
  var MOST_ROWS = 25, BAR = 20;  // shown at once, whole ones; a bar that scrolls sideways takes room below them
  var PAPER_ROWS = 40, PAPER_WIDTH = 900;  // of a picture that a sheet of paper has room for
  var FIGURES = [["weights_mb", "weights", "MB"], ["lookups", "lookups", ""], ["time_ms", "time", "ms"]];

  var own = window.ownChart, make = own.make, spelt = own.spelt;

  // The cases of the embedded numbers, each with its tables and what their columns hold.
  function cases_of(data) {
    var words = data.words, cases = [], by_name = {};
    data.sets.columns.forEach(function (row) {
      var each = { name: words[row[0]], gpus: row[1], of_node: row[2], block: row[3], columns: Math.ceil(row[1] / row[3]), tables: [], by_table: {} };
      cases.push(each);
      by_name[row[0]] = each;
    });
    function table_of(row) {
      var of_case = by_name[row[0]], known = of_case.by_table[row[1]];
      if (!known) {
        known = of_case.by_table[row[1]] = { name: words[row[1]], cells: [], shards: [] };
        of_case.tables.push(known);
      }
      return known;
    }
    data.sets.cells.forEach(function (row) {
      table_of(row).cells.push({ first: row[2], last: row[3], weights_mb: row[4], lookups: row[5], time_ms: row[6] });
    });
    data.sets.shards.forEach(function (row) {
      table_of(row).shards.push({
        sharding: words[row[2]], kernel: words[row[3]], rows: [row[4], row[5]], columns: [row[6], row[7]], shard_rows: row[8],
        held_by: words[row[9]].split(" ").map(function (run) {
          var ends = run.split("-").map(Number);
          return [ends[0], ends[ends.length - 1]];
        })
      });
    });
    return cases;
  }

  function cell_at(table, column) {
    return table.cells.find(function (cell) { return cell.first <= column && column <= cell.last; });
  }

  function column_name(of_case, column) {
    var first = column * of_case.block, last = Math.min(first + of_case.block, of_case.gpus) - 1;
    var node = Math.floor(first / of_case.of_node), last_node = Math.floor(last / of_case.of_node);
    return (first === last ? "GPU " + first : "GPUs " + first + " to " + last) +
      (node === last_node ? " (node " + node + ")" : " (nodes " + node + " to " + last_node + ")");
  }

  function shard_text(shard) {
    var text = shard.sharding + (shard.kernel === "fused" || shard.kernel === "dense" ? "" : ", " + shard.kernel) + ": ";
    var rows = shard.rows[1] - shard.rows[0];
    text += shard.shard_rows < rows ? "up to " + spelt(shard.shard_rows) + " of the " + spelt(rows) + " rows" : spelt(rows) + " rows";
    if (shard.rows[0] > 0) text += ", popularity ranks " + spelt(shard.rows[0] + 1) + " to " + spelt(shard.rows[1]);
    return text + ", columns " + (shard.columns[0] + 1) + " to " + shard.columns[1];
  }

  function cell_text(of_case, table, column) {
    var cell = cell_at(table, column), place = table.name + " on " + column_name(of_case, column);
    if (!cell) return place + ": nothing.";
    var held = table.shards.filter(function (shard) {
      return shard.held_by.some(function (run) { return run[0] <= column && column <= run[1]; });
    });
    var mean = of_case.block > 1 ? " of a GPU, on average" : "";
    return place + ": " + spelt(cell.weights_mb) + " MB of weights, " + spelt(cell.lookups) + " lookups, " + spelt(cell.time_ms) + " ms" + mean +
      (held.length ? ". " + held.map(shard_text).join("; ") : "") + ".";
  }

  function Matrix(place, data) {
    var cases = cases_of(data), now = cases[0], figure = FIGURES[0], shown = [], at = null, left = 0, width = 0;
    var canvas = make("canvas", { tabIndex: 0, role: "img" });
    var ruler = make("canvas", { className: "matrix-ruler", "aria-hidden": "true" });
    var box = make("div", { className: "matrix-box" }, [canvas, ruler]);
    var paper = make("div", { className: "paper-only" });
    var about = make("p", { className: "matrix-cell", role: "status" });
    var search = make("input", { type: "search", className: "filter", placeholder: "find a table" });
    search.setAttribute("aria-label", "show only the tables with these letters");
    var which = make("select", {}, cases.map(function (each) { return make("option", { value: each.name, textContent: each.name }); }));
    which.setAttribute("aria-label", "case");
    var what = make("select", {}, FIGURES.map(function (each) { return make("option", { value: each[0], textContent: each[1] + (each[2] ? " (" + each[2] + ")" : "") }); }));
    what.setAttribute("aria-label", "figure");
    var scale = make("span", { className: "matrix-scale" });

    function layout(printing) {
      var wanted = search.value.toLowerCase(), room = printing ? PAPER_WIDTH : Math.max(200, box.clientWidth);
      shown = now.tables.filter(function (table) { return table.name.toLowerCase().indexOf(wanted) >= 0; });
      var longest = shown.reduce(function (most, table) { return Math.max(most, table.name.length); }, 4);
      left = Math.min(Math.round(room * 0.35), 14 + 7 * longest);
      width = Math.max(printing ? 0 : LEAST_COLUMN, Math.min(MOST_COLUMN, (room - left) / now.columns));
      box.style.maxHeight = MOST_ROWS * ROW + RULER + (left + width * now.columns > room + 1 ? BAR : 0) + "px";
    }

    // Below the matrix, where it stays in sight: which column is which GPU.
    function draw_ruler(canvas_of_it, colours) {
      var pen = own.pen_of(canvas_of_it, Math.ceil(left + width * now.columns), RULER), taken = 0;
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      pen.fillStyle = colours.faint;
      pen.fillText("GPU", 0, RULER / 2);
      own.ticks(0, now.gpus - 1, Math.max(1, width * now.columns / 44)).forEach(function (gpu) {
        var text = String(gpu), x = left + Math.floor(gpu / now.block) * width, wide = pen.measureText(text).width;
        if (gpu !== Math.round(gpu) || x < taken || x + wide > left + width * now.columns) return;
        pen.fillText(text, x, RULER / 2);
        taken = x + wide + 8;
      });
    }

    function draw_row(pen, colours, table, row, most) {
      pen.globalAlpha = 1;
      pen.fillStyle = colours.line;
      pen.fillRect(left, row * ROW + ROW - 1, width * now.columns, 1);
      pen.fillStyle = colours.ink;
      var name = table.name;
      while (name.length > 3 && pen.measureText(name).width > left - 8) name = name.slice(0, -2) + "\u2026";
      pen.fillText(name, 0, row * ROW + ROW / 2);
      pen.fillStyle = colours.answer;
      table.cells.forEach(function (cell) {
        var value = cell[figure[0]];
        if (!(value > 0)) return;
        pen.globalAlpha = FAINTEST + (1 - FAINTEST) * value / most;
        var gap = width > 6 ? 1 : 0;
        for (var column = cell.first; column <= cell.last; ++column) pen.fillRect(left + column * width, row * ROW + 1, width - gap, ROW - 3);
      });
    }
    function draw_rows(canvas_of_them, colours, tables, most) {
      var pen = own.pen_of(canvas_of_them, Math.ceil(left + width * now.columns), Math.max(1, tables.length) * ROW);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      tables.forEach(function (table, row) { draw_row(pen, colours, table, row, most); });
      return pen;
    }
    // All rows, in pictures that a sheet has room for, each above a ruler of its own.
    function draw_paper(colours, most) {
      paper.replaceChildren(make("p", { textContent: now.name + ", " + figure[1] + ". The strongest colour is " + spelt(most) + " " + (figure[2] || "lookups") + "." }));
      for (var first = 0; first < shown.length; first += PAPER_ROWS) {
        var rows = make("canvas"), below = make("canvas");
        draw_rows(rows, colours, shown.slice(first, first + PAPER_ROWS), most);
        draw_ruler(below, colours);
        [rows, below].forEach(function (each) { each.style.display = "block", each.style.height = "auto"; });
        paper.append(make("div", { className: "paper-part" }, [rows, below]));
      }
    }

    function draw(for_paper) {
      var printing = for_paper === true;
      layout(printing);
      var most = now.tables.reduce(function (high_so_far, table) {
        return table.cells.reduce(function (high_cell, cell) { return Math.max(high_cell, cell[figure[0]]); }, high_so_far);
      }, 0);
      var colours = own.theme(printing);
      if (printing) {
        draw_paper(colours, most);
        return;
      }
      paper.replaceChildren();
      var pen = draw_rows(canvas, colours, shown, most);
      if (at && at.row < shown.length) {
        pen.globalAlpha = 1;
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        pen.strokeRect(left + at.column * width, at.row * ROW, Math.max(3, width), ROW - 1);
      }
      draw_ruler(ruler, colours);
      scale.textContent = shown.length ? "strongest: " + spelt(most) + (figure[2] ? " " + figure[2] : " lookups") +
        (shown.length > MOST_ROWS ? "; " + MOST_ROWS + " of " + shown.length + " tables are seen at once: scroll" : "") : "no table has such a name";
      canvas.setAttribute("aria-label", shown.length + " tables by " + now.columns + " columns, " + figure[1] +
        "; arrow keys go from cell to cell, and the same numbers stand in the tables below");
      place.dataset.drawn = shown.length + "x" + now.columns;
    }

    function choose(row, column) {
      if (!shown.length) return;
      at = { row: Math.max(0, Math.min(shown.length - 1, row)), column: Math.max(0, Math.min(now.columns - 1, column)) };
      about.textContent = cell_text(now, shown[at.row], at.column);
      draw();
    }

    function anew() {
      at = null;
      about.textContent = "Point at a cell, or use the arrow keys.";
      draw();
    }

    canvas.addEventListener("mousemove", function (event) {
      var row = Math.floor(event.offsetY / ROW), column = Math.floor((event.offsetX - left) / width);
      if (event.offsetX >= left && (!at || at.row !== row || at.column !== column)) choose(row, column);
    });
    canvas.addEventListener("keydown", function (event) {
      var step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(at ? at.row + step[0] : 0, at ? at.column + step[1] : 0);
      var top = at.row * ROW;
      if (top < box.scrollTop) box.scrollTop = top;
      if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
    });
    search.addEventListener("input", anew);
    which.addEventListener("change", function () { now = cases[which.selectedIndex]; anew(); });
    what.addEventListener("change", function () { figure = FIGURES[what.selectedIndex]; draw(); });
    place.classList.add("matrix");
    place.append(make("div", { className: "own-tools matrix-tools" }, (cases.length > 1 ? [which] : []).concat([what, search, scale])), box, paper, about);
    anew();
    return { draw: draw };
  }

  own.each("plan_matrix", Matrix);
})();
