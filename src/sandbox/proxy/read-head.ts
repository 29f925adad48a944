// Reads the first bytes of a connection, and leaves the socket paused.
import type { Socket } from "node:net";

const maxHeadBytes = 16 * 1024;
export const headTimeoutMs = 30_000;

export type Head = { head: string; rest: Buffer };

/** `early` has bytes that were read before. Resolves to null if the connection ends before the head does. */
export async function readHead(socket: Socket, early: Buffer = Buffer.alloc(0)): Promise<Head | "too-long" | null> {
  const bytes = await readUntil(socket, {
    early,
    isEnough: (received) => received.includes("\r\n\r\n") || received.length > maxHeadBytes,
  });
  if (bytes === null) return null;
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return "too-long";
  return { head: bytes.subarray(0, end).toString("latin1"), rest: bytes.subarray(end + 4) };
}

type ReadOptions = { early: Buffer; isEnough: (received: Buffer) => boolean };

/** Resolves to null if the connection ends, or `headTimeoutMs` pass, before there are enough bytes. */
export function readUntil(socket: Socket, { early, isEnough }: ReadOptions): Promise<Buffer | null> {
  if (early.length > 0 && isEnough(early)) return Promise.resolve(early);
  if (socket.readableEnded || socket.destroyed) return Promise.resolve(null);
  return new Promise((resolve) => {
    let received = early;
    const finish = (bytes: Buffer | null) => {
      clearTimeout(timer);
      socket.off("data", read).off("end", fail).off("close", fail);
      socket.pause();
      resolve(bytes);
    };
    const fail = () => finish(null);
    const timer = setTimeout(fail, headTimeoutMs);
    const read = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (isEnough(received)) finish(received);
    };
    socket.on("data", read).once("end", fail).once("close", fail).resume();
  });
}
