// The mail of a team: takes up what its members leave in their outboxes, one file at a time, and puts it before those
// it is for. Every step can be done again: after a crash, opening it goes on exactly where it was. One process at a time,
// which the lease of the team's session sees to.
import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { dropFile, newDropId } from "../../../kit/files/drop-file.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { parseMailText, parseMailValue } from "../../../protocol/team/read-mail.ts";
import type { AddressableMember } from "../../../protocol/team/address.ts";
import { messageRecord, quotaExceededText, personAddress, type RefusedMessage, type SentMessage } from "../../../protocol/team/mail.ts";
import type { Report } from "../../../protocol/team/team.ts";
import { classifyMail, deliveryNotice, type MailEntry, type MailSender } from "./classify-mail.ts";
import {
  claimFile,
  listClaims,
  countRefused,
  dropClaim,
  listOutbox,
  openMailbox,
  writeToInbox,
  readClaim,
  reopenOutbox,
  stableMailId,
  moveToRefused,
  refuseRest,
  closeOutbox,
  unmovableClaim,
  unmovableKey,
  type Mailbox,
  type ClaimedFile,
  type OutboxFile,
} from "./mailboxes.ts";
import { openMailLog } from "./mail-log.ts";
import { createMailQuota } from "./mail-quota.ts";

export type MailMember = AddressableMember & { workspace: string };

/** All are awaited, and may be called again with the same id after a crash. */
export type MailOptions = {
  /** The team's. Only skein writes there, but for `shared` and each member's outbox and workspace. */
  directory: string;
  /** The id of the team's session. */
  team: string;
  members: readonly MailMember[];
  hasEnded: (member: string) => boolean;
  onMessage: (sent: SentMessage) => Promise<void>;
  onReport: (member: string, report: Report, id: string) => Promise<void>;
  onRefused: (refused: RefusedMessage) => Promise<void>;
  /** Puts a message before a member that runs. What `waits` is offered again, until it is given by this or by `markGiven`. */
  deliver: (member: string, sent: SentMessage) => Promise<"given" | "waits">;
  warn: (message: string) => void;
  /** One of the above failed; what it was about is tried again. */
  onFault: (error: unknown) => void;
};

export type Mail = {
  add: (member: MailMember) => void;
  /** A turn of it begins: what it may leave is counted from here. */
  begin: (member: string) => void;
  /** Takes up all that lies there by now. */
  sweep: () => Promise<void>;
  /** All that a member left which has ended, also what it did not finish writing. */
  drain: (member: string) => Promise<void>;
  /** A message or report of a member (or `person`), as JSON; settles when it is taken up. Throws what would be refused. */
  post: (from: string, value: Record<string, unknown>) => Promise<MailEntry>;
  /** What a member was sent and not given yet, in order; to be marked as given once that is recorded. */
  waitingFor: (member: string) => SentMessage[];
  markGiven: (member: string, ids: readonly string[]) => void;
  close: () => Promise<void>;
};

const sweepMs = 500;
/** Of one outbox before it is the others' turn. */
const atOnce = 64;

export async function openMail(options: MailOptions): Promise<Mail> {
  const mail = new Router(options);
  try {
    await mail.sweep();
  } catch (error) {
    await mail.close();
    throw error;
  }
  mail.watch();
  return mail;
}

class Router implements Mail {
  readonly #parts: MailOptions;
  readonly #log: ReturnType<typeof openMailLog>;
  readonly #members = new Map<string, MailMember>();
  readonly #boxes = new Map<string, Mailbox>();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #shares = createMailQuota();
  /** Whose outbox is not looked into before its next turn: its share is used up. */
  readonly #shut = new Set<string>();
  /** Whose outbox is taken as it is. */
  readonly #ended = new Set<string>();
  readonly #stuck = new Set<string>();
  #clock: number;
  #timer: Timer | null = null;
  #current: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;

