// The files of fleet sessions as a chain of packs in the database. Each pack is written under the session's lease, so that a
// worker that was replaced can't add one. A checkpoint runs behind the turn; only the latest state of a session waits.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createFilePack, filesLeftOut, isObjectId, receiveFilePack, type FilePack } from "../../files/packs/file-packs.ts";
import { tryGit, type GitRunner, type ShadowRepository } from "../../files/git.ts";
import { shadowRepository } from "../../files/snapshots/shadow.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import type { Lease } from "../../store/store.ts";
import type { FileStateHooks } from "./mapped-store.ts";
import { rootOf, sharedPath, type PathMap } from "./fleet-paths.ts";

export type FileParts = { git: GitRunner; snapshots: Snapshots; filesRoot: string };

export type CheckpointOptions = { db: PgDb; files: FileParts; paths: PathMap; warn: (message: string) => void };

/** The newest pack of a session; `recorded` is the state that it was made from, which may also have big files. */
type Latest = { n: number; commit: string; recorded: string };
type PackRow = { n: number; commit: string; base: string | null; tree: string; recorded: string };

export class Checkpoints {
  readonly #options: CheckpointOptions;
  readonly #latest = new Map<string, Latest>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, { lease: Lease; project: string; tree: string }>();

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** A failure at the end of a turn is thrown; one before it is a warning, and the next checkpoint tries again. */
  hooks(): FileStateHooks {
    return {
      onState: (lease, project, tree) => void this.#queue(lease, project, tree).catch((error: unknown) => this.#warn(project, error)),
      onEnd: (lease, project, tree) => this.#queue(lease, project, tree),
    };
  }

  /** Stores the files of a project for a session that is about to be sent. Returns the paths that are too large for a pack. */
  async send(root: string, project: string, tree: string): Promise<string[]> {
    const shadow = this.#shadow(project);
    const pack = await createFilePack(shadow, { tree, base: null, message: "files as sent" });
    await this.#insert(root, null, { n: 1, recorded: tree, pack });
    return filesLeftOut(shadow, tree);
  }

  /** Puts the files of a session's latest checkpoint into its directory here. Returns the directory. */
  async restore(root: string, project: string): Promise<string> {
    const { db, files } = this.#options;
    const packs = await readPacks(db, root);
    const latest = packs.at(-1);
    if (latest === undefined) throw new Fault("file-unreadable", `the fleet has no files of session ${root}`);
    const isOwn = this.#latest.get(root)?.n === latest.n && existsSync(project);
    mkdirSync(join(project, ".skein"), { recursive: true, mode: 0o700 });
    const shadow = this.#shadow(project);
    await fetchPacks(db, shadow, root, packs);
    if (!isOwn) {
      const now = await files.snapshots.take(project);
      if (now === null) throw new Fault("file-unwritable", `the files of ${project} can't be recorded here`);
      const { to } = await files.snapshots.planRestore(project, now, latest.tree);
      if (to !== now) await files.snapshots.restore(project, now, to);
    }
    this.#latest.set(root, { n: latest.n, commit: latest.commit, recorded: latest.recorded });
    return project;
  }

  /** The state of the files that another machine would get. */
  recorded(root: string): string | null {
    return this.#latest.get(root)?.recorded ?? null;
  }

  /** The state of the files in a directory here; null if they can't be recorded. */
  current(project: string): Promise<string | null> {
    return this.#options.files.snapshots.take(project);
  }

  #queue(lease: Lease, project: string, tree: string): Promise<void> {
    const path = this.#options.paths.toShared(project);
    const root = rootOf(path);
    // A worktree of a race or a team stays on this machine until it is merged.
    if (root === null || path !== sharedPath(root)) return Promise.resolve();
    this.#waiting.set(root, { lease, project, tree });
    const running = (this.#running.get(root) ?? Promise.resolve()).catch(() => {}).then(() => this.#store(root));
    this.#running.set(root, running);
    return running;
  }

  async #store(root: string): Promise<void> {
    const next = this.#waiting.get(root);
    this.#waiting.delete(root);
    const latest = this.#latest.get(root);
    if (next === undefined || latest === undefined || latest.recorded === next.tree) return;
    const shadow = this.#shadow(next.project);
    const pack = await createFilePack(shadow, { tree: next.tree, base: latest.commit, message: `files of session ${next.lease.session}` });
    await this.#insert(root, next.lease, { n: latest.n + 1, recorded: next.tree, pack });
    this.#latest.set(root, { n: latest.n + 1, commit: pack.commit, recorded: next.tree });
  }

  async #insert(root: string, lease: Lease | null, { n, recorded, pack }: { n: number; recorded: string; pack: FilePack }): Promise<void> {
    const fence = lease === null ? "select 1" : "select skein.require_lease($8::text, $9::bigint)";
    const epoch = lease?.epoch ?? 0;
    await this.#options.db.run(
      `with held as (${fence}) insert into skein.packs (session, n, epoch, commit_id, base, tree, recorded, bytes)
      select $1::text, $2::int, ${epoch}, $3::text, $4::text, $5::text, $6::text, $7::bytea from held on conflict do nothing`,
      root,
      n,
      pack.commit,
      pack.base,
      pack.tree,
      recorded,
      pack.bytes,
      ...(lease === null ? [] : [lease.session, lease.epoch]),
    );
    const [stored] = await readPacks(this.#options.db, root, n);
    if (stored?.commit !== pack.commit) throw new Fault("lease-lost", `another worker has stored files of session ${root}`);
  }

  #shadow(project: string): ShadowRepository {
    return shadowRepository({ root: this.#options.files.filesRoot, git: this.#options.files.git }, project);
  }

  #warn(project: string, error: unknown): void {
    this.#options.warn(`the files of ${project} were not stored for other machines: ${messageOf(error)}`);
  }
}

/** Another machine may have written the rows, so their ids must be ids: git takes other texts as options or names. */
export async function readPacks(db: PgDb, root: string, from = 1): Promise<PackRow[]> {
  const rows = await db.rows<PackRow>(
    `select n, commit_id as commit, base, tree, recorded from skein.packs where session = $1::text and n >= $2::int order by n`,
    root,
    from,
  );
  for (const { n, commit, base, tree, recorded } of rows)
    for (const id of [commit, tree, recorded, ...(base === null ? [] : [base])])
      if (!isObjectId(id)) throw new Fault("file-unreadable", `pack ${n} of session ${root} names no object`);
  return rows;
}

/** Receives the packs that this machine does not have yet. Throws if a pack names another tree than its commit has. */
export async function fetchPacks(db: PgDb, shadow: ShadowRepository, root: string, packs: readonly PackRow[]): Promise<void> {
  for (const pack of packs) {
    const stored = existsSync(join(shadow.dir, "HEAD"))
      ? await tryGit(shadow, ["rev-parse", "--verify", "--quiet", `${pack.commit}^{tree}`])
      : null;
    if (stored?.code === 0) {
      if (stored.out.toString().trim() !== pack.tree)
        throw new Fault("file-unreadable", `pack ${pack.n} of session ${root} names another tree than its commit has`);
      continue;
    }
    const bytes = await db.bytes("select bytes from skein.packs where session = $1::text and n = $2::int", root, pack.n);
    if (bytes === null) throw new Fault("file-unreadable", `pack ${pack.n} of session ${root} is gone`);
    await receiveFilePack(shadow, { ...pack, bytes });
  }
}
