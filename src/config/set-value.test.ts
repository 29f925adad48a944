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

type Setup = { paths: Paths; project: string; set: (key: string, value: string, scope?: "user" | "project") => Promise<{ path: string }> };

function createSetup(user?: string): Setup {
  const home = join(root, String((count += 1)));
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  const paths = findPaths({ HOME: home }, project);
  if (user !== undefined) {
    mkdirSync(dirname(paths.userConfig), { recursive: true });
    writeFileSync(paths.userConfig, user);
  }
  return { paths, project, set: (key, value, scope = "user") => setConfigValue({ paths, project, scope, key, value, check: () => {} }) };
}

describe("config set", () => {
  test("config set keeps comments, layout and mode, and changes only the value", async () => {
    const { paths, set } = createSetup('{\n  // my model\n  "model": "a/b", // here\n  "net": "off"\n}\n');
    expect(await set("model", "c/d")).toEqual({ path: paths.userConfig });
    expect(readFileSync(paths.userConfig, "utf8")).toBe('{\n  // my model\n  "model": "c/d", // here\n  "net": "off"\n}\n');
  });

  test("config set creates a private file for the user and an ordinary one for the project", async () => {
    const { paths, project, set } = createSetup();
    await set("max_steps", "12");
    await set("timeout", "2h", "project");
    expect(JSON.parse(readFileSync(paths.userConfig, "utf8"))).toEqual({ max_steps: 12 });
    expect(statSync(paths.userConfig).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(project, ".skein", "config.jsonc"), "utf8"))).toEqual({ timeout: "2h" });
    expect(readdirSync(dirname(paths.userConfig))).toEqual(["config.jsonc"]);
  });

  test("config set writes every type so that it can be loaded", async () => {
    const { paths, project, set } = createSetup("// only a comment\n");
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

  test("config set with null removes a key and creates no file", async () => {
    const { paths, set } = createSetup('{ "model": "a/b", "net": "off" }');
    await set("model", "null");
    expect(JSON.parse(readFileSync(paths.userConfig, "utf8"))).toEqual({ net: "off" });
    const empty = createSetup();
    await empty.set("model", "null");
    expect(() => statSync(empty.paths.userConfig)).toThrow();
  });

  test("config set refuses invalid keys and values, and does not change the file", async () => {
    const { paths, set } = createSetup('{ "model": "a/b" }');
    await expect(set("modle", "x")).rejects.toThrow('unknown key "modle"');
    await expect(set("providers", "x")).rejects.toThrow('unknown key "providers"');
    await expect(set("max_steps", "many")).rejects.toThrow('"max_steps" must be a whole number above 0');
    await expect(set("providers.a.base_url", "nowhere")).rejects.toThrow("must be a URL");
    expect(readFileSync(paths.userConfig, "utf8")).toBe('{ "model": "a/b" }');
    const broken = createSetup('{ "model" }');
    await expect(broken.set("model", "x")).rejects.toThrow(`${broken.paths.userConfig}:1: `);
  });

  test("config set writes to the target of a link and keeps the link", async () => {
    const { paths, set } = createSetup();
    const target = join(paths.home, "dotfiles.jsonc");
    writeFileSync(target, "{}");
    mkdirSync(dirname(paths.userConfig), { recursive: true });
    symlinkSync(target, paths.userConfig);
    await set("model", "a/b");
    expect(lstatSync(paths.userConfig).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(target, "utf8"))).toEqual({ model: "a/b" });
  });

  test("config set keeps a trusted project trusted, and an untrusted one untrusted", async () => {
    const { paths, project, set } = createSetup();
    await set("policy", "full", "project");
    expect(trustState(paths, project).trusted).toBe(false);
    grantTrust(paths, project);
    await set("net", "on", "project");
    expect(trustState(paths, project).trusted).toBe(true);
  });

  test("config set refuses a project's file that leads out of the project", async () => {
    const { paths, project, set } = createSetup();
    const outside = join(paths.home, "outside.jsonc");
    writeFileSync(outside, "{}");
    mkdirSync(join(project, ".skein"));
    symlinkSync(outside, join(project, ".skein", "config.jsonc"));
    await expect(set("net", "off", "project")).rejects.toThrow("it leads out of");
    expect(readFileSync(outside, "utf8")).toBe("{}");
  });

  test("config set names a file that can't be written", async () => {
    const { paths, set } = createSetup();
    writeFileSync(join(paths.home, ".config"), "a file");
    await expect(set("model", "a/b")).rejects.toThrow(paths.userConfig);
  });
});
