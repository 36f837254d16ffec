  // Runs over time: the shares of each, the cells that changed, and the outcomes of one cell.
  const OUTCOMES = { conforms: "conform", new: "with new divergences", known: "with known divergences", unsupported: "unsupported", untested: "untested" };
  const outcomeTag = (code) => {
    const found = data.history.outcomes[code];
    if (!found) return make("span", { class: "hint" }, "not planned");
    const [verdict, outcome] = found;
    return make("span", {}, tag(verdict, outcome === "known"), outcome === "new" ? ", new" : "");
  };
  const differenceWords = (run) => run.differences.map(([what, before, after]) => `${what} ${before || "none"} → ${after || "none"}`).join(", ");
  const shareBar = (share) => make("span", { class: "bar", role: "img", "aria-label": Object.entries(OUTCOMES).map(([name, said]) => `${number(share[name])} ${said}`).join(", ") },
    ...Object.keys(OUTCOMES).filter((name) => share[name]).map((name) => make("i", { class: `b-${name}`, style: `flex-grow:${share[name]}` })));
  const RUNS_SHOWN = 8;
  // The outcomes of a cell in each run, the newest first; nothing where this report has no history.
  const cellHistory = (name) => {
    if (!data.history) return [];
    const codes = data.history.cells[name];
    if (!codes) return [make("h3", {}, "History"), make("p", {}, `The same in all ${plural(data.history.runs.length, "run")}.`)];
    const rows = data.history.runs.map((run, at) => [run.date, outcomeTag(codes[at]), make("div", {}, differenceWords(run) || "–")]).reverse();
    return [make("h3", {}, "History"), scroll(table(["Run", "Outcome", "Since the run before"], rows, { class: "plain stacked past" }), `History of ${name}`)];
  };
  const drawHistory = (into) => {
    const { runs, cells: known, changed } = data.history;
    const several = new Set(runs.flatMap((run) => run.shares.map((share) => share.backend))).size > 1;
    const rows = runs.flatMap((run) => run.shares.map((share, at) => [
      at ? "" : run.date, ...(several ? [share.backend] : []),
      make("div", { class: "share" }, make("b", {}, share.percent), ` of ${plural(share.planned, "cell")} `, shareBar(share)),
      ...["new", "known", "unsupported", "untested"].map((name) => number(share[name])),
      make("div", {}, at ? "" : differenceWords(run) || "–"),
    ])).reverse();
    const columns = ["Run", ...(several ? ["Backend"] : []), "Cells that conform", ["New", "n"], ["Known", "n"], ["Unsupported", "n"], ["Untested", "n"], "Since the run before"];
    const first = Math.max(0, runs.length - RUNS_SHOWN);
    const dates = runs.slice(first).map((run) => run.date);
    const cellName = (name) => (byKey.has(name) ? link(withState({ cell: name }), name.replaceAll("/", " ")) : name.replaceAll("/", " "));
    const cellRow = (name) => [cellName(name), ...[...known[name]].slice(first).map(outcomeTag)];
    const parts = [...scrolledInParts(table(columns, rows, { class: "plain stacked past" }, "Runs, the newest first", 20), "Runs, the newest first"),
      make("p", { class: "hint" }, `${number(changed.length)} of ${plural(data.history.count, "cell")} changed over these ${number(runs.length)} runs. Click a cell of the matrix to see its outcome in each of them.`)];
    if (changed.length) {
      const title = "Cells that changed, those that changed last first";
      parts.push(...scrolledInParts(table(["Cell", ...dates], changed.map(cellRow), { class: "plain stacked past" }, first ? `${title}; the newest ${RUNS_SHOWN} runs` : title, 25), title));
    }
    into.replaceChildren(...parts);
  };
  if (data.history) drawHistory($("history").querySelector("[data-draw]"));
