// The colours of charts, with Vega and without, on a light page, on a dark one and on paper. Charts name the colours that
// they have on white; on a dark page a grey keeps its contrast with the page, and a colour that would be hard to see there
// becomes lighter.
window.chartTheme = (function () {
  "use strict";
  var LEAST = 4.5;  // contrast with a dark page
  var BRIGHTEST = 0.25;  // how far a scale of colours goes towards its pale end on a dark page
  var PAPER = { ink: "#222", paper: "#fff", faint: "#595959", line: "#ddd", answer: "#0072b2", path: "#b00020" };
  var LEAST_WIDTH = 110, NARROW = 600, WORTH_GROWING = 12;  // px
  var TRIES = 4;  // at most, to fit a chart into its window
  var FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
  var COLOUR = /^(#[0-9a-f]{3}|#[0-9a-f]{6}|white|black)$/i;
  var NAMED = { white: "#ffffff", black: "#000000" };
  var media = window.matchMedia("(prefers-color-scheme: dark)");
  var shades = {};  // on the dark page, by what they are on white

  function is_dark(printing) { return media.matches && !printing; }

  // The colours of the page, or of white paper.
  function page(printing) {
    if (printing) return PAPER;
    var style = getComputedStyle(document.documentElement), found = {};
    Object.keys(PAPER).forEach(function (key) { found[key] = style.getPropertyValue("--" + key).trim() || PAPER[key]; });
    return found;
  }

  // Red, green and blue, of 255.
  function channels(colour) {
    var text = NAMED[colour] || colour;
    if (text[0] !== "#") return text.match(/[\d.]+/g).slice(0, 3).map(Number);
    if (text.length === 4) text = text.replace(/[0-9a-f]/gi, "$&$&");
    return [1, 3, 5].map(function (at) { return parseInt(text.slice(at, at + 2), 16); });
  }
  function hex(parts) {
    return "#" + parts.map(function (each) { return ("0" + Math.round(each).toString(16)).slice(-2); }).join("");
  }
  // As WCAG 2 has both.
  function luminance(parts) {
    var linear = parts.map(function (each) { return each <= 10.3 ? each / 3294.6 : Math.pow((each / 255 + 0.055) / 1.055, 2.4); });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }
  function contrast(one, other) {
    var a = luminance(one), b = luminance(other);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  function grey_of(light) {
    var part = light <= 0.0031308 ? light * 12.92 : 1.055 * Math.pow(light, 1 / 2.4) - 0.055;
    return [255 * part, 255 * part, 255 * part];
  }
  // From black over the full colour to white; hue and saturation stay.
  function with_lightness(parts, lightness) {
    var most = Math.max.apply(null, parts), least = Math.min.apply(null, parts), middle = (most + least) / 510;
    var width = most === least ? 0 : (most - least) / 255 / (1 - Math.abs(2 * middle - 1)) * (1 - Math.abs(2 * lightness - 1));
    return parts.map(function (each) {
      var place = most === least ? 0 : (each - least) / (most - least) - 0.5;
      return 255 * Math.max(0, Math.min(1, lightness + width * place));
    });
  }
  function lighter(parts, paper) {
    var lightness = (Math.max.apply(null, parts) + Math.min.apply(null, parts)) / 510, result = parts;
    while (contrast(result, paper) < LEAST && lightness < 1) {
      lightness += 0.01;
      result = with_lightness(parts, lightness);
    }
    return result;
  }
  function is_grey(parts) { return Math.max.apply(null, parts) - Math.min.apply(null, parts) < 24; }
  function on_dark(parts) {
    var colours = page(false), paper = channels(colours.paper), ink = channels(colours.ink);
    if (!is_grey(parts)) return lighter(parts, paper);
    if (Math.min.apply(null, parts) === 255) return paper;
    var wanted = Math.min(contrast(parts, [255, 255, 255]), contrast(ink, paper));
    return grey_of(wanted * (luminance(paper) + 0.05) - 0.05);
  }
  // What a colour on white becomes on this page.
  function shade(colour, printing) {
    if (!is_dark(printing)) return colour;
    if (!shades[colour]) shades[colour] = hex(on_dark(channels(colour)));
    return shades[colour];
  }
  // Of text on a mark of this colour, which is already that of the page.
  function ink_on(colour) {
    var parts = channels(colour), black = [0, 0, 0], white = [255, 255, 255];
    return contrast(parts, black) >= contrast(parts, white) ? "#000" : "#fff";
  }

  // A Vega specification with the colours of this page. Data stay as they are; scales from a pale colour to a dark one
  // turn round, so that what is most stands out on either page.
  function shaded(value, printing) {
    if (typeof value === "string") return COLOUR.test(value) ? shade(value, printing) : value;
    if (Array.isArray(value)) return value.map(function (each) { return shaded(each, printing); });
    if (value === null || typeof value !== "object") return value;
    var result = {};
    Object.keys(value).forEach(function (key) { result[key] = key === "values" ? value[key] : shaded(value[key], printing); });
    if (result.scheme && is_dark(printing)) result.extent = [1, BRIGHTEST];
    return result;
  }
  // What Vega's charts have in common. There is no background: they stand on the page.
  function config(printing) {
    var colours = page(printing), guides = { fill: colours.ink, font: FONT };
    return {
      font: FONT,
      text: { fill: colours.ink },
      rule: { stroke: colours.ink },
      title: { color: colours.ink, subtitleColor: colours.ink },
      style: { "guide-label": guides, "guide-title": guides, "group-title": guides, "group-subtitle": guides },
      axis: {
        labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", titlePadding: 8, titleColor: colours.ink, labelColor: colours.ink,
        gridColor: colours.line, domainColor: colours.faint, tickColor: colours.faint
      },
      axisX: { labelOverlap: true },
      legend: {
        layout: { bottom: { direction: "vertical", anchor: "start" } },
        labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal", titleColor: colours.ink, labelColor: colours.ink,
        gradientStrokeColor: colours.line
      }
    };
  }
  // A view to run; in its expressions ink_on(COLOUR) is the colour of text on a mark, and ink_on(null) on the page.
  function vega_view(spec, place, printing) {
    var ink = page(printing).ink;
    vega.expressionFunction("ink_on", function (colour) { return colour ? ink_on(colour) : ink; });
    if (!printing && place.clientWidth && place.clientWidth < NARROW) legends_below(spec);
    var view = new vega.View(vega.parse(shaded(spec, printing), config(printing)), {
      renderer: "svg", container: place, hover: true, logLevel: vega.Warn
    });
    return view;
  }
  // Runs a view, as a promise.
  function shown(view, place, printing) {
    return view.runAsync().then(function () { return printing ? view : fitted(view, place, TRIES, view.width()); });
  }
  // Beside a chart they would leave none of a narrow window to it.
  function legends_below(spec) {
    (spec.legends || []).forEach(function (legend) {
      if (!legend.orient || legend.orient === "right") legend.orient = "bottom", legend.direction = "vertical";
    });
  }
  // A chart whose width follows from its data has a signal for what its window has room for.
  function with_width(view, width) {
    try {
      return view.signal("most_width", width);
    } catch (error) {
      return view.width(width);
    }
  }
  // As wide as its window: what labels and a legend take is known only once they are drawn, and a narrow chart has less of
  // them, so that it may grow again, but for the last try.
  function fitted(view, place, tries, most) {
    var picture = place.querySelector("svg"), width = view.width();
    var over = picture && place.clientWidth ? picture.getBoundingClientRect().width - place.clientWidth : 0;
    var next = Math.max(LEAST_WIDTH, Math.min(most, Math.floor(width - over)));
    if (!tries || next === width || (over <= 0 && (next < width + WORTH_GROWING || tries === 1))) return view;
    return with_width(view, next).runAsync().then(function () { return fitted(view, place, tries - 1, most); });
  }

  media.addEventListener("change", function () { shades = {}; });
  return {
    page: page, shade: shade, ink_on: ink_on, is_dark: is_dark, vega_view: vega_view, shown: shown,
    on_change: function (work) { media.addEventListener("change", work); }
  };
})();
