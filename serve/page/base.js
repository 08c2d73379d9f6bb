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
  "tokens per second": "Tokens per second, after the first one. Of a request: as the server measured it; of the server: over ten seconds.",
  "accept length": "Tokens emitted per verify step, the correction or bonus included. Without drafting it is 1.",
  "× plain": "How many times as many tokens a second as without drafting. Over several runs of both, by turns: the median, and the least and the most.",
  "similarity": "Cosine of the angle between two vectors: 1 for the same direction.",
  "dimensions": "Numbers in the vector of a text.",
  "accepted": "Drafted, and the target model agreed.",
  "forced": "Drafted without a pass, because the grammar allowed no other text, and the target model agreed.",
  "correction": "The target model's own token, where it did not agree with the drafted one.",
  "bonus": "The target model's own token after a draft that it accepted as a whole.",
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

