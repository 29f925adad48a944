// One session that a client has open: follows its events, takes prompts, and holds the options of the next turns. Events come
// from the hub, whichever process runs the turn, so that other front ends see and stop the same turns.
import {
  RequestError,
  type PromptRequest,
  type PromptResponse,
  type SessionConfigOption,
  type SessionModeState,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { configuredPolicy, configuredTurn } from "../../protocol/api/turn-options.ts";
import type { McpServerEntries } from "../../protocol/mcp/server-entry.ts";
import { traceOf } from "../../protocol/otlp/traceparent.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { rpcCodes } from "../server/request-errors.ts";
import { readPrompt, type PromptContent } from "../updates/read-prompt.ts";
import { SessionUpdates } from "../updates/session-updates.ts";
import type { Client } from "./client.ts";
import { availableCommands, findCommand } from "./commands.ts";
import { changeOption, initialChoices, modesOf, optionsOf, readOffer, type Choices, type Offer } from "./config-options.ts";
import { Questions } from "./questions.ts";
import { startTurn, stopReasonOf, stopTurn, turnParams, type TurnEnded, type TurnTask } from "./start-turn.ts";
import { UsageMeter } from "./usage-meter.ts";

export type OpenSessionDeps = {
  session: Session;
  /** Returns an Api that answers. Connects again if the hub was restarted. */
  connect: () => Promise<Api>;
  client: Client;
  /** Directories besides the project that belong to the work. */
  addDirs: string[];
  /** Servers that the client named for this session. */
  mcpServers: McpServerEntries;
  log: (line: string) => void;
};

/** A prompt that has not been answered. `turn` is null until the turn has started. */
type PromptRun = {
  isCancelled: boolean;
  turn: string | null;
  ended: PromiseWithResolvers<TurnEnded>;
  /** Resolves when the prompt gets its answer. */
  answered: PromiseWithResolvers<void>;
  /** The span of the prompt, if the client named one. */
  trace: ReturnType<typeof traceOf>;
};

/** `handled` resolves when the client has all updates of the last event. */
type Follower = { feed: AsyncIterator<Event>; isStopped: boolean; handled: Promise<void> };

/** Directories and servers that the client names when it opens a session. */
type Place = Pick<OpenSessionDeps, "addDirs" | "mcpServers">;

const maxTitle = 80;
/** This many ends of turns are kept: a turn can end before `#takeTurn` has its id. */
const maxEnded = 20;

export class OpenSession {
  #deps: OpenSessionDeps;
  #updates: SessionUpdates;
  readonly #questions: Questions;
  readonly #ended = new Map<string, TurnEnded>();
  #session: Session;
  #api: Api;
  #offer: Offer;
  #choices: Choices;
  #usage = new UsageMeter();
  /** The last event that was read from the feed, and the last one that `read` has shown. */
  #seq = 0;
  #shownSeq = 0;
  #isAnnounced = false;
  #title: string | null = null;
  #follower: Follower | null = null;
  #run: PromptRun | null = null;

  private constructor(deps: OpenSessionDeps, api: Api, offer: Offer, choices: Choices) {
    this.#deps = deps;
    this.#session = deps.session;
    this.#api = api;
    this.#offer = offer;
    this.#choices = choices;
    this.#updates = new SessionUpdates(deps.session.directory);
    this.#questions = new Questions(deps.session.id, deps.client, deps.log);
  }

  static async open(deps: OpenSessionDeps): Promise<OpenSession> {
    const api = await deps.connect();
    const [offer, settings] = await Promise.all([readOffer(api), api.config.values()]);
    return new OpenSession(deps, api, offer, initialChoices(deps.session, configuredPolicy(settings).name, offer));
  }

  get id(): string {
    return this.#session.id;
  }

  get mcpServers(): McpServerEntries {
    return this.#deps.mcpServers;
  }

  get api(): Api {
    return this.#api;
  }

  get state(): { modes: SessionModeState; configOptions: SessionConfigOption[] } {
    return { modes: modesOf(this.#choices), configOptions: optionsOf(this.#choices, this.#offer) };
  }

  nodeOf(messageId: string): string {
    return this.#updates.nodeOf(messageId);
  }

  /** The same client opens the session again. A prompt that has no answer yet keeps its turn. Then call `read`. */
  async reopen(place: Place): Promise<void> {
    this.#deps = { ...this.#deps, ...place };
    const api = await this.#deps.connect();
    const offer = await readOffer(api);
    await this.#unfollow()?.handled;
    this.#api = api;
    this.#offer = offer;
    this.#isAnnounced = false;
    this.#title = null;
  }

  /** Reads the session up to now. With `isRepeated` the client gets all of it as updates. */
  async read({ isRepeated }: { isRepeated: boolean }): Promise<void> {
    const view = await this.#api.session.show({ session: this.id });
    this.#session = view.session;
    this.#choices = initialChoices(view.session, this.#choices.policy, this.#offer);
    this.#shownSeq = view.seq;
    // A waiting prompt needs the end of its turn, which may be among the shown events.
    if (this.#run === null) this.#seq = view.seq;
    this.#usage = new UsageMeter(view.turns, view.nodes);
    this.#updates = new SessionUpdates(this.#session.directory);
    const updates = this.#updates.replay(view);
    if (isRepeated) for (const update of updates) await this.#send(update);
  }

  /** Sends commands, title and usage, once. */
  async announce(): Promise<void> {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    await this.#send({ sessionUpdate: "available_commands_update", availableCommands });
    await this.#sendTitle();
    await this.#sendUsage();
  }

  /** Call it after the answer that names the session: clients ignore updates of a session that they don't know. */
  async start(): Promise<void> {
    await this.announce();
    this.#follow();
    for (const ask of await this.#api.ask.list({ session: this.id })) this.#questions.onOpened(this.#api, ask);
  }

  async setOption(id: string, value: string): Promise<void> {
    const choices = changeOption(this.#choices, id, value);
    const settings = await this.#api.config.values();
    const { directory } = this.#session;
    const policy = configuredPolicy(settings, choices.policy);
    const { agent, model } = choices;
    await this.#api.turn.check({ ...configuredTurn(settings), agent, model, policy, isNew: false, directory });
    this.#choices = choices;
    if (id === "agent") this.#offer = await readOffer(this.#api);
  }

  /** Reports the policy as a mode. Some clients show modes instead of options. */
  async sendMode(): Promise<void> {
    await this.#send({ sessionUpdate: "current_mode_update", currentModeId: this.#choices.policy });
  }

  async sendOptions(): Promise<void> {
    await this.#send({ sessionUpdate: "config_option_update", configOptions: this.state.configOptions });
  }

  /** Takes one prompt at a time. The turn continues if the client disconnects; only a cancellation stops it. */
  async prompt({ prompt: blocks, _meta: meta }: Pick<PromptRequest, "prompt" | "_meta">, signal: AbortSignal): Promise<PromptResponse> {
    if (this.#run !== null) throw new RequestError(rpcCodes.invalidRequest, "a prompt of this session is not answered yet");
    const content = readPrompt(blocks, this.#session.directory);
    const run: PromptRun = {
      isCancelled: false,
      turn: null,
      ended: Promise.withResolvers(),
      answered: Promise.withResolvers(),
      trace: traceOf(meta),
    };
    run.ended.promise.catch(() => {}); // `#takeTurn` may not wait for it yet
    this.#run = run;
    const onAbort = () => {
      // Without a request error the connection was closed.
      if (signal.reason instanceof RequestError)
        this.cancel().catch((error: unknown) => this.#deps.log(`the turn could not be stopped: ${messageOf(error)}`));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.#takePrompt(run, content);
    } catch (error) {
      const isLost = error instanceof Fault && error.code === "connection-lost";
      if (run.isCancelled && !isLost) return { stopReason: "cancelled" };
      if (!isLost) throw error;
      throw new Fault("connection-lost", "the hub stopped during this turn; the work so far is stored", {
        hint: "load the session again: the next hub continues the turn",
        cause: error,
      });
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#run = null;
      run.answered.resolve();
    }
  }

  /** Stops the turn of the client's prompt. The prompt is answered when the turn has ended. */
  async cancel(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    run.isCancelled = true;
    this.#questions.close();
    await this.#stopTurn();
  }

  /** Cancels the client's prompt and waits for its answer. Turns of other front ends continue. */
  async stopPrompt(): Promise<void> {
    const answered = this.#run?.answered.promise;
    await this.cancel();
    await answered;
  }

  /** Stops following. A turn continues, and a prompt that has no answer yet gets none. */
  disconnect(): void {
    this.#questions.close();
    this.#unfollow();
  }

  #unfollow(): Follower | null {
    const follower = this.#follower;
    this.#follower = null;
    if (follower === null) return null;
    follower.isStopped = true;
    // Errors of an abandoned feed are ignored.
    follower.feed.return?.().catch(() => {});
    return follower;
  }

  async #takePrompt(run: PromptRun, content: PromptContent): Promise<PromptResponse> {
    if (this.#follower === null) {
      this.#api = await this.#deps.connect();
      this.#follow();
    }
    const command = findCommand(content.text);
    const outcome = command === null ? null : await command({ api: this.#api, session: this.#session });
    if (outcome !== null && "message" in outcome) {
      await this.#sendText(outcome.message);
      return { stopReason: "end_turn" };
    }
    let task: TurnTask = outcome === null ? { prompt: content.text, images: content.images } : { ...outcome, images: [] };
    for (;;) {
      const ended = await this.#takeTurn(run, task);
      if (ended === null || run.isCancelled) return { stopReason: "cancelled" };
      if (ended.turn.status !== "needs-input" || !(await this.#askAfterTurn(ended))) {
        const { promptNode } = this.#updates;
        const meta = { turn: ended.turnId, ...(promptNode === null ? {} : { messageId: promptNode }) };
        return { stopReason: run.isCancelled ? "cancelled" : stopReasonOf(ended), _meta: { skein: meta } };
      }
      task = { prompt: null, images: [] };
    }
  }

  /** Null if the prompt was cancelled before the turn started. */
  async #takeTurn(run: PromptRun, task: TurnTask): Promise<TurnEnded | null> {
    const { client, addDirs, mcpServers } = this.#deps;
    const setup = { session: this.id, choices: this.#choices, addDirs, mcpServers, canWaitForAnswers: client.canElicit() };
    const params = { ...(await turnParams(this.#api, task, setup)), ...run.trace };
    if (run.isCancelled) return null;
    if (task.prompt !== null) this.#updates.expectPrompt(task.prompt);
    run.ended = Promise.withResolvers();
    run.ended.promise.catch(() => {});
    run.turn = await startTurn(this.#api, params);
    if (run.isCancelled) await this.#stopTurn();
    const ended = await this.#whenEnded(run);
    run.turn = null;
    return ended;
  }

  /** Also waits for the turn that continues the first one after a vendor's limit. */
  async #whenEnded(run: PromptRun): Promise<TurnEnded> {
    for (;;) {
      const ended = this.#ended.get(run.turn ?? "") ?? (await run.ended.promise);
      if (ended.next === undefined || run.isCancelled) return ended;
      run.ended = Promise.withResolvers();
      run.ended.promise.catch(() => {});
      run.turn = ended.next.id;
    }
  }

  async #stopTurn(): Promise<void> {
    const run = this.#run;
    // A turn of another front end may run in the session. `#takeTurn` stops its own after the start.
    if (run === null || run.turn === null) return;
    if (await stopTurn(this.#api, this.id, run.turn)) run.ended.reject(new Fault("usage", "the turn was withdrawn"));
  }

  /** Asks the questions that ended a turn. True if the turn can go on: all of them are answered. */
  async #askAfterTurn({ turnId }: TurnEnded): Promise<boolean> {
    const asks = (await this.#api.ask.list({ session: this.id })).filter(({ turn }) => turn === turnId);
    for (const ask of asks) {
      if (await this.#questions.ask(this.#api, ask)) continue;
      const choices = ask.options.map((option) => `\n- ${option}`).join("");
      if (ask.call !== null) await this.#sendText(`${ask.question}${choices}`);
      return false;
    }
    return asks.length > 0;
  }

  #follow(): void {
    if (this.#follower !== null) return;
    const events = this.#api.turn.watch({ session: this.id, afterSeq: this.#seq, until: "never" });
    const follower: Follower = { feed: events[Symbol.asyncIterator](), isStopped: false, handled: Promise.resolve() };
    this.#follower = follower;
    void this.#readFeed(follower).catch((error: unknown) => {
      if (this.#follower === follower) this.#follower = null;
      if (follower.isStopped) return;
      this.#run?.ended.reject(error);
      if (!(error instanceof Fault)) this.#deps.log(`session ${this.id} is no longer followed: ${messageOf(error)}`);
    });
  }

  async #readFeed(follower: Follower): Promise<void> {
    for (;;) {
      const { value, done } = await follower.feed.next();
      if (follower.isStopped) return;
      if (done === true) throw new Fault("connection-lost", "the hub ended the session's events");
      this.#seq = value.seq;
      const handled = this.#handle(value);
      follower.handled = handled.catch(() => {});
      await handled;
    }
  }

  /** Resolves when the client has taken all updates, so that a slow client slows down only its own feed. */
  async #handle(event: Event): Promise<void> {
    if (event.seq > this.#shownSeq || "n" in event) await this.#show(event);
    if (event.type !== "turn.ended") return;
    this.#ended.set(event.turnId, event);
    for (const turn of [...this.#ended.keys()].slice(0, -maxEnded)) this.#ended.delete(turn);
    if (this.#run?.turn === event.turnId) this.#run.ended.resolve(event);
  }

  async #show(event: Event): Promise<void> {
    for (const update of this.#updates.read(event)) await this.#send(update);
    if (event.type === "turn.started" || event.type === "turn.ended") await this.#adopt(event.session);
    if (event.type === "warning.raised") await this.#sendWarning(event.message);
    if (event.type === "ask.opened") this.#questions.onOpened(this.#api, event.ask);
    if (event.type === "ask.closed") this.#questions.onClosed(event.ask);
    this.#usage.read(event);
    await this.#sendUsage();
  }

  /** Another front end may have changed the agent, the model or the name. */
  async #adopt(session: Session): Promise<void> {
    this.#session = session;
    await this.#sendTitle();
    const choices = initialChoices(session, this.#choices.policy, this.#offer);
    if (Bun.deepEquals(choices, this.#choices)) return;
    this.#choices = choices;
    await this.sendOptions();
  }

  async #sendTitle(): Promise<void> {
    const { name, task, updatedAt } = this.#session;
    const title = name ?? (task === null ? null : oneLine(task, maxTitle));
    if (title === null || title === this.#title) return;
    this.#title = title;
    await this.#send({ sessionUpdate: "session_info_update", title, updatedAt: new Date(updatedAt).toISOString() });
  }

  async #sendUsage(): Promise<void> {
    const usage = this.#usage.update(this.#offer.models);
    if (usage !== null) await this.#send({ sessionUpdate: "usage_update", ...usage });
  }

  async #sendWarning(text: string): Promise<void> {
    if (this.#deps.client.hasNotices()) await this.#send({ sessionUpdate: "notice", severity: "warning", title: text });
    else await this.#sendText(`Warning: ${text}`);
  }

  async #sendText(text: string): Promise<void> {
    const messageId = crypto.randomUUID();
    await this.#send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${text}\n\n` }, messageId });
  }

  async #send(update: SessionUpdate): Promise<void> {
    await this.#deps.client.update(this.id, update);
  }
}
