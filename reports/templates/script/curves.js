  // Error curves: signed error against input, those of several backends laid over each other.
  const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const [WIDE, HIGH, STEPS] = [340, 150, 4095];
  const [LEFT, RIGHT, TOP, BOTTOM] = [44, 8, 8, 22];
  const across = (position) => LEFT + (WIDE - LEFT - RIGHT) * position / STEPS;
  const up = (position) => HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * position / STEPS;
  const svg = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    if (text) made.textContent = text;
    return made;
  };
  // Points are strokes of no length with round ends: one path for all.
  const dots = (drawn) => {
    const numbers = [];
    for (let at = 0; at < drawn.length; at += 2) numbers.push(DIGITS.indexOf(drawn[at]) * 64 + DIGITS.indexOf(drawn[at + 1]));
    return pairs(numbers).map(([x, y]) => `M${across(x).toFixed(1)} ${up(y).toFixed(1)}h0`).join("");
  };
  const curve = (op, type) => {
    const found = data.curves[`${op}/${type}`];
    if (!found) return null;
    const title = `${data.ops[op].name} ${data.types[type]}`;
    const who = found.of.map(([backends]) => backends.map((at) => data.backends[at]).join(", "));
    const said = `Signed error in ulp against the input, ${title}${data.backends.length > 1 ? `, on ${who.join("; ")}` : ""}`;
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said, class: "curve" });
    const line = (x1, y1, x2, y2, kind) => picture.append(svg("line", { x1, y1, x2, y2, class: kind }));
    for (const [at, name] of found.y) {
      line(LEFT, up(at), WIDE - RIGHT, up(at), "tick");
      picture.append(svg("text", { x: LEFT - 5, y: up(at) + 3, "text-anchor": "end" }, name));
    }
    for (const [at, name] of found.x) {
      line(across(at), HIGH - BOTTOM, across(at), HIGH - BOTTOM + 3, "tick");
      picture.append(svg("text", { x: across(at), y: HIGH - 7, "text-anchor": "middle" }, name));
    }
    for (const at of found.budget ?? []) line(LEFT, up(at), WIDE - RIGHT, up(at), "limit");
    found.of.forEach(([, drawn], at) => picture.append(svg("path", { d: dots(drawn), class: `dots p${at % 6}` })));
    const names = data.backends.length > 1
      ? who.map((name, at) => make("span", { class: "series" }, make("i", { class: `p${at % 6}` }), name)) : [];
    return make("figure", {}, make("figcaption", {}, make("b", {}, title), make("span", {}, found.label ? `budget ±${found.label} ulp` : "no budget")),
      picture, make("p", { class: "curve-legend" }, ...names));
  };

  // The histogram of a cell's errors; bars are logarithmic.
  const EDGES = [0, 1, 2, 3, 4, 5, 6, 8, 16, 32, 64, 128, 1024];
  const bars = (cell) => {
    const made = make("div", { class: "bars" });
    const found = pairs(cell.histogram), most = Math.max(...found.map(([, count]) => count));
    for (const [bin, count] of found) {
      const bar = make("div");
      bar.style.width = `${(100 * Math.log1p(count)) / Math.log1p(most)}%`;
      made.append(make("span", {}, bin === 0 ? "exact" : bin === EDGES.length ? "more" : `≤ ${EDGES[bin]}`), bar, make("span", {}, number(count)));
    }
    return made;
  };
