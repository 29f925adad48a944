// Lists for people: places one can switch to, and the path an agent is sent.
import { oneLine } from "../../kit/text.ts";
import type { ContextView } from "../../protocol/api.ts";
import { shortId } from "../../protocol/node.ts";
import type { Session } from "../../protocol/turn.ts";
import type { TextOutput } from "../command.ts";
import { stripControls, printable, styleOf } from "../style.ts";
import { tableText } from "../table.ts";
import type { TreePosition } from "./walk.ts";

export function positionsText(places: readonly TreePosition[], screen: TextOutput, arrow: string): string {
  const style = styleOf(screen);
  const rows = places.map((place, at) => [
    `${at + 1}.`,
    style.dim(place.node === null ? "(root)" : shortId(place.node)),
    place.isOurs ? style.green("[current]") : "",
    place.session === null ? "" : style.cyan(sessionLabel(place.session)),
    place.saying === null
      ? style.dim(`${arrow}${place.isOurs ? "(you are here)" : "(continues from here)"}`)
      : `${arrow}"${oneLine(place.saying, 200)}"`,
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
