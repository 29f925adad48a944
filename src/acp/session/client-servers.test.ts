import { expect, test } from "bun:test";
import { clientServers } from "./client-servers.ts";

test("servers on stdio and over HTTP become entries with short names", () => {
  const entries = clientServers([
    { name: "My Files!", command: "/bin/files", args: ["--root", "."], env: [{ name: "TOKEN", value: "t" }] },
    { name: "My/Files", command: "other", args: [], env: [] },
    { type: "http", name: "web", url: "https://example.com/mcp", headers: [{ name: "Authorization", value: "Bearer x" }] },
    { name: "…", command: "third", args: [], env: [] },
  ]);
  expect(entries).toEqual({
    "My-Files-": { command: "/bin/files", args: ["--root", "."], env: { TOKEN: "t" } },
    "My-Files": { command: "other", args: [], env: {} },
    web: { type: "http", url: "https://example.com/mcp", headers: { Authorization: "Bearer x" } },
    server: { command: "third", args: [], env: {} },
  });
});

test("two servers of one name get different names, and a wrong address is refused with the name of its server", () => {
  const twice = { name: "a", command: "x", args: [], env: [] };
  expect(Object.keys(clientServers([twice, twice]))).toEqual(["a", "a-2"]);
  expect(() => clientServers([{ type: "http", name: "bad", url: "file:///etc/passwd", headers: [] }])).toThrow(
    'the server "bad" has a URL',
  );
});
