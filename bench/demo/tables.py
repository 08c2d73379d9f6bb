"""Makes Markdown tables of a demo.json."""

GROUPS = {
    (True, "few_repeats"): "greedy, under 30 % repeated",
    (True, "all"): "greedy, all",
    (False, "all"): "temperature {temperature:g}",
}

KINDS = ("list", "list + dynamic", "list + dynamic + successors")


def select(run, group, source=None):
    """Rows of a run: plain decoding, the full head, and for each kind of KINDS {total rows: row}."""
    rows = [row for row in run["rows"] if row["group"] == group and row["source"] == source]
    if not rows:
        return None
    plain, full = rows[:2]
    kinds = {kind: {} for kind in KINDS}
    for row in rows[2:]:
        extra = row["dynamic_rows"] + row["successor_rows"]
        kind = KINDS[0] if extra == 0 else KINDS[1] if row["successor_rows"] == 0 else KINDS[2]
        kinds[kind][row["base_rows"] + extra] = row
    return plain, full, kinds


def groups(run):
    """Yields (group, its name) for the groups of a run, the most meaningful first."""
    greedy = run["temperature"] == 0
    for (is_greedy, group), name in GROUPS.items():
        if is_greedy == greedy:
            yield group, name.format(**run)


def _table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _speed_table(report):
    """Plain decoding, the full head, a quarter of the rows, and a sixteenth with successors."""
    rows = []
    for run in report["runs"]:
        for group, name in groups(run):
            selected = select(run, group)
            if not selected:
                continue
            plain, full, kinds = selected
            for kind, divisor in ((KINDS[1] if kinds[KINDS[1]] else KINDS[0], 4), (KINDS[2], 16)):
                size = full["base_rows"] // divisor
                row = kinds[kind].get(size)
                if row is None:
                    continue
                rows.append([
                    run["draft"], name, str(row["num_prompts"]), f"{plain['tokens_per_s']:.0f}",
                    f"{full['tokens_per_s']:.0f}", f"{size:,}: {kind}", f"{row['tokens_per_s']:.0f}",
                    f"{row['speed_up']:.2f} ×", f"{row['speed_up_over_full_head']:.2f} ×", f"{row['accept_length']:.2f}",
                    f"{row['accept_length'] / full['accept_length']:.1%}", f"{row['coverage']:.1%}",
                ])  # fmt: skip
    header = ["draft", "prompts", "number", "plain tok/s", "full head tok/s", "rows of a draft step", "tok/s",
              "over plain", "over full head", "accept length", "of the full head's", "coverage"]  # fmt: skip
    return _table(header, rows)


def _accept_table(run):
    """Accept length by source and by size."""
    sources = list(dict.fromkeys(row["source"] for row in run["rows"] if row["source"]))
    _, full, kinds = select(run, "all")
    header = ["rows", "how"] + sources + ["all"]
    columns = [select(run, "all", source) for source in sources + [None]]
    rows = [[f"{full['base_rows']:,}", "full head"] + [f"{full['accept_length']:.2f}" for _, full, _ in columns]]
    for kind in KINDS:
        for size in kinds[kind]:
            lengths = [f"{of_source[kind][size]['accept_length']:.2f}" for _, _, of_source in columns]
            rows.append([f"{size:,}", kind] + lengths)
    return _table(header, rows)


def markdown(report):
    first = report["runs"][0]
    parts = [
        f"{first['num_prompts']} held-out prompts, {first['max_new_tokens']} new tokens, batch {first['batch']}, "
        f"{first['threads']} threads of {report['machine']}.\n",
        _speed_table(report),
    ]
    for run in report["runs"]:
        kind = "greedy" if run["temperature"] == 0 else f"temperature {run['temperature']:g}"
        parts += [f"Accept length by source, {run['draft']}, {kind}:\n", _accept_table(run)]
    return "\n".join(parts)
