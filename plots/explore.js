// The page of `shardsim explore`: fields on the left, what the server says of the case on the right. Every change is sent
// to the server at once. What was changed stands behind the # of the address, so that loading the page again keeps it.
(function () {
  "use strict";
  var KEPT = 200;             // steps of undo
  var SAME_STEP_MS = 700;     // changes of one field so soon after each other are one step
  var SLOW_MS = 250;          // from which on the page says that it waits
  var ALIVE_MS = 2000;        // between two looks whether the server is there
  var TICKS = 5;              // at most, of the axis below the bars

  var make = window.ownChart.make, spoken = window.ownChart.spoken;
  var start = JSON.parse(document.getElementById("start").textContent);
  var form = document.getElementById("knobs"), main = document.getElementById("answer");
  var root = document.documentElement, root_data = root.dataset;
  var page = Math.random().toString(36).slice(2, 12) + "p";
  var now = { case: start.case, knobs: {}, more: [] };
  var pinned = copy(now);
  var past = [], future = [], last_step = { id: "", at: 0 };
  var asked = 0, answered = 0, asked_at = 0, fields = {}, stopped = false, latest = null;

  function copy(value) { return JSON.parse(JSON.stringify(value)); }
  function is_same(a, b) { return JSON.stringify(a) === JSON.stringify(b); }

  // --- What was changed

  function from_address() {
    try {
      var held = JSON.parse(decodeURIComponent(location.hash.slice(1)));
      if (held.now && start.cases.indexOf(held.now.case) >= 0) now = held.now;
      if (held.pinned && start.cases.indexOf(held.pinned.case) >= 0) pinned = held.pinned;
    } catch (error) { /* an address of somebody's own: the page begins anew */ }
  }

  function keep_in_address() {
    history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify({ now: now, pinned: pinned })));
  }

  function step(id) {
    var at = Date.now();
    if (id !== last_step.id || at - last_step.at > SAME_STEP_MS) {
      past.push(copy(now));
      if (past.length > KEPT) past.shift();
      future = [];
    }
    last_step = { id: id, at: at };
  }

  function turn(id, value) {
    if (now.knobs[id] === value || (value === "" && !(id in now.knobs))) return;
    step(id);
    if (value === "") delete now.knobs[id];
    else now.knobs[id] = value;
    ask();
  }

  function go(from, to) {
    if (!from.length) return;
    to.push(copy(now));
    now = from.pop();
    last_step.id = "";
    show_state();
    ask();
  }

  // --- The server

  function send(what, body) {
    return fetch(what + "/" + page, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }

  function ask() {
    var number = ++asked, from = performance.now();
    asked_at = from;
    keep_in_address();
    main.setAttribute("aria-busy", "true");
    send("answer", { now: now, pinned: pinned }).then(function (response) {
      return response.status === 409 ? null : response.json();
    }).then(function (answer) {
      if (!answer || number < asked) return;
      answered = number;
      main.setAttribute("aria-busy", "false");
      root_data.milliseconds = (performance.now() - from).toFixed(1);
      show(answer);
      root_data.answers = String(Number(root_data.answers || 0) + 1);
    }, lost);
  }

  function lost() {
    if (stopped) return;
    stopped = true;
    var note = document.getElementById("stopped");
    note.textContent = "The server behind this page has stopped, so nothing is simulated any longer. Start it again with: " + start.restart;
    note.hidden = false;
    main.classList.add("stale");
    Array.prototype.forEach.call(document.querySelectorAll("form input, form select, form textarea, form button"), function (each) {
      each.disabled = true;
    });
    root_data.stopped = "yes";
  }

  function look() {
    if (!stopped) fetch("alive").then(function (response) { if (!response.ok) lost(); }, lost);
  }

  function tick() {
    var waits = asked > answered && !stopped ? performance.now() - asked_at : 0;
    var status = document.getElementById("status");
    if (status && waits > SLOW_MS) status.textContent = "Simulating for " + (waits / 1000).toFixed(1) + " s ...";
    main.classList.toggle("stale", stopped || waits > SLOW_MS);
  }

  // --- Fields

  function nearest_stop(stops, value) {
    var best = 0;
    stops.forEach(function (stop, at) { if (Math.abs(stop - value) < Math.abs(stops[best] - value)) best = at; });
    return best;
  }

  function number_field(knob) {
    var text = make("input", { type: "text", id: "knob-" + knob.id, inputMode: "decimal" });
    var slider = make("input", { type: "range", min: 0, step: 1 });
    slider.setAttribute("aria-label", knob.label);
    slider.addEventListener("input", function () {
      text.value = String(fields[knob.id].knob.stops[Number(slider.value)]);
      turn(knob.id, text.value);
    });
    text.addEventListener("change", function () { turn(knob.id, text.value.trim()); });
    return {
      element: make("div", { className: "line" }, [slider, text, make("span", { className: "unit", textContent: knob.unit })]),
      input: text,
      set: function (value, turned, fresh) {
        slider.max = fresh.stops.length - 1;
        slider.value = nearest_stop(fresh.stops, parseFloat(value));
        slider.setAttribute("aria-valuetext", value + (fresh.unit ? " " + fresh.unit : ""));
        if (document.activeElement !== text || slider.value !== text.value) text.value = value;
      }
    };
  }

  function choice_field(knob) {
    var select = make("select", { id: "knob-" + knob.id });
    select.addEventListener("change", function () { turn(knob.id, select.value); });
    return {
      element: select,
      input: select,
      set: function (value, turned, fresh) {
        var own = fresh.value && !turned ? " (" + fresh.value + ")" : "";
        select.replaceChildren.apply(select, [make("option", { value: "", textContent: "as the scenario says" + own })]
          .concat(fresh.options.map(function (each) { return make("option", { value: each.value, textContent: each.label }); })));
        select.value = turned ? value : "";
      }
    };
  }

  function field_of(knob) {
    var field = knob.options.length ? choice_field(knob) : number_field(knob);
    field.back = make("button", { type: "button", className: "back", textContent: "reset", hidden: true });
    field.back.setAttribute("aria-label", "reset " + knob.label);
    field.back.addEventListener("click", function () { turn(knob.id, ""); });
    field.about = make("p", { className: "about" });
    field.wrong = make("p", { className: "wrong", id: "wrong-" + knob.id, hidden: true });
    field.wrong.setAttribute("role", "alert");
    field.input.setAttribute("aria-describedby", "wrong-" + knob.id);
    var label = make("label", { textContent: knob.label, htmlFor: "knob-" + knob.id });
    // What holds for all entries of a list is said before one opens it.
    var parts = knob.options.length ? [field.about, field.element] : [field.element, field.about];
    field.box = make("div", { className: "field" }, [make("div", { className: "line" }, [label, field.back])].concat(parts, field.wrong));
    return field;
  }

  function show_knobs(knobs) {
    var place = document.getElementById("fields"), known = {};
    knobs.forEach(function (knob) {
      known[knob.id] = true;
      if (!fields[knob.id]) fields[knob.id] = field_of(knob);
      var field = fields[knob.id], turned = knob.id in now.knobs;
      field.knob = knob;
      field.set(turned ? now.knobs[knob.id] : knob.value, turned, knob);
      field.box.classList.toggle("turned", turned);
      field.back.hidden = !turned;
      field.about.textContent = knob.help;
      field.about.hidden = !knob.help;
      if (field.box.parentNode !== place) place.append(field.box);
    });
    Object.keys(fields).forEach(function (id) { if (!known[id]) fields[id].box.remove(); });
    var order = knobs.map(function (knob) { return fields[knob.id].box; });
    order.forEach(function (box, at) { if (place.children[at] !== box) place.insertBefore(box, place.children[at]); });
  }

  function show_error(answer) {
    Object.keys(fields).forEach(function (id) {
      var wrong = answer && answer.knob === id;
      fields[id].wrong.hidden = !wrong;
      fields[id].wrong.textContent = wrong ? answer.error : "";
      var is_last = answer && !answer.knob && id === last_step.id;  // what was turned, where the fault is named elsewhere
      fields[id].input.setAttribute("aria-invalid", wrong || is_last ? "true" : "false");
    });
    var rest = document.getElementById("wrong");
    rest.hidden = !answer || Boolean(answer.knob);
    rest.textContent = rest.hidden ? "" : answer.error;
    root_data.wrong = answer ? answer.knob || "page" : "";
  }

  function button(text, title, act) {
    var element = make("button", { type: "button", textContent: text, title: title });
    element.addEventListener("click", act);
    return element;
  }

  var undo = button("Undo", "the settings before the last change", function () { go(past, future); });
  var redo = button("Redo", "", function () { go(future, past); });
  var reset = button("Reset", "all fields as the scenario says", function () {
    step("reset");
    now.knobs = {};
    now.more = [];
    show_state();
    ask();
  });
  var pin = button("Pin this", "compare with these settings from now on", function () { pinned = copy(now); ask(); });
  var more = make("textarea", { rows: 2, id: "more", placeholder: "workload.pipeline=none", spellcheck: false });
  var cases = make("select", { id: "case" }, start.cases.map(function (name) { return make("option", { value: name, textContent: name }); }));

  function show_state() {
    cases.value = now.case;
    more.value = now.more.join("\n");
    undo.disabled = !past.length;
    redo.disabled = !future.length;
    reset.disabled = !Object.keys(now.knobs).length && !now.more.length;
    pin.disabled = is_same(now, pinned);
  }

  function save(what, name) {
    return function () {
      send(what, { now: now }).then(function (response) {
        return response.text().then(function (text) {
          if (!response.ok) return show_error(JSON.parse(text));
          var link = make("a", { href: URL.createObjectURL(new Blob([text], { type: response.headers.get("Content-Type") })), download: name });
          link.click();
          setTimeout(function () { URL.revokeObjectURL(link.href); }, 60000);
        });
      }, lost);
    };
  }

  function build_form() {
    cases.addEventListener("change", function () {
      step("case");
      now = { case: cases.value, knobs: {}, more: [] };
      ask();
    });
    more.addEventListener("change", function () {
      step("more");
      now.more = more.value.split("\n").map(function (line) { return line.trim(); }).filter(Boolean);
      ask();
    });
    form.append(
      make("div", { className: "buttons" }, [pin, undo, redo, reset]),
      start.cases.length > 1 ? make("div", { className: "field" }, [make("label", { textContent: "Case", htmlFor: "case" }), cases]) : "",
      make("div", { id: "fields" }),
      make("div", { className: "field" }, [make("label", { textContent: "Further settings, KEY=VALUE a line, as --set takes them", htmlFor: "more" }), more]),
      make("div", { className: "buttons" }, [
        button("Save as scenario", "a file that shardsim run reads, with the same result", save("scenario.yaml", "explored.yaml")),
        button("Save report", "the page that shardsim run writes of this case", save("report.html", "report.html")),
        button("Save result.json", "all figures", save("result.json", "result.json"))]));
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    document.addEventListener("keydown", function (event) {
      var typing = /^(text|textarea)$/.test(event.target.type || "");
      if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      event.preventDefault();
      event.shiftKey ? go(future, past) : go(past, future);
    });
  }

  // --- The answer

  function figure(name, value, small, first) {
    var dd = make("dd", {}, value instanceof Node ? [value] : [String(value)]);
    if (small) dd.append(make("br"), small instanceof Node ? small : make("small", { textContent: small }));
    return make("div", { className: first ? "first" : "" }, [make("dt", { textContent: name }), dd]);
  }

  function range_words(words) {
    if (!words.range) return "";
    var range = make("small", { textContent: words.range + " ms in four of five cases" });
    return words.doubt ? make("div", {}, [range, make("small", { textContent: words.doubt })]) : range;
  }

  function memory_figure(outcome) {
    var figures = outcome.figures, words = outcome.words, share = figures.memory_bytes / figures.capacity_bytes;
    var fill = make("span", { className: figures.fits ? "" : "over" });
    fill.style.width = Math.min(100, 100 * share).toFixed(1) + "%";
    var rest = make("small", { className: figures.fits ? "" : "over", textContent: words.margin + " of " + words.capacity });
    return figure("Memory of the fullest GPU", words.memory + " GiB", make("div", {}, [rest, make("div", { className: "gauge" }, [fill])]));
  }

  function figures_of(outcome) {
    var words = outcome.words, figures = outcome.figures;
    var list = make("dl", { className: "figures" }, [
      figure("Iteration", words.time + " ms", range_words(words), true),
      figure("Samples per second", words.samples, figures.gpus + " GPUs, batch " + figures.batch_per_gpu.toLocaleString("en") + " of a GPU"),
      memory_figure(outcome),
      words.limit ? figure("What limits", words.limit.replace(" %", "\u00a0%")) : null,
      "cost_per_million_samples" in figures
        ? figure("Cost of a million samples", figures.cost_per_million_samples.toPrecision(3) + " " + figures.currency) : null]);
    return list;
  }

  function by_class(outcome) {
    var sums = {};
    outcome.parts.forEach(function (part) { sums[part.class] = (sums[part.class] || 0) + part.ms; });
    return sums;
  }

  function bar(name, outcome, longest) {
    var whole = outcome.figures.iteration_ms, range = outcome.figures.range_ms;
    var parts = make("div", { className: "parts" });
    parts.style.width = (100 * whole / longest) + "%";
    outcome.parts.forEach(function (part) {
      var piece = make("span", { title: spoken(part.name) + ": " + part.ms.toPrecision(3) + " ms" });
      piece.style.flex = 100 * part.ms / whole + " 0 0";  // shares of less than 1 in all would leave room
      piece.style.background = "var(--" + part.class + ")";
      parts.append(piece);
    });
    var track = make("div", { className: "track" }, [parts]);
    if (range) {
      var whisker = make("div", { className: "range", title: "four of five cases" });
      whisker.style.left = (100 * range[0] / longest) + "%";
      whisker.style.width = (100 * (range[1] - range[0]) / longest) + "%";
      track.append(whisker);
    }
    return make("div", {}, [make("p", { className: "name", textContent: name }), track]);
  }

  // The milliseconds below the bars, and what the bracket below each of them is.
  function ruler(longest) {
    var marks = window.ownChart.ticks(0, longest, TICKS).map(function (ms) {
      var mark = make("span", { textContent: window.ownChart.spelt(ms, 4) + (ms ? "" : " ms") });
      mark.style.left = 100 * ms / longest + "%";
      return mark;
    });
    return make("div", { className: "ruler" }, marks);
  }
  function bracket_key() {
    return make("p", { className: "name" }, [make("span", { className: "bracket" }), "the real time lies here in four of five cases (80 % range)"]);
  }

  function bars(answer) {
    var ends = [answer, answer.pinned].filter(Boolean).map(function (each) {
      return each.figures.range_ms ? each.figures.range_ms[1] : each.figures.iteration_ms;
    });
    var longest = Math.max.apply(null, ends);
    var box = make("div", { className: "bars", "aria-hidden": "true" }, [bar("now: " + answer.words.time + " ms", answer, longest)]);
    if (answer.pinned) box.append(bar("pinned: " + answer.pinned.words.time + " ms", answer.pinned, longest));
    box.append(ruler(longest));
    if (box.querySelector(".range")) box.append(bracket_key());
    return box;
  }

  function cell(text, number) { return make("td", { className: number ? "number" : "", textContent: text }); }

  function changed(by, digits) {
    var text = by.toFixed(digits);
    return Number(text) === 0 ? "" : (by > 0 ? "+" : "") + text;
  }

  function parts_table(answer) {
    var mine = by_class(answer), other = answer.pinned ? by_class(answer.pinned) : null;
    var names = Object.keys(mine);
    if (other) names = names.concat(Object.keys(other).filter(function (name) { return !(name in mine); }));
    var heads = ["part", "ms"].concat(other ? ["pinned", "change"] : []);
    var digits = answer.figures.iteration_ms < 10 ? 3 : answer.figures.iteration_ms < 100 ? 2 : 1;
    var rows = names.map(function (name) {
      var dot = make("span", { className: "dot" });
      dot.style.background = "var(--" + name + ")";
      var ms = mine[name] || 0, before = other ? other[name] || 0 : 0, change = ms - before;
      var first = make("td", {}, [dot, spoken(name)]);
      return make("tr", {}, [first, cell(ms.toFixed(digits), true)].concat(other
        ? [cell(before.toFixed(digits), true), cell(changed(change, digits), true)] : []));
    });
    var head = make("tr", {}, heads.map(function (text, at) { return make("th", { textContent: text, className: at ? "number" : "", scope: "col" }); }));
    return make("div", {}, [
      make("div", { className: "scroll" }, [make("table", {}, [make("thead", {}, [head]), make("tbody", {}, rows)])]),
      make("small", { className: "origin", textContent: "Of each part the mean over the GPUs, as in the bar; the sentence above it follows the path that the iteration waits for." })]);
  }

  function pinned_text() {
    var turned = Object.keys(pinned.knobs).map(function (id) { return id + " " + pinned.knobs[id]; }).concat(pinned.more);
    return pinned.case + (turned.length ? " with " + turned.join(", ") : " as the scenario says");
  }

  function compared(answer) {
    if (!answer.order) return null;
    if (is_same(now, pinned)) return make("p", { className: "order", textContent: "This is the pinned case: change a field, and the two stand beside each other." });
    return make("p", { className: "order" }, [make("b", { textContent: answer.order.text }), make("br"),
      make("small", { className: "origin", textContent: "Pinned: " + pinned_text() + "." })]);
  }

  function show(answer) {
    latest = answer;
    show_state();
    if (answer.knobs) show_knobs(answer.knobs);
    show_error(answer.error ? answer : null);
    if (answer.error) {
      document.getElementById("status").textContent = "Not simulated; the figures below are those before.";
      return;
    }
    var figures = answer.figures;
    document.getElementById("about").textContent = figures.workload + " on " + figures.cluster + ": " + figures.gpus + " GPUs, plan by " + figures.planner;
    document.getElementById("brief").textContent = answer.words.time + " ms, " + answer.words.samples + " samples/s, " + answer.words.margin;
    document.getElementById("status").textContent = "Simulated in " + Math.round(Number(root_data.milliseconds)) + " ms.";
    document.getElementById("outcome").replaceChildren.apply(document.getElementById("outcome"), [
      figures_of(answer), compared(answer), answer.why ? make("p", { className: "summary", textContent: answer.why }) : null]
      .concat(answer.warnings.map(function (text) { return make("p", { className: "notice", textContent: text }); }),
        [bars(answer), parts_table(answer),
          answer.notes.length ? make("details", {}, [make("summary", { textContent: answer.notes.length + (answer.notes.length > 1 ? " notes" : " note") }),
            make("ul", {}, answer.notes.map(function (text) { return make("li", { textContent: text }); }))]) : null,
          make("section", {}, [make("h2", { textContent: "The same in a terminal" }), make("p", { className: "command", textContent: answer.command })])])
      .filter(Boolean));
  }

  build_form();
  from_address();
  show_state();
  main.replaceChildren(
    make("p", { id: "status", className: "status", role: "status", textContent: "Simulating ..." }),
    make("p", { id: "wrong", className: "notice", role: "alert", hidden: true }),
    make("div", { id: "outcome" }));
  document.body.append(make("p", { id: "brief", className: "brief", "aria-hidden": "true" }));
  ask();
  setInterval(tick, 100);
  setInterval(look, ALIVE_MS);
})();
