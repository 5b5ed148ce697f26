// Shows a page as it is by now, once the app was read anew or the server is back. Only `qlio serve --dev` sends it.
'use strict';

const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 10_000;
const EVENT = 'app-reloaded';

const shown = document.currentScript.dataset.page;
let pause = PAUSE_MS_MIN;

function tell(message) {
  const note = document.querySelector('[role=status]') ?? document.createElement('p');
  note.setAttribute('role', 'status');
  note.className = 'hint';
  note.textContent = message;
  document.querySelector('main').prepend(note);
}

// Loads the page only if it is another one, so that nobody loses what is typed into a form for a change elsewhere.
async function refresh() {
  try {
    const answer = await fetch(location.href, { cache: 'no-store', headers: { accept: 'text/html' } });
    if (!answer.ok) {
      tell(`This page is gone: ${(await answer.json()).message}`);
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (page.querySelector('[data-page]')?.dataset.page !== shown) location.reload();
    else document.querySelector('[role=status]')?.remove();
  } catch {
    // The server has gone meanwhile: the connection ends as well, and who has a new one asks again.
  }
}

function connect() {
  const address = new URL('./', document.baseURI);
  address.protocol = address.protocol.replace('http', 'ws');
  const socket = new WebSocket(address, 'ql.io-console');
  socket.onopen = () => {
    pause = PAUSE_MS_MIN;
    socket.send(JSON.stringify({ type: 'events', data: JSON.stringify([EVENT]) }));
  };
  socket.onmessage = ({ data: text }) => {
    const { type, data } = JSON.parse(text);
    if (type === EVENT && data.refused) tell(data.message);
    // From the answer to `events` on nothing is missed; what was before is looked for.
    else if (type === EVENT || type === 'events') void refresh();
  };
  socket.onclose = () => {
    // Whoever looks at another page needs no server.
    if (document.hidden) document.addEventListener('visibilitychange', connect, { once: true });
    else setTimeout(connect, pause);
    pause = Math.min(2 * pause, PAUSE_MS_MAX);
  };
}

connect();
