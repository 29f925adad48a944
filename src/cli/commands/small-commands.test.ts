import { afterAll, describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Api, ConfigRow, DoctorReport, ModelRow, SkillList, TrustState, UsageRow, VerifyReport } from "../../protocol/api.ts";
import { parseArgs } from "../args.ts";
import type { Command, Door } from "../command.ts";
import { auth } from "./auth.ts";
import { completions } from "./completions.ts";
import { config } from "./config.ts";
import { doctor } from "./doctor.ts";
import { init } from "./init.ts";
import { models } from "./models.ts";
import { skills } from "./skills.ts";
import { trust } from "./trust.ts";
import { usage } from "./usage.ts";
import { verify } from "./verify.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-commands-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

type Setup = { api?: { [noun in keyof Api]?: Partial<Api[noun]> }; project?: string; cwd?: string; color?: boolean; tty?: boolean; env?: Record<string, string> };
type Outcome = { code: number; out: string; err: string; json: () => unknown };

/** Runs a command as the command line does, on an Api that answers with given rows. */
async function run(command: Command, argv: string[], setup: Setup = {}): Promise<Outcome> {
  const text = { out: "", err: "" };
  const screen = (name: "out" | "err"): Door["out"] => ({ write: (more) => (text[name] += more), isTty: setup.tty ?? false, columns: 80, color: setup.color ?? false });
  const door: Door = {
    api: async () => (setup.api ?? {}) as Api,
    cwd: setup.cwd ?? "/work/project/sub",
    home: setup.env?.["HOME"] ?? "/home/me",
    project: setup.project ?? "/work/project",
    env: { HOME: "/home/me", LANG: "C.UTF-8", ...setup.env },
    version: "0.0.0",
    stdin: { isTty: false, text: async () => "" },
    out: screen("out"),
    err: screen("err"),
    onStop: () => {},
  };
  const code = await command.run(parseArgs(command, argv), door);
  return { code, ...text, json: () => JSON.parse(text.out) };
}

describe("config", () => {
  const rows: ConfigRow[] = [
    { key: "model", value: "a/b", origin: "$SKEIN_MODEL", description: "" },
    { key: "timeout", value: 7_200_000, written: "2h", origin: "/c.jsonc", description: "" },
    { key: "allow_write", value: [], origin: "default", description: "" },
    { key: "providers.acme.api_key", value: "(set)", origin: "/c.jsonc", description: "" },
    { key: "providers.acme.headers", value: { "X-Team": "(set)" }, origin: "/c.jsonc", description: "" },
  ];
  const api = { config: { show: async () => rows } };

  test("lists every key with value and origin", async () => {
    const { out } = await run(config, [], { api });
    expect(out).toBe(`KEY                     VALUE               ORIGIN
model                   a/b                 $SKEIN_MODEL
timeout                 2h                  /c.jsonc
allow_write             -                   default
providers.acme.api_key  (set)               /c.jsonc
providers.acme.headers  {"X-Team":"(set)"}  /c.jsonc
`);
    expect((await run(config, ["--json"], { api })).json()).toMatchObject([{ key: "model" }, { key: "timeout", value: 7_200_000, written: "2h" }, {}, {}, { value: { "X-Team": "(set)" } }]);
  });

  test("get prints one value, or all below a prefix", async () => {
    expect((await run(config, ["get", "timeout"], { api })).out).toBe("2h\n");
    expect((await run(config, ["get", "allow_write"], { api })).out).toBe("\n");
    expect((await run(config, ["get", "providers.acme"], { api })).out).toBe('providers.acme.api_key (set)\nproviders.acme.headers {"X-Team":"(set)"}\n');
    expect((await run(config, ["get", "model", "--json"], { api })).json()).toMatchObject({ key: "model", value: "a/b" });
    await expect(run(config, ["get", "modle"], { api })).rejects.toMatchObject({ code: "usage", message: 'nothing is set for "modle"', hint: 'did you mean "model"?' });
  });

  test("set goes to the user's file or the project's", async () => {
    const asked: unknown[] = [];
    const set: Api["config"]["set"] = async (params) => {
      asked.push(params);
      return { path: `/${params.scope}.jsonc` };
    };
    expect((await run(config, ["set", "model", "x/y"], { api: { config: { set } } })).out).toBe("model is set in /user.jsonc\n");
    expect((await run(config, ["set", "model", "null", "--project"], { api: { config: { set } } })).out).toBe("model is no longer set in /project.jsonc\n");
    expect(asked).toEqual([
      { key: "model", value: "x/y", scope: "user" },
      { key: "model", value: "null", scope: "project" },
    ]);
  });

  test("path and schema", async () => {
    const paths = { user: "/u", project: "/p", config: "/c", data: "/d", state: "/s", cache: "/k" };
    const setup = { api: { config: { paths: async () => paths, schema: async () => ({ camelCase: { maxItems: 1 } }) } } };
    expect((await run(config, ["path"], setup)).out).toContain("user config     /u\n");
    expect((await run(config, ["path", "--json"], setup)).json()).toEqual(paths);
    expect((await run(config, ["schema"], setup)).json()).toEqual({ camelCase: { maxItems: 1 } });
  });

  test.each([
    [["get"], "config get needs a key"],
    [["set", "model"], "config set needs a key and a value"],
    [["get", "a", "b"], 'config get: "b" is too much'],
    [["path", "x"], 'config path: "x" is too much'],
    [["--project"], "--project goes with config set"],
    [["unset", "x"], 'config knows get, set, path, schema, not "unset"'],
  ])("%j is refused", async (argv, message) => {
    await expect(run(config, argv, { api })).rejects.toMatchObject({ code: "usage", message });
  });
});

