// Lists for people: places one can switch to, and the path an agent is sent.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { ContextView } from "../../protocol/api/api.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { TextOutput } from "../parse/command.ts";
import { stripControls, printable, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import type { TreePosition } from "./navigate.ts";

export function positionsText(places: readonly TreePosition[], screen: TextOutput, arrow: string): string {
  const style = styleOf(screen);
  const rows = places.map((place, at) => [
    `${at + 1}.`,
    style.dim(place.node === null ? "(root)" : shortId(place.node)),
    place.isOurs ? style.green("[current]") : "",
    place.session === null ? "" : style.cyan(sessionLabel(place.session)),
    place.excerpt === null
      ? style.dim(`${arrow}${place.isOurs ? "(you are here)" : "(continues from here)"}`)
      : `${arrow}"${oneLine(place.excerpt, 200)}"`,
  ]);
  return tableText(rows, { columns: [{ align: "right" }, {}, {}, {}, {}], width: screen.columns });
}

export function contextText(view: ContextView, screen: TextOutput): string {
  const style = styleOf(screen);
  const { system, tools, messages } = view.tokens;
  const total = system + tools + messages;
  const head = `${view.model ?? "no model"}: about ${total} tokens (system ${system}, tools ${tools}, messages ${messages})`;
  const blocks = view.messages.map(({ role, text, tokens }) => {
    const body = text.trimEnd().split("\n").map(printable).join("\n");
    return `\n${style.bold(role)} ${style.dim(`~${tokens}`)}\n${body}\n`;
  });
  return `${head}\n${blocks.join("")}`;
}

export function sessionLabel(session: Session): string {
  return session.name === null ? shortId(session.id) : stripControls(session.name);
}
