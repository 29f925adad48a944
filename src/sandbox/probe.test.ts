import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { machineKey } from "./machine-key.ts";
import { probeSandbox } from "./probe.ts";

const root = mkdtempSync(join(tmpdir(), "skein-probe-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const path = process.env["PATH"] ?? "";
const self = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "..", "main.ts")];

/** A fake launcher: `$1` is the marker, `$2` the request. */
function launcher(name: string, script: string): string[] {
  const file = join(root, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return [file];
}

describe("launchers that do not work", () => {
  const rows: [string, string, RegExp][] = [
    ["prints nothing", "exit 0", /the launcher printed nothing/],
    ["fails", "echo can not >&2; exit 125", /can not/],
    ["prints success and starts nothing", "echo sandbox works", /did not start the program/],
    ["hangs", "echo sandbox works; exec sleep 600", /did not end in time/],
    ["ends and leaves a process that holds its output", "sleep 5 & exit 0", /did not end in time/],
  ];
  test.each(rows)("a launcher that %s is not accepted", async (name, script, why) => {
    const support = await probeSandbox({
      selfCommand: launcher(name.replaceAll(" ", "-"), script),
      programs: { path, untrusted: [] },
      ...(name.includes("hangs") ? { tryMs: 300 } : {}),
    });
    expect(support.tier).toBe("none");
    expect(support.why).toMatch(why);
    expect(support.hint).toBeTruthy();
  });

  test("a launcher that starts the program without a sandbox is not accepted", async () => {
    const bare = join(root, "bare.ts");
    writeFileSync(
      bare,
      "const { command } = JSON.parse(process.env.SKEIN_LAUNCH); Bun.spawnSync(command, { stdio: ['ignore', 'inherit', 'inherit'] });",
    );
    const support = await probeSandbox({ selfCommand: [process.execPath, bare], programs: { path, untrusted: [] } });
    expect(support.tier).toBe("none");
    expect(support.why).toMatch(/wrote what is not allowed/);
  });

  test("a missing launcher is not accepted", async () => {
    expect(await probeSandbox({ selfCommand: [join(root, "nothing")], programs: { path, untrusted: [] } })).toMatchObject({ tier: "none" });
  });
});

describe("the best tier", () => {
  test("with best tier none nothing is tried, and the hint says how to get more", async () => {
    const support = await probeSandbox({ selfCommand: [join(root, "nothing")], programs: { path, untrusted: [] }, best: "none" });
    expect(support).toMatchObject({
      tier: "none",
      processes: "no",
      why: "SKEIN_SANDBOX_BEST excludes better tiers",
      hint: "unset SKEIN_SANDBOX_BEST",
    });
  });

  test("with best tier landlock it is found by trying, without a namespace", async () => {
    const support = await probeSandbox({ selfCommand: self, programs: { path, untrusted: [] }, best: "landlock" });
    expect(["landlock", "none"]).toContain(support.tier);
    expect(support.processes).toBe("no");
    expect(support.hint).toContain("SKEIN_SANDBOX_BEST");
  });

  test("without a best tier the result is the machine's tier, with a reason for a missing one", async () => {
    const support = await probeSandbox({ selfCommand: self, programs: { path, untrusted: [] } });
    if (support.tier === "namespaces") expect(support).toMatchObject({ why: null, hint: null });
    else expect(support.why).toBeTruthy();
  });
});

test("a probe leaves no files", async () => {
  const temporary = () =>
    readdirSync(tmpdir()).filter((name) => name.startsWith("skein-probe-") && existsSync(join(tmpdir(), name, "open")));
  const before = new Set(temporary());
  await probeSandbox({ selfCommand: launcher("quiet", "exit 0"), programs: { path, untrusted: [] } });
  // Other probes may run at the same time. Their files are gone when they are done.
  for (const name of temporary().filter((one) => !before.has(one))) while (existsSync(join(tmpdir(), name))) await Bun.sleep(20);
});

test("the support key changes with version, boot, rights and settings", () => {
  expect(machineKey("1")).toBe(machineKey("1"));
  expect(machineKey("1")).not.toBe(machineKey("2"));
});
