// The mail directories of one owner: a member or the user. Only this module reads and writes their files for skein.
// A member can write only its outbox. skein first moves a file to `taken`, where only skein writes, and never follows links.
// A session of an outer project can replace the directories at any time, so each access opens its directory without links.
import { existsSync, lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  inDirectory,
  makeDirectorySafely,
  readSafely,
  removeSafely,
  replaceTextSafely,
  UnsafePathError,
} from "../../../kit/files/safe-file.ts";
import { dropFile, dropIdOf, newDropId } from "../../../kit/files/drop-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { mailLimits, quotaExceededText, closedFileName } from "../../../protocol/team/mail.ts";

/** A file of an outbox. The name is in bytes, because it may not be UTF-8. `id` is null if the file was not written by `dropFile`. */
export type OutboxFile = { name: Buffer; id: string | null };

/** A file that was moved to `taken`. Its time `at` is unique and defines the order. */
export type ClaimedFile = { at: number; id: string };

/** A file that was written in place counts as complete after this time without a change. */
const settleMs = 300;

const overQuotaPrefix = "over-";

export class Mailbox {
  readonly owner: string;
  readonly outbox: string;
  readonly #inbox: string;
  readonly #taken: string;
  readonly #refused: string;
  /** A file that exists while the outbox is closed. */
  readonly #closedFile: string;

  constructor(directory: string, owner: string) {
    if (!/^\w[\w.-]*$/.test(owner)) throw new Fault("internal", `"${owner}" is not a name of a directory`);
    const root = join(directory, "mail", owner);
    this.owner = owner;
    this.outbox = join(root, "outbox");
    this.#inbox = join(root, "inbox", owner);
    this.#taken = join(root, "taken");
    this.#refused = join(root, "refused");
    this.#closedFile = join(root, closedFileName);
    for (const path of [this.outbox, this.#inbox, this.#taken, this.#refused]) {
      try {
        makeDirectorySafely(path);
      } catch (error) {
        throw new Fault("file-unwritable", `${path} can't be created: ${messageOf(error)}`, { cause: error });
      }
    }
    // A killed process may have left temporary files of incomplete messages.
    open(this.#inbox, (inbox) => {
      for (const name of readdirSync(inbox)) if (name.endsWith(".tmp")) rmSync(join(inbox, name), { force: true });
    });
  }

  /** Returns the files sorted by name. Files that may be incomplete are left out without `includeIncomplete`. */
  files({ includeIncomplete }: { includeIncomplete: boolean }): OutboxFile[] {
    return open(this.outbox, (outbox) => {
      const names = (readdirSync(outbox, { encoding: "buffer" }) as Buffer[])
        .filter((name) => name[0] !== 0x2e)
        .toSorted((a, b) => a.compare(b));
      const files = names.map((name) => ({ name, id: dropIdOf(name.toString("latin1")) }));
      return files.filter((file) => includeIncomplete || file.id !== null || !isFresh(pathIn(outbox, file)));
    });
  }

  /** Puts a file into the outbox, as the owner would. */
  post(id: string, text: string): void {
    open(this.outbox, (outbox) => dropFile(outbox, id, text));
  }

