"use strict";
const $ = (id) => document.getElementById(id);

// Text of models, prompts and errors only ever becomes text nodes.
function element(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

// Words of the field, as DESIGN.md has them.
const TERMS = {
  "tokens per second": "Tokens a second, behind the first one. Of a request: as the server measured it; of the server: over ten seconds.",
  "accept length": "Tokens emitted per verify step, the correction or bonus included. Without drafting it is 1.",
  "× plain": "How many times as many tokens a second as the same request without drafting, which ran right behind it.",
  "accepted": "Drafted, and the target model agreed.",
  "correction": "The target model's own token, where it did not agree with the drafted one.",
  "bonus": "The target model's own token behind a draft that it took as a whole.",
  "escape": "A token that the draft could not have proposed: it is outside the active vocabulary, the request's own rows and the successors of the token before.",
  "not drafted for": "Nothing was drafted in its step; the first token comes of the prompt itself.",
  "coverage": "Of the tokens emitted by verify steps, those that the draft could have proposed. The others are escapes.",
  "requests waiting": "Requests that have come and are not being computed yet.",
  "KV cache in use": "Share of the places for keys and values that running requests hold.",
};

function term(word, className = "") {
  const node = element("span", { className: `${className} term`, tabIndex: 0 }, word);
  node.dataset.term = word;
  node.setAttribute("aria-describedby", "tip");
  return node;
}

function showTip(text, box) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (box.top > tip.offsetHeight + 8 ? box.top - tip.offsetHeight - 4 : box.bottom + 4) + "px";
}

for (const kind of ["pointerover", "focusin", "click"]) {
  document.addEventListener(kind, ({ target }) => {
    const word = target.dataset?.term;
    if (word) showTip(TERMS[word], target.getBoundingClientRect());
  });
}
for (const kind of ["pointerout", "focusout"]) {
  document.addEventListener(kind, ({ target }) => { if (target.dataset?.term) $("tip").hidden = true; });
}

// Requests.

let wantsKey = false;
const headers = () => ($("key").value ? { Authorization: "Bearer " + $("key").value } : {});
const post = (path, body, signal) => request(path, {
  method: "POST", signal, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

async function request(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { ...options.headers, ...headers() } });
  if (response.ok) return response;
  if (response.status === 401) {
    wantsKey = true;
    $("key_field").hidden = false;
  }
  let reason = "";
  try {
    const body = await response.json();
    reason = body.error?.message ?? body.message ?? "";
  } catch { /* a body that is no JSON says nothing more than the status */ }
  const error = new Error(`${response.status} ${reason || response.statusText}`);
  if (response.status === 401) error.message += " – enter it in the field “API key” above";
  error.status = response.status;
  throw error;
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Error(event.error.message);
      yield event;
    }
  }
}

// Tokens.

const ORIGINS = {
  plain: "nothing was drafted for it",
  accepted: "drafted and accepted",
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
  if (counts.plain) kinds.push(item("plain", "not drafted for"));
  $("legend").hidden = !drafts;
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

function showFigure(word, text) {
  figures[word].textContent = text;
  figures[word].parentNode.hidden = false;
}

const speed = (value) => value.toFixed(value < 10 ? 1 : 0);

// Generation.

let running = null;
let messages = [];  // of the chat

const inChat = () => $("chat_mode").checked;
const number = (id) => $(id).valueAsNumber;

function tell(words, isError = false) {
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
  $("plain_pane").hidden = $("drafted_name").hidden = true;
  buildFigures();
  showLegend();
  tell("");
}

const turn = (who, ...children) => element("div", { className: "turn" }, element("span", { className: "who" }, who), ...children);

/// Where the tokens go: behind the prompt, or into a turn of their own.
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
  const sampling_params = { max_new_tokens: number("max_new_tokens"), temperature: number("temperature"), sampling_seed: number("seed") };
  const body = { stream: true, return_token_infos: true, return_logprob: true, sampling_params };
  if (!inChat()) return { ...body, text: prompt };
  const [ids, info] = await Promise.all([
    post("/tokenize", { messages }, signal).then((response) => response.json()),
    request("/tokenizer_info", { signal }).then((response) => response.json()),
  ]);
  if (info.chat_stops.length) sampling_params.stop = info.chat_stops;
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
    tell(summary(event.meta_info, (performance.now() - begin) / 1000));
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
  if (plain.speed && drafted.speed) showFigure("× plain", (drafted.speed / plain.speed).toFixed(2) + " ×");
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
  $("start").textContent = controller ? "Stop" : "Generate";
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
  tell("waiting …");
  reveal();
  let answer = "";
  try {
    const body = await generateBody(prompt, mine.signal);
    const drafted = await decodeDrafted(body, mine.signal, place, (text) => { answer = text; });
    if (drafts && $("compare").checked) await decodePlainly(body, mine.signal, prompt, drafted);
  } catch (error) {
    if (running !== mine) return;
    const stopped = error.name === "AbortError";
    tell(stopped ? "stopped" : error.message, !stopped);
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

for (const mode of document.getElementsByName("mode")) {
  mode.addEventListener("change", () => {
    $("prompt_name").textContent = inChat() ? "Message" : "Prompt";
    $("new_chat").hidden = !inChat();
    if ($("prompt").value === $("prompt").defaultValue && inChat()) $("prompt").value = "";
    else if (!inChat()) $("prompt").value ||= $("prompt").defaultValue;
    reset();
  });
}
$("new_chat").addEventListener("click", reset);

// The same request by the dialect that most clients speak.
function curl() {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const prompt = $("prompt").value;
  const body = { model: model ?? "default" };
  if (inChat()) body.messages = [...messages, ...(prompt ? [{ role: "user", content: prompt }] : [])];
  else body.prompt = prompt;
  Object.assign(body, { max_tokens: number("max_new_tokens"), temperature: number("temperature"), seed: number("seed") });
  const lines = [`curl ${quoted(location.origin + (inChat() ? "/v1/chat/completions" : "/v1/completions"))}`,
    "-H 'Content-Type: application/json'"];
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
