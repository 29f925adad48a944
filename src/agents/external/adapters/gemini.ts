// Adapter and reader of Gemini CLI. Its stream has no thinking, and usage only once for the whole run. A killed run
// exits with 0, so only a `result` line means that a turn has ended. Gemini CLI can't fork its sessions.
import { join } from "node:path";
import type { Json } from "../../../kit/text/json.ts";
import { countAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader, SignIn } from "./adapter.ts";
import { matchFailure, plainMessage } from "./failure-patterns.ts";
import { serverConfig, type ServerForm, variableReference } from "./server-config.ts";
import { callPart } from "../import/parts.ts";
import { repairGeminiTranscript } from "./gemini-transcript.ts";
import { AnswerBuilder } from "./readers/answer-builder.ts";
import { readEventLine } from "./readers/json-line.ts";

/** Several processes may renew Google's tokens at once. Gemini CLI writes them into the same file. */
const signIn: SignIn = {
  command: "gemini, and choose to sign in with Google",
  file: (env, home) => join(env["GEMINI_CLI_HOME"] || home, ".gemini", "oauth_creds.json"),
  read: (stored) => (textAt(stored, "refresh_token") === "" ? null : { how: "file", isExclusive: false, note: "" }),
  linkedAs: ".gemini/oauth_creds.json",
  hosts: ["cloudcode-pa.googleapis.com", "oauth2.googleapis.com"],
};

export const gemini: Adapter = {
  name: "gemini",
  program: "gemini",
  install: "npm install -g @google/gemini-cli",
  vendor: "gemini",
  signIn,
  keys: ["GEMINI_API_KEY"],
  efforts: ["low", "medium", "high"],
  takesRole: true,
  takesServers: true,
  version: /^v?(\d+\.\d+\.\d+\S*)\s*$/m,
  files: (launch) => ({
    ".gemini/settings.json": JSON.stringify(settingsOf(launch)),
    ".gemini/policies/skein.toml": policy,
    // Gemini CLI reads this file for every directory. It is empty without a role, to replace the file of an earlier turn.
    ".gemini/GEMINI.md": launch.role ?? "",
  }),
  env,
  args,
  forbiddenArgs:
    "--prompt -p --prompt-interactive -i --output-format -o --resume -r --session-id --session-file --model -m " +
    "--yolo -y --approval-mode --sandbox -s --policy --admin-policy --allowed-mcp-server-names --extensions -e " +
    "--include-directories --worktree -w --acp --experimental-acp --skip-trust",
  stdin: ({ prompt }) => prompt,
  reader,
  questionTool: "ask_user",
  failures: [
    [/Error resuming session|Invalid session identifier|No previous sessions found/, "broken"],
    [/ModelNotFoundError|empty response with no text/, "broken"],
  ],
  forgetsRefusedPrompt: true,
  sessionLost: /Error resuming session|Invalid session identifier|number of function response parts/,
  transcriptRepair: {
    glob: (sessionId) => `.gemini/tmp/*/chats/session-*-${sessionId.slice(0, 8)}.jsonl`,
    repair: repairGeminiTranscript,
  },
};

/** A denied tool is not declared to the model. */
const policy = '[[rule]]\ntoolName = ["invoke_agent", "activate_skill"]\ndecision = "deny"\npriority = 999\n';

function settingsOf(launch: CliLaunch): Json {
  const { model, endpoint } = launch;
  return {
    general: {
      enableAutoUpdate: false,
      enableAutoUpdateNotification: false,
      // A second attempt prints the text again, and the stream does not mark it as a repetition.
      maxAttempts: 1,
      plan: { enabled: false },
      topicUpdateNarration: false,
      sessionRetention: { enabled: false },
    },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    security: { folderTrust: { enabled: false }, auth: { selectedType: endpoint === null ? "oauth-personal" : "gemini-api-key" } },
    tools: { useRipgrep: false, sandbox: false, shell: { enableInteractiveShell: false, showColor: false } },
    // Without `dynamicModelConfiguration`, Gemini CLI uses other models than the named one.
    experimental: { enableAgents: false, dynamicModelConfiguration: true },
    modelConfigs: {
      modelIdResolutions: model === null ? {} : { [model]: { default: model, contexts: [] } },
      customOverrides: overridesOf(launch),
    },
    hooksConfig: { enabled: false },
    skills: { enabled: false },
    mcpServers: serverConfig(launch, serverForm),
    admin: { mcp: { enabled: launch.servers.list.length > 0 }, extensions: { enabled: false }, skills: { enabled: false } },
    ide: { enabled: false },
    advanced: { ignoreLocalEnv: true, autoConfigureMemory: false },
  };
}

