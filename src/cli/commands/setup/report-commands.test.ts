import { describe, expect, test } from "bun:test";
import type { Api, DoctorReport, ModelInfo, SkillList, UsageEntry, VerifyReport } from "../../../protocol/api/api.ts";
import { auth } from "./auth.ts";
import { doctor } from "./doctor.ts";
import { models } from "./models.ts";
import { skills } from "./skills.ts";
import { usage } from "../record/usage.ts";
import { verify } from "../tree/verify.ts";
import { run } from "../fixtures/run-command.ts";

describe("models", () => {
  const row = (name: string, more: Partial<ModelInfo>): ModelInfo => ({
    name,
    vendor: "v",
    ready: false,
    isDefault: false,
    recommended: false,
    aliases: [],
    contextWindow: null,
    inputPrice: null,
    outputPrice: null,
    ...more,
  });
  const list = [
    row("c/best", { ready: true, isDefault: true, contextWindow: 1_048_576, aliases: ["best"] }),
    row("b/yes", { ready: true, contextWindow: 200_000, inputPrice: 3, outputPrice: 0.075 }),
    row("a/no", {}),
  ];
  const api = { models: { list: async () => list } };

  test("models lists ready models in the order of the Api, and counts the others", async () => {
    const { out, err } = await run(models, [], { api });
    expect(out).toBe(`   MODEL   ALIAS  READY  WINDOW     IN     OUT
*  c/best  best   yes        1M      -       -
   b/yes          yes      200k  $3.00  $0.075
`);
    expect(err).toBe("1 more without a key: skein models --all\n");
    expect((await run(models, ["--all"], { api })).out).toContain("a/no");
    expect((await run(models, ["--json"], { api })).json()).toMatchObject([
      { name: "c/best", is_default: true },
      { context_window: 200_000 },
      { ready: false },
    ]);
  });

  test("models with a word lists every model with that word in its name or alias", async () => {
    expect((await run(models, ["NO"], { api })).out).toContain("a/no");
    expect((await run(models, ["es"], { api })).out).toMatch(/c\/best[^]*b\/yes/);
    expect((await run(models, ["qwen"], { api })).out).toBe('no model has "qwen" in its name\n');
  });

  test("models lists only recommended models if none is ready", async () => {
    const rows = [row("a/good", { recommended: true }), row("a/no", {}), row("b/no", {})];
    const { out, err } = await run(models, [], { api: { models: { list: async () => rows } } });
    expect(out).toContain("a/good");
    expect(out).not.toContain("a/no");
    expect(err).toBe("2 more without a key: skein models --all\nno model is ready: `skein auth login` says which key or sign-in to use\n");
  });

  test("models says what to do if no model is ready", async () => {
    const { out, err } = await run(models, [], { api: { models: { list: async () => [row("a/no", {})] } } });
    expect(out).toContain("a/no");
    expect(err).toBe("no model is ready: `skein auth login` says which key or sign-in to use\n");
  });
});

describe("skills", () => {
  test("skills lists skills and problems without their control characters", async () => {
    const list: SkillList = {
      skills: [
        { name: "a", description: "does\x1b[2J a", path: "/s/a/SKILL.md", scope: "project", trusted: false },
        { name: "b", description: "does b", path: "/s/b/SKILL.md", scope: "user", trusted: true, hidden: true },
      ],
      problems: [{ path: "/s/c/SKILL.md", message: "has no description" }],
    };
    const api = { skills: { list: async () => list } };
    const { out, err } = await run(skills, [], { api });
    expect(out).toBe("a (project, not trusted)\n  does a\n  /s/a/SKILL.md\nb (user, not for the model)\n  does b\n  /s/b/SKILL.md\n");
    expect(err).toBe("problem: /s/c/SKILL.md: has no description\n");
    expect((await run(skills, ["--json"], { api })).json()).toEqual(list);
  });

  test("skills says where to add one if there is none", async () => {
    expect((await run(skills, [], { api: { skills: { list: async () => ({ skills: [], problems: [] }) } } })).out).toStartWith(
      "no skills here",
    );
  });
});

