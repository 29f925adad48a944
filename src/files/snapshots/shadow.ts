// Where a project's states are kept: one bare repository per project in skein's data directory, made by hand so that
// no template of the user's gets into it.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { ShadowRepository } from "../git.ts";

export type ShadowLocation = {
  /** `<data>/files`. */
  root: string;
  /** Where programs are looked for. */
  path: string;
};

export function shadowRepository(place: ShadowLocation, project: string): ShadowRepository {
  const git = Bun.which("git", { PATH: place.path });
  if (git === null || !git.startsWith("/")) throw new Fault("not-installed", "git is not installed");
  const name = new Bun.CryptoHasher("sha256").update(project).digest("hex").slice(0, 24);
  return { git, path: place.path, dir: join(place.root, `${name}.git`), project };
}

/** HEAD comes last: a repository that has one is whole. */
export function prepareShadow({ dir, project }: ShadowRepository): void {
  if (existsSync(join(dir, "HEAD"))) return;
  for (const part of ["objects", "refs", "info"]) mkdirSync(join(dir, part), { recursive: true, mode: 0o700 });
  const folds = process.platform === "darwin" ? "\tignorecase = true\n\tprecomposeunicode = true\n" : "";
  writeFileSync(join(dir, "config"), `[core]\n\trepositoryformatversion = 0\n\tbare = false\n${folds}`);
  writeFileSync(join(dir, "info", "attributes"), attributes);
  writeFileSync(join(dir, "project"), `${project}\n`);
  writeFileSync(join(dir, "HEAD"), "ref: refs/heads/none\n");
}

/** Stronger than any .gitattributes of the project: bytes are kept as they are, and nothing is called for them. */
const attributes = "* -text -ident !eol !filter !working-tree-encoding !diff !merge !whitespace\n";
