import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installNativeLauncher } from "./native/native-launcher.ts";
import { probeSandbox } from "../probe.ts";
import { type SandboxSupport, sandboxCommand } from "../sandbox-command.ts";
import type { PathRule } from "../rules.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-launch-")));
const self = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "../../main.ts")];
const path = process.env["PATH"] ?? "";
/** This machine with each tier and each launcher. */
const machines: SandboxSupport[] = [];

beforeAll(async () => {
  const programs = { path, untrusted: [] };
  for (const nativeLauncher of [installNativeLauncher(root), null]) {
    for (const best of ["namespaces", "landlock"] as const) {
      const machine = await probeSandbox({ selfCommand: self, programs, nativeLauncher, best });
      expect({ best, why: machine.why, launcher: machine.nativeLauncher }).toMatchObject({ launcher: nativeLauncher });
      if (!machines.some((other) => nameOf(other) === nameOf(machine))) machines.push(machine);
    }
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function nameOf({ tier, nativeLauncher }: SandboxSupport): string {
  return `${tier}-${nativeLauncher === null ? "js" : "native"}`;
}

/** What is there to be written, and what is not. */
function places(name: string) {
  const at = (part: string) => join(root, name, part);
  for (const part of ["project", "outside", "temp", "copies"]) mkdirSync(at(part), { recursive: true });
  writeFileSync(at("outside/file"), "untouched\n");
  return at;
}

async function launch(machine: SandboxSupport, at: (part: string) => string, more: PathRule[], script: string) {
  const rules: PathRule[] = [{ path: "/", access: "read" }, { path: at("temp"), access: "write" }, ...more];
  const sandboxRules = {
    rules,
    net: "off" as const,
    unixSockets: false,
    temp: at("temp"),
    copies: at("copies"),
    maxProcesses: 256,
    keepsOwnerRights: false,
    sessionTag: { session: "s-1", nesting: false },
  };
  const { command, env } = sandboxCommand({
    command: ["/bin/sh", "-c", script],
    cwd: at("temp"),
    rules: sandboxRules,
    support: machine,
    selfCommand: self,
  });
  const child = Bun.spawn(command, { env: { PATH: path, SEEN: "kept", ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { out, err, code };
}

describe("the launcher", () => {
  test("this machine has both launchers, and the tests below use both", () => {
    expect(machines.map(nameOf).filter((name) => name.endsWith("-native"))).not.toBeEmpty();
    expect(machines.map(nameOf).filter((name) => name.endsWith("-js"))).not.toBeEmpty();
  });

  test("the launcher executes the program with its environment, directory and exit code", async () => {
    for (const machine of machines) {
      const at = places(`becomes-${nameOf(machine)}`);
      expect(await launch(machine, at, [], 'echo "$SEEN $PWD$SKEIN_LAUNCH"; exit 7')).toEqual({
        out: `kept ${at("temp")}\n`,
        err: "",
        code: 7,
      });
    }
  });

  test("a link placed into a path after the rules were made gives no access to its target", async () => {
    for (const machine of machines) {
      const at = places(`link-${nameOf(machine)}`);
      symlinkSync(at("outside"), at("project/sub"));
      mkdirSync(at("outside/deep"));
      for (const late of [at("project/sub"), at("project/sub/deep")]) {
        const { out } = await launch(
          machine,
          at,
          [{ path: late, access: "write" }],
          `echo bad >"${at("outside/file")}"; echo bad >"${at("outside/deep/new")}"; echo done`,
        );
        expect(["", "done\n"]).toContain(out);
        expect(readFileSync(at("outside/file"), "utf8")).toBe("untouched\n");
        expect(await Bun.file(at("outside/deep/new")).exists()).toBe(false);
      }
    }
  });

  test("the launcher starts nothing if a restriction can't be applied, and names it", async () => {
    for (const machine of machines.filter(({ tier }) => tier === "namespaces")) {
      const at = places(`missing-${nameOf(machine)}`);
      const { out, err, code } = await launch(machine, at, [{ path: at("not-there"), access: "write" }], "echo started");
      expect({ out, code }).toEqual({ out: "", code: 125 });
      expect(err).toContain(`can't open ${at("not-there")}: ENOENT`);
    }
  });

  test("a sandboxed process sees its session and can't change the tag", async () => {
    const tries = ["rm -f /dev/skein", "mv /dev/skein /dev/other", "chmod 666 /dev/skein", "echo session s-2 nesting >/dev/skein"];
    for (const machine of machines.filter(({ tier }) => tier === "namespaces")) {
      const { out } = await launch(machine, places(`mark-${nameOf(machine)}`), [], `${tries.join("; ")}; cat /dev/skein`);
      expect(out).toBe("session s-1");
    }
  });

  test("the launcher reports a program that can't be started", async () => {
    for (const machine of machines) {
      const at = places(`program-${nameOf(machine)}`);
      const rules = {
        rules: [{ path: "/", access: "read" as const }],
        net: "off" as const,
        unixSockets: false,
        temp: at("temp"),
        copies: at("copies"),
        maxProcesses: 9,
        keepsOwnerRights: false,
      };
      const { command, env } = sandboxCommand({ command: [at("nothing")], cwd: root, rules, support: machine, selfCommand: self });
      const { exitCode, stderr } = Bun.spawnSync(command, { env: { PATH: path, ...env } });
      expect(exitCode).toBe(125);
      expect(stderr.toString()).toContain(`can't start ${at("nothing")}: ENOENT`);
    }
  });
});
