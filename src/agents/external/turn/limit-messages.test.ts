// The end of a limit, read from recorded messages: headers and bodies of four vendors, and the words and events of five CLIs.
// Words of CLIs are from the programs of the versions in bench/peers.ts, or from reports of their users.
import { describe, expect, test } from "bun:test";
import { readVendorError } from "../../../models/error-response.ts";
import { classify } from "../../../models/failure.ts";
import type { Endpoint } from "../../../models/model.ts";
import { eventsOf } from "../../../../test/support/cli-recording.ts";
import type { Adapter } from "../adapters/adapter.ts";
import { claude } from "../adapters/claude.ts";
import { codex } from "../adapters/codex.ts";
import { gemini } from "../adapters/gemini.ts";
import { opencode } from "../adapters/opencode.ts";
import { pi } from "../adapters/pi.ts";
import { judgeEnding, type CliEvidence } from "./ending.ts";

const at = (iso: string): number => Date.parse(iso);
/** 15:30 in Berlin, 6:30 in Los Angeles. */
const now = at("2026-11-17T14:30:00Z");
const seconds = (iso: string): string => String(at(iso) / 1000);
const local = (...date: [number, number, number, number, number]): string => new Date(...date).toISOString();
const isoOf = (time: number | undefined): string | null => (time === undefined ? null : new Date(time).toISOString());

type VendorRow = { title: string; headers?: Record<string, string>; body?: unknown; status?: number; ends: string | null };

const fiveHours = "2026-11-17T17:00:00Z";
const week = "2026-11-20T09:00:00Z";

const anthropicRows: VendorRow[] = [
  { title: "retry-after in seconds", headers: { "retry-after": "90" }, ends: "2026-11-17T14:31:30Z" },
  { title: "retry-after as a date", headers: { "retry-after": "Tue, 17 Nov 2026 15:00:00 GMT" }, ends: "2026-11-17T15:00:00Z" },
  { title: "retry-after-ms", headers: { "retry-after-ms": "2500" }, ends: "2026-11-17T14:30:02.500Z" },
  {
    title: "used-up input tokens",
    headers: {
      "anthropic-ratelimit-input-tokens-limit": "30000",
      "anthropic-ratelimit-input-tokens-remaining": "0",
      "anthropic-ratelimit-input-tokens-reset": "2026-11-17T14:31:12Z",
      "anthropic-ratelimit-requests-remaining": "49",
      "anthropic-ratelimit-requests-reset": "2026-11-17T14:59:00Z",
    },
    ends: "2026-11-17T14:31:12Z",
  },
  {
    title: "a used-up subscription of 5 hours",
    headers: {
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-representative-claim": "five_hour",
      "anthropic-ratelimit-unified-reset": seconds(fiveHours),
      "anthropic-ratelimit-unified-5h-status": "rejected",
      "anthropic-ratelimit-unified-5h-utilization": "1",
      "anthropic-ratelimit-unified-5h-reset": seconds(fiveHours),
      "anthropic-ratelimit-unified-7d-status": "allowed",
      "anthropic-ratelimit-unified-7d-utilization": "0.4",
      "anthropic-ratelimit-unified-7d-reset": seconds(week),
      "retry-after": "5",
    },
    body: { type: "error", error: { type: "rate_limit_error", message: "This request would exceed your account's rate limit." } },
    ends: fiveHours,
  },
  {
    title: "a used-up week beside 5 hours",
    headers: {
      "anthropic-ratelimit-unified-5h-status": "rejected",
      "anthropic-ratelimit-unified-5h-reset": seconds(fiveHours),
      "anthropic-ratelimit-unified-7d-status": "rejected",
      "anthropic-ratelimit-unified-7d-reset": seconds(week),
    },
    ends: week,
  },
  { title: "nothing", ends: null },
];

const openaiRows: VendorRow[] = [
  {
    title: "used-up requests",
    headers: {
      "x-ratelimit-limit-requests": "500",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "6m0s",
      "x-ratelimit-remaining-tokens": "1000",
      "x-ratelimit-reset-tokens": "120ms",
    },
    ends: "2026-11-17T14:36:00Z",
  },
  {
    title: "words of the API",
    body: {
      error: { message: "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000. Please try again in 6m0s. Visit", code: "x" },
    },
    ends: "2026-11-17T14:36:00Z",
  },
  {
    title: "a used-up plan",
    body: {
      error: { type: "usage_limit_reached", message: "The usage limit has been reached", resets_in_seconds: 8100, plan_type: "plus" },
    },
    ends: "2026-11-17T16:45:00Z",
  },
  {
    title: "a used-up plan with its end",
    body: { error: { type: "usage_limit_reached", message: "The usage limit has been reached", resets_at: Number(seconds(week)) } },
    ends: week,
  },
  {
    title: "the windows of a plan",
    headers: {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-after-seconds": "3600",
      "x-codex-secondary-used-percent": "70",
      "x-codex-secondary-window-minutes": "10080",
      "x-codex-secondary-reset-at": seconds(week),
    },
    ends: "2026-11-17T15:30:00Z",
  },
];

