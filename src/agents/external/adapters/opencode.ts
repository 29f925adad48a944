// Adapter and reader of opencode. It prints finished parts, and a call together with its result. It prints no first
// event, no retries and no last event: a step without a tool call ends the turn.
import { join } from "node:path";
import type { Json } from "../../../kit/text/json.ts";
import { numberAt, objectAt, parseJson, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import { addUsage, zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader, SignIn } from "./adapter.ts";
import { instructionsFile, instructionsOf, readStoredKey, vendorKeyVariables, vendorRoute } from "./multi-vendor.ts";
import { matchFailure, type FailurePattern } from "./failure-patterns.ts";
import { callPart } from "../import/draft-node.ts";
import { garbageEvent } from "./readers/json-line.ts";

const signIn: SignIn = {
  command: "opencode auth login, with an API key",
  file: (env, home) => join(env["XDG_DATA_HOME"] || join(home, ".local", "share"), "opencode", "auth.json"),
  read: (stored, vendor) => readStoredKey(stored, vendor, "api"),
  hosts: [],
};

export const opencode: Adapter = {
  name: "opencode",
  program: "opencode",
  install: "npm install -g opencode-ai",
  vendor: "anthropic",
  wire: "anthropic",
  vendorOf: (model) => {
    const { vendor, wire } = vendorRoute(model);
    return { vendor, wire };
  },
  signIn,
  keys: vendorKeyVariables,
  ids: "theirs",
  efforts: ["low", "medium", "high", "xhigh"],
  takesRole: true,
  versionOf: (output) => /^v?(\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1] ?? null,
  files,
  env,
  args,
  forbiddenArgs: [
    "--format",
    "--session",
    "-s",
    "--continue",
    "-c",
    "--fork",
    "--model",
    "-m",
    "--dir",
    "--attach",
    "--share",
    "--port",
    "--interactive",
    "-i",
    "--command",
    "--title",
    "--pure",
    "--auto",
    "--variant",
    "--",
  ],
  // The prompt goes to stdin. opencode quotes an argument that has spaces, and escapes the quotes in it.
  stdin: (launch) => launch.prompt,
  reader,
  failureOf: (message) => matchFailure(message, failures),
  isSessionLost: (message) => /Session not found/.test(message),
  transcript: () => "data/opencode/opencode.db",
};

const failures: FailurePattern[] = [
  [/session not found|ProviderModelNotFoundError|model not found|invalid session/i, "broken"],
  [/ProviderAuthError/, "auth"],
];

/** With this package beside its configuration, opencode does not try to install its plugin at each start. */
const plugin = { dependencies: { "@opencode-ai/plugin": "*" } };

function files(launch: CliLaunch): Record<string, string> {
  return {
    "config/opencode/package.json": JSON.stringify(plugin),
    "config/opencode/package-lock.json": JSON.stringify({ lockfileVersion: 3, packages: { "": plugin } }),
    "config/opencode/node_modules/.keep": "",
    [instructionsFile(launch)]: instructionsOf(launch),
  };
}

function env(launch: CliLaunch): Record<string, string> {
  const { configDir, endpoint } = launch;
  return {
    XDG_CONFIG_HOME: `${configDir}/config`,
    XDG_DATA_HOME: `${configDir}/data`,
    XDG_STATE_HOME: `${configDir}/state`,
    XDG_CACHE_HOME: `${configDir}/cache`,
    // Despite its name, the directory of the user's `.opencode` and `.claude`.
    OPENCODE_TEST_HOME: `${configDir}/home`,
    OPENCODE_CONFIG_CONTENT: JSON.stringify(configOf(launch)),
    // opencode 1.18 still loads a project's `.opencode/plugin/`; only our sandbox restricts those.
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
    OPENCODE_DISABLE_EXTERNAL_SKILLS: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_SHARE: "1",
    NO_COLOR: "1",
    ...(endpoint === null ? {} : { [vendorRoute(launch.model).keyVariable]: endpoint.token }),
  };
}

function configOf(launch: CliLaunch): Json {
  const { model, endpoint, directory, configDir } = launch;
  const route = vendorRoute(model);
  const provider = {
    ...(endpoint === null ? {} : { options: { baseURL: `${endpoint.url}${route.path}`, apiKey: `{env:${route.keyVariable}}` } }),
    // Declares a model that opencode's catalogue does not have.
    ...(model === null ? {} : { models: { [model]: variantsOf(model) } }),
  };
  return {
    autoupdate: false,
    share: "disabled",
    snapshot: false,
    lsp: false,
    formatter: false,
    permission: { "*": "allow", task: "deny", question: "deny", skill: "deny" },
    // The project's configuration is disabled, and its AGENTS.md with it.
    instructions: [`${directory}/AGENTS.md`, `${configDir}/${instructionsFile(launch)}`],
    provider: { [route.provider]: provider },
    ...(endpoint === null ? {} : { enabled_providers: [route.provider] }),
    ...(model === null ? {} : { model: `${route.provider}/${model}`, small_model: `${route.provider}/${model}` }),
  };
}

const budgets = { low: 2048, medium: 8192, xhigh: 30_000 };

/** For models with a thinking budget, opencode itself has only "high" and "max". */
function variantsOf(model: string): Json {
  if (!/^claude-3-7|^claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|-latest)?$/.test(model)) return {};
  const variant = (budgetTokens: number): Json => ({ thinking: { type: "enabled", budgetTokens } });
  return { variants: Object.fromEntries(Object.entries(budgets).map(([effort, budget]) => [effort, variant(budget)])) };
}

