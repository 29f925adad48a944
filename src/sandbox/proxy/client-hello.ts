// Reads the first message of a TLS connection: the name of the server that the client asks for.
import { isIP, type Socket } from "node:net";
import { readUntil } from "./read-head.ts";

export type ClientHello = {
  /** In lower case; null if the client names no server. */
  serverName: string | null;
  /** The client may hide another name in an encrypted part (ECH). */
  hasHiddenName: boolean;
};

const maxHelloBytes = 32 * 1024;
const maxRecords = 16;

const handshakeRecord = 22;
const clientHelloMessage = 1;
const serverNameExtension = 0;
const encryptedHelloExtension = 0xfe0d;

/** Returns "incomplete" if more bytes are needed, and null for bytes that are not the start of a TLS connection. */
export function readClientHello(bytes: Buffer): ClientHello | "incomplete" | null {
  const message = handshakeMessage(bytes);
  if (message === null || message === "incomplete") return message;
  try {
    return parseHello(message);
  } catch {
    return null;
  }
}

/** The first handshake message, which may be spread over several records. */
function handshakeMessage(bytes: Buffer): Buffer | "incomplete" | null {
  const pieces: Buffer[] = [];
  let length = 0;
  for (let at = 0; ;) {
    if (bytes.length > at && bytes[at] !== handshakeRecord) return null;
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return null;
    if (bytes.length < at + 5) return bytes.length > maxHelloBytes ? null : "incomplete";
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    // An empty record is not allowed, and would let a client send records without an end.
    if (end === at + 5) return null;
    if (pieces.length === maxRecords) return null;
    pieces.push(bytes.subarray(at + 5, end));
    length += pieces.at(-1)!.length;
    const start = Buffer.concat(pieces, length);
    if (start.length > 0 && start[0] !== clientHelloMessage) return null;
    const needed = start.length < 4 ? Infinity : 4 + start.readUIntBE(1, 3);
    if (start.length >= needed) return start.subarray(4, needed);
    if (bytes.length < end) return bytes.length > maxHelloBytes ? null : "incomplete";
    at = end;
  }
}

/** Throws a RangeError for lengths that exceed the message. */
function parseHello(hello: Buffer): ClientHello {
  // Version and random bytes come first, then three lists with their lengths.
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const result: ClientHello = { serverName: null, hasHiddenName: false };
  if (at === hello.length) return result;
  const end = at + 2 + hello.readUInt16BE(at);
  if (end !== hello.length) throw new RangeError("the extensions have another length");
  for (at += 2; at < end;) {
    const type = hello.readUInt16BE(at);
    const size = hello.readUInt16BE(at + 2);
    const body = hello.subarray(at + 4, at + 4 + size);
    if (body.length < size) throw new RangeError("an extension is cut off");
    if (type === encryptedHelloExtension) result.hasHiddenName = true;
    if (type === serverNameExtension) {
      if (result.serverName !== null) throw new RangeError("there are two server names");
      result.serverName = serverNameIn(body);
    }
    at += 4 + size;
  }
  return result;
}

/** Throws unless the list has exactly one host name: with more, servers differ in which one they would use. */
function serverNameIn(list: Buffer): string {
  const size = list.readUInt16BE(3);
  if (list.readUInt16BE(0) !== list.length - 2 || list.readUInt8(2) !== 0 || size !== list.length - 5)
    throw new RangeError("the list of server names is not one name");
  return list.toString("latin1", 5).toLowerCase();
}

/** The first bytes of a tunnel, up to the end of the first TLS message; `other` is not TLS. */
export type FirstBytes = { kind: "tls"; hello: ClientHello; bytes: Buffer } | { kind: "other"; bytes: Buffer };

/** Null if the connection ends before, or sends a TLS message that can't be read. */
export async function readHello(socket: Socket, early: Buffer): Promise<FirstBytes | null> {
  const isEnough = (bytes: Buffer) =>
    bytes[0] !== handshakeRecord || bytes.length > maxHelloBytes || readClientHello(bytes) !== "incomplete";
  const bytes = await readUntil(socket, { early, isEnough });
  if (bytes === null) return null;
  if (bytes[0] !== handshakeRecord) return { kind: "other", bytes };
  const hello = readClientHello(bytes);
  return hello === null || hello === "incomplete" ? null : { kind: "tls", hello, bytes };
}

/** Whether the TLS message asks for this host. Clients name no server if its host is an address. */
export function asksFor({ serverName, hasHiddenName }: ClientHello, host: string): boolean {
  if (hasHiddenName) return false;
  return serverName === host || (serverName === null && isIP(host) !== 0);
}

/** The TLS alert for a server name that is not served. */
export const unrecognizedName = Buffer.from([21, 3, 3, 0, 2, 2, 112]);
