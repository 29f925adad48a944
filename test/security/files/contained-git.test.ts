// git that skein runs for itself can't leave its sandbox, whatever a tool made it do. Each attempt runs a program as git's
// alias, which is more than any file or setting of a project can achieve.
import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GitCommand } from "../../../src/files/git.ts";
import type { GitProcessRequest, GitProcessResult } from "../escape/git-process.ts";
import { persons, readableProgram, type Person } from "../escape/person.ts";

const secret = "-----BEGIN KEY OF THE TEST-----";
const roots: string[] = [];
afterAll(() => roots.forEach((root) => rmSync(root, { recursive: true, force: true })));

type Place = { root: string; home: string; project: string; repository: string; outside: string; data: string };

type Attempt = {
  title: string;
  /** A command of a shell in git's sandbox, or arguments of git itself. */
  run: (place: Place, port: number) => string | string[];
  access?: GitCommand["access"];
  repository?: "team" | "none";
  /** The file that exists if the attempt succeeded. */
  file?: (place: Place) => string;
  /** Attempts that must succeed prove that the others could. */
  mustWork?: boolean;
};

const attempts: Attempt[] = [
  { title: "git hashes a key by its absolute path", run: ({ home }) => ["hash-object", "--no-filters", join(home, ".ssh/id")] },
  { title: "git hashes a key through a link in the project", run: () => ["hash-object", "--no-filters", "keys/id"] },
  { title: "git prints a key as its configuration", run: ({ home }) => ["config", "--file", join(home, ".ssh/id"), "--list"] },
  { title: "a program prints a key", run: ({ home }) => `cat ${home}/.ssh/id` },
  { title: "a program prints a key through a link", run: ({ project }) => `cat ${project}/keys/id` },
  { title: "a program prints skein's own store", run: ({ data }) => `cat ${data}/skein.db` },
  { title: "a program prints the key of a vendor", run: () => "env; cat /proc/*/environ" },
  { title: "a program writes into the home directory", run: ({ home }) => `touch ${home}/PWNED`, file: ({ home }) => join(home, "PWNED") },
  {
    title: "a program that may write the project writes outside of it",
    access: "write",
    run: ({ outside }) => `touch ${outside}/PWNED`,
    file: ({ outside }) => join(outside, "PWNED"),
  },
  {
    title: "a program that may write the project writes through a link",
    access: "write",
    run: ({ project }) => `touch ${project}/out/PWNED`,
    file: ({ outside }) => join(outside, "PWNED"),
  },
  {
    title: "a program that may only read writes the project",
    run: ({ project }) => `touch ${project}/PWNED`,
    file: ({ project }) => join(project, "PWNED"),
  },
  {
    title: "a program that reads a clone writes the team's repository",
    repository: "none",
    run: ({ repository }) => `touch ${repository}/PWNED`,
    file: ({ repository }) => join(repository, "PWNED"),
  },
  {
    title: "a program connects to this machine",
    run: ({ outside }, port) =>
      `bash -c 'echo reached > /dev/tcp/127.0.0.1/${port}' || bash -c 'echo >/dev/udp/127.0.0.1/${port}'; ls ${outside}`,
    file: ({ root }) => join(root, "connected"),
  },
  { title: "a program reads a file of the project", run: () => "cat a.txt", mustWork: true },
  {
    title: "a program that may write the project writes it",
    access: "write",
    run: ({ project }) => `touch ${project}/allowed`,
    file: ({ project }) => join(project, "allowed"),
    mustWork: true,
  },
];

for (const person of persons())
  for (const tier of ["namespaces", "landlock"] as const)
    describe(`${person.name}, ${tier}`, () => {
      test(`git of skein can't leave its sandbox, as ${person.name} with ${tier}`, async () => {
        const place = createPlace(person);
        using server = Bun.listen({
          hostname: "127.0.0.1",
          port: 0,
          socket: { open: () => writeFileSync(join(place.root, "connected"), ""), data: () => {} },
        });
        const results = await runAll(person, tier, place, server.port);
        const succeeded = attempts.filter(({ file }, index) => {
          const { code, out } = results[index]!;
          return file === undefined ? code === 0 && (out.includes(secret) || /^[0-9a-f]{40}$/m.test(out)) : existsSync(file(place));
        });
        const titles = (list: Attempt[]) => list.map(({ title }) => title);
        expect(titles(succeeded.filter(({ mustWork }) => mustWork !== true))).toEqual([]);
        expect(titles(succeeded)).toEqual(titles(attempts.filter(({ mustWork }) => mustWork === true)));
        expect(readFileSync(join(place.home, ".ssh/id"), "utf8")).toBe(`${secret}\n`);
      }, 120_000);
    });

function createPlace(person: Person): Place {
  const root = mkdtempSync(join(tmpdir(), "skein-contained-"));
  roots.push(root);
  chmodSync(root, 0o755);
  const place = {
    root,
    home: join(root, "home"),
    project: join(root, "project"),
    repository: join(root, "repo.git"),
    outside: join(root, "outside"),
    data: join(root, "skein", "data"),
  };
  for (const directory of [join(place.home, ".ssh"), place.project, place.outside, place.data]) mkdirSync(directory, { recursive: true });
  for (const file of [join(place.home, ".ssh/id"), join(place.data, "skein.db")]) writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  writeFileSync(join(place.project, "a.txt"), `${secret}\n`);
  symlinkSync(join(place.home, ".ssh"), join(place.project, "keys"));
  symlinkSync(place.outside, join(place.project, "out"));
  Bun.spawnSync(["git", "init", "-q", "--bare", place.repository]);
  Bun.spawnSync(["chown", "-R", `${person.uid}`, root]);
  Bun.spawnSync(["chown", "-Rh", `${person.projectOwner}`, place.project]);
  return place;
}

async function runAll(person: Person, tier: string, place: Place, port: number): Promise<GitProcessResult[]> {
  const program = readableProgram(person, place.root);
  const bun = [program.bun, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null"];
  const commands = attempts.map(({ run, access = "read", repository = "team" }): GitCommand => {
    const action = run(place, port);
    const args = typeof action === "string" ? ["-c", `alias.attempt=!${action}`, "attempt"] : action;
    const env = { GIT_DIR: place.repository, GIT_WORK_TREE: place.project, LC_ALL: "C" };
    return { args, env, project: place.project, access, repository: repository === "team" ? place.repository : null };
  });
  const request: GitProcessRequest = { project: place.project, selfCommand: [...bun, program.main], commands };
  const child = Bun.spawn([...person.prefix, ...bun, join(program.escape, "git-process.ts"), JSON.stringify(request)], {
    cwd: "/",
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: place.home,
      SKEIN_HOME: join(place.root, "skein"),
      SKEIN_SANDBOX_BEST: tier,
      ANTHROPIC_API_KEY: secret,
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(err);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as GitProcessResult);
}
