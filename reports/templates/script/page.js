  // What is shown, drawn anew when the filters change.
  const HINTS = {
    side: "Each cell is a stripe of its element types, in the same order for all ops; near misses stand apart at its end. Its sign says what the worst of them is, and how many. Click an op or a cell for its element types, a backend for its matrix.",
    one: "Each cell: its worst verdict, the worst error against its budget, and a bar for the share of the budget used. Outlined failures are known, filled ones new. Click a cell, or move with the arrow keys and press Enter.",
  };
  const legend = (isSide) => {
    const states = data.states.filter((name) => cells.some((cell) => cell.state === name));
    const items = states.map((name) => make("li", { title: data.meanings[name] }, key(name), words(name)));
    if (cells.some((cell) => cell.status === "known")) items.push(make("li", {}, isSide ? make("span", { class: "key s-divergent pale", "aria-hidden": "true" }, "≠") : key("divergent", true), isSide ? "paler: known" : "outlined: known"));
    if (!isSide) items.push(make("li", {}, make("span", { class: "key none", "aria-hidden": "true" }), "not a type of the op"));
    return items;
  };
  const levels = () => [
    link(withState({ matrix: "" }), data.backends.length > 1 ? "Side by side" : "Overview", { "aria-current": state.matrix ? null : "page" }),
    ...data.backends.map((name) => link(withState({ matrix: name }), data.backends.length > 1 ? name : "By element type", { "aria-current": state.matrix === name ? "page" : null })),
  ];
  let selected = select();
  const apply = () => {
    selected = select();
    $("levels").replaceChildren(...levels());
    $("legend").replaceChildren(...legend(!state.matrix));
    $("matrix-hint").textContent = state.matrix ? HINTS.one : HINTS.side;
    if (cells.length) {
      const drawn = state.matrix ? matrixOf(data.backends.indexOf(state.matrix), selected.cells) : overview(selected.cells);
      $("tables").replaceChildren(...(drawn.length ? drawn : [make("p", { class: "empty" }, "No cell matches the filter.")]));
    }
    divergences(selected);
    differing(selected);
    if ($("changes")) changes($("changes").querySelector("[data-draw]"));
    $("clear").hidden = !isFiltered();
    const total = data.groups.reduce((sum, group) => sum + group.count, 0);
    $("shown").value = isFiltered() ? `${number(selected.cells.size)} of ${plural(cells.length, "cell")}, ${number(selected.cases)} of ${plural(total, "divergence")}` : "";
    rove();
    fit();
  };
  const clear = () => {
    for (const name of FILTERS) { state[name] = ""; $(name) && ($(name).value = ""); }
    apply();
    writeAddress();
  };
  const DRAWN = { accuracy, nearMisses, coverage };
  for (const fold of all(".fold[data-draw]")) {
    fold.addEventListener("toggle", () => { if (fold.open) DRAWN[fold.dataset.draw](fold.querySelector(".body")); }, { once: true });
  }

  // An anchor may lie in something closed: open it, and go there.
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1)); // anchors are plain ASCII
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "start", behavior: "instant" });
    (target.querySelector("summary") ?? target).focus({ preventScroll: true });
  };
  const place = () => (state.change ? $("changes") : state.alone ? $("differences") : state.matrix ? $("matrix") : null);
  let before = "";
  const follow = () => {
    if (!readAddress()) { reveal(); return; }
    const shown = JSON.stringify([...FILTERS, ...PLACES].map((name) => state[name]));
    if (shown !== before) {
      before = shown;
      apply();
      if (!DIALOGS.some((name) => state[name])) place()?.scrollIntoView({ block: "start", behavior: "instant" });
    }
    draw();
  };
  const choose = () => { before = ""; apply(); writeAddress(); };

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
    pending = setTimeout(() => { state.q = $("q").value.trim(); choose(); }, 80);
  });
  for (const name of picks) $(name).addEventListener("change", () => { state[name] = $(name).value; choose(); });
  $("filters").addEventListener("submit", (event) => event.preventDefault());
  $("filters").addEventListener("reset", (event) => { event.preventDefault(); clear(); $("q").focus(); });
  if ($("generic") && data.programs.some((program) => program.length > 2)) {
    $("generic").hidden = false;
    $("generic").addEventListener("click", () => {
      const on = document.body.classList.toggle("generic");
      $("generic").setAttribute("aria-pressed", String(on));
      $("generic").textContent = `Show programs in MLIR's ${on ? "pretty" : "generic"} form`;
    });
  }
  const show = (changes) => { location.hash = address(withState(changes)).slice(1); };
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy");
    if (button) { copy(button); return; }
    const cell = event.target.closest(".matrix .c");
    if (cell) { focusCell(cell); show({ cell: cell.dataset.k }); return; }
    const stripe = event.target.closest(".side td.o");
    if (stripe) { show({ op: data.ops[stripe.dataset.o.split("/")[0]].name }); return; }
    const anchor = event.target.closest("a[href^='#']");
    if (anchor && anchor.getAttribute("href") === location.hash) { before = ""; follow(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing) { event.preventDefault(); $("q").focus(); $("q").select(); return; }
    if (event.key === "Escape" && event.target === $("q")) { clearTimeout(pending); $("q").value = state.q = ""; choose(); $("q").blur(); return; }
    const cell = event.target.closest(".matrix .c");
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show({ cell: cell.dataset.k }); return; }
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const next = neighbour(cell, event.key);
    if (next) focusCell(next);
  });
  addEventListener("hashchange", follow);
  addEventListener("resize", fit);
  follow();
  if (!before) apply();
