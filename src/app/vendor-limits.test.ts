import { expect, onTestFinished, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVendorLimits } from "./vendor-limits.ts";

function createSetup() {
  const root = mkdtempSync(join(tmpdir(), "skein-limits-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  let time = Date.parse("2026-11-17T14:30:00Z");
  const open = () => createVendorLimits(join(root, "state"), () => time);
  return { open, file: join(root, "state", "limits.json"), advance: (ms: number) => (time += ms), now: () => time };
}

const key = "sk-canary-0123456789abcdef";
const endpoint = { vendor: "anthropic", apiKey: key };
const headers = (remaining: number): Headers =>
  new Headers({
    "anthropic-ratelimit-requests-limit": "100",
    "anthropic-ratelimit-requests-remaining": String(remaining),
    "anthropic-ratelimit-requests-reset": "2026-11-17T15:00:00Z",
  });

test("a second process sees the windows of a key, without the key", () => {
  const { open, file } = createSetup();
  open().observe(endpoint, headers(40));
  const [limit] = open().list();
  expect(limit).toMatchObject({
    source: "anthropic",
    windows: [{ name: "requests", used: 0.6, limit: 100, remaining: 40, isUsedUp: false }],
  });
  expect(limit?.credential).toMatch(/^[0-9a-f]{8}$/);
  expect(readFileSync(file, "utf8")).not.toContain("canary");
});

test("answers without limits write nothing, and small changes are not written", () => {
  const { open, file } = createSetup();
  const limits = open();
  limits.observe(endpoint, new Headers({ "content-type": "text/plain" }));
  expect(existsSync(file)).toBe(false);
  limits.observe(endpoint, headers(40));
  const { ino } = statSync(file);
  limits.observe(endpoint, headers(39));
  expect(statSync(file).ino).toBe(ino);
  limits.observe(endpoint, headers(0));
  expect(open().list()[0]?.windows[0]).toMatchObject({ remaining: 0, isUsedUp: true });
});

test("an agent's limit is known until its end, and forgotten after a turn that worked", () => {
  const { open, advance, now } = createSetup();
  const error = { kind: "rate-limited" as const, message: "limit", resetAt: now() + 60_000 };
  open().noteEnd("claude", "anthropic/x", error);
  open().noteEnd("native", "openai/y", error);
  expect(open().limitedUntil("claude", null)).toBe(error.resetAt);
  expect([open().limitedUntil("native", "openai/z"), open().limitedUntil("native", "anthropic/x")]).toEqual([error.resetAt, null]);
  open().noteEnd("claude", "anthropic/x", null);
  expect(open().limitedUntil("claude", null)).toBeNull();
  advance(60_001);
  expect(open().limitedUntil("native", "openai/y")).toBeNull();
  expect(open().list()).toEqual([]);
});

test("the file is bounded, and a broken one counts as empty", () => {
  const { open, file, now } = createSetup();
  for (let index = 0; index < 70; index++)
    open().noteEnd(`agent-${index}`, null, { kind: "overloaded", message: "busy", resetAt: now() + 1000 });
  expect(open().list()).toHaveLength(50);
  for (const text of ["", "{", "[1, {}]", "null"]) {
    writeFileSync(file, text);
    expect(open().list()).toEqual([]);
  }
});
