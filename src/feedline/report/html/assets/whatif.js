"use strict";
// The arithmetic of feedline/report/whatif.py, which says what it means and what it
// assumes. A test holds the two to the same numbers.
const feedlineModel = (() => {
  const ALL_CORES = 0;

  function limits(parts, first, fed, stepCpu, cores) {
    const found = [];
    let segment = 0, members = [], cpu = stepCpu;
    parts.forEach((part, place) => {
      const ms = first ? part.first_ms : part.ms;
      cpu += ms * part.busy;
      if (part.ahead) {
        const own = part.threads === ALL_CORES ? cores : part.threads;
        const threads = Math.max(1, Math.min(own, cores));
        found.push({ ms: segment, kind: "stages", stages: members });
        found.push({ ms: ms / threads, kind: "stages", stages: [place] });
        segment = 0;
        members = [];
      } else {
        segment += ms;
        members.push(place);
      }
    });
    found.push({ ms: fed, kind: "step", stages: [] });
    found.push({ ms: segment + fed, kind: "stages", stages: members });
    found.push({ ms: cpu / Math.max(1, cores), kind: "cores", stages: [] });
    return found;
  }

  function slowest(parts, first, fed, cpu, cores) {
    return limits(parts, first, fed, cpu, cores).reduce((a, b) => (b.ms > a.ms ? b : a));
  }

  function alone(scenario, speed) {
    const ms = scenario.overhead_ms + scenario.compute_ms / speed;
    const now = scenario.overhead_ms + scenario.compute_ms;
    return { ms, cpu: now > 0 ? (scenario.cpu_ms * ms) / now : 0 };
  }

  function expect(model, scenario, cores, speed, epochs) {
    const step = alone(scenario, speed);
    const fed = step.ms + scenario.transfer_ms;
    const later = slowest(scenario.parts, false, fed, step.cpu, cores);
    const first = slowest(scenario.parts, true, fed, step.cpu, cores);
    const stepMs = scenario.rest * later.ms + scenario.start_ms;
    const firstMs = scenario.rest * first.ms + scenario.start_ms;
    const meanMs = (firstMs + (epochs - 1) * stepMs) / epochs;
    const steps = model.steps_per_epoch;
    return {
      step_ms: stepMs,
      first_ms: firstMs,
      mean_ms: meanMs,
      alone_ms: scenario.rest * fed,
      limit: later.kind,
      stages: later.stages,
      total_s: steps === null ? null : model.begin_s + (epochs * steps * meanMs) / 1e3,
    };
  }

  function need(model, speed) {
    const scenario = model.scenarios[model.scenarios.length - 1];
    const step = alone(scenario, speed);
    const target = model.margin * (step.ms + scenario.transfer_ms);
    let work = step.cpu, cores = 1;
    for (const [place, part] of scenario.parts.entries()) {
      work += part.ms * part.busy;
      if (part.threads === ALL_CORES) {
        cores = Math.max(cores, Math.ceil(part.ms / target));
      } else if (part.ms / part.threads > target) {
        return { cores: null, workers: null, blocked_by: place };
      }
    }
    cores = Math.max(cores, Math.ceil(work / target));
    const workers = Math.max(0, Math.ceil((cores - model.cores) / model.cores));
    return { cores, workers, blocked_by: null };
  }

  return { expect, need };
})();
