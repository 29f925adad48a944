// Tests config, trust, init and completions.
import { describe, expect, test } from "bun:test";
import { lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Api, ConfigEntry, TrustState } from "../../../protocol/api/api.ts";
import { completions } from "./completions.ts";
import { config } from "./config.ts";
import { init } from "./init.ts";
import { trust } from "./trust.ts";
import { root, run } from "../fixtures/run-command.ts";

describe("config", () => {
  const rows: ConfigEntry[] = [
    { key: "model", value: "a/b", origin: "$SKEIN_MODEL", description: "" },
    { key: "timeout", value: 7_200_000, written: "2h", origin: "/c.jsonc", description: "" },
    { key: "allow_write", value: [], origin: "default", description: "" },
    { key: "providers.acme.api_key", value: "(set)", origin: "/c.jsonc", description: "" },
    { key: "providers.acme.headers", value: { "X-Team": "(set)" }, origin: "/c.jsonc", description: "" },
  ];
  const api = { config: { show: async () => rows } };

  test("config lists every key with value and origin", async () => {
    const { out } = await run(config, [], { api });
    expect(out).toBe(`KEY                     VALUE               ORIGIN
model                   a/b                 $SKEIN_MODEL
timeout                 2h                  /c.jsonc
allow_write             -                   default
providers.acme.api_key  (set)               /c.jsonc
providers.acme.headers  {"X-Team":"(set)"}  /c.jsonc
`);
    expect((await run(config, ["--json"], { api })).json()).toMatchObject([
      { key: "model" },
      { key: "timeout", value: 7_200_000, written: "2h" },
      {},
      {},
      { value: { "X-Team": "(set)" } },
    ]);
  });

  test("config get prints one value, or all values below a prefix", async () => {
    expect((await run(config, ["get", "timeout"], { api })).out).toBe("2h\n");
    expect((await run(config, ["get", "allow_write"], { api })).out).toBe("\n");
    expect((await run(config, ["get", "providers.acme"], { api })).out).toBe(
      'providers.acme.api_key (set)\nproviders.acme.headers {"X-Team":"(set)"}\n',
    );
    expect((await run(config, ["get", "model", "--json"], { api })).json()).toMatchObject({ key: "model", value: "a/b" });
    await expect(run(config, ["get", "modle"], { api })).rejects.toMatchObject({
      code: "usage",
      message: 'nothing is set for "modle"',
      hint: 'did you mean "model"?',
    });
  });

  test("config set changes the user's file, or the project's", async () => {
    const requests: unknown[] = [];
    const set: Api["config"]["set"] = async (params) => {
      requests.push(params);
      return { path: `/${params.scope}.jsonc` };
    };
    expect((await run(config, ["set", "model", "x/y"], { api: { config: { set } } })).out).toBe("model is set in /user.jsonc\n");
    expect((await run(config, ["set", "model", "null", "--project"], { api: { config: { set } } })).out).toBe(
      "model is no longer set in /project.jsonc\n",
    );
    expect(requests).toEqual([
      { key: "model", value: "x/y", scope: "user" },
      { key: "model", value: "null", scope: "project" },
    ]);
  });

  test("config path prints the paths, and config schema the schema", async () => {
    const paths = { user: "/u", project: "/p", config: "/c", data: "/d", state: "/s", cache: "/k" };
    const setup = { api: { config: { paths: async () => paths, schema: async () => ({ camelCase: { maxItems: 1 } }) } } };
    expect((await run(config, ["path"], setup)).out).toContain("user config     /u\n");
    expect((await run(config, ["path", "--json"], setup)).json()).toEqual(paths);
    expect((await run(config, ["schema"], setup)).json()).toEqual({ camelCase: { maxItems: 1 } });
  });

  test.each([
    [["get"], "config get needs a key"],
    [["set", "model"], "config set needs a key and a value"],
    [["get", "a", "b"], 'config get: unexpected argument "b"'],
    [["path", "x"], 'config path: unexpected argument "x"'],
    [["--project"], "--project goes with config set and edit"],
    [["unset", "x"], 'config takes get, set, edit, path, schema, not "unset"'],
  ])("config %j is refused", async (argv, message) => {
    await expect(run(config, argv, { api })).rejects.toMatchObject({ code: "usage", message });
  });
});

