// spawn_session: a task for a sub-session. Its answer comes back bounded, with where the rest is.
import { cutText } from "../../kit/text.ts";
import type { CallPart } from "../../protocol/node.ts";
import type { ToolOutcome } from "../../protocol/ports.ts";
import type { CallTools } from "./call-tool.ts";
import { spawnSession } from "./spawn-session.ts";

const answerBytes = 24 * 1024;

export async function delegateTask(call: CallPart, to: CallTools): Promise<ToolOutcome> {
  const problem = checkInput(call.input);
  if (problem !== null) return { text: problem, isError: true };
  const { task, agent, provider, model, output_file: outputFile } = call.input as Record<string, string | undefined>;
  const result = await to.context.delegate({
    task: task as string,
    agent: agent ?? provider ?? null,
    model: model ?? null,
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

function checkInput(input: Record<string, unknown>): string | null {
  const known = Object.keys(spawnSession.parameters.properties);
  for (const [key, value] of Object.entries(input)) {
    if (!known.includes(key)) return `spawn_session has no parameter "${key}"; it takes ${known.join(", ")}`;
    if (typeof value !== "string") return `spawn_session: "${key}" must be a string`;
  }
  return typeof input["task"] === "string" && input["task"].trim() !== "" ? null : 'spawn_session needs "task"';
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
