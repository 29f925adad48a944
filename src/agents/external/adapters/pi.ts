// Adapter and reader of pi. pi never asks for permission and has no sandbox. When the model fails, pi exits with 0 and
// the error is in its messages. Older versions send the whole message again with each delta; the reader uses only the delta.
import { join } from "node:path";
import type { Json } from "../../../kit/text/json.ts";
import { countAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { Part } from "../../../protocol/tree/node.ts";
import { addUsage, zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import type { Adapter, CliEvent, CliLaunch, CliReader, SignIn } from "./adapter.ts";
import { instructionsFile, instructionsOf, multiVendorFields, readStoredKey, vendorRoute } from "./multi-vendor.ts";
import { matchFailure, plainMessage } from "./failure-patterns.ts";
import { resultContent } from "../import/parts.ts";
import { piParts, piUsage } from "../import/pi.ts";
import { readEventLine } from "./readers/json-line.ts";

const signIn: SignIn = {
  command: "pi, and /login with an API key",
  file: (env, home) => join(env["PI_CODING_AGENT_DIR"] || join(home, ".pi", "agent"), "auth.json"),
  read: (stored, vendor) => readStoredKey(stored, vendor, "api_key"),
  hosts: [],
};

export const pi: Adapter = {
  ...multiVendorFields,
  name: "pi",
  program: "pi",
  install: "npm install -g @earendil-works/pi-coding-agent",
  signIn,
  files,
  env,
  args,
  forbiddenArgs:
    "--mode --print -p --session --session-id --session-dir --no-session --fork --continue -c --resume -r --model " +
    "--models --provider --api-key --thinking --extension -e --approve -a --export --list-models",
  stdin: ({ prompt }) => prompt,
  reader,
  failures: [[/No session found matching|session .*not found/i, "broken"]],
  sessionLost: /No session found matching|Session found in different project/,
};

function files(launch: CliLaunch): Record<string, string> {
  const settings = {
    retry: { enabled: true, maxRetries: 2, baseDelayMs: 1000, maxAgentDelayMs: 10_000, provider: { maxRetries: 0 } },
    enableInstallTelemetry: false,
    enableAnalytics: false,
    cacheWarming: "off",
    defaultProjectTrust: "never",
  };
  return {
    [`${settingsDir(launch)}/settings.json`]: JSON.stringify(settings),
    [`${settingsDir(launch)}/models.json`]: modelsOf(launch),
    [instructionsFile(launch)]: instructionsOf(launch),
  };
}

function modelsOf({ model, endpoint }: CliLaunch): string {
  const route = vendorRoute(model);
  // Anthropic's client adds the version to the base URL itself.
  const path = route.vendor === "anthropic" ? "" : route.path;
  return JSON.stringify({ providers: endpoint === null ? {} : { [route.provider]: { baseUrl: `${endpoint.url}${path}` } } });
}

/** Turns of one tree may run at once with different endpoints. They share only the sessions. */
function settingsDir(launch: CliLaunch): string {
  return `settings-${Bun.hash(modelsOf(launch)).toString(36)}`;
}

function env(launch: CliLaunch): Record<string, string> {
  return {
    PI_CODING_AGENT_DIR: `${launch.configDir}/${settingsDir(launch)}`,
    PI_CODING_AGENT_SESSION_DIR: `${launch.configDir}/sessions`,
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
    PI_SKIP_VERSION_CHECK: "1",
    ...(launch.endpoint === null ? {} : { [vendorRoute(launch.model).keyVariable]: launch.endpoint.token }),
  };
}

function args(launch: CliLaunch): string[] {
  const { model, effort, start } = launch;
  return [
    "--print",
    "--mode",
    "json",
    "--no-extensions",
    "--no-skills",
    "--no-prompt-templates",
    "--no-themes",
    "--no-approve",
    ...(model === null ? [] : ["--model", `${vendorRoute(model).provider}/${model}`]),
    ...(effort === null ? [] : ["--thinking", effort]),
    ...(instructionsOf(launch) === "" ? [] : ["--append-system-prompt", `${launch.configDir}/${instructionsFile(launch)}`]),
    ...sessionArgs(start),
    ...launch.extraArgs,
  ];
}

function sessionArgs(start: CliLaunch["start"]): string[] {
  if (start.how === "new") return ["--session-id", start.id];
  return start.how === "resume" ? ["--session", start.id] : ["--fork", start.id, "--session-id", start.forkId];
}

type State = {
  usage: Usage;
  costUsd: number;
  /** The last message if it failed. It counts only if pi does not retry it. */
  failed: { parts: Part[]; error: string } | null;
  /** pi printed `agent_end` and will not retry. */
  agentEnded: boolean;
  /** The final events were returned. */
  isSettled: boolean;
};

function reader(): CliReader {
  const state: State = { usage: zeroUsage, costUsd: 0, failed: null, agentEnded: false, isSettled: false };
  return {
    line: (text) => readEventLine(text, (event) => read(state, event)),
    // Versions before 1.0 print nothing after `agent_end`.
    end: () => (state.agentEnded && !state.isSettled ? settle(state, false) : flushFailed(state)),
  };
}

function read(state: State, event: Json): CliEvent[] {
  switch (event["type"]) {
    case "session":
      return [{ type: "session", id: textAt(event, "id") }];
    case "message_update":
      return delta(objectAt(event, "assistantMessageEvent"));
    case "message_end":
      return readMessage(state, objectAt(event, "message"));
    case "tool_execution_end":
      return [toolResult(event)];
    case "auto_retry_start":
    case "summarization_retry_scheduled":
      state.failed = null;
      return [{ type: "retry", message: plainMessage(textAt(event, "errorMessage")) }];
    case "agent_start":
      state.agentEnded = false;
      return [];
    case "agent_end":
      state.agentEnded = event["willRetry"] !== true;
      return [];
    case "agent_settled":
      return state.isSettled ? [] : settle(state, event["aborted"] === true);
    default:
      return [];
  }
}

function delta(update: Json | undefined): CliEvent[] {
  const text = textAt(update, "delta");
  if (text === "") return [];
  if (update?.["type"] === "text_delta") return [{ type: "text.delta", text }];
  return update?.["type"] === "thinking_delta" ? [{ type: "thinking.delta", text }] : [];
}

function readMessage(state: State, message: Json | undefined): CliEvent[] {
  if (message?.["role"] !== "assistant") return [];
  const parts = piParts(message);
  const usage = piUsage(objectAt(message, "usage"));
  state.usage = addUsage(state.usage, usage);
  state.costUsd += countAt(objectAt(objectAt(message, "usage"), "cost"), "total") ?? 0;
  const reason = textAt(message, "stopReason");
  state.failed =
    reason === "error" || reason === "aborted" ? { parts, error: textAt(message, "errorMessage") || `pi stopped: ${reason}` } : null;
  if (state.failed !== null || parts.length === 0) return [];
  return [{ type: "answer", parts, usage, model: textAt(message, "model") || undefined }];
}

function toolResult(event: Json): CliEvent {
  return {
    type: "result",
    call: textAt(event, "toolCallId"),
    name: textAt(event, "toolName"),
    isError: event["isError"] === true,
    ...resultContent(objectAt(event, "result")?.["content"]),
  };
}

function settle(state: State, isAborted: boolean): CliEvent[] {
  state.isSettled = true;
  const total: CliEvent = { type: "usage", usage: state.usage, costUsd: state.costUsd || undefined };
  if (state.failed !== null) return [...flushFailed(state), total];
  return [total, isAborted ? { type: "failed", message: "pi was stopped" } : { type: "done" }];
}

/** Returns the events of a failed message that pi did not retry: its answer so far and its error. */
function flushFailed(state: State): CliEvent[] {
  const { failed } = state;
  if (failed === null) return [];
  state.failed = null;
  const answer: CliEvent[] = failed.parts.length > 0 ? [{ type: "answer", parts: failed.parts }] : [];
  return [...answer, { type: "failed", message: plainMessage(failed.error), kind: matchFailure(failed.error, pi.failures) }];
}