describe("trust", () => {
  const requests: unknown[] = [];
  const respond =
    (verb: string, state: Partial<TrustState>) =>
    async ({ directory }: { directory: string }): Promise<TrustState> => {
      requests.push([verb, directory]);
      return { directory, trusted: false, files: [".skein/config.jsonc"], ...state };
    };
  const api = {
    trust: {
      show: respond("show", { reason: "not trusted yet" }),
      grant: respond("grant", { trusted: true }),
      revoke: respond("revoke", { reason: "not trusted yet" }),
    },
  };

  test("trust grants, shows and revokes, for the project or a directory in any spelling", async () => {
    mkdirSync(join(root, "home", "x"), { recursive: true });
    const setup = { api, cwd: join(root, "home"), project: "/work/project", env: { HOME: join(root, "home") } };
    expect((await run(trust, [], setup)).out).toBe("/work/project is trusted\n  .skein/config.jsonc\n");
    expect((await run(trust, ["--show"], setup)).out).toBe("/work/project is not trusted (not trusted yet)\n  .skein/config.jsonc\n");
    for (const spelling of ["x", "./x/", "~/x", join(root, "home", "x")]) await run(trust, ["--revoke", spelling], setup);
    expect(requests).toEqual([
      ["grant", "/work/project"],
      ["show", "/work/project"],
      ...Array.from({ length: 4 }, () => ["revoke", join(root, "home", "x")]),
    ]);
    expect((await run(trust, ["--json"], setup)).json()).toEqual({
      directory: "/work/project",
      trusted: true,
      files: [".skein/config.jsonc"],
    });
  });

  test("trust says when nothing needs trust, and refuses a missing directory and two verbs", async () => {
    expect((await run(trust, [], { api: { trust: { grant: respond("grant", { files: [] }) } } })).out).toBe(
      "/work/project: nothing in this project needs trust\n",
    );
    await expect(run(trust, ["gone"], { cwd: root })).rejects.toMatchObject({
      code: "usage",
      message: `there is no directory ${join(root, "gone")}`,
    });
    await expect(run(trust, ["--show", "--revoke"])).rejects.toMatchObject({ code: "usage" });
  });
});

describe("init", () => {
  const api = { config: { schema: async () => ({ type: "object" }) } };
  const createProject = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };

  test("init creates the files once, and does not change existing files", async () => {
    const directory = createProject("init");
    const first = await run(init, [], { api, project: directory });
    expect(first.out.split("\n").filter(Boolean)).toEqual(
      [".skein/config.jsonc", ".skein/config.schema.json", ".skein/.gitignore", "AGENTS.md"].map(
        (name) => `created ${join(directory, name)}`,
      ),
    );
    expect(Bun.JSONC.parse(readFileSync(join(directory, ".skein/config.jsonc"), "utf8"))).toEqual({ $schema: "./config.schema.json" });
    expect(readFileSync(join(directory, ".skein/.gitignore"), "utf8")).toContain("sessions/\n");
    writeFileSync(join(directory, ".skein/config.jsonc"), '{ "model": "mine" }');
    writeFileSync(join(directory, "AGENTS.md"), "mine");
    const second = await run(init, [], { api, project: directory });
    expect(second.out).toEndWith("nothing to do: all files exist\n");
    expect(readFileSync(join(directory, ".skein/config.jsonc"), "utf8")).toBe('{ "model": "mine" }');
    expect(readFileSync(join(directory, "AGENTS.md"), "utf8")).toBe("mine");
    const files = (await run(init, ["--json"], { api, project: directory })).json();
    expect(files).toMatchObject({ project: directory, files: [{ path: join(directory, ".skein/config.jsonc"), made: false }, {}, {}] });
  });

  test("init creates no AGENTS.md beside a CLAUDE.md", async () => {
    const directory = createProject("claude");
    writeFileSync(join(directory, "CLAUDE.md"), "");
    await run(init, [], { api, project: directory });
    expect(readdirSync(directory).sort()).toEqual([".skein", "CLAUDE.md"]);
  });

  test("init follows no link out of the project", async () => {
    const directory = createProject("linked");
    const outside = createProject("outside");
    symlinkSync(outside, join(directory, ".skein"));
    await expect(run(init, [], { api, project: directory })).rejects.toMatchObject({
      code: "file-unwritable",
      message: `can't create ${join(directory, ".skein")}: a directory of its path is a link or a file`,
    });
    expect(readdirSync(outside)).toEqual([]);
    const other = createProject("linked-file");
    symlinkSync(join(outside, "target"), join(other, "AGENTS.md"));
    await run(init, [], { api, project: other });
    expect(readdirSync(outside)).toEqual([]);
    expect(lstatSync(join(other, "AGENTS.md")).isSymbolicLink()).toBe(true);
  });

  test("init fails with a clear error if the project can't be written", async () => {
    await expect(run(init, [], { api, project: "/proc/self/fdinfo" })).rejects.toMatchObject({ code: "file-unwritable" });
  });
});

test("completions prints the script of the given shell", async () => {
  expect((await run(completions, ["bash"])).out).toContain("complete -o filenames -F _skein skein");
  expect((await run(completions, ["fish", "--json"])).json()).toMatchObject({ shell: "fish" });
  await expect(run(completions, ["pwsh"])).rejects.toMatchObject({
    code: "usage",
    message: 'completions takes bash, zsh, fish, not "pwsh"',
  });
  await expect(run(completions, [])).rejects.toMatchObject({ code: "usage" });
});
