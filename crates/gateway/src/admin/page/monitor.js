// Asks for the numbers every other second and shows them. Rates are differences of two answers.
'use strict';

const PAUSE_MS = 2000;
const POINTS_MAX = 150;

const byId = (id) => document.getElementById(id);
const rates = [];
let before = null;

function cell(text, isBad) {
  const made = document.createElement('td');
  made.textContent = text;
  if (isBad) made.className = 'bad';
  return made;
}

function fill(id, rows) {
  byId(id).replaceChildren(...rows.map((cells) => {
    const row = document.createElement('tr');
    row.append(...cells);
    return row;
  }));
}

function figure(name, text, isBad) {
  const made = document.createElement('div');
  const value = document.createElement('b');
  const label = document.createElement('span');
  value.textContent = text;
  if (isBad) value.className = 'bad';
  label.textContent = name;
  made.append(value, label);
  return made;
}

function ms(time) {
  if (time === null) return '–';
  if (time >= 10000) return `${Math.round(time / 1000)} s`;
  return `${time < 10 ? time.toFixed(2) : Math.round(time)} ms`;
}

const mean = (timed) => (timed.meanUs === null ? null : timed.meanUs / 1000);
const rate = (count) => (count < 10 ? count.toFixed(1) : Math.round(count).toLocaleString());
const sum = (values) => values.reduce((all, value) => all + value, 0);
const key = (route) => `${route.method} ${route.route}`;

function age(sinceMs) {
  const seconds = Math.max(0, Math.floor((Date.now() - sinceMs) / 1000));
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([length]) => seconds >= length);
  if (first < 0) return '0 s';
  return parts.slice(first, first + 2)
    .map(([length, unit], at) => `${at ? Math.floor((seconds % parts[first][0]) / length) : Math.floor(seconds / length)} ${unit}`)
    .join(' ');
}

function show(now) {
  const at = performance.now();
  // Another process counts from 0 again.
  if (before && before.startedMs !== now.startedMs) before = null;
  const seconds = before ? (at - before.at) / 1000 : 0;
  const total = sum(now.routes.map((route) => route.requests));
  const failed = sum(now.routes.map((route) => route.classes['5xx']));
  const perSecond = seconds ? Math.max(0, total - before.total) / seconds : 0;
  const failures = seconds ? Math.max(0, failed - before.failed) / seconds : 0;
  if (seconds) rates.push(perSecond);
  if (rates.length > POINTS_MAX) rates.shift();

  byId('version').textContent = `${now.version} · catalog ${now.catalog.slice(0, 8)}`;
  const state = byId('state');
  state.textContent = `${now.ready ? 'ready' : 'not ready'}, up ${age(now.startedMs)}`;
  state.className = now.ready ? 'good' : 'bad';
  const cpu = seconds ? (now.cpuMs - before.cpuMs) / 10 / seconds : 0;
  byId('figures').replaceChildren(
    figure('requests per second', rate(perSecond)),
    figure('errors per second', rate(failures), failures > 0),
    figure('connections', sum(now.workers.map((worker) => worker.connections)).toLocaleString()),
    figure('under way', sum(now.workers.map((worker) => worker.inFlight)).toLocaleString()),
    figure('memory', `${Math.round(now.memoryBytes / 1048576)} MiB`),
    figure('processor', `${Math.round(cpu)} %`),
    figure('heavy threads busy', `${now.heavy.busy} of ${now.heavy.busy + now.heavy.free}`, now.heavy.waiting > 0),
  );

  const most = Math.max(1, ...rates);
  const across = (index) => (600 * (index + POINTS_MAX - rates.length)) / (POINTS_MAX - 1);
  const points = rates.map((value, index) => `${across(index)},${78 - (70 * value) / most}`);
  document.querySelector('#chart polyline').setAttribute('points', points.join(' '));
  const ground = rates.length > 1 ? ['600,80', `${across(0)},80`] : [];
  document.querySelector('#chart polygon').setAttribute('points', [...points, ...ground].join(' '));
  byId('scale').textContent = rates.length ? `last ${Math.round((POINTS_MAX * PAUSE_MS) / 60000)} minutes, most ${rate(most)}` : '';

  fill('workers', now.workers.map((worker) => [
    cell(worker.worker), cell(worker.connections), cell(worker.inFlight), cell(ms(worker.lagMs), worker.lagMs >= 50),
  ]));
  const known = before ? before.routes : new Map();
  fill('routes', now.routes.map((route) => [
    cell(key(route)),
    cell(route.requests.toLocaleString()),
    cell(seconds ? rate((route.requests - (known.get(key(route)) || 0)) / seconds) : '–'),
    cell(route.classes['4xx']),
    cell(route.classes['5xx'], route.classes['5xx'] > 0),
    cell(ms(mean(route))),
  ]));
  const isFailure = ([outcome]) => !/^[123]xx$/.test(outcome);
  fill('upstreams', now.upstreams.upstreams.map((upstream) => {
    const failures = sum(Object.entries(upstream.outcomes).filter(isFailure).map(([, count]) => count));
    return [
      cell(upstream.upstream), cell(upstream.requests.toLocaleString()), cell(upstream.inFlight), cell(upstream.waiting, upstream.waiting > 0),
      cell(upstream.idle + upstream.shared), cell(failures, failures > 0), cell(ms(mean(upstream))),
    ];
  }));
  byId('failing').replaceChildren(...now.upstreams.failing.map((target) => {
    const made = document.createElement('li');
    made.className = 'bad';
    const closed = target.closedForMs > 0 ? `left alone for ${ms(target.closedForMs)}` : 'not left alone';
    made.textContent = `${target.target}: ${target.failures} failures in a row, ${closed}`;
    return made;
  }));
  fill('events', Object.entries(now.events).map(([event, count]) => [cell(event.replaceAll('_', ' ')), cell(count.toLocaleString(), count > 0)]));
  before = { at, startedMs: now.startedMs, total, failed, cpuMs: now.cpuMs, routes: new Map(now.routes.map((route) => [key(route), route.requests])) };
}

async function turn() {
  try {
    const answer = await fetch('/', { headers: { accept: 'application/json' }, cache: 'no-store' });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
    document.querySelector('main').className = '';
  } catch (error) {
    const state = byId('state');
    state.textContent = `no answer: ${error.message}`;
    state.className = 'bad';
    document.querySelector('main').className = 'stale';
  }
  setTimeout(turn, PAUSE_MS);
}

turn();
