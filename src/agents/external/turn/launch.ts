// Builds the launch of a CLI: its prompt, its role, and the CLI's own session to start, resume or fork.
import { isOffline } from "../../../protocol/api/policy.ts";
import { join } from "node:path";
import { parseModelName } from "../../../models/vendors.ts";
import { textOf } from "../../../protocol/tree/node.ts";
import type { PreviewInput, TurnInput } from "../../../protocol/api/ports.ts";
import type { CliSessionStart } from "../../../protocol/tree/turn.ts";
import type { Adapter, CliLaunch } from "../adapters/adapter.ts";
import { promptWithBrief } from "./brief.ts";
import type { VendorAccess } from "../credentials/vendor-access.ts";

type CliAgent = { adapter: Adapter; configRoot: string };

export function createLaunch(
  agent: CliAgent,
  input: TurnInput,
  cliSession: CliSessionStart | null,
  { endpoint, isSandboxed, servers }: Pick<VendorAccess, "endpoint" | "isSandboxed"> & Pick<CliLaunch, "servers">,
): CliLaunch {
  const model = input.model === null ? null : parseModelName(input.model);
  const plan = input.plan === null ? null : `## Plan\n${input.plan}`;
  const role = [input.system, input.appendSystem, plan].filter((text) => text !== null).join("\n\n");
  const prompt = promptFor(agent.adapter, input, cliSession);
  const traceparent = input.env?.["TRACEPARENT"];
  return {
    prompt: role === "" || agent.adapter.takesRole ? prompt : `${role}\n\n${prompt}`,
    model: model?.model ?? null,
    vendor: model?.vendor,
    effort: model === null ? (input.effort ?? null) : model.effort,
    role: role === "" ? null : role,
    directory: input.directory,
    addDirs: input.policy.addDirs,
    configDir: agentConfigDir(agent, input),
    start: startOf(cliSession),
    endpoint,
    isSandboxed,
    isRoot: process.getuid?.() === 0,
    isOffline: isOffline(input.policy),
    servers,
    extraArgs: input.agentArgs,
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

export function agentConfigDir({ adapter, configRoot }: CliAgent, { tree }: TurnInput): string {
  return join(configRoot, tree, adapter.name);
}

function startOf(session: CliSessionStart | null): CliLaunch["start"] {
  if (session === null) return { how: "new", id: crypto.randomUUID() };
  return session.how === "fork" ? { how: "fork", id: session.id, forkId: crypto.randomUUID() } : { how: "resume", id: session.id };
}

/** Sent instead of a prompt that the CLI's own session has, and that got no answer. */
const answerNow = "[Your last request was refused by the vendor before you could answer. Now answer the message before this one.]";
/** Sent if the last attempt ended with the result of a call. */
const continueNow = "[The last attempt ended here. Continue with the task.]";

/** The user's prompt, after a brief of the nodes that the CLI's own session does not have. */
function promptFor({ forgetsRefusedPrompt }: Adapter, { path }: TurnInput, session: CliSessionStart | null): string {
  const endsWithResult = path.at(-1)?.author === "tool";
  const prompt = endsWithResult ? continueNow : lastPrompt(path);
  const earlier = endsWithResult ? path : path.slice(0, -1);
  if (session === null) return promptWithBrief(earlier, prompt);
  if (session.mayLack === undefined) return prompt;
  const { nodesAfter, unanswered } = session.mayLack;
  if (unanswered !== undefined && unanswered === path.at(-1)?.id) return forgetsRefusedPrompt === true ? prompt : answerNow;
  const missing = earlier.slice(nodesAfter === null ? 0 : earlier.findIndex((node) => node.id === nodesAfter) + 1);
  return promptWithBrief(missing, prompt, { kind: "last-attempt" });
}

export function lastPrompt(path: PreviewInput["path"]): string {
  const last = path.at(-1);
  return last === undefined ? "" : textOf(last);
}
