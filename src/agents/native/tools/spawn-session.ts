// The tool spawn_session runs a task in a sub-session. It runs in this process: a tool in the executor can't start turns.
// The answer is bounded; its footer names the session and the transcript.
import { validateInput } from "../../../executor/validate.ts";
import { cutText, groupDigits, oneLine } from "../../../kit/text/cut-text.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { DelegateRequest, DelegateResult, ToolDefinition, ToolOutcome } from "../../../protocol/api/ports.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import { costText, dollarsText } from "../../../protocol/tree/usage-text.ts";
import type { ToolCallContext } from "./call-tool.ts";
import { outputEvents } from "../../../kit/flow/output-events.ts";

export const spawnSessionTool: ToolDefinition = {
  name: "spawn_session",
  description: "Run a self-contained task in a sub-session, which sees nothing else; returns its answer.",
  parameters: {
    type: "object",
    properties: {
      task: { type: "string" },
      agent: { type: "string" },
      provider: { type: "string" },
      model: { type: "string" },
      role: { type: "string" },
      attachable: { type: "boolean" },
      worktree: { type: "boolean", description: "Own project copy" },
      output_file: { type: "string", description: "for its transcript" },
      sandbox: {
        type: "object",
        properties: { network: { type: "boolean" }, extra_write_paths: { type: "array", items: { type: "string" } } },
      },
    },
    required: ["task"],
  },
};

/** Agents that are installed, and a model of every vendor with a key. */
export type SpawnTargets = { agents: readonly string[]; models: readonly string[] };

/** The tool with the names of agents and models, which the model can't know otherwise. */
export function withTargets(tool: ToolDefinition, { agents, models }: SpawnTargets): ToolDefinition {
  const nameList = (names: readonly string[]) => ({ type: "string" as const, ...(names.length > 0 && { description: names.join(", ") }) });
  const properties = { ...tool.parameters.properties, agent: nameList(agents), model: nameList(models) };
  return { ...tool, parameters: { ...tool.parameters, properties } };
}

const maxAnswerBytes = 24 * 1024;
const maxInputLength = 160;

export async function runSpawnSession(call: CallPart, ctx: ToolCallContext): Promise<ToolOutcome> {
  const { input, problem } = validateInput(spawnSessionTool, call.input);
  if (problem !== null) return { text: problem, isError: true };
  const { task, agent, provider, model, role, output_file: outputFile } = input as Record<string, string | undefined>;
  if (task?.trim() === "") return { text: 'spawn_session: "task" is empty', isError: true };
  const sandbox = parseSandbox((input["sandbox"] ?? {}) as Record<string, unknown>);
  if (typeof sandbox === "string") return { text: `spawn_session: ${sandbox}`, isError: true };
  const output = outputEvents((text) => ctx.emit({ type: "tool.output", call: call.id, text }));
  const result = await ctx.context.delegate({
    task: task as string,
    call: call.id,
    role: role ?? null,
    attachable: input["attachable"] === true,
    // The files of now: the sub-session must find what its parent has just changed.
    ...(input["worktree"] === true && { worktree: { name: null, withChanges: true, withIgnored: false } }),
    agent: agent ?? provider ?? null,
    model: model ?? null,
    sandbox,
    signal: ctx.context.signal,
    onEvent: (event) => {
      if (event.type === "text.delta") output.push(event.text);
      if (event.type === "tool.started") output.push(`\n${event.name} ${shortInput(event.input)}\n`);
    },
  });
  output.flush();
  const saved = outputFile === undefined ? "" : await saveTranscript(outputFile, await result.readTranscript(), ctx);
  const error = result.error === undefined ? "" : `${result.error.message}\n${nextStepText(result)}`;
  const answer = cutText(result.answer, maxAnswerBytes, { keep: "both" }).text;
  return {
    text: `${answer}${answer === "" ? "" : "\n\n"}${error}${resultFooter(result)}${worktreeText(result)}${saved}`,
    isError: result.status !== "ok",
  };
}

/** The parent can't answer the question of a sub-session, so its result has the command with which the user answers. */
function nextStepText({ session, status, error }: DelegateResult): string {
  return status === "needs-input" ? `(asks the user: ${error?.hint ?? ""}, then skein run --resume ${session})\n` : "";
}

function shortInput(input: Record<string, unknown>): string {
  const values = Object.values(input).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return oneLine(values.map((value) => oneLine(value, maxInputLength)).join(" "), maxInputLength);
}

/** The line after the answer: session, status, usage, remaining budget and transcript. */
function resultFooter({ session, status, transcript, spent, left }: DelegateResult): string {
  const tokens = left.tokens === null ? [] : [`${groupDigits(left.tokens)} tokens`];
  const remaining = [...tokens, ...(left.costUsd === null ? [] : [dollarsText(left.costUsd)])];
  const budget = remaining.length === 0 ? "" : `; left ${remaining.join(", ")}`;
  const usage = `spent ${costText(spent)}, ${groupDigits(countedTokens(spent.usage))} tokens${budget}`;
  return `[session ${session}, ${status}, ${usage}, transcript ${transcript ?? "not kept"}]`;
}

/** A session can't start skein, so only the user can merge. The model may read the files. */
function worktreeText({ session, worktree }: DelegateResult): string {
  return worktree === undefined ? "" : `\n[its work is in ${worktree.directory}; the user merges it: skein merge ${session}]`;
}

/** The sandbox of the sub-session, or an error message. */
function parseSandbox(value: Record<string, unknown>): DelegateRequest["sandbox"] | string {
  const { network, extra_write_paths: paths, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `sandbox has no "${oneLine(unknown, 80)}"; it takes network, extra_write_paths`;
  if (network !== undefined && network !== null && typeof network !== "boolean") return `"sandbox.network" must be true or false`;
  const isList = Array.isArray(paths) && paths.every((path) => typeof path === "string");
  if (paths !== undefined && paths !== null && !isList) return `"sandbox.extra_write_paths" must be an array of strings`;
  return { ...(typeof network === "boolean" ? { network } : {}), ...(isList ? { extraWritePaths: paths } : {}) };
}

/** Writes through the executor, because the model chose the path: the session's policy must apply. */
async function saveTranscript(path: string, content: string, { input, executor, context }: ToolCallContext): Promise<string> {
  const outcome = await executor.callTool(
    "write",
    { path, content },
    { session: input.session, cwd: input.directory, env: {}, signal: context.signal, onOutput: () => {} },
  );
  return `\n${outcome.text}`;
}
