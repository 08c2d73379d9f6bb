"""Requests to the routes of encoders with one error each, and the expected content of the reply. The server has the
tiny encoders of tests/support/tiny_encoder.py, named "embed" and "judge"."""

import json
from dataclasses import dataclass, field

MAX_TOKENS, VOCAB_SIZE, DIMENSIONS = 30, 600, 36
OVERFLOW = "context_length_exceeded"
LONG_TEXT = "not " * MAX_TOKENS
SCALARS = [5, -1.5, True, {}, {"text": 1}]


@dataclass
class Wrong:
    """A request and its rejection: the field that it names, and words of its message."""

    body: object  # as JSON, or bytes
    param: str | None
    words: str
    status: int = 400
    code: str = "invalid_request"


@dataclass
class Kind:
    """Rejected values of a field, and words of the reason: values(random) returns both."""

    values: object

    def draw(self, random):
        return random.choice(self.values) if isinstance(self.values, list) else self.values(random)


def integer(low, high):
    words = f"is not an integer in [{low}, {high}]"
    beyond = [low - 1, high + 1, -(10**12), 2**63, 2**64 - 1, 10**30, 1e300, -1e300, low + 0.5]
    return Kind([(value, words) for value in [*beyond, "1", "", [], [1], {}, True, False]])


def string(max_bytes, *others):
    wrong = [(value, "is not a string") for value in (5, 0, 1.5, True, False, [], ["a"], {})]
    return Kind([*wrong, ("x" * (max_bytes + 1), f"{max_bytes + 1} bytes, more than {max_bytes}"), *others])


BOOL = Kind([(value, "is neither true nor false") for value in (0, 1, "true", "", [], {}, 0.5)])
SIDE = string(256, *[(value, 'neither "left" nor "right"') for value in ("middle", "", "lefts")])
QUERY = Kind([(value, "is not a string") for value in SCALARS + [["a"]]])
REFUSED = Kind([(value, "not supported") for value in ("x", 1, True, [1], {"a": 1})])

SCHEDULING = {"model": string(256), "priority": integer(-(10**6), 10**6), "rid": string(256), "request_id": string(256)}
CUT = {"truncate": BOOL, "truncate_prompt_tokens": integer(-1, MAX_TOKENS), "truncation_side": SIDE,
       "truncation_direction": SIDE}
VECTOR = {"dimensions": integer(1, DIMENSIONS), "normalize": BOOL, "instruction": string(16 << 10),
          "prompt_name": string(256, ("unknown", "the model's prompts are document, query")),
          "input_type": string(256, ("image", 'neither "query" nor "document"'))}
FORMAT = {"encoding_format": string(256, *[(value, f"Invalid value for 'encoding_format' = {value}.") for value in
                                           ("md5", "", "floats")])}
COUNT = integer(1, 2**31)
RANKING = {"top_n": COUNT, "top_k": COUNT, "raw_scores": BOOL,
           "max_tokens_per_doc": COUNT,
           "instruct": string(16 << 10, ("x", "reads pairs without an instruction")), "rank_fields": REFUSED, "lora_path": REFUSED}
SPARSE = {"sparse_top_n": integer(1, VOCAB_SIZE),
          "sparse_threshold": Kind([(value, "is not a number in [0, 1e+30]") for value in
                                    ("1", [], {}, True, -1, -1e-9, 1e31, 1e300, [0.5])])}
TYPES = {"embedding_types": Kind([
    *[(value, "is neither a string nor a list of strings") for value in (5, True, {}, {"dense": 1}, 0.5)],
    *[(value, "is neither \"dense\", \"sparse\" nor \"colbert\"") for value in ("", "float", ["binary"], ["dense", "Sparse"])],
    ([], "a list that is empty"), (["dense"] * 4, "more than 3")]),
    **{name: Kind([(value, "there is no \"sparse\" among embedding_types") for value in (1, "a", [1], 1e300)])
       for name in ("sparse_top_n", "sparse_threshold")}}
ZERO_SHOT = {name: Kind([(value, "which are not given") for value in ("x", 1, True, [1])])
             for name in ("hypothesis_template", "multi_label")}
