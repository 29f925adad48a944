// The shadow repository that stores a project's snapshots: one per project, in skein's data directory.
// It is created without `git init`, so that no template of the user gets into it.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectorySafely, replaceTextSafely } from "../../kit/files/safe-file.ts";
import type { GitRunner, ShadowRepository } from "../git.ts";

export type ShadowLocation = {
  /** `<data>/files`. */
  root: string;
  git: GitRunner;
};

export function shadowRepository(location: ShadowLocation, project: string): ShadowRepository {
  const name = new Bun.CryptoHasher("sha256").update(project).digest("hex").slice(0, 24);
  return { git: location.git, dir: join(location.root, `${name}.git`), project };
}

/** The transcripts below a project. No snapshot stores them. */
export const transcriptDirectory = "/.skein/sessions";

type FileAccess = { makeDirectory: (path: string) => void; writeText: (path: string, text: string) => void };

/** For a repository in the data directory, which may be a link of the user. */
const ownFiles: FileAccess = {
  makeDirectory: (path) => mkdirSync(path, { recursive: true, mode: 0o700 }),
  writeText: (path, text) => writeFileSync(path, text),
};

/** For a repository in a project: tools of an outer project can put links there. */
export const projectFiles: FileAccess = { makeDirectory: makeDirectorySafely, writeText: replaceTextSafely };

/** HEAD is written last: a repository with HEAD is complete. */
export function prepareShadow({ dir, project }: ShadowRepository, { makeDirectory, writeText }: FileAccess = ownFiles): void {
  if (existsSync(join(dir, "HEAD"))) return;
  for (const part of ["objects", "refs", "info"]) makeDirectory(join(dir, part));
  const caseSettings = process.platform === "darwin" ? "\tignorecase = true\n\tprecomposeunicode = true\n" : "";
  writeText(join(dir, "config"), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${caseSettings}`);
  writeText(join(dir, "info", "attributes"), rawAttributes);
  writeText(join(dir, "project"), `${project}\n`);
  // A process whose repository was removed may have written it again. The objects that it names are gone.
  rmSync(join(dir, "kept-tree.json"), { force: true });
  writeText(join(dir, "HEAD"), "ref: refs/heads/none\n");
}

/** Overrides every .gitattributes of the project: bytes are stored unchanged, and no filter is run. */
export const rawAttributes = "* -text -ident !eol !filter !working-tree-encoding !diff !merge !whitespace\n";
