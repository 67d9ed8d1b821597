// Draws how the plan of day 0 does on later days beside the best plan of each day, with the days on which to re-shard and
// that on which memory ends.
(function () {
  "use strict";
  var own = window.ownChart, make = own.make, spelt = own.spelt;
  var HEIGHT = 320, BELOW = 40, ABOVE = 26, LEFT = 58, MARGIN = 0.08;
  // What is drawn: the columns of the kept and of the best plan, and its unit.
  var FIGURES = {
    time: ["iteration", "ms", "kept_ms", "best_ms", ["kept_low_ms", "kept_high_ms"]],
    memory: ["memory of the fullest GPU", "GiB", "kept_gib", "best_gib", null],
    saved: ["time saved by the best plans since day 0", "s", "", "saved_s", null]
  };
  var KEPT = "#d55e00", BEST = "#0072b2";

  function Days(place, data) {
    var names = data.columns.days, days = data.sets.days.map(function (row) {
      var day = {};
      names.forEach(function (name, at) { day[name] = name === "plan" ? data.words[row[at]] : row[at]; });
      return day;
    });
    var marks = data.sets.marks.map(function (row) { return { day: row[0], what: data.words[row[1]] }; });
    var printing = false, chosen = null, scale_x = null;
    var what = make("select", {}, Object.keys(FIGURES).map(function (key) { return make("option", { value: key, textContent: FIGURES[key][0] + " (" + FIGURES[key][1] + ")" }); }));
    what.addEventListener("change", anew);
    var canvas = make("canvas", { tabIndex: 0, role: "application" });
    var range = make("p", { className: "own-range", role: "status" }), told = make("p", { className: "own-told", role: "status" });
    var help = make("p", { className: "own-help", id: place.id + "-help", textContent: "Point at a day, or go from day to day with the arrow keys; M goes from mark to mark." });
    canvas.setAttribute("aria-describedby", help.id);
    function key(text) { return make("span", {}, [make("i"), text]); }
    var kept_key = key("the plan of day 0, kept"), best_key = key("the best plan of each day");
    var range_key = key("80 % range of the kept plan");
    var legend = make("p", { className: "own-legend" }, [kept_key, best_key, range_key]);

    function figure() { return FIGURES[what.value]; }
    function known(name) { return days.filter(function (day) { return typeof day[name] === "number"; }); }
    function marks_of(day) { return marks.filter(function (mark) { return mark.day === day; }).map(function (mark) { return mark.what; }); }

    function line(pen, name, colour, x, y) {
      if (!name) return;
      pen.strokeStyle = colour;
      pen.lineWidth = 2;
      pen.beginPath();
      var open = false;
      days.forEach(function (day) {
        if (typeof day[name] !== "number") { open = false; return; }
        pen[open ? "lineTo" : "moveTo"](x(day.day), y(day[name]));
        open = true;
      });
      pen.stroke();
      pen.fillStyle = colour;
      known(name).forEach(function (day) {
        pen.beginPath();
        pen.arc(x(day.day), y(day[name]), days.length > 60 ? 1.5 : 3, 0, 2 * Math.PI);
        pen.fill();
      });
    }

    // Where the real time of the kept plan lies in four of five cases: two lines with their shade between them.
    function band(pen, ends, colour, x, y) {
      if (!ends) return;
      var shown = days.filter(function (day) { return typeof day[ends[0]] === "number" && typeof day[ends[1]] === "number"; });
      if (!shown.length) return;
      pen.fillStyle = colour;
      pen.globalAlpha = 0.18;
      pen.beginPath();
      shown.forEach(function (day, at) { pen[at ? "lineTo" : "moveTo"](x(day.day), y(day[ends[0]])); });
      shown.slice().reverse().forEach(function (day) { pen.lineTo(x(day.day), y(day[ends[1]])); });
      pen.fill();
      pen.globalAlpha = 1;
    }

    // From near the least to near the most of what is drawn; what is saved begins with nothing.
    function span_of(shape) {
      var values = [];
      [shape[2], shape[3]].concat(shape[4] || []).forEach(function (name) { known(name).forEach(function (day) { values.push(day[name]); }); });
      if (!values.length) return { least: 0, most: 1 };
      var least = Math.min.apply(null, values), most = Math.max.apply(null, values), margin = MARGIN * (most - least || Math.abs(most) || 1);
      return { least: least >= 0 ? Math.max(0, least - margin) : least - margin, most: most + margin };
    }

    function draw_marks(pen, colours, x, room) {
      var taken = [];
      marks.slice().sort(function (a, b) { return (a.what === "re-shard") - (b.what === "re-shard"); }).forEach(function (mark) {
        pen.fillStyle = mark.what === "re-shard" ? colours.faint : colours.path;
        pen.fillRect(Math.round(x(mark.day)) - 0.5, ABOVE - 6, mark.what === "re-shard" ? 1 : 2, HEIGHT - ABOVE - BELOW + 6);
        var text = mark.what, wide = pen.measureText(text).width, from = Math.max(LEFT, Math.min(room - wide - 4, x(mark.day) - wide / 2));
        if (taken.some(function (other) { return from < other[1] && other[0] < from + wide + 8; })) return;
        pen.fillText(text, from, 10);
        taken.push([from, from + wide + 8]);
      });
    }

    function draw_now(for_paper) {
      printing = for_paper === true;
      var easel = days.length ? own.easel(place, canvas, HEIGHT, printing) : null;
      if (!easel) return;
      var colours = easel.colours, pen = easel.pen, wide = easel.room - LEFT - 14, shape = figure();
      var last = Math.max(1, days[days.length - 1].day), span = span_of(shape), most = span.most, least = span.least;
      var x = scale_x = function (day) { return LEFT + day / last * wide; };
      var y = function (value) { return HEIGHT - BELOW - (value - least) / (most - least) * (HEIGHT - ABOVE - BELOW); };
      own.upright_axis(pen, colours, {
        ticks: own.ticks(least, most, 6), of: y, left: LEFT, width: wide, top: ABOVE, bottom: HEIGHT - BELOW,
        spelt: function (value) { return spelt(value, 4); }, title: shape[0] + " (" + shape[1] + ")"
      });
      pen.fillStyle = colours.faint;
      own.ticks(0, last, Math.max(2, Math.floor(wide / 60))).forEach(function (day) {
        if (day === Math.round(day)) pen.fillText(String(day), x(day), HEIGHT - BELOW + 12);
      });
      pen.fillStyle = colours.ink;
      pen.fillText("day", LEFT + wide / 2, HEIGHT - 9);
      pen.textAlign = "left";
      draw_marks(pen, colours, x, easel.room);
      var kept = window.chartTheme.shade(KEPT, printing), best = window.chartTheme.shade(BEST, printing);
      kept_key.firstChild.style.background = kept;
      best_key.firstChild.style.background = best;
      range_key.firstChild.style.background = kept;
      range_key.firstChild.style.opacity = 0.25;
      range_key.hidden = !shape[4];
      band(pen, shape[4], kept, x, y);
      line(pen, shape[3], best, x, y);
      line(pen, shape[2], kept, x, y);
      if (chosen && !printing) {
        pen.globalAlpha = 0.25;
        pen.fillStyle = colours.answer;
        pen.fillRect(x(chosen.day) - 4, ABOVE, 8, HEIGHT - ABOVE - BELOW);
        pen.globalAlpha = 1;
      }
      place.dataset.drawn = days.length + " " + marks.length;
    }

    function day_text(day) {
      var text = "Day " + day.day + ": ", has_kept = typeof day.kept_ms === "number", has_best = typeof day.best_ms === "number";
      text += has_kept ? "the kept plan takes " + spelt(day.kept_ms, 4) + " ms (80 % within " + spelt(day.kept_low_ms) + " to " + spelt(day.kept_high_ms) + ")"
        : "the kept plan no longer fits in memory";
      text += " with " + spelt(day.kept_gib) + " GiB";
      text += has_best ? "; the best one, " + day.plan + ", takes " + spelt(day.best_ms, 4) + " ms with " + spelt(day.best_gib) + " GiB" : "; no plan fits";
      if (typeof day.saved_s === "number") text += "; the best plans have saved " + spelt(day.saved_s) + " s since day 0";
      var here = marks_of(day.day);
      return text + "." + (here.length ? " " + here.join(", ").replace(/^./, function (letter) { return letter.toUpperCase(); }) + "." : "");
    }
    function choose(day) {
      chosen = day;
      told.textContent = day_text(day);
      draw_now();
    }
    function anew() {
      var reshard = marks.filter(function (mark) { return mark.what === "re-shard"; }).length, others = marks.filter(function (mark) { return mark.what !== "re-shard"; });
      range.textContent = days.length + " days; " + (reshard ? reshard + (reshard === 1 ? " day" : " days") + " to re-shard on" : "no day on which re-sharding pays off") +
        (others.length ? "; " + others.map(function (mark) { return mark.what + " from day " + mark.day + " on"; }).join("; ") : "; memory lasts") + "." +
        (span_of(figure()).least > 0 ? " The upright axis does not begin at 0." : "");
      canvas.setAttribute("aria-label", figure()[0] + " by day. " + range.textContent);
      draw_now();
    }
    function point_at(event) {
      if (!scale_x) return;
      var best = days.reduce(function (near, day) { return Math.abs(scale_x(day.day) - event.offsetX) < Math.abs(scale_x(near.day) - event.offsetX) ? day : near; });
      if (best !== chosen) choose(best);
    }
    canvas.addEventListener("pointermove", point_at);
    canvas.addEventListener("pointerdown", point_at);
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      var step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key], now = days.indexOf(chosen);
      if (step) {
        event.preventDefault();
        choose(days[now < 0 ? 0 : Math.max(0, Math.min(days.length - 1, now + step))]);
      } else if (event.key.toLowerCase() === "m" && marks.length) {
        event.preventDefault();
        var after = marks.filter(function (mark) { return !chosen || mark.day > chosen.day; })[0] || marks[0];
        choose(days.filter(function (day) { return day.day === after.day; })[0] || days[0]);
      }
    });

    place.append(make("div", { className: "own-tools" }, [make("label", {}, ["figure ", what])]), range, canvas, told, legend, help);
    told.textContent = "Point at a day, or use the arrow keys.";
    anew();
    return { draw: draw_now };
  }

  own.each("drift_days", Days);
})();
