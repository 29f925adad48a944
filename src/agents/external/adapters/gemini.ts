// Gemini CLI: how it is started and what its lines mean. Its stream holds no thinking, gives usage once for the whole
// run, and a killed run ends with 0: only `result` says that a turn is over. It can't fork.
import { type Json, numberAt, objectAt, parseJson, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader } from "./adapter.ts";
import { matchFailure, type FailurePattern, plainMessage } from "./failure-patterns.ts";
import { callPart } from "../import/draft-node.ts";
import { repairGeminiTranscript } from "./gemini-transcript.ts";
import { garbageEvent } from "./readers/json-line.ts";
import { isLongPrompt, promptOnStdin } from "./long-prompt.ts";
import { createQuestionReader } from "./questions.ts";
import { geminiSignIn } from "../credentials/sign-ins.ts";

export const gemini: Adapter = {
  name: "gemini",
  program: "gemini",
  install: "npm install -g @google/gemini-cli",
  vendor: "gemini",
  wire: "gemini",
  signIn: geminiSignIn,
  keys: ["GEMINI_API_KEY"],
  ids: "ours",
  canFork: false,
  resumesAnywhere: false,
  efforts: ["low", "medium", "high"],
  takesRole: true,
  versionOf: (output) => /^v?(\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1] ?? null,
  files: (launch) => ({
    ".gemini/settings.json": JSON.stringify(settingsOf(launch)),
    ".gemini/policies/skein.toml": policy,
    // Read in every directory; empty when there is no role, since the file of an earlier turn may be there.
    ".gemini/GEMINI.md": launch.role ?? "",
  }),
  env,
  args,
  forbiddenArgs: [
    "--prompt",
    "-p",
    "--prompt-interactive",
    "-i",
    "--output-format",
    "-o",
    "--resume",
    "-r",
    "--session-id",
    "--session-file",
    "--model",
    "-m",
    "--yolo",
    "-y",
    "--approval-mode",
    "--sandbox",
    "-s",
    "--policy",
    "--admin-policy",
    "--allowed-mcp-server-names",
    "--extensions",
    "-e",
    "--include-directories",
    "--worktree",
    "-w",
    "--acp",
    "--experimental-acp",
    "--skip-trust",
  ],
  stdin: promptOnStdin,
  reader,
  questionsIn: createQuestionReader("ask_user"),
  failureOf: (message) => matchFailure(message, ownWords),
  isSessionLost: (message) => /Error resuming session|Invalid session identifier|number of function response parts/.test(message),
  transcript: (nativeId) => `.gemini/tmp/*/chats/session-*-${nativeId.slice(0, 8)}.jsonl`,
  repairTranscript: repairGeminiTranscript,
};

const ownWords: FailurePattern[] = [
  [/Error resuming session|Invalid session identifier|No previous sessions found/, "broken"],
  [/ModelNotFoundError|empty response with no text/, "broken"],
  [
    /Invalid auth method|set an Auth method|GEMINI_API_KEY environment variable not found|FatalAuthenticationError|Error authenticating/i,
    "auth",
  ],
];

/** A tool that is denied everywhere is not declared to the model. */
const policy = '[[rule]]\ntoolName = ["invoke_agent", "activate_skill"]\ndecision = "deny"\npriority = 999\n';

function settingsOf(launch: CliLaunch): Json {
  const { model, endpoint } = launch;
  return {
    general: {
      enableAutoUpdate: false,
      enableAutoUpdateNotification: false,
      // A second attempt in mid-answer prints the text again, and nothing in the stream tells it from the first.
      maxAttempts: 1,
      plan: { enabled: false },
      topicUpdateNarration: false,
      sessionRetention: { enabled: false },
    },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    security: { folderTrust: { enabled: false }, auth: { selectedType: endpoint === null ? "oauth-personal" : "gemini-api-key" } },
    tools: { useRipgrep: false, sandbox: false, shell: { enableInteractiveShell: false, showColor: false } },
    // Without its dynamic configuration it asks other models than the one that was named.
    experimental: { enableAgents: false, dynamicModelConfiguration: true },
    modelConfigs: {
      modelIdResolutions: model === null ? {} : { [model]: { default: model, contexts: [] } },
      customOverrides: overridesOf(launch),
    },
    hooksConfig: { enabled: false },
    skills: { enabled: false },
    admin: { mcp: { enabled: false }, extensions: { enabled: false }, skills: { enabled: false } },
    ide: { enabled: false },
    advanced: { ignoreLocalEnv: true, autoConfigureMemory: false },
  };
}

const budgets: Record<string, number> = { low: 2048, medium: 8192, high: 24_576 };

/** Levels since the third generation, budgets before; the third's first model knows two levels. */
function overridesOf({ model, effort }: CliLaunch): Json[] {
  if (model === null || effort === null) return [];
  const level = effort === "medium" && model.startsWith("gemini-3-pro") ? "high" : effort;
  const thinking = /^gemini-[12]/.test(model) ? { thinkingBudget: budgets[effort] } : { thinkingLevel: level.toUpperCase() };
  return [{ match: { model }, modelConfig: { generateContentConfig: { thinkingConfig: { includeThoughts: true, ...thinking } } } }];
}

