'use strict';
// The live page of `quorumlock serve`. Whatever comes from the nodes is written as text, never as HTML.
const part = (id) => document.getElementById(id);
const rowsOfAPage = 100, silence = 6000, looksKept = 600, historyKept = 200;
let source = null, heard = 0, from = 0, matching = 0, resource = '', lastState = '', typing = 0;
const votes = [], waiting = [];

// `texts` are the columns whose words may be long, and are broken into lines.
function row(cells, texts) {
  const tr = document.createElement('tr');
  cells.forEach((cell, index) => {
    const place = document.createElement(index === 0 ? 'th' : 'td');
    if (index === 0) place.scope = 'row';
    if (texts.includes(index)) place.className = 'text';
    if (cell instanceof Node) place.append(cell); else place.textContent = cell;
    tr.append(place);
  });
  return tr;
}

function span(ms) {
  if (ms === null || ms === undefined) return '-';
  if (ms < 10000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120000) return `${Math.round(ms / 1000)} s`;
  return ms < 7200000 ? `${Math.round(ms / 60000)} min` : `${(ms / 3600000).toFixed(1)} h`;
}

// Only a change is written, so that a screen reader does not say the same again.
function say(id, text, bad = false) {
  const place = part(id);
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle('bad', bad);
}

function showStatus(news) {
  if (news.error) return say('verdict', news.error.message, true);
  const status = news.status;
  say('verdict', (status.can_lock ? 'Locks can be had: ' : 'No lock can be had: ') + news.verdict, !status.can_lock);
  part('nodes').replaceChildren(...status.nodes.map((node) => {
    const tr = row([node.node, node.votes ? 'yes' : 'NO', node.state,
      node.round_trip_ms === null ? '-' : `${node.round_trip_ms.toFixed(2)} ms`,
      node.clock.offset_ms === null ? '-' : `${node.clock.offset_ms.toFixed(1)} ms`,
      [node.group ? `group ${node.group}` : '', node.votes ? '' : node.reason, node.trouble].filter(Boolean).join(': ')], [0, 5]);
    tr.classList.toggle('bad', !node.votes);
    return tr;
  }));
  const found = news.doctor.findings.map((one) => {
    const item = document.createElement('li');
    item.textContent = `${one.severity}: ${one.node ? `${one.node} ` : ''}${one.what}. Remedy: ${one.remedy}`;
    item.classList.toggle('bad', one.severity === 'error');
    return item;
  });
  if (found.length === 0) {
    found.push(document.createElement('li'));
    found[0].textContent = 'Nothing endangers locks on these nodes.';
  }
  part('doctor').replaceChildren(...found);
  draw('votes', votes, status.voters, status.nodes.length, status.quorum);
  say('votes-text', `Now ${status.voters} of ${status.nodes.length}; at least ${Math.min(...votes)} in the looks shown` +
    (status.quorum ? `; the dashed line is the quorum, ${status.quorum}.` : '.'));
}

// Adds a value to a chart whose top is `most`, with a dashed line at `mark` unless that is 0.
function draw(id, values, value, most, mark) {
  values.push(value);
  if (values.length > looksKept) values.shift();
  const shape = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, its] of Object.entries(attributes)) made.setAttribute(key, its);
    return made;
  };
  const y = (count) => 75 - 70 * count / Math.max(most, 1);
  const x = (index) => 600 * index / Math.max(values.length - 1, 1);
  const points = values.map((count, index) => `${x(index)},${y(count)}`).join(' ');
  const shapes = [shape('polyline', { class: 'values', points: values.length < 2 ? `${points} 600,${y(value)}` : points })];
  if (mark) shapes.unshift(shape('line', { class: 'quorum', x1: 0, x2: 600, y1: y(mark), y2: y(mark) }));
  part(id).replaceChildren(...shapes);
}

