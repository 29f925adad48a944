// The mail of a team: reads files from the members' outboxes one by one and delivers them. Every operation can be repeated, so
// that the mail continues after a crash. The lease of the team's session ensures that only one process runs the mail.
import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { newDropId } from "../../../kit/files/drop-file.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { parseMailText, parseMailValue } from "../../../protocol/team/read-mail.ts";
import type { AddressableMember } from "../../../protocol/team/address.ts";
import { mailLimits, messageRecord, quotaExceededText, personAddress } from "../../../protocol/team/mail.ts";
import type { RefusedMessage, SentMessage } from "../../../protocol/team/mail.ts";
import { classifyMail, mailIdOf, messagesOf, type MailEvent } from "./classify-mail.ts";
import { Mailbox, stableMailId, type ClaimedFile, type OutboxFile } from "./mailbox.ts";

export type MailMember = AddressableMember & { workspace: string };

export type MailOptions = {
  /** The team's directory. Members can write only `shared` and their own outbox and workspace. */
  directory: string;
  /** The id of the team's session. */
  team: string;
  members: readonly MailMember[];
  /** Mail events that are already recorded on the team's session, in order. */
  recorded: readonly MailEvent[];
  hasEnded: (member: string) => boolean;
  /** Records one event on the team's session. The content and addressees of the mail can't change afterwards. */
  record: (event: MailEvent) => Promise<void>;
  /**
   * Sends a message to a running member. Returns `waits` if the member can't get it now. Then it is called again by each sweep,
   * until it returns `sent` or `markSent` names the message.
   * Called for every message again after a restart, so a repeated id must have no effect.
   */
  deliver: (member: string, message: SentMessage) => Promise<"sent" | "waits">;
  /** Called for each invalid field of a mail that is delivered nevertheless. */
  warn: (message: string) => void;
  /** Called when a sweep in the background failed. The next sweep tries again. */
  onFault: (error: unknown) => void;
};

/** A member, or the user, with its mailbox. */
type Owner = {
  box: Mailbox;
  /** Null for the user. */
  member: MailMember | null;
  watcher: FSWatcher | null;
  /** Messages in the inbox that were not sent to the model yet, in order. */
  pending: SentMessage[];
  /** Files that were processed in this turn. */
  files: number;
  /** Their total size. */
  bytes: number;
  /** The quota is used up. The outbox is closed until the next turn. */
  isClosed: boolean;
  /** The member has ended. Files that may be incomplete are read too. */
  isDraining: boolean;
  /** Names of files that can't be moved and are already refused. */
  unmovable: Set<string>;
};

const sweepMs = 500;
/** Files that a sweep reads from one outbox before it continues with the next outbox. */
const batchSize = 64;

export async function openMail(options: MailOptions): Promise<Mail> {
  const mail = new Mail(options);
  try {
    await mail.sweep();
  } catch (error) {
    await mail.close();
    throw error;
  }
  mail.watch();
  return mail;
}

export class Mail {
  readonly #options: MailOptions;
  /** The key is the id of the member, or `person`. */
  readonly #owners = new Map<string, Owner>();
  /** The key is the id of the mail. */
  readonly #recorded = new Map<string, MailEvent>();
  /** The time of the latest claim. Each claim gets a later time, so that their order is fixed. */
  #clock = 0;
  #timer: Timer | null = null;
  /** The last pass over all outboxes. */
  #current: Promise<void> = Promise.resolve();
  /** The pass that starts after `#current`; null if no caller waits for one. */
  #queued: Promise<void> | null = null;

