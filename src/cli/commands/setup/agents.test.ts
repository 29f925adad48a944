import { describe, expect, test } from "bun:test";
import { agent, agentsReport } from "../../../protocol/fixtures/printed-schemas.ts";
import type { AgentInfo, AgentsReport, TrialCheck, TrialCheckName } from "../../../protocol/api/agents.ts";
import { trialCheckNames } from "../../../protocol/api/agents.ts";
import { agents } from "./agents.ts";
import { doctor } from "./doctor.ts";
import { run } from "../fixtures/run-command.ts";

const row = (name: string, more: Partial<AgentInfo>): AgentInfo => ({
  name,
  kind: "cli",
  installed: true,
  path: `/opt/${name}`,
  version: "1.0.0",
  vendors: ["anthropic"],
  credentials: [{ vendor: "anthropic", kind: "key", source: "ANTHROPIC_API_KEY", note: null }],
  can: { resume: true, fork: true, efforts: ["low"], role: "own" },
  tried: null,
  testedVersion: null,
  signIn: null,
  missing: null,
  hint: null,
  ...more,
});

describe("agents", () => {
  const noCredential = [{ vendor: "openai", kind: "none" as const, source: null, note: null }];
  const list = [
    row("native", { kind: "native", path: null, credentials: [{ vendor: "ollama", kind: "key", source: null, note: null }] }),
    row("claude", { tried: { at: Date.UTC(2026, 0, 2), works: true, reason: null } }),
    row("codex", { credentials: noCredential, missing: "no key", hint: "set OPENAI_API_KEY", can: { ...row("", {}).can, fork: false } }),
    row("pi", {
      installed: false,
      path: null,
      version: null,
      credentials: ["A_KEY", "B_KEY", "C_KEY"].map((source) => ({ vendor: source, kind: "key", source, note: null })),
      missing: "not installed",
      hint: "npm install -g pi",
    }),
  ];
  const api = { agents: { list: async () => list } };

  test("agents marks the ready agents, and prints one line for what each other one is missing", async () => {
    const { out, err, code } = await run(agents, [], { api });
    expect({ err, code }).toEqual({ err: "", code: 0 });
    expect(out).toBe(`   AGENT   VERSION  CREDENTIAL               CAN                         TRIED
✓  native  1.0.0    none needed              resume, fork, effort, role  -
✓  claude  1.0.0    ANTHROPIC_API_KEY        resume, fork, effort, role  works, 2026-01-02
✗  codex   1.0.0    not set                  resume, effort, role        -
○  pi      -        A_KEY, B_KEY and 1 more  -                           -

codex: no key; set OPENAI_API_KEY
pi: not installed; npm install -g pi
`);
  });

  test("agents marks a preset with the version that was tested, or as untried", async () => {
    const presets = [row("qwen", { kind: "preset", testedVersion: "0.24.4" }), row("goose", { kind: "preset" })];
    const { out } = await run(agents, [], { api: { agents: { list: async () => presets } } });
    expect(out).toMatch(/^✓ {2}qwen .* preset, with 0\.24\.4$/m);
    expect(out).toMatch(/^✓ {2}goose .* untried preset$/m);
  });

  test("agents prints notes about a sign-in", async () => {
    const credentials = [{ vendor: "openai", kind: "sign-in" as const, source: "~/.codex/auth.json", note: "one turn at a time" }];
    const signedIn = {
      agents: { list: async () => [row("codex", { credentials }), row("pi", { credentials, installed: false, missing: "not installed" })] },
    };
    const { out } = await run(agents, [], { api: signedIn });
    expect(out).toEndWith("\n\ncodex: its own sign-in; one turn at a time\npi: not installed\n");
  });

  test("agents --json prints records of the schema, and no output contains escape sequences", async () => {
    const { json } = await run(agents, ["--json"], { api });
    const rows = json() as unknown[];
    expect(rows.map((record) => agent.parse(record).name)).toEqual(["native", "claude", "codex", "pi"]);
    expect(rows[1]).toMatchObject({ tried: { at: "2026-01-02T00:00:00.000Z", works: true } });
    const hostile = { agents: { list: async () => [row("claude", { version: "1\x1b[2J2" })] } };
    expect((await run(agents, [], { api: hostile })).out).not.toContain("\x1b");
  });
});

