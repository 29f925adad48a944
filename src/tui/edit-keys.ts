// The keys that edit a line being typed; any other key types itself.
import { edits, insert, type Edit, type Line } from "../kit/line-edit.ts";
import type { Key } from "./state.ts";

const editKeys: Record<string, Edit> = {
  left: edits.left,
  right: edits.right,
  home: edits.home,
  "ctrl+a": edits.home,
  end: edits.end,
  "ctrl+e": edits.end,
  "ctrl+left": edits["word-left"],
  "ctrl+right": edits["word-right"],
  "alt+left": edits["word-left"],
  "alt+right": edits["word-right"],
  "alt+b": edits["word-left"],
  "alt+f": edits["word-right"],
  "alt+backspace": edits["kill-word"],
  backspace: edits.backspace,
  delete: edits.delete,
  "ctrl+w": edits["kill-word"],
  "ctrl+u": edits["kill-start"],
  "ctrl+k": edits["kill-end"],
};

export function isEditKey(name: string): boolean {
  return name in editKeys;
}

export function edited(line: Line, key: Key): Line {
  const edit = editKeys[key.name];
  return edit === undefined ? insert(line, key.text) : edit(line);
}
