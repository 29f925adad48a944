// A proxy between a browser and the hub whose connections a test can cut, hold and buffer.
import type { Socket, TCPSocketListener } from "bun";

export type Cuttable = {
  port: number;
  /** Ends all open connections. New ones are refused until `restore`. */
  cut: () => void;
  restore: () => void;
  /** Forwards nothing to the browser until `release`, but keeps the connections open. */
  hold: () => void;
  release: () => void;
  stop: () => void;
};

type Pipe = { other: Socket<Pipe> | null; waiting: Buffer[]; isBrowser: boolean };

export function startProxy(targetPort: () => number): Cuttable {
  const browsers = new Set<Socket<Pipe>>();
  let isCut = false;
  let isHeld = false;
  const flush = (socket: Socket<Pipe>): void => {
    while (socket.data.waiting.length > 0 && !(socket.data.isBrowser && isHeld)) {
      const next = socket.data.waiting[0]!;
      const written = socket.write(next);
      if (written < next.length) {
        socket.data.waiting[0] = next.subarray(Math.max(0, written));
        return;
      }
      socket.data.waiting.shift();
    }
  };
  const pass = (from: Socket<Pipe>, bytes: Buffer): void => {
    const to = from.data.other;
    if (to === null) from.data.waiting.push(Buffer.from(bytes));
    else {
      to.data.waiting.push(Buffer.from(bytes));
      flush(to);
    }
  };
  const end = (socket: Socket<Pipe>): void => void socket.data.other?.end();
  const listener: TCPSocketListener<Pipe> = Bun.listen<Pipe>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(browser) {
        browser.data = { other: null, waiting: [], isBrowser: true };
        if (isCut) return browser.terminate();
        browsers.add(browser);
        void Bun.connect<Pipe>({
          hostname: "127.0.0.1",
          port: targetPort(),
          data: { other: browser, waiting: [], isBrowser: false },
          socket: {
            open(hub) {
              // Bytes that arrived before the connection are for the hub.
              hub.data.waiting.push(...browser.data.waiting.splice(0));
              browser.data.other = hub;
              flush(hub);
            },
            data: (hub, bytes) => pass(hub, bytes),
            drain: flush,
            close: end,
          },
        }).catch(() => browser.terminate());
      },
      data: (browser, bytes) => pass(browser, bytes),
      drain: flush,
      close(browser) {
        browsers.delete(browser);
        end(browser);
      },
    },
  });
  return {
    port: listener.port,
    cut() {
      isCut = true;
      for (const browser of browsers) browser.terminate();
    },
    restore: () => void (isCut = false),
    hold: () => void (isHeld = true),
    release() {
      isHeld = false;
      for (const browser of browsers) flush(browser);
    },
    stop: () => listener.stop(true),
  };
}
