import { afterAll, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FileReader } from "../kit/files/file-reader.ts";
import { findPaths, type Paths } from "./paths.ts";
import { grantTrust, revokeTrust, trustSources, trustState } from "./trust.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-trust-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function createProject(files: Record<string, string>): { paths: Paths; project: string; write: (path: string, text: string) => void } {
  const home = join(root, String((count += 1)));
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return { paths: findPaths({ HOME: home }, project), project, write };
}

test("a project without files that need trust is not recorded", () => {
  const { paths, project } = createProject({ "README.md": "x", ".skein/sessions/a.jsonl": "x" });
  expect(trustState(paths, project)).toEqual({
    directory: project,
    trusted: false,
    files: [],
    reason: "nothing in this project needs trust",
  });
  grantTrust(paths, project);
  expect(() => statSync(paths.state)).toThrow();
});

test("trust applies to the content: a change ends it, and undoing the change restores it", () => {
  const { paths, project, write } = createProject({
    ".skein/config.jsonc": "{}",
    ".skein/roles/a.md": "role",
    ".claude/agents/b.md": "agent",
  });
  expect(trustState(paths, project)).toMatchObject({ trusted: false, reason: "not trusted yet" });
  expect(grantTrust(paths, project)).toMatchObject({
    trusted: true,
    files: [".skein/config.jsonc", ".skein/roles/a.md", ".claude/agents/b.md"],
  });
  write(".skein/config.jsonc", "{ }");
  expect(trustState(paths, project)).toMatchObject({ trusted: false, reason: "changed since it was trusted" });
  write(".skein/config.jsonc", "{}");
  expect(trustState(paths, project).trusted).toBe(true);
  expect(revokeTrust(paths, project).trusted).toBe(false);
  expect(revokeTrust(paths, project).trusted).toBe(false);
});

test("a new file in any directory that needs trust ends the trust", () => {
  for (const source of trustSources.filter((name) => !name.endsWith(".jsonc"))) {
    const { paths, project, write } = createProject({ ".skein/config.jsonc": "{}" });
    grantTrust(paths, project);
    write(`${source}/x/SKILL.md`, "text");
    expect(trustState(paths, project).trusted).toBe(false);
  }
});

test("moving bytes from one file to another ends the trust", () => {
  const { paths, project, write } = createProject({ ".skein/roles/a": "12", ".skein/roles/b": "3" });
  grantTrust(paths, project);
  write(".skein/roles/a", "1");
  write(".skein/roles/b", "23");
  expect(trustState(paths, project).trusted).toBe(false);
});

test("trust in one directory does not apply to another with the same content", () => {
  const first = createProject({ ".skein/config.jsonc": "{}" });
  const second = createProject({ ".skein/config.jsonc": "{}" });
  grantTrust(first.paths, first.project);
  expect(trustState(first.paths, second.project).trusted).toBe(false);
});

test("the trust record is private, and a damaged one trusts nothing", () => {
  const { paths, project } = createProject({ ".skein/config.jsonc": "{}" });
  grantTrust(paths, project);
  const directory = join(paths.state, "trust");
  const names = readdirSync(directory);
  expect(names).toHaveLength(1);
  const record = join(directory, names[0] as string);
  expect(statSync(record).mode & 0o777).toBe(0o600);
  for (const text of ["", "null", '{"digest":""}', '{"digest":1}', "{"]) {
    writeFileSync(record, text);
    expect(trustState(paths, project).trusted).toBe(false);
  }
});

test("concurrent processes that grant trust lose no record", async () => {
  const projects = Array.from({ length: 6 }, () => createProject({ ".skein/config.jsonc": "{}" }));
  const state = projects[0]?.paths as Paths;
  const script = `import { grantTrust } from ${JSON.stringify(join(import.meta.dir, "trust.ts"))};
    for (let n = 0; n < 20; n += 1) grantTrust(JSON.parse(process.argv[1]), process.argv[2]);`;
  const writers = projects.map(
    ({ project }) =>
      Bun.spawn([process.execPath, "-e", script, JSON.stringify(state), project], { stdout: "ignore", stderr: "inherit" }).exited,
  );
  expect(await Promise.all(writers)).toEqual(projects.map(() => 0));
  expect(projects.map(({ project }) => trustState(state, project).trusted)).toEqual(projects.map(() => true));
  expect(readdirSync(join(state.state, "trust"))).toHaveLength(6);
});

