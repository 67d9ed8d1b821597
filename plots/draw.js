// Draws the charts of the report from the specifications that are embedded beside them: those that are seen at once, the
// others when they are scrolled or unfolded to, or when there is nothing else to do. data-first says when the first
// screen is drawn; the page's title and data-charts say when all is, for tests.
(function () {
  "use strict";
  var LONGEST_WAIT = 1500;  // ms after which the next chart is drawn although the page is busy
  var NEAR = "300px";       // so near to the window a chart is drawn
  var OTHER_WIDTH = 24;     // px by which a window's width changes before its charts are drawn anew; bars that scroll take less
  var scripts = Array.prototype.slice.call(document.querySelectorAll("script[data-chart]"));
  var waiting = scripts.slice(), good = 0, done = 0, near = null, begun = false, printing = false;
  var views = {};  // of the charts that are drawn, by name
  var widths = {};  // for which they are drawn; 0 for paper, and for what was folded then
  var rows = {};  // by CHART/SET, as text: a view adds to what it is given

  function script_of(chart) {
    return scripts.filter(function (script) { return script.dataset.chart === chart; })[0];
  }
  // Rows as Vega wants them, of the lists that a page has: the names of columns stand there once, and texts in `words`.
  function rows_in(values) {
    if (Array.isArray(values)) return values;
    return values.rows.map(function (list) {
      var row = {};
      values.columns.forEach(function (name, c) { row[name] = values.texts.indexOf(c) < 0 ? list[c] : values.words[list[c]]; });
      return row;
    });
  }
  // The rows of a set that stand in the specification of an earlier chart.
  function rows_of(name) {
    if (!rows[name]) {
      var cut = name.lastIndexOf("/"), set = name.slice(cut + 1);
      JSON.parse(script_of(name.slice(0, cut)).textContent).data.forEach(function (each) {
        if (each.name === set) rows[name] = JSON.stringify(rows_in(each.values));
      });
    }
    return JSON.parse(rows[name]);
  }
  function specification(script) {
    var spec = JSON.parse(script.textContent);
    spec.data.forEach(function (set) {
      if (set.values) set.values = typeof set.values === "string" ? rows_of(set.values) : rows_in(set.values);
    });
    return spec;
  }

  function heading_of(place) {
    var around = place.closest("section, details");
    var heading = around && around.querySelector("h2, h3, h4, summary");
    return heading ? heading.textContent : place.id;
  }
  // One picture with a name for whoever cannot see it: its numbers stand in a table beside it. Vega gives a role to each
  // group of marks, most of them without a name.
  function name(place) {
    Array.prototype.forEach.call(place.querySelectorAll("svg [role], svg [aria-roledescription], svg [aria-label]"), function (part) {
      ["role", "aria-roledescription", "aria-label"].forEach(function (each) { part.removeAttribute(each); });
    });
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", "Chart: " + heading_of(place) + ". The same numbers stand in the table below it.");
  }
  function failed(place, error) {
    var note = document.createElement("p");
    note.className = "failed";
    note.textContent = "This chart could not be drawn (" + error + "). Its numbers are in the table below.";
    place.appendChild(note);
    return 0;
  }
  function count(drawn) {
    good += drawn;
    done += 1;
    if (done < scripts.length) return;
    document.documentElement.dataset.charts = good + "/" + scripts.length;
    document.title += " (" + good + " of " + scripts.length + " charts)";
  }
  function draw(script, at_once) {
    var at = waiting.indexOf(script);
    if (at < 0) return Promise.resolve();
    waiting.splice(at, 1);
    var place = document.getElementById(script.dataset.chart);
    if (near) near.unobserve(place);
    widths[place.id] = printing ? 0 : place.clientWidth;
    if (resized) resized.observe(place);
    function drawn() { place.classList.remove("waiting"); }  // until then the place says that it waits
    try {
      var view = views[place.id] = window.chartTheme.vega_view(specification(script), place, printing);
      window.scrolledByKeys(place);
      if (!at_once) return window.chartTheme.shown(view, place, printing).then(function () { name(place); window.scrolledByKeys(place); count(1); }, function (error) { count(failed(place, error)); }).then(drawn);
      view.run();
      drawn();
      name(place);
      window.scrolledByKeys(place);
      count(1);
    } catch (error) {
      drawn();
      count(failed(place, error));
    }
    return Promise.resolve();
  }

  function draw_one_again(chart) {
    var place = document.getElementById(chart), left = place.scrollLeft;
    if (!views[chart]) return;
    widths[chart] = printing ? 0 : place.clientWidth;
    views[chart].finalize();
    views[chart] = window.chartTheme.vega_view(specification(script_of(chart)), place, printing);
    window.chartTheme.shown(views[chart], place, printing).then(function () {
      name(place);
      place.scrollLeft = left;
    });
  }
  // The page has become dark or light, or goes to paper.
  function draw_again() { Object.keys(views).forEach(draw_one_again); }
  // A window that is turned, and what is unfolded after it was drawn: for the width that there is now.
  var resized = window.ResizeObserver && new ResizeObserver(function (entries) {
    if (printing) return;
    entries.forEach(function (entry) {
      var chart = entry.target.id, width = entry.target.clientWidth;
      if (width && Math.abs(width - widths[chart]) > OTHER_WIDTH) draw_one_again(chart);
    });
  });
  function to_paper(is_paper) {
    var changes = window.chartTheme.is_dark(printing) !== window.chartTheme.is_dark(is_paper);
    printing = is_paper;
    if (changes) draw_again();
  }

  function when_idle(work) {
    if (window.requestIdleCallback) window.requestIdleCallback(work, { timeout: LONGEST_WAIT });
    else setTimeout(work, 50);
  }
  function draw_next() {
    if (!waiting.length) return;
    draw(waiting[0]);
    when_idle(draw_next);
  }

  scripts.forEach(function (script) { document.getElementById(script.dataset.chart).classList.add("waiting"); });
  if (window.IntersectionObserver) {
    near = new IntersectionObserver(function (entries) {
      var seen = entries.filter(function (entry) { return entry.isIntersecting; });
      var drawn = Promise.all(seen.map(function (entry) { return draw(script_of(entry.target.id)); }));
      if (begun) return;
      begun = true;
      drawn.then(function () {
        document.documentElement.dataset.first = Math.round(performance.now());
        when_idle(draw_next);
      });
    }, { rootMargin: NEAR });
    scripts.forEach(function (script) { near.observe(document.getElementById(script.dataset.chart)); });
  }
  if (!near || !scripts.length) draw_next();
  if (!scripts.length) document.documentElement.dataset.charts = "0/0";
  window.chartTheme.on_change(draw_again);
  window.addEventListener("afterprint", function () { to_paper(false); });
  // Paper has no window to scroll, and is white.
  window.addEventListener("beforeprint", function () {
    to_paper(true);
    waiting.slice().forEach(function (script) { draw(script, true); });
  });
})();