SCORING = SCHEDULING | CUT | {"raw_scores": BOOL, "embed_overrides": REFUSED}


def places(name, index, is_list=True):
    return f"{name}[{index}]" if is_list else name


def of_element(place, value, words):
    """Returns where an invalid input is rejected, and with which words: an object is {"text", "image"}."""
    if not isinstance(value, dict):
        return place, words
    return f"{place}.text", "not a text" if value else "neither a text nor a picture is there"


def sources(name, cuts=False):
    """A text, texts, ids or lists of ids."""
    def draw(random):
        how = random.randrange(6)
        count = random.randrange(1, 6)
        at = random.randrange(count)
        texts, lists = ["one token"] * count, [[5, 6, 7] for _ in range(count)]
        if how == 0:
            if random.randrange(len(SCALARS) + 1) == 0:
                return name, [], "a list that is empty"
            value = random.choice(SCALARS)
            place, words = of_element(name, value, "neither a text nor a list of texts or token ids")
            return place, value, words
        if how == 1:
            texts.insert(at + 1, random.choice([*SCALARS, None]))
            place, words = of_element(places(name, at + 1), texts[at + 1], "neither a text nor a list of token ids")
            return place, texts, words
        if how == 2:
            lists[at] = []
            return places(name, at), lists, "a list of token ids that is empty"
        ids = [0] * random.randrange(3, 8)
        k = random.randrange(1, len(ids))
        if how == 3 or cuts:
            beyond = [-1, VOCAB_SIZE, 2**31, 2**32 + 5, 2**63, 2**64 - 1, 2**64, 1e300]
            ids[k] = random.choice([*beyond, 1.5, "a", None, True, [1]])
            words = f"not a token id in [0, {VOCAB_SIZE})"
            if random.random() < 0.5:
                return places(name, k), ids, words
            lists[at] = ids
            return places(places(name, at), k), lists, words
        is_list = random.random() < 0.5
        if how == 4:
            texts[at] = LONG_TEXT
            return places(name, at, is_list), texts if is_list else LONG_TEXT, f"more than {MAX_TOKENS} tokens"
        lists[at] = [5] * (MAX_TOKENS + 1)
        words = f"{MAX_TOKENS + 1} tokens, more than {MAX_TOKENS}"
        return places(name, at, is_list), lists if is_list else lists[at], words

    return draw


def documents(name):
    def draw(random):
        texts = ["one token", {"text": "return"}, "you"]
        at = random.randrange(3)
        wrong, place, words = random.choice([
            *[(value, "", "not a text") for value in (5, None, True, ["a"])],
            ({}, ".text", "missing"), ({"txt": "a"}, ".text", "missing"), ({"text": 5}, "", "not a text"),
            ({"text": "a", "title": "b"}, ".title", "there is no such field"),
            (LONG_TEXT, "", f"more than {MAX_TOKENS} tokens"),
        ])
        if random.random() < 0.2:
            return name, random.choice([[], {}, "a", 5, True]), "not a list of texts, or one that is empty"
        texts[at] = wrong
        return places(name, at) + place, texts, words

    return draw


def pairs(name, words):
    def draw(random):
        if random.random() < 0.2:
            return random.choice([(name, value, "not a list of pairs") for value in (5, "a", {}, [], True)])
        entries = [["q", "one"], ["q", "two"], ["q", "three"]]
        at = random.randrange(3)
        if random.random() < 0.2:
            entries[at] = ["q", LONG_TEXT]
            return places(name, at), entries, f"more than {MAX_TOKENS} tokens"
        entries[at] = random.choice([["a", "b", "c"], [], ["a", 5], [None, "a"], 5, {}])
        return places(name, at), entries, words

    return draw


def predictions(random):
    at = random.randrange(1, 3)
    entries = [["one"], ["q", "two"], ["three"]]
    entries[at] = random.choice([["a", "b", "c"], [], ["a", 5], 5, {}, None])
    place = places("inputs", at)
    if random.random() < 0.3:
        entries, place = random.choice([5, {}, [], ["a", "b", "c"], True, [5]]), "inputs"
    if random.random() < 0.2:
        return "inputs", LONG_TEXT, f"more than {MAX_TOKENS} tokens"
    return place, entries, "neither a text nor a pair of texts"


