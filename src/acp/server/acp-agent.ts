// The agent of one connection: a table of the protocol's methods over the sessions that the client has open.
import { agent, type AgentApp, type AgentContext, type ClientCapabilities, type McpServer } from "@agentclientprotocol/sdk";
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { isRecord } from "../../kit/text/json.ts";
import type { Api } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { configuredTurn } from "../../protocol/api/turn-options.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { McpServerEntries } from "../../protocol/mcp/server-entry.ts";
import { clientServers } from "../session/client-servers.ts";
import { createClient } from "../session/client.ts";
import { listSessions } from "../session/list-sessions.ts";
import { OpenSession } from "../session/open-session.ts";
import { initializeAnswer, localCredentials } from "./initialize.ts";
import { invalidParams, notFound, rpcCodes, toRequestError } from "./request-errors.ts";

export type AcpDeps = {
  version: string;
  /** The directory for requests that name none. */
  directory: string;
  /** The project that a directory belongs to. */
  projectOf: (directory: string) => string;
  /** Returns an Api whose turns outlive this process. Connects again if the last one no longer answers. */
  connect: (directory: string) => Promise<Api>;
  /** Prints a line for the user, never to stdout. */
  log: (line: string) => void;
};

/** `close` stops following all sessions; their turns continue. */
export function createAcpAgent(deps: AcpDeps): { app: AgentApp; close: () => void } {
  const sessions = new Sessions(deps);
  const { handle } = sessions;
  const app = agent({ name: "skein" })
    .onConnect((connection) => sessions.connected(connection.client))
    .onRequest("initialize", ({ params }) => {
      sessions.capabilities = params.clientCapabilities ?? {};
      return initializeAnswer(params, deps.version);
    })
    .onRequest("authenticate", ({ params }) => handle(() => sessions.authenticate(params.methodId)))
    .onRequest("session/new", ({ params }) => handle(() => sessions.create(params)))
    .onRequest("session/load", ({ params }) => handle(() => sessions.find(params, { isRepeated: true })))
    .onRequest("session/resume", ({ params }) => handle(() => sessions.find(params, { isRepeated: false })))
    .onRequest("session/list", ({ params }) => handle(() => sessions.list(params.cwd ?? null, params.cursor ?? null)))
    .onRequest("session/close", ({ params }) => handle(() => sessions.close(params.sessionId)))
    .onRequest("session/delete", ({ params }) => handle(() => sessions.remove(params.sessionId)))
    .onRequest("session/set_mode", ({ params }) => handle(() => sessions.setMode(params.sessionId, params.modeId)))
    .onRequest("session/set_config_option", ({ params }) =>
      handle(() => sessions.setOption(params.sessionId, params.configId, String(params.value))),
    )
    .onRequest("session/prompt", ({ params, signal }) => handle(() => sessions.require(params.sessionId).prompt(params, signal)))
    .onNotification("session/cancel", ({ params }) => sessions.require(params.sessionId).cancel())
    .onRequest("session/fork", objectParams, ({ params }) => handle(() => sessions.fork(params, null)))
    .onRequest("_skein/fork", objectParams, ({ params }) => handle(() => sessions.fork(params, textIn(params, "messageId"))))
    .onRequest("_skein/graft", objectParams, ({ params }) => handle(() => sessions.graft(params)));
  return { app, close: () => sessions.disconnect() };
}

type Params = Record<string, unknown>;
type Place = { cwd: string; additionalDirectories?: string[]; mcpServers?: McpServer[] };

class Sessions {
  capabilities: ClientCapabilities = {};
  readonly #deps: AcpDeps;
  readonly #open = new Map<string, OpenSession>();
  #context: AgentContext | null = null;

  constructor(deps: AcpDeps) {
    this.#deps = deps;
  }

  connected(context: AgentContext): void {
    this.#context = context;
  }

