// The tools that members of a team have in addition: each call posts a message or report to the team's mail.
import { validateInput } from "../../../executor/validate.ts";
import type { CallPart } from "../../../protocol/tree/node.ts";
import type { ToolDefinition, ToolOutcome, TurnContext } from "../../../protocol/api/ports.ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;

export const teamTools: readonly ToolDefinition[] = [
  {
    name: "send_message",
    description: "Write to other members; they get it at their next step.",
    parameters: {
      type: "object",
      properties: {
        to: { type: "string", description: "Names or roles, with commas, or all" },
        body: text,
        kind: text,
        priority: text,
        subject: text,
        reply_to: text,
        attachments: texts,
      },
      required: ["to", "body"],
    },
  },
  {
    name: "report",
    description: "Report on your work: status, artifact (a path), dependency (waiting_for), complete (result success or failure).",
    parameters: {
      type: "object",
      properties: {
        type: text,
        text,
        progress: { type: "number", description: "0 to 1" },
        path: text,
        waiting_for: text,
        result: text,
        outputs: texts,
      },
      required: ["type", "text"],
    },
  },
];

/** Null if the call is for another tool. */
export async function callTeamTool(call: CallPart, { team }: Pick<TurnContext, "team">): Promise<ToolOutcome | null> {
  const tool = teamTools.find(({ name }) => name === call.name);
  if (tool === undefined || team === undefined) return null;
  const { input, problem } = validateInput(tool, call.input);
  if (problem !== null) return { text: problem, isError: true };
  return { text: await team.post(input), isError: false };
}