const serverForm: ServerForm = {
  value: variableReference,
  stdio: ({ command, args: serverArgs, env: serverEnv }) => ({ command, args: serverArgs, env: serverEnv, trust: true }),
  http: ({ url, headers }) => ({ httpUrl: url, headers, trust: true }),
};

const budgets: Record<string, number> = { low: 2048, medium: 8192, high: 24_576 };

/** Gemini 3 has thinking levels, of which gemini-3-pro has only two. Earlier models have budgets in tokens. */
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
    // Otherwise Gemini CLI restarts itself with a larger heap.
    GEMINI_CLI_NO_RELAUNCH: "true",
    NO_COLOR: "1",
    ...(endpoint === null ? {} : { GOOGLE_GEMINI_BASE_URL: endpoint.url, GEMINI_API_KEY: endpoint.token }),
  };
}

/** No server or extension is called "none", so the flags disable all other servers and extensions of a project's settings. */
function args(launch: CliLaunch): string[] {
  const { model, start, servers } = launch;
  return [
    "--output-format",
    "stream-json",
    "--skip-trust",
    "--approval-mode",
    "yolo",
    "--allowed-mcp-server-names",
    servers.list.map(({ name }) => name).join(",") || "none",
    "--extensions",
    "none",
    ...(model === null ? [] : ["--model", model]),
    ...launch.addDirs.flatMap((dir) => ["--include-directories", dir]),
    ...(start.how === "new" ? ["--session-id", start.id] : ["--resume", start.id]),
    ...launch.extraArgs,
  ];
}

type State = {
  /** The current message. A result ends it. */
  answer: AnswerBuilder;
  names: Map<string, string>;
  model: string;
  error: string;
};

function reader(): CliReader {
  const state: State = { answer: new AnswerBuilder(), names: new Map(), model: "", error: "" };
  return { line: (text) => readEventLine(text, (event) => read(state, event)), end: () => flushMessage(state) };
}

function read(state: State, event: Json): CliEvent[] {
  const [call, name] = [textAt(event, "tool_id"), textAt(event, "tool_name")];
  switch (event["type"]) {
    case "init":
      state.model = textAt(event, "model");
      return [{ type: "session", id: textAt(event, "session_id"), model: state.model || undefined }];
    case "message":
      return readMessage(state, event);
    case "tool_use":
      state.names.set(call, name);
      state.answer.add(callPart(call, name, event["parameters"]));
      return [];
    case "tool_result": {
      const text = textAt(event, "output") || textAt(objectAt(event, "error"), "message");
      const isError = textAt(event, "status") !== "success";
      return [...flushMessage(state), { type: "result", call, name: state.names.get(call) ?? "unknown", text, isError }];
    }
    case "error":
      if (textAt(event, "severity") !== "warning") state.error = textAt(event, "message");
      return [];
    case "result":
      return [...flushMessage(state), ...readResult(state, event)];
    default:
      return [];
  }
}

function readMessage(state: State, event: Json): CliEvent[] {
  const text = textAt(event, "content");
  if (textAt(event, "role") !== "assistant" || text === "") return [];
  const before = state.answer.hasCalls() ? flushMessage(state) : [];
  return [...before, ...state.answer.appendText("text", text)];
}

function flushMessage({ answer, model }: State): CliEvent[] {
  return answer.flush({ model: model || undefined });
}

function readResult(state: State, event: Json): CliEvent[] {
  const stats = objectAt(event, "stats");
  const total: CliEvent[] = stats === undefined ? [] : [{ type: "usage", usage: usageOf(stats) }];
  if (textAt(event, "status") === "success") return [...total, { type: "done" }];
  const error = textAt(objectAt(event, "error"), "message") || state.error || "Gemini CLI reported no reason";
  const message = plainMessage(/^\[API Error: (.*)\](?:\n.*)?$/s.exec(error)?.[1] ?? error);
  const kind = matchFailure(error, gemini.failures) ?? matchFailure(message, gemini.failures);
  return [...total, { type: "failed", message, kind }];
}

/** `input_tokens` includes cached tokens. Thinking counts only in `total_tokens`. */
function usageOf(stats: Json): Usage {
  const count = (key: string): number => countAt(stats, key) ?? 0;
  const cacheRead = count("cached");
  return {
    input: Math.max(0, count("input_tokens") - cacheRead),
    output: Math.max(count("output_tokens"), count("total_tokens") - count("input_tokens")),
    cacheRead,
    cacheWrite: 0,
  };
}
