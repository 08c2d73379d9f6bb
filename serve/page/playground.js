// Tokens.

const ORIGINS = {
  plain: "nothing was drafted for it",
  accepted: "drafted and accepted",
  forced: "forced by the grammar",
  correction: "correction",
  bonus: "bonus",
};
let drafts = false;  // the server has a draft
let counts = {};     // of this request
let tokens = [];     // of all that the output shows
let current = -1;

function showLegend() {
  const item = (kind, word) => element("li", {}, term(word, "token " + kind),
    counts.all ? ` ${counts[kind] ?? 0} (${Math.round(100 * (counts[kind] ?? 0) / counts.all)} %)` : "");
  const kinds = ["accepted", "correction", "bonus", "escape"].map((kind) => item(kind, kind));
  if (counts.forced) kinds.splice(1, 0, item("forced", "forced"));
  if (counts.plain) kinds.push(item("plain", "not drafted for"));
  $("legend").hidden = !drafts || encodes();
  $("legend").replaceChildren(...kinds);
}

function addToken(token, place) {
  const kind = Object.hasOwn(ORIGINS, token.origin) ? token.origin : "plain";
  for (const name of ["all", kind, ...(token.escape ? ["escape"] : [])]) counts[name] = (counts[name] ?? 0) + 1;
  const span = element("span", { className: `token ${kind}${token.escape ? " escape" : ""}` }, token.text);
  tokens.push({ ...token, kind, span });
  span.dataset.index = tokens.length - 1;
  place.append(span);
}

function describe(token) {
  const parts = [JSON.stringify(token.text)];
  if (drafts) parts.push(ORIGINS[token.kind]);
  if (token.escape) parts.push("escape");
  if (typeof token.logprob === "number") parts.push(`probability ${(100 * Math.exp(token.logprob)).toFixed(1)} %`);
  parts.push(`id ${token.id}`);
  return parts.join(" · ");
}

function select(index) {
  if (current >= 0) tokens[current]?.span.classList.remove("current");
  current = index >= 0 && index < tokens.length ? index : -1;
  $("tip").hidden = true;
  if (current < 0) return;
  const { span } = tokens[current];
  span.classList.add("current");
  showTip(describe(tokens[current]), span.getClientRects()[0] ?? span.getBoundingClientRect());
}

const indexOf = (event) => Number(event.target.dataset?.index ?? -1);
$("output").addEventListener("pointerover", (event) => select(indexOf(event)));
$("output").addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") select(-1); });
$("output").addEventListener("click", (event) => select(indexOf(event)));
$("output").addEventListener("scroll", () => select(-1));
$("output").addEventListener("blur", () => select(-1));
$("output").addEventListener("keydown", (event) => {
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  let next;
  if (event.key in steps) next = Math.min(tokens.length - 1, Math.max(0, current + steps[event.key]));
  else if (event.key === "Home") next = 0;
  else if (event.key === "End") next = tokens.length - 1;
  else return;
  event.preventDefault();
  tokens[next]?.span.scrollIntoView({ block: "nearest" });
  requestAnimationFrame(() => select(next));  // after the scroll event, which hides the tip
});

// Figures of this request.

const figures = {};

function buildFigures() {
  $("figures").replaceChildren(...["tokens per second", "accept length", "× plain"].map((word) => {
    figures[word] = element("dd", {}, "–");
    return element("div", { hidden: true }, element("dt", {}, term(word)), figures[word]);
  }));
}

function showFigure(word, text, note = "") {
  figures[word].replaceChildren(text, ...(note ? [element("small", {}, note)] : []));
  figures[word].parentNode.hidden = false;
}

const speed = (value) => value.toFixed(value < 10 ? 1 : 0);

// Generation.

let running = null;
let messages = [];  // of the chat, without the system message

const mode = () => document.querySelector("input[name=mode]:checked").value;
const inChat = () => mode() === "chat";
const encodes = () => mode() === "embed" || mode() === "rerank";
const number = (id) => $(id).valueAsNumber;

const schema = () => $("schema").value.trim();
/// The lines that hold something; \n and \t in them as a program writes them.
const stops = () => $("stop").value.split("\n").filter(Boolean)
  .map((line) => line.replaceAll("\\n", "\n").replaceAll("\\t", "\t"));

/// The conversation with its system message.
function conversation(...more) {
  const system = $("system").value.trim();
  return [...(system ? [{ role: "system", content: system }] : []), ...messages, ...more];
}

function showStatus(words, isError = false) {
  $("message").textContent = words;
  $("message").classList.toggle("error", isError);
}

function summary(meta, seconds) {
  const parts = [`${meta.completion_tokens} tokens in ${seconds.toFixed(2)} s`];
  if (meta.cached_tokens) parts.push(`${meta.cached_tokens} of ${meta.prompt_tokens} prompt tokens from the cache`);
  if (meta.finish_reason) parts.push(`ended by ${meta.finish_reason.type}`);
  return parts.join(", ");
}

