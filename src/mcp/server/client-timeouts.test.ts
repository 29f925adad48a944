import { expect, test } from "bun:test";
import { knownClients, callTimeout } from "./client-timeouts.ts";

const withProgress = { hasProgress: true, overHttp: false };
const silent = { hasProgress: false, overHttp: false };

test("a known client waits for the measured time minus a margin for the answer", () => {
  expect(callTimeout({ client: "codex-mcp-client", ...withProgress })).toBe(285_000);
  expect(callTimeout({ client: "gemini-cli-mcp-client", ...silent })).toBe(585_000);
  expect(callTimeout({ client: "claude-code", ...silent })).toBeNull();
  expect(callTimeout({ client: "opencode", ...silent })).toBe(45_000);
  expect(callTimeout({ client: "opencode", ...withProgress })).toBeNull();
});

test("a call of an unknown client, or over HTTP, returns within a minute", () => {
  for (const client of ["cursor-vscode", "Zed", "", undefined]) expect(callTimeout({ client, ...withProgress })).toBe(45_000);
  expect(callTimeout({ client: "claude-code", hasProgress: true, overHttp: true })).toBe(45_000);
});

test("every entry names the measured version", () => {
  for (const { measured } of knownClients) expect(measured).toMatch(/^\d+\.\d+\.\d+$/);
});