describe("usage", () => {
  const rows: UsageEntry[] = [
    { key: "2026-01-01", turns: 2, usage: { input: 1000, output: 20, cacheRead: 3, cacheWrite: 4 }, costUsd: 0.1234, unpriced: 0 },
    {
      key: "2026-01-02",
      turns: 1,
      usage: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 },
      costUsd: 2,
      costIsPartial: true,
      unpriced: 1,
    },
  ];

  test("usage sums all entries, and marks unknown prices", async () => {
    const { out } = await run(usage, [], { api: { usage: { report: async () => rows } } });
    expect(out).toBe(`DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE     COST
2026-01-01      2  1,000      20           3            4  $0.1234
2026-01-02      1      1       1           1            1   $2.00+
total           3  1,001      21           4            5   $2.12+
`);
  });

  test("usage reports this project or all projects, by any key", async () => {
    const requests: unknown[] = [];
    const report: Api["usage"]["report"] = async (params) => {
      requests.push(params);
      return [];
    };
    const setup = { api: { usage: { report } } };
    expect((await run(usage, [], setup)).out).toContain("--all-projects shows all");
    expect((await run(usage, ["--all-projects", "--by", "model"], setup)).out).toBe("nothing was spent yet\n");
    await run(usage, ["--by", "project"], setup);
    expect((await run(usage, ["--json"], setup)).out).toBe("[]\n");
    expect(requests.slice(0, 3)).toEqual([
      { by: "day", project: "/work/project" },
      { by: "model", project: null },
      { by: "project", project: null },
    ]);
    await expect(run(usage, ["--by", "moon"], setup)).rejects.toMatchObject({ code: "usage" });
  });
});

const keyOf = (vendor: string) => ({ keyVariable: `${vendor}_API_KEY`, keyUrl: `https://keys/${vendor}` });

test("auth login prints the variable, the page of the key, and each agent's own sign-in", async () => {
  const vendors = [
    { vendor: "openai", ready: false, source: null, baseUrl: "https://o", hint: "", ...keyOf("OPENAI") },
    { vendor: "anthropic", ready: true, source: "ANTHROPIC_API_KEY", baseUrl: "https://a", hint: "", ...keyOf("ANTHROPIC") },
    { vendor: "ollama", ready: true, source: null, baseUrl: "http://l", hint: "", ...keyOf("OLLAMA"), keyUrl: "https://ollama" },
  ];
  const can = { resume: true, fork: true, efforts: [], role: "own" as const };
  const cli = { kind: "cli" as const, installed: true, path: null, version: null, vendors: [], can, tried: null, testedVersion: null };
  const agents = [
    { ...cli, name: "codex", signIn: "codex login", missing: "no key and no sign-in", hint: "set it", credentials: [] },
    { ...cli, name: "pi", installed: false, signIn: null, missing: "not installed", hint: "npm install -g pi", credentials: [] },
  ];
  const api = { auth: { status: async () => vendors }, agents: { list: async () => agents } };
  const all = await run(auth, ["login"], { api });
  expect(all.out).toBe(`   VENDOR     KEY                        GET IT AT
✗  openai     export OPENAI_API_KEY=...  https://keys/OPENAI
✓  anthropic  ANTHROPIC_API_KEY is set   https://keys/ANTHROPIC
✓  ollama     no key needed              https://ollama

   AGENT  STATE                  SIGN IN OR INSTALL
✗  codex  sign in, or use a key  codex login
✗  pi     not installed          npm install -g pi
`);
  expect(all.err).toContain("skein stores no key");
  expect((await run(auth, ["login", "codex"], { api })).out).not.toContain("anthropic");
  expect((await run(auth, ["login", "openai", "--json"], { api })).json()).toMatchObject({
    vendors: [{ key_variable: "OPENAI_API_KEY" }],
    agents: [],
  });
  await expect(run(auth, ["login", "opnai"], { api })).rejects.toMatchObject({ hint: 'did you mean "openai"?' });
  await expect(run(auth, ["status", "openai"], { api })).rejects.toMatchObject({ code: "usage" });
});

