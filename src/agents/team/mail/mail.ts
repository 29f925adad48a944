// The mail of a team: reads files from the members' outboxes one by one and delivers them. Every step can be repeated, so that
// after a crash it continues exactly where it was. Only one process runs it, which the lease of the team's session ensures.
import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { dropFile, newDropId } from "../../../kit/files/drop-file.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { parseMailText, parseMailValue } from "../../../protocol/team/read-mail.ts";
import type { AddressableMember } from "../../../protocol/team/address.ts";
import { messageRecord, quotaExceededText, personAddress, type RefusedMessage, type SentMessage } from "../../../protocol/team/mail.ts";
import { classifyMail, headOf, messagesOf, type MailEntry, type MailSender } from "./classify-mail.ts";
import {
  claimFile,
  listClaims,
  countOverQuota,
  dropClaim,
  listOutbox,
  openMailbox,
  writeToInbox,
  readClaim,
  reopenOutbox,
  stableMailId,
  moveToRefused,
  refuseFiles,
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

/** All callbacks are awaited. After a crash they may be called again with the same id. */
export type MailOptions = {
  /** The team's directory. Members can write only `shared` and their own outbox and workspace. */
  directory: string;
  /** The id of the team's session. */
  team: string;
  members: readonly MailMember[];
  hasEnded: (member: string) => boolean;
  /** Records the entry on the team's session. Must ignore an id that is already recorded. */
  record: (entry: MailEntry) => Promise<void>;
  /** Sends a message to a running member. A message that `waits` is offered again until it is given here or by `markGiven`. */
  deliver: (member: string, sent: SentMessage) => Promise<"given" | "waits">;
  warn: (message: string) => void;
  /** Called when a callback failed. The mail tries again later. */
  onFault: (error: unknown) => void;
};

export type Mail = {
  add: (member: MailMember) => void;
  /** Starts a turn of the member: resets its quota. */
  startTurn: (member: string) => void;
  /** Reads all files that are in the outboxes now. */
  sweep: () => Promise<void>;
  /** Reads all files of a member that has ended, also unfinished ones. */
  drain: (member: string) => Promise<void>;
  /** Posts a message or report of a member (or `person`). Resolves when it is recorded; throws if it is refused. */
  post: (from: string, value: Record<string, unknown>) => Promise<MailEntry>;
  /** Messages that the member has not got yet, in order. Call `markGiven` once their delivery is recorded. */
  pendingMessages: (member: string) => SentMessage[];
  markGiven: (member: string, ids: readonly string[]) => void;
  close: () => Promise<void>;
};

const sweepMs = 500;
/** Files that are read from one outbox before the next outbox. */
const batchSize = 64;

export async function openMail(options: MailOptions): Promise<Mail> {
  const mail = new TeamMail(options);
  try {
    await mail.sweep();
  } catch (error) {
    await mail.close();
    throw error;
  }
  mail.watch();
  return mail;
}

class TeamMail implements Mail {
  readonly #options: MailOptions;
  readonly #log: ReturnType<typeof openMailLog>;
  readonly #members = new Map<string, MailMember>();
  readonly #boxes = new Map<string, Mailbox>();
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #quota = createMailQuota();
  /** Members whose quota is used up. Their outbox is closed until their next turn. */
  readonly #closed = new Set<string>();
  /** Members that have ended. Even their unfinished files are read. */
  readonly #ended = new Set<string>();
  /** Files that can't be moved and are already refused. */
  readonly #unmovable = new Set<string>();
  /** The time of the latest claim. Each claim gets a later time, so that their order is fixed. */
  #clock: number;
  #timer: Timer | null = null;
  #current: Promise<void> = Promise.resolve();
  #queued: Promise<void> | null = null;

  constructor(options: MailOptions) {
    this.#options = options;
    this.#log = openMailLog(options.directory, options.team, options.warn);
    this.#open(personAddress);
    for (const member of options.members) this.add(member);
    const unfinished = [...this.#boxes.values()].flatMap(listClaims);
    this.#clock = Math.max(this.#log.latestAt(), ...unfinished.map(({ at }) => at));
  }

  add(member: MailMember): void {
    this.#members.set(member.id, member);
    if (!this.#boxes.has(member.id)) this.#open(member.id);
  }

  #open(owner: string): void {
    const box = openMailbox(this.#options.directory, owner);
    reopenOutbox(box);
    this.#boxes.set(owner, box);
    if (this.#timer !== null) this.#watchBox(box);
  }

  startTurn(member: string): void {
    this.#quota.startTurn(member);
    if (!this.#closed.delete(member)) return;
    const box = this.#box(member);
    reopenOutbox(box);
    if (this.#timer !== null) this.#watchBox(box);
  }

  watch(): void {
    this.#timer = setInterval(() => this.#sweepInBackground(), sweepMs);
    for (const box of this.#boxes.values()) this.#watchBox(box);
  }

  #watchBox(box: Mailbox): void {
    try {
      this.#watchers.set(
        box.owner,
        watch(box.outbox, () => this.#sweepInBackground()).on("error", () => {}),
      );
    } catch {
      // The system's limit of watches is reached. The timer still reads the outbox.
    }
  }

  #sweepInBackground(): void {
    this.sweep().catch(this.#options.onFault);
  }

  /** Runs a pass that starts after this call. Concurrent callers share it. */
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
    for (const box of this.#boxes.values()) for (const claim of listClaims(box)) await this.#process(box, claim, claim.id);
    let hasMore = false;
    for (const box of this.#boxes.values()) {
      const files = this.#filesIn(box);
      for (const file of files.slice(0, batchSize)) if (!this.#closed.has(box.owner)) await this.#claim(box, file);
      hasMore ||= files.length > batchSize && !this.#closed.has(box.owner);
    }
    for (const member of this.#members.keys()) await this.#deliverTo(member);
    if (hasMore && this.#timer !== null) this.#sweepInBackground();
  }

  #filesIn(box: Mailbox): OutboxFile[] {
    if (this.#closed.has(box.owner)) return [];
    return listOutbox(box, { evenFresh: this.#ended.has(box.owner) }).filter((file) => !this.#unmovable.has(unmovableKey(box, file)));
  }

  async #claim(box: Mailbox, file: OutboxFile): Promise<void> {
    const id = file.id !== null && this.#log.find(file.id) === null ? file.id : newDropId();
    this.#clock = Math.max(Date.now(), this.#clock + 1);
    const claim = { at: this.#clock, id };
    const outcome = claimFile(box, file, claim);
    if (outcome === "gone") return;
    if (this.#quota.isUsedUp(box.owner)) this.#closeBox(box);
    if (outcome === "claimed") await this.#process(box, claim, file.name.toString("utf8"));
    else await this.#refuseInPlace(box, file, outcome.problem);
  }

  #closeBox(box: Mailbox): void {
    this.#closed.add(box.owner);
    closeOutbox(box);
    this.#watchers.get(box.owner)?.close();
    this.#watchers.delete(box.owner);
  }

  /** A file that can't be moved stays in the outbox and is refused once. */
  async #refuseInPlace(box: Mailbox, file: OutboxFile, reason: string): Promise<void> {
    this.#unmovable.add(unmovableKey(box, file));
    this.#quota.count(box.owner, 0);
    await this.#refuse({ ...unmovableClaim(box, file), from: box.owner, file: file.name.toString("utf8"), reason });
  }

  /** Refuses files without a claim. Logs last, because no claim would repeat the other steps after a crash. */
  async #refuse(refused: RefusedMessage): Promise<void> {
    if (this.#log.find(refused.id) !== null) return;
    const entry: MailEntry = { event: "message_refused", refused };
    this.#writeToInboxes(entry);
    await this.#record(entry);
    this.#log.add(entry);
  }

  /** Classifies and delivers a claimed file. Once it is in the log, its content and its addressees are final. */
  async #process(box: Mailbox, claim: ClaimedFile, file: string): Promise<void> {
    let entry = this.#log.find(claim.id);
    if (entry === null) {
      const content = this.#closed.has(box.owner) ? { problem: quotaExceededText } : readClaim(box, claim);
      const mail = "problem" in content ? ({ type: "refused", reason: content.problem } as const) : parseMailText(content.text);
      this.#quota.count(box.owner, "problem" in content ? 0 : Buffer.byteLength(content.text));
      entry = classifyMail(mail, { ...claim, file }, this.#sender(box.owner), this.#team());
      this.#log.add(entry);
    }
    this.#writeToInboxes(entry);
    await this.#record(entry);
    if (entry.event === "message_refused") moveToRefused(box, claim);
    else dropClaim(box, claim);
  }

  #writeToInboxes(entry: MailEntry): void {
    for (const sent of messagesOf(entry)) {
      const text = `${JSON.stringify(messageRecord(sent, this.#options.team), null, 2)}\n`;
      for (const to of sent.delivered) writeToInbox(this.#box(to), `${sent.sentAt}-${sent.from}-${sent.id}.json`, text);
    }
  }

  async #record(entry: MailEntry): Promise<void> {
    const { id, from } = headOf(entry);
    for (const warning of entry.event === "message_refused" ? [] : entry.warnings)
      this.#options.warn(`mail ${id} from ${from}: ${warning}`);
    await this.#options.record(entry);
  }

  /** Delivers in order: a message that waits holds up later ones. */
  async #deliverTo(member: string): Promise<void> {
    for (const sent of this.#log.pendingMessages(member)) {
      if (this.#options.hasEnded(member) || (await this.#options.deliver(member, sent)) === "waits") return;
      this.#log.markGiven(member, [sent.id]);
    }
  }

  async drain(member: string): Promise<void> {
    this.#ended.add(member);
    try {
      do await this.sweep();
      while (this.#filesIn(this.#box(member)).length > 0);
      await this.#refuseOverQuota(this.#box(member));
    } finally {
      this.#ended.delete(member);
    }
  }

  /** Refuses all files over the quota in one entry. Moves them before it counts them, so that a crash does not change the number. */
  async #refuseOverQuota(box: Mailbox): Promise<void> {
    const files = this.#closed.has(box.owner) ? listOutbox(box, { evenFresh: true }) : [];
    refuseFiles(box, files, this.#clock);
    const total = countOverQuota(box);
    const count = total - this.#log.countOverQuota(box.owner);
    if (count === 0) return;
    const file = files[0]?.name.toString("utf8") ?? "earlier files";
    await this.#refuse({
      id: stableMailId(`${box.owner} ${total}`),
      from: box.owner,
      at: this.#clock,
      file,
      reason: quotaExceededText,
      count,
    });
  }

  async post(from: string, value: Record<string, unknown>): Promise<MailEntry> {
    const id = newDropId();
    const entry = classifyMail(parseMailValue(value), { at: Date.now(), id, file: id }, this.#sender(from), this.#team());
    if (entry.event === "message_refused") throw new Fault("usage", entry.refused.reason);
    const [undelivered] = entry.event === "message_sent" && entry.sent.delivered.length === 0 ? entry.sent.undelivered : [];
    if (undelivered !== undefined) throw new Fault("usage", `"${undelivered.to}": ${undelivered.reason}; the members are ${this.#names()}`);
    if (this.#closed.has(from)) throw new Fault("usage", quotaExceededText);
    dropFile(this.#box(from).outbox, id, JSON.stringify(value));
    for (;;) {
      await this.sweep();
      const recorded = this.#log.find(id);
      if (recorded !== null) return recorded;
      // The member can delete the file, or use up its quota with other files.
      if (!this.#filesIn(this.#box(from)).some((file) => file.id === id)) throw new Fault("usage", "it was not taken up");
    }
  }

  pendingMessages(member: string): SentMessage[] {
    return this.#log.pendingMessages(member);
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
    if (box === undefined) throw new Fault("internal", `"${owner}" has no mailbox`);
    return box;
  }

  #sender(owner: string): MailSender {
    const member = this.#members.get(owner);
    return { id: owner, names: [owner, ...(member === undefined ? [] : [member.key])], workspace: member?.workspace ?? null };
  }

  #team() {
    const { directory, hasEnded } = this.#options;
    return { members: [...this.#members.values()], hasEnded, shared: join(directory, "shared") };
  }

  #names(): string {
    return [...this.#members.values()].map(({ key }) => key).join(", ");
  }
}
