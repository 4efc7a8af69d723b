'use strict';
// The live page of `quorumlock serve`. Whatever comes from the nodes is written as text, never as HTML.
const part = (id) => document.getElementById(id);
const rowsOfAPage = 100, silence = 6000, looksKept = 600, historyKept = 200, namesShown = 20;
let source = null, heard = 0, from = 0, matching = 0, resource = '', lastState = '', typing = 0;
const votes = [], waiting = [], tones = { error: 'bad', warning: 'warning', hint: '' };

// Names and labels are whatever a client chose. What could change how a line is read is escaped as the command line
// does it (quorumlock/event.hpp).
const printable = (text) => String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
  (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

// `texts` are the columns whose words may be long, and are broken into lines.
function row(key, cells, texts) {
  const tr = document.createElement('tr');
  tr.setAttribute('role', 'row');
  tr.dataset.key = key;
  cells.forEach((cell, index) => {
    const place = document.createElement(index === 0 ? 'th' : 'td');
    place.setAttribute('role', index === 0 ? 'rowheader' : 'cell');
    if (index === 0) place.scope = 'row';
    if (texts.includes(index)) place.className = 'text';
    if (cell instanceof Node) place.append(cell); else place.textContent = printable(cell);
    tr.append(place);
  });
  return tr;
}

function item(text, tone = '') {
  const li = document.createElement('li');
  li.dataset.key = li.textContent = printable(text);
  li.className = tone;
  return li;
}

// Makes these the rows or items of a table or list. What has not changed stays as it is, with the focus, a selected
// text, and the place of a screen reader. If the row with the focus is gone, the next one gets it.
function fill(id, made) {
  const list = part(id), focused = list.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...list.querySelectorAll('a')].indexOf(focused) : 0;
  const headings = [...list.closest('table')?.querySelectorAll('thead th') ?? []].map((one) => one.textContent);
  for (const { cells } of made) [...cells ?? []].forEach((cell, index) => { cell.dataset.label = headings[index]; });
  const used = new Map(), known = new Map([...list.children].map((one) => [one.dataset.key, one]));
  for (const { dataset } of made) {  // those of one key differ by their order
    const before = used.get(dataset.key) ?? 0;
    used.set(dataset.key, before + 1);
    if (before) dataset.key += ` ${before}`;
  }
  const kept = new Set(made.map((one) => one.dataset.key));
  for (const [key, old] of known) if (!kept.has(key)) old.remove();
  let next = list.firstElementChild;
  for (const fresh of made) {
    const old = known.get(fresh.dataset.key);
    if (old && old === next) next = next.nextElementSibling; else list.insertBefore(old ?? fresh, next);
    if (!old || old.isEqualNode(fresh)) continue;
    old.className = fresh.className;
    [...fresh.children].forEach((cell, index) => {
      if (!old.children[index].isEqualNode(cell)) old.children[index].replaceWith(cell);
    });
  }
  if (focused && document.activeElement !== focused) {
    const links = [...list.querySelectorAll('a')];
    (list.contains(focused) ? focused : links[Math.min(place, links.length - 1)])?.focus();
  }
}

function span(ms) {
  if (ms === null || ms === undefined) return '-';
  if (ms < 10000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120000) return `${Math.round(ms / 1000)} s`;
  return ms < 7200000 ? `${Math.round(ms / 60000)} min` : `${(ms / 3600000).toFixed(1)} h`;
}

// Only a change is written, so that a screen reader does not say the same again.
function say(id, words, bad = false) {
  const place = part(id), text = printable(words);
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle('bad', bad);
}

function showHeadline({ colour, state, wrong, to_do }) {
  say('verdict', state);
  say('wrong', wrong);
  say('to-do', to_do);
  part('headline').className = colour;
}

function showStatus(news) {
  if (news.error) return showHeadline({ colour: 'red', state: news.error.message, wrong: '', to_do: '' });
  const status = news.status;
  showHeadline(news.headline);
  fill('nodes', status.nodes.map((node) => {
    const tr = row(`${node.group} ${node.node}`, [node.node, node.votes ? 'yes' : 'NO', node.state,
      node.round_trip_ms === null ? '-' : `${node.round_trip_ms.toFixed(2)} ms`,
      node.clock.offset_ms === null ? '-' : `${(Math.round(node.clock.offset_ms * 10) / 10).toFixed(1)} ms`,
      [node.group ? `group ${node.group}` : '', node.votes ? '' : node.reason, node.trouble].filter(Boolean).join(': ')], [0, 5]);
    tr.classList.toggle('bad', !node.votes);
    return tr;
  }));
  const found = alike(news.doctor.findings).map(({ severity, nodes, what, remedy }) =>
    item(`${severity}: ${inWords(nodes)}${what}. Remedy: ${remedy}`, tones[severity]));
  fill('doctor', found.length ? found : [item('Nothing endangers locks on these nodes.')]);
  draw('votes', votes, status.voters, status.nodes.length, status.quorum);
  say('votes-text', `Now ${status.voters} of ${status.nodes.length}; at least ${Math.min(...counts(votes))} ${since(votes)}` +
    (status.quorum ? `; the dashed line is the quorum, ${status.quorum}.` : '.'));
}