test("auth status shows the source of a key, and how to set a missing one", async () => {
  const rows = [
    { vendor: "openai", ready: false, source: null, baseUrl: "https://o", hint: "set OPENAI_API_KEY", ...keyOf("OPENAI") },
    { vendor: "anthropic", ready: true, source: "ANTHROPIC_API_KEY", baseUrl: "https://a", hint: "", ...keyOf("ANTHROPIC") },
  ];
  const agents = [{ agent: "codex", kind: "sign-in" as const, source: "~/.codex/auth.json", note: "one turn at a time" }];
  const signedIn = { auth: { status: async () => [{ ...rows[0]!, agents }] } };
  expect((await run(auth, ["status"], { api: signedIn })).out).toBe(`   VENDOR   KEY                 WHERE
✗  openai   not set             set OPENAI_API_KEY
✓    codex  ~/.codex/auth.json  its own sign-in; one turn at a time
`);
  const api = { auth: { status: async () => rows } };
  expect((await run(auth, ["status"], { api })).out).toBe(`   VENDOR     KEY                WHERE
✓  anthropic  ANTHROPIC_API_KEY  https://a
✗  openai     not set            set OPENAI_API_KEY
`);
  const stopped = {
    vendor: "ollama",
    ready: false,
    source: null,
    baseUrl: "http://l",
    hint: "no server answers",
    keyVariable: null,
    keyUrl: "https://k",
  };
  expect((await run(auth, ["status"], { api: { auth: { status: async () => [stopped] } } })).out).toBe(`   VENDOR  KEY          WHERE
✗  ollama  not running  no server answers
`);
  expect((await run(auth, ["status"], { api, env: { LANG: "C" } })).out).toContain("+  anthropic");
  expect((await run(auth, ["status", "--json"], { api })).json()).toMatchObject([{ base_url: "https://a" }, {}]);
  await expect(run(auth, [], { api })).rejects.toMatchObject({ code: "usage" });
});

describe("verify", () => {
  const report: VerifyReport = { sessions: 1, nodes: 1200, turns: 3, handles: 0, transcripts: 1, problems: [] };

  test("verify prints one line for an intact store, and progress only on a terminal", async () => {
    const api = { store: { verify: async ({ onProgress }: { onProgress?: (checked: number) => void }) => (onProgress?.(1000), report) } };
    expect(await run(verify, [], { api })).toMatchObject({
      code: 0,
      out: "ok: 1 session, 3 turns, 1,200 nodes, 0 handles, 1 transcript\n",
      err: "",
    });
    expect((await run(verify, [], { api, tty: true })).err).toBe("\r1,000 checked\x1b[K\r\x1b[K");
  });

  test("verify lists problems and exits with 1", async () => {
    const broken = { ...report, problems: [{ kind: "node-lost", subject: "abc", message: "its parent is missing" }] };
    const api = { store: { verify: async () => broken } };
    const result = await run(verify, [], { api });
    expect(result).toMatchObject({ code: 1 });
    expect(result.out).toStartWith("node-lost abc: its parent is missing\n1 problem in ");
    const json = await run(verify, ["--json"], { api });
    expect([json.code, json.json()]).toMatchObject([1, { ok: false, problems: [{ kind: "node-lost" }] }]);
  });
});

describe("doctor", () => {
  const report: DoctorReport = {
    ok: false,
    checks: [
      { name: "runtime", ok: true, optional: false, detail: "1.4" },
      { name: "ollama", ok: false, optional: true, detail: "not running", hint: "start it" },
      { name: "key", ok: false, optional: false, detail: "none", hint: "set a key:\n  export ANTHROPIC_API_KEY=..." },
    ],
  };

  test("doctor marks each check, and prints the next step last", async () => {
    const result = await run(doctor, [], { api: { doctor: { check: async () => report } } });
    expect(result.code).toBe(1);
    expect(result.out).toBe(`✓ runtime  1.4
○ ollama   not running
           start it
✗ key      none
           set a key:
            export ANTHROPIC_API_KEY=...

not ready: set a key.
`);
  });

  test("doctor prints ASCII without a UTF-8 locale, JSON with --json, and exits with 0 without problems", async () => {
    const api = { doctor: { check: async () => ({ ok: true, checks: report.checks.slice(0, 2) }) } };
    const ascii = await run(doctor, [], { api, env: { LANG: "C", LC_ALL: "POSIX" } });
    expect(ascii.code).toBe(0);
    expect(ascii.out).toStartWith("+ runtime  1.4\n- ollama ");
    expect(ascii.out).toMatch(/^[\x20-\x7e\n]*$/);
    expect((await run(doctor, ["--json"], { api })).json()).toMatchObject({ ok: true, checks: [{ name: "runtime" }, {}] });
    expect((await run(doctor, [], { api, color: true })).out).toContain("\x1b[32m✓\x1b[39m runtime");
  });
});
