// Runs one tool call in the executor: finds the tool, checks the input, waits for a free slot.
// Never throws: every failure becomes an outcome that the model can read.
import { createSlots, type Slots } from "../kit/flow/slots.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import { type ExecutorToolName, executorToolNames, executorTools } from "../protocol/api/tool-table.ts";
import { toolEnvironment } from "./environment.ts";
import { createResourceLimits, type ResourceLimits } from "./limits.ts";
import { toolFunctions } from "./tools/index.ts";
import { errorOutcome, type ToolContext } from "./tools/tool.ts";
import { validateInput } from "./validate.ts";

export type ToolRuntime = {
  /** The environment that every call starts from. */
  env: Record<string, string>;
  /** One slot for each bash command that runs. */
  commandSlots: Slots;
  sandbox: SandboxInfo | null;
  limits: ResourceLimits | null;
};

export type ToolCall = Omit<ToolContext, "home" | "sandbox" | "limits"> & { name: string; input: unknown; session: string };

const maxCommands = 32;

export function createToolRuntime(env: Record<string, string | undefined>, sandbox: SandboxInfo | null): ToolRuntime {
  return {
    env: toolEnvironment(env, sandbox),
    commandSlots: createSlots(maxCommands),
    sandbox,
    limits: sandbox === null ? null : createResourceLimits(sandbox),
  };
}

export async function runTool(call: ToolCall, { env: baseEnv, commandSlots, sandbox, limits }: ToolRuntime): Promise<ToolOutcome> {
  const { name, signal } = call;
  if (!isToolName(name)) return errorOutcome(unknownTool(name));
  const { input, problem } = validateInput(executorTools[name].definition, call.input);
  if (problem !== null) return errorOutcome(problem);

  const env: Record<string, string> = { ...baseEnv, ...call.env, SKEIN_SESSION_ID: call.session };
  let releaseSlot: (() => void) | undefined;
  try {
    if (name === "bash") releaseSlot = await commandSlots.take(signal);
    await call.gate?.whenOpen();
    signal.throwIfAborted();
    return await toolFunctions[name](input, { ...call, env, home: env.HOME ?? "/", sandbox, limits });
  } catch (error) {
    return errorOutcome(signal.aborted ? "cancelled before it ran" : `${name} failed: ${messageOf(error)}`);
  } finally {
    releaseSlot?.();
  }
}

function isToolName(name: string): name is ExecutorToolName {
  return Object.hasOwn(executorTools, name);
}

function unknownTool(name: string): string {
  const nearest = nearestWord(name, [...executorToolNames]);
  return `unknown tool: ${oneLine(name, 80)}${nearest ? `; did you mean ${nearest}?` : ""}`;
}
