"use strict";
// The list of findings. Texts come from data sets and may hold anything: they reach the page through
// text nodes only, never as markup.
(() => {
  const SCALE = 10000;
  const SIDES = ["original", "similar"];
  const STATUS_WORDS = {
    natural: "differs or fails before any edit",
    induced: "found from a pair that was right and alike",
    shifted: "found from a pair that already failed another way",
  };
  const LONG_RUN = 180; // unchanged stretch of a card's text that is shortened
  const LONG_TEXT = 20000; // characters shown before a reader asks for all
  const data = JSON.parse(document.getElementById("findings-data").textContent);
  const { columns, pools, texts, words, n } = data;
  const count = new Intl.NumberFormat("en");
  const byId = (id) => document.getElementById(id);

  // --- small builders -------------------------------------------------------------------------------
  const SVG = "http://www.w3.org/2000/svg";
  function build(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of [children].flat(Infinity)) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }
  const el = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);
  const hidden = (text) => el("span", { class: "visually-hidden" }, text);

  // Control, direction and zero-width characters would change how a text reads: show their code instead.
  // The zero-width joiner stays, emoji need it.
  const ODD = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  function visible(text) {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(ODD)) {
      if (match.index > end) parts.push(text.slice(end, match.index));
      const code = match[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      parts.push(el("span", { class: "code-point", title: "a character that is not seen" }, `U+${code}`));
      end = match.index + match[0].length;
    }
    if (end < text.length) parts.push(text.slice(end));
    return parts;
  }
  const plain = (text) => text.replace(ODD, (c) => `U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);

  const pooled = (name, i) => pools[name][columns[name][i]];
  const readable = (name) => (name || "none").replaceAll("_", " ");
  const labelName = (label) =>
    label === null || label === undefined ? "no label" : data.label_names[label] ?? `label ${label}`;
  const decimal = (value, digits = 2) =>
    value === null || value === undefined ? "–" : (value / SCALE).toFixed(digits);
  const plural = (value, noun) => `${count.format(value)} ${noun}${value === 1 ? "" : "s"}`;

  const nEdits = (i) => (columns.edits_original[i].length + columns.edits_similar[i].length) / 3;
  const change = (i) => {
    const [a, b, c, d] = columns.p[i];
    if ([a, b, c, d].includes(null)) return 0;
    return Math.max(Math.abs(c - a), Math.abs(d - b));
  };

  // --- texts with marks -----------------------------------------------------------------------------
  function segments(i, side) {
    const text = texts[columns[`text_${side}`][i]];
    const edits = columns[`edits_${side}`][i];
    const sensitive = columns[`sensitive_${side}`][i];
    const marks = [];
    for (let k = 0; k < edits.length; k += 3) marks.push([edits[k], edits[k + 1], words[edits[k + 2]]]);
    for (let k = 0; k < sensitive.length; k += 2) marks.push([sensitive[k], sensitive[k + 1], null]);
    marks.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const parts = [];
    let end = 0;
    for (const [start, stop, target] of marks) {
      if (start < end) continue; // a sensitive span inside an edit: the edit shows it
      if (start > end) parts.push({ kind: "same", text: text.slice(end, start) });
      parts.push({ kind: target === null ? "sensitive" : "edit", text: text.slice(start, stop), target });
      end = stop;
    }
    if (end < text.length) parts.push({ kind: "same", text: text.slice(end) });
    return parts;
  }

  function unchanged(text, shorten, isFirst, isLast) {
    if (!shorten || text.length <= LONG_RUN) return capped(text);
    const head = isFirst ? "" : text.slice(0, 70).replace(/\s\S*$/, "");
    const tail = isLast ? "" : text.slice(-70).replace(/^\S*\s/, "");
    if (isFirst && isLast) return [visible(text.slice(0, LONG_RUN)), ellipsis()];
    return [visible(head), ellipsis(), visible(tail)];
  }
  const ellipsis = () => el("span", { class: "ellipsis", title: "left out here; the whole text is below" }, " … ");

  function capped(text) {
    if (text.length <= LONG_TEXT) return visible(text);
    const rest = el("button", { type: "button", class: "link" }, `show all ${count.format(text.length)} characters`);
    const holder = el("span", {}, visible(text.slice(0, LONG_TEXT)), " … ", rest);
    rest.addEventListener("click", () => holder.replaceChildren(...visible(text)));
    return holder;
  }

  function marked(i, side, shorten) {
    const parts = segments(i, side);
    return parts.map((part, k) => {
      if (part.kind === "same") return unchanged(part.text, shorten, k === 0, k === parts.length - 1);
      if (part.kind === "sensitive") {
        return el("mark", { class: "sensitive" }, hidden(" [sensitive: "), visible(part.text), hidden("] "));
      }
      return el("span", { class: "edit" },
        part.text ? el("del", {}, hidden(" [removed: "), shortWord(part.text, shorten), hidden("] ")) : null,
        part.text && part.target ? " " : null,
        part.target ? el("ins", {}, hidden(" [put in: "), shortWord(part.target, shorten), hidden("] ")) : null);
    });
  }
  const shortWord = (text, shorten) =>
    shorten && text.length > LONG_RUN ? [visible(text.slice(0, LONG_RUN)), ellipsis()] : capped(text);

  const isShortened = (i) =>
    SIDES.some((side) => segments(i, side).some((part) => Math.max(part.text.length, (part.target ?? "").length) > LONG_RUN));

  function prediction(i, k) {
    const label = columns.predicted[i][k];
    if (label === null) return el("span", {}, "no prediction");
    const truth = columns.label[i];
    const isRight = label === truth;
    return el("span", { class: `prediction ${isRight ? "right" : "wrong"}` },
      el("span", { "aria-hidden": "true" }, isRight ? "✓ " : "✗ "),
      hidden(isRight ? "right: " : "wrong: "),
      el("bdi", {}, visible(labelName(label))), ` ${decimal(columns.confidence[i][k])}`);
  }

  function sideBlock(i, side) {
    const k = SIDES.indexOf(side);
    const value = words[columns.values[i][k]];
    const edited = columns[`edits_${side}`][i].length / 3;
    return el("div", { class: `side side-${side}` },
      el("h4", {}, side === "original" ? "Original" : "Similar",
        value ? [" · ", el("bdi", {}, visible(value))] : null,
        el("span", { class: "quiet" }, edited ? ` · ${plural(edited, "edit")}` : " · not edited")),
      el("p", { class: "predictions" }, prediction(i, k),
        edited ? [el("span", { class: "arrow", "aria-hidden": "true" }, " → "), hidden(" then "), prediction(i, k + 2)] : null),
      el("p", { class: "text", dir: "auto" }, marked(i, side, true)));
  }

  // --- a finding ------------------------------------------------------------------------------------
  function card(i) {
    const status = pooled("status", i);
    const target = readable(pooled("target", i));
    const attribute = pooled("attribute", i);
    const [from, to] = columns.values[i].map((index) => words[index]);
    const details = el("details", {},
      el("summary", {}, "Steps, probabilities and words", hidden(` of finding ${plain(columns.id[i])}`)));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(more(i));
    });
    return el("article", { class: "finding", id: `finding-${i}`, tabindex: "-1", "aria-labelledby": `title-${i}` },
      el("header", {},
        el("h3", { id: `title-${i}` },
          el("span", { class: `chip status-${status}`, title: STATUS_WORDS[status] }, status), " ",
          el("span", { class: "target" }, target)),
        el("dl", { class: "facts" },
          fact("Attribute", attribute ? [visible(readable(attribute)), from || to ? [": ", visible(from), " → ", visible(to)] : null] : "–"),
          fact("Label", visible(labelName(columns.label[i]))),
          fact("Equivalence", decimal(columns.equivalence[i])),
          fact("Edits", count.format(nEdits(i))),
          fact("Confidence change", decimal(change(i))))),
      el("div", { class: "sides" }, SIDES.map((side) => sideBlock(i, side))),
      details);
  }
  const fact = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, el("bdi", {}, value)));

  function more(i) {
    const id = columns.id[i];
    return el("div", { class: "more" },
      el("div", { class: "figures" }, trajectory(i), saliency(i)),
      probabilities(i),
      isShortened(i) ? [el("h4", {}, "Whole texts"), SIDES.map((side) => el("div", { class: "whole" },
        el("h5", {}, side === "original" ? "Original" : "Similar"),
        el("p", { class: "text", dir: "auto" }, marked(i, side, false))))] : null,
      el("p", { class: "quiet" },
        "Finding ", el("a", { href: link(id) }, el("bdi", {}, visible(id))),
        " · example ", el("bdi", {}, visible(columns.example[i])),
        ` · clean pair: ${readable(pooled("clean_outcome", i))} · found pair: ${readable(pooled("outcome", i))}`,
        ` · search ended: `, visible(words[columns.stop[i]]),
        ` · ${plural(columns.cost[i][0], "model row")}, ${columns.cost[i][1].toFixed(2)} s`,
        pooled("scorer", i) ? [" · judged by ", visible(pooled("scorer", i))] : null),
      el("p", { class: "quiet" }, "Run it again: ", el("code", {}, "rif replay FOLDER --finding ", visible(id))));
  }
  const link = (id) => {
    try { return `#finding=${encodeURIComponent(id)}`; } catch { return "#findings"; }
  };

  function probabilities(i) {
    const label = columns.label[i];
    const row = (name, k) => el("tr", {}, el("th", { scope: "row" }, name),
      [k, k + 2].map((at) => [el("td", {}, decimal(columns.p[i][at], 4)),
        el("td", {}, prediction(i, at))]),
      columns[`scores_${SIDES[k]}`][i].map((score) => el("td", {}, decimal(score, 3))));
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Probabilities and equivalence" },
      el("table", {},
        el("caption", {}, "Probability of the right label, ", el("bdi", {}, visible(labelName(label))),
          ", and equivalence of each edited text with its own unedited text"),
        el("thead", {}, el("tr", {}, ["Side", "clean p", "clean prediction", "edited p", "edited prediction",
          "forward", "backward", "equivalence"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, row("Original", 0), row("Similar", 1))));
  }

  function trajectory(i) {
    const traces = SIDES.map((side) => columns[`trace_${side}`][i]);
    const steps = Math.max(...traces.map((trace) => trace.length));
    const dotted = data.n_labels === 2 ? "dotted: decision threshold" : "dotted: above one half the right label wins";
    const figure = el("figure", {}, el("figcaption", {}, "Probability of the right label, step by step",
      steps > 1 ? el("span", { class: "quiet" }, ` (${dotted})`) : null));
    if (steps < 2) {
      figure.append(el("p", { class: "quiet" }, "No steps: the unedited pair is already a finding."));
      return figure;
    }
    const room = byId("findings-list").clientWidth - 40;
    const width = Math.max(270, Math.min(520, room > 720 ? room / 2 - 16 : room));
    const height = 216, left = 30, right = 100, top = 12, bottom = 36;
    const x = (step) => left + ((width - left - right) * step) / (steps - 1);
    const y = (value) => top + (height - top - bottom) * (1 - value / SCALE);
    const tell = SIDES.map((side, k) => `${side} ${traces[k].map((p) => decimal(p)).join(", ")}`).join("; ");
    const chart = svg("svg", { class: "trajectory", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Probability of the right label by step. ${tell}` });
    for (const value of [0, 5000, 10000]) {
      chart.append(svg("line", { class: value === 5000 ? "threshold" : "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, (value / SCALE).toString()));
    }
    const every = Math.ceil(steps / 8);
    for (let step = 0; step < steps; step += every) {
      chart.append(svg("text", { class: "tick", x: x(step), y: height - bottom + 16, "text-anchor": "middle" }, String(step)));
    }
    chart.append(svg("text", { class: "tick", x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, "edit step"));
    const ends = traces.map((trace) => y(trace[trace.length - 1] ?? 0));
    if (Math.abs(ends[0] - ends[1]) < 14) { // keep the two names apart
      const upper = ends[0] <= ends[1] ? 0 : 1, middle = (ends[0] + ends[1]) / 2;
      ends[upper] = middle - 7; ends[1 - upper] = middle + 7;
    }
    traces.forEach((trace, k) => {
      const side = SIDES[k];
      const points = trace.map((p, step) => [x(step), y(p ?? 0)]);
      chart.append(svg("polyline", { class: `line line-${side}`, points: points.map((point) => point.join(",")).join(" ") }));
      for (const [cx, cy] of points) {
        chart.append(k ? svg("rect", { class: `dot dot-${side}`, x: cx - 3.5, y: cy - 3.5, width: 7, height: 7 })
          : svg("circle", { class: `dot dot-${side}`, cx, cy, r: 3.8 }));
      }
      chart.append(svg("text", { class: `name name-${side}`, x: width - right + 8, y: ends[k] + 4 }, `${side} ${decimal(trace[trace.length - 1])}`));
    });
    figure.append(chart);
    return figure;
  }

  function saliency(i) {
    const rows = SIDES.flatMap((side) => {
      const flat = columns[`saliency_${side}`][i], text = texts[columns[`text_${side}`][i]];
      const found = [];
      for (let k = 0; k < flat.length; k += 3) found.push([text.slice(flat[k], flat[k + 1]), flat[k + 2], side]);
      return found;
    });
    if (!rows.length) return null;
    rows.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const top = Math.max(1, Math.abs(rows[0][1]));
    const both = new Set(rows.map((row) => row[2])).size > 1;
    return el("figure", { class: "saliency" },
      el("figcaption", {}, "Words that move the goal of the search most when they are left out"),
      el("table", {}, hidden("Saliency by word"),
        el("tbody", {}, rows.slice(0, 8).map(([word, score, side]) => {
          const length = (50 * Math.abs(score)) / top;
          return el("tr", {},
            el("th", { scope: "row" }, el("bdi", {}, visible(word.slice(0, 40))), both ? el("span", { class: "quiet" }, ` ${side}`) : null),
            el("td", { class: "track" }, svg("svg", { width: "100%", height: 12, "aria-hidden": "true" },
              svg("rect", { class: score < 0 ? "bar-minus" : "bar-plus", x: `${score < 0 ? 50 - length : 50}%`, width: `${length}%`, y: 1, height: 10, rx: 2 }),
              svg("line", { class: "axis", x1: "50%", x2: "50%", y1: 0, y2: 12 }))),
            el("td", { class: "number" }, (score < 0 ? "−" : "+") + decimal(Math.abs(score), 3)));
        }))));
  }

  // --- filter, sort, pages --------------------------------------------------------------------------
  const controls = {
    target: byId("filter-target"), attribute: byId("filter-attribute"), label: byId("filter-label"),
    status: byId("filter-status"), text: byId("filter-text"), sort: byId("sort"), size: byId("page-size"),
  };
  let shown = [];
  let page = 0;
  let haystack = null;

  function options(select, values, name) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    for (const [value, total] of [...counts].sort((a, b) => String(name(a[0])).localeCompare(String(name(b[0]))))) {
      select.append(el("option", { value: String(value) }, plain(`${name(value)} (${count.format(total)})`)));
    }
  }

  function searchable() { // built at the first search only
    haystack ??= Array.from({ length: n }, (_, i) => {
      const parts = [columns.id[i], columns.example[i]];
      for (const side of SIDES) {
        parts.push(texts[columns[`text_${side}`][i]]);
        const edits = columns[`edits_${side}`][i];
        if (edits.length) {
          parts.push(segments(i, side).map((part) => part.target ?? part.text).join(""));
        }
      }
      return parts.join("\n").toLowerCase();
    });
    return haystack;
  }

  const NUMBERS = {
    equivalence: (i) => columns.equivalence[i],
    edits: nEdits,
    change,
  };
  function sorted(indices, how) {
    const [key, direction] = how.split("-");
    if (!(key in NUMBERS)) return indices;
    const sign = direction === "down" ? -1 : 1;
    const keyed = indices.map((i) => [NUMBERS[key](i), i]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === null || b === null) return (a === null) - (b === null) || i - j; // without a value: last
      return sign * (a - b) || i - j;
    });
    return keyed.map((pair) => pair[1]);
  }

  function apply() {
    const wanted = {};
    for (const name of ["target", "attribute", "status"]) {
      if (controls[name].value !== "") wanted[name] = Number(controls[name].value);
    }
    const label = controls.label.value;
    const needles = controls.text.value.toLowerCase().trim();
    const hay = needles ? searchable() : null;
    const kept = [];
    for (let i = 0; i < n; i++) {
      if ("target" in wanted && columns.target[i] !== wanted.target) continue;
      if ("attribute" in wanted && columns.attribute[i] !== wanted.attribute) continue;
      if ("status" in wanted && columns.status[i] !== wanted.status) continue;
      if (label !== "" && String(columns.label[i]) !== label) continue;
      if (hay && !hay[i].includes(needles)) continue;
      kept.push(i);
    }
    shown = sorted(kept, controls.sort.value);
    page = 0;
    render();
  }

  function render() {
    const size = Number(controls.size.value);
    const pages = Math.max(1, Math.ceil(shown.length / size));
    page = Math.min(Math.max(page, 0), pages - 1);
    const start = page * size, part = shown.slice(start, start + size);
    byId("findings-list").replaceChildren(...part.map(card));
    const total = shown.length === n ? plural(n, "finding") : `${count.format(shown.length)} of ${plural(n, "finding")}`;
    byId("count").textContent = part.length
      ? `${total}, showing ${count.format(start + 1)} to ${count.format(start + part.length)}`
      : n ? `${total}: nothing fits; loosen a filter or reset` : "No findings";
    for (const nav of document.querySelectorAll(".pager")) {
      nav.hidden = pages < 2;
      nav.querySelector(".where").textContent = `Page ${count.format(page + 1)} of ${count.format(pages)}`;
      nav.querySelector(".previous").disabled = page === 0;
      nav.querySelector(".next").disabled = page === pages - 1;
    }
  }

  function reset() {
    for (const control of Object.values(controls)) {
      if (control.tagName === "SELECT") control.selectedIndex = [...control.options].findIndex((o) => o.defaultSelected);
      else control.value = "";
      if (control.selectedIndex === -1) control.selectedIndex = 0;
    }
  }

  function follow() { // a link to one finding
    const match = /^#finding=(.+)$/.exec(location.hash);
    if (!match) return;
    let id;
    try { id = decodeURIComponent(match[1]); } catch { return; }
    const index = columns.id.indexOf(id);
    if (index < 0) return;
    if (!shown.includes(index)) { reset(); apply(); }
    page = Math.floor(shown.indexOf(index) / Number(controls.size.value));
    render();
    const node = byId(`finding-${index}`);
    node.querySelector("details").open = true;
    node.scrollIntoView();
    node.focus({ preventScroll: true });
  }

  options(controls.target, columns.target, (value) => readable(pools.target[value]));
  options(controls.attribute, columns.attribute, (value) => readable(pools.attribute[value]));
  options(controls.status, columns.status, (value) => pools.status[value]);
  options(controls.label, columns.label, labelName);
  let timer = 0;
  controls.text.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 120); });
  for (const [name, control] of Object.entries(controls)) {
    if (name !== "text") control.addEventListener("change", name === "size" ? () => { page = 0; render(); } : apply);
  }
  byId("filters").addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  byId("reset").addEventListener("click", () => { reset(); apply(); controls.target.focus(); });
  for (const nav of document.querySelectorAll(".pager")) {
    const turn = (by) => () => {
      page += by;
      render();
      if (nav.classList.contains("below")) byId("findings").scrollIntoView();
    };
    nav.querySelector(".previous").addEventListener("click", turn(-1));
    nav.querySelector(".next").addEventListener("click", turn(1));
  }
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => {
    for (const node of document.querySelectorAll("main > section details")) node.open = true;
  });
  byId("explorer").hidden = false;
  apply();
  follow();
})();
