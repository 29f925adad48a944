// Adapter and reader of opencode. It prints finished parts, and a call together with its result. It prints no first
// event, no retries and no last event: a step without a tool call ends the turn.
import { join } from "node:path";
import type { Json } from "../../../kit/text/json.ts";
import { countAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import { addUsage, zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader, SignIn } from "./adapter.ts";
import { instructionsFile, instructionsOf, multiVendorFields, readStoredKey, vendorRoute } from "./multi-vendor.ts";
import { matchFailure } from "./failure-patterns.ts";
import { serverConfig } from "./server-config.ts";
import { opencodeUsage } from "../import/opencode.ts";
import { callPart } from "../import/parts.ts";
import { AnswerBuilder } from "./readers/answer-builder.ts";
import { readEventLine } from "./readers/json-line.ts";

const signIn: SignIn = {
  command: "opencode auth login, with an API key",
  file: (env, home) => join(env["XDG_DATA_HOME"] || join(home, ".local", "share"), "opencode", "auth.json"),
  read: (stored, vendor) => readStoredKey(stored, vendor, "api"),
  hosts: [],
};

export const opencode: Adapter = {
  ...multiVendorFields,
  name: "opencode",
  program: "opencode",
  takesServers: true,
  install: "npm install -g opencode-ai",
  signIn,
  files,
  env,
  args,
  forbiddenArgs:
    "--format --session -s --continue -c --fork --model -m --dir --attach --share --port --interactive -i " +
    "--command --title --pure --auto --variant",
  // The prompt goes to stdin. opencode quotes an argument that has spaces, and escapes the quotes in it.
  stdin: (launch) => launch.prompt,
  reader,
  failures: [[/session not found|ProviderModelNotFoundError|model not found|invalid session/i, "broken"]],
  sessionLost: /Session not found/,
};

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
    // Despite its name, this variable sets the directory of the user's `.opencode` and `.claude`.
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
    ...(launch.servers.list.length === 0 ? {} : { mcp: serversOf(launch) }),
    provider: { [route.provider]: provider },
    ...(endpoint === null ? {} : { enabled_providers: [route.provider] }),
    ...(model === null ? {} : { model: `${route.provider}/${model}`, small_model: `${route.provider}/${model}` }),
  };
}

/** The whole configuration is a variable, so it may contain the values. */
function serversOf(launch: CliLaunch): Json {
  return serverConfig(launch, {
    value: (variable) => launch.servers.values[variable] ?? "",
    stdio: ({ command, args: serverArgs, env: environment }) => ({ type: "local", command: [command, ...serverArgs], environment }),
    http: ({ url, headers }) => ({ type: "remote", url, headers, oauth: false }),
  });
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
  /** The answer of the current step. */
  answer: AnswerBuilder;
  /** Results of its calls. They are returned after the answer. */
  results: CliEvent[];
  usage: Usage;
  costUsd: number;
  /** Messages of reported failures: opencode often prints the same one twice. */
  failures: Set<string>;
};

function reader(): CliReader {
  const state: State = { session: "", answer: new AnswerBuilder(), results: [], usage: zeroUsage, costUsd: 0, failures: new Set() };
  return {
    line: (text) => readEventLine(text, (event) => [...sessionEvent(state, textAt(event, "sessionID")), ...read(state, event)]),
    end: () => flushStep(state),
  };
}

function sessionEvent(state: State, id: string): CliEvent[] {
  if (id === "" || id === state.session) return [];
  state.session = id;
  return [{ type: "session", id }];
}

function read(state: State, event: Json): CliEvent[] {
  const part = objectAt(event, "part");
  switch (event["type"]) {
    case "text":
      return state.answer.addText("text", textAt(part, "text"));
    case "reasoning":
      return state.answer.addText("thinking", textAt(part, "text"));
    case "tool_use":
      readToolUse(state, part);
      return [];
    case "step_finish":
      return finishStep(state, part);
    case "error":
      return readError(state, objectAt(event, "error"));
    default:
      return [];
  }
}

function readToolUse(state: State, part: Json | undefined): void {
  const toolState = objectAt(part, "state");
  const [call, name] = [textAt(part, "callID"), textAt(part, "tool")];
  const exit = numberAt(objectAt(toolState, "metadata"), "exit") ?? 0;
  const isError = textAt(toolState, "status") === "error";
  state.answer.add(callPart(call, name, toolState?.["input"]));
  const text = isError ? textAt(toolState, "error") : textAt(toolState, "output");
  state.results.push({ type: "result", call, name, text, isError: isError || exit !== 0 });
}

function finishStep(state: State, part: Json | undefined): CliEvent[] {
  const usage = opencodeUsage(objectAt(part, "tokens"));
  state.usage = addUsage(state.usage, usage);
  state.costUsd += countAt(part, "cost") ?? 0;
  const events = flushStep(state, usage);
  const reason = textAt(part, "reason");
  if (reason === "tool-calls") return events;
  events.push({ type: "usage", usage: state.usage, costUsd: state.costUsd || undefined });
  events.push(
    reason === "content-filter" ? { type: "failed", message: "the vendor refused to answer", kind: "refused" } : { type: "done" },
  );
  return events;
}

/** Returns the current step as one answer, followed by the results of its calls. */
function flushStep(state: State, usage?: Usage): CliEvent[] {
  const results = state.results;
  state.results = [];
  return [...state.answer.flush({ usage }), ...results];
}

function readError(state: State, error: Json | undefined): CliEvent[] {
  const data = objectAt(error, "data");
  const name = textAt(error, "name");
  const status = numberAt(data, "statusCode");
  const text = textAt(data, "message") || textAt(error, "message") || name || "opencode reported no reason";
  if (state.failures.has(text)) return [];
  state.failures.add(text);
  const details = [name, text, textAt(data, "responseBody"), status === undefined ? "" : `status ${status}`].join("\n");
  const message = status === undefined ? text : `${status}: ${text}`;
  return [...flushStep(state), { type: "failed", message, kind: matchFailure(details, opencode.failures) }];
}