def sides(first, second):
    def draw(random):
        name = random.choice([first, second])
        how = random.randrange(4)
        if how == 0:
            return name, random.choice(SCALARS), "is neither a string nor a list of strings"
        if how == 1:
            return name, [], "missing or empty"
        if how == 2:
            return places(name, 1), ["a", random.choice([5, None, True, ["b"]]), "c"], "is not a string of at most"
        return places(second, 1), ["a", LONG_TEXT], f"more than {MAX_TOKENS} tokens"

    return draw


@dataclass
class Route:
    path: str
    valid: dict
    fields: dict  # optional fields
    inputs: list  # draw functions: (param, value of its first part, words)
    makes: str = "embeddings"
    dialect: str = "openai"
    is_strict: bool = True  # rejects unknown fields
    required: list = field(default_factory=list)  # (name, words of the rejection without it)


def _routes():
    missing = lambda *names: [(name, "missing") for name in names]  # noqa: E731
    openai = SCHEDULING | CUT | VECTOR | FORMAT | {name: REFUSED for name in ("messages", "lora_path", "embed_overrides")}
    rerank = {"valid": {"query": "return", "documents": ["one token", "you", "text"]},
              "inputs": [documents("documents")], "makes": "ranks", "required": missing("query", "documents"),
              "fields": SCHEDULING | CUT | RANKING | {"return_documents": BOOL, "query": QUERY}}
    tei = SCHEDULING | CUT | {"parameters": Kind([(value, "not supported") for value in (5, "a", [], {"top_k": 1})])}
    yield Route("/v1/embeddings", {"input": ["one token", "the text"]}, openai | TYPES, [sources("input")], required=missing("input"))
    yield Route("/v1/embeddings", {"input": ["one token", "the text"], "embedding_types": ["dense", "sparse", "colbert"]},
                openai | SPARSE, [sources("input")], required=missing("input"))
    yield Route("/embed_sparse", {"inputs": ["one token", "the text"], "truncate": False}, tei | SPARSE, [sources("inputs")],
                dialect="tei", required=missing("inputs"))
    yield Route("/worker_get_embeddings", {"input": ["one token", "the text"]}, FORMAT, [sources("input", cuts=True)],
                dialect="fastchat", is_strict=False, required=missing("input"))
    yield Route("/embed", {"inputs": ["one token", "the text"], "truncate": False}, tei | VECTOR, [sources("inputs")],
                dialect="tei", required=missing("inputs"))
    pictures = Kind([*[(value, "1 picture for 2 texts") for value in ("x", 1, True, [1], {"a": 1})],
                     ([], "a list that is empty")])
    native = SCHEDULING | CUT | VECTOR | {"modalities": REFUSED, "lora_path": REFUSED, "image_data": pictures}
    yield Route("/encode", {"text": ["one token", "the text"]}, native, [sources("text")],
                required=[("text", "exactly one of text and input_ids")])
    yield Route("/encode", {"text": [["q", "one"], ["q", "two"]], "is_cross_encoder_request": True}, SCHEDULING | CUT,
                [pairs("text", "not a pair of texts")], "scores", required=[("text", "exactly one of text and input_ids")])
    yield Route("/v1/rerank", **rerank)
    truncating = rerank | {"valid": rerank["valid"] | {"truncate": False}}
    yield Route("/v2/rerank", **truncating)
    yield Route("/infinity/rerank", **truncating)
    yield Route("/rerank", **truncating | {"required": missing("query")}, dialect="tei")
    texts = {"query": "return", "texts": ["one token", "you", "text"], "truncate": False}
    yield Route("/rerank", texts, SCHEDULING | CUT | RANKING | {"return_text": BOOL, "query": QUERY},
                [documents("texts")], "ranks", "tei", required=missing("query", "texts"))
    yield Route("/predict", {"inputs": [["return", "one"], ["you"]], "truncate": False}, tei | {"raw_scores": BOOL},
                [predictions], "scores", "tei", required=missing("inputs"))
    for first, second in [("text_1", "text_2"), ("queries", "documents"), ("query", "items"), ("data_1", "data_2")]:
        for path in ("/score", "/v1/score"):
            yield Route(path, {first: "return", second: ["one token", "you"]}, SCORING, [sides(first, second)], "scores",
                        required=[(first, "missing or empty"), (second, "missing or empty")])
    for path in ("/classify", "/v1/classify"):
        yield Route(path, {"input": ["one token", "you"]}, SCORING | ZERO_SHOT, [sources("input")], "scores",
                    required=missing("input"))


