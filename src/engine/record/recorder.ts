// The only writer of a running turn: event → store → transcript → watchers, always in this order.
import type { Ask, PendingTurn, QueuedInput } from "../../protocol/api/control.ts";
import type { TransientEventBody, Event, TurnOutcome } from "../../protocol/tree/event.ts";
import type { NewNode, Node } from "../../protocol/tree/node.ts";
import type { AskRequest } from "../../protocol/api/ports.ts";
import type { CliSessionStart, Turn } from "../../protocol/tree/turn.ts";
import { addUsage, zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import type { AskClose, Draft, HeldState, Lease, NewTurn, RecordsOfNode, Store, TurnClose, WriteResult } from "../../store/store.ts";
import { createDrafts, type Drafts } from "./drafts.ts";

/** `next` is the pending turn that continues the ended one. */
type EndedTurnRecord = { turn: Turn; next: PendingTurn | null };

/** A transcript. */
type NodeLog = { append: (node: Node) => void };

export class Recorder {
  readonly #store: Store;
  readonly #lease: Lease;
  readonly #transcript: NodeLog | null;
  readonly #publish: (event: Event) => void;
  #drafts: Drafts | null = null;
  #seq = 0;
  #transientCount = 0;
  /** Since when the files are being recorded; null if they are not, or only for a moment. */
  snapshotSince: number | null = null;
  /** Id of the turn; empty before it has started. */
  turn = "";
  usage: Usage = zeroUsage;
  costUsd = 0;

  constructor(store: Store, lease: Lease, transcript: NodeLog | null, publish: (event: Event) => void) {
    this.#store = store;
    this.#lease = lease;
    this.#transcript = transcript;
    this.#publish = publish;
  }

  async startTurn(turn: NewTurn): Promise<{ turn: Turn; cliSession: CliSessionStart | null }> {
    const written = await this.#store.startTurn(this.#lease, turn);
    this.turn = written.value.id;
    this.#drafts = createDrafts((draft) => this.#store.saveDraft(this.#lease, written.value.id, draft));
    return { turn: this.#publishStored(written), cliSession: written.cliSession };
  }

  async recordNativeId(nativeId: string): Promise<void> {
    await this.#store.recordNativeId(this.#lease, this.turn, nativeId);
  }

  async openAsk(request: AskRequest & { expiresAt: number | null }): Promise<Ask> {
    return this.#publishStored(await this.#store.openAsk(this.#lease, this.turn, request));
  }

  async closeAsk(id: string, close: AskClose): Promise<Ask> {
    return this.#publishStored(await this.#store.closeAsk(this.#lease, id, close));
  }

  async queueInput(text: string, id?: string): Promise<QueuedInput> {
    return this.#publishStored(await this.#store.queueInput(this.#lease, text, id));
  }

  async dropInput(id: string): Promise<QueuedInput | null> {
    return this.#publishStored(await this.#store.dropInput(this.#lease, id));
  }

  async takeInputs(): Promise<Node[]> {
    return this.#publishStored(await this.#store.takeInputs(this.#lease, this.turn));
  }

  async setState(state: HeldState): Promise<void> {
    await this.#store.setState(this.#lease, state);
  }

  /** The texts that are streaming, and the last event that they contain. */
  drafts(): { seq: number; n: number; drafts: Draft[] } {
    return { seq: this.#seq, n: this.#transientCount, drafts: this.#drafts?.all() ?? [] };
  }

  /** `files` are records of calls to store with the node. */
  async addNode(node: NewNode, turn: string | null = this.turn, files?: RecordsOfNode): Promise<Node> {
    const completed = completedDrafts(node);
    this.#drafts?.hold(completed);
    const written = await this.#store.appendNode(this.#lease, turn, node, files);
    this.#drafts?.drop(completed);
    this.usage = addUsage(this.usage, node.usage ?? zeroUsage);
    this.costUsd += node.costUsd ?? 0;
    return this.#publishStored(written);
  }

  publishTransient(body: TransientEventBody): void {
    this.#drafts?.applyEvent(body);
    if (body.type === "snapshot.started") this.snapshotSince = Date.now();
    if (body.type === "snapshot.ended") this.snapshotSince = null;
    this.#publish({
      seq: this.#seq,
      n: ++this.#transientCount,
      sessionId: this.#lease.session,
      turnId: this.turn,
      at: Date.now(),
      ...body,
    });
  }

  async endTurn(end: TurnClose, turn: string = this.turn, outcome: Partial<TurnOutcome> = {}): Promise<EndedTurnRecord> {
    await this.#drafts?.stop();
    const written = await this.#store.endTurn(this.#lease, turn, end);
    const { next } = written;
    for (const event of written.events) if (event.type === "turn.ended") Object.assign(event, outcome, next === null ? {} : { next });
    return { turn: this.#publishStored(written), next };
  }

  #publishStored<T>(written: WriteResult<T>): T {
    for (const event of written.events) {
      this.#seq = event.seq;
      this.#transientCount = 0;
      if (event.type === "node.added") this.#transcript?.append(event.node);
      this.#publish(event);
    }
    return written.value;
  }
}

/** Keys of the drafts that a node completes. */
function completedDrafts(node: NewNode): string[] {
  if (node.author === "agent") return ["text", "thinking"];
  return node.parts.flatMap((part) => (part.kind === "result" ? [part.call] : []));
}
