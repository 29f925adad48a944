import { expect, test } from "bun:test";
import { knownClients, callTimeout } from "./client-timeouts.ts";

const told = { hearsProgress: true, overHttp: false };
const silent = { hearsProgress: false, overHttp: false };

test("whoever is known is kept waiting for what was measured, less what the answer needs", () => {
  expect(callTimeout({ client: "codex-mcp-client", ...told })).toBe(285_000);
  expect(callTimeout({ client: "gemini-cli-mcp-client", ...silent })).toBe(585_000);
  expect(callTimeout({ client: "claude-code", ...silent })).toBeNull();
  expect(callTimeout({ client: "opencode", ...silent })).toBe(45_000);
  expect(callTimeout({ client: "opencode", ...told })).toBeNull();
});

test("whoever is not known, gives no name or comes over HTTP is handed back to before a minute is over", () => {
  for (const client of ["cursor-vscode", "Zed", "", undefined]) expect(callTimeout({ client, ...told })).toBe(45_000);
  expect(callTimeout({ client: "claude-code", hearsProgress: true, overHttp: true })).toBe(45_000);
});

test("every figure says what it was measured with", () => {
  for (const { measured } of knownClients) expect(measured).toMatch(/^\d+\.\d+\.\d+$/);
});