ROUTES = list(_routes())


def wrong_field(random, route):
    name, kind = random.choice(list(route.fields.items()))
    value, words = kind.draw(random)
    return Wrong(route.valid | {name: value}, name, words)


def wrong_input(random, route):
    param, value, words = random.choice(route.inputs)(random)
    name = param.split("[")[0].split(".")[0]
    code = OVERFLOW if f"more than {MAX_TOKENS}" in words else "invalid_request"
    return Wrong(route.valid | {name: value}, param, words, code=code)


def missing_field(random, route):
    name, words = random.choice(route.required)
    body = {key: value for key, value in route.valid.items() if key != name}
    return Wrong(random.choice([body, route.valid | {name: None}]), name, words)


def unknown_field(random, route):
    name = random.choice(["x", "Model", "inputz", "truncat", "top", "é" * 40, "", " ", "a.b", "input[0]"])
    body = route.valid | {name: random.choice([1, "a", False, [], {}])}
    return Wrong(body, name or '""', "there is no such field") if route.is_strict else Wrong(body, None, "", 200)


def wrong_model(random, route):
    if not route.is_strict:
        return Wrong(route.valid | {"model": random.choice(["absent", 5, "judge"])}, None, "", 200)
    other = {"embeddings": "judge", "scores": "embed", "ranks": None}[route.makes]
    if other and random.random() < 0.5:
        return Wrong(route.valid | {"model": other}, "model", f"what makes {route.makes} is")
    return Wrong(route.valid | {"model": random.choice(["absent", "gpt-4", "Embed"])}, "model", "does not exist", 404,
                 "model_not_found")


def no_json(random, route):
    """Returns bytes that are not JSON."""
    text = json.dumps(route.valid).encode()
    at = random.choice([i for i in range(len(text)) if text[i : i + 1] == b'"' and text[i + 1 : i + 2].isalpha()]) + 1
    value = random.choice([b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"+1", b".5", b"0x1", b"'a'", b"nul", b""])
    inside = random.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\\ud800", b"\\x", b"\0", b"\n", b"\\u00zz"])
    body = random.choice([
        text[: random.randrange(1, len(text))],
        text + random.choice([b"}", b"x", b"{}", b",", b"\0"]),
        text[:at] + inside + text[at:],
        text[:-1] + b', "dimensions": ' + value + b"}",
        text.replace(b",", random.choice([b";", b",,", b" "]), 1) if b"," in text else text[1:],
        text.replace(b'"', b"'"),
        text[:-1] + b",}",
    ])
    return Wrong(body, None, "not valid JSON")


def wrong_document(random, route):
    """Returns JSON that is not a request."""
    text = json.dumps(route.valid)
    key = next(iter(route.valid))
    depth = random.randrange(64, 3000)
    return random.choice([
        *[Wrong(value, None, "an object is wanted, not") for value in ([route.valid], [], "a", 5, True, None)],
        Wrong((text[:-1] + f', "{key}": 1}}').encode(), None, f'key "{key}" appears twice'),
        Wrong((text[:-1] + ', "user": ' + "[" * depth + "]" * depth + "}").encode(), None, "nested deeper than 64 levels"),
        Wrong((text[:-1] + ', "user": ' + '{"a":' * depth + "1" + "}" * (depth + 1)).encode(), None,
              "nested deeper than 64 levels"),
    ])


MUTATIONS = [wrong_field, wrong_field, wrong_input, wrong_input, missing_field, unknown_field, wrong_model, no_json,
             wrong_document]
