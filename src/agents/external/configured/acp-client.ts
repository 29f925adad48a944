// The client side of ACP (protocol version 1) for one turn, over the agent's stdin and stdout: initialize, open a
// session, set the model, send the prompt. acp-updates.ts reads the agent's updates.
import { Rpc, type RpcError, type RpcReply, noMethod } from "../../../kit/flow/rpc.ts";
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { AcpUpdates } from "./acp-updates.ts";
import type { CliEvent, CliLaunch, CliDialogue, CliServers, DialogueOutput } from "../adapters/adapter.ts";
import { matchFailure } from "../adapters/failure-patterns.ts";
import { garbageEvent } from "../adapters/readers/json-line.ts";

const protocolVersion = 1;
const authRequired = -32000;
const quietMs = 200;
const maxQuietRounds = 50;
const lostMessage = "can't resume its own session";
export const acpSessionLost = new RegExp(lostMessage);

type Failure = { message: string; kind?: TurnStatus | null };

export class AcpDialogue implements CliDialogue {
  readonly #launch: CliLaunch;
  readonly #out: DialogueOutput;
  readonly #rpc: Rpc;
  readonly #updates = new AcpUpdates();
  #events: CliEvent[] = [];
  #session: string | null = null;
  /** False while the agent may repeat earlier turns, which are already in the tree. */
  #isPrompted = false;
  #hasEnded = false;
  #noticeCount = 0;

