// A user with a home and a repository, in which tools run in a sandbox and the user's own git runs outside.
import { mkdtempSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";
import { type Person, readableProgram, readableSkein } from "../escape/person.ts";
import type { Tier } from "./attacks.ts";

export type GuardWorld = AsyncDisposable & {
  home: TemporaryHome;
  project: string;
  /** A file that tools can't create, but `$plant` can if it runs outside. */
  planted: string;
  /** The tool creates `waiting`, then waits for `go`. */
  waiting: string;
  go: string;
  /** Runs a script of the user in the project. */
  outside: (script: string) => string;
  startTool: (script: string, cwd?: string, flags?: string[]) => Promise<{ code: number; text: string }>;
};

export function openWorld(person: Person, tier: Tier | "none", more: Record<string, string> = {}): GuardWorld {
  const env: Record<string, string> = { ...(tier === "landlock" ? { SKEIN_SANDBOX_BEST: tier } : {}), ...more };
  let program = skeinCommand();
  // The directory is outside of /tmp, because tools see a private copy of /tmp.
  const userHome = mkdtempSync(join(process.getuid?.() === 0 ? "/var/lib" : homedir(), "skein-guards-"));
  const home = temporaryHome({ ...env, HOME: userHome, GIT_CONFIG_NOSYSTEM: "1", ...identity }, person.prefix, () => program);
  const { root, project } = home;
  if (person.prefix.length > 0) {
    program = readableSkein(readableProgram(person, root));
    Bun.spawnSync(["chown", "-R", `${person.uid}:${person.uid}`, root, userHome]);
  }
  const [planted, waiting, go] = [join(root, "PLANTED"), join(project, "waiting"), join(project, "go")];
  const variables = { plant: `touch ${planted}`, token: "secret-of-the-user", world: root };
  const outside = (script: string): string => {
    const command = [...person.prefix, "bash", "-c", script];
    const { stdout, stderr } = Bun.spawnSync(command, { cwd: project, env: { ...home.env, ...variables } });
    return `${stdout.toString()}${stderr.toString()}`;
  };
  outside("rm -rf .git && git init -q . && git commit -q --allow-empty -m one");
  const wait = `touch ${waiting}; while [ ! -e ${go} ]; do sleep 0.05; done`;
  let count = 0;
  return {
    home,
    project,
    planted,
    waiting,
    go,
    outside,
    async startTool(script, cwd = project, flags = []) {
      const policy = tier === "none" ? ["--policy", "full", "--sandbox", "off"] : flags;
      const name = (count += 1) === 1 ? "main" : `main${count}`;
      await home.run(["new", name, "-m", "ollama/none"], { cwd });
      const exports = Object.entries({ ...variables, ...identity }).map(([key, value]) => `export ${key}='${value}'`);
      const text = [...exports, script.replaceAll("wait;", `${wait};`).replace(/wait$/, wait)].join("; ");
      const { code, out, err } = await home.run(["exec", name, text, ...policy], { cwd });
      return { code, text: out + err };
    },
    [Symbol.asyncDispose]: async () => {
      home[Symbol.dispose]();
      rmSync(userHome, { recursive: true, force: true });
    },
  };
}

const identity = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@b", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@b" };