  disconnect(): void {
    for (const session of this.#open.values()) session.disconnect();
    this.#open.clear();
  }

  readonly handle = async <Result>(act: () => Result | Promise<Result>): Promise<Result> => {
    try {
      return await act();
    } catch (error) {
      throw toRequestError(error, this.#deps.log);
    }
  };

  /** skein stores no key, so it only checks that a turn could start. The error says what to set. */
  async authenticate(method: string): Promise<Record<string, never>> {
    if (method !== localCredentials) throw invalidParams(`there is no sign-in "${method}": ${localCredentials}`);
    const { directory } = this.#deps;
    const api = await this.#deps.connect(directory);
    const settings = await api.config.values();
    await api.turn.check({ ...configuredTurn(settings), agent: settings.agent, model: settings.model, isNew: true, directory });
    return {};
  }

  async create(params: Place) {
    const directory = requireDirectory(params.cwd);
    const api = await this.#deps.connect(directory);
    const { agent: agentName, model, toolLevel } = await api.config.values();
    const find = { by: "new" } as const;
    const request = { directory, find, agent: agentName, model, task: null, toolLevel, parentSession: null, transcriptDir: null };
    return this.#answer(await this.#add(await api.session.open(request), params));
  }

  async find({ sessionId, ...place }: Place & { sessionId: string }, { isRepeated }: { isRepeated: boolean }) {
    const session = await this.#stored(sessionId, requireDirectory(place.cwd));
    const wasOpen = this.#open.has(session.id);
    const open = await this.#add(session, place);
    try {
      await open.read({ isRepeated });
      // A client that loads a session knows it. Nothing but new events may follow the answer.
      if (isRepeated) await open.announce();
    } catch (error) {
      // A prompt of an open session may wait for its turn.
      if (wasOpen) void open.start().catch(() => {});
      else this.#forget(open);
      throw error;
    }
    const { sessionId: _, ...state } = this.#answer(open);
    return state;
  }

  async list(cwd: string | null, cursor: string | null) {
    const directory = cwd === null ? this.#deps.directory : requireAbsolute(cwd);
    const api = await this.#deps.connect(directory);
    return listSessions(api, { project: cwd === null ? null : this.#deps.projectOf(directory), cursor });
  }

  async close(id: string): Promise<Record<string, never>> {
    const open = this.require(id);
    await open.stopPrompt();
    this.#forget(open);
    return {};
  }

  /** The session is archived: it leaves all lists, and `skein restore` brings it back. Without such a session nothing happens. */
  async remove(id: string): Promise<Record<string, never>> {
    const open = this.#open.get(id);
    const { directory } = this.#deps;
    const api = open?.api ?? (await this.#deps.connect(directory));
    try {
      const { id: session } = await api.session.find({ wanted: requireId(id), directory });
      await open?.stopPrompt();
      await api.session.archive({ session });
    } catch (error) {
      if (toRequestError(error, this.#deps.log).code !== rpcCodes.notFound) throw error;
    }
    if (open !== undefined) this.#forget(open);
    return {};
  }

  #forget(open: OpenSession): void {
    open.disconnect();
    if (this.#open.get(open.id) === open) this.#open.delete(open.id);
  }

  async setMode(id: string, mode: string): Promise<Record<string, never>> {
    const session = this.require(id);
    await session.setOption("policy", mode);
    await session.sendOptions();
    return {};
  }

  async setOption(id: string, option: string, value: string) {
    const session = this.require(id);
    await session.setOption(option, value);
    if (option === "policy") await session.sendMode();
    return { configOptions: session.state.configOptions };
  }

  /** A new session at a message, or at the tip. The old session stays where it is. */
  async fork(params: Params, messageId: string | null) {
    const id = requireText(params, "sessionId");
    const open = this.#open.get(id);
    const { directory } = this.#deps;
    const api = open?.api ?? (await this.#deps.connect(directory));
    const session = await this.#stored(id, directory);
    const at = messageId === null ? null : (open?.nodeOf(messageId) ?? messageId);
    const created = await api.session.fork({ session: session.id, at, name: null });
    const forked = await this.#add(created, { cwd: session.directory }, open?.mcpServers);
    await forked.read({ isRepeated: false });
    return this.#answer(forked);
  }

  /** Adds the conclusion of one session to another one. */
  async graft(params: Params): Promise<{ messageId: string }> {
    const { directory } = this.#deps;
    const from = await this.#stored(requireText(params, "fromSessionId"), directory);
    const into = await this.#stored(requireText(params, "sessionId"), directory);
    const node = await (await this.#deps.connect(directory)).graft.make({ from: from.id, into: into.id });
    return { messageId: node.id };
  }

  require(id: string): OpenSession {
    const session = this.#open.get(id);
    if (session !== undefined) return session;
    throw notFound(`session ${id.slice(0, 100)} is not open: create, load or resume it first`);
  }

  async #stored(id: string, directory: string): Promise<Session> {
    return (await this.#deps.connect(directory)).session.find({ wanted: requireId(id), directory });
  }

  async #add(
    session: Session,
    { additionalDirectories = [], mcpServers = [] }: Place,
    inherited: McpServerEntries = {},
  ): Promise<OpenSession> {
    const { log, connect } = this.#deps;
    const context = () => this.#context!;
    const client = createClient({ context, capabilities: () => this.capabilities, log });
    const place = {
      addDirs: additionalDirectories.map(requireDirectory),
      mcpServers: { ...inherited, ...clientServers(mcpServers) },
    };
    let known = this.#open.get(session.id);
    if (known === undefined) {
      const open = await OpenSession.open({ session, connect: () => connect(session.directory), client, log, ...place });
      // The client may have opened it twice at once.
      known = this.#open.get(session.id);
      if (known === undefined) {
        this.#open.set(session.id, open);
        return open;
      }
    }
    await known.reopen(place);
    return known;
  }

  /** Further updates follow after the answer. */
  #answer(open: OpenSession) {
    const start = () =>
      open.start().catch((error: unknown) => this.#deps.log(`session ${open.id} could not be followed: ${messageOf(error)}`));
    setTimeout(() => void start());
    return { sessionId: open.id, ...open.state };
  }
}

function requireId(id: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  throw notFound(`there is no session ${id.slice(0, 100)}`);
}

function requireAbsolute(path: string): string {
  if (isAbsolute(path)) return path;
  throw invalidParams(`the directory must be absolute: ${path.slice(0, 200)}`);
}

function requireDirectory(path: string): string {
  if (statSync(requireAbsolute(path), { throwIfNoEntry: false })?.isDirectory() === true) return path;
  throw invalidParams(`there is no directory ${path.slice(0, 200)}`);
}

function objectParams(params: unknown): Params {
  if (isRecord(params)) return params;
  throw invalidParams("the params must be an object");
}

function textIn(params: Params, name: string): string | null {
  const value = params[name] ?? null;
  if (value === null || typeof value === "string") return value;
  throw invalidParams(`${name} must be a text`);
}

function requireText(params: Params, name: string): string {
  const value = textIn(params, name);
  if (value === null || value === "") throw invalidParams(`${name} is missing`);
  return value;
}