function showLocks(news) {
  if (news.error) {
    say('shown', 'Locks and permits as they were last listed; they may be gone by now');
    return say('summary', `The locks cannot be listed now: ${news.error.message}`, true);
  }
  matching = news.matching;
  say('summary', `${news.held} held, ${news.waiting} waiting` + (news.complete ? '' :
    '; there are more than are listed: quorumlock locks PATTERN finds them'));
  const most = Math.max(news.waiting, ...waiting);
  draw('waiting', waiting, news.waiting, most, 0);
  say('waiting-text', `Now ${news.waiting}; at most ${most} in the looks shown.`);
  showRanOut(news.ran_out);
  const first = matching === 0 ? 0 : news.from + 1;
  say('shown', `Locks and permits that a quorum of nodes holds: ${first} to ${news.from + news.locks.length} of ${matching}`);
  part('previous').disabled = from === 0;
  part('next').disabled = from + rowsOfAPage >= matching;
  const focused = document.activeElement?.dataset?.resource;
  part('rows').replaceChildren(...news.locks.map((lock) => {
    const link = document.createElement('a');
    link.href = `#lock=${encodeURIComponent(lock.resource)}`;
    link.textContent = link.dataset.resource = lock.resource;
    return row([link, lock.permit ? `permit ${lock.permit}` : lock.leads ? 'leader' : lock.mode, `${lock.label || 'without a label'} (${lock.token_begin}...)`,
      span(lock.held_for_ms), span(lock.expires_in_ms), lock.next_waiter ? `${lock.waiters}, next ${lock.next_waiter}` : String(lock.waiters), lock.fencing_token ? String(lock.fencing_token) : '-', String(lock.nodes)], [0, 2, 5]);
  }));
  if (focused !== undefined) [...part('rows').querySelectorAll('a')].find((one) => one.dataset.resource === focused)?.focus();
}

function showRanOut(ended) {
  say('ran-out-text', ended.length === 0 ? 'None, as far as somebody has looked.' :
    'These were not renewed, and their time was over. The last is first.', ended.length > 0);
  part('ran-out').replaceChildren(...ended.map((one) => {
    const item = document.createElement('li');
    item.textContent = `${new Date(one.at_ms).toLocaleTimeString()}: ${one.resource}${one.permit ? ` permit ${one.permit}` : ''}, ` +
      `held by ${one.label || `${one.token_begin}...`}`;
    return item;
  }));
}

function showLock(news) {
  const failed = news.error ? news.error.message : '';
  const holder = news.label || news.holder || (news.readers?.length ? `${news.readers.length} readers` : '');
  const state = failed || (holder ? `${news.state} by ${holder}` : news.state);
  say('lock-state', state + (news.held_for_ms === undefined ? '' : ` for ${span(news.held_for_ms)}`), failed !== '');
  const line = news.semaphore?.waiters?.length ? news.semaphore : news;
  const waiters = line.waiters ?? [], count = line.in_line ?? 0;
  part('line').replaceChildren(...waiters.map((one) =>
    row([String(one.position), one.label || one.waiter, one.mode, span(one.waiting_for_ms)], [1])));
  say('line-more', `${count} in line` + (count > waiters.length ? `; the first ${waiters.length} are shown` : ''));
  const happened = `${state}; ${count} in line`;
  if (happened === lastState) return;
  lastState = happened;
  const item = document.createElement('li');
  item.textContent = `${new Date().toLocaleTimeString()}: ${happened}`;
  part('history').prepend(item);
  if (part('history').childElementCount > historyKept) part('history').lastElementChild.remove();
}

function connect() {
  source?.close();
  const query = new URLSearchParams({ filter: part('filter').value, order: part('order').value, from, count: rowsOfAPage });
  if (resource) query.set('resource', resource);
  const mine = source = new EventSource(`api/events?${query}`);
  const listen = (name, show) => mine.addEventListener(name, (event) => {
    heard = Date.now();
    say('connection', 'Live');
    show(JSON.parse(event.data));
  });
  listen('status', showStatus);
  listen('locks', showLocks);
  listen('lock', showLock);
  listen('beat', () => {});
  mine.onerror = () => {
    say('connection', 'Connection lost, reconnecting: what is shown is old', true);
    // The browser tries again by itself unless the server has refused the stream.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => { if (mine === source) connect(); }, 2000);
  };
}

function look() {
  const named = location.hash.startsWith('#lock=') ? decodeURIComponent(location.hash.slice(6)) : '';
  if (named !== resource) {
    resource = named;
    lastState = '';
    part('history').replaceChildren();
    part('line').replaceChildren();
    say('lock-state', '');
    part('lock').hidden = !resource;
    say('lock-heading', `Lock ${resource}`);
    if (resource) part('lock-heading').focus();
  }
  connect();
}

const page = (start) => { from = Math.max(0, start); connect(); };
part('filter').addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(() => page(0), 300); });
part('order').addEventListener('change', () => page(0));
part('previous').addEventListener('click', () => page(from - rowsOfAPage));
part('next').addEventListener('click', () => page(from + rowsOfAPage));
part('close').addEventListener('click', () => { location.hash = '#locks'; part('filter').focus(); });
addEventListener('hashchange', () => { if (location.hash.startsWith('#lock=') || resource) look(); });
setInterval(() => {
  if (heard && Date.now() - heard > silence) say('connection', 'Nothing heard for some seconds: what is shown is old', true);
}, 1000);
look();
