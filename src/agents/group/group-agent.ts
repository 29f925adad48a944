// The agent behind group_think: it asks several others, each in a sub-session, and itself does nothing but record who
// said what. What it leaves on the path is enough to go on from after any interruption.
import { createFeed } from "../../kit/flow/feed.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { objectiveText, readGroup, groupOutcome, type GroupOutcome, type GroupRecord, type GroupTask } from "../../protocol/team/group.ts";
import { textOf, type NewNode, type Node } from "../../protocol/tree/node.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type { Agent, AgentEvent, TurnCheckInput, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { runGroup } from "./run-group.ts";
import { resolveParticipants, chooseSynthesizer, type KnownNames } from "./participants.ts";
import { noPreview } from "../no-preview.ts";

export type GroupAgentDeps = {
  knownNames: () => KnownNames;
  /** How long a participant that failed is left alone before it is asked again. */
  retryAfterMs: number;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
};

export function groupAgent(deps: GroupAgentDeps): Agent {
  return {
    name: "group",
    takesTasks: false,
    check: async ({ group }: TurnCheckInput) => {
      if (group === null) throw new Fault("usage", "the agent group takes no task", { hint: "it takes an objective and participants" });
      const seats = resolveParticipants(group.participants, deps.knownNames());
      chooseSynthesizer(group, seats, deps.knownNames());
    },
    preview: noPreview,
    takeTurn: (input, context) => takeTurn(deps, input, context),
    enforced: deps.enforced,
  };
}

type Add = (node: NewNode) => Promise<Node>;

async function* takeTurn(deps: GroupAgentDeps, input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  const feed = createFeed<AgentEvent>();
  const add: Add = (node) => new Promise((resolve) => feed.push({ type: "node", node, recorded: resolve }));
  void think(deps, input, context, add)
    .catch((error: unknown): TurnEnd => ({ status: "broken", error: { kind: "broken", message: messageOf(error) } }))
    .then((end) => feed.push({ type: "end", end }))
    .finally(() => feed.end());
  yield* feed;
}

async function think(deps: GroupAgentDeps, { group, path }: TurnInput, context: TurnContext, add: Add): Promise<TurnEnd> {
  if (group === null) throw new Fault("internal", "a turn of the agent group has no objective");
  const found = readGroup(path, objectiveText(group));
  if (found.answer !== null) return { status: "ok", answer: textOf(found.answer) };
  const ended = await work(deps, group, found, context, add);
  const outcome = groupOutcome(found.statements);
  if (ended !== null) return { ...ended, answer: outcome.deliverable ?? "" };
  await add({ author: "agent", parts: [{ kind: "text", text: answerText(outcome) }] });
  return { status: "ok" };
}

/** What is said is added to what was found. */
async function work(deps: GroupAgentDeps, group: GroupTask, found: GroupRecord, context: TurnContext, add: Add): Promise<TurnEnd | null> {
  const seats = resolveParticipants(group.participants, deps.knownNames());
  const prompt: NewNode = { author: "user", parts: [{ kind: "text", text: objectiveText(group) }] };
  return runGroup({
    group,
    participants: seats,
    synthesizer: chooseSynthesizer(group, seats, deps.knownNames()),
    promptNode: found.promptNode ?? (await add(prompt)).id,
    conversation: found.conversation,
    statements: found.statements,
    context,
    retryAfterMs: deps.retryAfterMs,
    record: async (said, text) => {
      await add({ author: "note", note: { about: "group", said }, parts: [{ kind: "text", text }] });
    },
  });
}

/** The deliverable, and after it what it does not say: who disagrees, and who could not be heard. */
function answerText({ deliverable, dissent, participants }: GroupOutcome): string {
  const failed = participants.filter(({ status }) => status !== "ok");
  const sections = [
    deliverable ?? "",
    ...(dissent.length === 0 ? [] : [`## Dissent\n\n${dissent.map(dissentText).join("\n\n")}`]),
    ...(failed.length === 0
      ? []
      : [`## Not heard to the end\n\n${failed.map(({ name, status, error }) => `- ${name} (${status}): ${error ?? ""}`).join("\n")}`]),
  ];
  return sections.join("\n\n");
}

function dissentText({ name, round, reason }: GroupOutcome["dissent"][number]): string {
  return `**${name}** (validation round ${round}): ${reason}`;
}
