// One turn of an agent that speaks ACP (protocol 1) on its stdin and stdout: greet, begin or go on with its session,
// tell it the model, prompt it, hear it out. What it reports on the way is read in acp-updates.ts.
import { Rpc, type RpcError, type RpcReply, noMethod } from "../../../kit/flow/rpc.ts";
import { isJson, type Json, listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { AcpUpdates } from "./acp-updates.ts";
import type { CliEvent, CliLaunch, CliDialogue, DialogueOutput } from "../adapters/adapter.ts";
import { matchFailure } from "../adapters/failure-patterns.ts";
import { garbageEvent } from "../adapters/readers/json-line.ts";

const protocolVersion = 1;
const authRequired = -32000;
const quietMs = 200;
const mostQuiet = 50;
const lostWords = "can't go on in its own session";

export function isAcpSessionLost(message: string): boolean {
  return message.includes(lostWords);
}

export function createAcpDialogue(launch: CliLaunch, out: DialogueOutput): CliDialogue {
  const talk = new AcpDialogue(launch, out);
  return {
    line: (text) => talk.line(text),
    quiet: () => talk.told(),
    end: () => talk.end(),
    cancel: () => talk.cancel(),
  };
}

/** What went wrong on the way to an answer. */
type Stop = { message: string; kind?: TurnStatus };

class AcpDialogue {
  readonly #launch: CliLaunch;
  readonly #out: DialogueOutput;
  readonly #rpc: Rpc;
  readonly #updates = new AcpUpdates();
  #events: CliEvent[] = [];
  #session: string | null = null;
  /** What an agent repeats of earlier turns while it loads a session is in the tree already. */
  #isListening = false;
  #isOver = false;
  #notices = 0;

  constructor(launch: CliLaunch, out: DialogueOutput) {
    this.#launch = launch;
    this.#out = out;
    this.#rpc = new Rpc({
      send: (frame) => out.write(`${frame}\n`),
      onNotification: (method, params) => this.#noticed(method, params),
      onRequest: (method, params) => this.#asked(method, params),
    });
    void this.#converse().then((stop) => this.#finish(stop));
  }

  line(text: string): CliEvent[] {
    // A stray line of a log is not answered.
    if (!text.trimStart().startsWith("{") || !this.#rpc.receive(text)) return [...this.told(), ...garbageEvent(text)];
    return this.told();
  }

  /** What has come up since, in order. */
  told(): CliEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  end(): CliEvent[] {
    this.#events.push(...this.#updates.flush());
    this.#isOver = true;
    this.#rpc.close("it has ended");
    return this.told();
  }

  /** It is to say itself that it has stopped; before the prompt there is nothing to stop. */
  cancel(): void {
    if (this.#isListening && this.#session !== null) this.#rpc.notify("session/cancel", { sessionId: this.#session });
    else this.#out.end();
  }

  async #converse(): Promise<Stop | null> {
    const greeting = await this.#rpc.request("initialize", {
      protocolVersion,
      clientInfo: { name: "skein", version: "1" },
      // Its tools work behind our walls; nothing is done for it outside of them.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    if (!greeting.ok) return stopOf(greeting.error);
    const hello = isJson(greeting.result) ? greeting.result : {};
    if (hello["protocolVersion"] !== protocolVersion)
      return { message: `it speaks version ${String(hello["protocolVersion"])} of ACP, skein version ${protocolVersion}`, kind: "broken" };
    const opened = await this.#open(hello);
    if (opened.stop !== null) return opened.stop;
    const wrong = await this.#choose(opened.session);
    if (wrong !== null) return wrong;
    if (opened.isRepeated) await this.#heardOut();
    return this.#prompt();
  }

  async #open(hello: Json): Promise<{ stop: Stop } | { stop: null; session: Json; isRepeated: boolean }> {
    const { start, addDirs, directory } = this.#launch;
    const can = objectAt(hello, "agentCapabilities");
    const sessions = objectAt(can, "sessionCapabilities");
    const place = {
      cwd: directory,
      mcpServers: [],
      ...(addDirs.length > 0 && isJson(sessions?.["additionalDirectories"]) ? { additionalDirectories: addDirs } : {}),
    };
    const method = isJson(sessions?.["resume"]) ? "session/resume" : can?.["loadSession"] === true ? "session/load" : null;
    if (start.how !== "new" && method === null) return { stop: { message: `${lostWords}: it keeps none`, kind: "broken" } };
    const reply =
      start.how === "new" || method === null
        ? await this.#ask("session/new", place, hello)
        : await this.#ask(method, { ...place, sessionId: start.id }, hello);
    if (!reply.ok) {
      const stop = stopOf(reply.error);
      const isLost = start.how !== "new" && stop.kind !== "auth";
      return { stop: isLost ? { message: `${lostWords}: ${stop.message}`, kind: "broken" } : stop };
    }
    const opened = isJson(reply.result) ? reply.result : {};
    this.#session = start.how === "new" ? textAt(opened, "sessionId") : start.id;
    const version = textAt(objectAt(hello, "agentInfo"), "version");
    // One that can't be gone on with is not worth remembering.
    if (method !== null) this.#events.push({ type: "session", id: this.#session, ...(version === "" ? {} : { version }) });
    return { stop: null, session: opened, isRepeated: start.how !== "new" && method === "session/load" };
  }

  /** Gemini CLI says that a session is loaded, and then repeats it: until a moment passes without a word. */
  async #heardOut(): Promise<void> {
    for (let round = 0, heard = -1; round < mostQuiet && heard !== this.#notices && !this.#isOver; round += 1) {
      heard = this.#notices;
      await Bun.sleep(quietMs);
    }
  }

  /** Where it wants to be signed in first, by a key: nobody is there to do it in a browser. */
  async #ask(method: string, params: Json, hello: Json): Promise<RpcReply> {
    const reply = await this.#rpc.request(method, params);
    if (reply.ok || reply.error.code !== authRequired) return reply;
    const byKey = listAt(hello, "authMethods").find((row) => /api[-_]?key|env/i.test(textAt(row, "id")));
    if (byKey === undefined) return reply;
    const signed = await this.#rpc.request("authenticate", { methodId: textAt(byKey, "id") });
    return signed.ok ? this.#rpc.request(method, params) : signed;
  }

  /** Agents offer their models as an option of the session, older ones as a list of its own. */
  async #choose(opened: Json): Promise<Stop | null> {
    const { model, effort, vendor } = this.#launch;
    if (model !== null) {
      const named = vendor === undefined ? [model] : [`${vendor}/${model}`, model];
      const stop =
        objectAt(opened, "models") === undefined ? await this.#setOption(opened, "model", named) : await this.#setModel(opened, named);
      if (stop !== null) return stop;
    }
    return effort === null ? null : this.#setOption(opened, "thought_level", [effort]);
  }

  async #setModel(opened: Json, named: string[]): Promise<Stop | null> {
    const ids = listAt(objectAt(opened, "models"), "availableModels").map((row) => textAt(row, "modelId"));
    const modelId = pick(ids, named) ?? named.at(-1);
    const reply = await this.#rpc.request("session/set_model", { sessionId: this.#session, modelId });
    return reply.ok ? null : stopOf(reply.error, `it does not take the model ${modelId}`);
  }

  async #setOption(opened: Json, category: string, named: string[]): Promise<Stop | null> {
    const option = listAt(opened, "configOptions").find((row) => textAt(row, "category") === category || textAt(row, "id") === category);
    const what = category === "model" ? "model" : "effort";
    if (option === undefined) return { message: `it has no way to be told a ${what}`, kind: "broken" };
    const value = pick(valuesOf(option), named);
    if (value === undefined) return { message: `it does not know the ${what} ${named.at(-1)}`, kind: "broken" };
    if (value === option["currentValue"]) return null;
    const params = { sessionId: this.#session, configId: textAt(option, "id"), value };
    const reply = await this.#rpc.request("session/set_config_option", params);
    return reply.ok ? null : stopOf(reply.error, `it does not take the ${what} ${value}`);
  }

  async #prompt(): Promise<Stop | null> {
    this.#isListening = true;
    const prompt = [{ type: "text", text: this.#launch.prompt }];
    const reply = await this.#rpc.request("session/prompt", { sessionId: this.#session, prompt });
    if (!reply.ok) return stopOf(reply.error);
    const reason = isJson(reply.result) ? textAt(reply.result, "stopReason") : "";
    return reason === "end_turn" ? null : (stopReasons[reason] ?? { message: `it stopped: ${reason || "no reason was given"}` });
  }

  #finish(stop: Stop | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.push(...this.#updates.flush());
    if (stop === null) {
      const isError = !this.#updates.hasAnswered;
      this.#events.push({ type: "done", isError, ...(isError ? { message: "it ended without an answer" } : {}) });
    } else this.#events.push({ type: "failed", ...stop });
    this.#out.end();
  }

  #noticed(method: string, params: unknown): void {
    this.#notices += 1;
    const update = isJson(params) ? objectAt(params, "update") : undefined;
    if (method !== "session/update" || !this.#isListening || update === undefined) return;
    this.#events.push(...this.#updates.read(update));
  }

  /** Behind our walls everything is allowed, since nothing can leave them; without them only looking is. */
  #asked(method: string, params: unknown): RpcReply {
    if (method !== "session/request_permission" || !isJson(params)) return noMethod(method);
    const call = objectAt(params, "toolCall") ?? {};
    const options = listAt(params, "options");
    const isAllowed = this.#launch.isSandboxed || ["read", "search", "think"].includes(textAt(call, "kind"));
    const wanted = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
    const option = wanted.map((kind) => options.find((row) => textAt(row, "kind") === kind)).find((row) => row !== undefined);
    this.#events.push(...this.#updates.permission(call, option !== undefined && isAllowed));
    const outcome = option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: textAt(option, "optionId") };
    return { ok: true, result: { outcome } };
  }
}