describe("trust", () => {
  const asked: unknown[] = [];
  const answer =
    (verb: string, state: Partial<TrustState>) =>
    async ({ directory }: { directory: string }): Promise<TrustState> => {
      asked.push([verb, directory]);
      return { directory, trusted: false, files: [".skein/config.jsonc"], ...state };
    };
  const api = { trust: { show: answer("show", { reason: "not trusted yet" }), grant: answer("grant", { trusted: true }), revoke: answer("revoke", { reason: "not trusted yet" }) } };

  test("grants, shows and revokes, for the project or a directory by any spelling", async () => {
    mkdirSync(join(root, "home", "x"), { recursive: true });
    const setup = { api, cwd: join(root, "home"), project: "/work/project", env: { HOME: join(root, "home") } };
    expect((await run(trust, [], setup)).out).toBe("/work/project is trusted\n  .skein/config.jsonc\n");
    expect((await run(trust, ["--show"], setup)).out).toBe("/work/project is not trusted (not trusted yet)\n  .skein/config.jsonc\n");
    for (const spelling of ["x", "./x/", "~/x", join(root, "home", "x")]) await run(trust, ["--revoke", spelling], setup);
    expect(asked).toEqual([["grant", "/work/project"], ["show", "/work/project"], ...Array.from({ length: 4 }, () => ["revoke", join(root, "home", "x")])]);
    expect((await run(trust, ["--json"], setup)).json()).toEqual({ directory: "/work/project", trusted: true, files: [".skein/config.jsonc"] });
  });

  test("says when there is nothing to trust, and refuses what can't be", async () => {
    expect((await run(trust, [], { api: { trust: { grant: answer("grant", { files: [] }) } } })).out).toBe("/work/project: nothing in this project needs trust\n");
    await expect(run(trust, ["gone"], { cwd: root })).rejects.toMatchObject({ code: "usage", message: `there is no directory ${join(root, "gone")}` });
    await expect(run(trust, ["--show", "--revoke"])).rejects.toMatchObject({ code: "usage" });
  });
});

