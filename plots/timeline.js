// Draws one iteration: a lane per GPU and stream, the critical path through them, and the links below. It zooms to a
// microsecond by wheel, drag, touch, buttons and keys, and says in words what it shows and what is pointed at.
(function () {
  "use strict";
  var own = window.ownChart, make = own.make, spelt = own.spelt, spoken = own.spoken;
  var LANE = 15, GAP = 9, AXIS = 24, LEAST_MS = 0.001, STEP = 1.5, MOVE = 0.2, MOST_LABEL = 180;
  var KINDS = { work: "computes", start: "starts up", transfer: "moves its bytes", held: "waits for the iteration to end", rest: "differs from the iteration before" };

  function time_text(ms) { return ms < 1 ? spelt(ms * 1000, 4) + " \u00b5s" : spelt(ms, 4) + " ms"; }
  // A point in time, as exactly as the part that is shown needs it.
  function point_text(ms, whole) {
    return whole >= 1 ? ms.toFixed(whole >= 100 ? 1 : whole >= 10 ? 2 : 3) + " ms"
      : (ms * 1000).toLocaleString("en", { maximumFractionDigits: whole >= 0.1 ? 1 : 3 }) + " \u00b5s";
  }

  function Lanes(data) {
    var word = data.words, lanes = [], by_name = {}, path = [];
    function add(key, lane) { by_name[key] = lane; lane.marks = []; lanes.push(lane); }
    data.sets.path.forEach(function (row) {
      path.push({ rank: row[0], op: word[row[1]], part: word[row[2]], kind: word[row[3]], link: word[row[4]], start: row[5], begin: row[5], end: row[6], step: true });
    });
    if (path.length) add("path", { label: "critical path", group: "path", name: "critical path" });
    data.sets.lanes.forEach(function (row) {
      add(row[0] + "/" + word[row[2]], { rank: row[0], node: row[1], label: word[row[2]], group: "GPU " + row[0], name: "GPU " + row[0] + " (node " + row[1] + "), " + word[row[2]] });
    });
    data.sets.spans.forEach(function (row) {
      by_name[row[0] + "/" + word[row[1]]].marks.push({
        rank: row[0], op: word[row[2]], part: word[row[3]], start: row[4], begin: row[5], end: row[6], moved: row[7], ahead: row[8], on_path: word[row[9]] === "yes"
      });
    });
    data.sets.links.forEach(function (row) {
      var link = word[row[0]];
      if (!by_name["link/" + link]) add("link/" + link, { label: link, group: "links", name: link });
      by_name["link/" + link].marks.push({ op: word[row[1]], part: word[row[2]], start: row[3], begin: row[3], end: row[4], moved: row[5], busy: row[6], link: true });
    });
    if (path.length) by_name.path.marks = path;
    lanes = lanes.filter(function (lane) { return lane.marks.length; });
    // Where a step runs among the lanes, if its GPU is shown.
    path.forEach(function (step) {
      step.lane = lanes.find(function (lane) {
        return lane.rank === step.rank && lane.marks.some(function (mark) {
          return mark.op === step.op && mark.start < step.end && step.start < mark.end;
        });
      });
    });
    return { lanes: lanes, path: path };
  }

  function mark_text(lane, mark, scale) {
    var text = lane.name + ": " + (mark.op ? spoken(mark.op) : KINDS[mark.kind]);
    if (mark.step && mark.op) text += " " + KINDS[mark.kind] + (mark.rank >= 0 ? " on GPU " + mark.rank : "") + (mark.link ? " over " + mark.link : "");
    text += ", " + time_text(mark.end - mark.start) + " from " + point_text(mark.start, scale) + " on";
    if (mark.begin > mark.start) text += "; waits " + time_text(mark.begin - mark.start) + " of it for another GPU";
    if (mark.moved > 0) text += "; " + spelt(mark.moved, 4) + " MB";
    if (mark.busy > 0) text += ", for which the link alone takes " + time_text(mark.busy);
    if (mark.ahead > 0) text += mark.ahead > 1 ? "; of the iteration after the next" : "; of the next iteration";
    return text + (mark.on_path ? "; on the critical path." : ".");
  }

  function Timeline(place, data) {
    var read = Lanes(data), lanes = read.lanes, path = read.path, view = data.sets.view[0];
    var whole = lanes.reduce(function (most, lane) {
      return lane.marks.reduce(function (last, mark) { return Math.max(last, mark.end); }, most);
    }, 0);
    var least = Math.min(LEAST_MS, whole / 100), from = 0, to = whole, left = 0, width = 0, printing = false;
    var chosen = null, drag = null, pointers = {}, waiting = false;

    var canvas = make("canvas", { tabIndex: 0, role: "application" });
    var range = make("p", { className: "own-range", role: "status" });
    var about = make("p", { className: "own-told", role: "status" });
    function button(text, label, act) {
      var element = make("button", { type: "button", textContent: text, title: label });
      element.setAttribute("aria-label", label);
      element.addEventListener("click", act);
      return element;
    }
    var tools = make("div", { className: "own-tools" }, [
      button("+", "zoom in", function () { zoom(1 / STEP); }), button("\u2212", "zoom out", function () { zoom(STEP); }),
      button("\u25c0", "earlier", function () { move(-MOVE); }), button("\u25b6", "later", function () { move(MOVE); }),
      button("whole", "show the whole iteration", function () { show(0, whole); }),
      path.length ? button("\u25c0 step", "previous step of the critical path", function () { walk(-1); }) : null,
      path.length ? button("step \u25b6", "next step of the critical path", function () { walk(1); }) : null]);
    var parts = [];
    lanes.forEach(function (lane) {
      lane.marks.forEach(function (mark) { if (parts.indexOf(mark.part) < 0) parts.push(mark.part); });
    });
    var keys = parts.map(function (part) { return { part: part, key: make("span", {}, [make("i"), spoken(part)]) }; });
    var legend = make("p", { className: "own-legend" }, keys.map(function (each) { return each.key; }));
    var help = make("p", { className: "own-help", id: place.id + "-help", textContent:
      "Zoom with the wheel after a click, or with + and \u2212; drag across a part to see it alone; arrow keys move, 0 shows all. " +
      "Up and down change the lane, comma and full stop the operation" + (path.length ? ", N and P follow the critical path" : "") + "; Enter zooms to what is chosen." });
    canvas.setAttribute("aria-describedby", help.id);

    function label_of(lane, at) { return at === 0 || lanes[at - 1].group !== lane.group ? lane.group : ""; }
    function top_of(at) {
      var groups = 0;
      for (var each = 1; each <= at; ++each) if (lanes[each].group !== lanes[each - 1].group) ++groups;
      return AXIS + at * LANE + groups * GAP;
    }
    var tops = lanes.map(function (lane, at) { return top_of(at); });
    var height = tops[tops.length - 1] + LANE + 4;
    function x_of(ms) { return left + (ms - from) / (to - from) * width; }
    function ms_of(x) { return from + (x - left) / width * (to - from); }

    // --- Drawing

    function layout(pen, room) {
      var groups = 0, names = 0;
      pen.font = "bold 11px system-ui, sans-serif";
      lanes.forEach(function (lane) { if (lane.rank !== undefined) groups = Math.max(groups, pen.measureText(lane.group).width); });
      pen.font = "11px system-ui, sans-serif";
      lanes.forEach(function (lane) { names = Math.max(names, pen.measureText(lane.label).width + (lane.rank !== undefined ? groups + 8 : 0)); });
      left = Math.round(Math.min(names + 8, MOST_LABEL, room * 0.3));
      width = Math.max(50, room - left - 1);
      return groups;
    }

    // A link has a shorter name where its own has no room.
    function label_in(pen, lane, room) {
      if (pen.measureText(lane.label).width <= room) return lane.label;
      return lane.label.replace(" of node ", ", node ").replace("receiving", "in").replace("sending", "out");
    }

    function axis(pen, colours) {
      var shown = to - from, unit = shown >= 1 ? 1 : 1000;
      pen.font = "11px system-ui, sans-serif";
      pen.textBaseline = "middle";
      var steps = own.ticks(from * unit, to * unit, Math.max(2, Math.floor(width / 95)));
      var digits = steps.length > 1 ? Math.max(0, Math.min(4, Math.ceil(-Math.log10(steps[1] - steps[0]) - 1e-9))) : 3;
      steps.forEach(function (value) {
        var x = x_of(value / unit), text = value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }) + (unit === 1 ? " ms" : " \u00b5s");
        pen.fillStyle = colours.line;
        pen.fillRect(x, AXIS - 6, 1, height - AXIS + 6);
        pen.fillStyle = colours.faint;
        var half = pen.measureText(text).width / 2;
        pen.textAlign = "center";
        pen.fillText(text, Math.max(left + half, Math.min(left + width - half, x)), 9);
      });
      pen.textAlign = "left";
    }

    function hatch(pen, x, y, wide, high, colour) {
      pen.save();
      pen.beginPath();
      pen.rect(x, y, wide, high);
      pen.clip();
      pen.globalAlpha = 0.22;
      pen.fillStyle = colour;
      pen.fillRect(x, y, wide, high);
      pen.globalAlpha = 0.75;
      pen.strokeStyle = colour;
      pen.lineWidth = 1;
      pen.beginPath();
      for (var at = x - high - (x % 6); at < x + wide; at += 6) { pen.moveTo(at, y + high); pen.lineTo(at + high, y); }
      pen.stroke();
      pen.restore();
    }

    function bar(pen, mark, y, colours) {
      if (mark.end < from || mark.start > to) return;
      var a = Math.max(left, x_of(mark.start)), b = Math.max(left, Math.min(left + width, x_of(mark.begin))), c = Math.min(left + width, x_of(mark.end));
      var colour = own.colour_of(mark.part, printing), high = LANE - 3;
      if (b > a) hatch(pen, a, y, b - a, high, colour);
      pen.globalAlpha = mark.ahead > 0 ? 0.45 : 1;
      pen.fillStyle = colour;
      if (mark.link) {  // as high as the link is busy
        var share = Math.max(0.12, Math.min(1, mark.busy / Math.max(1e-9, mark.end - mark.start)));
        pen.globalAlpha = 0.25;
        pen.fillRect(b, y, Math.max(1, c - b), high);
        pen.globalAlpha = 1;
        pen.fillRect(b, y + high * (1 - share), Math.max(1, c - b), high * share);
      } else {
        pen.fillRect(b, y, Math.max(1, c - b), high);
        if (c - b > 30) {
          pen.fillStyle = mark.ahead > 0 ? colours.ink : window.chartTheme.ink_on(colour);
          pen.globalAlpha = 1;
          pen.font = "10px system-ui, sans-serif";
          pen.fillText(own.fitted(pen, spoken(mark.op) || KINDS[mark.kind], c - b - 6), b + 3, y + high / 2 + 0.5);
        }
      }
      pen.globalAlpha = 1;
    }

    function draw_path(pen, colours) {
      pen.strokeStyle = colours.path;
      pen.lineWidth = 2;
      pen.beginPath();
      var last = null;
      path.forEach(function (step) {
        if (!step.lane) return;
        var y = tops[lanes.indexOf(step.lane)] + LANE - 2.5, a = Math.max(left, Math.min(left + width, x_of(step.start))), b = Math.max(left, Math.min(left + width, x_of(step.end)));
        if (last && step.start >= to && last.start >= to) return;
        if (last) { pen.lineTo(a, last.y); pen.lineTo(a, y); } else pen.moveTo(a, y);
        pen.lineTo(b, y);
        last = { y: y, start: step.start };
      });
      pen.stroke();
    }

    function draw_now() {
      waiting = false;
      var easel = own.easel(place, canvas, height, printing);
      if (!easel) return;
      var room = easel.room, colours = easel.colours, pen = easel.pen, groups = layout(pen, room);
      keys.forEach(function (each) { each.key.firstChild.style.background = own.colour_of(each.part, printing); });
      axis(pen, colours);
      lanes.forEach(function (lane, at) {
        var y = tops[at], first = label_of(lane, at);
        if (first && at) { pen.fillStyle = colours.line; pen.fillRect(0, y - GAP / 2 - 1, room, 1); }
        pen.fillStyle = colours.ink;
        pen.font = "bold 11px system-ui, sans-serif";
        if (first && lane.rank !== undefined) pen.fillText(own.fitted(pen, first, left - 4), 0, y + LANE / 2 - 1);
        pen.font = "11px system-ui, sans-serif";
        pen.fillStyle = lane.rank === undefined ? colours.ink : colours.faint;
        var indent = lane.rank === undefined ? 0 : Math.min(groups + 8, left * 0.55);
        pen.fillText(own.fitted(pen, label_in(pen, lane, left - indent - 4), left - indent - 4), indent, y + LANE / 2 - 1);
        lane.marks.forEach(function (mark) { bar(pen, mark, y, colours); });
      });
      draw_path(pen, colours);
      if (chosen && !printing) {
        var y = tops[chosen.lane], a = Math.max(left, x_of(chosen.mark.start)), b = Math.min(left + width, x_of(chosen.mark.end));
        pen.strokeStyle = colours.ink;
        pen.lineWidth = 2;
        if (b >= left && a <= left + width) pen.strokeRect(a - 1, y - 2, Math.max(3, b - a + 2), LANE);
      }
      if (drag && drag.marks) {
        pen.globalAlpha = 0.2;
        pen.fillStyle = colours.answer;
        pen.fillRect(Math.min(drag.x, drag.now), AXIS, Math.abs(drag.now - drag.x), height - AXIS);
        pen.globalAlpha = 1;
      }
      place.dataset.drawn = from.toFixed(6) + " " + to.toFixed(6);
    }
    function draw() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(draw_now);
    }

    // --- What is shown

    function is_whole() { return to - from >= whole * (1 - 1e-9); }
    function range_text() {
      if (is_whole()) return "Shows the whole " + time_text(whole) + ".";
      return "Shows " + point_text(from, to - from) + " to " + point_text(to, to - from) + ": " + time_text(to - from) + " of " + time_text(whole) +
        (view[1] > 0 ? ". Operations that are less than " + time_text(view[1]) + " apart are drawn as one" : "") + ".";
    }
    function show(first, last) {
      var wide = Math.max(least, Math.min(whole, last - first));
      from = Math.max(0, Math.min(whole - wide, (first + last - wide) / 2));
      to = from + wide;
      range.textContent = range_text();
      canvas.setAttribute("aria-label", "Timeline of one iteration, " + lanes.length + " lanes. " + range_text());
      draw();
    }
    function zoom(factor, at) {
      var pivot = at === undefined ? chosen && chosen.mark.end > from && chosen.mark.start < to ? Math.max(from, Math.min(to, (chosen.mark.start + chosen.mark.end) / 2)) : (from + to) / 2 : at;
      var wide = Math.max(least, Math.min(whole, (to - from) * factor)), first = pivot - (pivot - from) * wide / (to - from);
      first = Math.max(0, Math.min(whole - wide, first));
      show(first, first + wide);
    }
    function move(share) {
      var wide = to - from, first = Math.max(0, Math.min(whole - wide, from + share * wide));
      show(first, first + wide);
    }
    function choose(lane, mark, bring) {
      chosen = { lane: lane, mark: mark };
      about.textContent = mark_text(lanes[lane], mark, Math.min(1, whole));
      if (bring && (mark.end <= from || mark.start >= to)) {
        var wide = to - from, first = Math.max(0, Math.min(whole - wide, (mark.start + mark.end - wide) / 2));
        return show(first, first + wide);
      }
      draw();
    }
    function nearest(lane, ms) {
      return lanes[lane].marks.reduce(function (best, mark) {
        function off(each) { return each.start > ms ? each.start - ms : each.end < ms ? ms - each.end : 0; }
        return off(mark) < off(best) ? mark : best;
      });
    }
    function change_lane(step) {
      var lane = chosen ? Math.max(0, Math.min(lanes.length - 1, chosen.lane + step)) : 0;
      var ms = chosen ? Math.max(from, Math.min(to, (Math.max(from, chosen.mark.start) + Math.min(to, chosen.mark.end)) / 2)) : from;
      choose(lane, nearest(lane, ms), false);
    }
    function next(step) {
      if (!chosen) return choose(0, nearest(0, from), true);
      var marks = lanes[chosen.lane].marks.slice().sort(function (a, b) { return a.start - b.start; });
      var at = Math.max(0, Math.min(marks.length - 1, marks.indexOf(chosen.mark) + step));
      choose(chosen.lane, marks[at], true);
    }
    function walk(step) {
      if (!path.length) return;
      var at = chosen ? path.indexOf(chosen.mark) : -1;
      at = at < 0 ? (step > 0 ? 0 : path.length - 1) : Math.max(0, Math.min(path.length - 1, at + step));
      choose(0, path[at], true);
      about.textContent = "Step " + (at + 1) + " of " + path.length + ", " + about.textContent;
    }
    function zoom_to_chosen() {
      if (!chosen) return;
      var margin = (chosen.mark.end - chosen.mark.start) * 0.2;
      show(chosen.mark.start - margin, chosen.mark.end + margin);
    }

    // --- Mouse, touch, keys

    function hit(event) {
      var lane = -1;
      tops.forEach(function (top, at) { if (event.offsetY >= top - 1 && event.offsetY < top + LANE) lane = at; });
      if (lane < 0 || event.offsetX < left) return null;
      var ms = ms_of(event.offsetX), slack = 2 * (to - from) / width;
      var found = lanes[lane].marks.filter(function (mark) { return mark.start - slack <= ms && ms <= mark.end + slack; });
      return found.length ? { lane: lane, mark: found[found.length - 1] } : null;
    }
    function ids() { return Object.keys(pointers); }
    canvas.addEventListener("pointerdown", function (event) {
      if (event.button) return;
      canvas.focus({ preventScroll: true });
      pointers[event.pointerId] = event.offsetX;
      if (canvas.setPointerCapture) try { canvas.setPointerCapture(event.pointerId); } catch (error) { /* a pointer of a test */ }
      drag = ids().length === 1 ? { x: event.offsetX, now: event.offsetX, from: from, to: to, marks: false, select: is_whole() !== event.shiftKey } : null;
    });
    canvas.addEventListener("pointermove", function (event) {
      if (!(event.pointerId in pointers)) {
        var found = hit(event);
        if (found && (!chosen || chosen.mark !== found.mark)) choose(found.lane, found.mark, false);
        return;
      }
      var before = ids().map(function (id) { return pointers[id]; });
      pointers[event.pointerId] = event.offsetX;
      var after = ids().map(function (id) { return pointers[id]; });
      if (after.length === 2) {
        var apart = Math.abs(before[0] - before[1]), now_apart = Math.max(8, Math.abs(after[0] - after[1]));
        return zoom(Math.max(8, apart) / now_apart, ms_of((after[0] + after[1]) / 2));
      }
      if (!drag) return;
      drag.now = event.offsetX;
      if (Math.abs(drag.now - drag.x) < 4) return;
      drag.moved = true;
      if (drag.select) { drag.marks = true; return draw(); }
      var off = (drag.x - drag.now) / width * (drag.to - drag.from), first = Math.max(0, Math.min(whole - (drag.to - drag.from), drag.from + off));
      show(first, first + drag.to - drag.from);
    });
    function up(event) {
      delete pointers[event.pointerId];
      var done = drag;
      drag = null;
      if (done && done.marks) return show(ms_of(Math.min(done.x, done.now)), ms_of(Math.max(done.x, done.now)));
      if (done && !done.moved) {
        var found = hit(event);
        if (found) choose(found.lane, found.mark, false);
      }
    }
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", function (event) { delete pointers[event.pointerId]; drag = null; draw(); });
    canvas.addEventListener("dblclick", zoom_to_chosen);
    canvas.addEventListener("wheel", function (event) {
      if (document.activeElement !== canvas && !event.ctrlKey) return;  // the page scrolls
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) return move((event.deltaX || event.deltaY) / 600);
      zoom(Math.pow(STEP, Math.max(-2, Math.min(2, event.deltaY / 100))), ms_of(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", function (event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      var acts = {
        "+": function () { zoom(1 / STEP); }, "=": function () { zoom(1 / STEP); }, "-": function () { zoom(STEP); }, "_": function () { zoom(STEP); },
        "0": function () { show(0, whole); }, ArrowLeft: function () { move(-MOVE); }, ArrowRight: function () { move(MOVE); },
        ArrowUp: function () { change_lane(-1); }, ArrowDown: function () { change_lane(1); }, ",": function () { next(-1); }, ".": function () { next(1); },
        n: function () { walk(1); }, p: function () { walk(-1); }, Home: function () { show(0, to - from); }, End: function () { show(whole - (to - from), whole); },
        Enter: zoom_to_chosen
      };
      var act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });

    place.append(tools, range, canvas, about, legend, help);
    about.textContent = "Point at an operation, or use the keys.";
    show(0, whole);
    return {
      draw: function (for_paper) {
        var seen = [from, to];
        printing = Boolean(for_paper);
        if (printing) { from = 0; to = whole; }
        draw_now();
        from = seen[0];
        to = seen[1];
      }
    };
  }

  own.each("timeline", Timeline);
})();
