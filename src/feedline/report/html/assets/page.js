"use strict";
// Puts the charts into the page, keeps them to its width and colours, and moves the
// sliders. Without it the page still has its text and its tables.
(() => {
  const data = JSON.parse(document.getElementById("feedline-view").textContent);
  const { ms, seconds, times } = feedlineCharts;
  const model = data.model;
  const chosen = model && { cores: model.cores, speed: 1, epochs: model.epochs };

  const THEME = [
    "text", "quiet", "line", "faint", "card", "good",
    "input", "transfer", "overhead", "compute",
    "on-input", "on-transfer", "on-overhead", "on-compute",
    "part-imports", "part-preparing", "part-tracing", "part-training",
    "on-part-imports", "on-part-preparing", "on-part-tracing", "on-part-training",
    "line-0", "line-1", "line-2",
  ];
  function theme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    const found = Object.fromEntries(THEME.map((name) => [name, read(name)]));
    return { ...found, font: getComputedStyle(document.body).fontFamily };
  }

  const KINDS = {
    bars: { height: () => 14 + 50 * data.bars.length, option: (t, w) => feedlineCharts.bars(data.bars, t, w) },
    run: { height: () => 64, option: (t, w) => feedlineCharts.run(data.run, t, w) },
    fixes: { height: () => 82 + 40 * data.fixes.length, option: (t, w) => feedlineCharts.fixes(data.fixes, t, w) },
    lanes: { height: () => 96 + 42 * data.lanes.length, option: (t, w) => feedlineCharts.lanes(data.lanes, data.stepEnds, data.kinds, t, w) },
    whatif: { height: (w) => (w < 560 ? 330 : 300), option: (t, w) => feedlineCharts.whatif(model, chosen, t, w) },
  };

  const charts = [];
  function mount(element) {
    const kind = KINDS[element.dataset.chart];
    const size = () => {
      const width = Math.max(240, element.clientWidth), height = kind.height(width);
      element.style.height = `${height}px`;
      return { width, height };
    };
    const chart = echarts.init(element, null, { renderer: "svg", ...size() });
    charts.push({
      element,
      draw() {
        const now = size();
        chart.resize(now);
        chart.setOption(kind.option(theme(), now.width), true);
        chart.getZr().flush();
      },
    });
  }
  const drawAll = () => charts.forEach((chart) => chart.draw());

  // ------------------------------------------------------------------ what if

  function speedText(speed) {
    if (speed === 1) return "as measured";
    return speed < 1 ? "half as fast" : `${speed} times as fast`;
  }
  const VALUES = {
    cores: (value) => `${value} ${value === 1 ? "core" : "cores"}`,
    speed: speedText,
    epochs: (value) => value.toLocaleString("en"),
  };

  function limitText(scenario, found, cores) {
    if (found.limit === "step") return "the step itself: the input keeps up";
    if (found.limit === "cores") return "all cores are busy";
    const parts = found.stages.map((place) => scenario.parts[place]);
    const dearest = parts.reduce((a, b) => (b.ms > a.ms ? b : a));
    const own = dearest.threads === 0 ? cores : Math.min(dearest.threads, cores);
    const last = found.stages.includes(scenario.parts.length - 1) && !dearest.ahead;
    let text = dearest.label;
    if (parts.length > 1) text += ` and ${parts.length - 1} more, one after the other`;
    else if (dearest.ahead && dearest.ms > 0) text += `, on ${own} ${own === 1 ? "thread" : "threads"}`;
    else text += ", on one thread";
    return last ? `${text}, in turn with the step` : text;
  }

  function needText() {
    const last = model.scenarios[model.scenarios.length - 1];
    const need = feedlineModel.need(model, chosen.speed);
    if (need.cores === null) {
      const part = last.parts[need.blocked_by];
      return `No number of cores keeps it fed: ${part.label} is Python, which runs on one thread and takes ${ms(part.ms)}.`;
    }
    const cores = VALUES.cores(need.cores);
    if (need.cores <= chosen.cores) return `Spread well, the input and the step need ${cores}: these are enough.`;
    const workers = need.workers > 0
      ? `, or ${need.workers} more input ${need.workers === 1 ? "worker" : "workers"} like the machine measured` : "";
    return `To keep it fed you will need ${cores}${workers}.`;
  }

  function say() {
    const device = chosen.speed === 1 ? "the device as measured" : `a device ${speedText(chosen.speed)}`;
    const found = model.scenarios.map((scenario) =>
      feedlineModel.expect(model, scenario, chosen.cores, chosen.speed, chosen.epochs));
    const fixed = model.scenarios.length > 2 ? `, and ${ms(found[1].mean_ms)} with the fixes` : "";
    document.getElementById("whatif-says").textContent =
      `With ${VALUES.cores(chosen.cores)} and ${device}, expect a step of ${ms(found[0].mean_ms)} as it is${fixed}. ${needText()}`;
    const now = feedlineModel.expect(model, model.scenarios[0], model.cores, 1, model.epochs).mean_ms;
    document.querySelectorAll("#whatif-table [data-scenario]").forEach((row) => {
      const place = Number(row.dataset.scenario), one = found[place];
      const cell = (name, text) => {
        const into = row.querySelector(`[data-cell=${name}]`);
        if (into) into.textContent = text;
      };
      cell("step", ms(one.mean_ms));
      cell("gain", times(now / one.mean_ms));
      cell("total", one.total_s === null ? "" : seconds(one.total_s));
      const first = one.first_ms > 1.01 * one.step_ms
        ? `; ${ms(one.first_ms)} in the first epoch, then ${ms(one.step_ms)}` : "";
      cell("limit", limitText(model.scenarios[place], one, chosen.cores) + first);
    });
  }

  function slide(input) {
    const name = input.dataset.choice;
    chosen[name] = model.choices[name][Number(input.value)];
    const text = VALUES[name](chosen[name]);
    input.setAttribute("aria-valuetext", text);
    document.getElementById(`${name}-value`).textContent = text;
  }

  function sliders() {
    const live = document.getElementById("whatif-live");
    live.hidden = false;
    const inputs = [...live.querySelectorAll("input[type=range]")];
    const redraw = () => {
      say();
      charts.filter((chart) => chart.element.dataset.chart === "whatif").forEach((chart) => chart.draw());
    };
    for (const input of inputs) {
      const name = input.dataset.choice;
      input.max = String(model.choices[name].length - 1);
      input.defaultValue = String(model.choices[name].indexOf(chosen[name]));
      input.value = input.defaultValue;
      slide(input);
      input.addEventListener("input", () => { slide(input); redraw(); });
    }
    const form = live.querySelector("form");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(() => { inputs.forEach(slide); redraw(); }));
    say();
  }

  // --------------------------------------------------------------- the rest

  function legend() {
    const list = document.getElementById("lanes-legend");
    if (!list) return;
    const kinds = [...new Set(data.lanes.flatMap((lane) => Object.keys(lane.totals)))];
    list.replaceChildren(...kinds.map((kind) => {
      const item = document.createElement("li"), mark = document.createElement("i");
      mark.className = "swatch";
      mark.style.background = feedlineCharts.kindColor(kind, data.kinds, theme());
      mark.style.opacity = feedlineCharts.FAINT[kind] || 1;
      item.append(mark, feedlineCharts.kindName(kind, data.kinds));
      return item;
    }));
  }

  function download() {
    const text = document.getElementById("feedline-report").textContent;
    const link = document.getElementById("download");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  }

  download();
  if (model) sliders();
  document.querySelectorAll("[data-chart]").forEach(mount);
  legend();
  drawAll();
  document.documentElement.dataset.drawn = "yes";
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; drawAll(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { legend(); drawAll(); });
  // On paper nothing can be opened: what is closed is printed too.
  let closed = [];
  matchMedia("print").addEventListener("change", (paper) => {
    if (paper.matches) closed.push(...document.querySelectorAll("details:not([open])"));
    closed.forEach((part) => { part.open = paper.matches; });
    if (!paper.matches) closed = [];
    legend();
    drawAll();
  });
})();
