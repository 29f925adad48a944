// What a CLI is told to do: the user's words, what it has not seen before them, and where its own session goes on.
import { join } from "node:path";
import { parseModelName } from "../../../models/vendors.ts";
import { textOf } from "../../../protocol/tree/node.ts";
import type { PreviewInput, TurnInput } from "../../../protocol/api/ports.ts";
import type { NativeStart } from "../../../protocol/tree/turn.ts";
import type { Adapter, CliLaunch } from "../adapters/adapter.ts";
import { promptWithBrief } from "./brief.ts";
import type { VendorAccess } from "../credentials/vendor-access.ts";

export function createLaunch(
  { adapter, configRoot }: { adapter: Adapter; configRoot: string },
  input: TurnInput,
  native: NativeStart | null,
  access: Pick<VendorAccess, "endpoint" | "isSandboxed">,
): CliLaunch {
  const named = input.model === null ? null : parseModelName(input.model);
  const plan = input.plan === null ? null : `## Plan\n${input.plan}`;
  const role = [input.system, input.appendSystem, plan].filter((text) => text !== null).join("\n\n");
  const prompt = promptFor(input, native);
  return {
    prompt: role === "" || adapter.takesRole ? prompt : `${role}\n\n${prompt}`,
    model: named?.model ?? null,
    ...(named === null ? {} : { vendor: named.vendor }),
    effort: named === null ? (input.effort ?? null) : named.effort,
    role: role === "" ? null : role,
    directory: input.directory,
    addDirs: input.policy.addDirs,
    configDir: agentConfigDir({ adapter, configRoot }, input),
    start: startOf(native),
    endpoint: access.endpoint,
    isSandboxed: access.isSandboxed,
    isRoot: process.getuid?.() === 0,
    extraArgs: input.agentArgs,
  };
}

export function agentConfigDir(
  { adapter, configRoot }: { adapter: Adapter; configRoot: string },
  { tree }: Pick<TurnInput, "tree">,
): string {
  return join(configRoot, tree, adapter.name);
}

function startOf(native: NativeStart | null): CliLaunch["start"] {
  if (native === null) return { how: "new", id: crypto.randomUUID() };
  return native.how === "fork" ? { how: "fork", id: native.id, forkId: crypto.randomUUID() } : { how: "resume", id: native.id };
}

/** The user's words; before them what this agent has not seen. */
function promptFor(input: TurnInput, native: NativeStart | null): string {
  const prompt = lastPrompt(input.path);
  const earlier = input.path.slice(0, -1);
  if (native === null) return promptWithBrief(earlier, prompt);
  if (native.unsure === undefined) return prompt;
  const { since } = native.unsure;
  return promptWithBrief(earlier.slice(since === null ? 0 : earlier.findIndex((node) => node.id === since) + 1), prompt, "rest");
}

export function lastPrompt(path: PreviewInput["path"]): string {
  const last = path.at(-1);
  return last === undefined ? "" : textOf(last);
}