const stopReasons: Record<string, Stop> = {
  max_tokens: { message: "the answer was cut at the most tokens it may have", kind: "too-long" },
  max_turn_requests: { message: "it made as many requests as one turn may have", kind: "budget" },
  refusal: { message: "the model refused to answer", kind: "refused" },
  cancelled: { message: "it says that it was stopped", kind: "cancelled" },
};

function stopOf(error: RpcError, before = ""): Stop {
  const data = isJson(error.data) ? error.data : {};
  const more = [textAt(data, "message"), textAt(data, "details"), typeof error.data === "string" ? error.data : ""];
  const words = [before, error.message, ...more].filter((text) => text !== "");
  const message = [...new Set(words)].join(": ");
  const kind = error.code === authRequired ? "auth" : matchFailure(message);
  return { message, ...(kind === null ? {} : { kind }) };
}

/** By the whole name, the id, or an id behind some other name of its vendor. */
function pick(values: string[], named: string[]): string | undefined {
  return (
    named.map((name) => values.find((value) => value === name)).find((value) => value !== undefined) ??
    values.find((value) => value.endsWith(`/${named.at(-1)}`))
  );
}

/** They may stand in groups. */
function valuesOf(option: Json): string[] {
  const rows = listAt(option, "options").flatMap((row) => (Array.isArray(row["options"]) ? listAt(row, "options") : [row]));
  return rows.map((row) => textAt(row, "value"));
}