  constructor(launch: CliLaunch, out: DialogueOutput) {
    this.#launch = launch;
    this.#out = out;
    this.#rpc = new Rpc({
      send: (frame) => out.write(`${frame}\n`),
      onNotification: (method, params) => this.#handleNotice(method, params),
      onRequest: (method, params) => this.#handleRequest(method, params),
    });
    void this.#runTurn().then((failure) => this.#finish(failure));
  }

  line(text: string): CliEvent[] {
    // Other lines, such as logs, get no reply.
    const isMessage = text.trimStart().startsWith("{") && this.#rpc.receive(text);
    return [...this.quiet(), ...(isMessage ? [] : garbageEvent(text))];
  }

  /** Returns the events since the last call. */
  quiet(): CliEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  end(): CliEvent[] {
    this.#events.push(...this.#updates.flush());
    this.#hasEnded = true;
    this.#rpc.close("it has ended");
    return this.quiet();
  }

  /** Asks the agent to stop its turn. Before the prompt it only closes stdin. */
  cancel(): void {
    if (this.#isPrompted && this.#session !== null) this.#rpc.notify("session/cancel", { sessionId: this.#session });
    else this.#out.end();
  }

  async #runTurn(): Promise<Failure | null> {
    const initialized = await this.#rpc.request("initialize", {
      protocolVersion,
      clientInfo: { name: "skein", version: "1" },
      // The agent's tools run in our sandbox. skein does nothing for it outside of the sandbox.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    if (!initialized.ok) return failureOf(initialized.error);
    const agent = isRecord(initialized.result) ? initialized.result : {};
    const version = agent["protocolVersion"];
    if (version !== protocolVersion)
      return { message: `it uses version ${String(version)} of ACP, skein uses version ${protocolVersion}`, kind: "broken" };
    const opened = await this.#open(agent);
    if (opened.failure !== null) return opened.failure;
    const failure = await this.#setOptions(opened.session);
    if (failure !== null) return failure;
    if (opened.isRepeated) await this.#awaitQuiet();
    return this.#prompt();
  }

  /** `agent` is the result of `initialize`. */
  async #open(agent: Json): Promise<{ failure: Failure } | { failure: null; session: Json; isRepeated: boolean }> {
    const { start, addDirs, directory } = this.#launch;
    const capabilities = objectAt(agent, "agentCapabilities");
    const sessions = objectAt(capabilities, "sessionCapabilities");
    const params = {
      cwd: directory,
      mcpServers: serversOf(this.#launch.servers, objectAt(capabilities, "mcpCapabilities")?.["http"] === true),
      ...(addDirs.length > 0 && isRecord(sessions?.["additionalDirectories"]) ? { additionalDirectories: addDirs } : {}),
    };
    const resume = isRecord(sessions?.["resume"]) ? "session/resume" : capabilities?.["loadSession"] === true ? "session/load" : null;
    const isNew = start.how === "new";
    const method = isNew ? "session/new" : resume;
    if (method === null) return { failure: { message: `${lostMessage}: it stores none`, kind: "broken" } };
    const reply = await this.#requestSignedIn(method, isNew ? params : { ...params, sessionId: start.id }, agent);
    if (!reply.ok) {
      const failure = failureOf(reply.error);
      const isLost = !isNew && failure.kind !== "auth";
      return { failure: isLost ? { message: `${lostMessage}: ${failure.message}`, kind: "broken" } : failure };
    }
    const opened = isRecord(reply.result) ? reply.result : {};
    this.#session = isNew ? textAt(opened, "sessionId") : start.id;
    const version = textAt(objectAt(agent, "agentInfo"), "version");
    // A session that can't be resumed is not stored.
    if (resume !== null) this.#events.push({ type: "session", id: this.#session, version: version || undefined });
    return { failure: null, session: opened, isRepeated: method === "session/load" };
  }

  /** Waits until the agent is silent: Gemini CLI repeats a session after it has reported it as loaded. */
  async #awaitQuiet(): Promise<void> {
    for (let round = 0, lastCount = -1; round < maxQuietRounds && lastCount !== this.#noticeCount && !this.#hasEnded; round += 1) {
      lastCount = this.#noticeCount;
      await Bun.sleep(quietMs);
    }
  }

  /** Signs in if the agent requires it, but only with a key: no user is there for a browser. */
  async #requestSignedIn(method: string, params: Json, agent: Json): Promise<RpcReply> {
    const reply = await this.#rpc.request(method, params);
    if (reply.ok || reply.error.code !== authRequired) return reply;
    const keyMethod = listAt(agent, "authMethods").find((auth) => /api[-_]?key|env/i.test(textAt(auth, "id")));
    if (keyMethod === undefined) return reply;
    const signedIn = await this.#rpc.request("authenticate", { methodId: textAt(keyMethod, "id") });
    return signedIn.ok ? this.#rpc.request(method, params) : signedIn;
  }

  /** Sets model and effort. Agents offer models as an option of the session, older ones as a separate list. */
  async #setOptions(opened: Json): Promise<Failure | null> {
    const { model, effort, vendor } = this.#launch;
    if (model !== null) {
      const names = vendor === undefined ? [model] : [`${vendor}/${model}`, model];
      const failure =
        objectAt(opened, "models") === undefined ? await this.#setOption(opened, "model", names) : await this.#setModel(opened, names);
      if (failure !== null) return failure;
    }
    return effort === null ? null : this.#setOption(opened, "thought_level", [effort]);
  }

  async #setModel(opened: Json, names: string[]): Promise<Failure | null> {
    const ids = listAt(objectAt(opened, "models"), "availableModels").map((info) => textAt(info, "modelId"));
    const modelId = findByName(ids, names) ?? names.at(-1);
    const reply = await this.#rpc.request("session/set_model", { sessionId: this.#session, modelId });
    return reply.ok ? null : failureOf(reply.error, `it does not accept the model ${modelId}`);
  }

  async #setOption(opened: Json, category: string, names: string[]): Promise<Failure | null> {
    const option = listAt(opened, "configOptions").find(
      (entry) => textAt(entry, "category") === category || textAt(entry, "id") === category,
    );
    const noun = category === "model" ? "model" : "effort";
    if (option === undefined) return { message: `it has no option for ${noun === "model" ? "a model" : "an effort"}`, kind: "broken" };
    const value = findByName(valuesOf(option), names);
    if (value === undefined) return { message: `it has no ${noun} ${names.at(-1)}`, kind: "broken" };
    if (value === option["currentValue"]) return null;
    const params = { sessionId: this.#session, configId: textAt(option, "id"), value };
    const reply = await this.#rpc.request("session/set_config_option", params);
    return reply.ok ? null : failureOf(reply.error, `it does not accept the ${noun} ${value}`);
  }

  async #prompt(): Promise<Failure | null> {
    this.#isPrompted = true;
    const { prompt: text, traceparent } = this.#launch;
    const meta = traceparent === undefined ? {} : { _meta: { traceparent } };
    const reply = await this.#rpc.request("session/prompt", { sessionId: this.#session, prompt: [{ type: "text", text }], ...meta });
    if (!reply.ok) return failureOf(reply.error);
    const reason = isRecord(reply.result) ? textAt(reply.result, "stopReason") : "";
    return reason === "end_turn" ? null : (stopReasons[reason] ?? { message: `it stopped: ${reason || "no reason was given"}` });
  }

  #finish(failure: Failure | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.push(...this.#updates.flush());
    if (failure !== null) this.#events.push({ type: "failed", ...failure });
    else this.#events.push(this.#updates.hasAnswered ? { type: "done" } : { type: "failed", message: "it ended without an answer" });
    this.#out.end();
  }

  #handleNotice(method: string, params: unknown): void {
    this.#noticeCount += 1;
    const update = isRecord(params) ? objectAt(params, "update") : undefined;
    if (method !== "session/update" || !this.#isPrompted || update === undefined) return;
    this.#events.push(...this.#updates.read(update));
  }

  /** Answers a permission request. In our sandbox everything is allowed; without it only reading is. */
  #handleRequest(method: string, params: unknown): RpcReply {
    if (method !== "session/request_permission" || !isRecord(params)) return noMethod(method);
    const call = objectAt(params, "toolCall") ?? {};
    const options = listAt(params, "options");
    const isAllowed = this.#launch.isSandboxed || ["read", "search", "think"].includes(textAt(call, "kind"));
    const kinds = isAllowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
    const option = kinds.map((kind) => options.find((entry) => textAt(entry, "kind") === kind)).find((entry) => entry !== undefined);
    this.#events.push(...this.#updates.permission(call, option !== undefined && isAllowed));
    const outcome = option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: textAt(option, "optionId") };
    return { ok: true, result: { outcome } };
  }
}

