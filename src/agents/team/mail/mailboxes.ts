// The directories of a team's mail, and the only place that touches its files. A member can write nothing but its
// outbox; what is taken up from there is moved first to where only skein writes, and nothing in it is followed.
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

/** `shut` is a file: as long as it is there, nothing more is taken up. */
export type Mailbox = { owner: string; outbox: string; inbox: string; taken: string; refused: string; shut: string };

/** A file of an outbox. Its name is in the bytes that it has on disk. */
export type OutboxFile = { name: Buffer; id: string | null };

/** What was taken up: its place among all that was, and its id. */
export type ClaimedFile = { at: number; id: string };

/** How long a file that was not left whole by a rename must have rested. */
const settleMs = 300;

export function openMailbox(directory: string, owner: string): Mailbox {
  if (!/^\w[\w.-]*$/.test(owner)) throw new Fault("internal", `"${owner}" is no name for a directory`);
  const place = join(directory, "mail", owner);
  const box = {
    owner,
    outbox: join(place, "outbox"),
    inbox: join(place, "inbox", owner),
    taken: join(place, "taken"),
    refused: join(place, "refused"),
    shut: join(place, closedFileName),
  };
  for (const path of [box.outbox, box.inbox, box.taken, box.refused]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    if (!lstatSync(path).isDirectory()) throw new Fault("file-unwritable", `${path} is no directory`);
  }
  return box;
}

/** In the order of their names, without what may still be written. */
export function listOutbox(box: Mailbox, { evenFresh }: { evenFresh: boolean }): OutboxFile[] {
  const names = (readdirSync(box.outbox, { encoding: "buffer" }) as Buffer[])
    .filter((name) => name[0] !== 0x2e)
    .toSorted((a, b) => a.compare(b));
  const left = names.map((name) => ({ name, id: dropIdOf(name.toString("latin1")) }));
  return left.filter((one) => evenFresh || one.id !== null || !isFresh(box, one));
}

function isFresh(box: Mailbox, left: OutboxFile): boolean {
  const stat = lstatSync(pathOf(box, left), { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs < settleMs;
}

function pathOf(box: Mailbox, { name }: OutboxFile): Buffer {
  return Buffer.concat([Buffer.from(`${box.outbox}/`), name]);
}

/** One rename: whoever comes after a crash finds it either there or here. What can't be moved is told. */
export function claimFile(box: Mailbox, left: OutboxFile, as: ClaimedFile): "taken" | "gone" | { problem: string } {
  try {
    renameSync(pathOf(box, left), claimPath(box, as));
    return "taken";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : { problem: `it can't be taken up: ${messageOf(error)}` };
  }
}

export function unmovableKey(box: Mailbox, { name }: OutboxFile): string {
  return `${box.owner}/${name.toString("latin1")}`;
}

export function unmovableClaim(box: Mailbox, left: OutboxFile): ClaimedFile {
  const at = Math.floor(lstatSync(pathOf(box, left), { throwIfNoEntry: false })?.ctimeMs ?? 0);
  return { at, id: stableMailId(`${unmovableKey(box, left)} ${at}`) };
}

/** The same each time that the same thing is found. */
export function stableMailId(of: string): string {
  return Bun.hash(of).toString(16).padStart(16, "0").slice(-12);
}

/** What was taken up and not finished, in its order. */
export function listClaims(box: Mailbox): ClaimedFile[] {
  const names = readdirSync(box.taken).toSorted();
  return names.flatMap((name) => {
    const [, at, id] = /^(\d{13})-([0-9a-f]{12})$/.exec(name) ?? [];
    return at === undefined || id === undefined ? [] : [{ at: Number(at), id }];
  });
}

/** The text of it, read once: the sender may still hold the file open. */
export function readClaim(box: Mailbox, claimed: ClaimedFile): { text: string } | { problem: string } {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let fd: number | null = null;
  try {
    fd = openSync(claimPath(box, claimed), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!fstatSync(fd).isFile()) return { problem: "it is no regular file" };
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

export function dropClaim(box: Mailbox, claimed: ClaimedFile): void {
  rmSync(claimPath(box, claimed), { force: true });
}

/** Kept for a person to look at. */
export function moveToRefused(box: Mailbox, claimed: ClaimedFile): void {
  if (lstatSync(claimPath(box, claimed), { throwIfNoEntry: false }) === undefined) return;
  renameSync(claimPath(box, claimed), join(box.refused, claimName(claimed)));
}

/** For the verbs inside, which then refuse at once what would only lie there. */
export function closeOutbox(box: Mailbox): void {
  writeFileSync(box.shut, quotaExceededText, { mode: 0o600 });
}

export function reopenOutbox(box: Mailbox): void {
  rmSync(box.shut, { force: true });
}

/** What lies in the outbox of one that has ended is kept with the rest that was refused. What can't be moved stays. */
export function refuseRest(box: Mailbox, rest: readonly OutboxFile[], at: number): void {
  for (const left of rest) {
    try {
      renameSync(pathOf(box, left), join(box.refused, `${over}${claimName({ at, id: newDropId() })}`));
    } catch {
      // It is as little taken up there.
    }
  }
}

/** How many were set aside so, ever. */
export function countRefused(box: Mailbox): number {
  return readdirSync(box.refused).filter((name) => name.startsWith(over)).length;
}

const over = "over-";

/** Written once, whole. */
export function writeToInbox(box: Mailbox, name: string, text: string): void {
  const path = join(box.inbox, name);
  if (existsSync(path)) return;
  const temporary = join(box.taken, ".writing");
  writeFileSync(temporary, text, { mode: 0o600 });
  renameSync(temporary, path);
}

function claimPath(box: Mailbox, claimed: ClaimedFile): string {
  return join(box.taken, claimName(claimed));
}

function claimName({ at, id }: ClaimedFile): string {
  return `${String(at).padStart(13, "0")}-${id}`;
}