function reset() {
  running?.abort();
  select(-1);
  messages = [];
  tokens = [];
  counts = {};
  $("output").replaceChildren();
  $("encoded").replaceChildren();
  $("plain_pane").hidden = $("drafted_name").hidden = true;
  buildFigures();
  showLegend();
  showStatus("");
}

const turn = (who, ...children) => element("div", { className: "turn" }, element("span", { className: "who" }, who), ...children);

/// Returns the place of the tokens: after the prompt, or in a turn of their own.
function openOutput(prompt) {
  select(-1);
  counts = {};
  buildFigures();
  if (!inChat()) {
    tokens = [];
    $("output").replaceChildren(element("span", { className: "prompt" }, prompt));
    return $("output");
  }
  const answer = turn("assistant");
  $("output").append(turn("you", prompt), answer);
  return answer;
}

async function generateBody(prompt, signal) {
  const sampling_params = { max_new_tokens: number("max_new_tokens"), temperature: number("temperature"),
    top_p: number("top_p"), sampling_seed: number("seed"), stop: stops() };
  if (schema()) sampling_params.json_schema = schema();
  const body = { stream: true, return_token_infos: true, return_logprob: true, sampling_params };
  if (!inChat()) return { ...body, text: prompt };
  const [ids, info] = await Promise.all([
    post("/tokenize", { messages: conversation() }, signal).then((response) => response.json()),
    request("/tokenizer_info", { signal }).then((response) => response.json()),
  ]);
  sampling_params.stop.push(...info.chat_stops);
  if (info.chat_stop_token_ids.length) sampling_params.stop_token_ids = info.chat_stop_token_ids;
  return { ...body, input_ids: ids.tokens };
}

/// Generates, with `onEvent(event, tokens a second)` on the way; the last event.
async function decode(body, signal, onEvent) {
  let first = null, last = null;
  for await (const event of events(await post("/generate", body, signal))) {
    const count = event.meta_info.completion_tokens;
    first ??= { count, time: performance.now() };
    const seconds = (performance.now() - first.time) / 1000;
    event.speed = event.meta_info.decode_throughput ?? (count > first.count ? (count - first.count) / seconds : NaN);
    onEvent(event);
    last = event;
  }
  return last;
}

async function decodeDrafted(body, signal, place, onText) {
  const begin = performance.now();
  return decode(body, signal, (event) => {
    onText(event.text);
    for (const token of event.token_infos ?? []) addToken(token, place);
    showLegend();
    $("output").scrollTop = $("output").scrollHeight;
    if (event.speed) showFigure("tokens per second", speed(event.speed));
    if (event.meta_info.spec_accept_length) showFigure("accept length", event.meta_info.spec_accept_length.toFixed(2));
    showStatus(summary(event.meta_info, (performance.now() - begin) / 1000));
  });
}

async function decodePlainly(body, signal, prompt, drafted) {
  const text = element("span", {});
  $("plain").replaceChildren(...(inChat() ? [] : [element("span", { className: "prompt" }, prompt)]), text);
  $("plain_name").textContent = "Plain";
  $("plain_pane").hidden = $("drafted_name").hidden = false;
  $("plain").scrollIntoView({ block: "nearest" });
  const plain = await decode({ ...body, speculate: false }, signal, (event) => {
    text.textContent = event.text;
    $("plain").scrollTop = $("plain").scrollHeight;
    if (event.speed) $("plain_name").textContent = `Plain: ${speed(event.speed)} tokens per second`;
  });
  const same = String(plain.output_ids) === String(drafted.output_ids);
  $("plain_name").textContent += same ? ", the same output" : ", ANOTHER OUTPUT";
  return plain;
}