  constructor(options: MailOptions) {
    this.#parts = options;
    this.#log = openMailLog(options.directory, options.team, options.warn);
    this.#open(personAddress);
    for (const member of options.members) this.add(member);
    const unfinished = [...this.#boxes.values()].flatMap(listClaims);
    this.#clock = Math.max(this.#log.latest(), ...unfinished.map(({ at }) => at));
  }

  add(member: MailMember): void {
    this.#members.set(member.id, member);
    if (!this.#boxes.has(member.id)) this.#open(member.id);
  }

  #open(owner: string): void {
    const box = openMailbox(this.#parts.directory, owner);
    reopenOutbox(box);
    this.#boxes.set(owner, box);
    if (this.#timer !== null) this.#watchBox(box);
  }

  begin(member: string): void {
    this.#shares.begin(member);
    if (!this.#shut.delete(member)) return;
    const box = this.#box(member);
    reopenOutbox(box);
    if (this.#timer !== null) this.#watchBox(box);
  }

  watch(): void {
    this.#timer = setInterval(() => this.#look(), sweepMs);
    for (const box of this.#boxes.values()) this.#watchBox(box);
  }

  #watchBox(box: Mailbox): void {
    try {
      this.#watchers.set(
        box.owner,
        watch(box.outbox, () => this.#look()).on("error", () => {}),
      );
    } catch {
      // The machine watches no more directories: the timer looks there too.
    }
  }

  #look(): void {
    this.sweep().catch(this.#parts.onFault);
  }

  /** A pass that begins after this call; those who ask at the same time share it. */
  sweep(): Promise<void> {
    this.#queued ??= (async () => {
      await this.#current.catch(() => {});
      this.#queued = null;
      this.#current = this.#pass();
      await this.#current;
    })();
    return this.#queued;
  }

  async #pass(): Promise<void> {
    for (const box of this.#boxes.values()) for (const claimed of listClaims(box)) await this.#finish(box, claimed, claimed.id);
    let isMore = false;
    for (const box of this.#boxes.values()) {
      const left = this.#leftIn(box);
      for (const one of left.slice(0, atOnce)) if (!this.#shut.has(box.owner)) await this.#takeUp(box, one);
      isMore ||= left.length > atOnce && !this.#shut.has(box.owner);
    }
    for (const member of this.#members.keys()) await this.#offer(member);
    if (isMore && this.#timer !== null) this.#look();
  }

  #leftIn(box: Mailbox): OutboxFile[] {
    if (this.#shut.has(box.owner)) return [];
    return listOutbox(box, { evenFresh: this.#ended.has(box.owner) }).filter((left) => !this.#stuck.has(unmovableKey(box, left)));
  }

  async #takeUp(box: Mailbox, left: OutboxFile): Promise<void> {
    const own = left.id !== null && this.#log.find(left.id) === null ? left.id : newDropId();
    this.#clock = Math.max(Date.now(), this.#clock + 1);
    const claimed = { at: this.#clock, id: own };
    const outcome = claimFile(box, left, claimed);
    if (outcome === "gone") return;
    if (this.#shares.isUsedUp(box.owner)) this.#shutOut(box);
    if (outcome === "taken") await this.#finish(box, claimed, left.name.toString("utf8"));
    else await this.#refuseInPlace(box, left, outcome.problem);
  }

  #shutOut(box: Mailbox): void {
    this.#shut.add(box.owner);
    closeOutbox(box);
    this.#watchers.get(box.owner)?.close();
    this.#watchers.delete(box.owner);
  }

  /** What can't even be moved stays where it is, and is told once. */
  async #refuseInPlace(box: Mailbox, left: OutboxFile, reason: string): Promise<void> {
    this.#stuck.add(unmovableKey(box, left));
    this.#shares.take(box.owner, 0);
    await this.#refuse({ ...unmovableClaim(box, left), from: box.owner, file: left.name.toString("utf8"), reason });
  }

  /** What can't be told by a claim of its own. */
  async #refuse(refused: RefusedMessage): Promise<void> {
    if (this.#log.find(refused.id) !== null) return;
    const entry: MailEntry = { event: "message_refused", refused };
    this.#putInInboxes(entry);
    await this.#tell(entry);
    this.#log.add(entry);
  }

  /** From what was taken up to where it belongs. Once the log has it, what it says and whom it reaches is settled. */
  async #finish(box: Mailbox, claimed: ClaimedFile, file: string): Promise<void> {
    let entry = this.#log.find(claimed.id);
    if (entry === null) {
      const read = this.#shut.has(box.owner) ? { problem: quotaExceededText } : readClaim(box, claimed);
      const mail = "problem" in read ? ({ type: "refused", reason: read.problem } as const) : parseMailText(read.text);
      this.#shares.take(box.owner, "problem" in read ? 0 : Buffer.byteLength(read.text));
      entry = classifyMail(mail, claimed, file, this.#sender(box.owner), this.#team());
      this.#log.add(entry);
    }
    this.#putInInboxes(entry);
    await this.#tell(entry);
    if (entry.event === "message_refused") moveToRefused(box, claimed);
    else dropClaim(box, claimed);
  }

  #putInInboxes(entry: MailEntry): void {
    for (const sent of [entry.event === "message_sent" ? entry.sent : null, deliveryNotice(entry)]) {
      if (sent === null) continue;
      const text = `${JSON.stringify(messageRecord(sent, this.#parts.team), null, 2)}\n`;
      for (const to of sent.delivered) writeToInbox(this.#box(to), `${sent.sentAt}-${sent.from}-${sent.id}.json`, text);
    }
  }

  async #tell(entry: MailEntry): Promise<void> {
    if (entry.event === "message_refused") return this.#parts.onRefused(entry.refused);
    const [from, id] = entry.event === "message_sent" ? [entry.sent.from, entry.sent.id] : [entry.from, entry.id];
    for (const warning of entry.warnings) this.#parts.warn(`mail ${id} from ${from}: ${warning}`);
    if (entry.event === "message_sent") await this.#parts.onMessage(entry.sent);
    else await this.#parts.onReport(from, entry.report, id);
  }

  /** In order: what waits holds up what came after it. */
  async #offer(member: string): Promise<void> {
    for (const sent of this.#log.waitingFor(member)) {
      if (this.#parts.hasEnded(member) || (await this.#parts.deliver(member, sent)) === "waits") return;
      this.#log.markGiven(member, [sent.id]);
    }
  }

  async drain(member: string): Promise<void> {
    this.#ended.add(member);
    try {
      do await this.sweep();
      while (this.#leftIn(this.#box(member)).length > 0);
      await this.#setRestAside(this.#box(member));
    } finally {
      this.#ended.delete(member);
    }
  }

  /** What came after its share was used up is told in one: first moved, then counted, so that a crash changes no number. */
  async #setRestAside(box: Mailbox): Promise<void> {
    const rest = this.#shut.has(box.owner) ? listOutbox(box, { evenFresh: true }) : [];
    refuseRest(box, rest, this.#clock);
    const all = countRefused(box);
    const count = all - this.#log.countTold(box.owner);
    if (count === 0) return;
    const file = rest[0]?.name.toString("utf8") ?? "what it left before";
    await this.#refuse({
      id: stableMailId(`${box.owner} ${all}`),
      from: box.owner,
      at: this.#clock,
      file,
      reason: quotaExceededText,
      count,
    });
  }

  async post(from: string, value: Record<string, unknown>): Promise<MailEntry> {
    const claimed = { at: Date.now(), id: newDropId() };
    const entry = classifyMail(parseMailValue(value), claimed, claimed.id, this.#sender(from), this.#team());
    if (entry.event === "message_refused") throw new Fault("usage", entry.refused.reason);
    const [missed] = entry.event === "message_sent" && entry.sent.delivered.length === 0 ? entry.sent.undelivered : [];
    if (missed !== undefined) throw new Fault("usage", `"${missed.to}": ${missed.reason}; the members are ${this.#names()}`);
    if (this.#shut.has(from)) throw new Fault("usage", quotaExceededText);
    dropFile(this.#box(from).outbox, claimed.id, JSON.stringify(value));
    for (;;) {
      await this.sweep();
      const found = this.#log.find(claimed.id);
      if (found !== null) return found;
      // Its writer can take it away again, or use up its share with others.
      if (!this.#leftIn(this.#box(from)).some(({ id }) => id === claimed.id)) throw new Fault("usage", "it was not taken up");
    }
  }

  waitingFor(member: string): SentMessage[] {
    return this.#log.waitingFor(member);
  }

  markGiven(member: string, ids: readonly string[]): void {
    this.#log.markGiven(member, ids);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const watcher of this.#watchers.values()) watcher.close();
    await (this.#queued ?? this.#current).catch(() => {});
    this.#log.close();
  }

  #box(owner: string): Mailbox {
    const box = this.#boxes.get(owner);
    if (box === undefined) throw new Fault("internal", `there is no mail of "${owner}"`);
    return box;
  }

  #sender(owner: string): MailSender {
    const member = this.#members.get(owner);
    return { id: owner, names: [owner, ...(member === undefined ? [] : [member.key])], workspace: member?.workspace ?? null };
  }

  #team() {
    const { directory, hasEnded } = this.#parts;
    return { members: [...this.#members.values()], hasEnded, shared: join(directory, "shared") };
  }

  #names(): string {
    return [...this.#members.values()].map(({ key }) => key).join(", ");
  }
}
