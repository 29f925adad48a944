// The completion menu for the word at the cursor: files after `@`, commands after `/` at the start of the message.
// Commands are listed at once; files arrive later with a message.
import type { EditLine } from "../../kit/text/line-edit.ts";
import { slashTable, type SlashName } from "../../protocol/api/slash-commands.ts";
import { screenCommands, type ScreenCommand } from "../keys/commands.ts";
import { choiceLines, drawBox, type Choice, type OverlayView } from "../overlays/box.ts";
import { step, type Key, type MessageOf, type State, type UpdateResult } from "../model/state.ts";
import type { Menu } from "./composer.ts";

const maxRows = 8;

/** Opens, updates or closes the menu for the current unsent message. */
export function menuFor(state: State): UpdateResult {
  const { unsent, composer } = state;
  const word = wordAt(unsent);
  const withMenu = (menu: Menu | null) => ({ ...state, composer: { ...composer, menu } });
  if (word === null) return step(withMenu(null));
  const previous = composer.menu;
  const isSameWord = previous !== null && previous.kind === word.kind && previous.start === word.start;
  if (isSameWord && previous.query === word.query) return step(state);
  const isClosed = isSameWord && previous.isClosed;
  if (word.kind === "command") return step(withMenu({ ...word, choices: commandsLike(word.query), problem: null, index: 0, isClosed }));
  const menu: Menu = { ...word, choices: isSameWord ? previous.choices : null, problem: null, index: 0, isClosed };
  return isClosed ? step(withMenu(menu)) : step(withMenu(menu), { type: "find files", query: word.query });
}

function wordAt({ text, cursor }: EditLine): Pick<Menu, "kind" | "start" | "query"> | null {
  const textBefore = text.slice(0, cursor);
  const command = /^\/([a-z-]*)$/.exec(textBefore);
  if (command !== null) return { kind: "command", start: 0, query: command[1] ?? "" };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(textBefore);
  return file === null ? null : { kind: "file", start: cursor - (file[1] ?? "").length - 1, query: file[1] ?? "" };
}

/** Commands with the query in their name or in another word for it: equal names first, then those that start with it. */
function commandsLike(query: string): Choice[] {
  const rankOf = ({ name }: ScreenCommand) => {
    const words = [name, ...(slashTable[name as SlashName].aliases ?? [])];
    const isPart = words.some((word) => word.includes(query));
    return words.includes(query) ? 0 : name.startsWith(query) ? 1 : words.some((word) => word.startsWith(query)) ? 2 : isPart ? 3 : 4;
  };
  const ranked = screenCommands.flatMap((command) => (command.typed === undefined ? [] : [{ ...command, rank: rankOf(command) }]));
  const sorted = ranked.filter(({ rank }) => rank < 4).toSorted((a, b) => a.rank - b.rank);
  return sorted.map(({ name, summary }) => ({ label: `/${name}`, detail: summary }));
}

/** Sets the found files. A result for an older query is dropped. */
export function withFiles(state: State, { query, files, problem }: MessageOf<"found files">): State {
  const { menu } = state.composer;
  if (menu === null || menu.kind !== "file" || menu.query !== query) return state;
  const choices = files.map((file) => ({ label: /\s/.test(file) ? `@"${file}"` : `@${file}`, detail: "" }));
  return { ...state, composer: { ...state.composer, menu: { ...menu, choices, problem, index: 0 } } };
}

/** Keys that the open menu handles before any command. */
export function isMenuKey({ mode, composer: { menu } }: State, { name }: Key): boolean {
  return mode === "insert" && menu !== null && !menu.isClosed && ["escape", "ctrl+n", "ctrl+p"].includes(name);
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1 };

/** Null if the menu does not handle the key. */
export function handleMenuKey(state: State, key: Key): UpdateResult | { complete: EditLine } | null {
  const { menu } = state.composer;
  if (menu === null || menu.isClosed) return null;
  const withMenu = (next: Menu) => step({ ...state, composer: { ...state.composer, menu: next } });
  if (key.name === "escape") return withMenu({ ...menu, isClosed: true });
  const choices = menu.choices ?? [];
  const choice = choices[menu.index];
  if (choice === undefined) return null;
  const delta = moves[key.name];
  if (delta !== undefined) return withMenu({ ...menu, index: (menu.index + delta + choices.length) % choices.length });
  if (key.name === "tab") return { complete: completeWord(state.unsent, menu, choice) };
  if (key.name !== "enter") return null;
  if (menu.kind === "file") return { complete: completeWord(state.unsent, menu, choice) };
  return state.unsent.text.trimEnd() === choice.label ? null : runOrComplete(state, menu, choice);
}

/** Runs a command that needs no argument. Completes any other command. */
function runOrComplete(state: State, menu: Menu, choice: Choice): UpdateResult | { complete: EditLine } {
  const command = screenCommands.find(({ name }) => `/${name}` === choice.label);
  const textAfter = state.unsent.text.slice(state.unsent.cursor);
  if (command === undefined || textAfter.trim() !== "" || command.typed?.startsWith("<") === true)
    return { complete: completeWord(state.unsent, menu, choice) };
  return command.run({ ...state, unsent: { text: "", cursor: 0 }, composer: { ...state.composer, undo: [], menu: null } }, "");
}

function completeWord({ text, cursor }: EditLine, { start }: Menu, choice: Choice): EditLine {
  const textAfter = text.slice(cursor);
  const gap = /^\s/.test(textAfter) ? "" : " ";
  return { text: text.slice(0, start) + choice.label + gap + textAfter, cursor: start + choice.label.length + 1 };
}

export function menuView({ composer: { menu }, mode, size }: State, height: number): OverlayView | null {
  if (menu === null || menu.isClosed || mode !== "insert") return null;
  const lines = choiceLines(menu.choices ?? [], menu.index, { columns: size.columns - 4, height: Math.min(maxRows, height - 2) });
  const content = menu.choices === null ? ["searching…"] : lines.length === 0 ? [menu.problem ?? `no such ${menu.kind}`] : lines;
  const title = menu.kind === "file" ? "files: Tab or Enter completes" : ["commands: Enter runs, Tab completes", "commands: Enter runs"];
  return { rows: drawBox(title, content, size.columns), cursor: null, keepsPromptCursor: true };
}
