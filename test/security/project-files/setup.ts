// A home with files that must not change or leave, and projects in which tools replace skein's files.
import { chownSync, lchownSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { persons, readableProgram, readableSkein, type Person } from "../escape/person.ts";
import { temporaryHome, vendorEnv, type RunResult, type TemporaryHome } from "../../support/temporary-home.ts";

export const users = persons().filter(({ name }) => name !== "root in another's project");
export const tiers = ["namespaces", "landlock"] as const;
export type Tier = (typeof tiers)[number];
export const model = "anthropic/claude-sonnet-4-5";
export const secret = "TOPSECRET-of-the-user";

/** Files of the user, with their content. */
const protectedFiles = {
  ".bashrc": "# mine\n",
  ".ssh/authorized_keys": "ssh-rsa MINE\n",
  ".ssh/id_ed25519": `${secret}\n`,
  ".claude/agents/deploy.md": `---\nname: deploy\ndescription: ${secret}\n---\n`,
};

export type Victim = {
  skein: TemporaryHome;
  server: ModelServer;
  /** Creates a project with these files. */
  project: (name: string, files?: Record<string, string>) => string;
  /** Starts skein in a directory. The model calls `command`, if there is one, and answers `answer`. */
  run: (cwd: string, args: string[], script?: { command?: string; answer?: string }) => Promise<RunResult>;
  /** Contents of the protected files. */
  files: () => Record<string, string>;
  end: () => Promise<void>;
};

export const untouched: Record<string, string> = protectedFiles;

export function createVictim(person: Person, tier: Tier, env: Record<string, string> = {}): Victim {
  const server = startModelServer(shellScript([]));
  const holder: { program: string[] } = { program: [] };
  const skein = temporaryHome(
    { ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: tier, GIT_CONFIG_NOSYSTEM: "1", ...env },
    person.prefix,
    () => holder.program,
  );
  holder.program = readableSkein(readableProgram(person, skein.root));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  for (const [path, text] of Object.entries(protectedFiles)) write(join(skein.home, path), text);
  give(skein.root, person);
  return {
    skein,
    server,
    project: (name, files = {}) => {
      const directory = join(skein.root, "projects", name);
      mkdirSync(join(directory, ".git"), { recursive: true });
      for (const [path, text] of Object.entries(files)) write(join(directory, path), text);
      give(join(skein.root, "projects"), person);
      return directory;
    },
    run: async (cwd, args, { command, answer = "done" } = {}) => {
      server.setScript(shellScript(command === undefined ? [] : [command], answer));
      give(join(skein.root, "projects"), person);
      return skein.run(args, { cwd });
    },
    files: () => Object.fromEntries(Object.keys(protectedFiles).map((path) => [path, readFileSync(join(skein.home, path), "utf8")])),
    end: async () => {
      await server.stop();
      skein[Symbol.dispose]();
    },
  };
}

/** Gives everything below a directory to the person, except the copy of the program. */
export function give(path: string, person: Person): void {
  if (person.uid === process.getuid?.() || lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
  if (lstatSync(path).isSymbolicLink()) return lchownSync(path, person.uid, person.uid);
  chownSync(path, person.uid, person.uid);
  if (!lstatSync(path).isDirectory() || path.endsWith("/program")) return;
  for (const name of readdirSync(path)) give(join(path, name), person);
}
