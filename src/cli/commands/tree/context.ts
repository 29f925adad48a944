// skein context: prints the next request of the agent, with token counts.
import type { ContextView } from "../../../protocol/api/api.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findNode, findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { styleOf } from "../../terminal/style.ts";

export const context: Command = {
  name: "context",
  summary: "show exactly what the agent gets with its next request",
  usage: "[session] [node] [--body] [--json]",
  positionals: { min: 0, max: 2 },
  flags: [{ name: "body", summary: "print the body of the request as the vendor gets it" }, jsonFlag],
  notes: "Token counts are estimates. The vendor's own counts are in the usage of each turn.",
  run: runContext,
};

async function runContext(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const [, query] = args.positionals;
  const node = query === undefined ? null : (await findNode(api, session, query)).id;
  const view = await api.context.render({ session: session.id, node });
  if (args.flags["json"]) ctx.out.write(jsonText(recordOf(view)));
  else if (args.flags["body"]) ctx.out.write(`${view.body ?? "there is no request, because no model is available"}\n`);
  else ctx.out.write(textOf(view, styleOf(ctx.out)));
  return 0;
}

function recordOf(view: ContextView) {
  return {
    sessionId: view.session.id,
    nodeId: view.node,
    model: view.model,
    system: view.system,
    tools: view.tools.map((tool) => tool.name),
    messages: view.messages,
    tokens: view.tokens,
  };
}

function textOf(view: ContextView, style: ReturnType<typeof styleOf>): string {
  const { system, tools, messages } = view.tokens;
  const head = `${view.model ?? "no model"}: about ${system + tools + messages} tokens (system ${system}, tools ${tools}, messages ${messages})`;
  const blocks = [{ role: "system", text: view.system, tokens: system }, ...view.messages].map(
    (message) => `${style.bold(message.role)} ${style.dim(`~${message.tokens}`)}\n${message.text}\n`,
  );
  const names = view.tools.map((tool) => tool.name).join(", ") || "none";
  return `${head}\n${style.dim(`tools: ${names}`)}\n\n${blocks.join("\n")}`;
}
