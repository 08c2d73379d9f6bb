// Live charts.

const POLL_MS = 1000, SAMPLES = 120;
const whole = (value) => value.toFixed(0);
const percent = (value) => (100 * value).toFixed(value === 0 || value === 1 ? 0 : 1) + " %";
const CHARTS = [
  { name: "tokens per second", unit: whole, low: 10, ofText: true, sample: ({ load }) => load.gen_throughput },
  { name: "accept length", unit: (value) => value.toFixed(2), low: 5, ofDraft: true, sample: ({ grown }) => grown("step_tokens", "steps") },
  { name: "coverage", unit: percent, low: 1, ofDraft: true, sample: ({ grown }) => 1 - grown("escapes", "step_tokens") },
  { name: "requests waiting", unit: whole, low: 5, sample: ({ load }) => load.num_waiting_reqs },
  { name: "KV cache in use", unit: percent, low: 1, ofText: true, sample: ({ load }) => load.token_usage },
];
let charts = [];

/// The next of 1, 2, 5, 10, 20, ...
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * power >= value * 0.999) * power;
}

function buildChart(kind) {
  const svgElement = (name, attributes) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };
  const svg = svgElement("svg", { viewBox: `0 0 ${SAMPLES - 1} 100`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const curve = svgElement("polyline", {});
  svg.append(svgElement("line", { x1: 0, x2: SAMPLES - 1, y1: 50, y2: 50 }), curve);
  const value = element("output", {}, "–");
  const top = element("span", {}, kind.unit(kind.low));
  const scale = element("div", { className: "scale", ariaHidden: "true" }, top, element("span", {}, "0"));
  $("charts").append(element("figure", {}, element("figcaption", {}, term(kind.name), value),
    element("div", { className: "plot" }, scale, svg)));
  return { ...kind, curve, value, top, samples: [] };
}

// The server does not repeat unchanged values: without a new one a chart stays as it is.
function addSample(chart, value) {
  chart.samples.push(Number.isFinite(value) ? value : chart.samples.at(-1) ?? null);
  if (chart.samples.length > SAMPLES) chart.samples.shift();
  const shown = chart.samples.at(-1);
  chart.value.textContent = shown === null ? "–" : chart.unit(shown);
  const high = ceiling(Math.max(chart.low, ...chart.samples));
  chart.top.textContent = high >= 10000 ? high / 1000 + "k" : high === 1 ? chart.unit(high) : String(high);
  const offset = SAMPLES - chart.samples.length;
  chart.curve.setAttribute("points", chart.samples.flatMap((sample, i) =>
    sample === null ? [] : [`${offset + i},${(98 - 96 * sample / high).toFixed(1)}`]).join(" "));
}

// Counters of a Prometheus text that grow with requests.
function readCounters(text) {
  const names = {
    "shortlist:step_tokens_total": "step_tokens",
    "sglang:spec_verify_calls_total": "steps",
    "shortlist:escapes_total": "escapes",
  };
  const counters = {};
  for (const line of text.split("\n")) {
    const [, name, value] = /^([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)/.exec(line) ?? [];
    if (name in names) counters[names[name]] = Number(value);
  }
  return counters;
}

let last = null;
let model = null;

async function connect() {
  const [info, { is_generation }] = await Promise.all(["/server_info", "/model_info"].map(
    (path) => request(path).then((response) => response.json())));
  model = info.served_model_name;
  drafts = info.speculative_num_draft_tokens > 0;
  $("compare_field").hidden = !drafts || encodes();
  showEncoders(is_generation, info.encoders);
  showLegend();
  $("charts").replaceChildren();
  charts = CHARTS.filter((kind) => (drafts || !kind.ofDraft) && (is_generation || !kind.ofText)).map(buildChart);
}

/// False: it makes no sense again before there is another key.
async function poll() {
  if (document.hidden) return true;
  try {
    if (model === null) await connect();
    const [loads, now] = await Promise.all([
      request("/v1/loads").then((response) => response.json()),
      request("/metrics").then((response) => response.text()).then(readCounters),
    ]);
    const grown = (top, bottom) => last && now[bottom] > last[bottom] ? (now[top] - last[top]) / (now[bottom] - last[bottom]) : NaN;
    for (const chart of charts) addSample(chart, chart.sample({ load: loads.loads[0], grown }));
    last = now;
    $("server").textContent = `serves ${model}`;
  } catch (error) {
    $("server").textContent = error.message;
    last = model = null;
    return error.status !== 401;
  }
  return true;
}

const keyIsGiven = () => new Promise((resolve) => $("key").addEventListener("change", resolve, { once: true }));

buildFigures();
showLegend();
(async () => {
  for (;;) {
    if (await poll()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    else await keyIsGiven();
  }
})();