function args(launch: CliLaunch): string[] {
  const { model, effort, start } = launch;
  return [
    "run",
    "--format",
    "json",
    "--auto",
    "--pure",
    "--thinking",
    // Without a title, opencode sends a second request to make one.
    "--title",
    "skein",
    ...(model === null ? [] : ["--model", `${vendorRoute(model).provider}/${model}`]),
    ...(effort === null ? [] : ["--variant", effort]),
    ...(start.how === "new" ? [] : ["--session", start.id]),
    ...(start.how === "fork" ? ["--fork"] : []),
    ...launch.extraArgs,
  ];
}

type State = {
  session: string;
  /** Parts and results of the current step. */
  parts: Part[];
  results: CliEvent[];
  usage: Usage;
  costUsd: number;
  raw: unknown[];
  failed: Set<string>;
};

function reader(): CliReader {
  const state: State = { session: "", parts: [], results: [], usage: zeroUsage, costUsd: 0, raw: [], failed: new Set() };
  return {
    line: (text) => {
      const event = parseJson(text);
      if (event === null || textAt(event, "type") === "") return garbageEvent(text);
      return [...sessionEvent(state, textAt(event, "sessionID")), ...read(state, event)];
    },
    end: () => flushStep(state, undefined),
  };
}

function sessionEvent(state: State, id: string): CliEvent[] {
  if (id === "" || id === state.session) return [];
  state.session = id;
  return [{ type: "session", id }];
}

function read(state: State, event: Json): CliEvent[] {
  const part = objectAt(event, "part");
  const text = textAt(part, "text");
  switch (event["type"]) {
    case "text":
      if (text === "") return [];
      state.parts.push({ kind: "text", text });
      return [{ type: "text.delta", text }];
    case "reasoning":
      if (text === "") return [];
      state.parts.push({ kind: "thinking", text });
      return [{ type: "thinking.delta", text }];
    case "tool_use":
      toolUse(state, part);
      return [];
    case "step_finish":
      return stepFinish(state, part);
    case "error":
      return failure(state, objectAt(event, "error"));
    default:
      return [];
  }
}

function toolUse(state: State, part: Json | undefined): void {
  const toolState = objectAt(part, "state");
  const [call, name] = [textAt(part, "callID"), textAt(part, "tool")];
  const exit = numberAt(objectAt(toolState, "metadata"), "exit") ?? 0;
  const isError = textAt(toolState, "status") === "error";
  state.parts.push(callPart(call, name, toolState?.["input"]));
  const text = isError ? textAt(toolState, "error") : textAt(toolState, "output");
  state.results.push({ type: "result", call, name, text, isError: isError || exit !== 0 });
}

function stepFinish(state: State, part: Json | undefined): CliEvent[] {
  const usage = usageOf(objectAt(part, "tokens"));
  state.usage = addUsage(state.usage, usage);
  state.costUsd += numberAt(part, "cost") ?? 0;
  state.raw.push(part?.["tokens"]);
  const reason = textAt(part, "reason");
  const answer = flushStep(state, usage);
  if (reason === "tool-calls") return answer;
  const { costUsd, raw } = state;
  const total: CliEvent = { type: "usage", usage: state.usage, isThreadTotal: false, raw: [...raw], ...(costUsd > 0 ? { costUsd } : {}) };
  if (reason !== "content-filter") return [...answer, total, { type: "done", isError: false }];
  const message = "the vendor refused to answer";
  return [...answer, total, { type: "failed", message, kind: "refused" }, { type: "done", isError: true, message }];
}

/** Returns the current step as one answer, followed by the results of its calls. */
function flushStep(state: State, usage: Usage | undefined): CliEvent[] {
  const { parts, results } = state;
  state.parts = [];
  state.results = [];
  if (parts.length === 0) return [];
  return [{ type: "answer", parts, ...(usage === undefined ? {} : { usage }) }, ...results];
}

/** opencode counts thinking separately from the output. */
function usageOf(tokens: Json | undefined): Usage {
  const cache = objectAt(tokens, "cache");
  return {
    input: numberAt(tokens, "input") ?? 0,
    output: (numberAt(tokens, "output") ?? 0) + (numberAt(tokens, "reasoning") ?? 0),
    cacheRead: numberAt(cache, "read") ?? 0,
    cacheWrite: numberAt(cache, "write") ?? 0,
  };
}

/** Reports each failure once: opencode often prints the same one twice. */
function failure(state: State, error: Json | undefined): CliEvent[] {
  const data = objectAt(error, "data");
  const name = textAt(error, "name");
  const status = numberAt(data, "statusCode");
  const text = textAt(data, "message") || textAt(error, "message") || name || "it gave no reason";
  if (state.failed.has(text)) return [];
  state.failed.add(text);
  const kind = opencode.failureOf([name, text, textAt(data, "responseBody"), status === undefined ? "" : `status ${status}`].join("\n"));
  const message = status === undefined ? text : `${status}: ${text}`;
  return [...flushStep(state, undefined), { type: "failed", message, ...(kind === null ? {} : { kind }) }];
}
