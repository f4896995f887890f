"use strict";
// Data in, an ECharts option out. Every text is drawn as text, never as markup.
const feedlineCharts = (() => {
  const SHARES = ["input", "transfer", "overhead", "compute"];
  const RUN = ["imports", "preparing", "tracing", "training"];

  function number(value) {
    if (value === null || !Number.isFinite(value)) return "?";
    const size = Math.abs(value);
    if (size >= 1e7) return value.toExponential(2);
    if (size === 0 || size >= 100) return Math.round(value).toLocaleString("en");
    if (size >= 1) return value.toFixed(1);
    return size >= 0.001 ? String(Number(value.toPrecision(2))) : value.toFixed(4);
  }
  const tick = (value) => `${Number(value.toPrecision(6))} ms`;
  const ms = (value) => `${number(value)} ms`;
  function seconds(value) {
    if (value >= 7200) return `${(value / 3600).toFixed(1)} h`;
    if (value >= 600) return `${(value / 60).toFixed(0)} min`;
    return `${value.toFixed(value >= 10 ? 0 : 1)} s`;
  }
  const times = (value) => `${value < 10 ? value.toFixed(1) : number(Math.round(value))} ×`;

  function common(theme) {
    return {
      animation: false,
      textStyle: { fontFamily: theme.font, color: theme.text, fontSize: 13 },
      tooltip: {
        renderMode: "richText",
        confine: true,
        backgroundColor: theme.card,
        borderColor: theme.line,
        textStyle: { color: theme.text, fontSize: 13 },
      },
    };
  }

  function axis(theme, more) {
    return {
      axisLabel: { color: theme.quiet, hideOverlap: true },
      axisLine: { lineStyle: { color: theme.line } },
      splitLine: { lineStyle: { color: theme.faint } },
      nameTextStyle: { color: theme.quiet },
      ...more,
    };
  }

  // A line for each of `data`, the first on top, its name in `width` pixels.
  function named(data, theme, width) {
    return axis(theme, {
      type: "category",
      inverse: true,
      data: data.map((_, place) => place),
      axisTick: { show: false },
      axisLabel: {
        color: theme.text, interval: 0, width, overflow: "truncate",
        formatter: (place) => data[place].name,
      },
    });
  }

  // Stacked bars, one for each of `bars`, all on one scale.
  function stacked(bars, names, unit, theme, width, prefix) {
    const most = Math.max(...bars.map((bar) => bar.total), 1e-9);
    const side = bars.length > 1 ? 62 : 0;
    const wide = (text) => echarts.format.getTextRect(text, `600 13px ${theme.font}`).width;
    const right = 14 + Math.max(...bars.map((bar) => wide(unit(bar.total))));
    const room = width - side - right;
    const series = names.map((name) => ({
      name,
      type: "bar",
      stack: "all",
      barWidth: 34,
      itemStyle: { color: theme[prefix + name], borderColor: theme.card, borderWidth: 1 },
      emphasis: { disabled: true },
      label: {
        show: true,
        color: theme["on-" + prefix + name],
        fontWeight: 600,
        overflow: "truncate",
        formatter: (at) => {
          const bar = bars[at.dataIndex], value = bar.parts[name] || 0;
          const text = `${name} ${Math.round((100 * value) / Math.max(bar.total, 1e-9))} %`;
          return (value / most) * room > wide(text) + 14 ? text : "";
        },
      },
      data: bars.map((bar) => bar.parts[name] || 0),
    }));
    return {
      ...common(theme),
      tooltip: {
        ...common(theme).tooltip,
        formatter: (at) => `${at.seriesName}: ${unit(at.value)}`,
      },
      grid: { left: side, right, top: 4, bottom: 4 },
      // A little more: rounding must not push the total off the axis.
      xAxis: { type: "value", max: most * 1.0001, show: false },
      yAxis: axis(theme, {
        type: "category",
        inverse: true,
        show: bars.length > 1,
        data: bars.map((bar) => bar.name),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { color: theme.text, fontWeight: 600, fontSize: 13 },
      }),
      series: [
        ...series,
        {
          type: "bar",
          stack: "all",
          silent: true,
          data: bars.map(() => 0),
          label: {
            show: true,
            position: "right",
            color: theme.text,
            fontWeight: 600,
            formatter: (at) => unit(bars[at.dataIndex].total),
          },
        },
      ],
    };
  }

  const bars = (data, theme, width) => stacked(data, SHARES, ms, theme, width, "");
  const run = (data, theme, width) => stacked(data, RUN, seconds, theme, width, "part-");

  // Each fix: predicted as a diamond, measured as a dot with its interval.
  function fixes(data, theme, width) {
    const side = width < 560 ? 118 : 190;
    const seen = data.flatMap((fix) => [fix.predicted, fix.measured, ...(fix.interval || [])])
      .filter((value) => value > 0);
    const low = Math.floor(Math.log2(Math.min(0.95, ...seen)));
    const high = Math.ceil(Math.log2(Math.max(1.05, ...seen)));
    const color = (fix) => (fix.applied ? theme.good : theme.quiet);
    const dots = (name, field, symbol, hollow) => ({
      name,
      type: "scatter",
      symbol,
      symbolSize: 12,
      z: hollow ? 4 : 3,
      data: data.flatMap((fix, place) => (fix[field] > 0 ? [{
        value: [fix[field], place],
        itemStyle: hollow
          ? { color: "transparent", borderColor: theme.text, borderWidth: 1.8 }
          : { color: color(fix) },
      }] : [])),
    });
    return {
      ...common(theme),
      legend: {
        top: 0, left: 0, itemGap: 18, itemWidth: 12, itemHeight: 12, selectedMode: false,
        textStyle: { color: theme.text },
        data: [
          { name: "predicted", itemStyle: { color: "transparent", borderColor: theme.text, borderWidth: 1.8 } },
          { name: "measured, with its interval", itemStyle: { color: theme.good } },
        ],
      },
      tooltip: {
        ...common(theme).tooltip,
        formatter: (at) => `${data[at.value[1]].name}: ${at.seriesName.split(",")[0]} ${times(at.value[0])}`,
      },
      grid: { left: side, right: 24, top: 34, bottom: 40 },
      xAxis: axis(theme, {
        type: "log",
        logBase: 2,
        min: 2 ** low,
        max: 2 ** high,
        name: "times as fast",
        nameLocation: "middle",
        nameGap: 26,
        axisLabel: { color: theme.quiet, formatter: (value) => `${Number(value.toPrecision(3))} ×` },
      }),
      yAxis: named(data, theme, side - 16),
      series: [
        {
          type: "custom",
          silent: true,
          z: 2,
          encode: { x: [0, 1], y: 2 },
          data: data.flatMap((fix, place) => {
            const [from, to] = fix.interval || [];
            return from > 0 && to > 0 ? [[from, to, place]] : [];
          }),
          renderItem: (_, api) => {
            const place = api.value(2);
            const [x1, y] = api.coord([api.value(0), place]);
            const [x2] = api.coord([api.value(1), place]);
            const stroke = color(data[place]);
            const line = (a, b, c, d) => ({
              type: "line", shape: { x1: a, y1: b, x2: c, y2: d }, style: { stroke, lineWidth: 2.5 },
            });
            return { type: "group", children: [
              line(x1, y, x2, y), line(x1, y - 6, x1, y + 6), line(x2, y - 6, x2, y + 6),
            ] };
          },
        },
        dots("predicted", "predicted", "diamond", true),
        {
          ...dots("measured, with its interval", "measured", "circle", false),
          markLine: {
            silent: true, symbol: "none", data: [{ xAxis: 1 }],
            lineStyle: { color: theme.text, type: "dashed", width: 1 },
            label: { show: false },
          },
        },
      ],
    };
  }

  // `kinds` has, for each kind of span, the share that it is counted as and its name.
  function kindColor(kind, kinds, theme) {
    const known = kind !== "unknown" && Object.hasOwn(kinds, kind);
    return known ? theme[kinds[kind][0]] : theme.quiet;
  }
  const kindName = (kind, kinds) => (Object.hasOwn(kinds, kind) ? kinds[kind][1] : kind);

  // Lanes of spans; within one share, kinds differ in strength.
  const FAINT = { "host-op": 0.55, "copy-out": 0.6, "launch": 0.6, "python": 0.4, "exchange": 0.8, "unknown": 0.5 };
  function lanes(data, ends, kinds, theme, width) {
    const side = width < 560 ? 84 : 130;
    const all = data.flatMap((lane, place) => lane.spans.map((span) => [span[0], span[1], place, span[2], span[3]]));
    const last = Math.max(...all.map((span) => span[1]), ...ends);
    return {
      ...common(theme),
      tooltip: {
        ...common(theme).tooltip,
        formatter: (at) => {
          const [from, to, , kind, label] = at.value;
          return `${kindName(kind, kinds)}, ${ms(to - from)}${label ? `\n${label}` : ""}`;
        },
      },
      grid: { left: side, right: 18, top: 8, bottom: 74 },
      dataZoom: [
        { type: "slider", bottom: 8, height: 22, filterMode: "none", borderColor: theme.line,
          textStyle: { color: theme.quiet }, labelFormatter: (value) => ms(value) },
        { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl" },
      ],
      xAxis: axis(theme, {
        type: "value", min: 0, max: last, splitNumber: width < 560 ? 3 : 6,
        axisLabel: { color: theme.quiet, hideOverlap: true, showMaxLabel: false, formatter: tick },
      }),
      yAxis: named(data, theme, side - 14),
      series: [{
        type: "custom",
        encode: { x: [0, 1], y: 2 },
        clip: true,
        data: all,
        renderItem: (_, api) => {
          const [x1, y] = api.coord([api.value(0), api.value(2)]);
          const [x2] = api.coord([api.value(1), api.value(2)]);
          const height = Math.min(26, api.size([0, 1])[1] * 0.62);
          const kind = api.value(3);
          return {
            type: "rect",
            shape: { x: x1, y: y - height / 2, width: Math.max(1, x2 - x1), height },
            style: { fill: kindColor(kind, kinds, theme), opacity: FAINT[kind] || 1 },
          };
        },
        markLine: {
          silent: true, symbol: "none", data: ends.map((end) => ({ xAxis: end })),
          lineStyle: { color: theme.quiet, type: "dashed", width: 1 }, label: { show: false },
        },
      }],
    };
  }

  // The expected step against the number of cores, a line for each scenario.
  const ALONE = "the step alone";
  function whatif(model, chosen, theme, width) {
    const cores = model.choices.cores;
    const step = (scenario, count) =>
      feedlineModel.expect(model, scenario, count, chosen.speed, chosen.epochs);
    const last = model.scenarios[model.scenarios.length - 1];
    const alone = step(last, chosen.cores).alone_ms;
    return {
      ...common(theme),
      tooltip: {
        ...common(theme).tooltip,
        trigger: "axis",
        formatter: (points) => [`${cores[points[0].dataIndex]} cores`,
          ...points.map((point) => `${point.seriesName}: ${ms(point.value)}`)].join("\n"),
      },
      legend: {
        top: 0, left: 0, itemGap: 18, selectedMode: false, textStyle: { color: theme.text },
        data: [...model.scenarios.map((scenario) => scenario.title), { name: ALONE, itemStyle: { opacity: 0 } }],
      },
      grid: { left: 58, right: 18, top: width < 560 ? 74 : 44, bottom: 44 },
      xAxis: axis(theme, {
        type: "category", data: cores, name: "cores", nameLocation: "middle", nameGap: 28,
        boundaryGap: false, axisTick: { show: false }, splitLine: { show: false },
        axisLabel: { color: theme.quiet, interval: width < 560 ? "auto" : 0 },
      }),
      yAxis: axis(theme, {
        type: "value", min: 0,
        axisLabel: { color: theme.quiet, formatter: tick },
      }),
      series: [...model.scenarios.map((scenario, place) => ({
        name: scenario.title,
        type: "line",
        symbol: ["circle", "diamond", "triangle"][place],
        symbolSize: 7,
        lineStyle: { width: 2.5, type: ["solid", "dashed", "dotted"][place] },
        color: theme["line-" + place],
        data: cores.map((count) => step(scenario, count).mean_ms),
        markLine: place ? undefined : {
          silent: true, symbol: "none", label: { show: false },
          data: [{ xAxis: cores.indexOf(chosen.cores) }],
          lineStyle: { color: theme.text, type: "solid", width: 1.2 },
        },
      })), {
        name: ALONE,
        type: "line",
        symbol: "none",
        color: theme.quiet,
        lineStyle: { width: 1.5, type: [2, 4] },
        data: cores.map(() => alone),
      }],
    };
  }

  return { bars, run, fixes, lanes, whatif, kindColor, kindName, FAINT, ms, number, seconds, times };
})();
