  // Findings of campaigns: by cause, each with its programs and the script that reproduces it.
  const since = ({ first, last }) => (first ? (last && last !== first ? `since ${first}, last on ${last}` : `since ${first}`) : "date not recorded");
  const foldedText = (title, text) => (text ? folded({ class: "brief" }, make("summary", {}, title), () => make("pre", { tabindex: "0" }, text)) : "");
  const findingBody = (one) => make("div", { class: "body" }, make("p", { class: "message" }, one.message),
    facts(["Goes wrong", one.culprit || "not named"], ["Element types", one.types.join(", ") || "not recorded"],
      ["Backend, versions", `${one.backend}; ${one.versions || "not recorded"}`], ["Found", `in ${plural(one.programs, "program")}, ${since(one)}`],
      one.vanishes.length ? ["Right", one.vanishes.join("; ")] : null, ["Folder", make("code", {}, one.folder)]),
    one.program ? make("div", {}, make("p", { class: "label" }, "Program"), make("pre", { tabindex: "0" }, one.program)) : make("p", { class: "hint" }, "There was no room for the program: it is in the folder."),
    foldedText("reproduce.py, which needs jax and numpy alone", one.script), make("p", { class: "label" }, "Replay"), command(one.replay));
  const findingItem = (one) => folded({ class: "finding" }, make("summary", {}, make("code", {}, one.name), make("span", {}, one.message)), () => findingBody(one));
  const drawCauses = (into) => {
    const found = data.causes.reduce((sum, cause) => sum + cause.findings.length, 0);
    if (!found) { into.replaceChildren(make("p", { class: "empty" }, "The campaigns found nothing new.")); return; }
    const list = make("div", { class: "groups" });
    const more = inParts(data.causes, (cause) => {
      const [head] = cause.findings;
      return folded({ class: "group" }, make("summary", {}, make("span", { class: "what" }, tag(head.verdict), " ", make("b", {}, head.culprit || head.name), " ", make("span", { class: "kind" }, head.kind)),
        make("span", { class: "where" }, `${plural(cause.programs, "program")} on ${head.backend}, ${since(cause)}`)),
      () => make("div", { class: "body" }, make("p", { class: "where" }, `Cause: ${cause.cause}`), ...cause.findings.map(findingItem)));
    }, list, 30);
    into.replaceChildren(make("p", { class: "hint" }, `${plural(data.causes.length, "cause")}, ${plural(found, "finding")}. A finding is a program of several operations that failed in a campaign of fuzz, minimised. Findings of one cause stand together, the most frequent cause first.`), list, more);
  };
  if (data.causes) drawCauses($("campaigns").querySelector("[data-draw]"));