function env({ configDir, endpoint }: CliLaunch): Record<string, string> {
  return {
    GEMINI_CLI_HOME: configDir,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    // It would start itself a second time for a larger heap.
    GEMINI_CLI_NO_RELAUNCH: "true",
    NO_COLOR: "1",
    ...(endpoint === null ? {} : { GOOGLE_GEMINI_BASE_URL: endpoint.url, GEMINI_API_KEY: endpoint.token }),
  };
}

/** No server and no extension is called "none": the flags go over what a project's own settings bring. */
function args(launch: CliLaunch): string[] {
  const { model, start } = launch;
  return [
    "--output-format",
    "stream-json",
    "--skip-trust",
    "--approval-mode",
    "yolo",
    "--allowed-mcp-server-names",
    "none",
    "--extensions",
    "none",
    ...(model === null ? [] : ["--model", model]),
    ...launch.addDirs.flatMap((dir) => ["--include-directories", dir]),
    ...(start.how === "new" ? ["--session-id", start.id] : ["--resume", start.id]),
    ...launch.extraArgs,
    ...(isLongPrompt(launch) ? [] : [`--prompt=${launch.prompt}`]),
  ];
}

type State = {
  /** Of the message that is being said: what follows a result belongs to the next one. */
  text: string;
  calls: Part[];
  names: Map<string, string>;
  model: string;
  error: string;
};

function reader(): CliReader {
  const state: State = { text: "", calls: [], names: new Map(), model: "", error: "" };
  return {
    line: (text) => {
      const event = parseJson(text);
      return event === null || textAt(event, "type") === "" ? garbageEvent(text) : read(state, event);
    },
    end: () => said(state),
  };
}

function read(state: State, event: Json): CliEvent[] {
  switch (event["type"]) {
    case "init":
      state.model = textAt(event, "model");
      return [{ type: "session", id: textAt(event, "session_id"), ...(state.model === "" ? {} : { model: state.model }) }];
    case "message":
      return message(state, event);
    case "tool_use":
      state.names.set(textAt(event, "tool_id"), textAt(event, "tool_name"));
      state.calls.push(callPart(textAt(event, "tool_id"), textAt(event, "tool_name"), event["parameters"]));
      return [];
    case "tool_result":
      return [...said(state), toolResult(state, event)];
    case "error":
      if (textAt(event, "severity") !== "warning") state.error = textAt(event, "message");
      return [];
    case "result":
      return [...said(state), ...result(state, event)];
    default:
      return [];
  }
}

function message(state: State, event: Json): CliEvent[] {
  const text = textAt(event, "content");
  if (textAt(event, "role") !== "assistant" || text === "") return [];
  const before = state.calls.length > 0 ? said(state) : [];
  state.text += text;
  return [...before, { type: "text.delta", text }];
}

/** The message so far, as one answer. */
function said(state: State): CliEvent[] {
  const parts: Part[] = [...(state.text === "" ? [] : [{ kind: "text" as const, text: state.text }]), ...state.calls];
  state.text = "";
  state.calls = [];
  return parts.length === 0 ? [] : [{ type: "answer", parts, ...(state.model === "" ? {} : { model: state.model }) }];
}

function toolResult(state: State, event: Json): CliEvent {
  const call = textAt(event, "tool_id");
  const text = textAt(event, "output") || textAt(objectAt(event, "error"), "message");
  return { type: "result", call, name: state.names.get(call) ?? "unknown", text, isError: textAt(event, "status") !== "success" };
}

function result(state: State, event: Json): CliEvent[] {
  const stats = objectAt(event, "stats");
  const total: CliEvent[] = stats === undefined ? [] : [{ type: "usage", usage: usageOf(stats), isThreadTotal: false, raw: stats }];
  if (textAt(event, "status") === "success") return [...total, { type: "done", isError: false }];
  const told = textAt(objectAt(event, "error"), "message") || state.error || "it gave no reason";
  const text = plainMessage(/^\[API Error: (.*)\](?:\n.*)?$/s.exec(told)?.[1] ?? told);
  const kind = gemini.failureOf(told) ?? gemini.failureOf(text);
  const failed: CliEvent = { type: "failed", message: text, ...(kind === null ? {} : { kind }) };
  return [...total, failed, { type: "done", isError: true, message: text }];
}

/** `input_tokens` contains the cached ones; thoughts are only in the total. */
function usageOf(stats: Json): Usage {
  const count = (key: string): number => numberAt(stats, key) ?? 0;
  const cacheRead = count("cached");
  return {
    input: Math.max(0, count("input_tokens") - cacheRead),
    output: Math.max(count("output_tokens"), count("total_tokens") - count("input_tokens")),
    cacheRead,
    cacheWrite: 0,
  };
}
