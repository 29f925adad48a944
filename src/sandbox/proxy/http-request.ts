// Reads the head of an HTTP/1 request and finds the end of its body. It is strict: a request that two programs could read in
// different ways is refused, because a second request could hide in its body. Pure.

export type HttpRequest = {
  method: string;
  /** The target of the request line: a URL, a path, or `host:port` of CONNECT. */
  target: string;
  version: "1.0" | "1.1";
  headers: readonly (readonly [name: string, value: string])[];
  /** In lower case; null without a Host header. */
  host: string | null;
  body: BodyFraming;
};

export type BodyFraming = { kind: "length"; bytes: number } | { kind: "chunked" };

const requestLine = /^([A-Z][A-Z-]{0,31}) ([\x21-\x7e]+) HTTP\/(1\.[01])$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*$/;

/** `head` ends before its empty line. Null if it is not a request, or an ambiguous one. */
export function parseRequest(head: string): HttpRequest | null {
  const [first = "", ...lines] = head.split("\r\n");
  const [, method, target, version] = requestLine.exec(first) ?? [];
  const headers = lines.map((line) => headerLine.exec(line));
  if (method === undefined || target === undefined || headers.some((match) => match === null)) return null;
  const pairs = headers.map((match) => [match![1]!, match![2]!] as const);
  const valuesOf = (name: string) => pairs.filter(([header]) => header.toLowerCase() === name).map(([, value]) => value);
  const [hosts, lengths, encodings] = [valuesOf("host"), valuesOf("content-length"), valuesOf("transfer-encoding")];
  if (hosts.length > 1 || lengths.length + encodings.length > 1) return null;
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)) return null;
  if (encodings.length === 1 && (version === "1.0" || encodings[0]!.toLowerCase() !== "chunked")) return null;
  const body: BodyFraming = encodings.length === 1 ? { kind: "chunked" } : { kind: "length", bytes: Number(lengths[0] ?? 0) };
  return { method, target, version: version as HttpRequest["version"], headers: pairs, host: hosts[0]?.toLowerCase() ?? null, body };
}

/** Headers about one connection, which must not reach the server. */
const connectionHeaders = new Set(
  "connection proxy-connection proxy-authorization proxy-authenticate keep-alive upgrade http2-settings te trailer host".split(" "),
);

/** The head for the server, with its empty line. The server is asked to close the connection after its answer. */
export function forwardedHead({ method, version, headers }: HttpRequest, path: string, host: string): string {
  const named = headers.flatMap(([name, value]) => (name.toLowerCase() === "connection" ? value.toLowerCase().split(/[ \t]*,[ \t]*/) : []));
  // A body without its length would be read as a second request.
  const dropped = new Set([...connectionHeaders, ...named.filter((name) => name !== "content-length" && name !== "transfer-encoding")]);
  const kept = headers.filter(([name]) => !dropped.has(name.toLowerCase())).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/${version}\r\nHost: ${host}\r\n${kept.join("")}Connection: close\r\n\r\n`;
}

export type BodyReader = {
  /** Returns how many of the bytes belong to the body. Null if they are no valid body. */
  take: (bytes: Buffer) => number | null;
  isComplete: () => boolean;
};

export function createBodyReader(framing: BodyFraming): BodyReader {
  return framing.kind === "length" ? lengthReader(framing.bytes) : chunkReader();
}

function lengthReader(bytes: number): BodyReader {
  let missing = bytes;
  return {
    take: (chunk) => {
      const taken = Math.min(missing, chunk.length);
      missing -= taken;
      return taken;
    },
    isComplete: () => missing === 0,
  };
}

/** Beginnings of the lines. */
const sizeLine = /^[0-9a-fA-F]{1,8}(?:\r\n?)?$/;
const emptyLine = /^\r\n?$/;

/** Chunks without extensions and trailers. `line` has the bytes of an incomplete line. */
function chunkReader(): BodyReader {
  let state: "size" | "data" | "after-data" | "end" | "complete" = "size";
  let line = "";
  let missing = 0;
  const readLine = (byte: number): boolean => {
    line += String.fromCharCode(byte);
    // Each byte is checked as it comes, because it is forwarded before the line is complete.
    if (!(state === "size" ? sizeLine : emptyLine).test(line)) return false;
    if (!line.endsWith("\n")) return true;
    if (state === "size") missing = Number.parseInt(line, 16);
    if (state === "size") state = missing === 0 ? "end" : "data";
    else state = state === "end" ? "complete" : "size";
    line = "";
    return true;
  };
  return {
    take: (bytes) => {
      let at = 0;
      while (at < bytes.length && state !== "complete") {
        if (state === "data") {
          const taken = Math.min(missing, bytes.length - at);
          missing -= taken;
          at += taken;
          if (missing === 0) state = "after-data";
        } else if (readLine(bytes[at]!)) at += 1;
        else return null;
      }
      return at;
    },
    isComplete: () => state === "complete",
  };
}
