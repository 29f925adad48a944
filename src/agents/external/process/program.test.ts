// Installed programs as package managers leave them: which package they belong to, and which version that is.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { agentProgram, askVersion, packageOf, readProgram, refusalText } from "./program.ts";

let root = "";
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-program-")));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string, mode = 0o644): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

function link(path: string, target: string): string {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
  return join(root, path);
}

const trusted = (path: string) => ({ path, isTrusted: true });

describe("the version of a program", () => {
  test("the version comes from the package of the linked file", () => {
    write("lib/node_modules/@acme/agent/package.json", '{ "version": "1.2.3" }');
    const file = link("bin/agent", write("lib/node_modules/@acme/agent/dist/cli.js", "", 0o755));
    expect(readProgram(trusted(file))).toMatchObject({ path: file, version: "1.2.3" });
    expect(packageOf(file)).toBe(join(root, "lib/node_modules/@acme/agent"));
  });

  test("the platform is removed from the version of a platform package", () => {
    write("node_modules/agent-linux-x64/package.json", '{ "version": "0.166.0-linux-x64" }');
    expect(readProgram(trusted(write("node_modules/agent-linux-x64/bin/agent", "", 0o755))).version).toBe("0.166.0");
  });

  test("the version comes from an unpacked package that names the program", () => {
    write("opt/agent/package.json", '{ "version": "2.0.0-beta.1", "bin": { "agent": "dist/agent.js" } }');
    expect(readProgram(trusted(write("opt/agent/dist/agent.js", "", 0o755))).version).toBe("2.0.0-beta.1");
  });

  test("the version of a project around the program is ignored", () => {
    write("project/package.json", '{ "version": "9.9.9" }');
    const file = write("project/tools/bin/agent", "", 0o755);
    expect(readProgram(trusted(file)).version).toBeNull();
    expect(packageOf(file)).toBe(dirname(file));
  });

  test("--version gives the version, and output without a version gives none", async () => {
    const env = { PATH: "/usr/bin:/bin" };
    const options = { env, search: { path: env.PATH, untrusted: [] }, signal: new AbortController().signal };
    const good = write("good", '#!/bin/sh\necho "agent $1 4.5.6"\n', 0o755);
    const bad = write("bad", "#!/bin/sh\necho oops; exit 3\n", 0o755);
    expect(await askVersion(good, options)).toBe("agent --version 4.5.6\n");
    expect(await askVersion(bad, options)).toBeNull();
    expect(await askVersion(join(root, "none"), options)).toBeNull();
  });
});

test("a program that only a refused place has is used if the configuration names its absolute path, and never outside", () => {
  const refused = { path: "/project/bin/agent", reason: "it is in /project, where tools can write" };
  expect(agentProgram("agent", { path: "/usr/bin/agent", refused })).toEqual({ path: "/usr/bin/agent", isTrusted: true });
  expect(agentProgram("agent", { path: null, refused })).toBeNull();
  expect(agentProgram("/project/bin/agent", { path: null, refused })).toEqual({ path: "/project/bin/agent", isTrusted: false });
  expect(agentProgram("/project/bin/agent", { path: null, refused: null })).toBeNull();
  expect(refusalText({ path: null, refused })).toBe("/project/bin/agent is found but not used: it is in /project, where tools can write");
});

test("no file beside a program that tools can replace is read for its version", () => {
  write("opt/agent/package.json", '{ "version": "2.0.0", "bin": { "agent": "agent.js" } }');
  expect(readProgram({ path: write("opt/agent/agent.js", "", 0o755), isTrusted: false }).version).toBeNull();
});
