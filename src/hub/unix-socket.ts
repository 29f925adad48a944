// The unix socket as a transport: one frame per line, bounded, with back-pressure for the sender. A path that is too long
// for the system works on Linux: the runtime then opens it through its directory.
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { LineSplitter } from "../kit/text/line-splitter.ts";
import { rpcCodes } from "../kit/flow/rpc.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import {
  connectionLimits,
  type AcceptConnection,
  type Connection,
  type Listener,
  type FrameHandler,
} from "../protocol/connection/connection.ts";

/** Makes a directory that only this user can open, also if it exists. */
export function createPrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700);
}

/** Only this user can connect, also in the moment before the mode is set. */
export function listenUnix(path: string, accept: AcceptConnection): Listener {
  const connections = new Set<UnixConnection>();
  const oldUmask = process.umask(0o177);
  try {
    const server = Bun.listen<UnixConnection>({
      unix: path,
      socket: {
        open: (socket) => {
          if (connections.size >= connectionLimits.connections)
            return void socket.end(`${refusal(rpcCodes.tooMany, "too many connections")}\n`);
          socket.data = new UnixConnection(socket, accept);
          connections.add(socket.data);
        },
        data: (socket, bytes) => socket.data?.receiveBytes(bytes),
        drain: (socket) => socket.data?.flush(),
        close: (socket) => {
          connections.delete(socket.data);
          socket.data?.end("the connection was closed");
        },
        error: (socket, error) => socket.data?.close(error.message),
      },
    });
    chmodSync(path, 0o600);
    return {
      close: () => {
        server.stop();
        for (const connection of connections) connection.close("the server stops");
      },
    };
  } finally {
    process.umask(oldUmask);
  }
}

export async function connectUnix(path: string, accept: AcceptConnection): Promise<Connection> {
  let connection: UnixConnection | null = null;
  try {
    await Bun.connect({
      unix: path,
      socket: {
        open: (socket) => void (connection = new UnixConnection(socket, accept)),
        data: (_, bytes) => connection?.receiveBytes(bytes),
        drain: () => connection?.flush(),
        close: () => connection?.end("the connection was closed"),
        error: (_, error) => connection?.close(error.message),
      },
    });
  } catch (error) {
    throw new Fault("connection-lost", `no process listens at ${path}: ${messageOf(error)}`, { cause: error });
  }
  return connection!;
}

/** Frames are written together at the end of a turn of the event loop. Longer ones are written at once. */
const flushAtLength = 64 << 10;
const noBytes = new Uint8Array(0);

class UnixConnection implements Connection {
  readonly #socket: Bun.Socket<unknown>;
  readonly #lines = new LineSplitter(connectionLimits.frameBytes);
  readonly #handler: FrameHandler;
  /** Frames of this turn of the event loop. */
  #frames: string[] = [];
  #framesLength = 0;
  #unsent: Uint8Array = noBytes;
  #drained: PromiseWithResolvers<void> | null = null;
  #scheduledFlush: NodeJS.Immediate | null = null;
  #hasEnded = false;

  constructor(socket: Bun.Socket<unknown>, accept: AcceptConnection) {
    this.#socket = socket;
    this.#handler = accept(this);
  }

  whenWritable(): Promise<void> | null {
    return this.#drained?.promise ?? null;
  }

  send(frame: string): void {
    if (this.#hasEnded) return;
    this.#frames.push(frame, "\n");
    this.#framesLength += frame.length;
    if (this.#drained === null) this.#scheduledFlush ??= setImmediate(() => this.flush());
    if (this.#drained === null && this.#framesLength > flushAtLength) this.flush();
    if (this.#unsent.length + this.#framesLength > connectionLimits.unsentBytes) this.close("the other side does not read");
  }

  /** Writes all frames of one turn of the event loop at once. */
  flush(): void {
    if (this.#scheduledFlush !== null) clearImmediate(this.#scheduledFlush);
    this.#scheduledFlush = null;
    if (this.#hasEnded) return;
    const bytes = this.#takeUnsent();
    const written = bytes.length === 0 ? 0 : Math.max(0, this.#socket.write(bytes));
    this.#unsent = written < bytes.length ? bytes.subarray(written) : noBytes;
    if (this.#unsent.length > 0) this.#drained ??= Promise.withResolvers();
    else this.#release();
  }

  #takeUnsent(): Uint8Array {
    if (this.#frames.length === 0) return this.#unsent;
    const frames = Buffer.from(this.#frames.join(""));
    this.#frames = [];
    this.#framesLength = 0;
    return this.#unsent.length === 0 ? frames : Buffer.concat([this.#unsent, frames]);
  }

  receiveBytes(bytes: Uint8Array): void {
    if (this.#hasEnded) return;
    for (const line of this.#lines.push(bytes)) {
      if (line.cutBytes > 0) return this.#refuse();
      if (line.text.trim() !== "" && !this.#hasEnded) this.#handler.receive(line.text);
    }
    if (this.#lines.pendingBytes > connectionLimits.frameBytes) this.#refuse();
  }

  close(why: string): void {
    if (this.#hasEnded) return;
    this.flush();
    this.end(why);
    this.#socket.end();
    // A client that keeps its side open must not keep ours open.
    setTimeout(() => this.#socket.terminate(), 1000).unref();
  }

  end(why: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#frames = [];
    this.#framesLength = 0;
    this.#unsent = noBytes;
    this.#release();
    this.#handler.closed(why);
  }

  #release(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  #refuse(): void {
    if (this.#hasEnded) return;
    this.send(refusal(rpcCodes.tooLarge, "the message is too large"));
    this.close("the message was too large");
  }
}

function refusal(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } });
}
