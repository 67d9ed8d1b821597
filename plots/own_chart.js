// What the charts that need no Vega share: plan_matrix.js, timeline.js, sweep_points.js, drift_days.js; explore.js makes its
// elements with it, too.
window.ownChart = (function () {
  "use strict";
  // The classes as the scale `colour` of the other charts has them.
  var COLOURS = {
    lookup: "#009e73", dense: "#56b4e9", update: "#f0e442", global_all_to_all: "#d55e00", intra_node_all_to_all: "#e69f00",
    global_all_reduce: "#0072b2", cross_node_all_reduce: "#cc79a7", input_all_to_all: "#222222", other_collective: "#8c6d31",
    waiting: "#a6a6d2", idle: "#e0e0e0", iteration: "#777777", host: "#b04070"
  };
  var NEAR = "300px";  // so near to the window a chart is drawn
  var PAPER_WIDTH = 900, FONT = "11px system-ui, sans-serif";
  var look = window.chartTheme;

  function make(tag, properties, children) {
    var element = document.createElement(tag);
    Object.keys(properties || {}).forEach(function (key) {
      if (key in element) element[key] = properties[key];
      else element.setAttribute(key, properties[key]);
    });
    (children || []).forEach(function (child) { if (child) element.append(child); });
    return element;
  }

  function spelt(value, digits) {
    if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
    return String(Number(value.toPrecision(digits || 3)));
  }

  // The names of operations and classes as one says them.
  function spoken(name) {
    return name.replace(/_/g, " ").replace(/all to all/g, "all-to-all").replace(/all reduce/g, "all-reduce")
      .replace(/reduce scatter/g, "reduce-scatter").replace(/all gather/g, "all-gather");
  }

  function colour_of(part, printing) { return look.shade(COLOURS[part] || COLOURS.other_collective, printing); }

  // A canvas of so many CSS pixels, and its pen.
  function pen_of(canvas, width, height) {
    var ratio = window.devicePixelRatio || 1, pen = canvas.getContext("2d");
    canvas.width = Math.ceil(width * ratio);
    canvas.height = Math.ceil(height * ratio);
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    pen.scale(ratio, ratio);
    return pen;
  }
  function fitted(pen, text, width) {
    if (pen.measureText(text).width <= width) return text;
    while (text.length > 1 && pen.measureText(text + "\u2026").width > width) text = text.slice(0, -1);
    return text + "\u2026";
  }

  // What one draws with, in the room of the page, or for paper, which has no window; null where there is no room.
  function easel(place, canvas, height, printing) {
    var room = printing ? PAPER_WIDTH : place.clientWidth;
    if (!room) return null;
    var colours = look.page(printing), pen = pen_of(canvas, room, height);
    pen.font = FONT;
    pen.textBaseline = "middle";
    if (printing) {
      canvas.style.width = "100%";
      canvas.style.height = "auto";
      pen.fillStyle = colours.paper;
      pen.fillRect(0, 0, room, height);
    }
    return { room: room, colours: colours, pen: pen };
  }

  // The lines and numbers of an upright axis, whose title stands left of it: between two heights, over so much width.
  function upright_axis(pen, colours, axis) {
    axis.ticks.forEach(function (value) {
      pen.fillStyle = colours.line;
      pen.fillRect(axis.left, Math.round(axis.of(value)), axis.width, 1);
      pen.fillStyle = colours.faint;
      pen.textAlign = "right";
      pen.fillText(axis.spelt(value), axis.left - 6, axis.of(value));
    });
    pen.fillStyle = colours.ink;
    pen.textAlign = "center";
    pen.save();
    pen.translate(8, (axis.top + axis.bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(fitted(pen, axis.title, axis.bottom - axis.top + 30), 0, 0);
    pen.restore();
  }

  // Steps of an axis: 1, 2 or 5 times a power of ten, at most so many.
  function ticks(from, to, most) {
    var rough = (to - from) / Math.max(1, most), power = Math.pow(10, Math.floor(Math.log10(rough)));
    var step = [1, 2, 5, 10].map(function (each) { return each * power; }).find(function (each) { return each >= rough * 0.999; });
    var found = [];
    for (var at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; ++at) found.push(at * step + 0);  // no minus zero
    return found;
  }

  // Draws each chart of that name with its data when it is scrolled near, unfolded or printed, and again when its width
  // changes; `Chart` gives what draws it anew.
  function each(plot, Chart) {
    Array.prototype.forEach.call(document.querySelectorAll("script[data-own=" + plot + "]"), function (script) {
      var place = document.getElementById(script.dataset.of), chart = null, width = 0;
      function fit() {
        if (!place.clientWidth || place.clientWidth === width) return;
        width = place.clientWidth;
        if (!chart) {
          chart = Chart(place, JSON.parse(script.textContent));
          if (window.ResizeObserver) new ResizeObserver(fit).observe(place);
          else window.addEventListener("resize", fit);
        }
        chart.draw();
      }
      if (window.IntersectionObserver) {
        new IntersectionObserver(function (entries) {
          if (entries.some(function (entry) { return entry.isIntersecting; })) fit();
        }, { rootMargin: NEAR }).observe(place);
      } else fit();
      look.on_change(function () { if (chart) chart.draw(); });
      window.addEventListener("beforeprint", function () {
        fit();
        if (chart) chart.draw(true);
      });
      window.addEventListener("afterprint", function () {  // one that is folded again waits until it is seen
        width = 0;
        fit();
      });
    });
  }

  return {
    make: make, spelt: spelt, spoken: spoken, theme: look.page, colour_of: colour_of, pen_of: pen_of, easel: easel, upright_axis: upright_axis,
    fitted: fitted, ticks: ticks, each: each
  };
})();