test("a project with too many files or with a pipe can't be trusted, with a reason", () => {
  const large = createProject(Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`.skein/skills/${n}`, ""])));
  expect(trustState(large.paths, large.project)).toMatchObject({
    trusted: false,
    reason: "more than 1000 files to read before trusting them",
  });
  expect(() => grantTrust(large.paths, large.project)).toThrow("can't trust");
  const pipe = createProject({ ".skein/config.jsonc": "{}" });
  execFileSync("mkfifo", [join(pipe.project, ".skein", "roles")]);
  expect(trustState(pipe.paths, pipe.project).reason).toBe(".skein/roles is neither a file nor a directory");
});

test("trust covers the content behind links, and loops of links end", () => {
  const { paths, project, write } = createProject({ ".skein/config.jsonc": "{}", "elsewhere/SKILL.md": "one" });
  mkdirSync(join(project, ".skein", "skills"));
  symlinkSync(join(project, "elsewhere"), join(project, ".skein", "skills", "linked"));
  symlinkSync(join(project, ".skein", "skills"), join(project, ".skein", "skills", "loop"));
  symlinkSync(join(project, "nowhere"), join(project, ".skein", "skills", "dangling"));
  expect(grantTrust(paths, project)).toMatchObject({ trusted: true, files: [".skein/config.jsonc", ".skein/skills/linked/SKILL.md"] });
  write("elsewhere/SKILL.md", "two");
  expect(trustState(paths, project).trusted).toBe(false);
});

test("the bytes that were parsed decide, also if the file has its trusted content again", () => {
  const { paths, project, write } = createProject({ ".skein/config.jsonc": "{}", ".skein/roles/a.md": "role" });
  grantTrust(paths, project);
  for (const [path, text] of [
    [".skein/config.jsonc", '{"policy":"full"}'],
    [".skein/roles/new.md", "evil"],
  ] as const) {
    const files = new FileReader(project);
    write(path, text);
    expect(files.read(join(project, path), 1_000)?.toString()).toBe(text);
    if (path === ".skein/config.jsonc") write(path, "{}");
    else rmSync(join(project, path));
    expect(trustState(paths, project).trusted).toBe(true);
    expect(trustState(paths, project, files).trusted).toBe(false);
  }
});

test("trust covers the target of a link out of the project, but not its content, which is never used", () => {
  const { paths, project } = createProject({ ".skein/config.jsonc": "{}" });
  const outside = join(project, "..", "outside.md");
  writeFileSync(outside, "one");
  mkdirSync(join(project, ".skein", "roles"));
  symlinkSync(outside, join(project, ".skein", "roles", "a.md"));
  expect(grantTrust(paths, project)).toMatchObject({ trusted: true, files: [".skein/config.jsonc", ".skein/roles/a.md"] });
  writeFileSync(outside, "two");
  expect(trustState(paths, project).trusted).toBe(true);
  rmSync(join(project, ".skein", "roles", "a.md"));
  symlinkSync(paths.home, join(project, ".skein", "roles", "a.md"));
  expect(trustState(paths, project).trusted).toBe(false);
});

test("trust through a link applies to the real directory", () => {
  const { paths, project } = createProject({ ".skein/config.jsonc": "{}" });
  const link = `${project}-link`;
  symlinkSync(project, link);
  grantTrust(paths, link);
  expect(trustState(paths, project)).toMatchObject({ directory: project, trusted: true });
  expect(() => trustState(paths, `${project}-gone`)).toThrow("can't use");
});
