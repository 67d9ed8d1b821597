// Lets readers sort and filter the tables of the page. Without scripts the tables stay as they are. A table with headings
// is sorted below each of them. Columns are sorted by number where their cells begin with one, else by text.
(function () {
  "use strict";
  var LEAST_TO_SORT = 3, LEAST_TO_FILTER = 8;  // rows from which a reader gains by it
  var LEAST_COLUMNS = 2;  // that any window shows

  function isHeading(row) { return row.classList.contains("heading"); }

  // The rows of a table as its groups: a heading (or none) with the rows below it.
  function groupsOf(body) {
    var groups = [{ heading: null, rows: [] }];
    Array.prototype.forEach.call(body.rows, function (row) {
      if (isHeading(row)) groups.push({ heading: row, rows: [] });
      else groups[groups.length - 1].rows.push(row);
    });
    return groups;
  }

  function valueOf(row, column) {
    var text = row.cells[column].textContent.trim();
    var number = parseFloat(text.replace(/,/g, "").replace(/^[<>] /, ""));
    return { text: text, number: number };
  }

  function compared(a, b) {
    var aIs = !isNaN(a.number), bIs = !isNaN(b.number);
    if (aIs && bIs) return a.number - b.number;
    if (aIs !== bIs) return aIs ? -1 : 1;  // what has no number stands last
    return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
  }

  function sort(table, column, down) {
    var body = table.tBodies[0];
    groupsOf(body).forEach(function (group) {
      if (group.heading) body.appendChild(group.heading);
      group.rows.map(function (row, place) { return { row: row, value: valueOf(row, column), place: place }; })
        .sort(function (a, b) { return (down ? -1 : 1) * compared(a.value, b.value) || a.place - b.place; })
        .forEach(function (entry) { body.appendChild(entry.row); });
    });
  }

  function makeSortable(table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      if (!head.textContent.trim()) return;
      var button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.textContent = head.textContent;
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        sort(table, column, down);
      });
      head.textContent = "";
      head.appendChild(button);
    });
  }

  function show(groups, wanted) {
    var words = wanted.toLowerCase().split(/\s+/);
    groups.forEach(function (group) {
      var about = group.heading ? group.heading.textContent.toLowerCase() : "", any = false;
      group.rows.forEach(function (row) {
        var text = about + " " + row.textContent.toLowerCase();
        row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        any = any || !row.hidden;
      });
      if (group.heading) group.heading.hidden = !any;
    });
  }

  function makeFilterable(table) {
    var field = document.createElement("input");
    field.type = "search";
    field.className = "filter";
    field.placeholder = "filter rows";
    field.setAttribute("aria-label", "show only the rows of this table with these words");
    field.addEventListener("input", function () { show(groupsOf(table.tBodies[0]), field.value); });
    table.parentNode.insertBefore(field, table);
  }

  function showColumn(table, column, isShown) {
    Array.prototype.forEach.call(table.rows, function (row) {
      if (!isHeading(row) && row.cells[column]) row.cells[column].classList.toggle("left-out", !isShown);
    });
  }
  // Long names may break where their parts end; units ("Gbit/s") stay whole.
  function breakName(element) {
    var parts = element.textContent.split(/([_.]+|\/(?=\w\w))/);
    if (element.children.length || parts.length < 3) return;
    element.textContent = "";
    parts.forEach(function (part, at) { element.append(part, at % 2 ? document.createElement("wbr") : ""); });
  }
  function breakNames(table) {
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head) { breakName(head.firstElementChild || head); });
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      if (!isHeading(row)) breakName(row.cells[0]);
    });
  }
  function isWide(box) { return box.scrollWidth > box.clientWidth + 1; }

  // A table without the columns that a narrow window has no room for, the last one first. Where it says which are minor,
  // these go before all others, and of the others the last one stays, for it is what the table is there for. A line below
  // it names them, and brings them back.
  function Columns(box, table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells), names = heads.map(function (head) { return head.textContent.trim(); });
    var note = document.createElement("p"), text = document.createElement("span"), all = document.createElement("button");
    var away = [], width = 0, wanted = false;
    note.className = "also";
    note.hidden = true;
    all.type = "button";
    note.append(text, all);
    box.after(note);
    var minor = heads.map(function (head) { return head.classList.contains("minor"); });
    var answer = minor.indexOf(true) < 0 ? -1 : minor.lastIndexOf(false);
    function last(of_minor) {
      for (var column = heads.length - 1; column >= (of_minor ? 1 : LEAST_COLUMNS); --column)
        if (away.indexOf(column) < 0 && minor[column] === of_minor && column !== answer) return column;
      return -1;
    }
    function fit() {
      away.forEach(function (column) { showColumn(table, column, true); });
      away = [];
      for (var next; !wanted && isWide(box) && (next = last(true) < 0 ? last(false) : last(true)) >= 0;) {
        showColumn(table, next, false);
        away.push(next);
      }
      var left = away.slice().sort(function (a, b) { return a - b; }).map(function (column) { return names[column]; }).filter(Boolean);
      note.hidden = !left.length && !wanted && document.activeElement !== all;  // nobody loses the place of the keyboard
      text.textContent = left.length ? "A wider window also shows: " + left.join(", ") + ". " : "";
      all.textContent = wanted ? "show the columns that fit" : "show all columns";
    }
    all.addEventListener("click", function () {
      wanted = !wanted;
      fit();
      box.classList.toggle("wide", isWide(box));
    });
    all.addEventListener("blur", fit);
    return {
      look: function () {
        if (box.clientWidth === width) return;
        width = box.clientWidth;
        fit();
      }
    };
  }

  // What is wider than its window says so, and is scrolled by keys, too: tables, and the charts of draw.js.
  var reach = window.ResizeObserver && new ResizeObserver(function (entries) {
    entries.forEach(function (entry) {
      var box = entry.target;
      if (box.columns && box.clientWidth) box.columns.look();
      var wide = isWide(box);
      box.classList.toggle("wide", wide);
      if (wide) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  });
  window.scrolledByKeys = function (box) {
    if (reach) reach.observe(box);
  };
  function makeScrollable(table) {
    var box = table.parentNode;
    if (!box.classList.contains("scroll")) return;
    box.columns = Columns(box, table);
    window.scrolledByKeys(box);
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "table: " + Array.prototype.slice.call(table.tHead.rows[0].cells, 0, 3).map(function (cell) {
      return cell.textContent;
    }).join(", "));
  }

  function prepare(table) {
    if (table.dataset.ready) return;
    table.dataset.ready = "yes";
    var rows = Array.prototype.filter.call(table.tBodies[0].rows, function (row) { return !isHeading(row); }).length;
    makeScrollable(table);
    if (rows >= LEAST_TO_SORT) makeSortable(table);
    if (rows >= LEAST_TO_FILTER) makeFilterable(table);
    breakNames(table);
  }

  // What is folded is prepared when it is opened: a report may have a hundred tables.
  Array.prototype.forEach.call(document.querySelectorAll("table"), function (table) {
    if (!table.closest("details:not([open])")) prepare(table);
  });
  document.addEventListener("toggle", function (event) {
    if (event.target.open) Array.prototype.forEach.call(event.target.querySelectorAll("table"), prepare);
  }, true);

  // Nobody unfolds paper. The numbers of a chart that is drawn stay away unless a reader has opened them; those of one that
  // is not are all that there is of it. Other scripts draw what is open now, so this is the first that hears of paper.
  var opened = [];
  function stands_for_chart(fold) {
    var before = fold.previousElementSibling;
    return fold.classList.contains("data") && before !== null && (/^SCRIPT$/.test(before.tagName) || before.matches(".chart, .own-chart"));
  }
  window.addEventListener("beforeprint", function () {
    Array.prototype.forEach.call(document.querySelectorAll("details:not([open])"), function (fold) {
      if (stands_for_chart(fold)) return;
      fold.open = true;
      opened.push(fold);
    });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (fold) { fold.open = false; });
    opened = [];
  });
})();
