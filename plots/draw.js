// Draws every chart of the report from the specification that is embedded beside it. The page's title and
// data-charts say when all are done, for tests.
(function () {
  "use strict";
  var rows = {};  // by CHART/SET, as text: a view adds to what it is given
  function specification(script) {
    var spec = JSON.parse(script.textContent);
    spec.data.forEach(function (set) {
      if (typeof set.values === "string") set.values = JSON.parse(rows[set.values]);
      else if (set.values) rows[script.dataset.chart + "/" + set.name] = JSON.stringify(set.values);
    });
    return spec;
  }
  function draw(script) {
    var place = document.getElementById(script.dataset.chart);
    try {
      var view = new vega.View(vega.parse(specification(script)), {
        renderer: "svg", container: place, hover: true, logLevel: vega.Warn
      });
      return view.runAsync().then(function () { return 1; }, function (error) { return failed(place, error); });
    } catch (error) {
      return Promise.resolve(failed(place, error));
    }
  }
  function failed(place, error) {
    var note = document.createElement("p");
    note.className = "failed";
    note.textContent = "This chart could not be drawn (" + error + "). Its numbers are in the table below.";
    place.appendChild(note);
    return 0;
  }
  var scripts = Array.prototype.slice.call(document.querySelectorAll("script[data-chart]"));
  Promise.all(scripts.map(draw)).then(function (drawn) {
    var count = drawn.reduce(function (sum, one) { return sum + one; }, 0);
    document.documentElement.dataset.charts = count + "/" + scripts.length;
    document.title += " (" + count + " of " + scripts.length + " charts)";
  });
})();