// Findings, each once for all the nodes of which the same is to be said.
function alike(findings) {
  const all = [];
  for (const { node, ...words } of findings) {
    const key = JSON.stringify(words);
    let one = node && all.find((other) => other.nodes.length && other.key === key);
    if (!one) all.push(one = { ...words, key, nodes: [] });
    if (node) one.nodes.push(node);
  }
  return all;
}

const inWords = (nodes) => (nodes.length > 1
  ? `each of ${nodes.slice(0, -1).join(', ')} and ${nodes.at(-1)} ` : nodes.map((one) => `${one} `).join(''));
const counts = (values) => values.map((one) => one.count);
const since = (values) => `since ${new Date(values[0].at).toLocaleTimeString()}`;

// Adds a value to a chart over time whose top is `most`, with a dashed line at `mark` unless that is 0.
function draw(id, values, value, most, mark) {
  values.push({ at: Date.now(), count: value });
  if (values.length > looksKept) values.shift();
  const shape = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, its] of Object.entries(attributes)) made.setAttribute(key, its);
    return made;
  };
  const top = Math.max(most, 1), y = (count) => 100 - 94 * count / top;
  const first = values[0].at, length = Math.max(values[values.length - 1].at - first, 1);
  const points = values.map((one) => `${600 * (one.at - first) / length},${y(one.count)}`).join(' ');
  const shapes = [shape('polyline', { class: 'values', points: values.length < 2 ? `${points} 600,${y(value)}` : points })];
  // The mark is drawn last, so that it is seen if the values are equal to it.
  if (mark) shapes.push(shape('line', { class: 'quorum', x1: 0, x2: 600, y1: y(mark), y2: y(mark) }));
  part(id).replaceChildren(...shapes);
  const counts = [0, top, ...mark && mark !== top ? [mark] : []].map((count) => {
    const label = document.createElement('span');
    label.textContent = count;
    label.style.top = `${y(count)}%`;
    if (mark && count === mark) label.className = 'at-quorum';
    return label;
  });
  part(`${id}-counts`).replaceChildren(...counts);
  say(`${id}-since`, new Date(first).toLocaleTimeString());
}

function showLocks(news) {
  if (news.error) {
    say('shown', 'Locks and permits as they were last listed; they may be gone by now');
    return say('summary', `The locks cannot be listed now: ${news.error.message}`, true);
  }
  matching = news.matching;
  say('summary', `${news.held} held, ${news.waiting} waiting` + (news.complete ? '' :
    '; there are more than are listed: quorumlock locks PATTERN finds them'));
  const most = Math.max(news.waiting, ...counts(waiting));
  draw('waiting', waiting, news.waiting, most, 0);
  say('waiting-text', `Now ${news.waiting}; at most ${most} ${since(waiting)}.`);
  showLeaders(news.leaders, news.leading);
  showRanOut(news.ran_out);
  const first = matching === 0 ? 0 : news.from + 1;
  say('shown', `Locks and permits that a quorum of nodes holds: ${first} to ${news.from + news.locks.length} of ${matching}`);
  part('previous').disabled = from === 0;
  part('next').disabled = from + rowsOfAPage >= matching;
  fill('rows', news.locks.map((lock) => {
    const mode = lock.permit ? `permit ${lock.permit}` : lock.leads ? 'leader' : lock.mode;
    const waiters = lock.next_waiter ? `${lock.waiters}, next ${lock.next_waiter}` : String(lock.waiters);
    const key = `${lock.resource} ${lock.permit ?? ''} ${lock.mode === 'shared' ? lock.token_begin : ''}`;
    return row(key, [linkTo(lock.resource), mode, holderOf(lock), span(lock.held_for_ms), span(lock.expires_in_ms), waiters,
      lock.fencing_token ? String(lock.fencing_token) : '-', String(lock.nodes)], [0, 2, 5]);
  }));
}

