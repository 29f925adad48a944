// A loopback port of a sandboxed program that is served from outside the sandbox. The launcher creates the listening
// socket inside the network namespace and sends it out over a socket pair. It needs no process in between and no path.
import { closeSync } from "node:fs";
import { dlopen, ptr, read } from "bun:ffi";
import type { CallList } from "./launch/call-list.ts";

/** The launcher's end of the socket pair: the fourth entry of `stdio`. */
export const launcherSocketFd = 3;

export type PortReceiver = {
  /** Pass it to the launcher as file descriptor `launcherSocketFd`, then call `closeChildEnd`. */
  childEnd: number;
  /** Closes this process's copy of `childEnd`. Call it once the launcher has started. */
  closeChildEnd: () => void;
  /** Resolves with the listening socket, which the caller must close. Null if the signal aborts first. */
  receive: (signal: AbortSignal) => Promise<number | null>;
  /** Call it after `receive`, or instead of it. */
  close: () => void;
};

const unixFamily = 1;
const inetFamily = 2;
const streamSocket = 1;
const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
/** MSG_CMSG_CLOEXEC and MSG_DONTWAIT. */
const receiveFlags = 0x4000_0000 | 0x40;
const queueLength = 511;
const pollMs = 3;

/** Runs outside of the sandbox. */
export function createPortReceiver(): PortReceiver {
  const libc = openLibrary();
  const ends = new Int32Array(2);
  if (libc.socketpair(unixFamily, streamSocket | closeOnExec, 0, ptr(ends)) !== 0) throw new Error("can't create a socket pair");
  const open = new Set(ends);
  const close = (end: number) => {
    if (open.delete(end)) closeSync(end);
  };
  const [outer, inner] = [ends[0]!, ends[1]!];
  return {
    childEnd: inner,
    closeChildEnd: () => close(inner),
    receive: async (signal) => {
      for (; !signal.aborted; await Bun.sleep(pollMs)) {
        const file = receiveFile(libc, outer);
        if (file !== null) return file;
      }
      return null;
    },
    close: () => [outer, inner].forEach(close),
  };
}

/** Calls of the launcher, after the loopback is up. Connections wait in the queue until they are accepted. */
export function sendListeningSocket(list: CallList, port: number): void {
  const socket = list.open("socket", [inetFamily, streamSocket | closeOnExec | nonBlocking, 0], "create a socket");
  const address = Buffer.alloc(16);
  address.writeUInt16LE(inetFamily, 0);
  address.writeUInt16BE(port, 2);
  address.set([127, 0, 0, 1], 4);
  list.call("bind", [socket, address, address.length], `bind port ${port}`);
  list.call("listen", [socket, queueLength], `listen on port ${port}`);
  const byte = list.data(new Uint8Array(1));
  const vector = list.data(new Uint8Array(new BigUint64Array([0n, 1n]).buffer));
  list.storePointer(vector, byte);
  const control = list.data(controlMessage(0));
  list.storeResult({ offset: control.offset + fileOffset }, socket);
  const header = list.data(new Uint8Array(new BigUint64Array([0n, 0n, 0n, 1n, 0n, BigInt(controlBytes), 0n]).buffer));
  list.storePointer({ offset: header.offset + 16 }, vector);
  list.storePointer({ offset: header.offset + 32 }, control);
  list.call("sendmsg", [launcherSocketFd, header, 0], "send the port");
  list.close(socket);
  list.call("close", [launcherSocketFd], "", "ignore");
}

const controlBytes = 24;
const fileOffset = 16;

/** Carries one file descriptor (SCM_RIGHTS). */
function controlMessage(file: number): Buffer {
  const control = Buffer.alloc(controlBytes);
  control.writeBigUInt64LE(20n, 0);
  control.writeInt32LE(1, 8);
  control.writeInt32LE(1, 12);
  control.writeInt32LE(file, fileOffset);
  return control;
}

/**
 * A message of one byte and one file descriptor, as a C `msghdr` with a control message of type SCM_RIGHTS. The caller must
 * keep `retained` alive as long as the message is used.
 */
function messageWith(file: number): { header: BigUint64Array; control: Buffer; retained: unknown[] } {
  const byte = new Uint8Array(1);
  const vector = new BigUint64Array([BigInt(ptr(byte)), 1n]);
  const control = controlMessage(file);
  const header = new BigUint64Array([0n, 0n, BigInt(ptr(vector)), 1n, BigInt(ptr(control)), BigInt(controlBytes), 0n]);
  return { header, control, retained: [byte, vector] };
}

function receiveFile(libc: ReturnType<typeof openLibrary>, from: number): number | null {
  const message = messageWith(-1);
  const received = Number(libc.recvmsg(from, ptr(message.header), receiveFlags));
  // At most one descriptor fits, and it is the last field.
  return received === 1 && message.header[5]! >= 20n ? read.i32(ptr(message.control), fileOffset) : null;
}

const libraries = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

function openLibrary() {
  for (const library of libraries) {
    try {
      return dlopen(library, {
        socketpair: { args: ["i32", "i32", "i32", "ptr"], returns: "i32" },
        recvmsg: { args: ["i32", "ptr", "i32"], returns: "i64" },
      }).symbols;
    } catch {
      continue;
    }
  }
  throw new Error("the C library can't be loaded");
}
