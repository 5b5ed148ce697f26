// One WebSocket to the server, which comes back by itself. What was sent and has no answer is never
// sent again: a script may have written something.

import { signal } from "@preact/signals";

/** `absent`: there are no WebSockets here, or none gets through; runs go over HTTP. */
export type SocketState = "connecting" | "open" | "lost" | "absent";

const PAUSE_FIRST_MS = 500;
const PAUSE_MAX_MS = 15_000;

/** So many attempts in a row that never opened mean that something on the way takes no WebSockets. */
const ATTEMPTS_UNTIL_ABSENT = 3;

export class Socket {
  readonly state = signal<SocketState>("connecting");
  private socket: WebSocket | undefined;
  private failures = 0;
  private hasOpened = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly url: URL,
    private readonly protocol: string,
    private readonly listener: {
      opened?: () => void;
      received: (text: string) => void;
      closed?: (reason: string) => void;
    },
  ) {
    this.connect();
    addEventListener("online", () => this.retryNow());
  }

  /** Sends a text; `false` if there is no connection. */
  send(text: string): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(text);
    return true;
  }

  retryNow(): void {
    if (this.state.value === "open" || this.socket?.readyState === 0) return;
    clearTimeout(this.timer);
    this.connect();
  }

  private connect(): void {
    if (typeof WebSocket === "undefined") {
      this.state.value = "absent";
      return;
    }
    const socket = new WebSocket(this.url, this.protocol);
    this.socket = socket;
    socket.onopen = () => {
      this.failures = 0;
      this.hasOpened = true;
      this.state.value = "open";
      this.listener.opened?.();
    };
    socket.onmessage = ({ data }) => this.listener.received(String(data));
    socket.onclose = ({ code, reason }) => this.lose(reason || `the connection was closed (${code})`);
  }

  private lose(reason: string): void {
    this.failures += 1;
    const isAbsent = !this.hasOpened && this.failures >= ATTEMPTS_UNTIL_ABSENT;
    this.state.value = isAbsent ? "absent" : "lost";
    this.listener.closed?.(reason);
    const pause = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** (this.failures - 1));
    this.timer = setTimeout(() => this.connect(), pause);
  }
}
