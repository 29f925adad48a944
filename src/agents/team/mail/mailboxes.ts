// The directories of a team's mail. Only this file touches the files in them. A member can write only its outbox. skein first
// moves a file to `taken`, where only skein writes, and never follows links.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { dropIdOf, newDropId } from "../../../kit/files/drop-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { mailLimits, quotaExceededText, closedFileName } from "../../../protocol/team/mail.ts";

/** `shut` is a file that exists while the outbox is closed. */
export type Mailbox = { owner: string; outbox: string; inbox: string; taken: string; refused: string; shut: string };

/** A file of an outbox. The name is kept as bytes, because it may not be UTF-8. */
export type OutboxFile = { name: Buffer; id: string | null };

/** A file that was moved to `taken`. Its time `at` is unique and gives the order. */
export type ClaimedFile = { at: number; id: string };

/** A file that was written in place counts as complete after this time without a change. */
const settleMs = 300;

export function openMailbox(directory: string, owner: string): Mailbox {
  if (!/^\w[\w.-]*$/.test(owner)) throw new Fault("internal", `"${owner}" is not a name of a directory`);
  const root = join(directory, "mail", owner);
  const box = {
    owner,
    outbox: join(root, "outbox"),
    inbox: join(root, "inbox", owner),
    taken: join(root, "taken"),
    refused: join(root, "refused"),
    shut: join(root, closedFileName),
  };
  for (const path of [box.outbox, box.inbox, box.taken, box.refused]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (!lstatSync(path).isDirectory()) throw new Fault("file-unwritable", `${path} is not a directory`);
  }
  return box;
}

/** Sorted by name. Without `evenFresh`, files that may still be written are left out. */
export function listOutbox(box: Mailbox, { evenFresh }: { evenFresh: boolean }): OutboxFile[] {
  const names = (readdirSync(box.outbox, { encoding: "buffer" }) as Buffer[])
    .filter((name) => name[0] !== 0x2e)
    .toSorted((a, b) => a.compare(b));
  const files = names.map((name) => ({ name, id: dropIdOf(name.toString("latin1")) }));
  return files.filter((file) => evenFresh || file.id !== null || !isFresh(box, file));
}

function isFresh(box: Mailbox, file: OutboxFile): boolean {
  const stat = lstatSync(pathOf(box, file), { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs < settleMs;
}

function pathOf(box: Mailbox, { name }: OutboxFile): Buffer {
  return Buffer.concat([Buffer.from(`${box.outbox}/`), name]);
}

/** One rename, so that after a crash the file is in exactly one of the two directories. */
export function claimFile(box: Mailbox, file: OutboxFile, claim: ClaimedFile): "claimed" | "gone" | { problem: string } {
  try {
    renameSync(pathOf(box, file), claimPath(box, claim));
    return "claimed";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : { problem: `it can't be moved: ${messageOf(error)}` };
  }
}

export function unmovableKey(box: Mailbox, { name }: OutboxFile): string {
  return `${box.owner}/${name.toString("latin1")}`;
}

export function unmovableClaim(box: Mailbox, file: OutboxFile): ClaimedFile {
  const at = Math.floor(lstatSync(pathOf(box, file), { throwIfNoEntry: false })?.ctimeMs ?? 0);
  return { at, id: stableMailId(`${unmovableKey(box, file)} ${at}`) };
}

/** The same id for the same text. */
export function stableMailId(text: string): string {
  return Bun.hash(text).toString(16).padStart(16, "0").slice(-12);
}

/** Files that were claimed and not finished, in order. */
export function listClaims(box: Mailbox): ClaimedFile[] {
  const names = readdirSync(box.taken).toSorted();
  return names.flatMap((name) => {
    const [, at, id] = /^(\d{13})-([0-9a-f]{12})$/.exec(name) ?? [];
    return at === undefined || id === undefined ? [] : [{ at: Number(at), id }];
  });
}

/** Reads the file once: the sender may still have it open for writing. */
export function readClaim(box: Mailbox, claim: ClaimedFile): { text: string } | { problem: string } {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number | null = null;
  try {
    fd = openSync(claimPath(box, claim), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fstatSync(fd).isFile()) return { problem: "it is not a regular file" };
    const bytes = Buffer.alloc(mailLimits.fileBytes + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read) read = readSync(fd, bytes, length, bytes.length - length, null);
    if (length > mailLimits.fileBytes) return { problem: `the file has more than ${mailLimits.fileBytes} bytes` };
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length)) };
  } catch (error) {
    const isLink = (error as NodeJS.ErrnoException).code === "ELOOP";
    return { problem: isLink ? "it is a symbolic link" : `it can't be read: ${messageOf(error)}` };
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

export function dropClaim(box: Mailbox, claim: ClaimedFile): void {
  rmSync(claimPath(box, claim), { force: true });
}

/** Keeps the file for the user. */
export function moveToRefused(box: Mailbox, claim: ClaimedFile): void {
  if (lstatSync(claimPath(box, claim), { throwIfNoEntry: false }) === undefined) return;
  renameSync(claimPath(box, claim), join(box.refused, claimName(claim)));
}

/** Tells `skein msg` and `skein report` to refuse at once. */
export function closeOutbox(box: Mailbox): void {
  writeFileSync(box.shut, quotaExceededText, { mode: 0o600 });
}

export function reopenOutbox(box: Mailbox): void {
  rmSync(box.shut, { force: true });
}

/** Moves files over the quota to `refused`. */
export function refuseFiles(box: Mailbox, files: readonly OutboxFile[], at: number): void {
  for (const file of files) {
    try {
      renameSync(pathOf(box, file), join(box.refused, `${overQuotaPrefix}${claimName({ at, id: newDropId() })}`));
    } catch {
      // A file that can't be moved stays in the outbox, which is closed.
    }
  }
}

/** Number of files over the quota so far. */
export function countOverQuota(box: Mailbox): number {
  return readdirSync(box.refused).filter((name) => name.startsWith(overQuotaPrefix)).length;
}

const overQuotaPrefix = "over-";

/** Writes the file atomically, unless it exists. */
export function writeToInbox(box: Mailbox, name: string, text: string): void {
  const path = join(box.inbox, name);
  if (existsSync(path)) return;
  const temporary = join(box.taken, ".writing");
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}

function claimPath(box: Mailbox, claim: ClaimedFile): string {
  return join(box.taken, claimName(claim));
}

function claimName({ at, id }: ClaimedFile): string {
  return `${String(at).padStart(13, "0")}-${id}`;
}
