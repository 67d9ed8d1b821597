// Draws the charts of the report from the specifications that are embedded beside them: those that are seen at once, the
// others when they are scrolled or unfolded to, or when there is nothing else to do. data-first says when the first
// screen is drawn; the page's title and data-charts say when all is, for tests.
(function () {
  "use strict";
  var LONGEST_WAIT = 1500;  // ms after which the next chart is drawn although the page is busy
  var NEAR = "300px";       // so near to the window a chart is drawn
  var scripts = Array.prototype.slice.call(document.querySelectorAll("script[data-chart]"));
  var waiting = scripts.slice(), good = 0, done = 0, near = null, begun = false;
  var dark = window.matchMedia("(prefers-color-scheme: dark)"), printing = false;
  var views = {};  // of the charts that are drawn, by name
  var rows = {};  // by CHART/SET, as text: a view adds to what it is given

  function script_of(chart) {
    return scripts.filter(function (script) { return script.dataset.chart === chart; })[0];
  }
  // The rows of a set that stand in the specification of an earlier chart.
  function rows_of(name) {
    if (!rows[name]) {
      var cut = name.lastIndexOf("/"), set = name.slice(cut + 1);
      JSON.parse(script_of(name.slice(0, cut)).textContent).data.forEach(function (each) {
        if (each.name === set) rows[name] = JSON.stringify(each.values);
      });
    }
    return JSON.parse(rows[name]);
  }
  // Specifications are written for white paper. On a dark page greys change places with it, and colours that would drown
  // in it become lighter; data stay as they are.
  var PAPER = 24, INK = 230, LEAST = 0.45;  // greys of a dark page, and the lightness that a colour has on it at least
  function hex(parts) {
    return "#" + parts.map(function (each) { return ("0" + Math.round(each).toString(16)).slice(-2); }).join("");
  }
  function on_dark(colour) {
    var digits = colour.length === 4 ? colour.replace(/[0-9a-f]/gi, "$&$&") : colour;
    var parts = [1, 3, 5].map(function (at) { return parseInt(digits.substr(at, 2), 16); });
    var most = Math.max.apply(null, parts), least = Math.min.apply(null, parts);
    if (most - least < 24) {
      var grey = INK - (most / 255) * (INK - PAPER);
      return hex([grey, grey, grey]);
    }
    var light = (0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2]) / 255;
    if (light >= LEAST) return colour;
    var share = (LEAST - light) / (1 - light);
    return hex(parts.map(function (each) { return each + share * (255 - each); }));
  }
  function darkened(value, key) {
    if (key === "values") return value;
    if (typeof value === "string") {
      if (value === "white") return hex([PAPER, PAPER, PAPER]);
      if (value === "black") return hex([INK, INK, INK]);
      return value.replace(/#(?:[0-9a-f]{6}|[0-9a-f]{3})\b/gi, on_dark);
    }
    if (Array.isArray(value)) return value.map(function (each) { return darkened(each); });
    if (value === null || typeof value !== "object") return value;
    var result = {};
    Object.keys(value).forEach(function (each) { result[each] = darkened(value[each], each); });
    return result;
  }
  function dark_page(spec) {
    var ink = hex([INK, INK, INK]), result = darkened(spec), config = result.config = result.config || {};
    result.background = null;
    function fill_in(name, values) {
      config[name] = Object.assign(values, config[name]);
    }
    fill_in("text", { fill: ink });
    fill_in("rule", { stroke: ink });
    fill_in("title", { color: ink });
    fill_in("axis", { labelColor: ink, titleColor: ink });
    fill_in("legend", { labelColor: ink, titleColor: ink });
    return result;
  }
  function specification(script) {
    var spec = JSON.parse(script.textContent);
    spec.data.forEach(function (set) {
      if (typeof set.values === "string") set.values = rows_of(set.values);
    });
    return dark.matches && !printing ? dark_page(spec) : spec;
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
  function view_in(place, script) {
    return views[script.dataset.chart] = new vega.View(vega.parse(specification(script)), {
      renderer: "svg", container: place, hover: true, logLevel: vega.Warn
    });
  }
  // The page became dark or light, or goes to paper.
  function draw_again() {
    Object.keys(views).forEach(function (chart) {
      var place = document.getElementById(chart);
      views[chart].finalize();
      view_in(place, script_of(chart)).run();
      name(place);
    });
  }
  function draw(script, at_once) {
    var at = waiting.indexOf(script);
    if (at < 0) return Promise.resolve();
    waiting.splice(at, 1);
    var place = document.getElementById(script.dataset.chart);
    if (near) near.unobserve(place);
    place.classList.remove("waiting");
    try {
      var view = view_in(place, script);
      window.scrolledByKeys(place);
      if (!at_once) return view.runAsync().then(function () { name(place); count(1); }, function (error) { count(failed(place, error)); });
      view.run();
      name(place);
      count(1);
    } catch (error) {
      count(failed(place, error));
    }
    return Promise.resolve();
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
  // Paper has no window to scroll.
  dark.addEventListener("change", draw_again);
  window.addEventListener("afterprint", function () {
    printing = false;
    if (dark.matches) draw_again();
  });
  window.addEventListener("beforeprint", function () {
    printing = true;
    if (dark.matches) draw_again();
    waiting.slice().forEach(function (script) { draw(script, true); });
  });
})();