  constructor(options: MailOptions) {
    this.#options = options;
    this.#open(personAddress, null);
    for (const member of options.members) this.add(member);
    for (const event of options.recorded) this.#addRecorded(event);
    for (const { box } of this.#owners.values()) for (const { at } of box.claims()) this.#clock = Math.max(this.#clock, at);
  }

  add(member: MailMember): void {
    this.#open(member.id, member);
  }

  #open(id: string, member: MailMember | null): void {
    const box = new Mailbox(this.#options.directory, id);
    const counts = { files: 0, bytes: 0, isClosed: false, isDraining: false };
    const owner: Owner = { box, member, ...counts, watcher: null, pending: [], unmovable: new Set() };
    this.#owners.set(id, owner);
    this.#openOutbox(owner);
  }

  #openOutbox(owner: Owner): void {
    owner.box.reopen();
    if (this.#timer !== null) this.#watchOutbox(owner);
  }

  /** Starts a turn of the member: resets its quota. */
  startTurn(member: string): void {
    const owner = this.#owner(member);
    const { isClosed } = owner;
    Object.assign(owner, { files: 0, bytes: 0, isClosed: false });
    if (isClosed) this.#openOutbox(owner);
  }

  watch(): void {
    this.#timer = setInterval(() => this.#sweepInBackground(), sweepMs);
    for (const owner of this.#owners.values()) this.#watchOutbox(owner);
  }

  #watchOutbox(owner: Owner): void {
    try {
      owner.watcher = watch(owner.box.outbox, () => this.#sweepInBackground()).on("error", () => {});
    } catch {
      // The system's limit of watches is reached. The timer still reads the outbox.
    }
  }

  #sweepInBackground(): void {
    this.sweep().catch(this.#options.onFault);
  }

  /** Reads the files that are in the outboxes now, at most `batchSize` of each. Concurrent callers share one pass, which starts after their call. */
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
    for (const owner of this.#owners.values()) for (const claim of owner.box.claims()) await this.#process(owner, claim, claim.id);
    let hasMore = false;
    for (const owner of this.#owners.values()) {
      const files = this.#filesOf(owner);
      for (const file of files.slice(0, batchSize)) if (!owner.isClosed) await this.#claim(owner, file);
      hasMore ||= files.length > batchSize && !owner.isClosed;
    }
    for (const owner of this.#owners.values()) if (owner.member !== null) await this.#deliverTo(owner);
    if (hasMore && this.#timer !== null) this.#sweepInBackground();
  }

  #filesOf({ box, isClosed, isDraining, unmovable }: Owner): OutboxFile[] {
    if (isClosed) return [];
    return box.files({ includeIncomplete: isDraining }).filter(({ name }) => !unmovable.has(name.toString("latin1")));
  }

  async #claim(owner: Owner, file: OutboxFile): Promise<void> {
    const id = file.id !== null && !this.#recorded.has(file.id) ? file.id : newDropId();
    this.#clock = Math.max(Date.now(), this.#clock + 1);
    const claim = { at: this.#clock, id };
    const outcome = owner.box.claim(file, claim);
    if (outcome === "gone") return;
    if (isQuotaUsedUp(owner)) closeOutbox(owner);
    const name = file.name.toString("utf8");
    if (outcome === "claimed") return this.#process(owner, claim, name);
    // A file that can't be moved stays in the outbox and is refused once.
    owner.unmovable.add(file.name.toString("latin1"));
    owner.files += 1;
    await this.#refuse({ ...owner.box.unmovableClaim(file), from: owner.box.owner, file: name, reason: outcome.problem });
  }

  /** Refuses files without a claim. Writes the notice before it records the event: without a claim, nothing would write the notice after a crash. */
  async #refuse(refused: RefusedMessage): Promise<void> {
    if (this.#recorded.has(refused.id)) return;
    const event: MailEvent = { event: "message_refused", refused };
    this.#writeToInboxes(event);
    await this.#record(event);
  }

  /** Records and delivers a claimed file. `file` is its name in the outbox. */
  async #process(owner: Owner, claim: ClaimedFile, file: string): Promise<void> {
    const { box } = owner;
    const event = this.#recorded.get(claim.id) ?? (await this.#recordClaim(owner, claim, file));
    this.#writeToInboxes(event);
    if (event.event === "message_refused") box.moveToRefused(claim);
    else box.dropClaim(claim);
  }

  async #recordClaim(owner: Owner, claim: ClaimedFile, file: string): Promise<MailEvent> {
    const content = owner.isClosed ? { problem: quotaExceededText } : owner.box.readClaim(claim);
    const mail = "problem" in content ? ({ type: "refused", reason: content.problem } as const) : parseMailText(content.text);
    const { event, warnings } = classifyMail(mail, { ...claim, file }, senderOf(owner), this.#team());
    for (const warning of warnings) this.#options.warn(`mail ${claim.id} from ${owner.box.owner}: ${warning}`);
    await this.#record(event);
    owner.files += 1;
    owner.bytes += "problem" in content ? 0 : Buffer.byteLength(content.text);
    return event;
  }

  async #record(event: MailEvent): Promise<void> {
    await this.#options.record(event);
    this.#addRecorded(event);
  }

  #addRecorded(event: MailEvent): void {
    this.#recorded.set(mailIdOf(event), event);
    for (const message of messagesOf(event)) {
      this.#clock = Math.max(this.#clock, message.sentAt);
      for (const to of message.delivered) this.#owners.get(to)?.pending.push(message);
    }
  }

