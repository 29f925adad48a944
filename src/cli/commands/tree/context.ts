// skein context: prints the next request of the agent, with token counts.
import type { ContextView } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { TextOutput } from "../../parse/command.ts";
import { printableText, stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { sessionReport } from "../report-command.ts";

export const context = sessionReport({
  name: "context",
  summary: "show exactly what the agent gets with its next request",
  usage: "[session] [node] [--body] [--json]",
  positionals: { min: 0, max: 2 },
  flags: [{ name: "body", summary: "print the body of the request as the vendor gets it" }],
  notes: "Token counts are estimates. The vendor's own counts are in the usage of each turn.",
  async report({ api, session, args, ctx }) {
    const [, query] = args.positionals;
    const node = query === undefined ? null : await api.node.find({ wanted: query });
    if (node !== null && node.tree !== session.tree) throw new Fault("node-unknown", `node ${query} is not in the tree of this session`);
    const view = await api.context.render({ session: session.id, node: node?.id ?? null });
    const { model, system, messages, tokens } = view;
    return {
      json: { sessionId: view.session.id, nodeId: view.node, model, system, tools: view.tools.map(({ name }) => name), messages, tokens },
      text: () =>
        args.flags["body"]
          ? `${printableFor(view.body ?? "there is no request, because no model is available", ctx.out)}\n`
          : requestText(view, ctx.out),
    };
  },
});

/** Keeps control characters for a pipe and removes them for a terminal. */
function printableFor(text: string, out: TextOutput): string {
  return out.isTty ? printableText(text) : text;
}

function requestText(view: ContextView, out: TextOutput): string {
  const style = styleOf(out);
  const names = stripControls(view.tools.map((tool) => tool.name).join(", ")) || "none";
  const system = { role: "system", text: view.system, tokens: view.tokens.system };
  const messages = [system, ...view.messages].map(({ text, ...message }) =>
    messageText({ ...message, text: printableFor(text, out) }, style),
  );
  return `${tokenCounts(view)}\n${style.dim(`tools: ${names}`)}\n\n${messages.join("\n")}`;
}

/** The model, and estimates of the tokens of its next request. */
export function tokenCounts({ model, tokens: { system, tools, messages } }: ContextView): string {
  const total = system + tools + messages;
  return `${stripControls(model ?? "no model")}: about ${total} tokens (system ${system}, tools ${tools}, messages ${messages})`;
}

export function messageText({ role, text, tokens }: { role: string; text: string; tokens: number }, style: Style): string {
  return `${style.bold(stripControls(role))} ${style.dim(`~${tokens}`)}\n${text}\n`;
}
