import { expect, test } from "bun:test";
import { checkServer, defaultServerTimeoutMs, type McpServerEntry } from "./server-entry.ts";

const timeoutMs = defaultServerTimeoutMs;

test.each([
  [{ command: "a" }, { kind: "stdio", command: "a", args: [], env: {}, cwd: null, timeoutMs }],
  [
    { command: "a", type: "stdio", args: ["b"], cwd: "c" },
    { kind: "stdio", command: "a", args: ["b"], env: {}, cwd: "c", timeoutMs },
  ],
  [
    { url: "https://a/b", type: "http" },
    { kind: "http", url: "https://a/b", headers: {}, isOldSse: false, timeoutMs },
  ],
  [
    { url: "https://a/b", type: "sse" },
    { kind: "http", url: "https://a/b", headers: {}, isOldSse: true, timeoutMs },
  ],
  [{ command: null, url: null }, 'has neither "command" nor "url"'],
  [{ command: "a", url: "https://a" }, 'has both "command" and "url"'],
  [{ command: "a", type: "http" }, 'has a "command", but its type is http'],
  [{ url: "https://a", type: "stdio" }, 'has a "url", but its type is stdio'],
  [{ url: "file:///etc/passwd" }, "has a URL that does not start with http:// or https://"],
] as [McpServerEntry, ReturnType<typeof checkServer>][])("the entry %j is checked", (entry, expected) => {
  expect(checkServer(entry)).toEqual(expected);
});
