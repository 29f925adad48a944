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
const settings = { policy: "workspace", sandbox: null, net: "off", netHosts: [], allowWrite: ["/out"] } as unknown as Settings;
const resolve = (flags: Partial<PolicyFlagValues>, change: Partial<Settings> = {}, level: ToolLevel = "orchestrator") =>
  resolvePolicy({ name: null, sandbox: null, net: null, allowWrite: [], addDirs: [], ...flags }, { ...settings, ...change }, level);

describe("paths in policy flags", () => {
  test("paths of flags become absolute, from the working directory or from home, and keep their links", () => {
    expect(read({ "allow-write": ["file", "~/notes"], "add-dir": ["link", "."] })).toMatchObject({
      allowWrite: [join(root, "work", "file"), join(root, "home", "notes")],
      addDirs: [join(root, "work", "link"), join(root, "work")],
    });
  });

  test("paths of flags must exist, and --add-dir needs a directory", () => {
    expect(() => read({ "allow-write": ["nothing"] })).toThrow(`--allow-write: ${join(root, "work", "nothing")} does not exist`);
    expect(() => read({ "add-dir": ["file/below"] })).toThrow("does not exist");
    expect(() => read({ "add-dir": ["file"] })).toThrow("file is not a directory");
  });

  test("--net takes on, off or hosts, and a word that is no host is refused with an example", () => {
    expect(["on", "off", "x.org, *.example.com:8080"].map((net) => read({ net }).net)).toEqual([
      { net: "on" },
      { net: "off" },
      { net: "off", netHosts: ["x.org", "*.example.com:8080"] },
    ]);
    for (const net of ["onn", "https://x.org", ",", "*"]) expect(() => read({ net })).toThrow(/--net takes on, off or hosts, not "/);
  });
});

describe("resolvePolicy", () => {
  const valid: [string, Parameters<typeof resolve>, Partial<Policy>][] = [
    ["comes from the settings without flags", [{}], { name: "workspace", sandbox: "auto", net: "off", allowWrite: ["/out"], addDirs: [] }],
    ["prefers flags to settings", [{ name: "readonly", net: { net: "on" } }, { policy: "full" }], { name: "readonly", net: "on" }],
    ["requires a sandbox if nothing may be written", [{ name: "plan" }], { sandbox: "required", allowWrite: [] }],
    ["does not require a sandbox if a flag says so", [{ name: "plan", sandbox: "auto" }], { name: "plan", sandbox: "auto" }],
    ["is readonly with tool level readonly", [{}, { policy: "workspace" }, "readonly"], { name: "readonly", sandbox: "required" }],
    ["may be plan with tool level readonly", [{ name: "plan" }, {}, "readonly"], { name: "plan" }],
    ["has the network on if it has no sandbox", [{ name: "full" }], { name: "full", net: "on", sandbox: "auto" }],
    ["has the hosts of the settings", [{}, { netHosts: ["x.org"] }], { net: "off", netHosts: ["x.org"] }],
    ["has the hosts of a flag only", [{ net: { net: "off", netHosts: ["y.org"] } }, { netHosts: ["x.org"] }], { netHosts: ["y.org"] }],
    [
      "adds the paths of flags to those of the settings",
      [{ allowWrite: ["/more"], addDirs: ["/lib"] }],
      { allowWrite: ["/out", "/more"], addDirs: ["/lib"] },
    ],
  ];
  test.each(valid)("a policy %s", (_title, args, expected) => {
    expect(resolve(...args)).toMatchObject(expected);
  });

  test("a policy has no hosts with --net off", () => {
    expect(resolve({ net: { net: "off" } }, { netHosts: ["x.org"] })).not.toHaveProperty("netHosts");
  });

  const invalid: [string, Parameters<typeof resolve>, string][] = [
    [
      "readonly tools with a policy that writes",
      [{ name: "workspace" }, {}, "readonly"],
      "--tool-level readonly excludes --policy workspace",
    ],
    ["--sandbox off with a sandboxed policy", [{ sandbox: "off" }], "--sandbox off needs --policy full"],
    ["sandbox off in the settings with a sandboxed policy", [{}, { sandbox: "off" }], "--sandbox off needs --policy full"],
    ["a write path with a readonly policy", [{ name: "readonly", allowWrite: ["/x"] }], "--allow-write excludes --policy readonly"],
    ["--net off without a sandbox", [{ name: "full", net: { net: "off" } }], "--net off needs a sandbox"],
    ["named hosts without a sandbox", [{ name: "full", net: { net: "off", netHosts: ["x.org"] } }], "--net x.org needs a sandbox"],
  ];
  test.each(invalid)("resolvePolicy refuses %s", (_title, args, message) => {
    expect(() => resolve(...args)).toThrow(message);
  });
});
