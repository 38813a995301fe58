"use strict";
const runs = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
const colours = dark
  ? ["#5a9bec", "#2eb2a7", "#a18af0", "#65ba73", "#4eb1dc", "#ce85d2", "#93a2b7", "#f0b958"]
  : ["#2a6ab5", "#0c7d77", "#7152bf", "#367b3d", "#1c7aa3", "#97479c", "#5a697e", "#875500"];
const ink = dark ? "#b5bfcb" : "#434e5c";
const grid = { stroke: dark ? "#29323d" : "#dde2e9", width: 1 };
const axis = { stroke: ink, grid, ticks: grid };
const percent = (_, values) => values.map((value) => (value === null ? "" : `${Math.round(value * 100)} %`));

function span(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const [unit, length] = units.find(([, one]) => seconds >= one) || ["s", 1];
  return `${Number((seconds / length).toPrecision(3))} ${unit}`;
}
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200]
  .concat([1, 2, 5, 7, 14, 30, 60, 90, 180, 365].map((days) => days * 86400));
const spans = (_, values) => values.map((value) => (value === null ? "" : span(value)));
const width = (place) => Math.max(320, place.clientWidth);

function draw(place, options, data) {
  const plot = new uPlot({ width: width(place), height: 280, ...options }, data, place);
  addEventListener("resize", () => plot.setSize({ width: width(place), height: 280 }));
}

function drawWaits() {
  const place = document.getElementById("waits");
  // A logarithmic axis has no 0: what began at once is at a tenth of a second.
  const tables = runs.map((run) => [run.waits[0].map((wait) => Math.max(0.1, wait)), run.waits[1]]);
  const [times, ...parts] = uPlot.join(tables);
  // Between its own points the line of a run is level.
  for (const line of parts) {
    let last = 0;
    line.forEach((value, at) => { last = line[at] = value ?? last; });
  }
  draw(place, {
    scales: { x: { time: false, distr: 3 }, y: { range: [0, 1] } },
    axes: [{ ...axis, values: spans }, { ...axis, values: percent, size: 60 }],
    series: [
      { label: "wait", value: (_, value) => (value === null ? "" : span(value)) },
      ...runs.map((run, at) => ({
        label: run.name, stroke: colours[at % colours.length], width: 2,
        paths: uPlot.paths.stepped({ align: 1 }),
        value: (_, value) => (value === null ? "" : `${(value * 100).toFixed(1)} %`),
      })),
    ],
  }, [times, ...parts]);
}

function drawQueues() {
  for (const run of runs) {
    const place = document.createElement("div");
    place.className = "plot";
    document.getElementById("queues").append(place);
    const series = [{ label: "time", value: (_, value) => (value === null ? "" : span(value)) }];
    const data = [run.at];
    run.queues.forEach((queue, at) => {
      const stroke = colours[at % colours.length];
      const value = (_, part) => (part === null ? "" : `${(part * 100).toFixed(1)} %`);
      series.push({ label: queue.name, stroke, width: 2, value });
      series.push({ label: `${queue.name}, share`, stroke, width: 1, dash: [6, 4], value });
      data.push(queue.used, queue.fair);
    });
    draw(place, {
      title: run.name, series,
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, Math.max(0.01, high || 0)] } },
      axes: [{ ...axis, values: spans, incrs: steps }, { ...axis, values: percent, size: 60 }],
    }, data);
  }
}

drawWaits();
drawQueues();
document.documentElement.dataset.drawn = "yes";
