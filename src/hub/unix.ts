// The unix socket as a transport: one frame per line, bounded, with room told to the sender. A path that is too long
// for the system is no trouble on Linux: the runtime goes through the opened directory then.
import { chmodSync } from "node:fs";
import { LineSplitter } from "../kit/lines.ts";
import { rpcCodes } from "../kit/rpc.ts";
import { Fault, messageOf } from "../protocol/error.ts";
import { limits, type Accept, type Connection, type Listener, type Talker } from "./connection.ts";

/** Only this user can connect, also for the moment before the mode is set. */
export function listenUnix(path: string, accept: Accept): Listener {
  const open = new Set<Line>();
  const before = process.umask(0o177);
  try {
    const server = Bun.listen<Line>({
      unix: path,
      socket: {
        open: (socket) => {
          if (open.size >= limits.connections) return void socket.end(refusal(rpcCodes.tooMany, "too many connections"));
          socket.data = new Line(socket, accept);
          open.add(socket.data);
        },
        data: (socket, bytes) => socket.data?.take(bytes),
        drain: (socket) => socket.data?.flush(),
        close: (socket) => {
          open.delete(socket.data);
          socket.data?.end("the connection was closed");
        },
        error: (socket, error) => socket.data?.close(error.message),
      },
    });
    chmodSync(path, 0o600);
    return {
      close: () => {
        server.stop();
        for (const line of open) line.close("the server ends");
      },
    };
  } finally {
    process.umask(before);
  }
}

export async function connectUnix(path: string, accept: Accept): Promise<Connection> {
  let line: Line | null = null;
  try {
    await Bun.connect({
      unix: path,
      socket: {
        open: (socket) => void (line = new Line(socket, accept)),
        data: (_, bytes) => line?.take(bytes),
        drain: () => line?.flush(),
        close: () => line?.end("the connection was closed"),
        error: (_, error) => line?.close(error.message),
      },
    });
  } catch (error) {
    throw new Fault("connection-lost", `nobody answers at ${path}: ${messageOf(error)}`, { cause: error });
  }
  return line!;
}

class Line implements Connection {
  readonly #socket: Bun.Socket<unknown>;
  readonly #lines = new LineSplitter(limits.frameBytes);
  readonly #talker: Talker;
  #unsent: Uint8Array[] = [];
  #unsentBytes = 0;
  #room: PromiseWithResolvers<void> | null = null;
  #hasEnded = false;

  constructor(socket: Bun.Socket<unknown>, accept: Accept) {
    this.#socket = socket;
    this.#talker = accept(this);
  }

  send(frame: string): Promise<void> | void {
    if (this.#hasEnded) return;
    const bytes = Buffer.from(`${frame}\n`);
    this.#unsent.push(bytes);
    this.#unsentBytes += bytes.length;
    this.flush();
    if (this.#unsentBytes > limits.unsentBytes) this.close("it does not read what it is sent");
    return this.#room?.promise;
  }

  flush(): void {
    let first = this.#unsent[0];
    while (first !== undefined && !this.#hasEnded) {
      const written = Math.max(0, this.#socket.write(first));
      this.#unsentBytes -= written;
      if (written < first.length) {
        this.#unsent[0] = first.subarray(written);
        this.#room ??= Promise.withResolvers();
        return;
      }
      this.#unsent.shift();
      first = this.#unsent[0];
    }
    this.#release();
  }

  take(bytes: Uint8Array): void {
    for (const line of this.#lines.push(bytes)) {
      if (line.cutBytes > 0) return this.#refuse();
      if (line.text.trim() !== "" && !this.#hasEnded) this.#talker.receive(line.text);
    }
    if (this.#lines.pendingBytes > limits.frameBytes) this.#refuse();
  }

  close(why: string): void {
    if (this.#hasEnded) return;
    this.end(why);
    this.#socket.end();
    // Whoever keeps their side open does not keep ours.
    setTimeout(() => this.#socket.terminate(), 1000).unref();
  }

  end(why: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#unsent = [];
    this.#unsentBytes = 0;
    this.#release();
    this.#talker.lost(why);
  }

  #release(): void {
    this.#room?.resolve();
    this.#room = null;
  }

  #refuse(): void {
    if (this.#hasEnded) return;
    this.#socket.write(refusal(rpcCodes.tooLarge, "the message is too large"));
    this.close("the message was too large");
  }
}

function refusal(code: number, message: string): string {
  return `${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } })}\n`;
}
