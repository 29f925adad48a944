// Maps keys to the edits of src/kit/text/line-edit.ts. Any other key inserts its text.
import { editActions, insertText, type Edit, type EditLine } from "../../kit/text/line-edit.ts";
import type { Key } from "../model/state.ts";

const editKeys: Record<string, Edit> = {
  left: editActions.left,
  right: editActions.right,
  home: editActions.home,
  "ctrl+a": editActions.home,
  end: editActions.end,
  "ctrl+e": editActions.end,
  "ctrl+left": editActions["word-left"],
  "ctrl+right": editActions["word-right"],
  "alt+left": editActions["word-left"],
  "alt+right": editActions["word-right"],
  "alt+b": editActions["word-left"],
  "alt+f": editActions["word-right"],
  "alt+backspace": editActions["kill-word"],
  backspace: editActions.backspace,
  delete: editActions.delete,
  "ctrl+w": editActions["kill-word"],
  "ctrl+u": editActions["kill-start"],
  "ctrl+k": editActions["kill-end"],
};

export function isEditKey(name: string): boolean {
  return name in editKeys;
}

export function applyEditKey(line: EditLine, key: Key): EditLine {
  const edit = editKeys[key.name];
  return edit === undefined ? insertText(line, key.text) : edit(line);
}