  /** Moves a file to `taken` with one rename, so that after a crash it is in exactly one of the two directories. */
  claim(file: OutboxFile, claim: ClaimedFile): "claimed" | "gone" | { problem: string } {
    try {
      open(this.outbox, (outbox) => open(this.#taken, (taken) => renameSync(pathIn(outbox, file), join(taken, claimName(claim)))));
      return "claimed";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : { problem: `it can't be moved: ${messageOf(error)}` };
    }
  }

  /** Returns an id for a file that can't be moved. The id is the same after a restart, unless the file has changed. */
  unmovableClaim(file: OutboxFile): ClaimedFile {
    const stat = open(this.outbox, (outbox) => lstatSync(pathIn(outbox, file), { throwIfNoEntry: false }));
    const at = Math.floor(stat?.ctimeMs ?? 0);
    return { at, id: stableMailId(`${this.owner}/${file.name.toString("latin1")} ${at}`) };
  }

  /** Files that were moved to `taken` and are not processed yet, in order. */
  claims(): ClaimedFile[] {
    const names = open(this.#taken, (taken) => readdirSync(taken)).toSorted();
    return names.flatMap((name) => {
      const [, at, id] = /^(\d{13})-([0-9a-f]{12})$/.exec(name) ?? [];
      return at === undefined || id === undefined ? [] : [{ at: Number(at), id }];
    });
  }

  /** Reads the file once: the sender may still have it open for writing. */
  readClaim(claim: ClaimedFile): { text: string } | { problem: string } {
    try {
      const bytes = readSafely(this.#claimPath(claim), { maxBytes: mailLimits.fileBytes, hasOtherNames: true });
      if (bytes === null) return { problem: "it can't be read: it is missing" };
      return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
    } catch (error) {
      return { problem: error instanceof UnsafePathError ? error.message : `it can't be read: ${messageOf(error)}` };
    }
  }

  dropClaim(claim: ClaimedFile): void {
    open(this.#taken, (taken) => rmSync(join(taken, claimName(claim)), { force: true }));
  }

  /** Moves the file to `refused`, where the user can read it. */
  moveToRefused(claim: ClaimedFile): void {
    const name = claimName(claim);
    open(this.#taken, (taken) => {
      if (lstatSync(join(taken, name), { throwIfNoEntry: false }) === undefined) return;
      open(this.#refused, (refused) => renameSync(join(taken, name), join(refused, name)));
    });
  }

  /** Writes a file that makes `skein msg` and `skein report` refuse at once. */
  close(): void {
    replaceTextSafely(this.#closedFile, quotaExceededText);
  }

  reopen(): void {
    removeSafely(this.#closedFile);
  }

  /** Moves files over the quota to `refused`. */
  refuseOverQuota(files: readonly OutboxFile[], at: number): void {
    const move = (outbox: string, refused: string, file: OutboxFile): void => {
      try {
        renameSync(pathIn(outbox, file), join(refused, `${overQuotaPrefix}${claimName({ at, id: newDropId() })}`));
      } catch {
        // A file that can't be moved stays in the outbox, which is closed.
      }
    };
    open(this.outbox, (outbox) => open(this.#refused, (refused) => files.forEach((file) => move(outbox, refused, file))));
  }

  /** Number of files that `refuseOverQuota` has moved, in all turns. */
  countOverQuota(): number {
    return open(this.#refused, (refused) => readdirSync(refused)).filter((name) => name.startsWith(overQuotaPrefix)).length;
  }

  /** Writes the file atomically, unless it exists. */
  writeToInbox(name: string, text: string): void {
    const path = join(this.#inbox, name);
    if (!existsSync(path)) replaceTextSafely(path, text);
  }

  #claimPath(claim: ClaimedFile): string {
    return join(this.#taken, claimName(claim));
  }
}

/** Names the directory in the error for a link. */
function open<Result>(path: string, act: (directory: string) => Result): Result {
  try {
    return inDirectory(path, act);
  } catch (error) {
    if (!(error instanceof UnsafePathError)) throw error;
    throw new Fault("file-unreadable", `${path} is not skein's own directory any more: ${error.message}`, { cause: error });
  }
}

function pathIn(directory: string, { name }: OutboxFile): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), name]);
}

function isFresh(path: Buffer): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs < settleMs;
}

/** Hashes `text`, so that the same text has the same id after a restart. */
export function stableMailId(text: string): string {
  return Bun.hash(text).toString(16).padStart(16, "0").slice(-12);
}

function claimName({ at, id }: ClaimedFile): string {
  return `${String(at).padStart(13, "0")}-${id}`;
}