const stopReasons: Record<string, Failure> = {
  max_tokens: { message: "the answer reached its maximum number of tokens", kind: "too-long" },
  max_turn_requests: { message: "it reached its maximum number of requests per turn", kind: "budget" },
  refusal: { message: "the model refused to answer", kind: "refused" },
  cancelled: { message: "it reports that it was stopped", kind: "cancelled" },
};

function failureOf(error: RpcError, prefix = ""): Failure {
  const data = isRecord(error.data) ? error.data : {};
  const details = [textAt(data, "message"), textAt(data, "details"), typeof error.data === "string" ? error.data : ""];
  const texts = [prefix, error.message, ...details].filter((text) => text !== "");
  const message = [...new Set(texts)].join(": ");
  return { message, kind: error.code === authRequired ? "auth" : matchFailure(message) };
}

/** Finds the full name, else the model's id, else the id after another name of its vendor. */
function findByName(values: string[], names: string[]): string | undefined {
  return names.find((name) => values.includes(name)) ?? values.find((value) => value.endsWith(`/${names.at(-1)}`));
}

/** The values of an option, which may be in groups. */
function valuesOf(option: Json): string[] {
  const entries = listAt(option, "options").flatMap((entry) => (Array.isArray(entry["options"]) ? listAt(entry, "options") : [entry]));
  return entries.map((entry) => textAt(entry, "value"));
}

/** Agents must accept servers on stdio. Those over HTTP are only for agents that offer it. */
function serversOf({ list, values }: CliServers, hasHttp: boolean): Json[] {
  const pairs = (names: Readonly<Record<string, string>>) =>
    Object.entries(names).map(([name, variable]) => ({ name, value: values[variable] ?? "" }));
  return list.flatMap((server): Json[] => {
    if (server.kind === "stdio") return [{ name: server.name, command: server.command, args: server.args, env: pairs(server.env) }];
    return hasHttp ? [{ type: "http", name: server.name, url: server.url, headers: pairs(server.headers) }] : [];
  });
}
