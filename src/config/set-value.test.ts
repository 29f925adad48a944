import { afterAll, describe, expect, test } from "bun:test";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { loadConfig } from "./load.ts";
import { findPaths, type Paths } from "./paths.ts";
import { setConfigValue } from "./set-value.ts";
import { grantTrust, trustState } from "./trust.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-set-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

type Place = { paths: Paths; project: string; set: (key: string, value: string, scope?: "user" | "project") => Promise<{ path: string }> };

function place(user?: string): Place {
  const home = join(root, String((count += 1)));
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  const paths = findPaths({ HOME: home }, project);
  if (user !== undefined) {
    mkdirSync(dirname(paths.userConfig), { recursive: true });
    writeFileSync(paths.userConfig, user);
  }
  return { paths, project, set: (key, value, scope = "user") => setConfigValue({ paths, project, scope, key, value }) };
}

describe("config set", () => {
  test("keeps comments, layout and mode, and changes only the value", async () => {
    const { paths, set } = place('{\n  // my model\n  "model": "a/b", // here\n  "net": "off"\n}\n');
    expect(await set("model", "c/d")).toEqual({ path: paths.userConfig });
    expect(readFileSync(paths.userConfig, "utf8")).toBe('{\n  // my model\n  "model": "c/d", // here\n  "net": "off"\n}\n');
  });

  test("makes a private file for the user and an ordinary one for the project", async () => {
    const { paths, project, set } = place();
    await set("max_steps", "12");
    await set("timeout", "2h", "project");
    expect(JSON.parse(readFileSync(paths.userConfig, "utf8"))).toEqual({ max_steps: 12 });
    expect(statSync(paths.userConfig).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(project, ".skein", "config.jsonc"), "utf8"))).toEqual({ timeout: "2h" });
    expect(readdirSync(dirname(paths.userConfig))).toEqual(["config.jsonc"]);
  });

  test("writes every type so that it loads again", async () => {
    const { paths, project, set } = place("// only a comment\n");
    await set("max_budget_usd", "0.5");
    await set("skills", "off");
    await set("allow_write", "/x");
    await set("allow_write", '["/x", "~/y"]');
    await set("providers.acme.base_url", "https://a.example");
    await set("providers.acme.headers", '{"x-a":"b"}');
    const { values } = loadConfig({ project, env: {}, paths, trusted: () => false });
    expect(values).toMatchObject({ maxBudgetUsd: 0.5, skills: false, allowWrite: ["/x", join(paths.home, "y")] });
    expect(values.providers["acme"]).toMatchObject({ baseUrl: "https://a.example", headers: { "x-a": "b" } });
    expect(readFileSync(paths.userConfig, "utf8")).toStartWith("// only a comment");
  });

  test("null takes a key out, and does not make a file", async () => {
    const { paths, set } = place('{ "model": "a/b", "net": "off" }');
    await set("model", "null");
    expect(JSON.parse(readFileSync(paths.userConfig, "utf8"))).toEqual({ net: "off" });
    const empty = place();
    await empty.set("model", "null");
    expect(() => statSync(empty.paths.userConfig)).toThrow();
  });

  test("refuses what loading would refuse and leaves the file alone", async () => {
    const { paths, set } = place('{ "model": "a/b" }');
    await expect(set("modle", "x")).rejects.toThrow('unknown key "modle"');
    await expect(set("providers", "x")).rejects.toThrow('unknown key "providers"');
    await expect(set("max_steps", "many")).rejects.toThrow('"max_steps" must be a whole number above 0');
    await expect(set("providers.a.base_url", "nowhere")).rejects.toThrow("must be a URL");
    expect(readFileSync(paths.userConfig, "utf8")).toBe('{ "model": "a/b" }');
    const broken = place('{ "model" }');
    await expect(broken.set("model", "x")).rejects.toThrow(`${broken.paths.userConfig}:1: `);
  });

  test("writes through a link instead of replacing it", async () => {
    const { paths, set } = place();
    const target = join(paths.home, "dotfiles.jsonc");
    writeFileSync(target, "{}");
    mkdirSync(dirname(paths.userConfig), { recursive: true });
    symlinkSync(target, paths.userConfig);
    await set("model", "a/b");
    expect(lstatSync(paths.userConfig).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, "utf8"))).toEqual({ model: "a/b" });
  });

  test("a trusted project stays trusted, an untrusted one does not become so", async () => {
    const { paths, project, set } = place();
    await set("policy", "full", "project");
    expect(trustState(paths, project).trusted).toBe(false);
    grantTrust(paths, project);
    await set("net", "on", "project");
    expect(trustState(paths, project).trusted).toBe(true);
  });

  test("says when the file can't be written", async () => {
    const { paths, set } = place();
    writeFileSync(join(paths.home, ".config"), "in the way");
    await expect(set("model", "a/b")).rejects.toThrow(paths.userConfig);
  });
});