// A name that is not UTF-8 has lost the bytes by which its lock could be asked for.
function linkTo(resource) {
  if (resource.includes('\uFFFD')) return resource;
  const link = document.createElement('a');
  link.href = `#lock=${encodeURIComponent(resource)}`;
  link.textContent = printable(resource);
  return link;
}

const holderOf = (lock) => `${lock.label || 'without a label'} (${lock.token_begin}...)`;

function showLeaders(leaders, count) {
  say('leaders-text', count === 0 ? 'Nobody leads an election now.' :
    `${count} led now${count > leaders.length ? `; the first ${leaders.length} are shown` : ''}`);
  fill('leaders', leaders.map((lock) =>
    row(lock.resource, [linkTo(lock.resource), holderOf(lock), lock.leader_value ?? '', span(lock.held_for_ms), String(lock.waiters)],
      [0, 1, 2])));
}

function showRanOut(ended) {
  say('ran-out-text', ended.length === 0 ? 'No lease has run out while somebody was looking.' :
    'These were not renewed, and their time was over. The last is first.', ended.length > 0);
  fill('ran-out', ended.map((one) =>
    item(`${new Date(one.at_ms).toLocaleTimeString()}: ${one.resource}${one.permit ? ` permit ${one.permit}` : ''}, ` +
      `held by ${one.label || `${one.token_begin}...`}`)));
}

// The label of a token that was cut, as in 0f3a91c2...@web-3:812; without one, the token.
const labelOf = (token) => token.slice(token.indexOf('@') + 1);

function listed(names) {
  const shown = names.slice(0, namesShown).join(', ');
  return names.length > namesShown ? `${shown} and ${names.length - namesShown} more` : shown;
}

function stateOf(news) {
  if (news.error) return news.error.message;
  const readers = news.readers.map(labelOf), permits = news.semaphore?.permits ?? [];
  if (news.holder) return `held by ${news.label || news.holder}`;
  if (readers.length) return `shared by ${listed(readers)}`;
  if (!news.semaphore) return news.state;
  const holders = listed(permits.map((one) => labelOf(one.owner_token)));
  return `${permits.length} of ${news.semaphore.capacity} permits held${holders && ` by ${holders}`}`;
}

function showLock(news) {
  const failed = news.error ? news.error.message : '';
  const state = stateOf(news);
  say('lock-state', state + (news.held_for_ms === undefined ? '' : ` for ${span(news.held_for_ms)}`), failed !== '');
  const line = news.semaphore?.waiters?.length ? news.semaphore : news;
  const waiters = line.waiters ?? [], count = line.in_line ?? 0;
  fill('line', waiters.map((one) =>
    row(one.waiter, [String(one.position), one.label || one.waiter, one.mode, span(one.waiting_for_ms)], [1])));
  say('line-more', `${count} in line` + (count > waiters.length ? `; the first ${waiters.length} are shown` : ''));
  const happened = `${state}; ${count} in line`;
  if (happened === lastState) return;
  lastState = happened;
  part('history').prepend(item(`${new Date().toLocaleTimeString()}: ${happened}`));
  if (part('history').childElementCount > historyKept) part('history').lastElementChild.remove();
}

function lost(words) {
  say('connection', words, true);
  part('headline').classList.add('old');
}

function connect() {
  source?.close();
  const query = new URLSearchParams({ filter: part('filter').value, order: part('order').value, from, count: rowsOfAPage });
  if (resource) query.set('resource', resource);
  const mine = source = new EventSource(`api/events?${query}`);
  const listen = (name, show) => mine.addEventListener(name, (event) => {
    heard = Date.now();
    say('connection', 'Live');
    part('headline').classList.remove('old');
    show(JSON.parse(event.data));
  });
  listen('status', showStatus);
  listen('locks', showLocks);
  listen('lock', showLock);
  listen('beat', () => {});
  mine.onerror = () => {
    lost('Connection lost, reconnecting: what is shown is old');
    // The browser tries again by itself unless the server has refused the stream.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => { if (mine === source) connect(); }, 2000);
  };
}

// A name as somebody may have typed it, which need not be encoded.
function decoded(name) {
  try { return decodeURIComponent(name); } catch { return name; }
}

function look() {
  const named = location.hash.startsWith('#lock=') ? decoded(location.hash.slice(6)) : '';
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
  if (heard && Date.now() - heard > silence) lost('Nothing heard for some seconds: what is shown is old');
}, 1000);
look();