describe("init", () => {
  const api = { config: { schema: async () => ({ type: "object" }) } };
  const project = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };

  test("makes the files once and says so, then leaves them alone", async () => {
    const at = project("init");
    const first = await run(init, [], { api, project: at });
    expect(first.out.split("\n").filter(Boolean)).toEqual([".skein/config.jsonc", ".skein/config.schema.json", ".skein/.gitignore", "AGENTS.md"].map((name) => `made    ${join(at, name)}`));
    expect(Bun.JSONC.parse(readFileSync(join(at, ".skein/config.jsonc"), "utf8"))).toEqual({ $schema: "./config.schema.json" });
    expect(readFileSync(join(at, ".skein/.gitignore"), "utf8")).toContain("sessions/\n");
    writeFileSync(join(at, ".skein/config.jsonc"), '{ "model": "mine" }');
    writeFileSync(join(at, "AGENTS.md"), "mine");
    const second = await run(init, [], { api, project: at });
    expect(second.out).toEndWith("nothing to do: everything was there\n");
    expect(readFileSync(join(at, ".skein/config.jsonc"), "utf8")).toBe('{ "model": "mine" }');
    expect(readFileSync(join(at, "AGENTS.md"), "utf8")).toBe("mine");
    const files = (await run(init, ["--json"], { api, project: at })).json();
    expect(files).toMatchObject({ project: at, files: [{ path: join(at, ".skein/config.jsonc"), made: false }, {}, {}] });
  });

  test("does not put an AGENTS.md in front of a CLAUDE.md", async () => {
    const at = project("claude");
    writeFileSync(join(at, "CLAUDE.md"), "");
    await run(init, [], { api, project: at });
    expect(readdirSync(at).sort()).toEqual([".skein", "CLAUDE.md"]);
  });

  test("follows no link out of the project", async () => {
    const at = project("linked");
    const outside = project("outside");
    symlinkSync(outside, join(at, ".skein"));
    await expect(run(init, [], { api, project: at })).rejects.toMatchObject({ code: "file-unwritable", message: `${join(at, ".skein")} is not a directory` });
    expect(readdirSync(outside)).toEqual([]);
    const other = project("linked-file");
    symlinkSync(join(outside, "target"), join(other, "AGENTS.md"));
    await run(init, [], { api, project: other });
    expect(readdirSync(outside)).toEqual([]);
    expect(lstatSync(join(other, "AGENTS.md")).isSymbolicLink()).toBe(true);
  });

  test("says when the project can't be written", async () => {
    await expect(run(init, [], { api, project: "/proc/self/fdinfo" })).rejects.toMatchObject({ code: "file-unwritable" });
  });
});

test("completions prints a script for the shell that was asked for", async () => {
  expect((await run(completions, ["bash"])).out).toContain("complete -o filenames -F _skein skein");
  expect((await run(completions, ["fish", "--json"])).json()).toMatchObject({ shell: "fish" });
  await expect(run(completions, ["pwsh"])).rejects.toMatchObject({ code: "usage", message: 'completions knows bash, zsh, fish, not "pwsh"' });
  await expect(run(completions, [])).rejects.toMatchObject({ code: "usage" });
});

describe("models", () => {
  const row = (name: string, more: Partial<ModelRow>): ModelRow => ({ name, vendor: "v", ready: false, isDefault: false, contextWindow: null, inputPrice: null, outputPrice: null, ...more });
  const list = [row("a/no", {}), row("b/yes", { ready: true, contextWindow: 200_000, inputPrice: 3, outputPrice: 0.075 }), row("c/best", { ready: true, isDefault: true, contextWindow: 1_048_576 })];
  const api = { models: { list: async () => list } };

  test("lists the default first, then those that are ready, and counts the others", async () => {
    const { out, err } = await run(models, [], { api });
    expect(out).toBe(`   MODEL   READY  WINDOW     IN     OUT
*  c/best  yes        1M      -       -
   b/yes   yes      200k  $3.00  $0.075
`);
    expect(err).toBe("1 more without a key: skein models --all\n");
    expect((await run(models, ["--all"], { api })).out).toContain("a/no");
    expect((await run(models, ["--json"], { api })).json()).toMatchObject([{ name: "c/best", is_default: true }, { context_window: 200_000 }, { ready: false }]);
  });

  test("says what to do when none is ready", async () => {
    const { out, err } = await run(models, [], { api: { models: { list: async () => [row("a/no", {})] } } });
    expect(out).toContain("a/no");
    expect(err).toBe("no model is ready: `skein auth status` says which key to set\n");
  });
});