  #writeToInboxes(event: MailEvent): void {
    for (const sent of messagesOf(event)) {
      const text = `${JSON.stringify(messageRecord(sent, this.#options.team), null, 2)}\n`;
      for (const to of sent.delivered) this.#owner(to).box.writeToInbox(`${sent.sentAt}-${sent.from}-${sent.id}.json`, text);
    }
  }

  /** Delivers in order. Later messages wait while an earlier one can't be delivered. */
  async #deliverTo({ box: { owner }, pending }: Owner): Promise<void> {
    for (const sent of pending) {
      if (this.#options.hasEnded(owner) || (await this.#options.deliver(owner, sent)) === "waits") return;
      this.markSent(owner, [sent.id]);
    }
  }

  /** Reads all files of a member that has ended, also files that may be incomplete. */
  async drain(member: string): Promise<void> {
    const owner = this.#owner(member);
    owner.isDraining = true;
    try {
      do await this.sweep();
      while (this.#filesOf(owner).length > 0);
      await this.#refuseOverQuota(owner);
    } finally {
      owner.isDraining = false;
    }
  }

  /** Refuses all files over the quota in one event. Moves them before it counts them, so that a crash does not change the number. */
  async #refuseOverQuota({ box, isClosed }: Owner): Promise<void> {
    const files = isClosed ? box.files({ includeIncomplete: true }) : [];
    box.refuseOverQuota(files, this.#clock);
    const total = box.countOverQuota();
    const count = total - this.#recordedOverQuota(box.owner);
    if (count === 0) return;
    const file = files[0]?.name.toString("utf8") ?? "earlier files";
    const id = stableMailId(`${box.owner} ${total}`);
    await this.#refuse({ id, from: box.owner, at: this.#clock, file, reason: quotaExceededText, count });
  }

  #recordedOverQuota(owner: string): number {
    const refused = [...this.#recorded.values()].flatMap((event) => (event.event === "message_refused" ? [event.refused] : []));
    return refused.filter(({ from }) => from === owner).reduce((sum, { count = 0 }) => sum + count, 0);
  }

  /** Posts a message or report of a member (or `person`). Resolves when it is recorded; throws if it is refused. */
  async post(from: string, value: Record<string, unknown>): Promise<MailEvent> {
    const id = newDropId();
    const owner = this.#owner(from);
    const { event } = classifyMail(parseMailValue(value), { at: Date.now(), id, file: id }, senderOf(owner), this.#team());
    if (event.event === "message_refused") throw new Fault("usage", event.refused.reason);
    const [undelivered] = event.event === "message_sent" && event.message.delivered.length === 0 ? event.message.undelivered : [];
    const names = this.#team().members.map(({ key }) => key);
    if (undelivered !== undefined)
      throw new Fault("usage", `"${undelivered.to}": ${undelivered.reason}; the members are ${names.join(", ")}`);
    if (owner.isClosed) throw new Fault("usage", quotaExceededText);
    owner.box.post(id, JSON.stringify(value));
    for (;;) {
      await this.sweep();
      const recorded = this.#recorded.get(id);
      if (recorded !== undefined) return recorded;
      // The member can delete the file, or use up its quota with other files.
      if (!this.#filesOf(owner).some((file) => file.id === id))
        throw new Fault("usage", "the mail was not read: its file was deleted, or the quota of this turn is used up");
    }
  }

  /** Messages that were not sent to the member yet, in order. Call `markSent` once their delivery is recorded. */
  pendingMessages(member: string): readonly SentMessage[] {
    return this.#owner(member).pending;
  }

  markSent(member: string, ids: readonly string[]): void {
    const owner = this.#owner(member);
    owner.pending = owner.pending.filter(({ id }) => !ids.includes(id));
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const { watcher } of this.#owners.values()) watcher?.close();
    await (this.#queued ?? this.#current).catch(() => {});
  }

  #owner(id: string): Owner {
    const owner = this.#owners.get(id);
    if (owner === undefined) throw new Fault("internal", `"${id}" has no mailbox`);
    return owner;
  }

  #team() {
    const { directory, hasEnded } = this.#options;
    const members = [...this.#owners.values()].flatMap(({ member }) => member ?? []);
    return { members, hasEnded, shared: join(directory, "shared") };
  }
}

function senderOf({ box: { owner }, member }: Owner) {
  return { id: owner, names: member === null ? [owner] : [owner, member.key], workspace: member?.workspace ?? null };
}

/** Members have a quota, because every message costs tokens of its readers and delays the mail of others. The user has none. */
function isQuotaUsedUp({ member, files, bytes }: Owner): boolean {
  return member !== null && (files >= mailLimits.turnFiles || bytes >= mailLimits.turnBytes);
}

function closeOutbox(owner: Owner): void {
  owner.isClosed = true;
  owner.box.close();
  owner.watcher?.close();
  owner.watcher = null;
}