/// "1.62 ×", of several runs with the least and the most.
function showRatios(ratios) {
  const sorted = ratios.filter(Number.isFinite).sort((a, b) => a - b);
  if (!sorted.length) return;
  const half = sorted.length / 2;
  const median = (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  showFigure("× plain", median.toFixed(2) + " ×", sorted.length === 1 ? "one run"
    : `${sorted[0].toFixed(2)} to ${sorted.at(-1).toFixed(2)}, ${sorted.length} runs`);
}

/// The request plainly, then both ways by turns, so that a machine that slows down slows both.
async function compare(body, signal, prompt, drafted) {
  const plain = await decodePlainly(body, signal, prompt, drafted);
  const ratios = [drafted.speed / plain.speed];
  showRatios(ratios);
  const runs = number("runs");
  const words = $("message").textContent;
  for (let run = 2; run <= runs; ++run) {
    showStatus(`${words}; run ${run} of ${runs} …`);
    const again = await decode(body, signal, () => {});
    const plainAgain = await decode({ ...body, speculate: false }, signal, () => {});
    ratios.push(again.speed / plainAgain.speed);
    showRatios(ratios);
  }
  showStatus(words);
}

// The result is what one wants to see, on a phone too.
function reveal() {
  const { top } = $("result_section").getBoundingClientRect();
  if (top >= 0 && top < innerHeight / 2) return;
  document.activeElement?.blur();  // takes the keyboard of a phone away
  $("result_section").scrollIntoView({ block: "start" });
}

function setRunning(controller) {
  running = controller;
  $("start").textContent = controller ? "Stop" : MODES[mode()].start;
  $("start").classList.toggle("running", controller !== null);
}

async function generate() {
  const prompt = $("prompt").value;
  const mine = new AbortController();
  setRunning(mine);
  const before = [...$("output").childNodes];
  const place = openOutput(prompt);
  $("plain_pane").hidden = $("drafted_name").hidden = true;
  if (inChat()) {
    messages.push({ role: "user", content: prompt });
    $("prompt").value = "";
  }
  showLegend();
  showStatus("waiting …");
  reveal();
  let answer = "";
  try {
    const body = await generateBody(prompt, mine.signal);
    const drafted = await decodeDrafted(body, mine.signal, place, (text) => { answer = text; });
    if (drafts && $("compare").checked) await compare(body, mine.signal, prompt, drafted);
  } catch (error) {
    if (running !== mine) return;
    const stopped = error.name === "AbortError";
    showStatus(stopped ? "stopped" : error.message, !stopped);
    if (error.status === 401) $("key").focus();
  }
  if (running === mine) setRunning(null);
  if (!inChat() || !messages.length) return;
  if (answer) {
    messages.push({ role: "assistant", content: answer });
  } else {  // as if it had not been asked
    messages.pop();
    $("output").replaceChildren(...before);
    $("prompt").value ||= prompt;
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) running.abort();
  else if (encodes()) encode();
  else generate();
});
$("start").addEventListener("click", (event) => {
  if (!running) return;
  event.preventDefault();  // stops whatever the fields hold
  running.abort();
});
$("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); $("form").requestSubmit(); }
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") { select(-1); running?.abort(); } });

const MODES = {
  text: { prompt: "Prompt", start: "Generate" },
  chat: { prompt: "Message", start: "Generate" },
  embed: { prompt: "Texts, one a line", start: "Embed" },
  rerank: { prompt: "Documents, one a line", start: "Rank" },
};

function showMode() {
  const { prompt, start } = MODES[mode()];
  $("prompt_name").textContent = prompt;
  $("start").textContent = start;
  for (const [id, shown] of [["new_chat", inChat()], ["system_field", inChat()], ["query_field", mode() === "rerank"],
    ["sampling", !encodes()], ["compare_field", drafts && !encodes()], ["runs_field", drafts && !encodes() && $("compare").checked],
    ["drafted_pane", !encodes()], ["encoded", encodes()]]) {
    $(id).hidden = !shown;
  }
  $("query").required = mode() === "rerank";
  if ($("prompt").value === $("prompt").defaultValue && mode() !== "text") $("prompt").value = "";
  else if (mode() === "text") $("prompt").value ||= $("prompt").defaultValue;
  reset();
}

for (const choice of document.getElementsByName("mode")) choice.addEventListener("change", showMode);
$("compare").addEventListener("change", () => { $("runs_field").hidden = !$("compare").checked; });
$("new_chat").addEventListener("click", reset);

// The same request by the dialect that most clients speak: its path and body.
function requestOfClients() {
  const prompt = $("prompt").value;
  if (encodes()) return encodeRequest();
  const body = { model: model ?? "default" };
  if (inChat()) body.messages = conversation(...(prompt ? [{ role: "user", content: prompt }] : []));
  else body.prompt = prompt;
  Object.assign(body, { max_tokens: number("max_new_tokens"), temperature: number("temperature"), seed: number("seed") });
  if (number("top_p") !== 1) body.top_p = number("top_p");
  if (stops().length) body.stop = stops();
  if (schema()) body.json_schema = schema();
  return [inChat() ? "/v1/chat/completions" : "/v1/completions", body];
}

function curl() {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const [path, body] = requestOfClients();
  const lines = [`curl ${quoted(location.origin + path)}`, "-H 'Content-Type: application/json'"];
  if (wantsKey) lines.push('-H "Authorization: Bearer $SHORTLIST_API_KEY"');
  return [...lines, `-d ${quoted(JSON.stringify(body))}`].join(" \\\n  ");
}

$("copy").addEventListener("click", async () => {
  $("curl").textContent = curl();
  $("curl").hidden = false;
  try {
    await navigator.clipboard.writeText(curl());
    $("copy").textContent = "Copied as curl";
  } catch {  // only where the browser trusts the origin
    getSelection().selectAllChildren($("curl"));
    $("copy").textContent = "Copy it from below";
  }
  setTimeout(() => { $("copy").textContent = "Copy as curl"; }, 3000);
});
