"use strict";
const { kinds, queues, runs, left_out: leftOut } = JSON.parse(document.getElementById("data").textContent);
const style = getComputedStyle(document.documentElement);
const colour = (name) => style.getPropertyValue(`--${name}`).trim();
const colourOf = (run) => colour(`run${run % 8}`);
const ink = colour("ink-2");
const grid = { stroke: colour("line"), width: 1 };
const axis = { stroke: ink, grid, ticks: grid };
const percents = (_, values) => {
  const step = values.length > 1 ? (values[1] - values[0]) * 100 : 1;
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return values.map((value) => (value === null ? "" : `${(value * 100).toFixed(digits)} %`));
};
const percent = (_, value) => (value === null ? "" : `${(value * 100).toFixed(1)} %`);

// How each kind of line is drawn, and whether it is at first: what was used, and what was due.
const drawn = {
  used: { words: "used", width: 2, shown: true },
  demand: { words: "demand", width: 1, shown: runs.length === 1 },
  entitled: { words: "entitled", width: 1.5, dash: [7, 4], shown: true },
  fair_share: { words: "fair share", width: 1, dash: [2, 3], shown: false },
  guaranteed: { words: "guaranteed", width: 1, dash: [9, 3, 2, 3], shown: false },
};

function span(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const [unit, length] = units.find(([, one]) => seconds >= one) || ["s", 1];
  return `${Number((seconds / length).toPrecision(3))} ${unit}`;
}
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200]
  .concat([1, 2, 5, 7, 14, 30, 60, 90, 180, 365].map((days) => days * 86400));
const spans = (_, values) => values.map((value) => (value === null ? "" : span(value)));
const times = (_, values) => values.map((value) => (value === null ? "" : `${value} ×`));
const width = (place) => Math.max(280, place.clientWidth);
const HEIGHT = 260;

function draw(place, options, data) {
  const plot = new uPlot({ width: width(place), height: HEIGHT, ...options }, data, place);
  addEventListener("resize", () => plot.setSize({ width: width(place), height: HEIGHT }));
  const save = document.createElement("button");
  save.className = "save";
  save.type = "button";
  save.textContent = "PNG";
  save.title = "Save this plot as a picture";
  save.addEventListener("click", () => savePicture(plot, options.title));
  place.append(save);
  return plot;
}

