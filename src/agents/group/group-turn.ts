// A turn of a group: reads the statements so far from the path, continues with the next phase, and writes the final answer.
import { Fault } from "../../protocol/api/error.ts";
import { objectiveText, readGroup, groupOutcome, type GroupOutcome } from "../../protocol/team/group.ts";
import { textOf, type NewNode } from "../../protocol/tree/node.ts";
import type { TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { TurnOptions } from "../../protocol/api/turn-options.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { addNode, type Emit } from "../stream-turn.ts";
import type { GroupAgentDeps } from "./group-agent.ts";
import { resolveParticipants, chooseSynthesizer } from "./participants.ts";
import { runGroup } from "./run-group.ts";

/** Throws for an unknown participant. */
export function checkGroup(group: NonNullable<TurnOptions["group"]>, deps: GroupAgentDeps): void {
  const participants = resolveParticipants(group.participants, deps.knownNames());
  chooseSynthesizer(group, participants, deps.knownNames());
}

export async function takeGroupTurn(deps: GroupAgentDeps, { group, path }: TurnInput, context: TurnContext, emit: Emit): Promise<TurnEnd> {
  const add = (node: NewNode) => addNode(emit, node);
  if (group === null) throw new Fault("internal", "a turn of the agent group has no objective");
  const record = readGroup(path, objectiveText(group));
  if (record.answer !== null) return { status: "ok", answer: textOf(record.answer) };
  const participants = resolveParticipants(group.participants, deps.knownNames());
  const prompt: NewNode = { author: "user", parts: [{ kind: "text", text: objectiveText(group) }] };
  // runGroup adds the new statements to `record.statements`.
  const failure = await runGroup({
    group,
    participants,
    synthesizer: chooseSynthesizer(group, participants, deps.knownNames()),
    promptNode: record.promptNode ?? (await add(prompt)).id,
    conversation: record.conversation,
    statements: record.statements,
    context,
    retryAfterMs: deps.retryAfterMs,
    failed: new Set(),
    halt: null,
    record: async (statement, text) => {
      await add({ author: "note", note: { about: "group", said: statement }, parts: [{ kind: "text", text }] });
    },
  });
  const outcome = groupOutcome(record.statements);
  if (failure !== null) return { ...failure, answer: outcome.deliverable ?? "" };
  await add({ author: "agent", parts: [{ kind: "text", text: answerText(outcome) }] });
  return { status: "ok" };
}

/** The deliverable, followed by dissent and failed participants. */
function answerText({ deliverable, dissent, participants }: GroupOutcome): string {
  const failed = participants.filter(({ status }) => status !== "ok");
  const sections = [
    deliverable ?? "",
    ...(dissent.length === 0 ? [] : [`## Dissent\n\n${dissent.map(dissentText).join("\n\n")}`]),
    ...(failed.length === 0
      ? []
      : [`## Failed participants\n\n${failed.map(({ name, status, error }) => `- ${name} (${status}): ${error ?? ""}`).join("\n")}`]),
  ];
  return sections.join("\n\n");
}

function dissentText({ name, round, reason }: GroupOutcome["dissent"][number]): string {
  return `**${name}** (validation round ${round}): ${reason}`;
}
