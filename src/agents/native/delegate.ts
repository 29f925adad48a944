// spawn_session: a task for a sub-session. Its answer comes back bounded, with where the rest is.
import { validateInput } from "../../executor/validate.ts";
import { cutText, oneLine } from "../../kit/text.ts";
import type { CallPart } from "../../protocol/node.ts";
import type { Delegation, ToolOutcome } from "../../protocol/ports.ts";
import type { CallTools } from "./call-tool.ts";
import { spawnSession } from "./spawn-session.ts";

const answerBytes = 24 * 1024;

export async function delegateTask(call: CallPart, to: CallTools): Promise<ToolOutcome> {
  const { input, problem } = validateInput(spawnSession, call.input);
  if (problem !== null) return { text: problem, isError: true };
  const { task, agent, provider, model, output_file: outputFile } = input as Record<string, string | undefined>;
  if (task?.trim() === "") return { text: 'spawn_session: "task" is empty', isError: true };
  const sandbox = sandboxOf((input["sandbox"] ?? {}) as Record<string, unknown>);
  if (typeof sandbox === "string") return { text: `spawn_session: ${sandbox}`, isError: true };
  const result = await to.context.delegate({
    task: task as string,
    call: call.id,
    role: null,
    attachable: false,
    agent: agent ?? provider ?? null,
    model: model ?? null,
    sandbox,
    signal: to.context.signal,
    onEvent: (event) => {
      if (event.type === "text.delta") to.emit({ type: "tool.output", call: call.id, text: event.text });
    },
  });
  const saved = outputFile === undefined ? "" : await saveAnswer(outputFile, result.answer, to);
  const cost = result.costUsd === null ? "cost unknown" : `$${result.costUsd.toFixed(4)}`;
  const where = `[session ${result.session}, ${result.status}, ${cost}, transcript ${result.transcript ?? "not kept"}]${saved}`;
  const error = result.error === undefined ? "" : `${result.error.message}\n`;
  const answer = cutText(result.answer, answerBytes, { keep: "both" }).text;
  return { text: `${answer}${answer === "" ? "" : "\n\n"}${error}${where}`, isError: result.status !== "ok" };
}

/** What the sub-session's walls shall be, or what is wrong with the wish. */
function sandboxOf(given: Record<string, unknown>): Delegation["sandbox"] | string {
  const { network, extra_write_paths: paths, ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `sandbox has no "${oneLine(unknown, 80)}"; it takes network, extra_write_paths`;
  if (network !== undefined && network !== null && typeof network !== "boolean") return `"sandbox.network" must be true or false`;
  const isList = Array.isArray(paths) && paths.every((path) => typeof path === "string");
  if (paths !== undefined && paths !== null && !isList) return `"sandbox.extra_write_paths" must be an array of strings`;
  return { ...(typeof network === "boolean" ? { network } : {}), ...(isList ? { extraWritePaths: paths } : {}) };
}

/** The model named the path, so the executor writes it under the session's policy. */
async function saveAnswer(path: string, content: string, to: CallTools): Promise<string> {
  const outcome = await to.executor.callTool(
    "write",
    { path, content },
    { session: to.input.session, turn: to.input.turn, cwd: to.input.directory, env: {}, signal: to.context.signal, onOutput: () => {} },
  );
  return `\n${outcome.text}`;
}
