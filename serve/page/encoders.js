// Embeddings and rankings, of servers that have encoders.

let encoders = [];  // as /server_info names them
const MOST_COMPARED = 12;

const lines = () => $("prompt").value.split("\n").map((line) => line.trim()).filter(Boolean);
const nameOf = (kind) => encoders.find(({ makes }) => makes === kind)?.name;

/// Path and body of what encode() asks for.
function encodeRequest() {
  return mode() === "embed"
    ? ["/v1/embeddings", { model: nameOf("vectors"), input: lines() }]
    : ["/v2/rerank", { model: nameOf("scores"), query: $("query").value, documents: lines() }];
}

function cosine(a, b) {
  const product = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}

const cell = (name, ...children) => element(name, {}, ...children);

/// How alike each two texts are.
function showVectors({ data }) {
  const vectors = data.map(({ embedding }) => embedding).slice(0, MOST_COMPARED);
  const texts = lines();
  const head = cell("tr", cell("th", term("similarity")), ...vectors.map((_, i) => cell("th", String(i + 1))));
  const rows = vectors.map((vector, i) => cell("tr", cell("th", `${i + 1}. ${texts[i]}`),
    ...vectors.map((other) => {
      const likeness = cosine(vector, other);
      const shown = cell("td", likeness.toFixed(2));
      shown.style.setProperty("--share", Math.max(0, likeness).toFixed(3));
      return shown;
    })));
  $("encoded").replaceChildren(cell("table", head, ...rows));
  const rest = data.length - vectors.length;
  return `${data[0].embedding.length} dimensions` + (rest > 0 ? `; the first ${MOST_COMPARED} of ${data.length} texts are compared` : "");
}

function showRanking({ results }) {
  const texts = lines();
  const most = Math.max(...results.map(({ relevance_score }) => Math.abs(relevance_score)), Number.MIN_VALUE);
  const rows = results.map(({ index, relevance_score }, rank) => {
    const score = cell("td", relevance_score.toPrecision(4));
    score.style.setProperty("--share", Math.max(0, relevance_score / most).toFixed(3));
    return cell("tr", cell("td", String(rank + 1)), score, cell("th", texts[index]));
  });
  $("encoded").replaceChildren(cell("table",
    cell("tr", cell("th", "rank"), cell("th", "score"), cell("th", "document")), ...rows));
  return `${results.length} ${results.length === 1 ? "document" : "documents"}`;
}

async function encode() {
  const mine = new AbortController();
  setRunning(mine);
  showStatus("waiting …");
  reveal();
  try {
    const [path, body] = encodeRequest();
    const begin = performance.now();
    const reply = await post(path, body, mine.signal).then((response) => response.json());
    const seconds = (performance.now() - begin) / 1000;
    showStatus(`${(mode() === "embed" ? showVectors : showRanking)(reply)}, ${seconds.toFixed(2)} s`);
  } catch (error) {
    if (running !== mine) return;
    const stopped = error.name === "AbortError";
    showStatus(stopped ? "stopped" : error.message, !stopped);
    if (error.status === 401) $("key").focus();
  }
  if (running === mine) setRunning(null);
}

/// Offers what the server has models for.
function showEncoders(generates, served) {
  encoders = served;
  const offered = { text: generates, chat: generates, embed: !!nameOf("vectors"), rerank: !!nameOf("scores") };
  for (const choice of document.getElementsByName("mode")) choice.parentNode.hidden = !offered[choice.value];
  if (offered[mode()]) return;
  const first = [...document.getElementsByName("mode")].find(({ value }) => offered[value]);
  if (first) first.checked = true;
  showMode();
}
