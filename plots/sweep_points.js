// Draws the points of a sweep by any two of their figures, with the Pareto front of these two, and leaves out of the
// picture and of the page's table of points what fits in no GPU, if one asks for that.
(function () {
  "use strict";
  var own = window.ownChart, make = own.make, spelt = own.spelt;
  var HEIGHT = 400, BELOW = 42, ABOVE = 14, WIDE = 20, NEAR = 14, LABEL = 11, RISE = 8;
  // By column: what it is called, its unit, and which end is better.
  var FIGURES = {
    samples_per_s: ["samples per second", "", 1], iteration_ms: ["iteration", "ms", -1], memory_gib: ["memory of the fullest GPU", "GiB", -1],
    cost: ["cost of a million samples", "", -1], gpus: ["GPUs", "", -1], scaling_pct: ["scaling efficiency", "%", 1]
  };
  var COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#777777"];
  var FIRST_AXIS = "limited_by";  // the columns from it on are words

  function read(data) {
    var names = data.columns.points, from = names.indexOf(FIRST_AXIS);
    var points = data.sets.points.map(function (row) {
      var point = { values: {}, words: {} };
      row.forEach(function (cell, at) {
        if (at >= from || names[at] === "fits") point.words[names[at]] = cell === null ? "-" : data.words[cell];
        else point.values[names[at]] = cell;
      });
      names.slice(from + 1).forEach(function (axis) {
        var number = parseFloat(point.words[axis].replace(/,/g, ""));
        if (!isNaN(number)) point.values[axis] = number;
      });
      point.fits = point.words.fits === "yes";
      point.name = names.slice(from + 1).map(function (axis) { return axis.split(".").pop() + " " + point.words[axis]; }).join(", ");
      return point;
    });
    return { points: points, axes: names.slice(from + 1), names: names };
  }

  // Whether every point trains the same samples in an iteration, so that shorter is better.
  function is_one_batch(points) {
    var batches = points.map(function (point) { return point.values.samples_per_s * point.values.iteration_ms; });
    return Math.max.apply(null, batches) < 1.001 * Math.min.apply(null, batches);
  }

  function Points(place, data) {
    var all = read(data), width = 0, left = 0, printing = false, chosen = null, shown = [], front = [], at = [];
    function is_known(name) {
      return all.points.some(function (point) { return typeof point.values[name] === "number"; });
    }
    var numbers = Object.keys(FIGURES).concat(all.axes).filter(function (name) {
      return is_known(name) && (FIGURES[name] || all.points.every(function (point) { return typeof point.values[name] === "number"; }));
    });
    function about(name) { return FIGURES[name] || [name.split(".").pop().replace(/_/g, " "), "", 0]; }
    function titled(name) { return about(name)[0] + (about(name)[1] ? " (" + about(name)[1] + ")" : ""); }
    function choice(label, names, value) {
      var select = make("select", {}, names.map(function (name) { return make("option", { value: name, textContent: titled(name) }); }));
      select.value = value;
      select.addEventListener("change", anew);
      return { select: select, label: make("label", {}, [label + " ", select]) };
    }
    // What a point takes, where points differ in it: cost, memory, or else what the sweep changes.
    function differs(name) {
      return all.points.some(function (point) { return point.values[name] !== all.points[0].values[name]; });
    }
    var taken = ["cost", "memory_gib"].concat(all.axes).filter(function (name) { return numbers.indexOf(name) >= 0; });
    var across = choice("across", numbers, taken.find(differs) || "memory_gib");
    var up = choice("up", numbers, is_one_batch(all.points) ? "iteration_ms" : "samples_per_s");
    var words = all.axes.concat([FIRST_AXIS]), hue = choice("colour", words, words[0]);
    var fit = make("input", { type: "checkbox", checked: true });
    fit.addEventListener("change", anew);
    var any_over = all.points.some(function (point) { return !point.fits; });
    var tools = make("div", { className: "own-tools" }, [across.label, up.label, hue.label,
      any_over ? make("label", {}, [fit, " only points that fit in memory"]) : null]);
    var canvas = make("canvas", { tabIndex: 0, role: "application" });
    var range = make("p", { className: "own-range", role: "status" }), told = make("p", { className: "own-told", role: "status" });
    var legend = make("p", { className: "own-legend" });
    var help = make("p", { className: "own-help", id: place.id + "-help", textContent:
      "Filled: on the front. Point at a point, or go from one to the next with the arrow keys; F goes along the front." });
    canvas.setAttribute("aria-describedby", help.id);

    function x_value(point) { return point.values[across.select.value]; }
    function y_value(point) { return point.values[up.select.value]; }

    // Those that no other one beats in both figures; none where it is not known which end is better.
    function find_front() {
      var x_sign = about(across.select.value)[2], y_sign = about(up.select.value)[2];
      if (!x_sign || !y_sign || across.select.value === up.select.value) return [];
      var best = -Infinity;
      return shown.slice().sort(function (a, b) { return x_sign * (x_value(b) - x_value(a)) || y_sign * (y_value(b) - y_value(a)); })
        .filter(function (point) {
          var better = y_sign * y_value(point) > best;
          best = Math.max(best, y_sign * y_value(point));
          return better;
        });
    }
    function better_words(name) { return (about(name)[2] > 0 ? "more " : "less ") + about(name)[0].replace("iteration", "time of an iteration"); }

    function scale(values, from, to) {
      var least = Math.min.apply(null, values), most = Math.max.apply(null, values), log = least > 0 && most > WIDE * least;
      if (log) {
        var a = Math.log(least / 1.2), b = Math.log(most * 1.2);
        return { log: true, of: function (value) { return from + (Math.log(value) - a) / (b - a) * (to - from); }, low: least / 1.2, high: most * 1.2 };
      }
      var margin = 0.06 * (most - least || Math.abs(most) || 1), low = least >= 0 ? Math.max(0, least - margin) : least - margin, high = most + margin;
      return { log: false, of: function (value) { return from + (value - low) / (high - low) * (to - from); }, low: low, high: high };
    }
    function ticks_of(axis, most) {
      if (!axis.log) return own.ticks(axis.low, axis.high, most);
      var found = [];
      for (var power = Math.floor(Math.log10(axis.low)); power <= Math.log10(axis.high); ++power) {
        [1, 2, 5].forEach(function (each) {
          var value = each * Math.pow(10, power);
          if (value >= axis.low && value <= axis.high) found.push(value);
        });
      }
      return found;
    }
    function short(value) {
      var size = Math.abs(value);
      if (size >= 1e6) return spelt(value / 1e6) + " M";
      return size >= 1e4 ? spelt(value / 1e3) + " k" : spelt(value, 4);
    }

    function hues() {
      var seen = [];
      all.points.forEach(function (point) { if (seen.indexOf(point.words[hue.select.value]) < 0) seen.push(point.words[hue.select.value]); });
      return seen;
    }
    function colour(seen, point) { return shade(seen.indexOf(point.words[hue.select.value])); }
    function shade(number) { return window.chartTheme.shade(COLOURS[Math.min(number, COLOURS.length - 1)], printing); }

    function axes(pen, colours, x, y) {
      own.upright_axis(pen, colours, {
        ticks: ticks_of(y, 8), of: y.of, left: left, width: width, top: ABOVE, bottom: HEIGHT - BELOW, spelt: short,
        title: titled(up.select.value) + (y.log ? ", logarithmic" : "")
      });
      ticks_of(x, Math.max(2, Math.floor(width / 80))).forEach(function (value) {
        pen.fillStyle = colours.line;
        pen.fillRect(Math.round(x.of(value)), ABOVE, 1, HEIGHT - ABOVE - BELOW);
        pen.fillStyle = colours.faint;
        pen.fillText(short(value), x.of(value), HEIGHT - BELOW + 12);
      });
      pen.fillStyle = colours.ink;
      pen.fillText(titled(across.select.value) + (x.log ? ", logarithmic" : ""), left + width / 2, HEIGHT - 10);
      pen.textAlign = "left";
    }

    function steps(pen, colours, x, y) {
      if (front.length < 2) return;
      pen.strokeStyle = colours.faint;
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 4]);
      pen.beginPath();
      front.forEach(function (point, number) {
        if (number) pen.lineTo(x.of(x_value(point)), y.of(y_value(front[number - 1])));
        pen[number ? "lineTo" : "moveTo"](x.of(x_value(point)), y.of(y_value(point)));
      });
      pen.stroke();
      pen.setLineDash([]);
    }

    function names(pen, colours) {
      var taken = [];
      pen.fillStyle = colours.ink;
      pen.strokeStyle = colours.paper;
      pen.lineWidth = 4;  // of what surrounds the names, so that lines do not cross them
      front.forEach(function (point) {
        var spot = at.find(function (each) { return each.point === point; }), text = all.axes.map(function (axis) { return point.words[axis]; }).join(", ");
        var wide = pen.measureText(text).width, from = spot.x + 9 + wide > left + width ? spot.x - 9 - wide : spot.x + 9;
        var box = [from, spot.y - LABEL, from + wide, spot.y + LABEL];
        if (from < left || taken.some(function (other) { return box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]; })) return;
        taken.push(box);
        pen.strokeText(text, from, spot.y - RISE);
        pen.fillText(text, from, spot.y - RISE);
      });
    }

    function draw_now(for_paper) {
      printing = for_paper === true;
      var easel = own.easel(place, canvas, HEIGHT, printing);
      Array.prototype.forEach.call(legend.children, function (key, number) { key.firstChild.style.background = shade(number); });
      if (!easel) return;
      var colours = easel.colours, pen = easel.pen, seen = hues();
      at = [];
      place.dataset.drawn = shown.length + " " + front.length;
      if (!shown.length) return;
      left = 62;
      width = easel.room - left - 12;
      var x = scale(shown.map(x_value), left, left + width), y = scale(shown.map(y_value), HEIGHT - BELOW, ABOVE);
      axes(pen, colours, x, y);
      steps(pen, colours, x, y);
      shown.forEach(function (point) {
        var spot = { x: x.of(x_value(point)), y: y.of(y_value(point)), point: point };
        at.push(spot);
        pen.strokeStyle = pen.fillStyle = colour(seen, point);
        pen.lineWidth = 2;
        pen.beginPath();
        if (point.fits) {
          pen.arc(spot.x, spot.y, 5, 0, 2 * Math.PI);
          if (front.indexOf(point) >= 0) pen.fill();
        } else {
          pen.moveTo(spot.x - 4, spot.y - 4); pen.lineTo(spot.x + 4, spot.y + 4);
          pen.moveTo(spot.x + 4, spot.y - 4); pen.lineTo(spot.x - 4, spot.y + 4);
        }
        pen.stroke();
        if (point === chosen && !printing) {
          pen.strokeStyle = colours.ink;
          pen.beginPath();
          pen.arc(spot.x, spot.y, 9, 0, 2 * Math.PI);
          pen.stroke();
        }
      });
      names(pen, colours);
    }

    function point_text(point) {
      var values = point.values, text = point.name + ": " + spelt(values.samples_per_s) + " samples per second, " + spelt(values.iteration_ms, 4) + " ms";
      if (values.low_ms > 0) text += " (80 % within " + spelt(values.low_ms) + " to " + spelt(values.high_ms) + ")";
      text += ", " + spelt(values.gpus) + " GPUs, " + spelt(values.memory_gib) + " GiB on the fullest";
      if (!point.fits) text += ", more than a GPU has";
      if (values.host_gib > 0) text += " and " + spelt(values.host_gib) + " GiB in the memory of a host";
      if (typeof values.cost === "number") text += ", a million samples for " + spelt(values.cost) + " " + all.currency;
      if (typeof values.scaling_pct === "number") text += ", scaling efficiency " + spelt(values.scaling_pct) + " %";
      return text + "; busiest: " + point.words.limited_by + (front.indexOf(point) >= 0 ? ". On the front." : ".");
    }
    function choose(point) {
      chosen = point;
      told.textContent = point_text(point);
      draw_now();
    }

    // The same choice for the table of points, whose memory says "over".
    function filter_table() {
      Array.prototype.forEach.call(document.querySelectorAll("section > h2"), function (heading) {
        if (!/^Points/.test(heading.textContent)) return;
        Array.prototype.forEach.call(heading.parentNode.querySelectorAll("tbody tr"), function (row) {
          var over = Array.prototype.some.call(row.cells, function (cell) { return / over\b/.test(cell.textContent); });
          row.classList.toggle("unfit", fit.checked && over);
        });
      });
    }
    function anew() {
      shown = all.points.filter(function (point) {
        return (point.fits || !fit.checked) && typeof x_value(point) === "number" && typeof y_value(point) === "number";
      });
      front = find_front();
      var left_out = all.points.length - shown.length;
      range.textContent = shown.length + (shown.length === 1 ? " point" : " points") + (left_out ? ", " + left_out + " left out" : "") +
        (front.length ? "; " + front.length + " on the front: no other one has " + better_words(across.select.value) + " and " + better_words(up.select.value) + "." : ".");
      canvas.setAttribute("aria-label", titled(up.select.value) + " over " + titled(across.select.value) + " of " + range.textContent);
      var seen = hues();
      legend.replaceChildren.apply(legend, seen.slice(0, COLOURS.length).map(function (word, number) {
        return make("span", {}, [make("i"), number === COLOURS.length - 1 && seen.length > COLOURS.length ? "others" : word]);
      }));
      if (shown.indexOf(chosen) < 0) { chosen = null; told.textContent = "Point at a point, or use the arrow keys."; }
      filter_table();
      draw_now();
    }

    canvas.addEventListener("pointermove", function (event) { point_at(event); });
    canvas.addEventListener("pointerdown", function (event) { point_at(event); });
    function point_at(event) {
      var best = null, least = NEAR * NEAR;
      at.forEach(function (spot) {
        var off = Math.pow(spot.x - event.offsetX, 2) + Math.pow(spot.y - event.offsetY, 2);
        if (off < least) { least = off; best = spot.point; }
      });
      if (best && best !== chosen) choose(best);
    }
    function go(among, of, step) {
      if (!among.length) return;
      var order = among.slice().sort(function (a, b) { return of(a) - of(b); }), place_now = order.indexOf(chosen);
      choose(order[place_now < 0 ? 0 : Math.max(0, Math.min(order.length - 1, place_now + step))]);
    }
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      var acts = {
        ArrowLeft: function () { go(shown, x_value, -1); }, ArrowRight: function () { go(shown, x_value, 1); },
        ArrowDown: function () { go(shown, y_value, -1); }, ArrowUp: function () { go(shown, y_value, 1); },
        f: function () {
          if (front.length) choose(front[(front.indexOf(chosen) + 1) % front.length]);
        }
      };
      var act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });

    all.currency = data.sets.money.length ? data.words[data.sets.money[0][0]] : "";
    place.append(tools, range, canvas, told, legend, help);
    anew();
    return { draw: draw_now };
  }

  own.each("sweep_points", Points);
})();
