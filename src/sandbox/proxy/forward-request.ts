// Forwards one HTTP request and its answer, then closes the connection. Bytes after the request reach no server.
import type { Socket } from "node:net";
import { createBodyReader, forwardedHead, type HttpRequest } from "./http-request.ts";

export type ForwardedRequest = {
  request: HttpRequest;
  /** Bytes after the head. */
  rest: Buffer;
  /** The path and the Host header for the server. */
  path: string;
  host: string;
  /** Called at most once, before both connections are closed. */
  onInvalid: () => void;
  onSecondRequest: () => void;
};

export function forwardRequest(client: Socket, server: Socket, forwarded: ForwardedRequest): void {
  const body = createBodyReader(forwarded.request.body);
  let isClosed = false;
  const close = (report: () => void) => {
    if (!isClosed) report();
    isClosed = true;
    client.destroy();
    server.destroy();
  };
  const forward = (chunk: Buffer) => {
    const taken = body.take(chunk);
    if (taken === null) return close(forwarded.onInvalid);
    if (taken < chunk.length) return close(forwarded.onSecondRequest);
    if (taken === 0 || server.write(chunk)) return;
    client.pause();
    server.once("drain", () => client.resume());
  };
  server.write(forwardedHead(forwarded.request, forwarded.path, forwarded.host));
  server.pipe(client);
  server.on("error", () => client.destroy());
  server.on("close", () => client.end());
  client.on("error", () => server.destroy());
  client.on("close", () => server.destroy());
  if (forwarded.rest.length > 0) forward(forwarded.rest);
  client.on("data", forward);
  client.resume();
}
