// Keys of the page. A key of a view is active while the view is shown. Keys typed into a field belong to the field.
import { useLayoutEffect } from "preact/hooks";

export type KeyBinding = {
  /** One key (`?`), or two that follow each other (`g i`). */
  keys: string;
  summary: string;
  run: () => void;
  /** The key works while the cursor is in a field, too. Only for Escape. */
  isInFields?: true;
};

const active = new Set<readonly KeyBinding[]>();
const sequenceMs = 1_500;
let first: { key: string; at: number } | null = null;

/** The keys that work now, for the help. */
export function activeKeys(): KeyBinding[] {
  return [...active].flat();
}

/** Makes keys work while the component is shown. `bindings` must stay the same object until they change. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  // Before the next frame: a key that is pressed as soon as an action is shown must not be lost.
  useLayoutEffect(() => {
    active.add(bindings);
    return () => void active.delete(bindings);
  }, [bindings]);
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    // An open dialog has its own keys: Escape closes it.
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]") !== null) return;
    const target = event.target as HTMLElement;
    const isField = target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
    const isSecond = first !== null && Date.now() - first.at < sequenceMs;
    const typed = isSecond ? `${first!.key} ${event.key}` : event.key;
    first = null;
    const match = activeKeys().findLast(({ keys, isInFields }) => keys === typed && (!isField || isInFields === true));
    if (match !== undefined) {
      event.preventDefault();
      match.run();
    } else if (!isField && activeKeys().some(({ keys }) => keys.startsWith(`${event.key} `))) first = { key: event.key, at: Date.now() };
  });
}
