// spawn_session: a task for a sub-session. Its answer comes back bounded, with where the rest is.
import { validateInput } from "../../../executor/validate.ts";
import { cutText, oneLine } from "../../../kit/text/cut-text.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { DelegateRequest, DelegateResult, ToolOutcome } from "../../../protocol/api/ports.ts";
import { countedTokens } from "../../../protocol/tree/usage.ts";
import type { ToolCallContext } from "./call-tool.ts";
import { outputEvents } from "./output-events.ts";
import { spawnSessionTool } from "./spawn-session.ts";

const answerBytes = 24 * 1024;
const shownInput = 160;

export async function runSpawnSession(call: CallPart, to: ToolCallContext): Promise<ToolOutcome> {
  const { input, problem } = validateInput(spawnSessionTool, call.input);
  if (problem !== null) return { text: problem, isError: true };
  const { task, agent, provider, model, role, output_file: outputFile } = input as Record<string, string | undefined>;
  if (task?.trim() === "") return { text: 'spawn_session: "task" is empty', isError: true };
  const sandbox = sandboxOf((input["sandbox"] ?? {}) as Record<string, unknown>);
  if (typeof sandbox === "string") return { text: `spawn_session: ${sandbox}`, isError: true };
  const shown = outputEvents((text) => to.emit({ type: "tool.output", call: call.id, text }));
  const result = await to.context.delegate({
    task: task as string,
    call: call.id,
    role: role ?? null,
    attachable: input["attachable"] === true,
    agent: agent ?? provider ?? null,
    model: model ?? null,
    sandbox,
    signal: to.context.signal,
    onEvent: (event) => {
      if (event.type === "text.delta") shown.push(event.text);
      if (event.type === "tool.started") shown.push(`\n${event.name} ${shortInput(event.input)}\n`);
    },
  });
  shown.flush();
  const saved = outputFile === undefined ? "" : await saveAnswer(outputFile, result.answer, to);
  const error = result.error === undefined ? "" : `${result.error.message}\n${nextStepText(result)}`;
  const answer = cutText(result.answer, answerBytes, { keep: "both" }).text;
  return { text: `${answer}${answer === "" ? "" : "\n\n"}${error}${resultFooter(result)}${saved}`, isError: result.status !== "ok" };
}

/** A question of a sub-session is its own: what the parent can say of it is where it can be answered. */
function nextStepText({ session, status, error }: DelegateResult): string {
  return status === "needs-input" ? `(asks the person: ${error?.hint ?? ""}, then skein run --resume ${session})\n` : "";
}

function shortInput(input: Record<string, unknown>): string {
  const words = Object.values(input).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return oneLine(words.map((word) => oneLine(word, shownInput)).join(" "), shownInput);
}

/** The line after the answer: whose it is, how that ended, what it cost and what is left of the budget. */
function resultFooter({ session, status, transcript, spent, left }: DelegateResult): string {
  const cost = spent.costUsd === null ? "cost unknown" : `$${spent.costUsd.toFixed(4)}`;
  const rest = [
    left.tokens === null ? [] : [`${left.tokens.toLocaleString("en")} tokens`],
    left.costUsd === null ? [] : [`$${left.costUsd.toFixed(4)}`],
  ].flat();
  const budget = rest.length === 0 ? "" : `; left ${rest.join(", ")}`;
  const used = `spent ${cost}, ${countedTokens(spent.usage).toLocaleString("en")} tokens${budget}`;
  return `[session ${session}, ${status}, ${used}, transcript ${transcript ?? "not kept"}]`;
}

/** What the sub-session's walls shall be, or what is wrong with the wish. */
function sandboxOf(given: Record<string, unknown>): DelegateRequest["sandbox"] | string {
  const { network, extra_write_paths: paths, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `sandbox has no "${oneLine(unknown, 80)}"; it takes network, extra_write_paths`;
  if (network !== undefined && network !== null && typeof network !== "boolean") return `"sandbox.network" must be true or false`;
  const isList = Array.isArray(paths) && paths.every((path) => typeof path === "string");
  if (paths !== undefined && paths !== null && !isList) return `"sandbox.extra_write_paths" must be an array of strings`;
  return { ...(typeof network === "boolean" ? { network } : {}), ...(isList ? { extraWritePaths: paths } : {}) };
}

/** The model named the path, so the executor writes it under the session's policy. */
async function saveAnswer(path: string, content: string, to: ToolCallContext): Promise<string> {
  const outcome = await to.executor.callTool(
    "write",
    { path, content },
    { session: to.input.session, turn: to.input.turn, cwd: to.input.directory, env: {}, signal: to.context.signal, onOutput: () => {} },
  );
  return `\n${outcome.text}`;
}
