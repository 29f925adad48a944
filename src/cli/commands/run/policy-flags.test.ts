import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Settings } from "../../../protocol/api/api.ts";
import type { Policy, ToolLevel } from "../../../protocol/api/policy.ts";
import { resolvePolicy, readPolicyFlags, type PolicyFlagValues } from "./policy-flags.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-policy-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, "work"));
mkdirSync(join(root, "home", "notes"), { recursive: true });
writeFileSync(join(root, "work", "file"), "");
symlinkSync(join(root, "home", "notes"), join(root, "work", "link"));

const read = (flags: Record<string, string | string[]>) =>
  readPolicyFlags({ positionals: [], flags }, { cwd: join(root, "work"), home: join(root, "home") });
const settings = { policy: "workspace", sandbox: null, net: "off", allowWrite: ["/out"] } as unknown as Settings;
const made = (wish: Partial<PolicyFlagValues>, change: Partial<Settings> = {}, level: ToolLevel = "orchestrator") =>
  resolvePolicy({ name: null, sandbox: null, net: null, allowWrite: [], addDirs: [], ...wish }, { ...settings, ...change }, level);

describe("the paths of a policy", () => {
  test("are absolute and real, from the directory or from home", () => {
    expect(read({ "allow-write": ["file", "~/notes"], "add-dir": ["link", "."] })).toMatchObject({
      allowWrite: [join(root, "work", "file"), join(root, "home", "notes")],
      addDirs: [join(root, "home", "notes"), join(root, "work")],
    });
  });

  test("must exist, and what is added must be a directory", () => {
    expect(() => read({ "allow-write": ["nothing"] })).toThrow(`--allow-write: ${join(root, "work", "nothing")} does not exist`);
    expect(() => read({ "add-dir": ["file/below"] })).toThrow("does not exist");
    expect(() => read({ "add-dir": ["file"] })).toThrow("file is no directory");
  });
});

describe("a policy", () => {
  const rows: [string, Parameters<typeof made>, Partial<Policy>][] = [
    ["is the settings' when no flag is given", [{}], { name: "workspace", sandbox: "auto", net: "off", allowWrite: ["/out"], addDirs: [] }],
    ["takes flags over settings", [{ name: "readonly", net: "on" }, { policy: "full" }], { name: "readonly", net: "on" }],
    ["must be enforced where nothing may be written", [{ name: "plan" }], { sandbox: "required", allowWrite: [] }],
    ["may do without walls when that is said", [{ name: "plan", sandbox: "auto" }], { name: "plan", sandbox: "auto" }],
    ["is readonly with the tools of that level", [{}, { policy: "workspace" }, "readonly"], { name: "readonly", sandbox: "required" }],
    ["is plan with them when that is said", [{ name: "plan" }, {}, "readonly"], { name: "plan" }],
    ["has the network on when it has no walls", [{ name: "full" }], { name: "full", net: "on", sandbox: "auto" }],
    [
      "adds paths to those of the settings",
      [{ allowWrite: ["/more"], addDirs: ["/lib"] }],
      { allowWrite: ["/out", "/more"], addDirs: ["/lib"] },
    ],
  ];
  test.each(rows)("%s", (_title, given, wanted) => {
    expect(made(...given)).toMatchObject(wanted);
  });

  const wrong: [string, Parameters<typeof made>, string][] = [
    [
      "readonly tools and a policy that writes",
      [{ name: "workspace" }, {}, "readonly"],
      "--tool-level readonly excludes --policy workspace",
    ],
    ["no sandbox and walls", [{ sandbox: "off" }], "--sandbox off needs --policy full"],
    ["no sandbox in the settings and walls", [{}, { sandbox: "off" }], "--sandbox off needs --policy full"],
    [
      "a path to write where nothing may be written",
      [{ name: "readonly", allowWrite: ["/x"] }],
      "--allow-write excludes --policy readonly",
    ],
    ["a network that is off without walls", [{ name: "full", net: "off" }], "--net off needs a sandbox"],
  ];
  test.each(wrong)("refuses %s", (_title, given, says) => {
    expect(() => made(...given)).toThrow(says);
  });
});
