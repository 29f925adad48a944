// Runs one call of a tool: finds it, checks its input, waits for a free place, and turns whatever happens into
// an outcome. The same for the executor's own process and for one without.
import type { SandboxInfo } from "../protocol/api/policy.ts";
import type { ToolOutcome } from "../protocol/api/ports.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { createSlots, type Slots } from "../kit/flow/slots.ts";
import { toolEnvironment } from "./environment.ts";
import { type ResourceLimits, createResourceLimits } from "./limits.ts";
import { tools } from "./tools/index.ts";
import { errorOutcome, type ToolRun } from "./tools/tool.ts";
import { validateInput } from "./validate.ts";

export type ToolRuntime = {
  /** The environment that every call starts from. */
  env: Record<string, string>;
  commands: Slots;
  sandbox: SandboxInfo | null;
  limits: ResourceLimits | null;
};

export type ToolCall = Omit<ToolRun, "home" | "sandbox" | "limits"> & { name: string; input: unknown; session: string };

const mostCommands = 32;

/** `members` are the processes that the limits of the bounds are about; by default all that this one started. */
export function createToolRuntime(
  env: Record<string, string | undefined>,
  sandbox: SandboxInfo | null,
  members?: () => number[],
): ToolRuntime {
  return {
    env: toolEnvironment(env, sandbox),
    commands: createSlots(mostCommands),
    sandbox: sandbox,
    limits: sandbox === null ? null : createResourceLimits(sandbox, members),
  };
}

export async function runTool(call: ToolCall, workshop: ToolRuntime): Promise<ToolOutcome> {
  const tool = tools.find(({ definition }) => definition.name === call.name);
  if (!tool) return errorOutcome(unknownTool(call.name));
  const { input, problem } = validateInput(tool.definition, call.input);
  if (problem !== null) return errorOutcome(problem);

  const env: Record<string, string> = { ...workshop.env, ...call.env, SKEIN_SESSION_ID: call.session };
  let giveBack: (() => void) | undefined;
  try {
    if (tool.definition.name === "bash") giveBack = await workshop.commands.take(call.signal);
    await call.gate?.whenOpen();
    call.signal.throwIfAborted();
    return await tool.run(input, { ...call, env, home: env.HOME ?? "/", sandbox: workshop.sandbox, limits: workshop.limits });
  } catch (error) {
    if (call.signal.aborted) return errorOutcome("cancelled before it ran");
    return errorOutcome(`${call.name} failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    giveBack?.();
  }
}

function unknownTool(name: string): string {
  const known = tools.map(({ definition }) => definition.name);
  const nearest = nearestWord(name, known);
  return `unknown tool: ${oneLine(name, 80)}${nearest ? `; did you mean ${nearest}?` : ""}`;
}
