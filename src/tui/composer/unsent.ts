// Saves the unsent message while the user types, and restores it at the next start of the screen.
// The front end that opens the screen provides the storage.
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Chip } from "./chips.ts";

export type UnsentMessage = {
  text: string;
  chips: readonly Chip[];
  /** The session that it was typed in, if that had a message. */
  session?: string;
  /** Unsent messages of other sessions on the same screen. */
  others?: readonly UnsentMessage[];
};

/** Stores the unsent message of this screen and those that earlier screens left. */
export type UnsentStore = {
  /** Takes over the latest unsent message. `more` counts the remaining ones. Null if there is none. */
  claim: () => { unsent: UnsentMessage; more: number } | null;
  /** Null deletes the saved message. */
  save: (unsent: UnsentMessage | null) => void;
  /** The reason why the latest claim or save failed. Null if it worked. */
  problem: () => string | null;
};

/** The text that a crash would lose: a sent message that is not recorded yet, and the typed text after it. */
export function unsentMessage({ unsent, composer, activity, session, drafts }: State): UnsentMessage | null {
  const typed = composer.recalled === null ? unsent.text : composer.recalled.typed.text;
  const sent = activity === "starting" ? composer.sent : null;
  const text = [sent?.message.text ?? "", typed].filter((part) => part.trim() !== "").join("\n");
  const chips = [...(sent?.chips ?? []), ...composer.chips].filter(({ label }) => text.includes(label));
  const others = Object.entries(drafts ?? {}).map(([id, draft]) => (id === "" ? draft : { ...draft, session: id }));
  if (text === "" && others.length === 0) return null;
  return { text, chips, ...(session === null ? {} : { session: session.id }), ...(others.length === 0 ? {} : { others }) };
}

/** Restores the message of the visible session. Those of other sessions wait until their session is shown. */
export function restoreUnsent(state: State, { unsent, more }: { unsent: UnsentMessage; more: number }): UpdateResult {
  const saved = [unsent, ...(unsent.others ?? [])].filter(({ text }) => text !== "");
  const visible = saved.find(({ session }) => session === undefined || session === state.session?.id);
  const waiting = saved.flatMap((draft) =>
    draft === visible || draft.session === undefined ? [] : [{ ...draft, session: draft.session }],
  );
  const drafts = Object.fromEntries(waiting.map(({ session, text, chips }) => [session, { text, chips }]));
  const withDrafts: State = { ...state, drafts: { ...state.drafts, ...drafts } };
  const laterText = more === 0 ? "" : `; ${more} more ${more === 1 ? "waits" : "wait"} for the next start`;
  const waitingText = waiting.map(({ session }) => shortId(session)).join(", ");
  if (visible === undefined) return step(withNotice(withDrafts, `an unsent message waits in session ${waitingText}${laterText}`));
  const { text, chips } = visible;
  const restored = { ...withDrafts, unsent: { text, cursor: text.length }, composer: { ...state.composer, chips } };
  return step(withNotice(restored, `restored an unsent message${laterText}`));
}

const saveEveryMs = 1000;

/** Saves the unsent message: at most once a second while it changes, at once when it becomes empty. */
export function createUnsentSaver(store: UnsentStore, onProblem: (problem: string) => void) {
  let timer: Timer | null = null;
  let latest: UnsentMessage | null = null;
  let isReported = false;

  function write(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    store.save(latest);
    const problem = store.problem();
    if (problem !== null && !isReported) onProblem(`the unsent message can't be saved: ${problem}`);
    isReported ||= problem !== null;
  }

  return {
    onState(state: State): void {
      const unsent = unsentMessage(state);
      if (Bun.deepEquals(unsent, latest)) return;
      latest = unsent;
      if (unsent === null) write();
      else timer ??= setTimeout(write, saveEveryMs);
    },
    /** Called before the screen closes or is suspended. */
    finish(): void {
      if (timer !== null || store.problem() !== null) write();
    },
  };
}
