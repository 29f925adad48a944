// What could complete the word at the cursor: files after `@`, commands after a `/` at the start. Commands are known at
// once, files are looked for meanwhile.
import type { EditLine } from "../../kit/text/line-edit.ts";
import { screenCommands } from "../keys/commands.ts";
import { drawBox, selectedStyle, windowAround, type OverlayView } from "../overlays/box.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { Choice, Menu } from "./composer.ts";

const mostRows = 8;

/** The menu that belongs to the draft as it is now. */
export function menuFor(state: State): UpdateResult {
  const { draft, composer } = state;
  const found = wordAt(draft);
  const withMenu = (menu: Menu | null) => ({ ...state, composer: { ...composer, menu } });
  if (found === null) return step(withMenu(null));
  const before = composer.menu;
  const isSame = before !== null && before.kind === found.kind && before.start === found.start;
  if (isSame && before.query === found.query) return step(state);
  const isShut = isSame && before.isShut;
  if (found.kind === "command") return step(withMenu({ ...found, choices: commandsLike(found.query), problem: null, at: 0, isShut }));
  const menu: Menu = { ...found, choices: isSame ? before.choices : null, problem: null, at: 0, isShut };
  return isShut ? step(withMenu(menu)) : step(withMenu(menu), { type: "find files", query: found.query });
}

function wordAt({ text, cursor }: EditLine): Pick<Menu, "kind" | "start" | "query"> | null {
  const before = text.slice(0, cursor);
  const command = /^\/([a-z-]*)$/.exec(before);
  if (command !== null) return { kind: "command", start: 0, query: command[1] ?? "" };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return file === null ? null : { kind: "file", start: cursor - (file[1] ?? "").length - 1, query: file[1] ?? "" };
}

function commandsLike(query: string): Choice[] {
  const typed = screenCommands.filter((command) => command.typed !== undefined && command.name.includes(query));
  const begins = typed.filter(({ name }) => name.startsWith(query));
  return [...begins, ...typed.filter(({ name }) => !name.startsWith(query))].map(({ name, summary }) => ({
    text: `/${name}`,
    detail: summary,
  }));
}

/** Only an answer to what is typed now counts. */
export function withFiles(
  state: State,
  { query, files, problem }: { query: string; files: readonly string[]; problem: string | null },
): State {
  const { menu } = state.composer;
  if (menu === null || menu.kind !== "file" || menu.query !== query) return state;
  const choices = files.map((file) => ({ text: /\s/.test(file) ? `@"${file}"` : `@${file}`, detail: "" }));
  return { ...state, composer: { ...state.composer, menu: { ...menu, choices, problem, at: 0 } } };
}

/** Keys that mean something else where no menu is open. */
export function isMenuKey({ mode, composer: { menu } }: State, { name }: Key): boolean {
  return mode === "insert" && menu !== null && !menu.isShut && ["escape", "ctrl+n", "ctrl+p"].includes(name);
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1 };

/** Null when the key is not for the menu. */
export function handleMenuKey(state: State, key: Key): UpdateResult | { complete: EditLine } | null {
  const { menu } = state.composer;
  if (menu === null || menu.isShut) return null;
  const withMenu = (next: Menu) => step({ ...state, composer: { ...state.composer, menu: next } });
  if (key.name === "escape") return withMenu({ ...menu, isShut: true });
  const choices = menu.choices ?? [];
  const choice = choices[menu.at];
  if (choice === undefined) return null;
  const by = moves[key.name];
  if (by !== undefined) return withMenu({ ...menu, at: (menu.at + by + choices.length) % choices.length });
  if (key.name === "tab") return { complete: completed(state.draft, menu, choice) };
  if (key.name !== "enter") return null;
  if (menu.kind === "file") return { complete: completed(state.draft, menu, choice) };
  return state.draft.text.trimEnd() === choice.text ? null : runsAtOnce(state, menu, choice);
}

/** A command that needs nothing more is run by the same Enter. */
function runsAtOnce(state: State, menu: Menu, choice: Choice): UpdateResult | { complete: EditLine } {
  const command = screenCommands.find(({ name }) => `/${name}` === choice.text);
  const rest = state.draft.text.slice(state.draft.cursor);
  if (command === undefined || rest.trim() !== "" || command.typed?.startsWith("<") === true)
    return { complete: completed(state.draft, menu, choice) };
  return command.run({ ...state, draft: { text: "", cursor: 0 }, composer: { ...state.composer, undo: [], menu: null } }, "");
}

function completed({ text, cursor }: EditLine, { start }: Menu, choice: Choice): EditLine {
  const rest = text.slice(cursor);
  const gap = /^\s/.test(rest) ? "" : " ";
  return { text: text.slice(0, start) + choice.text + gap + rest, cursor: start + choice.text.length + 1 };
}

export function menuView({ composer: { menu }, mode, size }: State, height: number): OverlayView | null {
  if (menu === null || menu.isShut || mode !== "insert") return null;
  const { choices, at } = menu;
  const { first, shown } = windowAround(choices ?? [], at, Math.min(mostRows, height - 2));
  const inner = size.columns - 4;
  const wide = Math.max(0, ...shown.map(({ text }) => Bun.stringWidth(text)));
  const lines = shown.map(({ text, detail }, row) => {
    const line = detail === "" ? text : `${text}${" ".repeat(wide - Bun.stringWidth(text))}  ${detail}`;
    return first + row === at ? { text: line.padEnd(inner), style: selectedStyle } : line;
  });
  const told = choices === null ? ["looking…"] : lines.length === 0 ? [menu.problem ?? `no such ${menu.kind}`] : lines;
  const title = menu.kind === "file" ? "files: Tab or Enter takes one" : "commands: Enter runs one, Tab completes it";
  return { rows: drawBox(title, told, size.columns), cursor: null, isBeside: true };
}
