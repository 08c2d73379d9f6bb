"""Markdown tables of a demo.json."""

GROUPS = {
    (True, "few_repeats"): "greedy, under 30 % repeated",
    (True, "all"): "greedy, all",
    (False, "all"): "temperature {temperature:g}",
}


def select(run, group, source=None):
    """Rows of a run: plain decoding, the full head, {total rows: row} of the list alone and with dynamic rows."""
    rows = [row for row in run["rows"] if row["group"] == group and row["source"] == source]
    if not rows:
        return None
    plain, full = rows[:2]
    sweep = rows[2:]
    by_size = lambda dynamic: {r["base_rows"] + r["dynamic_rows"]: r for r in sweep if (r["dynamic_rows"] > 0) == dynamic}
    return plain, full, by_size(False), by_size(True)


def groups(run):
    """(group, its name) of a run, the most telling first."""
    greedy = run["temperature"] == 0
    for (is_greedy, group), name in GROUPS.items():
        if is_greedy == greedy:
            yield group, name.format(**run)


def _table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _speed_table(report):
    """List + dynamic at a quarter of the rows, beside plain decoding and the full head."""
    rows = []
    for run in report["runs"]:
        for group, name in groups(run):
            selected = select(run, group)
            if not selected:
                continue
            plain, full, static, dynamic = selected
            size = full["base_rows"] // 4
            row = (dynamic or static)[size]
            rows.append([
                run["draft"], name, str(row["num_prompts"]), f"{plain['tokens_per_s']:.0f}", f"{full['tokens_per_s']:.0f}",
                f"{row['tokens_per_s']:.0f}", f"{row['speed_up']:.2f} ×", f"{row['speed_up_over_full_head']:.2f} ×",
                f"{row['accept_length']:.2f}", f"{row['accept_length'] / full['accept_length']:.1%}",
                f"{row['coverage']:.1%}",
            ])  # fmt: skip
    header = ["draft", "prompts", "number", "plain tok/s", "full head tok/s", f"{size:,} rows tok/s", "over plain",
              "over full head", "accept length", "of the full head's", "coverage"]  # fmt: skip
    return _table(header, rows)


def _accept_table(run):
    """Accept length by source and by size."""
    group, name = next(groups(run))
    sources = list(dict.fromkeys(row["source"] for row in run["rows"] if row["source"]))
    _, full, static, dynamic = select(run, "all")
    header = ["source", "full head"] + [f"{size:,}" for size in static]
    header += [f"{size:,} with dynamic" for size in dynamic]
    rows = []
    for source in sources + [None]:
        selected = select(run, "all", source)
        if selected:
            _, full, static, dynamic = selected
            values = [full, *static.values(), *dynamic.values()]
            rows.append([source or "all"] + [f"{row['accept_length']:.2f}" for row in values])
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
