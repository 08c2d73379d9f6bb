"use strict";
// A page of the routes, made of /openapi.json.

const $ = (id) => document.getElementById(id);

function element(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

/// "at least 1 entry, at most 128 entries": the bounds of a schema in words.
function bounds(schema) {
  const characters = ["character", "characters"], entries = ["entry", "entries"];
  const words = [["minimum", "at least"], ["exclusiveMinimum", "above"], ["maximum", "at most"], ["exclusiveMaximum", "below"],
    ["minLength", "at least", characters], ["maxLength", "at most", characters], ["minItems", "at least", entries],
    ["maxItems", "at most", entries]];
  return words.filter(([name]) => name in schema).map(([name, word, units]) =>
    [word, schema[name], ...(units ? [units[schema[name] === 1 ? 0 : 1]] : [])].join(" ")).join(", ");
}

/// What a value looks like, in one line.
function shape(schema) {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(shape))].join(" or ");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : schema.type ?? "any";
  const limits = bounds(schema);
  const outer = type === "array" ? `array of ${schema.items ? shape(schema.items) : "any"}` : type;
  return limits ? `${outer} (${limits})` : outer;
}

/// Rows for the fields of an object and, with a dotted name, of objects in it.
function rows(schema, prefix = "") {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const required = schema.required?.includes(name) ? [element("b", {}, "required")] : [];
    const nested = field.type === "array" ? field.items ?? {} : field;
    return [
      element("tr", {}, element("td", { className: "name" }, prefix + name, ...required),
        element("td", {}, shape(field)), element("td", {}, field.description ?? "")),
      ...rows(nested, `${prefix}${name}${field.type === "array" ? "[]" : ""}.`),
    ];
  });
}

function fieldTable(schema) {
  const fields = rows(schema);
  if (!fields.length) return [];
  const head = element("tr", {}, ...["field", "value", ""].map((word) => element("th", {}, word)));
  return [element("table", {}, head, ...fields)];
}

function route(path, method, operation) {
  const id = method + path;
  const badge = () => element("span", { className: `method ${method}` }, method.toUpperCase());
  $("contents").append(element("a", { href: "#" + id }, badge(), " " + path));
  const schema = operation.requestBody?.content?.["application/json"]?.schema;
  return element("section", { id }, element("h2", {}, badge(), " " + path),
    ...(operation.summary ? [element("p", {}, operation.summary)] : []),
    element("p", { className: "access" }, operation.security ? "wants a key, where the server has one" : "public"),
    ...(schema ? fieldTable(schema) : []));
}

(async () => {
  try {
    const response = await fetch("/openapi.json");
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    const { info, paths } = await response.json();
    $("server").textContent = `HTTP API, version ${info.version}`;
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(operations)) $("routes").append(route(path, method, operation));
    }
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  } catch (error) {
    $("server").textContent = error.message;
  }
})();
