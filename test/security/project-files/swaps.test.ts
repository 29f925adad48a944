// Another process exchanges a file of the project with a link or with another content, all the time. skein reads these
// files in this process, so that thousands of reads meet the exchange.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readContextFiles } from "../../../src/agents/native/request/context-files.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { findPaths } from "../../../src/config/paths.ts";
import { grantTrust, trustState } from "../../../src/config/trust.ts";
import { scanRoles } from "../../../src/roles/scan-roles.ts";
import { defaultPolicy } from "../../../src/protocol/api/policy.ts";
import { createSandboxRules } from "../../../src/sandbox/rules.ts";
import { scanSkills } from "../../../src/skills/scan-skills.ts";

const secret = "TOPSECRET-of-the-user";
let root = "";
let project = "";
let swapper: ReturnType<typeof Bun.spawn> | null = null;

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-swap-")));
  project = join(root, "home", "project");
  for (const directory of [".skein/roles", ".claude/skills/x"]) mkdirSync(join(project, directory), { recursive: true });
  writeFileSync(join(root, "home", "secret.md"), `---\nname: x\ndescription: ${secret}\n---\n${secret}\n`);
});
afterEach(async () => {
  swapper?.kill();
  await swapper?.exited;
  rmSync(root, { recursive: true, force: true });
});

/** Exchanges two names until it is killed. Resolves after the first exchange. */
async function exchange(first: string, second: string): Promise<void> {
  const script = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
a, b = (os.fsencode(name) for name in sys.argv[1:])
def swap():
    if libc.syscall({"x86_64": 316, "aarch64": 276}[os.uname().machine], -100, a, -100, b, 2) != 0: raise OSError(ctypes.get_errno())
swap()
print("swapped", flush=True)
while True: swap()
`;
  const child = Bun.spawn(["python3", "-c", script, first, second], { stdout: "pipe", stderr: "inherit" });
  swapper = child;
  await child.stdout.getReader().read();
}

/** The different results of many reads. */
function readOften(read: () => string, times = 2_000): Set<string> {
  const seen = new Set<string>();
  for (let count = 0; count < times; count += 1) seen.add(read());
  return seen;
}

test("the text behind a link that is exchanged with AGENTS.md is never read", async () => {
  const file = join(project, "AGENTS.md");
  writeFileSync(file, "instructions");
  symlinkSync(join(root, "home", "secret.md"), `${file}.link`);
  await exchange(file, `${file}.link`);
  const seen = readOften(() => JSON.stringify(readContextFiles(project, project, join(root, "config"))));
  expect([...seen].filter((text) => text.includes(secret))).toEqual([]);
  expect([...seen].some((text) => text.includes("instructions"))).toBe(true);
});

test("the text behind a directory that is exchanged with a link is never read as a skill or a role", async () => {
  const trusted = () => false;
  const home = join(root, "home");
  mkdirSync(join(home, "theirs"));
  writeFileSync(join(home, "theirs", "SKILL.md"), `---\nname: x\ndescription: ${secret}\n---\n`);
  writeFileSync(join(project, ".claude/skills/x/SKILL.md"), "---\nname: x\ndescription: plain\n---\n");
  symlinkSync(join(home, "theirs"), join(project, "link"));
  await exchange(join(project, ".claude/skills/x"), join(project, "link"));
  const options = { directory: project, project, home, configDir: join(root, "config"), trusted: false };
  const seen = readOften(() => JSON.stringify(scanSkills(options).skills));
  swapper?.kill();
  writeFileSync(join(project, ".skein/roles/x.md"), "---\nname: x\ndescription: plain\n---\n");
  symlinkSync(join(home, "secret.md"), join(project, "role-link"));
  await exchange(join(project, ".skein/roles/x.md"), join(project, "role-link"));
  for (const text of readOften(() => JSON.stringify(scanRoles({ ...options, trusted }).roles))) seen.add(text);
  expect([...seen].filter((text) => text.includes(secret))).toEqual([]);
  expect([...seen].some((text) => text.includes("plain"))).toBe(true);
});

test("a config that is exchanged with a trusted one never widens rights", async () => {
  const file = join(project, ".skein", "config.jsonc");
  const paths = findPaths({ HOME: join(root, "home") }, project);
  writeFileSync(file, '{"model": "a/trusted", "net": "on"}');
  writeFileSync(join(project, "evil.jsonc"), '{"model": "a/evil", "policy": "full"}');
  grantTrust(paths, project);
  await exchange(file, join(project, "evil.jsonc"));
  const seen = readOften(() => {
    const { values } = loadConfig({ project, env: {}, paths, trusted: (files) => trustState(paths, project, files).trusted });
    return `${values.model} ${values.policy} ${values.net}`;
  });
  expect([...seen].filter((text) => text.includes("full"))).toEqual([]);
  expect(seen).toContain("a/trusted workspace on");
});

/** Paths that a tool exchanges with a link to the user's keys, while the next sandbox is prepared. */
const exchangedPaths: Record<string, { path: string; files: Record<string, string> }> = {
  "the plan": { path: ".skein/plan.md", files: { ".skein/plan.md": "plan" } },
  "git's hooks": { path: ".git/hooks", files: { ".git/HEAD": "ref: refs/heads/main", ".git/objects/x": "", ".git/hooks/x": "" } },
  "the repository that a .git file names": {
    path: "evil",
    files: {
      ".git": "gitdir: evil/worktrees/x\n",
      "evil/worktrees/x/gitdir": "$project/.git\n",
      "evil/worktrees/x/commondir": "../..\n",
    },
  },
  "the project": { path: "", files: { x: "" } },
};

test.each(Object.entries(exchangedPaths))("no rule of a sandbox opens the keys behind a link that is exchanged with %s", async (_, row) => {
  const home = join(root, "home");
  const keys = join(home, ".ssh");
  mkdirSync(keys);
  writeFileSync(join(keys, "id"), secret);
  for (const [path, text] of Object.entries(row.files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text.replace("$project", project));
  }
  const link = join(root, "link");
  symlinkSync(keys, link);
  await exchange(join(project, row.path), link);
  const names = ["config", "data", "state", "cache", "temp", "copies"] as const;
  const [config, data, state, cache, temp, copies] = names.map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const paths = { project, directory: project, home, own: { config, data, state, cache }, temp, copies, isRoot: false, unixSockets: false };
  const seen = readOften(() => {
    const { rules } = createSandboxRules(defaultPolicy, paths);
    return rules
      .filter(({ path, access }) => path.startsWith(keys) && access !== "none")
      .map(({ path, access }) => `${access} ${path}`)
      .join();
  }, 150);
  expect([...seen]).toEqual([""]);
});
