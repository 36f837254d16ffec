"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const groups = all(".group"), ops = all(".op"), cells = all(".matrix .c");
  const texts = new Map(); // element -> its text in lower case, made when a search first needs it
  const picks = ["verdict", "family", "type", "backend"].filter((name) => $(name));
  const state = { q: "", fail: false, new: false, cell: "" };

  const element = (tag, text = "", className = "") => {
    const made = document.createElement(tag);
    if (text !== "") made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const number = (value) => value.toLocaleString("en-US");
  const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
  const words = (text) => text.replaceAll("_", " ");
  const textOf = (node) => {
    if (!texts.has(node)) texts.set(node, node.textContent.toLowerCase());
    return texts.get(node);
  };

  // The state in the address: #q=...&verdict=...&cell=op/type/backend. A fragment without "=" is an anchor.
  const readHash = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) return false;
    const given = new URLSearchParams(hash);
    for (const name of picks) {
      const value = given.get(name) ?? "";
      $(name).value = all("option", $(name)).some((o) => o.value === value) ? value : "";
    }
    state.q = $("q").value = given.get("q") ?? "";
    state.fail = $("fail").checked = given.get("fail") === "1";
    state.new = $("new").checked = given.get("new") === "1";
    state.cell = given.get("cell") ?? "";
    return true;
  };
  const writeHash = () => {
    const kept = new URLSearchParams();
    if (state.q) kept.set("q", state.q);
    for (const name of picks) if ($(name).value) kept.set(name, $(name).value);
    for (const name of ["fail", "new"]) if (state[name]) kept.set(name, "1");
    if (state.cell) kept.set("cell", state.cell);
    const hash = kept.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  };

  // What is shown
  const chosen = (name) => ($(name) ? $(name).value : "");
  const cellMatches = (info) => {
    const [family] = data.ops[info.op] ?? [""];
    return (!chosen("verdict") || info.state === chosen("verdict") || chosen("verdict") in info.verdicts)
      && (!chosen("family") || family === chosen("family"))
      && (!chosen("type") || info.type === chosen("type"))
      && (!chosen("backend") || info.backend === chosen("backend"))
      && (!state.fail || info.failing > 0) && (!state.new || info.new > 0);
  };
  const filtered = () => picks.some(chosen) || state.q || state.fail || state.new;

  // What a filter finds is not left folded; without a filter it is folded again.
  const unfolded = new Set();
  const unfold = (status) => {
    if (filtered() && !status.hidden && !status.open) { status.open = true; unfolded.add(status); }
    if (!filtered() && unfolded.delete(status)) status.open = false;
  };

  const filterGroups = (needles, hits) => {
    let shown = 0, total = 0;
    for (const group of groups) {
      const set = group.dataset;
      const fits = (!chosen("verdict") || set.verdict === chosen("verdict"))
        && (!chosen("backend") || set.backend === chosen("backend"))
        && (!state.fail || set.fails === "1") && (!state.new || set.new === "1");
      const head = textOf(group.querySelector("header"));
      let inside = 0;
      for (const finding of all(".finding", group)) {
        const own = fits && (!chosen("type") || finding.dataset.type === chosen("type"))
          && (!chosen("family") || finding.dataset.family === chosen("family"))
          && needles.every((word) => head.includes(word) || textOf(finding).includes(word));
        if (own) hits.add(finding.dataset.op);
        finding.hidden = !own;
        inside += own;
        total += 1;
      }
      group.hidden = inside === 0;
      const brief = group.querySelector(".brief");
      if (brief) brief.hidden = !brief.querySelector(".finding:not([hidden])");
      shown += inside;
    }
    for (const status of all(".status")) {
      status.hidden = !status.querySelector(".group:not([hidden])");
      unfold(status);
    }
    if ($("none-shown")) $("none-shown").hidden = shown > 0;
    return [shown, total];
  };

  const apply = () => {
    const needles = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = new Set(); // ops with a divergence that is shown
    const [findings, everyFinding] = filterGroups(needles, hits);
    const rows = new Set(), matched = new Set();
    let shown = 0;
    const named = (info) => needles.every((word) =>
      `${info.op} ${info.type} ${info.backend} ${data.ops[info.op] ?? ""} ${info.refusals.join(" ")}`.toLowerCase().includes(word));
    for (const cell of cells) {
      const info = data.cells[cell.dataset.k];
      const found = needles.length === 0 || named(info)
        || info.findings.some((anchor) => { const at = $(anchor); return at && !at.hidden; });
      const fits = found && cellMatches(info);
      cell.classList.toggle("dim", !fits);
      if (fits) { shown += 1; rows.add(cell.parentElement); matched.add(info.op); }
    }
    for (const row of all(".matrix tbody tr[data-op]")) row.hidden = Boolean(filtered()) && !rows.has(row);
    for (const body of all(".matrix tbody")) body.hidden = !body.querySelector("tr[data-op]:not([hidden])");
    for (const matrix of all(".matrix")) matrix.hidden = Boolean(chosen("backend")) && matrix.dataset.backend !== chosen("backend");
    const type = chosen("type");
    for (const cell of all(".matrix [data-t]")) cell.hidden = Boolean(type) && cell.dataset.t !== type;
    for (const op of ops) {
      const found = needles.length === 0 || needles.every((word) => textOf(op).includes(word)) || hits.has(op.dataset.op);
      op.hidden = Boolean(filtered()) && !(found && (matched.has(op.dataset.op) || (needles.length > 0 && !picks.some(chosen) && !state.fail && !state.new)));
    }
    $("clear").hidden = !filtered();
    $("shown").value = filtered()
      ? `${number(shown)} of ${plural(cells.length, "cell")}, ${number(findings)} of ${plural(everyFinding, "divergence")}`
      : "";
    rove();
    fit();
  };

  // One cell of each matrix is in the tab order; the arrow keys move within.
  const visible = (cell) => cell.offsetParent !== null;
  const rove = () => {
    for (const matrix of all(".matrix")) {
      const own = all(".c", matrix).filter(visible);
      const current = own.find((cell) => cell.tabIndex === 0) ?? own.find((cell) => !cell.classList.contains("dim")) ?? own[0];
      for (const cell of all(".c[tabindex='0']", matrix)) if (cell !== current) cell.tabIndex = -1;
      if (current) current.tabIndex = 0;
    }
  };
  const focusCell = (cell) => {
    for (const other of all(".c[tabindex='0']", cell.closest(".matrix"))) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
  };
  const neighbour = (cell, key) => {
    const rows = all("tbody tr[data-op]", cell.closest("table")).filter((row) => row.querySelector(".c") && visible(row));
    const row = cell.parentElement, at = rows.indexOf(row);
    const own = all(".c", row).filter(visible);
    if (key === "Home") return own[0];
    if (key === "End") return own.at(-1);
    if (key === "ArrowLeft") return own[own.indexOf(cell) - 1];
    if (key === "ArrowRight") return own[own.indexOf(cell) + 1];
    const next = rows[at + (key === "ArrowDown" ? 1 : -1)];
    if (!next) return undefined;
    const near = (other) => Math.abs(other.cellIndex - cell.cellIndex);
    return all(".c", next).filter(visible).sort((a, b) => near(a) - near(b))[0];
  };

  // The detail of a cell
  const dialog = $("cell");
  const link = (href, text) => {
    const made = element("a", text);
    made.href = href;
    made.addEventListener("click", () => close());
    return made;
  };
  const tag = (verdict) => {
    const made = element("span", "", "tag");
    const key = element("span", data.glyphs[verdict], `key s-${verdict}`);
    key.setAttribute("aria-hidden", "true");
    made.append(key, words(verdict));
    return made;
  };
  const command = (line) => {
    const made = element("span", "", "command");
    made.append(element("code", line), copyButton());
    return made;
  };
  const copyButton = () => {
    const made = element("button", "Copy", "copy");
    made.type = "button";
    made.setAttribute("aria-label", "Copy the command");
    return made;
  };
  const fact = (list, name, ...values) => {
    const row = element("div"), value = element("dd");
    value.append(...values);
    row.append(element("dt", name), value);
    list.append(row);
  };
  const bars = (histogram) => {
    const made = element("div", "", "bars");
    const most = Math.max(...Object.values(histogram));
    for (const [label, count] of Object.entries(histogram)) {
      const bar = element("div");
      bar.style.width = `${(100 * Math.log1p(count)) / Math.log1p(most)}%`;
      made.append(element("span", label === "0" ? "exact" : label === ">" ? "more" : `≤ ${label}`), bar, element("span", number(count)));
    }
    return made;
  };
  const findingList = (anchors) => {
    const list = element("ul");
    for (const anchor of anchors) {
      const [id, verdict, kind, message, status] = data.findings[anchor];
      const item = element("li");
      item.append(tag(verdict), " ", link(`#${anchor}`, id), ` ${[kind, status].filter(Boolean).join(", ")}`, element("p", message));
      list.append(item);
    }
    return list;
  };
  const open = (key) => {
    const info = data.cells[key];
    if (!info) return;
    const title = element("h2", `${info.op} ${info.type}`);
    title.id = "cell-title";
    const shut = element("button", "×", "close");
    shut.type = "button";
    shut.setAttribute("aria-label", "Close");
    shut.addEventListener("click", () => close());
    const head = element("p");
    head.append(tag(info.state), `: ${data.meanings[info.state]}`);
    const facts = element("dl", "", "facts");
    fact(facts, "Backend", info.backend);
    fact(facts, "Cases", `${plural(info.cases, "case")}, ${plural(info.pairs, "input set")}, ${plural(info.values, "value")}`);
    fact(facts, "Worst error", info.worst === null ? "no measure" : `${info.worst} ${info.unit}, budget ${info.budget ?? "none"}`);
    fact(facts, "Rule", link(`#${info.section}`, (data.ops[info.op] ?? ["", "none"])[1]));
    const body = [shut, title, head, facts];
    if (Object.keys(info.verdicts).length) {
      const list = element("ul");
      for (const [verdict, count] of Object.entries(info.verdicts)) {
        const item = element("li");
        item.append(tag(verdict), ` ${number(count)}`);
        list.append(item);
      }
      body.push(element("h3", "Verdicts"), list);
    }
    if (Object.keys(info.histogram).length) body.push(element("h3", `Errors ${info.unit === "ulp" ? "in ulp" : "as parts " + info.unit}, by number of values (logarithmic)`), bars(info.histogram));
    if (info.refusals.length) body.push(element("h3", "Why not supported"), ...info.refusals.map((reason) => element("p", reason)));
    if (info.findings.length) body.push(element("h3", "Divergences"), findingList(info.findings));
    if (info.replay) body.push(element("h3", "Replay the first"), command(info.replay));
    $("cell-body").replaceChildren(...body);
    state.cell = key;
    writeHash();
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  };
  const close = () => { if (dialog.open) dialog.close(); };
  dialog.addEventListener("close", () => {
    const at = cells.find((cell) => cell.dataset.k === state.cell);
    state.cell = "";
    if (location.hash.includes("=") || !location.hash) writeHash();
    if (at && visible(at) && !location.hash.startsWith("#d-") && !location.hash.startsWith("#op-")) focusCell(at);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) close(); });

  const clear = () => {
    for (const name of picks) $(name).value = "";
    $("q").value = "";
    $("fail").checked = $("new").checked = false;
    Object.assign(state, { q: "", fail: false, new: false });
    apply();
  };
  // An anchor may lie in something closed or filtered out: bring it to light.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1)); // anchors are plain ASCII
    if (!target) return;
    if (target.closest("[hidden]")) clear();
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "start", behavior: "instant" });
    const focusable = target.querySelector("summary") ?? target;
    focusable.focus({ preventScroll: true });
  };
  const follow = () => {
    if (!readHash()) { reveal(); return; }
    apply();
    if (state.cell) open(state.cell); else close();
  };

  // A matrix that fits the page scrolls with it, its head stays below the filters.
  const fit = () => {
    document.documentElement.style.setProperty("--bar", `${$("filters").offsetHeight - 1}px`);
    for (const matrix of all(".matrix")) {
      const table = matrix.querySelector("table");
      matrix.classList.toggle("fits", innerWidth > 640 && table.offsetWidth <= matrix.clientWidth);
    }
  };

  const copy = async (button) => {
    const line = button.previousElementSibling.textContent;
    try {
      await navigator.clipboard.writeText(line);
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };

  let pending = 0;
  $("q").addEventListener("input", () => {
    clearTimeout(pending);
    pending = setTimeout(() => { state.q = $("q").value.trim(); apply(); writeHash(); }, 80);
  });
  for (const name of picks) $(name).addEventListener("change", () => { apply(); writeHash(); });
  for (const name of ["fail", "new"]) $(name).addEventListener("change", () => { state[name] = $(name).checked; apply(); writeHash(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    clear();
    writeHash();
    $("q").focus();
  });
  $("open-all").addEventListener("click", () => {
    const shown = ops.filter((op) => !op.hidden), some = shown.some((op) => !op.open);
    for (const op of shown) op.open = some;
    $("open-all").textContent = some ? "Close all" : "Open all";
  });
  if ($("generic")) $("generic").addEventListener("click", () => {
    const on = document.body.classList.toggle("generic");
    $("generic").setAttribute("aria-pressed", String(on));
    $("generic").textContent = `Show programs in MLIR's ${on ? "pretty" : "generic"} form`;
  });
  if ($("show-all")) $("show-all").addEventListener("click", () => {
    const on = document.body.classList.toggle("show-all");
    $("show-all").textContent = on ? "Hide what was filtered out" : "Show what was filtered out";
    $("show-all").setAttribute("aria-expanded", String(on));
    rove();
    fit();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) { copy(button); return; }
    const cell = event.target.closest(".matrix .c");
    if (cell) { focusCell(cell); open(cell.dataset.k); return; }
    const anchor = event.target.closest("a[href^='#']");
    if (anchor && anchor.getAttribute("href") === location.hash) reveal();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing) { event.preventDefault(); $("q").focus(); $("q").select(); return; }
    if (event.key === "Escape" && event.target === $("q")) { clearTimeout(pending); $("q").value = state.q = ""; apply(); writeHash(); $("q").blur(); return; }
    const cell = event.target.closest(".matrix .c");
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(cell.dataset.k); return; }
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = neighbour(cell, event.key);
    if (next) focusCell(next);
  });
  addEventListener("hashchange", follow);
  addEventListener("resize", fit);
  addEventListener("beforeprint", () => all("details.op, details.finding").forEach((details) => { details.open = true; }));
  apply();
  follow();
})();