describe("skills", () => {
  test("lists skills and problems without letting them steer the terminal", async () => {
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

  test("says where to put one when there is none", async () => {
    expect((await run(skills, [], { api: { skills: { list: async () => ({ skills: [], problems: [] }) } } })).out).toStartWith("no skills here");
  });
});

describe("usage", () => {
  const rows: UsageRow[] = [
    { key: "2026-01-01", turns: 2, usage: { input: 1000, output: 20, cacheRead: 3, cacheWrite: 4 }, costUsd: 0.1234, unpriced: 0 },
    { key: "2026-01-02", turns: 1, usage: { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }, costUsd: 2, unpriced: 1 },
  ];

  test("adds up, and marks what has no price", async () => {
    const { out } = await run(usage, [], { api: { usage: { report: async () => rows } } });
    expect(out).toBe(`DAY         TURNS  INPUT  OUTPUT  CACHE READ  CACHE WRITE     COST
2026-01-01      2  1,000      20           3            4  $0.1234
2026-01-02      1      1       1           1            1   $2.00+
total           3  1,001      21           4            5   $2.12+
`);
  });

  test("asks for this project, for all of them, or by another key", async () => {
    const asked: unknown[] = [];
    const report: Api["usage"]["report"] = async (params) => {
      asked.push(params);
      return [];
    };
    const setup = { api: { usage: { report } } };
    expect((await run(usage, [], setup)).out).toContain("--all-projects shows the rest");
    expect((await run(usage, ["--all-projects", "--by", "model"], setup)).out).toBe("nothing was spent yet\n");
    await run(usage, ["--by", "project"], setup);
    expect((await run(usage, ["--json"], setup)).out).toBe("[]\n");
    expect(asked.slice(0, 3)).toEqual([
      { by: "day", project: "/work/project" },
      { by: "model", project: null },
      { by: "project", project: null },
    ]);
    await expect(run(usage, ["--by", "moon"], setup)).rejects.toMatchObject({ code: "usage" });
  });
});

test("auth status shows where a key comes from and what is missing", async () => {
  const rows = [
    { vendor: "openai", ready: false, source: null, baseUrl: "https://o", hint: "set OPENAI_API_KEY" },
    { vendor: "anthropic", ready: true, source: "ANTHROPIC_API_KEY", baseUrl: "https://a", hint: "" },
  ];
  const api = { auth: { status: async () => rows } };
  expect((await run(auth, ["status"], { api })).out).toBe(`   VENDOR     KEY                WHERE
✓  anthropic  ANTHROPIC_API_KEY  https://a
✗  openai     not set            set OPENAI_API_KEY
`);
  expect((await run(auth, ["status"], { api, env: { LANG: "C" } })).out).toContain("+  anthropic");
  expect((await run(auth, ["status", "--json"], { api })).json()).toMatchObject([{ base_url: "https://a" }, {}]);
  await expect(run(auth, [], { api })).rejects.toMatchObject({ code: "usage" });
});

describe("verify", () => {
  const report: VerifyReport = { sessions: 1, nodes: 1200, turns: 3, handles: 0, transcripts: 1, problems: [] };

  test("is quiet about a whole store, and shows progress only on a terminal", async () => {
    const api = { store: { verify: async ({ onProgress }: { onProgress?: (checked: number) => void }) => (onProgress?.(1000), report) } };
    expect(await run(verify, [], { api })).toMatchObject({ code: 0, out: "ok: 1 sessions, 3 turns, 1,200 nodes, 0 handles, 1 transcripts\n", err: "" });
    expect((await run(verify, [], { api, tty: true })).err).toBe("\r1,000 checked\r\x1b[K");
  });

  test("lists problems and exits with 1", async () => {
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

  test("marks each check, and ends with the next step", async () => {
    const result = await run(doctor, [], { api: { doctor: { check: async () => report } } });
    expect(result.code).toBe(1);
    expect(result.out).toBe(`✓ runtime  1.4
○ ollama   not running
           start it
✗ key      none
           set a key:
            export ANTHROPIC_API_KEY=...

not ready: set a key:
`);
  });

  test("is ASCII without a UTF-8 locale, JSON when asked, and 0 when all is well", async () => {
    const api = { doctor: { check: async () => ({ ok: true, checks: report.checks.slice(0, 2) }) } };
    const ascii = await run(doctor, [], { api, env: { LANG: "C", LC_ALL: "POSIX" } });
    expect(ascii.code).toBe(0);
    expect(ascii.out).toStartWith("+ runtime  1.4\n- ollama ");
    expect(ascii.out).toMatch(/^[\x20-\x7e\n]*$/);
    expect((await run(doctor, ["--json"], { api })).json()).toMatchObject({ ok: true, checks: [{ name: "runtime" }, {}] });
    expect((await run(doctor, [], { api, color: true })).out).toContain("\x1b[32m✓\x1b[39m runtime");
  });
});