const googleRows: VendorRow[] = [
  {
    title: "RetryInfo",
    body: {
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        message: "You exceeded your current quota, please check your plan and billing details.",
        details: [
          { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "GenerateRequestsPerMinute" }] },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.074824224s" },
        ],
      },
    },
    ends: "2026-11-17T14:30:34.075Z",
  },
  {
    title: "words of the API, in a list",
    body: [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota exceeded. Please retry in 41.5s." } }],
    ends: "2026-11-17T14:30:41.500Z",
  },
];

const openrouterRows: VendorRow[] = [
  {
    title: "a free model's day, in milliseconds",
    headers: { "x-ratelimit-limit": "50", "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(at("2026-11-18T00:00:00Z")) },
    body: { error: { code: 429, message: "Rate limit exceeded: free-models-per-day" } },
    ends: "2026-11-18T00:00:00Z",
  },
  { title: "seconds", headers: { "ratelimit-remaining": "0", "ratelimit-reset": "30" }, ends: "2026-11-17T14:30:30Z" },
];

const hostileRows: VendorRow[] = ["NaN", "-5", "1e400", "99999999999999999999", "1735689600", "32503680000", "soon", ""].map((value) => ({
  title: `the reset ${JSON.stringify(value)}`,
  headers: {
    "anthropic-ratelimit-unified-5h-status": "rejected",
    "anthropic-ratelimit-unified-5h-reset": value,
    "x-codex-primary-used-percent": value,
    "x-codex-primary-reset-at": value,
  },
  body: { error: { message: "no", resets_at: value, resets_in_seconds: -1, details: [{ retryDelay: value }] } },
  ends: null,
}));

const vendors: [vendor: string, rows: VendorRow[]][] = [
  ["anthropic", anthropicRows],
  ["openai", openaiRows],
  ["gemini", googleRows],
  ["openrouter", openrouterRows],
  ["hostile", hostileRows],
];

describe.each(vendors)("limits of %s", (vendor, rows) => {
  const endpoint: Endpoint = { vendor, wire: "openai-chat", baseUrl: "http://127.0.0.1:1", apiKey: "", headers: {} };

  test.each(rows.map((row) => [row.title, row] as const))("%s", async (_title, { headers = {}, body = {}, status = 429, ends }) => {
    const response = new Response(JSON.stringify(body), { status, headers });
    const { error } = classify(await readVendorError(response, now), { endpoint, model: "m" });
    expect({ kind: error.kind, ends: isoOf(error.resetAt) }).toEqual({
      kind: "rate-limited",
      ends: ends === null ? null : isoOf(at(ends)),
    });
  });
});

/** `lines` are the CLI's output; `failed` is its error message if the output is not known. */
type CliRow = { cli: Adapter; failed?: string; lines?: unknown[]; stderr?: string; ends: string | null };

const rejected = {
  type: "rate_limit_event",
  rate_limit_info: { status: "rejected", rateLimitType: "five_hour", resetsAt: 0 },
  session_id: "s",
};
const soon = Math.floor(Date.now() / 1000) + 3600;

const cliRows: CliRow[] = [
  { cli: claude, failed: "Claude AI usage limit reached|1794934800", ends: "2026-11-17T17:00:00Z" },
  { cli: claude, failed: "You've hit your session limit · resets 4pm (Europe/Berlin)", ends: "2026-11-17T15:00:00Z" },
  { cli: claude, failed: "You've hit your session limit · resets 3pm (Europe/Berlin)", ends: "2026-11-18T14:00:00Z" },
  { cli: claude, failed: "You've hit your weekly limit · resets Nov 20 at 9am (America/Los_Angeles)", ends: "2026-11-20T17:00:00Z" },
  { cli: claude, failed: "5-hour limit reached ∙ resets 12am (UTC)", ends: "2026-11-18T00:00:00Z" },
  { cli: claude, failed: "API Error: Request rejected (429) · Too many requests", ends: null },
  { cli: codex, failed: "You've hit your usage limit. Upgrade to Pro or try again at 11:59 PM.", ends: local(2026, 10, 17, 23, 59) },
  {
    cli: codex,
    failed: "You've hit your usage limit. To get more access now, send a request to your admin or try again at Nov 20th, 2026 4:12 PM.",
    ends: local(2026, 10, 20, 16, 12),
  },
  {
    cli: codex,
    lines: [{ type: "turn.failed", error: { message: "You've hit your usage limit. Try again in 3 days 2 hours 5 minutes." } }],
    ends: "2026-11-20T16:35:00Z",
  },
  { cli: codex, failed: "exceeded retry limit, last status: 429 Too Many Requests", ends: null },
  { cli: gemini, failed: "You have exhausted your daily quota on this model. Access resets at 7:04 AM PST.", ends: "2026-11-17T15:04:00Z" },
  {
    cli: gemini,
    failed: "You have exhausted your capacity on this model. Your quota will reset after 2h13m5s.",
    ends: "2026-11-17T16:43:05Z",
  },
  { cli: gemini, stderr: "Attempt 1 failed: RESOURCE_EXHAUSTED. Please retry in 18.2s.\n", ends: "2026-11-17T14:30:18.200Z" },
  {
    cli: opencode,
    failed: "5 hour usage limit reached. It will reset in 2 hours 13 minutes. To continue using this model now, enable usage",
    ends: "2026-11-17T16:43:00Z",
  },
  { cli: opencode, failed: "Usage limit reached. It will reset in 1 day 3 hours.", ends: "2026-11-18T17:30:00Z" },
  { cli: pi, failed: "You have hit your ChatGPT usage limit (plus plan). Try again in ~37 min.", ends: "2026-11-17T15:07:00Z" },
  { cli: pi, failed: "429: Monthly usage limit reached", ends: null },
  { cli: pi, failed: "You have hit your ChatGPT usage limit. Try again in ~99999999999 min.", ends: null },
];

function evidenceOf({ cli, failed, lines = [], stderr = "" }: CliRow): CliEvidence {
  const events = eventsOf(cli, lines.map((line) => JSON.stringify(line)).join("\n"));
  const found = events.find((event) => event.type === "failed");
  const reported = failed === undefined ? (found ?? null) : { message: failed };
  const quiet = {
    answer: "",
    done: null,
    signal: null,
    lines: 1,
    garbage: 0,
    garbageText: "",
    log: null,
    stopped: null,
    vendorError: null,
  };
  return { ...quiet, adapter: cli, failed: reported, exitCode: 1, stderr, now };
}

test.each(cliRows.map((row) => [row.cli.name, row.failed ?? JSON.stringify(row.lines) + (row.stderr ?? ""), row] as const))(
  "the limit of %s is read: %s",
  (_name, _text, row) => {
    const { status, error } = judgeEnding(evidenceOf(row));
    expect({ status, ends: isoOf(error?.resetAt) }).toEqual({
      status: "rate-limited",
      ends: row.ends === null ? null : isoOf(at(row.ends)),
    });
  },
);

test("Claude Code's event about a used-up window has its end, and an allowed or absurd one has none", () => {
  const withInfo = (info: object): unknown[] =>
    eventsOf(claude, JSON.stringify({ ...rejected, rate_limit_info: { ...rejected.rate_limit_info, ...info } }));
  expect(withInfo({ resetsAt: soon })).toContainEqual({ type: "limit", resetAt: soon * 1000 });
  for (const info of [{ resetsAt: soon, status: "allowed_warning" }, { resetsAt: 5 }, { resetsAt: 32503680000 }, { resetsAt: "x" }])
    expect(withInfo(info).filter((event) => (event as { type: string }).type === "limit")).toEqual([]);
});

test("the end of a limit is the vendor's own before the CLI's event, and this before the CLI's words", () => {
  const failed = { message: "You've hit your session limit · resets 4pm (Europe/Berlin)", kind: "rate-limited" as const };
  const evidence = { ...evidenceOf({ cli: claude, ends: null }), failed };
  const vendorError = { kind: "rate-limited" as const, message: "429", resetAt: now + 1000 };
  expect(judgeEnding({ ...evidence, limitResetAt: now + 2000, vendorError }).error?.resetAt).toBe(now + 1000);
  expect(judgeEnding({ ...evidence, limitResetAt: now + 2000 }).error?.resetAt).toBe(now + 2000);
  expect(judgeEnding(evidence).error?.resetAt).toBe(at("2026-11-17T15:00:00Z"));
});