describe("doctor --agents", () => {
  const checks = (outcomes: Partial<Record<TrialCheckName, TrialCheck["outcome"]>>, detail: string | null = null): TrialCheck[] =>
    trialCheckNames.map((name) => {
      const outcome = outcomes[name] ?? "ok";
      return { name, outcome, detail: outcome === "failed" ? detail : null, durationMs: 10 };
    });
  const trial = { path: "/opt/x", version: "2.0.0", works: true, reason: null, durationMs: 1234 };
  const untried = Object.fromEntries(trialCheckNames.slice(1).map((name) => [name, "untried" as const]));
  const broken: AgentsReport = {
    ok: false,
    agents: [
      { ...trial, agent: "claude", checks: checks({}) },
      { ...trial, agent: "gemini", checks: checks({ fork: "none" }), durationMs: 61_000 },
      { ...trial, agent: "pi", checks: checks({ fork: "failed" }, "the fork is the original session") },
      {
        ...trial,
        agent: "codex",
        version: null,
        works: false,
        reason: "garbage",
        checks: checks({ ...untried, tools: "failed" }, "garbage"),
      },
    ],
    notInstalled: [{ agent: "opencode", hint: "npm install -g opencode-ai", refused: null }],
  };
  const apiWith = (report: AgentsReport) => ({ doctor: { tryAgents: async () => report } });

  test("doctor --agents prints a table, failures and missing agents, and exits with 1 if an agent is broken", async () => {
    const { out, err, code } = await run(doctor, ["--agents"], { api: apiWith(broken) });
    expect({ err, code }).toEqual({ err: "", code: 1 });
    expect(out).toBe(`AGENT   VERSION  TOOLS  MODEL  RESUME  FORK  KEY  LIMIT  KILL    TIME
claude  2.0.0    ✓      ✓      ✓       ✓     ✓    ✓      ✓      1.2 s
gemini  2.0.0    ✓      ✓      ✓       –     ✓    ✓      ✓     61.0 s
pi      2.0.0    ✓      ✓      ✓       ✗     ✓    ✓      ✓      1.2 s
codex   unknown  ✗      ·      ·       ·     ·    ·      ·      1.2 s

pi, fork: the fork is the original session; skein sends it the conversation so far instead
codex, tools: garbage
opencode is not installed: npm install -g opencode-ai

broken: codex
`);
    const plainLocale = await run(doctor, ["--agents"], { api: apiWith(broken), env: { LANG: "C" } });
    expect(plainLocale.out).toContain("codex   unknown  x      .      .       .     .    .      .      1.2 s");
  });

  test("doctor --agents says that all agents work, or that none is installed", async () => {
    const working = { ok: true, agents: broken.agents.slice(0, 2), notInstalled: [] };
    const { out, code } = await run(doctor, ["--agents"], { api: apiWith(working) });
    expect({ code, last: out.trim().split("\n").at(-1) }).toEqual({ code: 0, last: "all work: claude, gemini" });
    const noAgents = { ok: true, agents: [], notInstalled: broken.notInstalled };
    expect((await run(doctor, ["--agents"], { api: apiWith(noAgents) })).out).toBe(
      "opencode is not installed: npm install -g opencode-ai\n\nonly the native agent is installed\n",
    );
  });

  test("doctor --agents --json prints a record of the schema, and progress only on a terminal", async () => {
    const { json, code } = await run(doctor, ["--agents", "--json"], { api: apiWith(broken) });
    expect(code).toBe(1);
    expect(agentsReport.parse(json()).not_installed).toEqual([{ agent: "opencode", hint: "npm install -g opencode-ai", refused: null }]);
    const slow: Parameters<typeof run>[2] = {
      tty: true,
      api: {
        doctor: {
          tryAgents: async ({ onProgress }) => {
            onProgress?.({ agent: "pi", check: "fork", done: 1, of: 3 });
            return broken;
          },
        },
      },
    };
    const outcome = await run(doctor, ["--agents", "--json"], slow);
    expect(outcome.err).toContain("1 of 3 tried, 0 s ... pi: fork");
    expect(outcome.err).toEndWith("\r\x1b[K");
    expect(outcome.out).toBe(JSON.stringify(outcome.json(), null, 2) + "\n");
  });
});
