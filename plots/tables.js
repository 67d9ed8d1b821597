// Lets readers sort and filter the tables of the page. Without scripts the tables stay as they are. A table with headings
// is sorted below each of them. Columns are sorted by number where their cells begin with one, else by text.
(function () {
  "use strict";
  var LEAST_TO_SORT = 3, LEAST_TO_FILTER = 8;  // rows from which a reader gains by it

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

  // What is wider than its window says so, and is scrolled by keys, too: tables, and the charts of draw.js.
  var reach = window.ResizeObserver && new ResizeObserver(function (entries) {
    entries.forEach(function (entry) {
      var box = entry.target, wide = box.scrollWidth > box.clientWidth + 1;
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
  }

  // What is folded is prepared when it is opened: a report may have a hundred tables.
  Array.prototype.forEach.call(document.querySelectorAll("table"), function (table) {
    if (!table.closest("details:not([open])")) prepare(table);
  });
  document.addEventListener("toggle", function (event) {
    if (event.target.open) Array.prototype.forEach.call(event.target.querySelectorAll("table"), prepare);
  }, true);
})();
