import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxInfo } from "../../protocol/api/policy.ts";
import { callTool, startTestExecutor } from "../fixtures/test-executor.ts";
import { fileProblem } from "./file-problem.ts";

// A home directory as it looks from inside the sandbox: hidden paths are empty or missing.
const home = realpathSync(mkdtempSync(join(tmpdir(), "sandboxed-")));
const project = join(home, "project");
mkdirSync(join(home, ".ssh"));
mkdirSync(join(home, "keys/shown"), { recursive: true });
mkdirSync(project);
writeFileSync(join(home, ".netrc"), "");
writeFileSync(join(home, "keys/shown/a.md"), "seen");
symlinkSync(join(home, ".ssh"), join(project, "link"));
symlinkSync(join(home, ".ssh/id_ed25519"), join(project, "key"));
afterAll(async () => {
  await Promise.all([executor.close(), unsandboxed.close()]);
  rmSync(home, { recursive: true });
});

const sandbox: SandboxInfo = {
  policy: "workspace",
  net: "off",
  unixSockets: false,
  writable: [project, "/tmp/private"],
  hidden: [join(home, ".ssh"), join(home, ".netrc"), join(home, "keys")],
  temp: "/tmp/private",
  maxProcesses: 100,
  maxMemoryBytes: null,
  isEnforced: true,
};
const env = { HOME: home, PATH: process.env.PATH };
const executor = startTestExecutor({ env, cwd: project, sandbox });
const unsandboxed = startTestExecutor({ env, cwd: project, sandbox: { ...sandbox, isEnforced: false } });
const call = (name: string, input: Record<string, unknown>, to = executor) => callTool(to, { name, input, cwd: project });

test("a hidden path is reported as a secret, by every path that leads to it", async () => {
  const rows: [string, Record<string, unknown>, string][] = [
    ["read", { path: "~/.ssh/id_ed25519" }, "can't read ~/.ssh/id_ed25519"],
    ["read", { path: "~/.ssh" }, "can't read ~/.ssh"],
    ["read", { path: "~/.netrc" }, "can't read ~/.netrc"],
    ["read", { path: "link/id_ed25519" }, "can't read ~/project/link/id_ed25519"],
    ["read", { path: "key" }, "can't read ~/project/key"],
    ["read", { path: "../.ssh/config" }, "can't read ~/.ssh/config"],
    ["edit", { path: "~/.netrc", old_text: "a", new_text: "b" }, "can't read ~/.netrc"],
    ["edit", { path: "~/.ssh/config", old_text: "a", new_text: "b" }, "can't read ~/.ssh/config"],
  ];
  for (const [name, input, beginning] of rows) {
    const text = `${beginning}: it is a secret, hidden by the policy`;
    expect(await call(name, input)).toEqual({ text, isError: true, denied: [{ what: "secret", text }] });
  }
});

test("without an enforced sandbox a missing file is reported as missing", async () => {
  expect((await call("read", { path: "~/.ssh/id_ed25519" }, unsandboxed)).text).toContain("does not exist");
  expect((await call("read", { path: "~/.netrc" }, unsandboxed)).text).toBe("(empty file)");
  expect((await call("read", { path: "~/.ssh" }, unsandboxed)).text).toContain("is a directory (empty)");
});

test("a readable file below a hidden directory is read", async () => {
  expect((await call("read", { path: "~/keys/shown/a.md" })).text).toBe("1\tseen");
});

test("a write that the sandbox denies names the writable paths", () => {
  const allowed = `policy workspace allows writing only ${project} and /tmp/private ($TMPDIR)`;
  const rows: [string, string, string][] = [
    ["EROFS", "/etc/x", `can't write /etc/x: ${allowed}`],
    ["EACCES", "/etc/x", `can't write /etc/x: ${allowed}`],
    ["EPERM", "/etc/none/x", `can't write /etc/none/x: ${allowed}`],
    ["EROFS", join(home, ".ssh/authorized_keys"), "can't write ~/.ssh/authorized_keys: it is a secret, hidden by the policy"],
    [
      "EROFS",
      join(project, ".git/hooks/pre-commit"),
      "can't write ~/project/.git/hooks/pre-commit: it is protected (git's hooks and config, skein's files)",
    ],
    ["EACCES", join(project, "locked"), `can't write ${project}/locked: permission denied`],
    ["ENOSPC", "/etc/x", "can't write /etc/x: no space left on the device"],
  ];
  for (const [code, path, text] of rows) expect(fileProblem({ code }, "write", path, { sandbox, home }).text).toBe(text);
  expect(fileProblem({ code: "EROFS" }, "write", "/etc/x", { sandbox: null, home }).text).toBe(
    "can't write /etc/x: the file system is read-only",
  );
});