// The plot with its title and the names of the lines that are shown.
function savePicture(plot, title) {
  const source = plot.ctx.canvas;
  const scale = devicePixelRatio;
  const shown = plot.series.slice(1).filter((one) => one.show);
  const [head, row] = [30 * scale, 20 * scale];
  const picture = document.createElement("canvas");
  picture.width = source.width;
  picture.height = source.height + head + row * shown.length + row / 2;
  const to = picture.getContext("2d");
  to.fillStyle = colour("surface");
  to.fillRect(0, 0, picture.width, picture.height);
  to.drawImage(source, 0, head);
  to.font = `${14 * scale}px sans-serif`;
  to.fillStyle = colour("ink");
  to.fillText(title, 60 * scale, 20 * scale);
  to.font = `${12 * scale}px sans-serif`;
  shown.forEach((one, at) => {
    const y = source.height + head + row * at + row / 2;
    to.strokeStyle = typeof one.stroke === "function" ? one.stroke(plot) : one.stroke;
    to.lineWidth = one.width * scale;
    to.setLineDash((one.dash || []).map((part) => part * scale));
    to.beginPath();
    to.moveTo(60 * scale, y);
    to.lineTo(90 * scale, y);
    to.stroke();
    to.fillText(one.label, 96 * scale, y + 4 * scale);
  });
  picture.toBlob((blob) => {
    const link = document.createElement("a");
    link.download = `${title.replace(/[^A-Za-z0-9]+/g, "-")}.png`;
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

// Marks of logarithmic axes: lengths of time that people name, and ratios.
const marks = {
  waits: [0.1, 1, 10, 60, 600, 3600, 21600, 86400, 604800].concat([30, 180, 365, 3650].map((days) => days * 86400)),
  slowdowns: [1, 2, 5].concat([1, 2, 3, 4, 5, 6, 7].flatMap((power) => [1, 3].map((one) => one * 10 ** power))),
};

function drawDistribution(id, title, label, values, value) {
  const place = document.getElementById(id);
  const [least] = marks[id];
  // A logarithmic axis has no 0.
  const tables = runs.map((run) => [run[id][0].map((one) => Math.max(least, one)), run[id][1]]);
  if (!tables.some(([some]) => some.length)) {
    place.textContent = `There are no ${id}.`;
    return;
  }
  const [at, ...parts] = uPlot.join(tables.map(([x, y]) => [x, y]));
  // Between its own points the line of a run is level.
  for (const line of parts) {
    let last = 0;
    line.forEach((one, place) => { last = line[place] = one ?? last; });
  }
  draw(place, {
    title,
    scales: {
      x: { time: false, distr: 3, range: (_, low, high) => [low, marks[id].find((mark) => mark >= high && mark > low) || high] },
      y: { range: [0, 1] },
    },
    axes: [{
      ...axis, values, filter: (_, splits) => splits,
      splits: (_, __, low, high) => marks[id].filter((mark) => mark >= low && mark <= high),
    }, { ...axis, values: percents, size: 60 }],
    series: [
      { label, value },
      ...runs.map((run, number) => ({
        label: run.name, stroke: colourOf(number), width: 2, value: percent, points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
      })),
    ],
  }, [at, ...parts]);
}

function drawQueues() {
  const plots = queues.map((queue, place) => {
    const box = document.createElement("div");
    box.className = "plot";
    document.getElementById("queues").append(box);
    const series = [{ label: "time", value: (_, value) => (value === null ? "" : span(value)) }];
    const tables = runs.map((run) => [run.at, ...kinds.map((kind) => run.lines[place][kind])]);
    runs.forEach((run, number) => {
      for (const kind of kinds) {
        const { words, width, dash, shown } = drawn[kind];
        const label = runs.length === 1 ? words : `${run.name}, ${words}`;
        const fill = kind === "used" && runs.length === 1 ? `${colourOf(number)}22` : undefined;
        const stroke = kind === "demand" && runs.length === 1 ? ink : colourOf(number);
        series.push({ label, stroke, width, dash, fill, show: shown, value: percent, spanGaps: true });
      }
    });
    return draw(box, {
      title: queue, series,
      cursor: { sync: { key: "queues" } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.min(1, Math.max(0.01, high || 0))] } },
      axes: [{ ...axis, values: spans, incrs: steps }, { ...axis, values: percents, size: 60 }],
    }, uPlot.join(tables));
  });
  kinds.forEach((kind, number) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = drawn[kind].shown;
    box.addEventListener("change", () => {
      for (const plot of plots) {
        runs.forEach((_, run) => plot.setSeries(1 + run * kinds.length + number, { show: box.checked }));
      }
    });
    const { words, width, dash } = drawn[kind];
    const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [name, value] of Object.entries({ x1: 0, y1: 5, x2: 28, y2: 5, "stroke-width": width })) {
      line.setAttribute(name, value);
    }
    if (dash) line.setAttribute("stroke-dasharray", dash.join(" "));
    sample.append(line);
    label.append(box, sample, words);
    document.getElementById("kinds").append(label);
  });
  if (leftOut) {
    document.getElementById("left-out").textContent =
      `The ${queues.length} queues that used most; ${leftOut} more are in the table below.`;
  }
}

drawDistribution("waits", "Waits for the first container", "wait", spans,
  (_, value) => (value === null ? "" : span(value)));
drawDistribution("slowdowns", "Bounded slowdowns", "slowdown", times,
  (_, value) => (value === null ? "" : `${value.toFixed(2)} ×`));
drawQueues();
document.documentElement.dataset.drawn = "yes";
