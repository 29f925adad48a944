import { expect, test } from "bun:test";
import { connect } from "node:tls";
import { createServer } from "node:net";
import { clientHello } from "../../../test/support/client-hello.ts";
import { readClientHello } from "./client-hello.ts";

test("the name of the server is read, also from several records", () => {
  for (const recordSize of [16_384, 60, 20])
    expect(readClientHello(clientHello("API.Example.com", { recordSize }))).toEqual({
      serverName: "api.example.com",
      hasHiddenName: false,
    });
  expect(readClientHello(clientHello(null))).toEqual({ serverName: null, hasHiddenName: false });
  expect(readClientHello(clientHello("a.b", { isEncrypted: true }))).toEqual({ serverName: "a.b", hasHiddenName: true });
});

test("every proper prefix is incomplete, and bytes after the message do not matter", () => {
  const hello = clientHello("api.example.com", { recordSize: 40 });
  for (let length = 0; length < hello.length; length += 1) expect(readClientHello(hello.subarray(0, length))).toBe("incomplete");
  expect(readClientHello(Buffer.concat([hello, Buffer.from("more")]))).toMatchObject({ serverName: "api.example.com" });
});

test("other bytes and a damaged message are refused", () => {
  const hello = clientHello("api.example.com");
  const changed = (index: number, byte: number) => Buffer.from(hello).fill(byte, index, index + 1);
  const nameAt = hello.indexOf("api.example.com");
  const bad = [
    Buffer.from("GET / HTTP/1.1"),
    changed(0, 23),
    changed(1, 2),
    changed(5, 2),
    changed(nameAt - 1, 3),
    changed(nameAt - 3, 1),
    changed(43, 255),
    clientHello("api.example.com", { recordSize: 2 }),
  ];
  for (const bytes of bad) expect(readClientHello(bytes)).toBeNull();
});

test("the message of a real TLS client is read", async () => {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) =>
    socket.once("data", (chunk) => (resolve(Buffer.from(chunk)), socket.destroy())).on("error", () => {}),
  );
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const client = connect({ host: "127.0.0.1", port: (server.address() as { port: number }).port, servername: "api.example.com" });
  client.on("error", () => {});
  expect(readClientHello(await promise)).toEqual({ serverName: "api.example.com", hasHiddenName: false });
  client.destroy();
  server.close();
});
